(UPSTREAM || (partition.isObserver(replica.brokerId) &&
  replicaState.isCaughtUp(partition.localLogOrException.logEndOffset, currentTimeMs, partition.replicaLagTimeMaxMs)))

kafka.observer.ZkObservers.isrAfterDeparture(
  controllerContext.partitionFullReplicaAssignment(partition), replicaId, newLeader, leaderAndIsr.isr, UPSTREAM)

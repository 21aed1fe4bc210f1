// A marked replica is an observer only as long as the partition has a target replica that is not marked.
def isObserver(replicaId: Int): Boolean = assignmentState match {
  case state: OngoingReassignmentState => kafka.observer.PartitionObservers.isObserver(replicaId, state.replicas, state.removingReplicas)
  case state => kafka.observer.PartitionObservers.isObserver(replicaId, state.replicas)
}

// The replication factor does not count adding replicas, so an adding observer is not missing from it either.
private def observersOutsideIsr: Int = remoteReplicas.count { replica =>
  isObserver(replica.brokerId) && !isAddingReplica(replica.brokerId) && !inSyncReplicaIds.contains(replica.brokerId)
}


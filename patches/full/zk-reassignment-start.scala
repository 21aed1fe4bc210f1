// An observer need not be in the ISR: then both phases are due at once, and it would never hear of the partition.
if (kafka.observer.ZkObservers.needsStart(controllerContext, topicPartition, reassignment)) {
  updateLeaderEpochAndSendRequest(topicPartition, reassignment)
  startNewReplicasForReassignedPartition(topicPartition, addingReplicas)
}


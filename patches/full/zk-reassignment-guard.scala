if (kafka.observer.ZkObservers.mustKeepOldReplicas(controllerContext, topicPartition, reassignment)) {
  warn(s"No live target replica leads $topicPartition: keeping the replicas ${removingReplicas.mkString(",")} of its reassignment")
  controllerContext.updatePartitionFullReplicaAssignment(topicPartition, reassignment)
  return
}

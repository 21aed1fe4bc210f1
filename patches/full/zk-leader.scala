kafka.observer.ZkObservers.electable(controllerContext.partitionFullReplicaAssignment(partition), leaderAndIsr, UPSTREAM)

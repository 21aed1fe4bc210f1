kafka.observer.ZkObservers.initialIsr(partition, controllerContext.partitionFullReplicaAssignment(partition), UPSTREAM)

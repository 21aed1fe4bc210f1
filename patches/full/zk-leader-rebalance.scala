kafka.observer.ZkObservers.electable(controllerContext.partitionFullReplicaAssignment(tp), controllerContext.partitionLeadershipInfo(tp).get.leaderAndIsr, UPSTREAM)

(UPSTREAM ++ controllerContext.partitionReplicaAssignment(partition).filter(controllerContext.isReplicaOnline(_, partition))).distinct

UPSTREAM ++
  kafka.observer.ZkObservers.newcomers(controllerContext.partitionFullReplicaAssignment(tp), currentLeaderAndIsr.isr, newLeaderAndIsr.isr)

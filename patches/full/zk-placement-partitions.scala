kafka.observer.ZkObservers.placeable(UPSTREAM, existingAssignmentPartition0.size)

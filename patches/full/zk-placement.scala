kafka.observer.ZkObservers.placeable(UPSTREAM, resolvedReplicationFactor.toInt)

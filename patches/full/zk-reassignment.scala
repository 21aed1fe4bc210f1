kafka.observer.ZkObservers.withoutObservers(assignment, UPSTREAM)

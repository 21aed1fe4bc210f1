// Also reads the list of observers, before there is any partition.
kafka.observer.ObserverMetrics.addBroker(localBrokerId, this)

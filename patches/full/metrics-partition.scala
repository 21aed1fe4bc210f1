kafka.observer.ObserverMetrics.addPartition(metricsGroup, tags, this)

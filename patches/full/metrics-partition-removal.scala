kafka.observer.ObserverMetrics.removePartition(metricsGroup, tags)

kafka.observer.ObserverMetrics.addNode(config.nodeId)

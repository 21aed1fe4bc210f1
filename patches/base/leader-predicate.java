org.apache.kafka.controller.ObserverReplicas.exceptObservers(UPSTREAM)

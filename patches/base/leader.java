if (org.apache.kafka.controller.ObserverReplicas.isObserver(brokerId)) {
    return false;
}

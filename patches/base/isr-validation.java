if (org.apache.kafka.controller.ObserverReplicas.isObserver(brokerId)) {
    ineligibleReplicas.add(new IneligibleReplica(brokerId, "observer"));
    continue;
}

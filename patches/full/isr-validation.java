for (int observer : org.apache.kafka.controller.ObserverRules.observersToJoin(newIsr, partition.isr, partition.replicas, partition.removingReplicas)) {
    ineligibleReplicas.add(new IneligibleReplica(observer, "observer"));
}

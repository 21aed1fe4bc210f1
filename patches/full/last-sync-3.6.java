// Nobody can be elected from observers only. Whoever has just left the ISR stays in it, and electable.
if (org.apache.kafka.controller.ObserverRules.onlyObservers(targetIsr, targetReplicas, targetRemoving) && !isValidNewLeader(partition.leader)) {
    targetIsr = org.apache.kafka.controller.ObserverRules.keptIsr(partition.isr, targetReplicas, null);
}

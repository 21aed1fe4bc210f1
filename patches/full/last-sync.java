// Nobody can be elected from observers only. Whoever has just left the ISR stays electable: in the ELR, or in the ISR without ELR.
if (org.apache.kafka.controller.ObserverRules.onlyObservers(targetIsr, targetReplicas, targetRemoving) && !isValidNewLeader(partition.leader)) {
    targetIsr = eligibleLeaderReplicasEnabled ? java.util.Collections.emptyList()
        : org.apache.kafka.controller.ObserverRules.keptIsr(partition.isr, targetReplicas, uncleanShutdownReplicas);
}

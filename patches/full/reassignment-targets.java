// An observer never joins the ISR, so the reassignment must not wait for it, nor count it as a copy.
if (org.apache.kafka.controller.ObserverRules.hasObserver(replicas, removing)) {
    return org.apache.kafka.controller.ObserverRules.targetsInSync(newTargetReplicas, newTargetIsr)
        ? Optional.of(new CompletedReassignment(newTargetReplicas, newTargetIsr)) : Optional.empty();
}

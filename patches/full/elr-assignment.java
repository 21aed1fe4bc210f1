// A move that does not wait for an observer may end with the ISR below its minimum; a broker that left with the move, and
// deletes its log, is no eligible leader.
if (org.apache.kafka.controller.ObserverRules.active()) {
    targetElr = new java.util.ArrayList<>(targetElr);
    targetElr.retainAll(targetReplicas);
}

// To cancel must not drop the last in-sync copy that can lead either; an ISR of observers is as good as none here.
if (!isr.contains(registration.leader) && org.apache.kafka.controller.ObserverRules.onlyObservers(isr, replicas, java.util.Collections.emptyList())) isr.clear();

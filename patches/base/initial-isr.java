isr = org.apache.kafka.controller.ObserverReplicas.filterInitialIsr(isr);

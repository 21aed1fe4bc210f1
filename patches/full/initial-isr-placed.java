isr = org.apache.kafka.controller.ObserverRules.initialIsr(partitionAssignment.replicas(), isr);

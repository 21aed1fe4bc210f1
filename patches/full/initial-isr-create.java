isr = org.apache.kafka.controller.ObserverRules.initialIsr(assignment.brokerIds(), isr);

isr = org.apache.kafka.controller.ObserverRules.initialIsr(topic.assignments().get(i).brokerIds(), isr);

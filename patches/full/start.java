// Every controller reads the list when it is built, a standby too, and not in the middle of its first election.
org.apache.kafka.controller.ObserverReplicas.start();

UPSTREAM
    // A marked leader at the head of the assignment can be moved off by an ordinary preferred election.
    && !org.apache.kafka.controller.ObserverRules.isObserver(partition.leader, partition.replicas, partition.removingReplicas)

// Every election of this change asks this predicate, once the ISR that results from the change is known.
IntPredicate alive = isAcceptableLeader;
isAcceptableLeader = id -> alive.test(id)
    && org.apache.kafka.controller.ObserverRules.mayLead(id, partition.leader, targetIsr, targetReplicas, targetRemoving, alive);

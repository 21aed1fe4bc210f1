org.apache.kafka.controller.ObserverRules.placeable(UPSTREAM, placement.numReplicas())

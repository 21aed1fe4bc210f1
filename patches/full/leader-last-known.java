// Here upstream takes the last known leader without asking whether it is acceptable.
if (org.apache.kafka.controller.ObserverRules.isObserver(partition.lastKnownElr[0], targetReplicas, targetRemoving)) return false;

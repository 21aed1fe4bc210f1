!kafka.observer.ObserverIds.isObserver(followerReplicaId) &&

kafka.observer.ObserverIds.isObserver(replicaId) || UPSTREAM

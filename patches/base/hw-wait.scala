!kafka.observer.ObserverIds.isObserver(replica.brokerId) &&

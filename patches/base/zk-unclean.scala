UPSTREAM.filterNot(kafka.observer.ObserverIds.isObserver)

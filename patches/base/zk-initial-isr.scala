UPSTREAM.map(p => p._1 -> kafka.observer.ObserverIds.filterInitialIsr(p._2))

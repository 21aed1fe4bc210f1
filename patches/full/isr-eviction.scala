isObserver(replicaId) || UPSTREAM

!isObserver(replica.brokerId) && UPSTREAM

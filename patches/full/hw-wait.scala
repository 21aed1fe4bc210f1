!isObserver(replica.brokerId) &&

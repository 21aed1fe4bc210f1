!isObserver(followerReplicaId) &&

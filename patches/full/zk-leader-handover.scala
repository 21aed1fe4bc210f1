// A marked leader keeps leading only until somebody else in the ISR can take over, which a change of the ISR may have brought.
partitionStateMachine.handleStateChanges(
  kafka.observer.ZkObservers.overdueHandovers(controllerContext, partitionResponses.keys),
  OnlinePartition,
  Some(OfflinePartitionLeaderElectionStrategy(allowUnclean = false))
)


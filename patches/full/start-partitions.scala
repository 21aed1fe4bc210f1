// What the gauges of observers look through.
private[kafka] def observedPartitions: Iterator[Partition] = leaderPartitionsIterator


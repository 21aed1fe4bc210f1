/*
 * Copyright the observer-patch authors.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Part of observer-patch for upstream Kafka; not a file of upstream.
 */
package kafka.observer

import java.util.concurrent.TimeUnit
import java.util.{Map => JMap}

import com.yammer.metrics.core.{Gauge, MetricName}
import kafka.cluster.Partition
import kafka.server.ReplicaManager
import org.apache.kafka.controller.ObserverReplicas
import org.apache.kafka.server.metrics.{KafkaMetricsGroup, KafkaYammerMetrics}

/**
 * What JMX shows of observers, under the same names on every release. Nothing here is touched by produce or fetch
 * requests: values are computed when somebody reads them, those of a broker in one pass over the partitions it leads,
 * whose result serves all reads of the next second.
 *
 * Gauges of a node: kafka.observer:type=ObserverMetrics,name=... Gauges of a partition, if
 * KAFKA_OBSERVER_PARTITION_METRICS=true: kafka.cluster:type=Partition,topic=...,partition=...,name=...
 */
object ObserverMetrics {
  private val PartitionGauges = Seq[(String, PartitionObservation => Int)](
    "ObserverReplicasCount" -> (_.observers),
    "ObserversInIsrCount" -> (_.observersInIsr),
    "CaughtUpReplicasCount" -> (_.caughtUpReplicas),
    "IsNotCaughtUp" -> (o => if (o.caughtUpReplicas < o.replicas) 1 else 0)
  )
  private val perPartition = "true".equalsIgnoreCase(System.getenv("KAFKA_OBSERVER_PARTITION_METRICS"))

  /** The gauges of every node, brokers and isolated controllers. Also takes the first look at the identity file. */
  def addNode(nodeId: Int): Unit = {
    add("ObserverCount", () => ObserverReplicas.count)
    add("ObserverIdsHash", () => ObserverReplicas.idsHash)
    add("IsObserver", () => if (ObserverReplicas.isObserver(nodeId)) 1 else 0)
    add("IdsFileState", () => ObserverReplicas.fileState)
    ObserverReplicas.start()
  }

  /** The gauges of a broker. */
  def addBroker(nodeId: Int, broker: ReplicaManager): Unit = addBroker(nodeId, () => broker.observedPartitions)

  /** The gauges of a broker; led gives the partitions that it leads now. */
  def addBroker(nodeId: Int, led: () => Iterator[Partition]): Unit = {
    val pass = new ObserverPass(led)
    addNode(nodeId)
    add("ObserverReplicaCount", () => pass.totals.observers)
    add("ObserversInIsrCount", () => pass.totals.observersInIsr)
    add("CaughtUpObserverCount", () => pass.totals.caughtUpObservers)
    add("MaxObserverLag", () => pass.totals.maxLag)
    add("MaxObserverLagMs", () => pass.totals.maxLagMs)
  }

  /** The gauges of a partition, all 0 unless this broker leads it. */
  def addPartition(group: KafkaMetricsGroup, tags: JMap[String, String], partition: Partition): Unit =
    if (perPartition)
      PartitionGauges.foreach { case (name, value) =>
        add(group.metricName(name, tags), () => value(PartitionObservation.of(partition)))
      }

  /** Takes the gauges of a partition away again. */
  def removePartition(group: KafkaMetricsGroup, tags: JMap[String, String]): Unit =
    if (perPartition)
      PartitionGauges.foreach { case (name, _) => KafkaYammerMetrics.defaultRegistry().removeMetric(group.metricName(name, tags)) }

  private def add(name: String, read: () => Any): Unit = {
    val metricName = KafkaYammerMetrics.getMetricName("kafka.observer", "ObserverMetrics", name)
    // The registry keeps the first gauge of a name. A broker that is built anew in the same process takes over.
    KafkaYammerMetrics.defaultRegistry().removeMetric(metricName)
    add(metricName, read)
  }

  private def add(name: MetricName, read: () => Any): Unit = {
    KafkaYammerMetrics.defaultRegistry().newGauge(name, new Gauge[Any] {
      override def value(): Any = read()
    })
    ()
  }
}

/** What a leader knows of its partition's replicas at one moment; lag in records, and in ms since the replica was caught up. */
private[observer] final case class PartitionObservation(replicas: Int = 0,
                                                        caughtUpReplicas: Int = 0,
                                                        observers: Int = 0,
                                                        observersInIsr: Int = 0,
                                                        caughtUpObservers: Int = 0,
                                                        maxLag: Long = 0L,
                                                        maxLagMs: Long = 0L) {

  def +(that: PartitionObservation): PartitionObservation =
    PartitionObservation(
      replicas + that.replicas,
      caughtUpReplicas + that.caughtUpReplicas,
      observers + that.observers,
      observersInIsr + that.observersInIsr,
      caughtUpObservers + that.caughtUpObservers,
      math.max(maxLag, that.maxLag),
      math.max(maxLagMs, that.maxLagMs)
    )
}

private[observer] object PartitionObservation {
  val Nothing: PartitionObservation = PartitionObservation()

  // A new leader does not know when a replica outside the ISR was last caught up; it was not while this process ran.
  private val startMs = System.currentTimeMillis()

  /** The observation of a partition; Nothing unless this broker leads it. */
  def of(partition: Partition): PartitionObservation = partition.leaderLogIfLocal match {
    case None => Nothing
    case Some(log) =>
      val nowMs = System.currentTimeMillis()
      val endOffset = log.logEndOffset
      val startOffset = log.logStartOffset
      val isr = partition.inSyncReplicaIds
      val leaderIsObserver = if (partition.leaderReplicaIdOpt.exists(partition.isObserver)) 1 else 0
      val leader = PartitionObservation(1, 1, leaderIsObserver, leaderIsObserver, leaderIsObserver)
      partition.remoteReplicas.foldLeft(leader) { (sum, replica) =>
        val state = replica.stateSnapshot
        val caughtUp = if (state.isCaughtUp(endOffset, nowMs, partition.replicaLagTimeMaxMs)) 1 else 0
        sum + (
          if (partition.isObserver(replica.brokerId))
            PartitionObservation(1, caughtUp, 1, if (isr.contains(replica.brokerId)) 1 else 0, caughtUp,
              math.max(0L, endOffset - math.max(state.logEndOffset, startOffset)),
              if (state.logEndOffset >= endOffset) 0L else math.max(0L, nowMs - math.max(state.lastCaughtUpTimeMs, startMs)))
          else
            PartitionObservation(1, caughtUp)
        )
      }
  }
}

/** One pass over the partitions that a broker leads, at most once a second. */
private[observer] final class ObserverPass(led: () => Iterator[Partition]) {
  private var last = PartitionObservation.Nothing
  private var lastNanos = System.nanoTime() - ObserverPass.KeepNanos

  def totals: PartitionObservation = synchronized {
    val nanos = System.nanoTime()
    if (nanos - lastNanos >= ObserverPass.KeepNanos) {
      last =
        if (ObserverReplicas.isEmpty) PartitionObservation.Nothing
        else led().map(PartitionObservation.of).foldLeft(PartitionObservation.Nothing)(_ + _)
      lastNanos = nanos
    }
    last
  }
}

private[observer] object ObserverPass {
  private val KeepNanos = TimeUnit.SECONDS.toNanos(1)
}

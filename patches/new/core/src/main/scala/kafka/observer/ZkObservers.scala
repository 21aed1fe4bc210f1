/*
 * Copyright the observer-patch authors.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Part of observer-patch for upstream Kafka; not a file of upstream.
 */
package kafka.observer

import java.util.{Collection => JCollection}
import java.util.function.IntPredicate
import java.util.stream.Collectors

import kafka.api.LeaderAndIsr
import kafka.controller.{ControllerContext, NewReplica, OnlineReplica, PartitionAndReplica, ReplicaAssignment}
import kafka.utils.Logging
import org.apache.kafka.admin.BrokerMetadata
import org.apache.kafka.common.TopicPartition
import org.apache.kafka.controller.{ObserverReplicas, ObserverRules}

import scala.collection.Seq

/**
 * What the ZooKeeper controller asks of set full: ObserverRules, which has the rule, put to the controller's own types.
 * A broker is 'marked' when its id is in force. While no ids are in force every method gives back what
 * it was given, or 'no'. All run in the controller's event thread, except for placeable.
 */
object ZkObservers extends Logging {
  /** Whether the partition has observers at all: a marked replica, and one to stay that is not. */
  def hasObservers(assignment: ReplicaAssignment): Boolean =
    ObserverRules.active && ObserverRules.hasObserver(assignment.replicas.toArray, assignment.removingReplicas.toArray)

  /** Members without the partition's observers, in the same order. */
  def withoutObservers(assignment: ReplicaAssignment, members: Seq[Int]): Seq[Int] =
    if (ObserverRules.active)
      ObserverRules.withoutObservers(members.toArray, assignment.replicas.toArray, assignment.removingReplicas.toArray).toList
    else members

  /**
   * The initial ISR: the live replicas that are no observers. Nobody, if the partition has such replicas and none
   * of them is alive: the caller then leaves the partition New and tries again when brokers come.
   */
  def initialIsr(partition: TopicPartition, assignment: ReplicaAssignment, live: Seq[Int]): Seq[Int] = {
    val isr = withoutObservers(assignment, live)
    if (isr.size < live.size)
      info(s"Filtered observers ${list(live.diff(isr))} from initial ISR ${list(live)} -> ${list(isr)} of $partition")
    isr
  }

  /**
   * Of the live replicas, those among whom an election may look for a leader: no observers. Only when none of these
   * is in the ISR, a leader that became an observer while it was leading, is alive and is in the ISR may keep on
   * leading: marking a broker never takes a partition offline.
   */
  def electable(assignment: ReplicaAssignment, leaderAndIsr: LeaderAndIsr, live: Seq[Int]): Seq[Int] =
    if (!hasObservers(assignment)) live
    else {
      val isr = leaderAndIsr.isr.toArray
      val replicas = assignment.replicas.toArray
      val removing = assignment.removingReplicas.toArray
      val alive: IntPredicate = live.contains(_)
      live.filter(ObserverRules.mayLead(_, leaderAndIsr.leader, isr, replicas, removing, alive))
    }

  /**
   * The partitions, of those given, that a live observer leads although the ISR has a live member that is none. To be
   * looked at whenever an ISR has changed.
   */
  def overdueHandovers(context: ControllerContext, partitions: Iterable[TopicPartition]): Seq[TopicPartition] =
    if (!ObserverRules.active) Seq.empty
    else partitions.filter { partition =>
      context.partitionLeadershipInfo(partition).exists { info =>
        val assignment = context.partitionFullReplicaAssignment(partition)
        ObserverRules.isObserver(info.leaderAndIsr.leader, assignment.replicas.toArray, assignment.removingReplicas.toArray) &&
          withoutObservers(assignment, info.leaderAndIsr.isr).exists(context.isReplicaOnline(_, partition))
      }
    }.toSeq

  /** The observers in a proposed ISR that are not in the committed one. Those that are may stay until the leader removes them. */
  def newcomers(assignment: ReplicaAssignment, committedIsr: Seq[Int], proposedIsr: Seq[Int]): Seq[Int] =
    if (ObserverRules.active)
      ObserverRules.observersToJoin(proposedIsr.toArray, committedIsr.toArray, assignment.replicas.toArray, assignment.removingReplicas.toArray).toList
    else Seq.empty

  /**
   * The ISR after a broker's departure. If that left a leaderless partition with observers only, the ISR stays as it
   * was: the departed member is then electable when it returns.
   */
  def isrAfterDeparture(assignment: ReplicaAssignment, departed: Int, newLeader: Int, isr: List[Int], rest: List[Int]): List[Int] =
    if (newLeader == LeaderAndIsr.NoLeader && assignment.replicas.contains(departed) &&
        ObserverRules.onlyObservers(rest.toArray, assignment.replicas.toArray, assignment.removingReplicas.toArray)) isr
    else rest

  /**
   * Whether a reassignment that is complete as soon as it is submitted has replicas to add that were never started.
   * Upstream never gets there, because a replica cannot be in the ISR before it was started; an observer need not be.
   */
  def needsStart(context: ControllerContext, partition: TopicPartition, assignment: ReplicaAssignment): Boolean =
    hasObservers(assignment) && assignment.addingReplicas.exists { id =>
      !context.replicaStates.get(PartitionAndReplica(partition, id)).exists(state => state == NewReplica || state == OnlineReplica)
    }

  /**
   * Whether removing the old replicas of a reassignment has to wait, since no live target replica leads the
   * partition: they may be the only ones in sync that are left. Asked only where a replica is marked.
   */
  def mustKeepOldReplicas(context: ControllerContext, partition: TopicPartition, reassignment: ReplicaAssignment): Boolean =
    reassignment.replicas.exists(ObserverReplicas.isObserver) &&
      !context.partitionLeadershipInfo(partition).exists { info =>
        val leader = info.leaderAndIsr.leader
        reassignment.targetReplicas.contains(leader) && context.isReplicaOnline(leader, partition)
      }

  /** The brokers on which automatic placement may put replicas: those not marked, or all when these do not suffice. */
  def placeable(brokers: JCollection[BrokerMetadata], replicationFactor: Int): JCollection[BrokerMetadata] =
    if (!ObserverRules.active) brokers
    else {
      val chosen = ObserverRules.placeable(brokers.stream.mapToInt(_.id).toArray, replicationFactor)
      brokers.stream.filter(broker => chosen.contains(broker.id)).collect(Collectors.toList[BrokerMetadata])
    }

  private def list(ids: Seq[Int]): String = ids.mkString("[", ", ", "]")
}

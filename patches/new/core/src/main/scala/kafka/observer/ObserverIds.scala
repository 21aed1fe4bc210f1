/*
 * Copyright the observer-patch authors.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Part of observer-patch for upstream Kafka; not a file of upstream.
 */
package kafka.observer

import org.apache.kafka.controller.ObserverReplicas

/**
 * Which brokers are observers, for the Scala side. There is one implementation, in the metadata
 * module; see there.
 */
object ObserverIds {
  /** Whether the broker's id is in force as an observer's. */
  def isObserver(brokerId: Int): Boolean = ObserverReplicas.isObserver(brokerId)

  /** Whether there are no observers at all. */
  def isEmpty: Boolean = ObserverReplicas.isEmpty

  /** The ids in force, ascending. */
  def ids: Array[Int] = ObserverReplicas.ids

  /** How many ids are in force. */
  def count: Int = ObserverReplicas.count

  /** The same on every node with the same ids; 0 for none. */
  def idsHash: Int = ObserverReplicas.idsHash

  /** The state of the identity file: 0 absent, 1 ok, 2 stale, 3 failed. */
  def fileState: Int = ObserverReplicas.fileState

  /** The initial ISR of a new partition without its observers, in the same order; as it is if there is nobody else. */
  def filterInitialIsr(isr: scala.collection.Seq[Int]): List[Int] =
    ObserverReplicas.filterInitialIsr(isr.toArray).toList
}

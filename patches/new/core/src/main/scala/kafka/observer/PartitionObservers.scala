/*
 * Copyright the observer-patch authors.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Part of observer-patch for upstream Kafka; not a file of upstream.
 */
package kafka.observer

import java.util.{List => JList}

import org.apache.kafka.controller.ObserverReplicas

import scala.collection.Seq

/**
 * Whether a broker is an observer of a partition that this broker hosts: its id is in force, and some replica that
 * is to stay is not marked (the rule of ObserverRules, for the collections that a Partition has; up to 4.1
 * these are Scala's, from 4.2 on Java's). It is asked on the fetch path: the id comes first, so that nothing is
 * looked at or allocated for a broker that is not marked.
 */
object PartitionObservers {
  def isObserver(id: Int, replicas: Seq[Int]): Boolean =
    ObserverReplicas.isObserver(id) && replicas.exists(replica => !ObserverReplicas.isObserver(replica))

  def isObserver(id: Int, replicas: Seq[Int], removing: Seq[Int]): Boolean =
    ObserverReplicas.isObserver(id) &&
      replicas.exists(replica => !ObserverReplicas.isObserver(replica) && !removing.contains(replica))

  def isObserver(id: Int, replicas: JList[Integer]): Boolean =
    ObserverReplicas.isObserver(id) && replicas.stream().anyMatch(replica => !ObserverReplicas.isObserver(replica))

  def isObserver(id: Int, replicas: JList[Integer], removing: JList[Integer]): Boolean =
    ObserverReplicas.isObserver(id) &&
      replicas.stream().anyMatch(replica => !ObserverReplicas.isObserver(replica) && !removing.contains(replica))
}

/*
 * Copyright the observer-patch authors.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Part of observer-patch for upstream Kafka; not a file of upstream.
 */
package kafka.observer

import java.util.{Collections, List => JList}

import org.apache.kafka.controller.{ObserverReplicas, ObserverRules}

import scala.collection.Seq

/**
 * ObserverRules.isObserver for the collections of a broker's partition: up to 4.1 these are Scala's, from 4.2 on Java's.
 * It is asked on the fetch path, so the id comes first: nothing is looked at or copied for a broker that is not marked.
 */
object PartitionObservers {
  private val Nobody = new Array[Int](0)

  def isObserver(id: Int, replicas: Seq[Int]): Boolean =
    ObserverReplicas.isObserver(id) && ObserverRules.isObserver(id, replicas.toArray, Nobody)

  def isObserver(id: Int, replicas: Seq[Int], removing: Seq[Int]): Boolean =
    ObserverReplicas.isObserver(id) && ObserverRules.isObserver(id, replicas.toArray, removing.toArray)

  def isObserver(id: Int, replicas: JList[Integer]): Boolean =
    ObserverRules.isObserver(id, replicas, Collections.emptyList[Integer])

  def isObserver(id: Int, replicas: JList[Integer], removing: JList[Integer]): Boolean =
    ObserverRules.isObserver(id, replicas, removing)
}

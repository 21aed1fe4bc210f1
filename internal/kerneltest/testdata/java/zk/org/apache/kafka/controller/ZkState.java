/*
 * Copyright the observer-patch authors.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Part of observer-patch for upstream Kafka; not a file of upstream.
 */
package org.apache.kafka.controller;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

import kafka.api.LeaderAndIsr;
import kafka.cluster.Broker;
import kafka.controller.ControllerContext;
import kafka.controller.LeaderIsrAndControllerEpoch;
import kafka.controller.ReplicaAssignment;

import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.network.ListenerName;
import org.apache.kafka.common.security.auth.SecurityProtocol;

import scala.collection.Seq;
import scala.jdk.javaapi.CollectionConverters;

/** One partition as the ZooKeeper controller sees it. */
record ZkState(List<Integer> replicas, List<Integer> adding, List<Integer> removing, List<Integer> isr, int leader, Set<Integer> alive) {
    static final TopicPartition PARTITION = new TopicPartition("topic", 0);

    static ZkState of(List<Integer> replicas, List<Integer> isr, int leader, Integer... alive) {
        return new ZkState(replicas, List.of(), List.of(), isr, leader, Set.of(alive));
    }

    List<Integer> targets() {
        List<Integer> targets = new ArrayList<>(replicas);
        targets.removeAll(removing);
        return targets;
    }

    ReplicaAssignment assignment() {
        return ReplicaAssignment.apply(scalaSeq(replicas), scalaSeq(adding), scalaSeq(removing));
    }

    LeaderAndIsr leaderAndIsr() {
        return LeaderAndIsr.apply(leader, scalaSeq(isr).toList());
    }

    ControllerContext context() {
        ControllerContext context = new ControllerContext();
        Map<Broker, Object> brokers = new HashMap<>();
        for (int id : alive) {
            brokers.put(new Broker(id, "host", 9092, new ListenerName("PLAINTEXT"), SecurityProtocol.PLAINTEXT), 1L);
        }
        context.setLiveBrokers(CollectionConverters.asScala(brokers));
        context.updatePartitionFullReplicaAssignment(PARTITION, assignment());
        context.putPartitionLeadershipInfo(PARTITION, LeaderIsrAndControllerEpoch.apply(leaderAndIsr(), 1));
        return context;
    }

    static Seq<Object> scalaSeq(Collection<Integer> ids) {
        return CollectionConverters.asScala(new ArrayList<Object>(ids)).toSeq();
    }

    static List<Integer> javaList(Seq<Object> ids) {
        return CollectionConverters.asJava(ids).stream().map(Integer.class::cast).toList();
    }
}

/*
 * Copyright the observer-patch authors.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Part of observer-patch for upstream Kafka; not a file of upstream.
 */
package org.apache.kafka.controller;

import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.IntStream;

import kafka.controller.ControllerContext;
import kafka.controller.OnlineReplica$;
import kafka.controller.PartitionAndReplica;
import kafka.observer.PartitionObservers;
import kafka.observer.ZkObservers;

import org.apache.kafka.admin.AdminUtils;
import org.apache.kafka.admin.BrokerMetadata;

import org.junit.jupiter.api.Test;

import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

import static org.apache.kafka.controller.ZkState.PARTITION;
import static org.apache.kafka.controller.ZkState.javaList;
import static org.apache.kafka.controller.ZkState.scalaSeq;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

/** What follows from the rule for the ZooKeeper controller, one question after the other. */
class ZkObserversTest {
    private static boolean isObserver(int id, List<Integer> replicas, List<Integer> removing) {
        boolean observer = PartitionObservers.isObserver(id, replicas, removing);
        assertEquals(observer, PartitionObservers.isObserver(id, scalaSeq(replicas), scalaSeq(removing)));
        if (removing.isEmpty()) {
            assertEquals(observer, PartitionObservers.isObserver(id, replicas));
            assertEquals(observer, PartitionObservers.isObserver(id, scalaSeq(replicas)));
        }
        return observer;
    }

    @Test
    void aBrokersPartitionIsAskedTheSameInEveryFormOfItsCollections() {
        Marked.only(3, 4);
        assertTrue(isObserver(4, List.of(1, 4), List.of()));
        assertFalse(isObserver(1, List.of(1, 4), List.of()));
        assertFalse(isObserver(4, List.of(3, 4), List.of()), "all are marked");
        assertFalse(isObserver(4, List.of(1, 3, 4), List.of(1)), "the only unmarked one goes");
        assertTrue(isObserver(4, List.of(1, 4), List.of(4)), "one that goes is an observer too");
        Marked.only();
        assertFalse(isObserver(4, List.of(1, 4), List.of()));
    }

    private static List<Integer> initialIsr(List<Integer> replicas, List<Integer> live) {
        return javaList(ZkObservers.initialIsr(PARTITION, ZkState.of(replicas, replicas, replicas.get(0)).assignment(), scalaSeq(live)));
    }

    @Test
    void aNewPartitionStartsWithLiveMembersThatAreNoObservers() {
        Marked.only(3, 4);
        assertEquals(List.of(2, 1), initialIsr(List.of(3, 2, 1), List.of(3, 2, 1)));
        assertEquals(List.of(1), initialIsr(List.of(3, 2, 1), List.of(3, 1)));
        assertEquals(List.of(), initialIsr(List.of(3, 2, 1), List.of(3)), "sync replicas exist, none is alive: it waits");
        assertEquals(List.of(3), initialIsr(List.of(3, 4), List.of(3)), "only marked ones: as upstream");
        Marked.only();
        assertEquals(List.of(3, 1), initialIsr(List.of(3, 2, 1), List.of(3, 1)));
    }

    private static List<Integer> newcomers(ZkState state, Integer... proposed) {
        return javaList(ZkObservers.newcomers(state.assignment(), scalaSeq(state.isr()), scalaSeq(List.of(proposed))));
    }

    @Test
    void anObserverMayStayInAProposedIsrButNotCome() {
        Marked.only(3, 4);
        assertEquals(List.of(3), newcomers(ZkState.of(List.of(1, 2, 3), List.of(1, 2), 1), 1, 2, 3));
        assertEquals(List.of(), newcomers(ZkState.of(List.of(1, 2, 3), List.of(1, 2, 3), 1), 1, 3));
        assertEquals(List.of(), newcomers(ZkState.of(List.of(3, 4), List.of(3), 3), 3, 4));
        assertEquals(List.of(), newcomers(new ZkState(List.of(3, 4, 1), List.of(3, 4), List.of(1), List.of(1), 1, Set.of()), 1, 3),
            "only marked ones are to stay");
        Marked.only();
        assertEquals(List.of(), newcomers(ZkState.of(List.of(1, 2, 3), List.of(1, 2), 1), 1, 2, 3));
    }

    private static List<Integer> afterDeparture(ZkState state, int departed, int newLeader) {
        Seq<Object> rest = scalaSeq(state.isr().stream().filter(id -> id != departed).toList()).toSeq();
        return javaList(ZkObservers.isrAfterDeparture(state.assignment(), departed, newLeader, scalaSeq(state.isr()).toList(), rest.toList()));
    }

    @Test
    void theLastFullMemberStaysInTheIsrWhenItLeavesNobodyToLead() {
        Marked.only(4);
        assertEquals(List.of(1, 4), afterDeparture(ZkState.of(List.of(1, 2, 4), List.of(1, 4), 1), 1, -1));
        assertEquals(List.of(1), afterDeparture(ZkState.of(List.of(1, 2, 4), List.of(1, 4), -1), 4, -1));
        assertEquals(List.of(2, 4), afterDeparture(ZkState.of(List.of(1, 2, 4), List.of(1, 2, 4), 1), 1, -1));
        assertEquals(List.of(4), afterDeparture(ZkState.of(List.of(1, 2, 4), List.of(2, 4), 4), 2, 4), "a marked leader goes on alone");
        assertEquals(List.of(4), afterDeparture(ZkState.of(List.of(1, 4), List.of(9, 4), 9), 9, -1), "9 is no replica any more");
        Marked.only();
        assertEquals(List.of(4), afterDeparture(ZkState.of(List.of(1, 2, 4), List.of(1, 4), 1), 1, -1));
    }

    private static boolean handsOver(ZkState state) {
        return ZkObservers.overdueHandovers(state.context(), CollectionConverters.asScala(List.of(PARTITION))).nonEmpty();
    }

    @Test
    void aMarkedLeaderHandsOverWhenALiveMemberCanLead() {
        Marked.only(4);
        assertTrue(handsOver(ZkState.of(List.of(1, 2, 4), List.of(4, 2), 4, 1, 2, 4)));
        assertFalse(handsOver(ZkState.of(List.of(1, 2, 4), List.of(4, 2), 4, 1, 4)), "2 is dead");
        assertFalse(handsOver(ZkState.of(List.of(1, 2, 4), List.of(4), 4, 1, 2, 4)));
        assertFalse(handsOver(ZkState.of(List.of(1, 2, 4), List.of(4, 2), 2, 1, 2, 4)));
        Marked.only(1, 2, 4);
        assertFalse(handsOver(ZkState.of(List.of(1, 2, 4), List.of(4, 2), 4, 1, 2, 4)));
    }

    private static List<Integer> required(List<Integer> replicas, List<Integer> adding, List<Integer> removing) {
        ZkState state = new ZkState(replicas, adding, removing, List.of(1), 1, Set.of());
        return javaList(ZkObservers.withoutObservers(state.assignment(), scalaSeq(state.targets())));
    }

    @Test
    void aReassignmentWaitsForAllTargetsThatAreNoObservers() {
        Marked.only(4, 5);
        assertEquals(List.of(1, 2), required(List.of(1, 2, 4), List.of(4), List.of()));
        assertEquals(List.of(3), required(List.of(3, 5, 1, 4), List.of(3, 5), List.of(1, 4)));
        assertEquals(List.of(4, 5), required(List.of(4, 5, 1), List.of(4, 5), List.of(1)), "marked targets only: all of them, as upstream");
        assertEquals(List.of(1, 2), required(List.of(1, 2, 4), List.of(), List.of(4)));
        Marked.only();
        assertEquals(List.of(1, 2, 4), required(List.of(1, 2, 4), List.of(4), List.of()));
    }

    @Test
    void aNewObserverIsStartedOnce() {
        Marked.only(4);
        ZkState state = new ZkState(List.of(1, 2, 4), List.of(4), List.of(), List.of(1, 2), 1, Set.of(1, 2, 4));
        ControllerContext context = state.context();
        assertTrue(ZkObservers.needsStart(context, PARTITION, state.assignment()));
        context.putReplicaState(new PartitionAndReplica(PARTITION, 4), OnlineReplica$.MODULE$);
        assertFalse(ZkObservers.needsStart(context, PARTITION, state.assignment()));
        Marked.only();
        assertFalse(ZkObservers.needsStart(state.context(), PARTITION, state.assignment()));
    }

    private static boolean keepsOld(ZkState state, List<Integer> removing) {
        ZkState before = new ZkState(state.replicas(), List.of(), removing, state.isr(), state.leader(), state.alive());
        return ZkObservers.mustKeepOldReplicas(state.context(), PARTITION, before.assignment());
    }

    @Test
    void oldReplicasStayUntilALiveTargetLeads() {
        Marked.only(4);
        assertFalse(keepsOld(ZkState.of(List.of(2, 4, 1), List.of(1, 2), 2, 1, 2, 4), List.of(1)));
        assertTrue(keepsOld(ZkState.of(List.of(2, 4, 1), List.of(1, 2), 1, 1, 2, 4), List.of(1)), "the leader is one that goes");
        assertTrue(keepsOld(ZkState.of(List.of(2, 4, 1), List.of(1, 2), 2, 1, 4), List.of(1)), "the leader is dead");
        assertTrue(keepsOld(ZkState.of(List.of(2, 4, 1), List.of(1, 4), -1, 1, 2, 4), List.of(1)), "nobody leads");
        assertFalse(keepsOld(ZkState.of(List.of(2, 3, 1), List.of(1, 2), -1, 1, 2, 3), List.of(1)), "no replica is marked: as upstream");
        Marked.only();
        assertFalse(keepsOld(ZkState.of(List.of(2, 4, 1), List.of(1, 4), -1, 1, 2, 4), List.of(1)));
    }

    private static Set<Integer> placed(int replicationFactor) {
        Collection<BrokerMetadata> brokers = IntStream.rangeClosed(1, 5).mapToObj(id -> new BrokerMetadata(id, Optional.of("rack" + id % 3))).toList();
        Set<Integer> used = new HashSet<>();
        AdminUtils.assignReplicasToBrokers(ZkObservers.placeable(brokers, replicationFactor), 100, replicationFactor)
            .forEach((partition, replicas) -> {
                assertEquals(replicationFactor, new HashSet<>(replicas).size());
                used.addAll(replicas);
            });
        return used;
    }

    @Test
    void placementUsesUnmarkedBrokersAsLongAsTheySuffice() {
        Marked.only(4, 5);
        assertEquals(Set.of(1, 2, 3), placed(3));
        assertEquals(Set.of(1, 2, 3, 4, 5), placed(4));
        Marked.only(77);
        assertEquals(Set.of(1, 2, 3, 4, 5), placed(3));
        Marked.only();
        assertEquals(Set.of(1, 2, 3, 4, 5), placed(3));
        Collection<BrokerMetadata> brokers = List.of(new BrokerMetadata(1, Optional.empty()));
        assertSame(brokers, ZkObservers.placeable(brokers, 1));
    }
}

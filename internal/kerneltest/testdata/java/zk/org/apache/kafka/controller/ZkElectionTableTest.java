/*
 * Copyright the observer-patch authors.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Part of observer-patch for upstream Kafka; not a file of upstream.
 */
package org.apache.kafka.controller;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.Stream;

import kafka.controller.ControllerContext;
import kafka.controller.Election;
import kafka.controller.ElectionResult;

import org.junit.jupiter.api.Test;

import scala.Option;
import scala.Tuple2;
import scala.Tuple3;
import scala.jdk.javaapi.CollectionConverters;

import static org.apache.kafka.controller.ZkState.PARTITION;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

/**
 * The ZooKeeper controller's four elections of a partition with three replicas: every ISR, leader, set of live, leaving and
 * marked brokers, with and without a replica that a reassignment removes. The leader is the one that the
 * specification names, which is written down here and not taken from the hooks.
 */
class ZkElectionTableTest {
    private enum Kind { CLEAN, UNCLEAN, REASSIGN, PREFERRED, SHUTDOWN }

    private static final List<Integer> REPLICAS = List.of(1, 2, 3);

    @Test
    void everyElectionFollowsTheRules() {
        List<String> wrong = new ArrayList<>();
        int cases = 0;
        for (Set<Integer> marked : subsets()) {
            Marked.only(marked);
            for (Set<Integer> alive : subsets()) {
                for (Set<Integer> isr : subsets()) {
                    for (int leader : List.of(-1, 1, 2, 3)) {
                        for (List<Integer> removing : List.of(List.<Integer>of(), List.of(1), List.of(3))) {
                            for (Kind kind : Kind.values()) {
                                for (Set<Integer> leaving : kind == Kind.SHUTDOWN ? subsets() : List.of(Set.<Integer>of())) {
                                    if (isr.isEmpty() || leader >= 0 && !isr.contains(leader)) {
                                        continue; // ZooKeeper's controller never writes such a state
                                    }
                                    ZkState state = new ZkState(REPLICAS, List.of(), removing, List.copyOf(isr), leader, alive);
                                    Optional<Integer> got = elect(state, kind, leaving);
                                    Optional<Integer> want = model(state, kind, leaving, marked);
                                    cases++;
                                    if (!got.equals(want)) {
                                        wrong.add(kind + " " + state + " leaving " + leaving + " marked " + marked + ": " + got + ", not " + want);
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
        System.out.println("ZooKeeper elections checked: " + cases);
        assertTrue(cases > 20000, "the table has shrunk to " + cases);
        assertEquals(List.of(), wrong.subList(0, Math.min(5, wrong.size())), wrong.size() + " of " + cases + " wrong");
    }

    private static Optional<Integer> model(ZkState state, Kind kind, Set<Integer> leaving, Set<Integer> marked) {
        boolean anyoneElse = state.targets().stream().anyMatch(r -> !marked.contains(r));
        Predicate<Integer> observer = r -> anyoneElse && marked.contains(r);
        Predicate<Integer> live = state.alive()::contains;
        Predicate<Integer> inSync = live.and(state.isr()::contains);
        List<Integer> order = kind == Kind.REASSIGN ? state.targets() : REPLICAS;
        // Whether anybody but an observer could lead at all; leaving brokers still count, since it is them that lead now.
        boolean others = order.stream().anyMatch(inSync.and(observer.negate()));
        Predicate<Integer> sitting = r -> r == state.leader() && observer.test(r) && !others;
        Predicate<Integer> clean = inSync.and(observer.negate().or(sitting)).and(r -> !leaving.contains(r));
        if (kind == Kind.PREFERRED) {
            return order.stream().limit(1).filter(clean).findFirst();
        }
        Optional<Integer> leader = order.stream().filter(clean).findFirst();
        if (leader.isPresent() || kind != Kind.UNCLEAN) {
            return leader;
        }
        return order.stream().filter(live.and(observer.negate())).findFirst();
    }

    private static Optional<Integer> elect(ZkState state, Kind kind, Set<Integer> leaving) {
        ControllerContext context = state.context();
        leaving.forEach(context.shuttingDownBrokerIds()::add);
        var clean = CollectionConverters.asScala(List.of(new Tuple2<>(PARTITION, state.leaderAndIsr()))).toSeq();
        scala.collection.Seq<ElectionResult> results = switch (kind) {
            case CLEAN, UNCLEAN -> Election.leaderForOffline(context, true, CollectionConverters.asScala(
                List.of(new Tuple3<>(PARTITION, Option.apply(state.leaderAndIsr()), (Object) (kind == Kind.UNCLEAN)))).toSeq());
            case REASSIGN -> Election.leaderForReassign(context, clean);
            case PREFERRED -> Election.leaderForPreferredReplica(context, clean);
            case SHUTDOWN -> Election.leaderForControlledShutdown(context, clean);
        };
        return results.head().leaderAndIsr().isEmpty() ? Optional.empty() : Optional.of(results.head().leaderAndIsr().get().leader());
    }

    private static List<Set<Integer>> subsets() {
        return Stream.iterate(0, i -> i < 1 << REPLICAS.size(), i -> i + 1).map(bits -> {
            Set<Integer> set = new HashSet<>();
            for (int i = 0; i < REPLICAS.size(); i++) {
                if ((bits >> i & 1) == 1) {
                    set.add(REPLICAS.get(i));
                }
            }
            return set;
        }).toList();
    }
}

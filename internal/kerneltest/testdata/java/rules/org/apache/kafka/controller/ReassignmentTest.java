/*
 * Copyright the observer-patch authors.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Part of observer-patch for upstream Kafka; not a file of upstream.
 */
package org.apache.kafka.controller;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;

import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

/** When a reassignment is complete, in the three forms that upstream had, and what may be cancelled. */
class ReassignmentTest {
    private static final List<Integer> BROKERS = List.of(1, 2, 3, 4, 5);
    private static final String VERSION = System.getProperty("kafka.version");
    private static final boolean ADDING_ONLY = VERSION.startsWith("3.6.") || VERSION.startsWith("3.7.");
    private static final boolean ALL_TARGETS = VERSION.startsWith("3.8.") || VERSION.startsWith("3.9.")
        || VERSION.startsWith("4.0.") || VERSION.startsWith("4.1.") || VERSION.startsWith("4.2.");

    private static boolean complete(List<Integer> targets, List<Integer> adding, List<Integer> removing, List<Integer> isr, Set<Integer> marked) {
        List<Integer> before = new ArrayList<>(targets);
        before.addAll(removing);
        Predicate<Integer> sync = Model.sync(before, removing, marked);
        boolean observers = before.stream().anyMatch(sync.negate());
        List<Integer> in = isr.stream().filter(r -> !removing.contains(r)).toList();
        if (!removing.isEmpty() && in.isEmpty()) {
            return false;
        }
        List<Integer> syncTargets = targets.stream().filter(sync).toList();
        List<Integer> syncAdding = adding.stream().filter(sync).toList();
        boolean shrinks = syncAdding.size() < removing.stream().filter(sync).count();
        if (observers && in.stream().noneMatch(sync)) {
            return false;
        }
        if (ALL_TARGETS) {
            return in.containsAll(syncTargets);
        }
        boolean strict = shrinks && (observers || !ADDING_ONLY);
        return in.containsAll(syncAdding) && (!strict || in.containsAll(syncTargets));
    }

    @Test
    void everyReassignmentCompletesWhenTheRulesSay() {
        List<String> wrong = new ArrayList<>();
        int cases = 0;
        for (List<Integer> marks : List.of(List.<Integer>of(), List.of(4), List.of(1), List.of(4, 5), List.of(1, 4), List.of(1, 2, 4), BROKERS)) {
            Marked.only(marks);
            Set<Integer> marked = Set.copyOf(marks);
            // Each broker is absent (0), stays (1), is added (2) or removed (3).
            for (int code = 0; code < 1 << 2 * BROKERS.size(); code++) {
                List<List<Integer>> roles = List.of(new ArrayList<>(), new ArrayList<>(), new ArrayList<>(), new ArrayList<>());
                for (int i = 0; i < BROKERS.size(); i++) {
                    roles.get(code >> 2 * i & 3).add(BROKERS.get(i));
                }
                List<Integer> adding = roles.get(2);
                List<Integer> removing = roles.get(3);
                List<Integer> targets = new ArrayList<>(roles.get(1));
                targets.addAll(adding);
                if (targets.isEmpty() || adding.isEmpty() && removing.isEmpty()) {
                    continue;
                }
                List<Integer> replicas = new ArrayList<>(targets);
                replicas.addAll(removing);
                for (List<Integer> isr : ElectionTableTest.subsets(replicas)) {
                    cases++;
                    boolean got = new PartitionReassignmentReplicas(removing, adding, replicas).maybeCompleteReassignment(isr).isPresent();
                    boolean want = complete(targets, adding, removing, isr, marked);
                    if (got != want) {
                        wrong.add("marked " + marked + ", targets " + targets + ", adding " + adding + ", removing " + removing
                            + ", ISR " + isr + ": complete " + got + ", the rules say " + want);
                    }
                }
            }
        }
        System.out.println("reassignments checked: " + cases);
        assertTrue(cases > 50000, "the table has shrunk to " + cases);
        assertEquals(List.of(), wrong.subList(0, Math.min(5, wrong.size())), wrong.size() + " of " + cases + " wrong");
    }

    private static Optional<List<Integer>> after(List<Integer> stay, List<Integer> removing, List<Integer> adding, List<Integer> isr) {
        List<Integer> replicas = new ArrayList<>(stay);
        replicas.addAll(adding);
        replicas.addAll(removing);
        List<Integer> got = Change.of(replicas, isr, isr.get(0), isr, isr.toArray(new Integer[0])).reassigning(removing, adding).outcome().replicas();
        return got.equals(replicas) && !removing.isEmpty() ? Optional.empty() : Optional.of(got);
    }

    @Test
    void replacingASyncReplicaDoesNotWaitForTheObserver() {
        Marked.only(4);
        assertEquals(Optional.of(List.of(2, 3, 4, 5)), after(List.of(2, 3, 4), List.of(1), List.of(5), List.of(1, 2, 3, 5)));
        assertEquals(Optional.empty(), after(List.of(2, 3, 4), List.of(1), List.of(5), List.of(1, 2, 3)));
    }

    @Test
    void replacingAnObserverByAnotherCompletesAtOnce() {
        Marked.only(4, 5);
        assertEquals(Optional.of(List.of(1, 2, 5)), after(List.of(1, 2), List.of(4), List.of(5), List.of(1, 2)));
    }

    @Test
    void removingAnObserverCompletesAtOnce() {
        Marked.only(4);
        assertEquals(Optional.of(List.of(1, 2)), after(List.of(1, 2), List.of(4), List.of(), List.of(1, 2)));
    }

    @Test
    void addingAnObserverIsCompleteWithoutIt() {
        Marked.only(4);
        assertTrue(new PartitionReassignmentReplicas(List.of(), List.of(4), List.of(1, 2, 4)).maybeCompleteReassignment(List.of(1, 2)).isPresent());
    }

    @Test
    void shrinkingWaitsForASyncTargetInTheIsr() {
        Marked.only(4);
        assertEquals(Optional.empty(), after(List.of(2, 4), List.of(1, 3), List.of(), List.of(1, 4)));
        assertEquals(Optional.of(List.of(2, 4)), after(List.of(2, 4), List.of(1, 3), List.of(), List.of(1, 2)));
    }

    @Test
    void markingInMidMoveNeverLosesTheLastSyncCopy() {
        Marked.only(5);
        assertEquals(Optional.empty(), after(List.of(), List.of(1, 2, 3), List.of(5, 6), List.of(1, 2, 3, 5)));
        assertEquals(Optional.of(List.of(5, 6)), after(List.of(), List.of(1, 2, 3), List.of(5, 6), List.of(1, 2, 3, 6)));
    }

    @Test
    void movingToMarkedReplicasOnlyWaitsForThemAsUpstreamDoes() {
        Marked.only(4, 5);
        assertEquals(Optional.empty(), after(List.of(), List.of(1, 2), List.of(4, 5), List.of(1, 2, 4)));
        assertEquals(Optional.of(List.of(4, 5)), after(List.of(), List.of(1, 2), List.of(4, 5), List.of(1, 2, 4, 5)));
    }

    /** Where the ELR can be on: whoever left the assignment has deleted its log, and must not count as an eligible leader. */
    @Test
    void aMoveThatEndsBelowTheMinimumLeavesNobodyInTheElrWhoLeftTheAssignment() {
        Assumptions.assumeTrue(VERSION.startsWith("4."), "before 4.0 no released feature level turns the ELR on");
        List<Integer> replicas = List.of(1, 3, 4, 5, 2);
        int shrunk = 0;
        for (List<Integer> marks : List.of(List.of(3, 4, 5), List.of(2, 4), List.of(4), List.of(1, 3))) {
            Marked.only(marks);
            for (List<Integer> removing : List.of(List.of(2), List.of(2, 5))) {
                for (List<Integer> isr : ElectionTableTest.subsets(replicas)) {
                    if (isr.isEmpty()) {
                        continue;
                    }
                    Change.Outcome got = Change.of(replicas, isr, isr.get(0), isr, replicas.toArray(new Integer[0]))
                        .withElr(3, List.of(), List.of(), List.of()).reassigning(removing, List.of(3)).outcome();
                    boolean left = got.replicas().size() < replicas.size();
                    shrunk += left && got.isr().size() < 3 && isr.contains(2) ? 1 : 0;
                    assertTrue(got.replicas().containsAll(got.elr()), "marked " + marks + ", removing " + removing + ", ISR " + isr + ": " + got);
                }
            }
        }
        assertTrue(shrunk > 5, "only " + shrunk + " moves ended below the minimum with a broker of the ISR gone");
    }

    private static PartitionReassignmentRevert cancel(int leader, List<Integer> isr) {
        return new PartitionReassignmentRevert(
            Change.of(List.of(1, 2, 4, 5), isr, leader, isr).reassigning(List.of(1), List.of(5)).registration());
    }

    @Test
    void cancellingBackToObserversOnlyIsAnUncleanElection() {
        Marked.only(4);
        assertTrue(cancel(5, List.of(5, 4)).unclean());
        assertEquals(List.of(1), cancel(5, List.of(5, 4)).isr());
        assertFalse(cancel(2, List.of(2, 5, 4)).unclean());
        assertEquals(List.of(2, 4), cancel(2, List.of(2, 5, 4)).isr());
    }

    @Test
    void cancellingUnderAMarkedLeaderKeepsIt() {
        Marked.only(4);
        PartitionReassignmentRevert revert = cancel(4, List.of(4, 5));
        assertFalse(revert.unclean());
        assertEquals(List.of(4), revert.isr());
    }
}

/*
 * Copyright the observer-patch authors.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Part of observer-patch for upstream Kafka; not a file of upstream.
 */
package org.apache.kafka.controller;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.function.Supplier;

import org.junit.jupiter.api.Test;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

/**
 * Every change of the ISR of a partition with three replicas, with every set of marked brokers, of live
 * brokers, every election type, ELR off and on: the outcome is the model's, and the promises hold.
 */
class ElectionTableTest {
    private static final List<Integer> REPLICAS = List.of(1, 2, 3);

    @Test
    void everyElectionFollowsTheRules() {
        List<String> wrong = new ArrayList<>();
        Map<Change, Change.Outcome> upstream = new HashMap<>();
        int cases = 0;
        for (List<Integer> marks : subsets(REPLICAS)) {
            Marked.only(marks);
            Set<Integer> marked = Set.copyOf(marks);
            int[] n = {0};
            each(change -> {
                n[0]++;
                Change.Outcome got = change.outcome();
                if (marks.isEmpty()) {
                    upstream.put(change, got);
                } else if (marks.size() == REPLICAS.size()) {
                    check(wrong, got.equals(upstream.get(change)), () -> "all marked must be as upstream " + upstream.get(change), marked, change, got);
                }
                Change.Outcome want = Model.outcome(change, marked);
                check(wrong, got.equals(want), () -> "model says " + want, marked, change, got);
                promises(wrong, marked, change, got);
            });
            cases += n[0];
        }
        System.out.println("elections checked: " + cases);
        assertTrue(cases > 20000, "the table has shrunk to " + cases);
        assertEquals(List.of(), wrong.subList(0, Math.min(5, wrong.size())), wrong.size() + " of " + cases + " wrong");
    }

    /** What users are promised, said once more without the model. */
    private static void promises(List<String> wrong, Set<Integer> marked, Change c, Change.Outcome got) {
        Predicate<Integer> sync = Model.sync(c.replicas(), c.removing(), marked);
        boolean observerLeads = got.leader() >= 0 && !sync.test(got.leader());
        check(wrong, !observerLeads || got.leader() == c.leader(), () -> "an observer was elected", marked, c, got);
        check(wrong, !observerLeads || got.isr().stream().noneMatch(r -> sync.test(r) && c.alive().contains(r)),
            () -> "a sync member is there and an observer leads on", marked, c, got);
        if (c.leader() >= 0 && c.targetIsr().contains(c.leader()) && c.alive().contains(c.leader())) {
            check(wrong, got.leader() >= 0, () -> "a live leader in the ISR went offline", marked, c, got);
        }
        if (got.leader() < 0) {
            Set<Integer> electable = new HashSet<>(got.isr());
            electable.addAll(got.elr());
            for (int member : c.isr()) {
                // A sync member that leaves an ISR in which another one stays may be forgotten; the last one may not.
                boolean last = c.targetIsr().stream().noneMatch(sync);
                if (sync.test(member) && last && !c.unclean().contains(member)) {
                    check(wrong, electable.contains(member), () -> "the departed member " + member + " is not electable any more", marked, c, got);
                }
            }
        }
    }

    private static void check(List<String> wrong, boolean ok, Supplier<String> what, Set<Integer> marked, Change change, Change.Outcome got) {
        if (!ok) {
            wrong.add(what.get() + ": marked " + marked + ", " + change + ", got " + got);
        }
    }

    private static void each(Consumer<Change> use) {
        for (List<Integer> isr : subsets(REPLICAS)) {
            for (List<Integer> target : subsets(REPLICAS)) {
                for (int leader : new int[] {-1, 1, 2, 3}) {
                    for (List<Integer> alive : subsets(REPLICAS)) {
                        // A leader is in the ISR, and leaves it only when it is gone.
                        if (leader >= 0 && (!isr.contains(leader) || !target.contains(leader) && alive.contains(leader))) {
                            continue;
                        }
                        for (String election : new String[] {"ONLINE", "PREFERRED", "UNCLEAN"}) {
                            Change change = Change.of(REPLICAS, isr, leader, target, alive.toArray(new Integer[0])).withElection(election);
                            if (!isr.isEmpty()) {
                                use.accept(change);
                            }
                            if (Change.HAS_ELR) {
                                withElr(change, use);
                            }
                        }
                    }
                }
            }
        }
    }

    private static void withElr(Change change, Consumer<Change> use) {
        for (List<Integer> elr : subsets(REPLICAS)) {
            // The ELR holds members while the ISR is below the minimum, and nobody is in both.
            if (change.isr().stream().anyMatch(elr::contains) || change.isr().size() >= 2 && !elr.isEmpty()) {
                continue;
            }
            for (List<Integer> unclean : List.of(List.<Integer>of(), List.of(1), List.of(2))) {
                if (unclean.stream().anyMatch(r -> change.alive().contains(r) || change.targetIsr().contains(r))) {
                    continue;
                }
                use.accept(change.withElr(2, elr, List.of(), unclean));
                if (change.leader() < 0) {
                    use.accept(change.withElr(2, elr, List.of(2), unclean));
                    use.accept(change.withElr(1, elr, List.of(3), unclean));
                }
            }
        }
    }

    static List<List<Integer>> subsets(List<Integer> of) {
        List<List<Integer>> all = new ArrayList<>();
        for (int bits = 0; bits < 1 << of.size(); bits++) {
            List<Integer> subset = new ArrayList<>();
            for (int i = 0; i < of.size(); i++) {
                if ((bits & 1 << i) != 0) {
                    subset.add(of.get(i));
                }
            }
            all.add(subset);
        }
        return all;
    }
}

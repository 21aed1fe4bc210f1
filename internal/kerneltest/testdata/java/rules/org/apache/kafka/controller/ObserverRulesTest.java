/*
 * Copyright the observer-patch authors.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Part of observer-patch for upstream Kafka; not a file of upstream.
 */
package org.apache.kafka.controller;

import java.util.List;

import org.junit.jupiter.api.Test;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

/** Who is an observer of a partition. */
class ObserverRulesTest {
    private static int[] ints(int... ids) {
        return ids;
    }

    @Test
    void aMarkedReplicaIsAnObserverWhenSomebodyUnmarkedIsToStay() {
        Marked.only(3, 4);
        assertTrue(ObserverRules.isObserver(4, ints(1, 4), ints()));
        assertFalse(ObserverRules.isObserver(1, ints(1, 4), ints()));
        assertFalse(ObserverRules.isObserver(4, ints(3, 4), ints()), "all are marked");
        assertFalse(ObserverRules.isObserver(4, ints(1, 3, 4), ints(1)), "the only unmarked one goes");
        assertTrue(ObserverRules.isObserver(4, ints(1, 2, 4), ints(1)));
        assertTrue(ObserverRules.isObserver(4, ints(1, 4), ints(4)), "one that goes is an observer too");
    }

    @Test
    void withoutIdsNobodyIs() {
        Marked.only();
        assertFalse(ObserverRules.active());
        assertFalse(ObserverRules.isObserver(4, ints(1, 4), ints()));
        assertArrayEquals(ints(1, 4), ObserverRules.withoutObservers(ints(1, 4), ints(1, 4), ints()));
        assertFalse(ObserverRules.hasObserver(ints(1, 4), ints()));
    }

    @Test
    void listsOfMembersKeepTheirOrder() {
        Marked.only(1, 4);
        assertArrayEquals(ints(3, 2), ObserverRules.withoutObservers(ints(4, 3, 1, 2), ints(1, 2, 3, 4), ints()));
        assertEquals(List.of(3, 2), ObserverRules.initialIsr(List.of(4, 3, 1, 2), List.of(4, 3, 1, 2)));
        assertEquals(List.of(), ObserverRules.initialIsr(List.of(4, 3, 1, 2), List.of(4)));
        assertEquals(List.of(4, 1), ObserverRules.initialIsr(List.of(4, 1), List.of(4, 1)));
    }

    @Test
    void anIsrOfObserversOnlyIsNotTheEmptyOne() {
        Marked.only(4);
        assertTrue(ObserverRules.onlyObservers(ints(4), ints(1, 4), ints()));
        assertFalse(ObserverRules.onlyObservers(ints(), ints(1, 4), ints()));
        assertFalse(ObserverRules.onlyObservers(ints(1, 4), ints(1, 4), ints()));
        assertFalse(ObserverRules.onlyObservers(ints(4), ints(4), ints()));
    }

    @Test
    void anObserverMayStayInAnIsrButNotJoinIt() {
        Marked.only(3, 4);
        assertArrayEquals(ints(3), ObserverRules.observersToJoin(ints(1, 3, 4), ints(1, 2, 4), ints(1, 2, 3, 4), ints()));
        assertArrayEquals(ints(), ObserverRules.observersToJoin(ints(3, 4), ints(3), ints(3, 4), ints()));
    }
}

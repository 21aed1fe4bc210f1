/*
 * Copyright the observer-patch authors.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Part of observer-patch for upstream Kafka; not a file of upstream.
 */
package org.apache.kafka.controller;

import java.util.List;
import java.util.Set;

import org.apache.kafka.common.ElectionType;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.metadata.LeaderRecoveryState;
import org.apache.kafka.metadata.Replicas;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

/** What the KRaft controller does with requests and with brokers that come and go. */
class ControllerTest {
    private static final int NONE = -1;

    @BeforeEach
    void nobodyIsMarked() {
        Marked.only();
    }

    @Test
    void newPartitionsStartWithoutObservers() throws Exception {
        Controller c = Controller.with(1, 2, 3, 4);
        Marked.only(4);
        c.create("assigned", Errors.NONE, 4, 1, 2);
        assertEquals(List.of(1, 2), c.isr("assigned", 0));
        assertEquals(1, c.leader("assigned"));
        assertEquals(Errors.NONE, c.grow("assigned", 2, List.of(List.of(4, 3, 1))));
        assertEquals(List.of(3, 1), c.isr("assigned", 1));
        assertEquals(3, c.partition("assigned", 1).leader);
        // Four replicas on four brokers: the marked one has to be used.
        c.place("placed", Errors.NONE, 1, 4);
        assertEquals(Set.of(1, 2, 3), Set.copyOf(c.isr("placed", 0)));
        assertEquals(Errors.NONE, c.grow("placed", 2, List.of()));
        assertEquals(Set.of(1, 2, 3), Set.copyOf(c.isr("placed", 1)));
    }

    @Test
    void placementLeavesMarkedBrokersOut() throws Exception {
        Controller c = Controller.with(1, 2, 3, 4);
        Marked.only(4);
        c.place("placed", Errors.NONE, 20, 3);
        assertEquals(Errors.NONE, c.grow("placed", 40, List.of()));
        for (int id = 0; id < 40; id++) {
            assertEquals(Set.of(1, 2, 3), Set.copyOf(Replicas.toList(c.partition("placed", id).replicas)));
        }
    }

    @Test
    void creationIsRefusedWhileAllSyncReplicasAreDown() throws Exception {
        Controller c = Controller.with(1, 2, 4);
        c.create("old", Errors.NONE, 1, 2, 4);
        c.fence(1, 2);
        Marked.only(4);
        c.create("assigned", Errors.INVALID_REPLICA_ASSIGNMENT, 1, 2, 4);
        c.place("placed", Errors.INVALID_REPLICATION_FACTOR, 1, 3);
        assertEquals(Errors.INVALID_REPLICA_ASSIGNMENT, c.grow("old", 2, List.of(List.of(1, 2, 4))));
        assertEquals(Errors.INVALID_REPLICATION_FACTOR, c.grow("old", 2, List.of()));
    }

    @Test
    void aPartitionOfMarkedReplicasOnlyIsAsUpstream() throws Exception {
        Controller c = Controller.with(1, 4, 5);
        Marked.only(4, 5);
        c.create("foo", Errors.NONE, 4, 5);
        assertEquals(List.of(4, 5), c.isr("foo", 0));
        assertEquals(4, c.leader("foo"));
        assertEquals(Errors.NONE, c.propose("foo", 4));
        assertEquals(Errors.NONE, c.propose("foo", 4, 5));
        c.fence(4);
        assertEquals(5, c.leader("foo"));
    }

    @Test
    void anObserverIsRefusedInAProposedIsrUnlessItIsStillInTheCommittedOne() throws Exception {
        Controller c = Controller.with(1, 2, 3, 4);
        c.create("foo", Errors.NONE, 1, 2, 3, 4);
        Marked.only(4);
        assertEquals(Errors.NONE, c.propose("foo", 1, 3, 4), "2 died, and the leader does not know of the mark yet");
        assertEquals(List.of(1, 3, 4), c.isr("foo", 0));
        assertEquals(Errors.NONE, c.propose("foo", 1, 3));
        assertEquals(Errors.INELIGIBLE_REPLICA, c.propose("foo", 1, 3, 4));
        assertEquals(List.of(1, 3), c.isr("foo", 0));
        Marked.only();
        assertEquals(Errors.NONE, c.propose("foo", 1, 3, 4));
    }

    @Test
    void markingTheLeaderNeverTakesThePartitionOffline() throws Exception {
        for (boolean unclean : new boolean[] {false, true}) {
            Controller c = Controller.with(1, 2, 3);
            c.create("foo", Errors.NONE, 1, 2, 3);
            if (unclean) {
                c.allowUncleanElection("foo");
            }
            assertEquals(Errors.NONE, c.propose("foo", 1, 2));
            Marked.only(1);
            c.fence(2);
            assertEquals(1, c.leader("foo"), "it holds everything and nobody else does");
            assertEquals(List.of(1), c.isr("foo", 0));
            c.unfence(2);
            assertEquals(1, c.leader("foo"));
            assertEquals(Errors.NEW_LEADER_ELECTED, c.propose("foo", 1, 2), "leadership moves as soon as somebody qualifies");
            assertEquals(2, c.leader("foo"));
            assertEquals(Errors.NONE, c.propose("foo", 2));
            Marked.only();
        }
    }

    @Test
    void aPreferredElectionMovesLeadershipOffAMarkedPreferredLeader() throws Exception {
        Controller c = Controller.with(1, 2, 3);
        c.create("foo", Errors.NONE, 1, 2, 3);
        assertEquals(Errors.ELECTION_NOT_NEEDED, c.elect("foo", ElectionType.PREFERRED));
        Marked.only(1);
        assertEquals(Errors.NONE, c.elect("foo", ElectionType.PREFERRED));
        assertEquals(2, c.leader("foo"));
        assertEquals(Errors.PREFERRED_LEADER_NOT_AVAILABLE, c.elect("foo", ElectionType.PREFERRED));
        assertEquals(2, c.leader("foo"));
    }

    @Test
    void theLastSyncReplicaIsElectableWhenItReturns() throws Exception {
        for (boolean elr : new boolean[] {false, true}) {
            for (boolean shutdown : new boolean[] {false, true}) {
                Controller c = new Controller(elr, 1, 2, 4);
                c.unfence(1, 2, 4);
                c.create("foo", Errors.NONE, 1, 4);
                Marked.only(4);
                if (shutdown) {
                    c.controlledShutdown(1);
                }
                c.fence(1);
                assertEquals(NONE, c.leader("foo"));
                assertEquals(Set.of(1, 4), c.electable("foo"));
                assertEquals(Errors.PREFERRED_LEADER_NOT_AVAILABLE, c.elect("foo", ElectionType.PREFERRED));
                c.unfence(1);
                assertEquals(1, c.leader("foo"), "ELR " + elr + ", controlled shutdown " + shutdown);
                Marked.only();
            }
        }
    }

    @Test
    void aPromotedObserverOfALeaderlessPartitionIsElectedCleanly() throws Exception {
        for (boolean elr : new boolean[] {false, true}) {
            Controller c = new Controller(elr, 1, 2, 4);
            c.unfence(1, 2, 4);
            c.create("foo", Errors.NONE, 1, 4);
            Marked.only(4);
            c.fence(1);
            assertEquals(NONE, c.leader("foo"));
            Marked.only();
            assertEquals(NONE, c.leader("foo"), "taking an id out starts no election");
            assertEquals(Errors.NONE, c.elect("foo", ElectionType.PREFERRED));
            assertEquals(4, c.leader("foo"));
            assertEquals(LeaderRecoveryState.RECOVERED, c.partition("foo", 0).leaderRecoveryState);
        }
    }

    @Test
    void aReassignmentDoesNotWaitForTheObserver() throws Exception {
        Controller c = Controller.with(1, 2, 3, 4, 5);
        Marked.only(4);
        c.create("foo", Errors.NONE, 1, 2, 4);
        assertEquals(Errors.NONE, c.reassign("foo", List.of(2, 3, 4)));
        assertFalse(Replicas.toList(c.partition("foo", 0).replicas).equals(List.of(2, 3, 4)));
        Errors error = c.propose("foo", 1, 2, 3);
        assertTrue(error == Errors.NONE || error == Errors.NEW_LEADER_ELECTED, error.toString());
        assertEquals(List.of(2, 3, 4), Replicas.toList(c.partition("foo", 0).replicas));
        assertEquals(List.of(2, 3), c.isr("foo", 0));
        assertEquals(0, c.partition("foo", 0).removingReplicas.length);
    }

    @Test
    void addingAndRemovingAnObserverCompletesWhenItIsSubmitted() throws Exception {
        Controller c = Controller.with(1, 2, 3, 4);
        Marked.only(4);
        c.create("foo", Errors.NONE, 1, 2, 3);
        assertEquals(Errors.NONE, c.reassign("foo", List.of(1, 2, 3, 4)));
        assertEquals(List.of(1, 2, 3, 4), Replicas.toList(c.partition("foo", 0).replicas));
        assertEquals(0, c.partition("foo", 0).addingReplicas.length);
        assertEquals(Errors.NONE, c.reassign("foo", List.of(1, 2, 3)));
        assertEquals(List.of(1, 2, 3), Replicas.toList(c.partition("foo", 0).replicas));
        assertEquals(Errors.NO_REASSIGNMENT_IN_PROGRESS, c.reassign("foo", null));
    }

    @Test
    void aCancelledReassignmentUnderAMarkedLeaderKeepsTheLeader() throws Exception {
        Controller c = Controller.with(1, 2, 3);
        c.create("foo", Errors.NONE, 1, 2);
        assertEquals(Errors.NONE, c.propose("foo", 1));
        assertEquals(Errors.NONE, c.reassign("foo", List.of(1, 3)));
        Marked.only(1);
        assertEquals(Errors.NONE, c.reassign("foo", null));
        assertEquals(1, c.leader("foo"));
        assertEquals(List.of(1, 2), Replicas.toList(c.partition("foo", 0).replicas));
    }
}

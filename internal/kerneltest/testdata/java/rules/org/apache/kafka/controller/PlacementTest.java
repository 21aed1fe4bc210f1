/*
 * Copyright the observer-patch authors.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Part of observer-patch for upstream Kafka; not a file of upstream.
 */
package org.apache.kafka.controller;

import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.Set;

import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.errors.InvalidReplicationFactorException;
import org.apache.kafka.metadata.placement.ClusterDescriber;
import org.apache.kafka.metadata.placement.PartitionAssignment;
import org.apache.kafka.metadata.placement.PlacementSpec;
import org.apache.kafka.metadata.placement.StripedReplicaPlacer;
import org.apache.kafka.metadata.placement.UsableBroker;

import org.junit.jupiter.api.Test;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

/** Where automatic placement puts replicas. Brokers 1 to 5, in three racks. */
class PlacementTest {
    private static Set<Integer> used(int replicationFactor, Integer... fenced) {
        List<UsableBroker> brokers = new ArrayList<>();
        for (int id = 1; id <= 5; id++) {
            brokers.add(new UsableBroker(id, Optional.of("rack" + id % 3), List.of(fenced).contains(id)));
        }
        ClusterDescriber cluster = (ClusterDescriber) Proxy.newProxyInstance(PlacementTest.class.getClassLoader(),
            new Class<?>[] {ClusterDescriber.class},
            (proxy, method, args) -> method.getName().equals("usableBrokers") ? brokers.iterator() : new Uuid(11, 13));
        Set<Integer> used = new HashSet<>();
        for (PartitionAssignment assignment : new StripedReplicaPlacer(new Random(4711))
            .place(new PlacementSpec(0, 100, (short) replicationFactor), cluster).assignments()) {
            assertEquals(replicationFactor, new HashSet<>(assignment.replicas()).size());
            used.addAll(assignment.replicas());
        }
        return used;
    }

    @Test
    void withoutIdsAllBrokersAreUsed() {
        Marked.only();
        assertEquals(Set.of(1, 2, 3, 4, 5), used(3));
    }

    @Test
    void unmarkedBrokersAreUsedAsLongAsTheySuffice() {
        Marked.only(4, 5);
        assertEquals(Set.of(1, 2, 3), used(3));
        Marked.only(1);
        assertEquals(Set.of(2, 3, 4, 5), used(2));
    }

    @Test
    void markedBrokersAreUsedWhenTheUnmarkedDoNotSuffice() {
        Marked.only(4, 5);
        assertEquals(Set.of(1, 2, 3, 4, 5), used(4));
        Marked.only(1, 2, 3, 4, 5);
        assertEquals(Set.of(1, 2, 3, 4, 5), used(3));
    }

    @Test
    void aLiveMarkedBrokerIsNoSubstituteForFencedUnmarkedOnes() {
        Marked.only(4, 5);
        assertThrows(InvalidReplicationFactorException.class, () -> used(3, 1, 2, 3));
    }

    @Test
    void idsOfBrokersThatDoNotExistChangeNothing() {
        Marked.only(6, 7);
        assertEquals(Set.of(1, 2, 3, 4, 5), used(5));
        assertThrows(InvalidReplicationFactorException.class, () -> used(6));
    }
}

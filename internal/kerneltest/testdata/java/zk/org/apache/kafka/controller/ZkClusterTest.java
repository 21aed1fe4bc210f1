/*
 * Copyright the observer-patch authors.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Part of observer-patch for upstream Kafka; not a file of upstream.
 */
package org.apache.kafka.controller;

import java.net.InetAddress;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ExecutionException;

import org.apache.kafka.clients.admin.CreateTopicsOptions;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.TopicPartitionInfo;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.replica.ClientMetadata;
import org.apache.kafka.common.security.auth.KafkaPrincipal;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

import static org.apache.kafka.controller.ZkCluster.await;
import static org.apache.kafka.controller.ZkCluster.ids;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

/** The ZooKeeper controller and its brokers with observers, on five real brokers; the controller is broker 5. */
class ZkClusterTest {
    private static final int RECORDS = 20;
    private static ZkCluster cluster;

    @BeforeAll
    static void start() throws Exception {
        Marked.only();
        cluster = new ZkCluster(5, 1, 2, 3, 4);
    }

    @AfterAll
    static void stop() {
        cluster.close();
    }

    @AfterEach
    void unmark() {
        Marked.only();
    }

    @Test
    void anObserverFetchesANewPartitionAndStaysOutOfTheIsr() throws Exception {
        Marked.only(4);
        cluster.create("new", List.of(4, 2, 1), 2, 1, 2);
        cluster.produce("new", RECORDS);
        cluster.awaitEnd("new", 4, RECORDS);
        assertEquals(Set.of(1, 2), cluster.isr("new"));
        assertFalse(cluster.partition(2, "new").isUnderReplicated(), "an observer outside the ISR is not missing");
        Marked.only();
        cluster.produce("new", 1);
        await("the promoted broker joins", () -> cluster.isr("new").equals(Set.of(1, 2, 4)));
        Marked.only(4);
        cluster.partition(2, "new").maybeShrinkIsr();
        await("the demoted broker leaves", () -> cluster.isr("new").equals(Set.of(1, 2)));
    }

    @Test
    void aPartitionWhoseFullMembersAreAllDownWaitsForOneOfThem() throws Exception {
        Marked.only(4);
        cluster.kill(1);
        try {
            ExecutionException late = assertThrows(ExecutionException.class, () -> cluster.admin()
                .createTopics(List.of(new NewTopic("waits", Map.of(0, List.of(4, 1)))), new CreateTopicsOptions().timeoutMs(1000)).all().get());
            assertInstanceOf(TimeoutException.class, late.getCause(), "the topic is there, its partition has no leader yet");
            cluster.create("later", List.of(2), 2, 2); // so the controller has been through the creation of the first
            assertTrue(cluster.broker(5).zkClient().getTopicPartitionState(new TopicPartition("waits", 0)).isEmpty());
        } finally {
            cluster.start(1);
        }
        await("1 leads", () -> cluster.leads("waits", 1));
        assertEquals(Set.of(1), cluster.isr("waits"));
        cluster.produce("waits", RECORDS);
        cluster.awaitEnd("waits", 4, RECORDS);
    }

    @Test
    void automaticPlacementLeavesObserversOut() throws Exception {
        Marked.only(4, 5);
        cluster.admin().createTopics(List.of(new NewTopic("placed", Optional.of(20), Optional.of((short) 3)))).all().get();
        cluster.admin().createPartitions(Map.of("placed", NewPartitions.increaseTo(40))).all().get();
        await("40 partitions", () -> cluster.admin().describeTopics(List.of("placed")).allTopicNames().get().get("placed").partitions().size() == 40);
        for (TopicPartitionInfo p : cluster.admin().describeTopics(List.of("placed")).allTopicNames().get().get("placed").partitions()) {
            assertEquals(Set.of(1, 2, 3), Set.copyOf(ids(p.replicas())));
        }
    }

    @Test
    void observersAreAddedMovedReplacedAndRemoved() throws Exception {
        Marked.only(3, 4);
        cluster.create("moves", List.of(1, 2), 1, 1, 2);
        cluster.produce("moves", RECORDS);
        cluster.reassign("moves", List.of(1, 2, 4), RECORDS, 1, 2);
        cluster.reassign("moves", List.of(5, 2, 4), RECORDS, 2, 5);
        await("the old replica is gone", () -> cluster.end("moves", 1) == -1);
        cluster.reassign("moves", List.of(5, 2, 3), RECORDS, 2, 5);
        await("the old observer is gone", () -> cluster.end("moves", 4) == -1);
        cluster.reassign("moves", List.of(5, 2), RECORDS, 2, 5);
        await("the last observer is gone", () -> cluster.end("moves", 3) == -1);
        cluster.produce("moves", 1);
        cluster.awaitEnd("moves", 2, RECORDS + 1);
    }

    @Test
    void aReassignmentToMarkedBrokersOnlyLosesNothing() throws Exception {
        Marked.only(3, 4);
        cluster.create("all-marked", List.of(1, 2), 1, 1, 2);
        cluster.produce("all-marked", RECORDS);
        cluster.reassign("all-marked", List.of(3, 4), RECORDS, 3, 4);
        assertTrue(cluster.leads("all-marked", 3));
        cluster.produce("all-marked", 1);
        cluster.awaitEnd("all-marked", 4, RECORDS + 1);
    }

    @Test
    void aMarkedLeaderLeadsOnUntilAFullMemberIsBack() throws Exception {
        cluster.create("sitting", List.of(1, 2), 1, 1, 2);
        Marked.only(1);
        cluster.kill(2);
        await("2 is out of the ISR", () -> cluster.isr("sitting").equals(Set.of(1)));
        assertTrue(cluster.leads("sitting", 1));
        cluster.produce("sitting", RECORDS);
        cluster.start(2);
        await("leadership goes to 2", () -> cluster.leads("sitting", 2));
        cluster.awaitEnd("sitting", 2, RECORDS);
        cluster.partition(2, "sitting").maybeShrinkIsr();
        await("1 leaves the ISR", () -> cluster.isr("sitting").equals(Set.of(2)));
        cluster.produce("sitting", 1);
        cluster.awaitEnd("sitting", 1, RECORDS + 1);
    }

    @Test
    void aReplicaThatWasJustMarkedIsNotElected() throws Exception {
        cluster.create("demoted", List.of(1, 2, 3), 1, 1, 2, 3);
        Marked.only(2);
        cluster.kill(1);
        try {
            await("3 leads", () -> cluster.leads("demoted", 3));
            assertEquals(Set.of(2, 3), cluster.isr("demoted"));
        } finally {
            cluster.start(1);
        }
    }

    @Test
    void theLastFullMemberLeadsAgainWhenItReturns() throws Exception {
        cluster.create("last", List.of(1, 4), 1, 1, 4);
        cluster.produce("last", RECORDS);
        cluster.awaitEnd("last", 4, RECORDS);
        Marked.only(4);
        cluster.kill(1);
        try {
            await("nobody leads", () -> cluster.leads("last", -1));
            assertEquals(Set.of(1, 4), cluster.isr("last"));
        } finally {
            cluster.start(1);
        }
        await("1 leads again", () -> cluster.leads("last", 1));
        cluster.produce("last", 1);
        cluster.awaitEnd("last", 4, RECORDS + 1);
    }

    @Test
    void aConsumerInTheRackOfACaughtUpObserverIsSentThere() throws Exception {
        Marked.only(4);
        cluster.create("reads", List.of(1, 2, 4), 1, 1, 2);
        cluster.produce("reads", RECORDS);
        cluster.awaitEnd("reads", 4, RECORDS);
        await("the leader has seen that 4 is caught up", () -> readFrom("reads", 1, "rack4", 0).equals(Optional.of(4)));
        assertEquals(Optional.of(2), readFrom("reads", 1, "rack2", 0));
        assertEquals(Optional.empty(), readFrom("reads", 1, "rack1", 0));
        assertEquals(Optional.empty(), readFrom("reads", 1, "rack4", RECORDS + 1), "4 does not have that offset");
    }

    private static Optional<Object> readFrom(String topic, int leader, String rack, long offset) throws Exception {
        ClientMetadata client = new ClientMetadata.DefaultClientMetadata(rack, "client", InetAddress.getLoopbackAddress(), KafkaPrincipal.ANONYMOUS, "PLAINTEXT");
        scala.Option<Object> id = cluster.broker(leader).replicaManager()
            .findPreferredReadReplica(cluster.partition(leader, topic), client, -1, offset, System.currentTimeMillis());
        return id.isEmpty() ? Optional.empty() : Optional.of(id.get());
    }

    @Test
    void deletingRecordsDoesNotWaitForAnObserver() throws Exception {
        Marked.only(4);
        cluster.create("deletes", List.of(1, 2, 4), 1, 1, 2);
        cluster.produce("deletes", RECORDS);
        cluster.awaitEnd("deletes", 4, RECORDS);
        cluster.broker(4).replicaManager().replicaFetcherManager()
            .removeFetcherForPartitions(scala.jdk.javaapi.CollectionConverters.asScala(Set.of(new TopicPartition("deletes", 0))));
        cluster.admin().deleteRecords(Map.of(new TopicPartition("deletes", 0), org.apache.kafka.clients.admin.RecordsToDelete.beforeOffset(5))).all().get();
        assertEquals(5L, cluster.partition(1, "deletes").lowWatermarkIfLeader());
    }
}

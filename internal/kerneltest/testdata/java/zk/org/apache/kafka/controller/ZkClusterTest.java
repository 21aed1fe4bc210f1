/*
 * Copyright the observer-patch authors.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Part of observer-patch for upstream Kafka; not a file of upstream.
 */
package org.apache.kafka.controller;

import java.lang.management.ManagementFactory;
import java.lang.reflect.Method;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;

import javax.management.ObjectName;

import kafka.api.LeaderAndIsr;
import kafka.cluster.Partition;
import kafka.controller.KafkaController;
import kafka.observer.ObserverMetrics;

import org.apache.kafka.clients.admin.CreateTopicsOptions;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.TopicPartitionInfo;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.message.AlterPartitionRequestData;
import org.apache.kafka.common.message.AlterPartitionResponseData;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.replica.ClientMetadata;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.metrics.KafkaYammerMetrics;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

import scala.Option;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.BoxedUnit;

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
        long refused = refusedIsrChanges();
        cluster.create("new", List.of(4, 2, 1), 2, 1, 2);
        cluster.produce("new", RECORDS);
        cluster.awaitEnd("new", 4, RECORDS);
        assertEquals(Set.of(1, 2), cluster.isr("new"));
        cluster.create("new-later", List.of(2), 2, 2); // the controller has answered what it was asked before
        assertEquals(refused, refusedIsrChanges(), "the leader proposed an ISR with the observer");
        assertFalse(cluster.partition(2, "new").isUnderReplicated(), "an observer outside the ISR is not missing");
        Marked.only();
        cluster.produce("new", 1);
        await("the promoted broker joins", () -> cluster.isr("new").equals(Set.of(1, 2, 4)));
        Marked.only(4);
        cluster.shrinkIsr(2, "new");
        await("the demoted broker leaves", () -> cluster.isr("new").equals(Set.of(1, 2)));
    }

    private static long refusedIsrChanges() throws Exception {
        return (long) ManagementFactory.getPlatformMBeanServer()
            .getAttribute(new ObjectName("kafka.server:type=ReplicaManager,name=FailedIsrUpdatesPerSec"), "Count");
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
        // Each request may reach another broker, and not every broker knows the topic at the same time: what is judged is the answer that was whole.
        List<TopicPartitionInfo> placed = new ArrayList<>();
        await("40 partitions", () -> {
            placed.clear();
            placed.addAll(cluster.admin().describeTopics(List.of("placed")).allTopicNames().get().get("placed").partitions());
            return placed.size() == 40;
        });
        for (TopicPartitionInfo p : placed) {
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
        cluster.shrinkIsr(2, "sitting");
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

    /** Broker 4 is caught up, and fetches no more. */
    private static void stopFetching(String topic) throws Exception {
        await("the leader has seen that 4 is caught up", () -> readFrom(topic, 1, "rack4", 0).equals(Optional.of(4)));
        cluster.broker(4).replicaManager().replicaFetcherManager()
            .removeFetcherForPartitions(CollectionConverters.asScala(Set.of(new TopicPartition(topic, 0))));
    }

    @Test
    void neitherProducingNorDeletingRecordsWaitsForAnObserver() throws Exception {
        Marked.only(4);
        cluster.create("no-wait", List.of(1, 2, 4), 1, 1, 2);
        cluster.produce("no-wait", RECORDS);
        cluster.awaitEnd("no-wait", 4, RECORDS);
        stopFetching("no-wait");
        cluster.produce("no-wait", 1);
        cluster.admin().deleteRecords(Map.of(new TopicPartition("no-wait", 0), RecordsToDelete.beforeOffset(5))).all().get();
        assertEquals(5L, cluster.partition(1, "no-wait").lowWatermarkIfLeader());
        assertEquals(RECORDS, cluster.end("no-wait", 4));
    }

    @Test
    void theControllerRefusesAnObserverThatIsNotYetInTheIsr() throws Exception {
        cluster.create("proposed", List.of(1, 2, 4), 1, 1, 2, 4);
        Marked.only(4);
        assertEquals(Errors.NONE, propose("proposed", List.of(1, 4)), "2 leaves, and 4 is in the committed ISR still");
        assertEquals(Set.of(1, 4), isrInZooKeeper("proposed"));
        assertEquals(Errors.NONE, propose("proposed", List.of(1)));
        assertEquals(Errors.OPERATION_NOT_ATTEMPTED, propose("proposed", List.of(1, 4)));
        assertEquals(Set.of(1), isrInZooKeeper("proposed"));
        assertEquals(Errors.NONE, propose("proposed", List.of(1, 2)));
    }

    private static Set<Integer> isrInZooKeeper(String topic) {
        return Set.copyOf(ZkState.javaList(state(topic).isr()));
    }

    private static LeaderAndIsr state(String topic) {
        return cluster.broker(5).zkClient().getTopicPartitionState(new TopicPartition(topic, 0)).get().leaderAndIsr();
    }

    /** What the controller answers when broker 1, the leader, proposes an ISR (version 1 of the request, which has names). */
    private static Errors propose(String topic, List<Integer> isr) throws Exception {
        LeaderAndIsr now = state(topic);
        CompletableFuture<AlterPartitionResponseData> answer = new CompletableFuture<>();
        cluster.broker(5).kafkaController().alterPartitions(
            new AlterPartitionRequestData().setBrokerId(1).setBrokerEpoch(cluster.broker(1).kafkaController().brokerEpoch())
                .setTopics(List.of(new AlterPartitionRequestData.TopicData().setTopicName(topic)
                    .setPartitions(List.of(new AlterPartitionRequestData.PartitionData().setPartitionIndex(0)
                        .setLeaderEpoch(now.leaderEpoch()).setPartitionEpoch(now.partitionEpoch()).setNewIsr(isr))))),
            (short) 1,
            response -> {
                answer.complete(response);
                return BoxedUnit.UNIT;
            });
        AlterPartitionResponseData response = answer.get();
        assertEquals(Errors.NONE, Errors.forCode(response.errorCode()));
        return Errors.forCode(response.topics().get(0).partitions().get(0).errorCode());
    }

    @Test
    void theOldCopiesOfAReassignmentStayWhileNoTargetLeads() throws Exception {
        Marked.only(3);
        cluster.create("kept", List.of(2, 3), 2, 2);
        cluster.produce("kept", RECORDS);
        cluster.awaitEnd("kept", 3, RECORDS);
        cluster.kill(2);
        try {
            await("nobody leads", () -> cluster.leads("kept", -1));
            cluster.reassign("kept", List.of(2));
            assertTrue(cluster.reassigns("kept"), "3 has the only live copy");
            assertEquals(RECORDS, cluster.end("kept", 3));
        } finally {
            cluster.start(2);
        }
        await("the reassignment ends when 2 leads", () -> !cluster.reassigns("kept") && cluster.leads("kept", 2) && cluster.end("kept", 3) == -1);
    }

    @Test
    void noPreferredElectionIsTriedForAnObserver() throws Exception {
        cluster.create("headed", List.of(4, 1), 4, 1, 4);
        assertEquals(true, Reflect.call(cluster.broker(5).kafkaController(), canBeLeader(), new TopicPartition("headed", 0)));
        Marked.only(4);
        assertEquals(false, Reflect.call(cluster.broker(5).kafkaController(), canBeLeader(), new TopicPartition("headed", 0)));
    }

    private static String canBeLeader() {
        return Arrays.stream(KafkaController.class.getDeclaredMethods()).map(Method::getName)
            .filter(name -> name.endsWith("canPreferredReplicaBeLeader")).findFirst().orElseThrow();
    }

    private static Object gauge(String name) throws Exception {
        return ManagementFactory.getPlatformMBeanServer().getAttribute(new ObjectName("kafka.observer:type=ObserverMetrics,name=" + name), "Value");
    }

    @Test
    void gaugesShowWhatALeaderKnows() throws Exception {
        assertEquals(0, gauge("ObserverReplicaCount")); // of the broker that was built last
        Marked.only(4);
        cluster.create("gauges", List.of(1, 2, 4), 1, 1, 2);
        cluster.produce("gauges", RECORDS);
        cluster.awaitEnd("gauges", 4, RECORDS);
        ObserverMetrics.addBroker(1, () -> CollectionConverters.asScala(List.of(cluster.partition(1, "gauges")).iterator()));
        await("the leader has seen that 4 is caught up", () -> gauge("CaughtUpObserverCount").equals(1) && gauge("MaxObserverLag").equals(0L));
        assertEquals(List.of(1, 0, 0L, 1, 0, 1), List.of(gauge("ObserverReplicaCount"), gauge("ObserversInIsrCount"), gauge("MaxObserverLagMs"),
            gauge("ObserverCount"), gauge("IsObserver"), gauge("IdsFileState")));
        assertEquals(ObserverReplicas.idsHash(), gauge("ObserverIdsHash"));
        stopFetching("gauges");
        cluster.produce("gauges", 5);
        await("4 is 5 records behind", () -> gauge("MaxObserverLag").equals(5L) && (long) gauge("MaxObserverLagMs") > 0);
        Marked.only();
        await("no ids, no observers", () -> gauge("ObserverReplicaCount").equals(0) && gauge("MaxObserverLag").equals(0L));
    }

    @Test
    void gaugesOfPartitionsGoWithThem() throws Exception {
        ObjectName ours = new ObjectName("kafka.cluster:type=Partition,name=ObserverReplicasCount,topic=leak,*");
        assertEquals(0, leaking());
        for (int i = 0; i < 1000; i++) {
            Partition.apply(new TopicPartition("leak", i), Time.SYSTEM, cluster.broker(1).replicaManager(), Option.empty());
        }
        assertEquals(1000, ManagementFactory.getPlatformMBeanServer().queryNames(ours, null).size());
        for (int i = 0; i < 1000; i++) {
            Partition.removeMetrics(new TopicPartition("leak", i));
        }
        assertEquals(0, ManagementFactory.getPlatformMBeanServer().queryNames(ours, null).size());
        assertEquals(0, leaking());
    }

    /** How many metrics of topic leak are registered, ours and upstream's. The brokers that run beside have others that come and go. */
    private static long leaking() {
        return KafkaYammerMetrics.defaultRegistry().allMetrics().keySet().stream().filter(name -> name.getMBeanName().contains("topic=leak,")).count();
    }
}

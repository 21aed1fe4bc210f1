/*
 * Copyright the observer-patch authors.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Part of observer-patch for upstream Kafka; not a file of upstream.
 */
package org.apache.kafka.controller;

import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;

import kafka.cluster.Partition;
import kafka.server.KafkaConfig;
import kafka.server.KafkaServer;
import kafka.zk.EmbeddedZookeeper;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewPartitionReassignment;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.TopicPartitionInfo;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.apache.kafka.common.network.ListenerName;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.common.utils.Time;

import scala.Option;

/**
 * Real brokers on a real ZooKeeper, all in this JVM, so that one identity file speaks to all of them. A broker
 * that is killed leaves without controlled shutdown; ISRs shrink for lag only when a test asks for it.
 */
final class ZkCluster implements AutoCloseable {
    private static final long PATIENCE_SECONDS = Long.parseLong(System.getenv().getOrDefault("PATIENCE_SECONDS", "120"));

    private final EmbeddedZookeeper zookeeper = new EmbeddedZookeeper();
    private final Map<Integer, KafkaServer> brokers = new TreeMap<>();
    private final Map<Integer, Path> logDirs = new HashMap<>();
    private final Admin admin;

    ZkCluster(int... ids) throws Exception {
        for (int id : ids) {
            logDirs.put(id, Files.createTempDirectory("broker-" + id + "-"));
            start(id);
        }
        admin = Admin.create(Map.of("bootstrap.servers", bootstrap()));
    }

    void start(int id) {
        Properties p = new Properties();
        p.putAll(Map.of(
            "broker.id", String.valueOf(id),
            "zookeeper.connect", "localhost:" + zookeeper.port(),
            "listeners", "PLAINTEXT://localhost:" + (brokers.containsKey(id) ? port(id) : 0),
            "log.dirs", logDirs.get(id).toString(),
            "broker.rack", "rack" + id,
            "controlled.shutdown.enable", "false",
            "auto.leader.rebalance.enable", "false",
            "replica.lag.time.max.ms", "600000",
            "replica.selector.class", "org.apache.kafka.common.replica.RackAwareReplicaSelector"));
        p.putAll(Map.of(
            "offsets.topic.replication.factor", "1",
            "offsets.topic.num.partitions", "1",
            "zookeeper.session.timeout.ms", "60000",
            "log.cleaner.enable", "false",
            "num.network.threads", "1",
            "num.io.threads", "2",
            "background.threads", "2"));
        KafkaServer broker = new KafkaServer(KafkaConfig.fromProps(p), Time.SYSTEM, Option.empty(), false);
        broker.startup();
        brokers.put(id, broker);
    }

    void kill(int id) {
        brokers.get(id).shutdown();
        brokers.get(id).awaitShutdown();
    }

    private int port(int id) {
        return brokers.get(id).boundPort(new ListenerName("PLAINTEXT"));
    }

    private String bootstrap() {
        return brokers.keySet().stream().map(id -> "localhost:" + port(id)).collect(Collectors.joining(","));
    }

    Admin admin() {
        return admin;
    }

    KafkaServer broker(int id) {
        return brokers.get(id);
    }

    Partition partition(int id, String topic) {
        return broker(id).replicaManager().onlinePartition(new TopicPartition(topic, 0)).get();
    }

    /**
     * What a leader does every half of replica.lag.time.max.ms. The controller's word reaches the metadata of some broker before
     * it reaches the leader, who does nothing as long as it does not know that it leads or waits for an answer.
     */
    void shrinkIsr(int id, String topic) throws Exception {
        await("broker " + id + " knows that it leads " + topic + " and waits for no answer",
            () -> partition(id, topic).isLeader() && !partition(id, topic).partitionState().isInflight());
        partition(id, topic).maybeShrinkIsr();
    }

    /** A topic with one partition, its leader and ISR as expected. */
    void create(String topic, List<Integer> replicas, int leader, Integer... isr) throws Exception {
        admin.createTopics(List.of(new NewTopic(topic, Map.of(0, replicas)).configs(Map.of("min.insync.replicas", "1")))).all().get();
        await(topic + " is led by " + leader + " with ISR " + List.of(isr), () -> leads(topic, leader) && isr(topic).equals(Set.of(isr)));
    }

    void produce(String topic, int records) throws Exception {
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(
            Map.of("bootstrap.servers", bootstrap(), "acks", "all", "delivery.timeout.ms", 60000, "request.timeout.ms", 20000),
            new StringSerializer(), new StringSerializer())) {
            for (int i = 0; i < records; i++) {
                producer.send(new ProducerRecord<>(topic, 0, null, "record " + i)).get();
            }
        }
    }

    void reassign(String topic, List<Integer> replicas) throws Exception {
        admin.alterPartitionReassignments(Map.of(new TopicPartition(topic, 0), Optional.of(new NewPartitionReassignment(replicas)))).all().get();
    }

    boolean reassigns(String topic) throws Exception {
        return admin.listPartitionReassignments(Set.of(new TopicPartition(topic, 0))).reassignments().get().size() > 0;
    }

    /** Reassign, and wait for the end of it; then replicas and ISR are as expected and every replica has the records. */
    void reassign(String topic, List<Integer> replicas, long records, Integer... isr) throws Exception {
        reassign(topic, replicas);
        await("reassignment of " + topic + " to " + replicas + " ends with ISR " + List.of(isr),
            () -> !reassigns(topic) && ids(info(topic).replicas()).equals(replicas) && isr(topic).equals(Set.of(isr)));
        for (int id : replicas) {
            awaitEnd(topic, id, records);
        }
    }

    void awaitEnd(String topic, int id, long records) throws Exception {
        await("broker " + id + " has " + records + " records of " + topic, () -> end(topic, id) == records);
    }

    long end(String topic, int id) {
        return broker(id).replicaManager().localLog(new TopicPartition(topic, 0)).fold(() -> -1L, log -> log.logEndOffset());
    }

    TopicPartitionInfo info(String topic) throws Exception {
        return admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic).partitions().get(0);
    }

    boolean leads(String topic, int id) throws Exception {
        Node leader = info(topic).leader();
        return leader == null || leader.isEmpty() ? id == -1 : leader.id() == id;
    }

    Set<Integer> isr(String topic) throws Exception {
        return new TreeSet<>(ids(info(topic).isr()));
    }

    static List<Integer> ids(List<Node> nodes) {
        return nodes.stream().map(Node::id).toList();
    }

    static void await(String what, Callable<Boolean> condition) throws Exception {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE_SECONDS);
        while (true) {
            try {
                if (condition.call()) {
                    return;
                }
            } catch (ExecutionException e) {
                if (!(e.getCause() instanceof UnknownTopicOrPartitionException)) {
                    throw e; // a broker that has not heard of the topic yet is no error
                }
            }
            if (System.nanoTime() > deadline) {
                throw new AssertionError("not within " + PATIENCE_SECONDS + " s: " + what);
            }
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(50));
        }
    }

    @Override
    public void close() {
        admin.close();
        brokers.keySet().forEach(this::kill);
        zookeeper.shutdown();
        logDirs.values().forEach(dir -> delete(dir.toFile()));
    }

    private static void delete(File file) {
        File[] children = file.listFiles();
        if (children != null) {
            for (File child : children) {
                delete(child);
            }
        }
        file.delete();
    }
}

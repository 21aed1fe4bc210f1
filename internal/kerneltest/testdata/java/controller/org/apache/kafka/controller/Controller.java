/*
 * Copyright the observer-patch authors.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Part of observer-patch for upstream Kafka; not a file of upstream.
 */
package org.apache.kafka.controller;

import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;

import org.apache.kafka.common.ElectionType;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.AlterPartitionReassignmentsRequestData;
import org.apache.kafka.common.message.AlterPartitionReassignmentsResponseData;
import org.apache.kafka.common.message.AlterPartitionRequestData;
import org.apache.kafka.common.message.AlterPartitionResponseData;
import org.apache.kafka.common.message.CreatePartitionsRequestData.CreatePartitionsTopic;
import org.apache.kafka.common.message.CreatePartitionsResponseData.CreatePartitionsTopicResult;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.metadata.LeaderRecoveryState;
import org.apache.kafka.metadata.PartitionRegistration;
import org.apache.kafka.metadata.Replicas;
import org.apache.kafka.server.common.ApiMessageAndVersion;

/** A KRaft controller without a quorum, on top of the context of upstream's tests, which is private there. */
final class Controller {
    private static final String CONTEXT = "org.apache.kafka.controller.ReplicationControlManagerTest$ReplicationControlTestContext";

    private final Object context;
    private final ReplicationControlManager manager;

    Controller(boolean elr, Integer... brokers) throws Exception {
        Constructor<?> constructor = Stream.of(Class.forName(CONTEXT + "$Builder").getDeclaredConstructors())
            .filter(c -> c.getParameterCount() == 0).findFirst().orElseThrow();
        constructor.setAccessible(true);
        Object builder = constructor.newInstance();
        Reflect.call(builder, "setIsElrEnabled", elr);
        context = Reflect.call(builder, "build");
        Field field = context.getClass().getDeclaredField("replicationControl");
        field.setAccessible(true);
        manager = (ReplicationControlManager) field.get(context);
        Reflect.call(context, "registerBrokers", (Object) brokers);
    }

    /** A controller whose brokers are all alive. */
    static Controller with(Integer... brokers) throws Exception {
        Controller controller = new Controller(false, brokers);
        controller.unfence(brokers);
        return controller;
    }

    void unfence(Integer... brokers) {
        Reflect.call(context, "unfenceBrokers", (Object) brokers);
    }

    void fence(Integer... brokers) {
        Reflect.call(context, "fenceBrokers", Set.of(brokers));
    }

    /** Create a topic with one partition on these replicas; the answer has to be this one. */
    void create(String topic, Errors answer, Integer... replicas) {
        Reflect.call(context, "createTestTopic", topic, new int[][] {Replicas.toArray(List.of(replicas))}, answer.code());
    }

    /** Create a topic whose partitions the controller places. */
    void place(String topic, Errors answer, int partitions, int replicationFactor) {
        Reflect.call(context, "createTestTopic", topic, partitions, (short) replicationFactor, answer.code());
    }

    private long epoch(int broker) {
        return (long) Reflect.call(context, "currentBrokerEpoch", broker);
    }

    private void replay(List<ApiMessageAndVersion> records) {
        Reflect.call(context, "replay", records);
    }

    PartitionRegistration partition(String topic, int id) {
        return manager.getPartition(manager.getTopicId(topic), id);
    }

    List<Integer> isr(String topic, int id) {
        return Replicas.toList(partition(topic, id).isr);
    }

    /** Members of ISR and ELR: who may be elected without loss. */
    Set<Integer> electable(String topic) {
        PartitionRegistration partition = partition(topic, 0);
        List<Integer> all = new ArrayList<>(Replicas.toList(partition.isr));
        all.addAll(Replicas.toList(partition.elr));
        return Set.copyOf(all);
    }

    int leader(String topic) {
        return partition(topic, 0).leader;
    }

    /** What the leader of partition 0 sends when its ISR changes. */
    Errors propose(String topic, Integer... isr) {
        PartitionRegistration partition = partition(topic, 0);
        AlterPartitionRequestData.PartitionData data = new AlterPartitionRequestData.PartitionData().setPartitionIndex(0)
            .setPartitionEpoch(partition.partitionEpoch).setLeaderEpoch(partition.leaderEpoch)
            .setLeaderRecoveryState(LeaderRecoveryState.RECOVERED.value());
        for (int broker : isr) {
            data.newIsrWithEpochs().add(new AlterPartitionRequestData.BrokerState().setBrokerId(broker).setBrokerEpoch(epoch(broker)));
        }
        Uuid topicId = manager.getTopicId(topic);
        ControllerResult<AlterPartitionResponseData> result = manager.alterPartition(
            ControllerRequestContextUtil.anonymousContextFor(ApiKeys.ALTER_PARTITION, (short) 3),
            new AlterPartitionRequestData().setBrokerId(partition.leader).setBrokerEpoch(epoch(partition.leader))
                .setTopics(List.of(new AlterPartitionRequestData.TopicData().setTopicId(topicId).setPartitions(List.of(data)))));
        replay(result.records());
        return Errors.forCode(result.response().topics().get(0).partitions().get(0).errorCode());
    }

    Errors elect(String topic, ElectionType type) {
        List<ApiMessageAndVersion> records = new ArrayList<>();
        Errors error = manager.electLeader(topic, 0, type, records).error();
        replay(records);
        return error;
    }

    /** Add partitions; without assignments they are placed. */
    Errors grow(String topic, int count, List<List<Integer>> assignments) {
        CreatePartitionsTopic request = new CreatePartitionsTopic().setName(topic).setCount(count).setAssignments(null);
        if (!assignments.isEmpty()) {
            request.setAssignments(new ArrayList<>());
            assignments.forEach(brokers -> request.assignments().add(
                new org.apache.kafka.common.message.CreatePartitionsRequestData.CreatePartitionsAssignment().setBrokerIds(brokers)));
        }
        ControllerResult<List<CreatePartitionsTopicResult>> result = manager.createPartitions(
            ControllerRequestContextUtil.anonymousContextFor(ApiKeys.CREATE_PARTITIONS), List.of(request));
        replay(result.records());
        return Errors.forCode(result.response().get(0).errorCode());
    }

    /** Reassign partition 0; null cancels. */
    Errors reassign(String topic, List<Integer> replicas) {
        ControllerResult<AlterPartitionReassignmentsResponseData> result = manager.alterPartitionReassignments(
            new AlterPartitionReassignmentsRequestData().setTopics(List.of(
                new AlterPartitionReassignmentsRequestData.ReassignableTopic().setName(topic).setPartitions(List.of(
                    new AlterPartitionReassignmentsRequestData.ReassignablePartition().setPartitionIndex(0).setReplicas(replicas))))));
        replay(result.records());
        return Errors.forCode(result.response().responses().get(0).partitions().get(0).errorCode());
    }

    void controlledShutdown(int broker) {
        List<ApiMessageAndVersion> records = new ArrayList<>();
        manager.handleBrokerInControlledShutdown(broker, epoch(broker), records);
        replay(records);
    }

    void allowUncleanElection(String topic) {
        Reflect.call(context, "alterTopicConfig", topic, "unclean.leader.election.enable", "true");
    }

}

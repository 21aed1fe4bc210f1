/*
 * Copyright the observer-patch authors.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Part of observer-patch for upstream Kafka; not a file of upstream.
 */
package org.apache.kafka.controller;

import java.util.List;
import java.util.Set;

import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.metadata.PartitionChangeRecord;
import org.apache.kafka.metadata.LeaderConstants;
import org.apache.kafka.metadata.LeaderRecoveryState;
import org.apache.kafka.metadata.PartitionRegistration;
import org.apache.kafka.metadata.Replicas;
import org.apache.kafka.server.common.MetadataVersion;

/** A partition, and one change of it that goes through PartitionChangeBuilder; hides how releases differ. */
record Change(
    List<Integer> replicas, List<Integer> removing, List<Integer> adding,
    List<Integer> isr, List<Integer> elr, List<Integer> lastKnown, int leader,
    boolean elrEnabled, int minIsr, String election,
    List<Integer> targetIsr, List<Integer> unclean, Set<Integer> alive
) {
    /** What a change leaves behind. */
    record Outcome(int leader, List<Integer> isr, Set<Integer> elr, boolean recovering, List<Integer> replicas) { }

    static final boolean HAS_ELR = !System.getProperty("kafka.version").startsWith("3.6.");

    /** A partition without reassignment and ELR, all in the ISR, online election. */
    static Change of(List<Integer> replicas, List<Integer> isr, int leader, List<Integer> targetIsr, Integer... alive) {
        return new Change(replicas, List.of(), List.of(), isr, List.of(), List.of(), leader, false, 1, "ONLINE", targetIsr, List.of(), Set.of(alive));
    }

    Change withElection(String type) {
        return new Change(replicas, removing, adding, isr, elr, lastKnown, leader, elrEnabled, minIsr, type, targetIsr, unclean, alive);
    }

    Change withElr(int min, List<Integer> members, List<Integer> last, List<Integer> uncleanlyRestarted) {
        return new Change(replicas, removing, adding, isr, members, last, leader, true, min, election, targetIsr, uncleanlyRestarted, alive);
    }

    Change reassigning(List<Integer> going, List<Integer> coming) {
        return new Change(replicas, going, coming, isr, elr, lastKnown, leader, elrEnabled, minIsr, election, targetIsr, unclean, alive);
    }

    PartitionRegistration registration() {
        PartitionRegistration.Builder builder = new PartitionRegistration.Builder()
            .setReplicas(Replicas.toArray(replicas)).setRemovingReplicas(Replicas.toArray(removing)).setAddingReplicas(Replicas.toArray(adding))
            .setIsr(Replicas.toArray(isr)).setLeader(leader).setLeaderRecoveryState(LeaderRecoveryState.RECOVERED)
            .setLeaderEpoch(7).setPartitionEpoch(9);
        if (HAS_ELR) {
            Reflect.call(builder, "setElr", Replicas.toArray(elr));
            Reflect.call(builder, "setLastKnownElr", Replicas.toArray(lastKnown));
            Uuid[] directories = new Uuid[replicas.size()];
            java.util.Arrays.fill(directories, new Uuid(11, 13));
            Reflect.call(builder, "setDirectories", (Object) directories);
        }
        return builder.build();
    }

    PartitionChangeBuilder builder(PartitionRegistration partition) {
        PartitionChangeBuilder builder = Reflect.changeBuilder(partition, new Uuid(1, 2), 0, alive::contains, MetadataVersion.IBP_3_6_IV2, minIsr, elrEnabled);
        builder.setElection(PartitionChangeBuilder.Election.valueOf(election));
        builder.setTargetIsr(targetIsr);
        if (!unclean.isEmpty()) {
            Reflect.call(builder, "setUncleanShutdownReplicas", unclean);
        }
        return builder;
    }

    /** What is left behind, read from the record that the change leads to. */
    Outcome outcome() {
        PartitionChangeRecord record = builder(registration()).build()
            .map(change -> (PartitionChangeRecord) change.message()).orElse(new PartitionChangeRecord());
        @SuppressWarnings("unchecked")
        List<Integer> elrAfter = HAS_ELR ? (List<Integer>) Reflect.call(record, "eligibleLeaderReplicas") : null;
        return new Outcome(
            record.leader() == LeaderConstants.NO_LEADER_CHANGE ? leader : record.leader(),
            record.isr() == null ? isr : record.isr(),
            Set.copyOf(elrAfter == null ? elr : elrAfter),
            record.leaderRecoveryState() == LeaderRecoveryState.RECOVERING.value(),
            record.replicas() == null ? replicas : record.replicas());
    }
}

/*
 * Copyright the observer-patch authors.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Part of observer-patch for upstream Kafka; not a file of upstream.
 */
package org.apache.kafka.controller;

import org.apache.kafka.metadata.placement.UsableBroker;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Iterator;
import java.util.List;
import java.util.function.IntPredicate;
import java.util.stream.Collectors;

/**
 * The rule of hook set full, in one place. Whether a broker is an observer is a question about a
 * partition: its id is in force (it is 'marked'), and the partition's target replicas (its replicas
 * less those that a reassignment removes) include an unmarked one. A partition with marked replicas
 * only has no observers, and behaves as upstream: there is nobody else who could lead it.
 *
 * The methods decide, and change nothing. They cost one volatile read while no id is in force.
 * Arrays are never changed, and never null; an empty array stands for 'no reassignment'.
 */
public final class ObserverRules {
    private static final Logger LOG = LoggerFactory.getLogger(ObserverRules.class);
    private static final int[] NONE = new int[0];

    private ObserverRules() { }

    /** Whether any id is in force. */
    public static boolean active() {
        return !ObserverReplicas.isEmpty();
    }

    /**
     * Whether a broker is an observer of a partition.
     *
     * @param id        The broker.
     * @param replicas  All replicas, those being added and removed included.
     * @param removing  Those being removed.
     */
    public static boolean isObserver(int id, int[] replicas, int[] removing) {
        return ObserverReplicas.isObserver(id) && hasSyncTarget(replicas, removing);
    }

    /** As {@link #isObserver(int, int[], int[])}; nothing is copied for a broker that is not marked. */
    public static boolean isObserver(int id, Collection<Integer> replicas, Collection<Integer> removing) {
        return ObserverReplicas.isObserver(id) && hasSyncTarget(toArray(replicas), toArray(removing));
    }

    /** Whether any replica, also one being added or removed, is an observer of the partition. */
    public static boolean hasObserver(int[] replicas, int[] removing) {
        return withoutObservers(replicas, replicas, removing).length != replicas.length;
    }

    static boolean hasObserver(Collection<Integer> replicas, Collection<Integer> removing) {
        return active() && hasObserver(toArray(replicas), toArray(removing));
    }

    /** Members without the partition's observers, in their order. */
    public static int[] withoutObservers(int[] members, int[] replicas, int[] removing) {
        if (!active() || !hasSyncTarget(replicas, removing)) {
            return members;
        }
        return Arrays.stream(members).filter(member -> !ObserverReplicas.isObserver(member)).toArray();
    }

    /** Whether there are members and every one is an observer: an ISR from which nobody may be elected. */
    public static boolean onlyObservers(int[] members, int[] replicas, int[] removing) {
        return members.length != 0 && withoutObservers(members, replicas, removing).length == 0;
    }

    static boolean onlyObservers(Collection<Integer> members, Collection<Integer> replicas, Collection<Integer> removing) {
        return active() && onlyObservers(toArray(members), toArray(replicas), toArray(removing));
    }

    /**
     * Whether every target replica that is not an observer is in the ISR. Because at least one target
     * is no observer, this never accepts an ISR that would lose the last in-sync copy.
     *
     * @param targets   The replicas that are to stay: the replicas less those being removed.
     * @param isr       The ISR.
     */
    public static boolean targetsInSync(int[] targets, int[] isr) {
        return containsAll(isr, withoutObservers(targets, targets, NONE));
    }

    static boolean targetsInSync(Collection<Integer> targets, Collection<Integer> isr) {
        return targetsInSync(toArray(targets), toArray(isr));
    }

    /**
     * Whether every adding replica that is not an observer is in the ISR, and at least one target is that
     * is not an observer. Where the partition is left with fewer replicas that are not observers,
     * all those targets have to be in the ISR.
     *
     * @param targets   The replicas that are to stay: the replicas less those being removed.
     * @param adding    Those of the targets that are new.
     * @param removing  Those that are to go.
     * @param isr       The ISR.
     */
    public static boolean addingInSync(int[] targets, int[] adding, int[] removing, int[] isr) {
        int[] syncTargets = withoutObservers(targets, targets, NONE);
        int[] syncAdding = withoutObservers(adding, targets, NONE);
        if (syncAdding.length < withoutObservers(removing, targets, NONE).length) {
            return containsAll(isr, syncTargets);
        }
        return containsAll(isr, syncAdding) && containsAny(isr, syncTargets);
    }

    static boolean addingInSync(
        Collection<Integer> targets, Collection<Integer> adding, Collection<Integer> removing, Collection<Integer> isr
    ) {
        return addingInSync(toArray(targets), toArray(adding), toArray(removing), toArray(isr));
    }

    /**
     * Whether a broker that is alive may lead. An observer may not, with one exception: the leader
     * that was marked while it leads, as long as it is in the resulting ISR and no other member of
     * that ISR qualifies. Marking a broker so never takes a partition offline.
     *
     * @param leader    The leader before the election, or a negative number.
     * @param isr       The ISR that results from the change.
     * @param alive     Who could lead if there were no observers.
     */
    public static boolean mayLead(int id, int leader, int[] isr, int[] replicas, int[] removing, IntPredicate alive) {
        if (!isObserver(id, replicas, removing)) {
            return true;
        }
        return id == leader && contains(isr, id)
            && Arrays.stream(isr).noneMatch(member -> !ObserverReplicas.isObserver(member) && alive.test(member));
    }

    static boolean mayLead(
        int id, int leader, List<Integer> isr, List<Integer> replicas, List<Integer> removing, IntPredicate alive
    ) {
        return !ObserverReplicas.isObserver(id)
            || mayLead(id, leader, toArray(isr), toArray(replicas), toArray(removing), alive);
    }

    /**
     * The ISR that a leaderless partition keeps instead of one of observers only: the committed one, so
     * that whoever left is electable when it returns, without those that restarted uncleanly and may
     * have lost records.
     *
     * @param unclean   Those that restarted uncleanly; null for none.
     */
    static List<Integer> keptIsr(int[] committed, List<Integer> replicas, List<Integer> unclean) {
        return Arrays.stream(committed).boxed()
            .filter(member -> replicas.contains(member) && (unclean == null || !unclean.contains(member)))
            .collect(Collectors.toList());
    }

    /**
     * Observers that a proposed ISR would bring in. Those that the committed ISR holds already are not
     * among them: an ISR that shrinks has to go through while such a member is still on its way out.
     */
    public static int[] observersToJoin(int[] proposed, int[] committed, int[] replicas, int[] removing) {
        if (!active()) {
            return NONE;
        }
        return without(without(proposed, withoutObservers(proposed, replicas, removing)), committed);
    }

    /**
     * The initial ISR without observers. It is empty when all replicas that are no observers are down;
     * the caller then refuses as upstream does when all replicas are down.
     *
     * @param replicas  All replicas of the new partition.
     * @param live      Those that are alive.
     */
    static List<Integer> initialIsr(List<Integer> replicas, List<Integer> live) {
        if (!active()) {
            return live;
        }
        int[] all = toArray(replicas);
        List<Integer> observers = live.stream().filter(id -> isObserver(id, all, NONE)).collect(Collectors.toList());
        if (observers.isEmpty()) {
            return live;
        }
        List<Integer> isr = new ArrayList<>(live);
        isr.removeAll(observers);
        LOG.info("Filtered observers {} from initial ISR {} -> {}", observers, live, isr);
        return isr;
    }

    /**
     * The brokers that automatic placement chooses from: the unmarked ones, or all of them, with a warning,
     * when those do not suffice.
     *
     * @param brokers            All brokers that could be used.
     * @param replicationFactor  How many are needed for one partition.
     */
    public static int[] placeable(int[] brokers, int replicationFactor) {
        int[] ids = ObserverReplicas.ids();
        int[] unmarked = without(brokers, ids);
        if (unmarked.length >= replicationFactor || unmarked.length == brokers.length) {
            return unmarked;
        }
        LOG.warn("Placing replicas on observers too: replication factor {} asks for more than the {} broker(s) outside the observer ids {}",
            replicationFactor, unmarked.length, Arrays.toString(ids));
        return brokers;
    }

    /** As {@link #placeable(int[], int)}, for the placer of KRaft. */
    public static Iterator<UsableBroker> placeable(Iterator<UsableBroker> brokers, int replicationFactor) {
        if (!active()) {
            return brokers;
        }
        List<UsableBroker> all = new ArrayList<>();
        brokers.forEachRemaining(all::add);
        int[] chosen = placeable(all.stream().mapToInt(UsableBroker::id).toArray(), replicationFactor);
        all.removeIf(broker -> !contains(chosen, broker.id()));
        return all.iterator();
    }

    private static boolean hasSyncTarget(int[] replicas, int[] removing) {
        for (int replica : replicas) {
            if (!ObserverReplicas.isObserver(replica) && !contains(removing, replica)) {
                return true;
            }
        }
        return false;
    }

    private static int[] without(int[] members, int[] others) {
        return Arrays.stream(members).filter(member -> !contains(others, member)).toArray();
    }

    private static boolean contains(int[] members, int id) {
        for (int member : members) {
            if (member == id) {
                return true;
            }
        }
        return false;
    }

    private static boolean containsAll(int[] members, int[] ids) {
        return Arrays.stream(ids).allMatch(id -> contains(members, id));
    }

    private static boolean containsAny(int[] members, int[] ids) {
        return Arrays.stream(ids).anyMatch(id -> contains(members, id));
    }

    private static int[] toArray(Collection<Integer> ids) {
        int[] array = new int[ids.size()];
        int size = 0;
        for (int id : ids) {
            array[size++] = id;
        }
        return array;
    }
}

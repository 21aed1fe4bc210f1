/*
 * Copyright the observer-patch authors.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Part of observer-patch for upstream Kafka; not a file of upstream.
 */
package org.apache.kafka.controller;

import java.util.Arrays;
import java.util.Collection;

/**
 * The rule of hook set full, in one place. Whether a broker is an observer is a question about a
 * partition: its id is in force (it is 'marked'), and the partition's target replicas (its replicas
 * less those that a reassignment removes) include an unmarked one. A partition with marked replicas
 * only has no observers, and behaves as upstream: there is nobody else who could lead it.
 *
 * All methods are pure but for one look at the ids in force, and cost one volatile read while none are.
 * Arrays are never changed, and never null; an empty array stands for 'no reassignment'.
 */
public final class ObserverRules {
    private ObserverRules() { }

    /** Whether any id is in force. */
    public static boolean active() {
        return ObserverReplicas.ids().length != 0;
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

    static boolean isObserver(int id, Collection<Integer> replicas, Collection<Integer> removing) {
        return ObserverReplicas.isObserver(id) && hasSyncTarget(toArray(replicas), toArray(removing));
    }

    /** Whether any replica, also one being added or removed, is an observer of the partition. */
    public static boolean hasObserver(int[] replicas, int[] removing) {
        return active() && firstMarked(replicas) >= 0 && hasSyncTarget(replicas, removing);
    }

    /**
     * Members without the partition's observers, in their order. The members themselves when there
     * is nothing to leave out.
     */
    public static int[] withoutObservers(int[] members, int[] replicas, int[] removing) {
        if (!active() || firstMarked(members) < 0 || !hasSyncTarget(replicas, removing)) {
            return members;
        }
        int[] rest = new int[members.length];
        int n = 0;
        for (int member : members) {
            if (!ObserverReplicas.isObserver(member)) {
                rest[n++] = member;
            }
        }
        return Arrays.copyOf(rest, n);
    }

    /**
     * Whether there are members, and every one is an observer: an ISR from which nobody may be elected.
     */
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
        return containsAll(isr, withoutObservers(targets, targets, new int[0]));
    }

    /**
     * Whether every adding replica that is not an observer is in the ISR, and at least one target is that
     * is not an observer; where the partition is left with fewer replicas that are not observers,
     * all those targets have to be in the ISR.
     *
     * @param targets   The replicas that are to stay: the replicas less those being removed.
     * @param adding    Those of the targets that are new.
     * @param removing  Those that are to go.
     * @param isr       The ISR.
     */
    public static boolean addingInSync(int[] targets, int[] adding, int[] removing, int[] isr) {
        int[] none = new int[0];
        int[] syncAdding = withoutObservers(adding, targets, none);
        int[] syncTargets = withoutObservers(targets, targets, none);
        if (syncAdding.length < withoutObservers(removing, targets, none).length) {
            return containsAll(isr, syncTargets);
        }
        return containsAll(isr, syncAdding) && containsAny(isr, syncTargets);
    }

    private static boolean hasSyncTarget(int[] replicas, int[] removing) {
        for (int replica : replicas) {
            if (!ObserverReplicas.isObserver(replica) && !contains(removing, replica)) {
                return true;
            }
        }
        return false;
    }

    private static int firstMarked(int[] members) {
        for (int i = 0; i < members.length; i++) {
            if (ObserverReplicas.isObserver(members[i])) {
                return i;
            }
        }
        return -1;
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
        for (int id : ids) {
            if (!contains(members, id)) {
                return false;
            }
        }
        return true;
    }

    private static boolean containsAny(int[] members, int[] ids) {
        for (int id : ids) {
            if (contains(members, id)) {
                return true;
            }
        }
        return false;
    }

    static int[] toArray(Collection<Integer> ids) {
        int[] array = new int[ids.size()];
        int n = 0;
        for (int id : ids) {
            array[n++] = id;
        }
        return array;
    }
}

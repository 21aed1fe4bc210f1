/*
 * Copyright the observer-patch authors.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Part of observer-patch for upstream Kafka; not a file of upstream.
 */
package org.apache.kafka.controller;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Predicate;

/**
 * The rules of leadership, written down from the specification and not from the hooks: what has to come
 * out of a change when some brokers are marked.
 */
final class Model {
    private static final String VERSION = System.getProperty("kafka.version");
    /** Upstream's inverted check: the last known leader is taken whether it is alive or not. */
    static final boolean LAST_KNOWN_UNCHECKED = VERSION.startsWith("3.7.") || VERSION.startsWith("3.8.") || VERSION.startsWith("3.9.") || VERSION.startsWith("4.0.");

    private Model() { }

    /** Who is a full member: everybody, unless somebody unmarked is to stay; then the unmarked ones. */
    static Predicate<Integer> sync(List<Integer> replicas, List<Integer> removing, Set<Integer> marked) {
        boolean anyoneElse = replicas.stream().anyMatch(r -> !removing.contains(r) && !marked.contains(r));
        return r -> !anyoneElse || !marked.contains(r);
    }

    static Change.Outcome outcome(Change c, Set<Integer> marked) {
        Predicate<Integer> sync = sync(c.replicas(), c.removing(), marked);
        List<Integer> isr = new ArrayList<>(c.targetIsr());
        boolean stays = isr.contains(c.leader()) && c.alive().contains(c.leader());
        if (!stays && !isr.isEmpty() && isr.stream().noneMatch(sync)) {
            // The last full member has left: it must stay electable, and so must the promoted observer.
            isr = new ArrayList<>(c.elrEnabled() ? List.of() : c.isr());
            isr.removeAll(c.unclean());
        }
        Set<Integer> elr = new HashSet<>();
        if (c.elrEnabled() && isr.size() < c.minIsr()) {
            elr.addAll(c.elr());
            elr.addAll(c.isr());
            elr.removeAll(isr);
            elr.removeAll(c.unclean());
        }
        Predicate<Integer> member = isr.isEmpty() ? elr::contains : isr::contains;
        List<Integer> clean = c.replicas().stream().filter(c.alive()::contains).filter(sync).filter(member).toList();
        if (!clean.isEmpty()) {
            int leader = clean.get(0);
            if (clean.contains(c.leader())) {
                leader = c.leader();
            }
            if (c.election().equals("PREFERRED") && clean.contains(c.replicas().get(0))) {
                leader = c.replicas().get(0);
            }
            if (elr.remove(leader)) {
                isr = List.of(leader);
            }
            return new Change.Outcome(leader, isr, elr, false, c.replicas());
        }
        if (stays) {
            return new Change.Outcome(c.leader(), isr, elr, false, c.replicas());
        }
        if (c.elrEnabled() && isr.isEmpty() && elr.isEmpty() && c.lastKnown().size() == 1) {
            int last = c.lastKnown().get(0);
            if (sync.test(last) && (LAST_KNOWN_UNCHECKED || c.alive().contains(last))) {
                return new Change.Outcome(last, List.of(last), Set.of(), true, c.replicas());
            }
        }
        if (c.election().equals("UNCLEAN")) {
            for (int replica : c.replicas()) {
                if (sync.test(replica) && c.alive().contains(replica)) {
                    return new Change.Outcome(replica, List.of(replica), Set.of(), true, c.replicas());
                }
            }
        }
        return new Change.Outcome(-1, isr.isEmpty() && !c.elrEnabled() ? c.isr() : isr, elr, false, c.replicas());
    }
}

/*
 * Copyright the observer-patch authors.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Part of observer-patch for upstream Kafka; not a file of upstream.
 */
package org.apache.kafka.controller;

import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.Map;

/**
 * How this node was told to find its observers, from the environment. Never fails: what cannot be
 * understood is replaced by the default, and named in {@link #complaints}.
 */
final class ObserverIdsConfig {
    static final String FILE = "KAFKA_OBSERVER_IDS_FILE";
    static final String BROKER_IDS = "KAFKA_OBSERVER_BROKER_IDS";
    static final String REFRESH_MS = "KAFKA_OBSERVER_REFRESH_MS";
    static final String STRICT = "KAFKA_OBSERVER_STRICT";

    static final String DEFAULT_FILE = "/opt/kafka/observer.ids";
    static final long DEFAULT_REFRESH_MS = 500;
    static final long MIN_REFRESH_MS = 100;
    static final long MAX_REFRESH_MS = 5000;

    /** The identity file. */
    final String file;
    /** The ids in force as long as there never was a file, ascending. */
    final int[] fallback;
    /** How often the file is looked at, in milliseconds. */
    final long refreshMs;
    /** Whether only the word 'none' switches off. */
    final boolean strict;
    /** What could not be understood, for one WARN; empty when all could. */
    final String complaints;

    ObserverIdsConfig(Map<String, String> environment) {
        StringBuilder complaints = new StringBuilder();
        String file = valueOf(environment, FILE);
        this.file = file.isEmpty() ? DEFAULT_FILE : file;
        this.fallback = fallbackOf(valueOf(environment, BROKER_IDS), complaints);
        this.refreshMs = refreshOf(valueOf(environment, REFRESH_MS), complaints);
        this.strict = strictOf(valueOf(environment, STRICT), complaints);
        this.complaints = complaints.toString();
    }

    private static String valueOf(Map<String, String> environment, String name) {
        String value = environment.get(name);
        return value == null ? "" : value.trim();
    }

    private static int[] fallbackOf(String value, StringBuilder complaints) {
        byte[] content = value.getBytes(StandardCharsets.UTF_8);
        ObserverIdsFile parsed = ObserverIdsFile.parse(content);
        if (parsed.hasUnknownTokens()) {
            complain(complaints, BROKER_IDS, "ignored what is no broker id, " + parsed.unknownTokens());
        }
        return parsed.ids();
    }

    private static long refreshOf(String value, StringBuilder complaints) {
        if (value.isEmpty()) {
            return DEFAULT_REFRESH_MS;
        }
        try {
            long wanted = Long.parseLong(value);
            long taken = Math.max(MIN_REFRESH_MS, Math.min(MAX_REFRESH_MS, wanted));
            if (taken != wanted) {
                complain(complaints, REFRESH_MS, "must be between " + MIN_REFRESH_MS + " and " + MAX_REFRESH_MS
                    + ", took " + taken);
            }
            return taken;
        } catch (NumberFormatException e) {
            complain(complaints, REFRESH_MS, "is not a number of milliseconds, took " + DEFAULT_REFRESH_MS);
            return DEFAULT_REFRESH_MS;
        }
    }

    private static boolean strictOf(String value, StringBuilder complaints) {
        String word = value.toLowerCase(Locale.ROOT);
        if (!word.isEmpty() && !word.equals("true") && !word.equals("false")) {
            complain(complaints, STRICT, "is neither true nor false, took false");
        }
        return word.equals("true");
    }

    private static void complain(StringBuilder complaints, String name, String text) {
        if (complaints.length() > 0) {
            complaints.append("; ");
        }
        complaints.append(name).append(' ').append(text);
    }
}

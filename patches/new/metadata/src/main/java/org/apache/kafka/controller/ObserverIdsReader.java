/*
 * Copyright the observer-patch authors.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Part of observer-patch for upstream Kafka; not a file of upstream.
 */
package org.apache.kafka.controller;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Decides, look by look at the identity file, which ids are in force.
 *
 * The rule: a damaged file freezes the list, only a deliberate edit changes it. A list that loses
 * ids is taken over only when two looks in a row see it in the same state of the file, because a file
 * that is rewritten in place is empty for a moment, and losing an id promotes a broker.
 *
 * One thread calls {@link #step}; any thread may ask the rest.
 */
final class ObserverIdsReader {
    /** There is no file and never was one. */
    static final int ABSENT = 0;
    /** What the file says is in force, or will be after one more look. */
    static final int OK = 1;
    /** The file cannot be used: the last good list is in force. */
    static final int STALE = 2;
    /** The file could not be used at the very first look, nor since. */
    static final int FAILED = 3;

    private static final long REPEAT_MS = 60_000;

    enum Level { INFO, WARN, ERROR }

    /** A line for the log. */
    static final class Note {
        final Level level;
        final String text;

        Note(Level level, String text) {
            this.level = level;
            this.text = text;
        }
    }

    private final String file;
    private final boolean strict;

    private volatile int[] ids;
    private volatile int state = ABSENT;

    private boolean first = true;
    private boolean seen;
    /** A list that loses ids and was seen once, and the look that saw it. */
    private int[] pending;
    private ObserverIdsReading pendingReading;
    private String lastProblem = "";
    private long lastProblemMs;
    private String lastUnknownTokens = "";
    private boolean warnedOfWriters;

    /**
     * @param file      The path of the file, for the log.
     * @param fallback  The ids that are in force until a file says otherwise, ascending.
     * @param strict    Whether only the word 'none' switches off.
     */
    ObserverIdsReader(String file, int[] fallback, boolean strict) {
        this.file = file;
        this.ids = fallback;
        this.strict = strict;
    }

    /** The ids in force, ascending. Not to be changed. */
    int[] ids() {
        return ids;
    }

    /** {@link #ABSENT}, {@link #OK}, {@link #STALE} or {@link #FAILED}. */
    int state() {
        return state;
    }

    /**
     * Take account of one look at the file.
     *
     * @param nowMs     A monotonic time.
     * @return          What is to be logged.
     */
    List<Note> step(ObserverIdsReading reading, long nowMs) {
        List<Note> notes = new ArrayList<>(0);
        boolean isFirst = first;
        first = false;
        switch (reading.kind()) {
            case MISSING:
                if (seen || strict) {
                    hold(seen ? "it is gone" : "there is no such file", false, nowMs, notes);
                } else if (isFirst) {
                    notes.add(new Note(Level.INFO, "No observer ids file " + file + ": ids in force are "
                        + Arrays.toString(ids)));
                }
                break;
            case FAILED:
                seen = true;
                hold(reading.cause(), isFirst, nowMs, notes);
                break;
            default:
                seen = true;
                readContent(reading, isFirst, nowMs, notes);
        }
        return notes;
    }

    private void readContent(ObserverIdsReading reading, boolean isFirst, long nowMs, List<Note> notes) {
        ObserverIdsFile parsed = ObserverIdsFile.parse(reading.content());
        warnOfWriters(reading, notes);
        if (strict && parsed.isNone()) {
            take(parsed.ids(), reading, isFirst, nowMs, notes);
        } else if (strict && parsed.isBlank()) {
            hold("it is empty, and in strict mode only the word none switches off", false, nowMs, notes);
        } else if (parsed.ids().length == 0 && !parsed.isBlank()) {
            hold("no broker id among its tokens " + parsed.unknownTokens(), isFirst, nowMs, notes);
        } else {
            warnOfUnknownTokens(parsed, notes);
            take(parsed.ids(), reading, isFirst, nowMs, notes);
        }
    }

    /** The file is good: its ids come into force, unless some would be lost and this is the first look to see it. */
    private void take(int[] now, ObserverIdsReading reading, boolean isFirst, long nowMs, List<Note> notes) {
        int[] old = isFirst ? new int[0] : ids;
        if (loses(old, now) && !(Arrays.equals(now, pending) && reading.agreesWith(pendingReading))) {
            if (pending != null) {
                problem(Level.WARN, "Observer ids file " + file + " keeps changing: ids in force stay "
                    + Arrays.toString(old) + " until two looks in a row agree", nowMs, notes);
            }
            pending = now;
            pendingReading = reading;
            return;
        }
        boolean recovered = state == STALE || state == FAILED;
        pending = null;
        pendingReading = null;
        lastProblem = "";
        ids = now;
        state = OK;
        if (!Arrays.equals(old, now)) {
            notes.add(new Note(Level.INFO, "Observer id set changed: " + Arrays.toString(old) + " -> "
                + Arrays.toString(now) + " (" + file + ", " + reading.provenance() + ")"));
        } else if (recovered) {
            notes.add(new Note(Level.INFO, "Observer ids file " + file + " can be used again: ids in force stay "
                + Arrays.toString(now)));
        }
    }

    /** The file is not good: the ids in force stay as they are. */
    private void hold(String cause, boolean failsAtFirst, long nowMs, List<Note> notes) {
        pending = null;
        pendingReading = null;
        if (failsAtFirst) {
            state = FAILED;
        } else if (state != FAILED) {
            state = STALE;
        }
        problem(failsAtFirst ? Level.ERROR : Level.WARN, "Failed to read observer ids from " + file + ": " + cause
            + "; ids in force stay " + Arrays.toString(ids), nowMs, notes);
    }

    /** A problem is told when it is new, and once a minute while it lasts. */
    private void problem(Level level, String text, long nowMs, List<Note> notes) {
        if (!text.equals(lastProblem) || nowMs - lastProblemMs >= REPEAT_MS) {
            lastProblem = text;
            lastProblemMs = nowMs;
            notes.add(new Note(level, text));
        }
    }

    private void warnOfUnknownTokens(ObserverIdsFile parsed, List<Note> notes) {
        String unknown = parsed.hasUnknownTokens() ? parsed.unknownTokens() : "";
        if (!unknown.equals(lastUnknownTokens)) {
            lastUnknownTokens = unknown;
            if (!unknown.isEmpty()) {
                notes.add(new Note(Level.WARN, "Ignored what is no broker id in observer ids file " + file + ": " + unknown));
            }
        }
    }

    private void warnOfWriters(ObserverIdsReading reading, List<Note> notes) {
        boolean writable = reading.isWritableByOthers();
        if (writable && !warnedOfWriters) {
            notes.add(new Note(Level.WARN, "Observer ids file " + file
                + " may be written by others than its owner; whoever can write it decides who is an observer"));
        }
        warnedOfWriters = writable;
    }

    private static boolean loses(int[] old, int[] now) {
        for (int id : old) {
            if (Arrays.binarySearch(now, id) < 0) {
                return true;
            }
        }
        return false;
    }
}

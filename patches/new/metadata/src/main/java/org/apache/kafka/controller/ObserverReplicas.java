/*
 * Copyright the observer-patch authors.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Part of observer-patch for upstream Kafka; not a file of upstream.
 */
package org.apache.kafka.controller;

import org.apache.kafka.metadata.Replicas;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.InputStream;
import java.util.Arrays;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.TimeUnit;
import java.util.function.IntPredicate;

/**
 * Which brokers are observers: replicas that fetch everything and are never in the ISR.
 *
 * The list comes from a file that a daemon thread looks at again and again, so that asking for an id
 * is one volatile read and a search in a small array. The first look is taken when this class is
 * initialised. Nothing that goes wrong with the file reaches the caller: Kafka has to run on with the
 * list as it was, and a class initialiser that throws would take the node down.
 */
public final class ObserverReplicas {
    private static final Logger log = LoggerFactory.getLogger(ObserverReplicas.class);
    private static final int[] NO_IDS = new int[0];
    private static final ObserverIdsReader READER = startReader();

    private ObserverReplicas() { }

    /**
     * Read the list now rather than at the first question, so that it is there, and in the log, from
     * the moment on when the node is built. Calling it again does nothing.
     */
    public static void start() {
        // Getting here has initialised the class. The body is not empty, and reads what only this class may
        // read, for the sake of the Scala compiler: upstream has it inline calls, and a call of an empty method
        // is nothing then, which initialises nothing.
        READER.state();
    }

    /** Whether the broker's id is in force as an observer's. */
    public static boolean isObserver(int brokerId) {
        return Arrays.binarySearch(READER.ids(), brokerId) >= 0;
    }

    /** Whether there are no observers at all. */
    public static boolean isEmpty() {
        return READER.ids().length == 0;
    }

    /** The ids in force, ascending. Not a copy: not to be changed. */
    public static int[] ids() {
        return READER.ids();
    }

    /** How many ids are in force. */
    public static int count() {
        return READER.ids().length;
    }

    /** A hash of the ids in force that is the same on every node with the same ids; 0 for none. */
    public static int idsHash() {
        int[] ids = READER.ids();
        return ids.length == 0 ? 0 : Arrays.hashCode(ids);
    }

    /** The state of the identity file: 0 absent, 1 ok, 2 stale, 3 failed. */
    public static int fileState() {
        return READER.state();
    }

    /**
     * The initial ISR of a new partition: without its observers, in the same order. If there is nobody
     * else, the ISR stays as it is, since a partition needs a leader.
     */
    public static int[] filterInitialIsr(int[] isr) {
        int[] sync = new int[isr.length];
        int[] observers = new int[isr.length];
        int syncCount = 0;
        int observerCount = 0;
        for (int brokerId : isr) {
            if (isObserver(brokerId)) {
                observers[observerCount++] = brokerId;
            } else {
                sync[syncCount++] = brokerId;
            }
        }
        if (observerCount == 0) {
            return isr;
        }
        if (syncCount == 0) {
            log.warn("All of the initial ISR {} are observers: left it as it is", Arrays.toString(isr));
            return isr;
        }
        int[] filtered = Arrays.copyOf(sync, syncCount);
        log.info("Filtered observers {} from initial ISR {} -> {}",
            Arrays.toString(Arrays.copyOf(observers, observerCount)), Arrays.toString(isr), Arrays.toString(filtered));
        return filtered;
    }

    /** The same for a list; the very same list when no observer is in it. */
    public static List<Integer> filterInitialIsr(List<Integer> isr) {
        int[] array = Replicas.toArray(isr);
        int[] filtered = filterInitialIsr(array);
        return filtered == array ? isr : Replicas.toList(filtered);
    }

    /** The brokers that a predicate accepts, less the observers. */
    static IntPredicate exceptObservers(IntPredicate accepted) {
        return brokerId -> !isObserver(brokerId) && accepted.test(brokerId);
    }

    private static ObserverIdsReader startReader() {
        try {
            ObserverIdsConfig config = new ObserverIdsConfig(System.getenv());
            if (!config.complaints.isEmpty()) {
                log.warn("Observer settings: {}", config.complaints);
            }
            ObserverIdsReader reader = new ObserverIdsReader(config.file, config.fallback, config.strict);
            look(reader, config.file);
            Properties patch = patchProperties();
            log.info("observer-patch generation {}, hook set {}: ids file {} ({}), observers {}, looked at every {} ms",
                patch.getProperty("generation", "unknown"), patch.getProperty("set", "unknown"), config.file,
                stateName(reader.state()), Arrays.toString(reader.ids()), config.refreshMs);
            Thread thread = new Thread(() -> lookForEver(reader, config), "observer-ids-reader");
            thread.setDaemon(true);
            thread.start();
            return reader;
        } catch (Throwable t) {
            return withoutReader(t);
        }
    }

    /** What is left when not even the first look could be taken: no observers, as without the patch. */
    private static ObserverIdsReader withoutReader(Throwable cause) {
        ObserverIdsReader reader = new ObserverIdsReader("", NO_IDS, false);
        reader.step(ObserverIdsReading.failed("the reader could not be started"), 0);
        try {
            log.error("Failed to start the reader of observer ids: no observers on this node", cause);
        } catch (Throwable ignored) {
            // A logger that throws must not keep the node from starting either.
        }
        return reader;
    }

    private static void lookForEver(ObserverIdsReader reader, ObserverIdsConfig config) {
        while (true) {
            try {
                Thread.sleep(config.refreshMs);
                look(reader, config.file);
            } catch (Throwable ignored) {
                // Whatever it is, the ids stay as they are and the next look may do better.
            }
        }
    }

    private static void look(ObserverIdsReader reader, String file) {
        long nowMs = TimeUnit.NANOSECONDS.toMillis(System.nanoTime());
        for (ObserverIdsReader.Note note : reader.step(ObserverIdsReading.of(file), nowMs)) {
            switch (note.level) {
                case INFO:
                    log.info(note.text);
                    break;
                case WARN:
                    log.warn(note.text);
                    break;
                default:
                    log.error(note.text);
            }
        }
    }

    private static String stateName(int state) {
        switch (state) {
            case ObserverIdsReader.ABSENT:
                return "absent";
            case ObserverIdsReader.OK:
                return "ok";
            case ObserverIdsReader.STALE:
                return "stale";
            default:
                return "failed";
        }
    }

    /** What the patched jar says of itself; empty in a tree that was only compiled. */
    private static Properties patchProperties() {
        Properties properties = new Properties();
        try (InputStream in = ObserverReplicas.class.getResourceAsStream("/META-INF/observer-patch.properties")) {
            if (in != null) {
                properties.load(in);
            }
        } catch (Exception e) {
            log.debug("No observer-patch properties", e);
        }
        return properties;
    }
}

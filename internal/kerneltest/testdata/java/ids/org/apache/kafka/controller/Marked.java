/*
 * Copyright the observer-patch authors.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Part of observer-patch for upstream Kafka; not a file of upstream.
 */
package org.apache.kafka.controller;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Collection;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;

/** Puts ids in force through the identity file, as an operator does. */
final class Marked {
    private Marked() { }

    /** Write the file, and return when exactly these ids are in force. */
    static void only(Collection<Integer> ids) {
        int[] wanted = ids.stream().mapToInt(Integer::intValue).sorted().toArray();
        try {
            Path file = Path.of(System.getenv("KAFKA_OBSERVER_IDS_FILE"));
            Path next = file.resolveSibling(file.getFileName() + ".next");
            Files.writeString(next, "# test\n" + ids.stream().map(String::valueOf).collect(Collectors.joining(",")) + "\n");
            Files.move(next, file, java.nio.file.StandardCopyOption.ATOMIC_MOVE);
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
        while (!Arrays.equals(wanted, ObserverReplicas.ids())) {
            if (System.nanoTime() > deadline) {
                throw new IllegalStateException("ids " + ids + " are not in force after 30 s but " + Arrays.toString(ObserverReplicas.ids()));
            }
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(1));
        }
    }

    static void only(Integer... ids) {
        only(Arrays.asList(ids));
    }
}

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
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

import kafka.observer.PartitionObservers;

import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

import scala.collection.Seq;
import scala.jdk.javaapi.CollectionConverters;

/** What a broker pays for the question, in the three states that its identity file can have. */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Fork(2)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
public class IsObserverBenchmark {
    /** The content of the identity file. */
    @Param({"none", "4", "4 5 6 7 8 9"})
    public String ids;

    // Not final, and boxed by a Scala collection as upstream's: what the compiler knew of it would not be known in a broker.
    private int full = 2;
    private int marked = 4;
    private Seq<Object> replicas;

    @Setup
    public void mark() throws IOException {
        // Before the first question, which has the class read the file.
        Files.writeString(Path.of(System.getenv("KAFKA_OBSERVER_IDS_FILE")), ids.equals("none") ? "" : ids);
        if (ObserverReplicas.isObserver(marked) == ids.equals("none")) {
            throw new IllegalStateException("the ids in force are not " + ids);
        }
        replicas = CollectionConverters.asScala(new ArrayList<Object>(List.of(1, 2, 3, 4))).toSeq();
    }

    /** ObserverReplicas.isObserver for a broker that is not marked: every ordinary follower's fetch. */
    @Benchmark
    public boolean idOfAFullMember() {
        return ObserverReplicas.isObserver(full);
    }

    /** The same for a marked one. */
    @Benchmark
    public boolean idOfAMarkedBroker() {
        return ObserverReplicas.isObserver(marked);
    }

    /** What Partition asks, for a broker that is not marked. */
    @Benchmark
    public boolean partitionOfAFullMember() {
        return PartitionObservers.isObserver(full, replicas);
    }

    /** What Partition asks for a marked one: it walks through the assignment. */
    @Benchmark
    public boolean partitionOfAMarkedBroker() {
        return PartitionObservers.isObserver(marked, replicas);
    }
}

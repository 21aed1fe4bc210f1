/*
 * Copyright the observer-patch authors.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Part of observer-patch for upstream Kafka; not a file of upstream.
 */
package org.apache.kafka.controller;

import java.util.List;

import kafka.cluster.Partition;
import kafka.observer.ObserverMetrics;

import org.junit.jupiter.api.Test;

import scala.jdk.javaapi.CollectionConverters;

import static org.junit.jupiter.api.Assertions.assertTrue;

/** Alone in its JVM: nothing else here may look at the list. */
class BrokerStartTest {
    /** A broker without partitions asks for no observer, and nobody may have read its gauges yet. */
    @Test
    void buildingABrokerReadsTheList() {
        ObserverMetrics.addBroker(1, () -> CollectionConverters.asScala(List.<Partition>of().iterator()));
        assertTrue(Thread.getAllStackTraces().keySet().stream().anyMatch(t -> t.getName().equals("observer-ids-reader")),
            "no thread looks at the identity file");
    }
}

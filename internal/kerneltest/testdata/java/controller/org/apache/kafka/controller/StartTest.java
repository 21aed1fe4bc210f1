/*
 * Copyright the observer-patch authors.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Part of observer-patch for upstream Kafka; not a file of upstream.
 */
package org.apache.kafka.controller;

import org.junit.jupiter.api.Test;

import static org.junit.jupiter.api.Assertions.assertTrue;

/** Alone in its JVM: nothing else here may look at the list. */
class StartTest {
    @Test
    void buildingAControllerReadsTheList() throws Exception {
        new Controller(false, 1);
        assertTrue(Thread.getAllStackTraces().keySet().stream().anyMatch(t -> t.getName().equals("observer-ids-reader")),
            "no thread looks at the identity file");
    }
}

/*
 * Copyright the observer-patch authors.
 * SPDX-License-Identifier: Apache-2.0
 */
package org.apache.kafka.controller;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * A node reduced to its list of observers: prints 'IDS state [ids] hash' whenever that changes, and
 * what is logged ('LOG level text'). Lines of the standard input: 'filter 3 1 2' asks for an
 * initial ISR ('ISR [1, 2]'), the end of the input ends it.
 */
final class LiveHarness {
    private LiveHarness() { }

    public static void main(String[] args) throws Exception {
        // Kafka may get here on a thread that is being stopped: neither the first look nor the flag may suffer.
        Thread.currentThread().interrupt();
        ObserverReplicas.start();
        System.out.println("INTERRUPTED " + Thread.interrupted());
        Thread questions = new Thread(LiveHarness::answer, "questions");
        questions.start();
        String last = "";
        while (questions.isAlive()) {
            int[] ids = ObserverReplicas.ids();
            for (int id : ids) {
                if (!ObserverReplicas.isObserver(id) || ObserverReplicas.isObserver(-1)) {
                    System.out.println("WRONG " + id);
                }
            }
            String now = "IDS " + ObserverReplicas.fileState() + " " + Arrays.toString(ids) + " " + ObserverReplicas.idsHash();
            if (!now.equals(last)) {
                System.out.println(now);
                last = now;
            }
            questions.join(1);
        }
        for (Thread thread : Thread.getAllStackTraces().keySet()) {
            if (thread.getName().equals("observer-ids-reader")) {
                System.out.println("READER daemon " + thread.isDaemon());
            }
        }
    }

    private static void answer() {
        try {
            BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
            String line;
            while ((line = in.readLine()) != null) {
                List<Integer> isr = new ArrayList<>();
                for (String field : line.substring("filter ".length()).split(" ")) {
                    isr.add(Integer.parseInt(field));
                }
                List<Integer> filtered = ObserverReplicas.filterInitialIsr(isr);
                System.out.println("ISR " + filtered + " " + (filtered == isr ? "same" : "new"));
            }
        } catch (IOException e) {
            System.out.println("WRONG " + e);
        }
    }
}

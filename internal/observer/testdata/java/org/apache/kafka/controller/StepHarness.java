/*
 * Copyright the observer-patch authors.
 * SPDX-License-Identifier: Apache-2.0
 */
package org.apache.kafka.controller;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;

/**
 * Runs the deciding classes over lines of the standard input, one answer a line:
 *
 * reader STRICT IDS            a new reader of the file 'F'; no answer
 * look C STAMP MS HEX          content; also 'look M - MS -' and 'look U - MS HEX' (the cause)
 * config NAME=HEX ...          an environment
 *
 * A look answers 'STATE IDS', then the notes, each after a tab. '-' is an empty field.
 */
final class StepHarness {
    private StepHarness() { }

    public static void main(String[] args) throws IOException {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        PrintStream out = new PrintStream(System.out, false, "US-ASCII");
        ObserverIdsReader reader = null;
        String line;
        while ((line = in.readLine()) != null) {
            String[] fields = line.split(" ");
            switch (fields[0]) {
                case "reader":
                    reader = new ObserverIdsReader("F", ObserverIdsFile.parse(bytesOf(fields[2])).ids(),
                        Boolean.parseBoolean(fields[1]));
                    break;
                case "look":
                    out.println(step(reader, fields));
                    break;
                default:
                    out.println(config(fields));
            }
        }
        out.flush();
    }

    private static String step(ObserverIdsReader reader, String[] fields) {
        ObserverIdsReading reading;
        switch (fields[1]) {
            case "M":
                reading = ObserverIdsReading.missing();
                break;
            case "U":
                reading = ObserverIdsReading.failed(textOf(fields[4]));
                break;
            default:
                reading = ObserverIdsReading.content(bytesOf(fields[4]), fields[2].equals("-") ? null : fields[2]);
        }
        StringBuilder answer = new StringBuilder();
        for (ObserverIdsReader.Note note : reader.step(reading, Long.parseLong(fields[3]))) {
            answer.append('\t').append(note.level).append(' ').append(note.text);
        }
        return reader.state() + " " + Arrays.toString(reader.ids()) + answer;
    }

    private static String config(String[] fields) {
        Map<String, String> environment = new HashMap<>();
        for (int i = 1; i < fields.length; i++) {
            int equals = fields[i].indexOf('=');
            environment.put(fields[i].substring(0, equals), textOf(fields[i].substring(equals + 1)));
        }
        ObserverIdsConfig config = new ObserverIdsConfig(environment);
        return config.file + "\t" + Arrays.toString(config.fallback) + "\t" + config.refreshMs + "\t" + config.strict
            + "\t" + config.complaints;
    }

    private static String textOf(String hex) {
        return new String(bytesOf(hex), StandardCharsets.UTF_8);
    }

    private static byte[] bytesOf(String hex) {
        if (hex.equals("-")) {
            return new byte[0];
        }
        byte[] bytes = new byte[hex.length() / 2];
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = (byte) Integer.parseInt(hex.substring(2 * i, 2 * i + 2), 16);
        }
        return bytes;
    }
}

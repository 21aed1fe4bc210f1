/*
 * Copyright the observer-patch authors.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Part of observer-patch for upstream Kafka; not a file of upstream.
 */
package org.apache.kafka.controller;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;

/**
 * What the bytes of an identity file say. Nothing here touches a disk or a clock.
 *
 * A '#' starts a comment to the end of the line. Tokens are separated by commas and white space
 * (space, tab, line feed, vertical tab, form feed, carriage return). An id is a token of 1 to 10
 * ASCII digits with a value of at most 2147483647. A leading UTF-8 byte order mark is skipped. The
 * file is looked at byte by byte, so no charset has a say in it: whatever is not a digit makes its
 * token an unknown one.
 *
 * A carriage return ends a comment too. Otherwise a file with nothing but carriage returns between
 * its lines would be one long comment, and would switch everything off.
 */
final class ObserverIdsFile {
    /** The longest file that is accepted, in bytes. */
    static final int MAX_BYTES = 64 * 1024;

    private static final int MAX_DIGITS = 10;
    private static final int MAX_NAMED_TOKENS = 10;
    private static final int MAX_NAMED_LENGTH = 40;

    private final int[] ids;
    private final List<String> unknown;
    private final int tokens;
    private final boolean none;

    private ObserverIdsFile(int[] ids, List<String> unknown, int tokens, boolean none) {
        this.ids = ids;
        this.unknown = unknown;
        this.tokens = tokens;
        this.none = none;
    }

    static ObserverIdsFile parse(byte[] content) {
        int[] found = new int[8];
        int count = 0;
        int tokens = 0;
        boolean none = false;
        List<String> unknown = Collections.emptyList();
        int at = startsWithMark(content) ? 3 : 0;
        while (at < content.length) {
            if (content[at] == '#') {
                while (at < content.length && !endsLine(content[at])) {
                    at++;
                }
            } else if (separates(content[at])) {
                at++;
            } else {
                int start = at;
                while (at < content.length && content[at] != '#' && !separates(content[at])) {
                    at++;
                }
                tokens++;
                long id = idOf(content, start, at);
                if (id >= 0) {
                    if (count == found.length) {
                        found = Arrays.copyOf(found, 2 * count);
                    }
                    found[count++] = (int) id;
                } else {
                    none = tokens == 1 && isNone(content, start, at);
                    if (unknown.isEmpty()) {
                        unknown = new ArrayList<>();
                    }
                    unknown.add(printable(content, start, at));
                }
            }
        }
        return new ObserverIdsFile(sortedAndDistinct(found, count), unknown, tokens, none && tokens == 1);
    }

    /** The ids, ascending, each once. */
    int[] ids() {
        return ids;
    }

    /** Whether there is nothing in the file but comments, commas and white space. */
    boolean isBlank() {
        return tokens == 0;
    }

    /** Whether the word 'none' is all that the file says. It has a meaning in strict mode only. */
    boolean isNone() {
        return none;
    }

    boolean hasUnknownTokens() {
        return !unknown.isEmpty();
    }

    /** The tokens that are no ids, for a log line: printable, and not endless. */
    String unknownTokens() {
        int named = Math.min(unknown.size(), MAX_NAMED_TOKENS);
        String text = unknown.subList(0, named).toString();
        return named == unknown.size() ? text : text + " and " + (unknown.size() - named) + " more";
    }

    /** The id that the token spells, or -1. */
    private static long idOf(byte[] content, int start, int end) {
        if (end - start > MAX_DIGITS) {
            return -1;
        }
        long value = 0;
        for (int i = start; i < end; i++) {
            if (content[i] < '0' || content[i] > '9') {
                return -1;
            }
            value = 10 * value + (content[i] - '0');
        }
        return value <= Integer.MAX_VALUE ? value : -1;
    }

    private static boolean isNone(byte[] content, int start, int end) {
        return end - start == 4 && content[start] == 'n' && content[start + 1] == 'o'
            && content[start + 2] == 'n' && content[start + 3] == 'e';
    }

    private static boolean startsWithMark(byte[] content) {
        return content.length >= 3 && content[0] == (byte) 0xEF && content[1] == (byte) 0xBB && content[2] == (byte) 0xBF;
    }

    private static boolean endsLine(byte b) {
        return b == '\n' || b == '\r';
    }

    private static boolean separates(byte b) {
        return b == ',' || b == ' ' || (b >= '\t' && b <= '\r');
    }

    private static String printable(byte[] content, int start, int end) {
        int last = Math.min(end, start + MAX_NAMED_LENGTH);
        StringBuilder text = new StringBuilder();
        for (int i = start; i < last; i++) {
            if (content[i] > ' ' && content[i] < 0x7F) {
                text.append((char) content[i]);
            } else {
                text.append(String.format("\\x%02x", content[i]));
            }
        }
        return last == end ? text.toString() : text.append("...").toString();
    }

    private static int[] sortedAndDistinct(int[] found, int count) {
        Arrays.sort(found, 0, count);
        int kept = 0;
        for (int i = 0; i < count; i++) {
            if (kept == 0 || found[i] != found[kept - 1]) {
                found[kept++] = found[i];
            }
        }
        return Arrays.copyOf(found, kept);
    }
}

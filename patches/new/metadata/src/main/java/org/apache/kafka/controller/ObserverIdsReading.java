/*
 * Copyright the observer-patch authors.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Part of observer-patch for upstream Kafka; not a file of upstream.
 */
package org.apache.kafka.controller;

import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.PosixFileAttributes;
import java.nio.file.attribute.PosixFilePermission;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.Set;

/**
 * One look at the identity file: its content, or that it is missing, or why it could not be read.
 */
final class ObserverIdsReading {
    enum Kind { CONTENT, MISSING, FAILED }

    private final Kind kind;
    private final byte[] content;
    private final String stamp;
    private final String cause;
    private final BasicFileAttributes attributes;

    private ObserverIdsReading(Kind kind, byte[] content, String stamp, String cause, BasicFileAttributes attributes) {
        this.kind = kind;
        this.content = content;
        this.stamp = stamp;
        this.cause = cause;
        this.attributes = attributes;
    }

    /**
     * A file that was read whole.
     *
     * @param stamp     Tells one state of the file from another; null when the file changed while it
     *                  was read.
     */
    static ObserverIdsReading content(byte[] content, String stamp) {
        return new ObserverIdsReading(Kind.CONTENT, content, stamp, "", null);
    }

    static ObserverIdsReading missing() {
        return new ObserverIdsReading(Kind.MISSING, null, null, "no such file", null);
    }

    static ObserverIdsReading failed(String cause) {
        return new ObserverIdsReading(Kind.FAILED, null, null, cause, null);
    }

    /**
     * Look at a file. The path is resolved anew each time, so that a symbolic link that points
     * somewhere else by now is followed. Never throws.
     *
     * The type is checked before the file is opened, because opening a FIFO without a writer would
     * block, and Java has no way to open a file without that. Somebody who replaces the file by a
     * FIFO between the two calls can still block the reading thread: the ids in force stay as they are.
     */
    static ObserverIdsReading of(String file) {
        try {
            Path path = Paths.get(file);
            BasicFileAttributes before = attributesOf(path);
            if (!before.isRegularFile()) {
                return failed(before.isDirectory() ? "it is a directory" : "it is not a regular file");
            }
            byte[] content = bytesOf(path);
            if (content.length > ObserverIdsFile.MAX_BYTES) {
                return failed("it is larger than " + ObserverIdsFile.MAX_BYTES + " bytes");
            }
            String stamp = stampOf(before);
            boolean still = stamp.equals(stampOf(attributesOf(path)));
            return new ObserverIdsReading(Kind.CONTENT, content, still ? stamp : null, "", before);
        } catch (NoSuchFileException e) {
            return missing();
        } catch (Exception e) {
            return failed(e.toString());
        }
    }

    Kind kind() {
        return kind;
    }

    byte[] content() {
        return content;
    }

    /** Why there is no content. */
    String cause() {
        return cause;
    }

    /** Whether both readings saw the same state of the file, and it was at rest in both. */
    boolean agreesWith(ObserverIdsReading other) {
        return stamp != null && other != null && stamp.equals(other.stamp);
    }

    /** Whether somebody else than the owner of the file may write it. */
    boolean isWritableByOthers() {
        if (!(attributes instanceof PosixFileAttributes)) {
            return false;
        }
        Set<PosixFilePermission> permissions = ((PosixFileAttributes) attributes).permissions();
        return permissions.contains(PosixFilePermission.GROUP_WRITE)
            || permissions.contains(PosixFilePermission.OTHERS_WRITE);
    }

    /** Digest, owner and time of modification, for the log: who put this content there, and when. */
    String provenance() {
        StringBuilder text = new StringBuilder("sha256 ").append(digest());
        if (attributes instanceof PosixFileAttributes) {
            text.append(", owner ").append(((PosixFileAttributes) attributes).owner().getName());
        }
        if (attributes != null) {
            text.append(", modified ").append(attributes.lastModifiedTime());
        }
        return text.toString();
    }

    private String digest() {
        try {
            StringBuilder hex = new StringBuilder();
            for (byte b : MessageDigest.getInstance("SHA-256").digest(content)) {
                hex.append(String.format("%02x", b));
            }
            return hex.toString();
        } catch (NoSuchAlgorithmException e) {
            return "unknown";
        }
    }

    private static BasicFileAttributes attributesOf(Path path) throws IOException {
        try {
            return Files.readAttributes(path, PosixFileAttributes.class);
        } catch (UnsupportedOperationException e) {
            return Files.readAttributes(path, BasicFileAttributes.class);
        }
    }

    private static String stampOf(BasicFileAttributes attributes) {
        return attributes.fileKey() + " " + attributes.lastModifiedTime() + " " + attributes.size();
    }

    /**
     * The content, at most one byte more than is allowed. FileInputStream rather than
     * Files.newInputStream, which gives up when the calling thread has been interrupted, and the
     * first call comes from a thread of Kafka's.
     */
    private static byte[] bytesOf(Path path) throws IOException {
        byte[] buffer = new byte[ObserverIdsFile.MAX_BYTES + 1];
        int length = 0;
        try (InputStream in = new FileInputStream(path.toFile())) {
            int read;
            while (length < buffer.length && (read = in.read(buffer, length, buffer.length - length)) > 0) {
                length += read;
            }
        }
        return Arrays.copyOf(buffer, length);
    }
}

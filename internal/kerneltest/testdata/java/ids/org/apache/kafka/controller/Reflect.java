/*
 * Copyright the observer-patch authors.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Part of observer-patch for upstream Kafka; not a file of upstream.
 */
package org.apache.kafka.controller;

import java.lang.invoke.MethodType;
import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.function.IntPredicate;

import org.apache.kafka.common.Uuid;
import org.apache.kafka.metadata.PartitionRegistration;
import org.apache.kafka.server.common.MetadataVersion;

/** Calls what is not the same in every release. */
final class Reflect {
    private Reflect() { }

    static Object call(Object target, String name, Object... args) {
        for (Method method : target.getClass().getDeclaredMethods()) {
            if (method.getName().equals(name) && takes(method, args)) {
                method.setAccessible(true);
                return invoke(() -> method.invoke(target, args));
            }
        }
        throw new IllegalStateException(target.getClass() + " has no method " + name);
    }

    private static boolean takes(Method method, Object[] args) {
        Class<?>[] types = method.getParameterTypes();
        for (int i = 0; i < types.length && i < args.length; i++) {
            if (args[i] != null && !MethodType.methodType(types[i]).wrap().returnType().isInstance(args[i])) {
                return false;
            }
        }
        return types.length == args.length;
    }

    /** The constructor has five arguments in 3.6, six from 3.7 and seven from 4.3. */
    static PartitionChangeBuilder changeBuilder(
        PartitionRegistration partition, Uuid topic, int id, IntPredicate alive, MetadataVersion version, int minIsr, boolean elr
    ) {
        Constructor<?> constructor = PartitionChangeBuilder.class.getConstructors()[0];
        Object[] all = {partition, topic, id, alive, version, minIsr, elr};
        int count = constructor.getParameterCount();
        PartitionChangeBuilder builder = (PartitionChangeBuilder) invoke(() -> constructor.newInstance(java.util.Arrays.copyOf(all, count)));
        if (count == 6) {
            call(builder, "setEligibleLeaderReplicasEnabled", elr);
        }
        return builder;
    }

    interface Throwing {
        Object run() throws ReflectiveOperationException;
    }

    static Object invoke(Throwing call) {
        try {
            return call.run();
        } catch (InvocationTargetException e) {
            if (e.getCause() instanceof RuntimeException cause) {
                throw cause;
            }
            throw new IllegalStateException(e.getCause());
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }
}

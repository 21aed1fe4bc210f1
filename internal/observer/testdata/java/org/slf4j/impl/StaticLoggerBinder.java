/*
 * Copyright the observer-patch authors.
 * SPDX-License-Identifier: Apache-2.0
 */
package org.slf4j.impl;

import org.slf4j.ILoggerFactory;
import org.slf4j.Logger;
import org.slf4j.helpers.MessageFormatter;
import org.slf4j.spi.LoggerFactoryBinder;

import java.lang.reflect.Proxy;
import java.util.Arrays;
import java.util.Locale;

/** Lets slf4j 1.7 print 'LOG level text', a line each. */
public final class StaticLoggerBinder implements LoggerFactoryBinder {
    private static final StaticLoggerBinder SINGLETON = new StaticLoggerBinder();

    private final Logger logger = (Logger) Proxy.newProxyInstance(getClass().getClassLoader(), new Class<?>[] {Logger.class},
        (proxy, method, args) -> {
            if (method.getReturnType() == boolean.class) {
                return true;
            }
            if (method.getReturnType() == String.class) {
                return "log";
            }
            Object[] rest = args.length == 2 && args[1] instanceof Object[] ? (Object[]) args[1]
                : Arrays.copyOfRange(args, 1, args.length);
            System.out.println("LOG " + method.getName().toUpperCase(Locale.ROOT) + " "
                + MessageFormatter.arrayFormat((String) args[0], rest).getMessage());
            return null;
        });

    public static StaticLoggerBinder getSingleton() {
        return SINGLETON;
    }

    @Override
    public ILoggerFactory getLoggerFactory() {
        return name -> logger;
    }

    @Override
    public String getLoggerFactoryClassStr() {
        return "proxy";
    }
}

/*
 * Copyright the observer-patch authors.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Part of observer-patch for upstream Kafka; not a file of upstream.
 */
import com.sun.tools.attach.VirtualMachine;

import java.util.TreeMap;
import javax.management.MBeanServerConnection;
import javax.management.ObjectName;
import javax.management.remote.JMXConnector;
import javax.management.remote.JMXConnectorFactory;
import javax.management.remote.JMXServiceURL;

/**
 * Looks into a running node of this machine over JMX, or loads a Java agent into it.
 * usage: read PID PATTERN... (prints 'object name TAB value' for each match with an attribute Value), count PID PATTERN... (prints how many
 * match each), agent PID JAR OPTIONS
 */
final class Gauges {
    public static void main(String[] args) throws Exception {
        VirtualMachine vm = VirtualMachine.attach(args[1]);
        try {
            if (args[0].equals("agent")) {
                vm.loadAgent(args[2], args[3]);
                return;
            }
            try (JMXConnector connector = JMXConnectorFactory.connect(new JMXServiceURL(vm.startLocalManagementAgent()))) {
                MBeanServerConnection beans = connector.getMBeanServerConnection();
                for (int i = 2; i < args.length; i++) {
                    if (args[0].equals("count")) {
                        System.out.println(beans.queryNames(new ObjectName(args[i]), null).size());
                        continue;
                    }
                    TreeMap<String, Object> values = new TreeMap<>();
                    for (ObjectName name : beans.queryNames(new ObjectName(args[i]), null)) {
                        values.put(name.getCanonicalName(), beans.getAttribute(name, "Value"));
                    }
                    values.forEach((name, value) -> System.out.println(name + "\t" + value));
                }
            }
        } finally {
            vm.detach();
        }
    }
}

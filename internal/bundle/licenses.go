package bundle

import (
	"fmt"
	"strings"
)

// licenses maps the beginning of group:artifact to the SPDX expression that its POM states
// (names brought to SPDX ids). The longest match counts. A dependency that matches none
// fails the build: somebody has to look at it.
var licenses = map[string]string{
	"at.yawk.lz4:":                          "Apache-2.0",
	"ch.qos.reload4j:":                      "Apache-2.0",
	"com.dynatrace.hash4j:":                 "Apache-2.0",
	"com.fasterxml.jackson.":                "Apache-2.0",
	"com.github.ben-manes.caffeine:":        "Apache-2.0",
	"com.github.luben:zstd-jni":             "BSD-2-Clause",
	"com.google.errorprone:":                "Apache-2.0",
	"com.google.re2j:":                      "BSD-3-Clause",
	"com.sun.activation:jakarta.activation": "BSD-3-Clause",
	"com.thoughtworks.paranamer:":           "BSD-3-Clause",
	"com.typesafe.scala-logging:":           "Apache-2.0",
	"com.yammer.metrics:":                   "Apache-2.0",
	"commons-beanutils:":                    "Apache-2.0",
	"commons-cli:":                          "Apache-2.0",
	"commons-collections:":                  "Apache-2.0",
	"commons-digester:":                     "Apache-2.0",
	"commons-io:":                           "Apache-2.0",
	"commons-logging:":                      "Apache-2.0",
	"commons-validator:":                    "Apache-2.0",
	"io.dropwizard.metrics:":                "Apache-2.0",
	"io.netty:":                             "Apache-2.0",
	"jakarta.activation:":                   "BSD-3-Clause",
	"jakarta.xml.bind:":                     "BSD-3-Clause",
	"javax.ws.rs:":                          "EPL-2.0 OR GPL-2.0-only WITH Classpath-exception-2.0",
	"net.sf.jopt-simple:":                   "MIT",
	"net.sourceforge.argparse4j:":           "MIT",
	"org.apache.kafka:":                     "Apache-2.0",
	"org.apache.logging.log4j:":             "Apache-2.0",
	"org.apache.yetus:":                     "Apache-2.0",
	"org.apache.zookeeper:":                 "Apache-2.0",
	"org.bitbucket.b_c:jose4j":              "Apache-2.0",
	"org.checkerframework:checker-qual":     "MIT",
	"org.hdrhistogram:":                     "CC0-1.0 OR BSD-2-Clause",
	"org.jspecify:":                         "Apache-2.0",
	"org.lz4:":                              "Apache-2.0",
	"org.pcollections:":                     "MIT",
	"org.scala-lang:":                       "Apache-2.0",
	"org.scala-lang.modules:":               "Apache-2.0",
	"org.slf4j:":                            "MIT",
	"org.xerial.snappy:":                    "Apache-2.0",
	"org.yaml:snakeyaml":                    "Apache-2.0",
}

// LicenseOf gives the SPDX expression for an artifact.
func LicenseOf(group, artifact string) (string, error) {
	id, best := group+":"+artifact, ""
	for prefix := range licenses {
		if strings.HasPrefix(id, prefix) && len(prefix) > len(best) {
			best = prefix
		}
	}
	if best == "" {
		return "", fmt.Errorf("%s: its licence is not known; read its POM and add it to internal/bundle/licenses.go", id)
	}
	return licenses[best], nil
}

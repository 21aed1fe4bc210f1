package maven

import (
	"strings"

	"observer-patch/internal/release"
)

const kafka = "org.apache.kafka"

// reload4j and slf4j are what the distributions of 3.x log with.
const (
	reload4j = "1.2.25"
	slf4j    = "1.7.36"
)

// log4j is what 4.0 logs with; from 4.1 on the version comes with core's own closure.
const log4j = "2.24.3"

// tested are the releases whose own tests are run on patched jars.
func tested(version string) bool {
	switch version {
	case "3.7.1", "3.9.2", "4.1.0", "4.3.1":
		return true
	}
	return false
}

func jar(group, artifact, version string) Coordinates {
	return Coordinates{Group: group, Artifact: artifact, Version: version, Extension: "jar"}
}

func classified(artifact, version, classifier string) Coordinates {
	c := jar(kafka, artifact, version)
	c.Classifier = classifier
	return c
}

// withoutConnect leaves out what kafka-tools needs for its Connect plug-in tool only: half
// of its closure, and for 4.0.1 never published whole.
var withoutConnect = []string{kafka + ":connect-runtime"}

// first are the closures that depend on nothing but the release.
func first(r release.Release) []Project {
	v := r.String()
	var out []Project
	for _, scala := range r.Scala {
		core := jar(kafka, "kafka_"+scala, v)
		out = append(out,
			Project{Name: v + "-core-" + scala, Roots: []Coordinates{core}},
			Project{Name: v + "-tools-" + scala, Roots: []Coordinates{core, jar(kafka, "kafka-tools", v)}, Exclude: withoutConnect})
	}
	return out
}

// second are the closures whose versions follow from core's: compiler, logging, tests.
func second(r release.Release, closures map[string][]Coordinates) []Project {
	v := r.String()
	var out []Project
	for _, scala := range r.Scala {
		core := closures[v+"-core-"+scala]
		out = append(out,
			Project{Name: v + "-scalac-" + scala, Roots: []Coordinates{jar("org.scala-lang", "scala-compiler", versionOf(core, "scala-library"))}},
			Project{Name: v + "-logging-" + scala, Roots: logging(r, core)})
	}
	if tested(v) {
		out = append(out, Project{Name: v + "-test", Roots: testRoots(r)})
	}
	return out
}

// logging are the slf4j binding and what it binds to; a broker without them says nothing.
func logging(r release.Release, core []Coordinates) []Coordinates {
	if r.Version.Major() < 4 {
		return []Coordinates{jar("ch.qos.reload4j", "reload4j", reload4j), jar("org.slf4j", "slf4j-reload4j", slf4j)}
	}
	version := versionOf(core, "log4j-core")
	if version == "" {
		version = log4j
	}
	const group = "org.apache.logging.log4j"
	return []Coordinates{jar(group, "log4j-api", version), jar(group, "log4j-core", version), jar(group, "log4j-slf4j-impl", version)}
}

// testRoots are upstream's published test classes and what runs them.
func testRoots(r release.Release) []Coordinates {
	v := r.String()
	modules := []string{"kafka_2.13", "kafka-metadata", "kafka-clients", "kafka-server-common", "kafka-storage", "kafka-storage-api", "kafka-raft", "kafka-group-coordinator", "kafka-server"}
	// The console must be of the JUnit that upstream's test support brings along.
	console := "1.10.2"
	if r.Version.Major() >= 4 {
		modules = append(modules, "kafka-test-common-runtime", "kafka-test-common-internal-api")
		console = "1.13.1"
	}
	var out []Coordinates
	for _, m := range modules {
		out = append(out, classified(m, v, "test"))
	}
	return append(out,
		jar("org.junit.platform", "junit-platform-console-standalone", console),
		jar("org.mockito", "mockito-core", "5.10.0"),
		jar("org.mockito", "mockito-junit-jupiter", "5.10.0"),
		jar("org.hamcrest", "hamcrest", "2.2"),
		jar("org.bouncycastle", "bcpkix-jdk18on", "1.77"))
}

func versionOf(list []Coordinates, artifact string) string {
	for _, c := range list {
		if c.Artifact == artifact {
			return c.Version
		}
	}
	return ""
}

// uses puts the closures together to the release's lists in the lock.
func uses(r release.Release, closures map[string][]Coordinates) map[string][]Coordinates {
	v := r.String()
	out := map[string][]Coordinates{
		"source": {classified("kafka_2.13", v, "sources"), classified("kafka-metadata", v, "sources")},
	}
	for _, scala := range r.Scala {
		// Core's compiler must also see the logging library, which the release only provides.
		compile := extend(closures[v+"-core-"+scala], withoutBinding(closures[v+"-logging-"+scala]))
		out["classpath/"+scala] = compile
		out["module/"+scala] = modules(compile)
		out["scalac/"+scala] = closures[v+"-scalac-"+scala]
		out["lab/"+scala] = extend(extend(compile, closures[v+"-tools-"+scala]), closures[v+"-logging-"+scala])
	}
	if list := closures[v+"-test"]; list != nil {
		out["test"] = extend(out["classpath/2.13"], list)
	}
	return out
}

// extend adds to a the files of b of which a has no version.
func extend(a, b []Coordinates) []Coordinates {
	out := append([]Coordinates(nil), a...)
	have := map[[3]string]bool{}
	for _, c := range a {
		have[[3]string{c.Group, c.Artifact, c.Classifier}] = true
	}
	for _, c := range b {
		if !have[[3]string{c.Group, c.Artifact, c.Classifier}] {
			out = append(out, c)
		}
	}
	return out
}

func withoutBinding(list []Coordinates) []Coordinates {
	var out []Coordinates
	for _, c := range list {
		if c.Artifact != "slf4j-reload4j" && c.Artifact != "log4j-slf4j-impl" {
			out = append(out, c)
		}
	}
	return out
}

// modules are the release's own jars, core first.
func modules(list []Coordinates) []Coordinates {
	var out []Coordinates
	for _, c := range list {
		if c.Group == kafka && !strings.HasPrefix(c.Artifact, "connect-") {
			out = append(out, c)
		}
	}
	return out
}

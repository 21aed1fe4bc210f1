package build

import (
	"fmt"
	"strings"

	"observer-patch/internal/release"
)

// Options as upstream's build.gradle has them for its Scala and Java modules. Those that
// only choose warnings do not change class bytes; they are here because upstream's build
// turns warnings into errors, and a hook has to be free of them.
var (
	scalaCommon = []string{
		"-deprecation:false", "-unchecked", "-encoding", "utf8", "-Xlog-reflective-calls", "-feature",
		"-language:postfixOps", "-language:implicitConversions", "-language:existentials",
		"-Xlint:constant", "-Xlint:delayedinit-select", "-Xlint:doc-detached", "-Xlint:missing-interpolator",
		"-Xlint:nullary-unit", "-Xlint:option-implicit", "-Xlint:package-object-classes",
		"-Xlint:poly-implicit-overload", "-Xlint:private-shadow", "-Xlint:stars-align",
		"-Xlint:type-parameter-shadow", "-Xlint:unused",
		"-opt:l:inline", "-opt-inline-from:org.apache.kafka.**",
	}
	scala212 = []string{"-Xlint:by-name-right-associative", "-Xlint:nullary-override", "-Xlint:unsound-match"}
	scala213 = []string{"-Xlint:strict-unsealed-patmat"}
)

// optionsFor gives the options for a module of a release. scalac and version are the
// pinned compiler, used by the modules that have Scala.
func optionsFor(module string, r release.Release, scala string, scalac []Library, version string) Options {
	o := Options{
		Release: r.ClassRelease,
		// The lints that upstream switches off, and those that javac 17 has and javac 8 had not.
		JavaFlags: []string{"-g", "-proc:none", "-encoding", "UTF-8", "-implicit:none", "-Xlint:all", "-Xlint:-serial", "-Xlint:-try",
			"-Xlint:-options", "-Xlint:-classfile", "-Xlint:-path", "-Xlint:-processing", "-Xmaxwarns", "10000", "-Xmaxerrs", "1000",
			"--release", fmt.Sprint(r.ClassRelease)},
	}
	if module != "core" {
		return o
	}
	o.Scalac, o.Scala = scalac, version
	o.ScalaFlags = append(o.ScalaFlags, scalaCommon...)
	o.ScalaFlags = append(o.ScalaFlags, "-opt-inline-from:kafka.**", "-release", fmt.Sprint(r.ClassRelease))
	if strings.HasPrefix(scala, "2.12") {
		o.ScalaFlags = append(o.ScalaFlags, scala212...)
	} else {
		o.ScalaFlags = append(o.ScalaFlags, scala213...)
	}
	return o
}

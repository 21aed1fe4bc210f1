package build

import (
	"fmt"
	"slices"
	"strings"

	"observer-patch/internal/patch"
)

// moduleOrder lists the modules that hooks may touch, each after those that its sources
// depend on in upstream's build.gradle.
var moduleOrder = []string{"server-common", "metadata", "storage", "server", "core"}

// ModuleOf gives upstream's Gradle module of a source path, e.g. core for
// core/src/main/scala/kafka/cluster/Partition.scala.
func ModuleOf(path string) (string, error) {
	for _, m := range moduleOrder {
		for _, lang := range []string{"java", "scala"} {
			if strings.HasPrefix(path, m+"/src/main/"+lang+"/") {
				return m, nil
			}
		}
	}
	return "", fmt.Errorf("%s: no module that can be rebuilt; expected a path below src/main/java or src/main/scala of %s", path, strings.Join(moduleOrder, ", "))
}

// ArtifactOf gives the artifact id of a module's jar for a Scala binary version.
func ArtifactOf(module, scala string) string {
	if module == "core" {
		return "kafka_" + scala
	}
	return "kafka-" + module
}

// Modules gives the modules that a patch touches, in the order of dependency. Files of no
// such module are left out; Overlay refuses them.
func Modules(t patch.Tree) []string {
	return slices.DeleteFunc(slices.Clone(moduleOrder), func(m string) bool {
		return !slices.ContainsFunc(t.Files, func(f patch.File) bool {
			of, err := ModuleOf(f.Path)
			return err == nil && of == m
		})
	})
}

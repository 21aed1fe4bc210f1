package maven

import (
	"encoding/xml"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// LocalRepositories gives the folders that may be the user's local Maven repository, the
// most likely first: maven.repo.local in MAVEN_ARGS or MAVEN_OPTS, localRepository in the
// user's settings.xml, and ~/.m2/repository. A wrong guess does no harm, since every file
// is recognised by its digest. getenv is os.Getenv.
func LocalRepositories(getenv func(string) string) []string {
	var out []string
	add := func(dir string) {
		if dir != "" && !slices.Contains(out, dir) {
			out = append(out, dir)
		}
	}
	for _, name := range []string{"MAVEN_ARGS", "MAVEN_OPTS"} {
		for _, word := range strings.Fields(getenv(name)) {
			if dir, ok := strings.CutPrefix(word, "-Dmaven.repo.local="); ok {
				add(dir)
			}
		}
	}
	if home := getenv("HOME"); home != "" {
		// No settings, or none that can be read, leave the default.
		text, err := os.ReadFile(filepath.Join(home, ".m2", "settings.xml"))
		if err == nil {
			add(settingsRepository(text, getenv))
		}
		add(filepath.Join(home, ".m2", "repository"))
	}
	return out
}

var placeholder = regexp.MustCompile(`\$\{[^}]*\}`)

// settingsRepository gives localRepository of a settings.xml, empty when there is none or
// when it has a property other than user.home and env.*.
func settingsRepository(text []byte, getenv func(string) string) string {
	var settings struct {
		LocalRepository string `xml:"localRepository"`
	}
	if err := xml.Unmarshal(text, &settings); err != nil {
		return ""
	}
	dir := placeholder.ReplaceAllStringFunc(strings.TrimSpace(settings.LocalRepository), func(p string) string {
		name := p[2 : len(p)-1]
		if name == "user.home" {
			return getenv("HOME")
		}
		if variable, ok := strings.CutPrefix(name, "env."); ok {
			return getenv(variable)
		}
		return p
	})
	if strings.Contains(dir, "${") {
		return ""
	}
	return dir
}

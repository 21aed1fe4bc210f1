package release

import (
	"fmt"
	"strings"
)

// Coordinates name one published file, in Maven's own terms.
type Coordinates struct {
	Group, Artifact, Version string
	// Classifier is empty, sources or test.
	Classifier string
	// Extension is jar unless said otherwise.
	Extension string
}

// ParseCoordinates reads group:artifact:version[:extension[:classifier]], the form that
// Maven's dependency plugin takes on its command line.
func ParseCoordinates(s string) (Coordinates, error) {
	parts := strings.Split(s, ":")
	if len(parts) < 3 || len(parts) > 5 {
		return Coordinates{}, fmt.Errorf("coordinates %q: expected group:artifact:version[:extension[:classifier]], found %d parts", s, len(parts))
	}
	for _, p := range parts {
		if err := checkPart(p); err != nil {
			return Coordinates{}, fmt.Errorf("coordinates %q: %w", s, err)
		}
	}
	c := Coordinates{Group: parts[0], Artifact: parts[1], Version: parts[2], Extension: "jar"}
	if len(parts) > 3 {
		c.Extension = parts[3]
	}
	if len(parts) > 4 {
		c.Classifier = parts[4]
	}
	return c, nil
}

// checkPart refuses what could leave the folder that a path is made in, or that mvn would
// read as something other than a name.
func checkPart(p string) error {
	if p == "" {
		return fmt.Errorf("a part is empty")
	}
	if p[0] == '.' || p[0] == '-' || p[len(p)-1] == '.' || strings.Contains(p, "..") {
		return fmt.Errorf("part %q: expected a name without a dot or dash at its beginning, a dot at its end or '..'", p)
	}
	for _, r := range p {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', strings.ContainsRune("._-+", r):
		default:
			return fmt.Errorf("part %q: unexpected character %q", p, r)
		}
	}
	return nil
}

// String gives the shortest form that ParseCoordinates reads back to the same value.
func (c Coordinates) String() string {
	s := c.Group + ":" + c.Artifact + ":" + c.Version
	if c.Classifier != "" {
		return s + ":" + c.ext() + ":" + c.Classifier
	}
	if c.ext() != "jar" {
		s += ":" + c.ext()
	}
	return s
}

// File gives the name of the file in a Maven repository, e.g. kafka_2.13-4.1.0-sources.jar.
func (c Coordinates) File() string {
	s := c.Artifact + "-" + c.Version
	if c.Classifier != "" {
		s += "-" + c.Classifier
	}
	return s + "." + c.ext()
}

// Path gives the slash-separated path of the file below the root of a Maven repository.
func (c Coordinates) Path() string {
	return strings.ReplaceAll(c.Group, ".", "/") + "/" + c.Artifact + "/" + c.Version + "/" + c.File()
}

func (c Coordinates) ext() string {
	if c.Extension == "" {
		return "jar"
	}
	return c.Extension
}

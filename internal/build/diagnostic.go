package build

import (
	"regexp"
	"strconv"
	"strings"
)

// heading is the first line of a message of javac and of scalac alike.
var heading = regexp.MustCompile(`^((?:[^\s:]+/)*[^\s:/]+\.(?:java|scala)):(\d+): (warning|error): (.*)$`)

// noise are lines that belong to no file: javac's counts and notes, scalac's counts.
var noise = regexp.MustCompile(`^(?:\d+ (?:warnings?|errors?)|(?:one|two|three|four|five|\d+) (?:warnings?|errors?) found|Note: .*|warning: \[options\] .*)$`)

// parseDiagnostics reads what javac and scalac print. paths maps the file names they were
// given to upstream's paths. Lines before the first message that are no known noise come
// back as rest: a compiler that fails otherwise says so there.
func parseDiagnostics(text string, paths map[string]string) (list []Diagnostic, rest []string) {
	var detail []string
	end := func() {
		if len(list) > 0 {
			list[len(list)-1].Detail = strings.Join(detail, "\n")
		}
		detail = nil
	}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		m := heading.FindStringSubmatch(line)
		switch {
		case m != nil:
			end()
			n, err := strconv.Atoi(m[2])
			if err != nil {
				rest = append(rest, line)
				continue
			}
			path := m[1]
			if p, ok := paths[path]; ok {
				path = p
			}
			// javac's Scala-like "[lint]" prefix is a part of the message.
			list = append(list, Diagnostic{Severity: m[3], Path: path, Line: n, Message: m[4]})
		case noise.MatchString(line):
		case len(list) > 0:
			detail = append(detail, line)
		case strings.TrimSpace(line) != "":
			rest = append(rest, line)
		}
	}
	end()
	return list, rest
}

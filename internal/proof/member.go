package proof

import (
	"regexp"
	"strings"

	"observer-patch/internal/patch"
)

// span is a run of lines, both ends included, from 1.
type span struct{ first, last int }

func (s span) has(line int) bool { return s.first <= line && line <= s.last }

// reach says which lines of a text an edit accounts for.
type reach struct {
	owner string
	// edit are the edit's own lines.
	edit span
	// member is the source member (method, field, initialiser) that the edit stands in; the
	// edit itself where it stands in none.
	member span
	// method is false when that member is run by a constructor or class initialiser.
	method bool
	// replaces tells that the edit took lines of upstream's away.
	replaces bool
	text     string
}

// reaches gives the reach of every edit, in the patched text (after) or in the unpatched.
func reaches(f patch.File, after bool) []reach {
	text := f.Before
	if after {
		text = f.After
	}
	lines := strings.Split(string(text), "\n")
	patched := strings.Split(string(f.After), "\n")
	var out []reach
	for _, e := range f.Edits {
		at := e.OldLines
		if after {
			at = e.NewLines
		}
		r := reach{owner: e.Owner, replaces: e.OldLines.Count > 0, edit: span{at.First, at.First + at.Count - 1}}
		if f.Before == nil {
			r.member, r.method = r.edit, true
		} else {
			r.member, r.method = memberAt(lines, r.edit)
		}
		for i := e.NewLines.First; i < e.NewLines.First+e.NewLines.Count && i <= len(patched); i++ {
			r.text += patched[i-1] + "\n"
		}
		out = append(out, r)
	}
	return out
}

var (
	typeHeader   = regexp.MustCompile(`^(?:(?:public|private|protected|static|final|abstract|sealed|case|implicit|strictfp|non-sealed|private\[\w+\]|protected\[\w+\]|@\w+(?:\([^)]*\))?)\s+)*(?:package\s+object|class|object|trait|interface|@interface|enum|record)\b`)
	scalaMethod  = regexp.MustCompile(`\bdef\b`)
	javaMethod   = regexp.MustCompile(`^[^=]*\([^=]*$`)
	continuation = regexp.MustCompile(`^(?:[)\]}]|//|/?\*|\.|extends\b|with\b|throws\b|implements\b)`)
)

func indentOf(line string) int { return len(line) - len(strings.TrimLeft(line, " \t")) }

// memberAt finds the member that encloses lines by indentation: the outermost header above
// them that declares no type. An edit on the level of a type is its own member, with what
// is indented below its last line.
func memberAt(lines []string, at span) (member span, method bool) {
	first := at.first
	for first < at.last && (blank(lines, first) || strings.HasPrefix(strings.TrimSpace(line(lines, first)), "//")) {
		first++
	}
	// A gap has the indentation of the line below it.
	for first <= len(lines) && blank(lines, first) {
		first++
	}
	cur := indentOf(line(lines, first))
	start := 0
	for i := min(at.first-1, len(lines)); i >= 1; i-- {
		text := strings.TrimSpace(line(lines, i))
		if text == "" || indentOf(line(lines, i)) >= cur || continuation.MatchString(text) {
			continue
		}
		cur = indentOf(line(lines, i))
		if !typeHeader.MatchString(text) {
			start = i
		}
	}
	if start == 0 {
		if at.last < at.first {
			return at, true
		}
		last := extent(lines, at.last, indentOf(line(lines, first)))
		return span{at.first, max(at.last, last)}, isMethod(line(lines, first))
	}
	return span{start, extent(lines, start, indentOf(line(lines, start)))}, isMethod(line(lines, start))
}

// Member gives the first and last line (from 1) of the source member (method, field or
// initialiser, by indentation) that encloses a line.
func Member(lines []string, at int) (first, last int) {
	m, _ := memberAt(lines, span{at, at})
	return m.first, m.last
}

func isMethod(text string) bool {
	return scalaMethod.MatchString(text) || javaMethod.MatchString(text)
}

// extent gives the last line of what begins at a line with an indentation.
func extent(lines []string, start, indent int) int {
	for i := start + 1; i <= len(lines); i++ {
		text := strings.TrimSpace(line(lines, i))
		if text == "" || indentOf(line(lines, i)) > indent {
			continue
		}
		if strings.HasPrefix(text, ")") || strings.HasPrefix(text, "]") || strings.HasPrefix(text, "}") && indentOf(line(lines, i)) == indent {
			continue
		}
		return i - 1
	}
	return len(lines)
}

func line(lines []string, n int) string {
	if n < 1 || n > len(lines) {
		return ""
	}
	return lines[n-1]
}

func blank(lines []string, n int) bool { return strings.TrimSpace(line(lines, n)) == "" }

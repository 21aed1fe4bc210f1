package drift

import (
	"regexp"
	"strings"
)

var (
	declared = regexp.MustCompile(`\b(?:def|class|object|trait|interface|enum|record|val|var)\s+(\w+)`)
	called   = regexp.MustCompile(`(\w+)\s*\(`)
)

// nameOf gives the name that a header declares, empty when it declares none.
func nameOf(header string) string {
	if m := declared.FindStringSubmatch(header); m != nil {
		return m[1]
	}
	if m := called.FindStringSubmatch(header); m != nil {
		return m[1]
	}
	return ""
}

// findMember sets newSpan to what the old member became: the one of the same name that is most
// like it, else one with a new name that has most of its lines. It tells whether that is
// another name or another header.
func (c *Change) findMember() (renamed bool) {
	name := nameOf(c.Member)
	before := c.oldSpan.of(c.old)
	headers := map[string]bool{}
	for _, s := range members(c.old, indentOf(c.old[c.oldSpan.first-1])) {
		headers[nameOf(c.old[s.first-1])] = true
	}
	best, score := span{}, -1.0
	successor, likeness := span{}, 0.5
	for _, s := range members(c.new, indentOf(c.old[c.oldSpan.first-1])) {
		here := nameOf(c.new[s.first-1])
		switch {
		case here == name:
			if l := alike(before, s.of(c.new)); l > score {
				best, score = s, l
			}
		case here != "" && !headers[here]:
			if l := alike(before, s.of(c.new)); l >= likeness {
				successor, likeness = s, l
			}
		}
	}
	if score >= 0 {
		c.newSpan = best
		return score >= 0.5 && strings.TrimSpace(c.new[best.first-1]) != c.Member
	}
	c.newSpan = successor
	return successor.first > 0
}

// members are the spans that begin at an indentation, to the line before the next one that is
// indented no deeper.
func members(lines []string, indent int) []span {
	var out []span
	for i := 0; i < len(lines); i++ {
		text := strings.TrimSpace(lines[i])
		if text == "" || indentOf(lines[i]) != indent || strings.ContainsAny(text[:1], ")]}{*@/") {
			continue
		}
		end := i + 1
		for end < len(lines) {
			next := strings.TrimSpace(lines[end])
			if next != "" && indentOf(lines[end]) <= indent && !strings.ContainsAny(next[:1], ")]{}") {
				break
			}
			end++
			if next != "" && next[0] == '}' && indentOf(lines[end-1]) == indent {
				break
			}
		}
		out = append(out, span{i + 1, end})
		i = end - 1
	}
	return out
}

func indentOf(line string) int { return len(line) - len(strings.TrimLeft(line, " \t")) }

// alike is the share of lines below the headers that two members have in common, 0 to 1; blank
// lines and lone brackets do not count.
func alike(a, b []string) float64 {
	count := map[string]int{}
	total := 0
	for _, l := range tail(a) {
		if s := strings.TrimSpace(l); len(s) > 1 {
			count[s]++
			total++
		}
	}
	common := 0
	for _, l := range tail(b) {
		s := strings.TrimSpace(l)
		if len(s) <= 1 {
			continue
		}
		if count[s] > 0 {
			count[s]--
			common++
		} else {
			total++
		}
	}
	if total == 0 {
		return 0
	}
	return float64(common) / float64(total)
}

func tail(lines []string) []string {
	if len(lines) == 0 {
		return nil
	}
	return lines[1:]
}

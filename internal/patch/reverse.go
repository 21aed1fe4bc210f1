package patch

import (
	"bytes"
	"fmt"
	"strings"

	"observer-patch/internal/anchor"
	"observer-patch/internal/release"
)

// Reverse takes the sections out of a patched file and gives upstream's own bytes. It needs
// the hooks and the target that wrote them: what stands in a fence must be what they write,
// and applying them to the result must give src again. Anything else is an error.
func Reverse(path string, src []byte, hooks []anchor.Hook, t release.Target) ([]byte, error) {
	lines := anchor.SplitLines(src)
	var out []string
	bare := false
	for i := 0; i < len(lines); i++ {
		id, opens := anchor.FenceID(lines[i])
		if !opens {
			if anchor.IsFence(lines[i]) {
				return nil, fmt.Errorf("%s:%d: a fence ends here that nothing began", path, i+1)
			}
			out = append(out, lines[i])
			continue
		}
		end := i + 1
		for end < len(lines) && !anchor.IsFence(lines[end]) {
			end++
		}
		if _, nested := anchor.FenceID(at(lines, end)); end == len(lines) || nested {
			return nil, fmt.Errorf("%s:%d: the section of hook %s has no end", path, i+1, id)
		}
		indent := lines[i][:strings.Index(lines[i], "/")]
		original, ok := undo(id, indent, lines[i+1:end], hooks, t)
		if !ok {
			return nil, fmt.Errorf("%s:%d: the section of hook %s is not what this version of the tool writes for %s; it was edited, or another generation, set or mode wrote it", path, i+1, id, t)
		}
		out = append(out, original...)
		bare = end == len(lines)-1 && !strings.HasSuffix(lines[end], "\n")
		i = end
	}
	if bare && len(out) > 0 {
		out[len(out)-1] = strings.TrimSuffix(out[len(out)-1], lineEnd(lines))
	}
	before := []byte(strings.Join(out, ""))
	located, misses := anchor.Locate(path, before, hooks, t)
	if len(misses) > 0 {
		return nil, fmt.Errorf("%s: the reversed file does not take the hooks again: %w", path, misses[0])
	}
	again, _, err := Apply(before, located)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(again, src) {
		return nil, fmt.Errorf("%s: the reversed file, patched again, differs from the one given; a section is missing or was moved", path)
	}
	return before, nil
}

func at(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return ""
}

// undo gives the lines that stood in upstream's file where a section is: none for an
// insertion, the one line for a replacement.
func undo(id, indent string, content []string, hooks []anchor.Hook, t release.Target) ([]string, bool) {
	stripped := make([]string, len(content))
	for i, l := range content {
		stripped[i] = strings.TrimSuffix(strings.TrimSuffix(l, "\n"), "\r")
	}
	text := strings.Join(stripped, "\n")
	for _, h := range hooks {
		p, ok := h.Place(t)
		if h.ID != id || !ok {
			continue
		}
		body := p.Bodies[t.Set]
		if p.Op != anchor.Replace {
			if text == indented(body, indent) {
				return nil, true
			}
			continue
		}
		head, tail := gapParts(body, indent)
		if written := head + p.Fragment + tail; strings.Count(text, written) == 1 {
			line := strings.Replace(text, written, p.Fragment, 1)
			if !strings.Contains(line, "\n") && strings.Count(line, p.Fragment) == 1 {
				last := content[len(content)-1]
				return []string{line + last[len(stripped[len(stripped)-1]):]}, true
			}
		}
	}
	return nil, false
}

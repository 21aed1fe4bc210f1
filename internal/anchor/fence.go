package anchor

import "strings"

const (
	fenceBegin = "// === OBSERVER PATCH "
	fenceEnd   = "// === END OBSERVER PATCH ==="
	fenceTail  = " ==="
)

// OpenFence gives the comment that begins the section of a hook.
func OpenFence(id string) string { return fenceBegin + id + fenceTail }

// CloseFence gives the comment that ends a section.
func CloseFence() string { return fenceEnd }

// FenceID gives the hook whose section the line begins.
func FenceID(line string) (id string, ok bool) {
	s := strings.TrimSpace(line)
	if !strings.HasPrefix(s, fenceBegin) || !strings.HasSuffix(s, fenceTail) || len(s) < len(fenceBegin)+len(fenceTail) {
		return "", false
	}
	return s[len(fenceBegin) : len(s)-len(fenceTail)], true
}

// IsFence tells whether the line begins or ends a section.
func IsFence(line string) bool {
	_, ok := FenceID(line)
	return ok || strings.TrimSpace(line) == fenceEnd
}

// FirstFence gives the number (from 1) of the first line that is a fence, 0 when there is none.
func FirstFence(src []byte) int {
	for i, l := range SplitLines(src) {
		if IsFence(l) {
			return i + 1
		}
	}
	return 0
}

// SplitLines cuts a text into lines, each with its own terminator; the last may have none.
func SplitLines(src []byte) []string {
	lines := strings.SplitAfter(string(src), "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

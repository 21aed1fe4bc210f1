// Package observer is the identity file as operators see it: the same reading of it as the
// brokers' (ObserverIdsFile.java, ObserverIdsReader.java), so that a command can say what a
// node makes of a file before the file is there.
package observer

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// MaxBytes is the longest identity file that is accepted.
const MaxBytes = 64 * 1024

const (
	maxID          = 1<<31 - 1
	maxDigits      = 10
	maxNamed       = 10
	maxNamedLength = 40
)

// File is what the bytes of an identity file say.
type File struct {
	// IDs are the broker ids, ascending, each once.
	IDs []int32
	// Unknown are the tokens that are no ids, printable, in the file's order.
	Unknown []string
	// Blank is set when there is nothing but comments, commas and white space.
	Blank bool
	// None is set when the word none is all that the file says.
	None bool
}

// ParseFile reads an identity file. It never fails: what is no id is in Unknown. A '#' starts
// a comment to the end of the line (line feed or carriage return); ids are separated by
// commas and white space; an id is 1 to 10 ASCII digits with a value of at most 2147483647;
// a leading UTF-8 byte order mark is skipped.
func ParseFile(content []byte) File {
	var f File
	rest := bytes.TrimPrefix(content, []byte("\xEF\xBB\xBF"))
	tokens := 0
	for len(rest) > 0 {
		switch {
		case rest[0] == '#':
			end := bytes.IndexAny(rest, "\r\n")
			if end < 0 {
				end = len(rest)
			}
			rest = rest[end:]
		case separates(rest[0]):
			rest = rest[1:]
		default:
			end := slices.IndexFunc(rest, func(b byte) bool { return b == '#' || separates(b) })
			if end < 0 {
				end = len(rest)
			}
			token := rest[:end]
			rest = rest[end:]
			tokens++
			if id, ok := parseID(token); ok {
				f.IDs = append(f.IDs, id)
			} else {
				f.Unknown = append(f.Unknown, printable(token))
				f.None = string(token) == "none"
			}
		}
	}
	slices.Sort(f.IDs)
	f.IDs = slices.Compact(f.IDs)
	f.Blank = tokens == 0
	f.None = f.None && tokens == 1
	return f
}

// UnknownTokens gives the tokens that are no ids for people: ten at most.
func (f File) UnknownTokens() string {
	named := min(len(f.Unknown), maxNamed)
	text := "[" + strings.Join(f.Unknown[:named], ", ") + "]"
	if named < len(f.Unknown) {
		text += fmt.Sprintf(" and %d more", len(f.Unknown)-named)
	}
	return text
}

func parseID(token []byte) (int32, bool) {
	if len(token) > maxDigits {
		return 0, false
	}
	value := int64(0)
	for _, b := range token {
		if b < '0' || b > '9' {
			return 0, false
		}
		value = 10*value + int64(b-'0')
	}
	return int32(value), value <= maxID
}

func separates(b byte) bool {
	return b == ',' || b == ' ' || b >= '\t' && b <= '\r'
}

func printable(token []byte) string {
	var b strings.Builder
	for _, c := range token[:min(len(token), maxNamedLength)] {
		if c > ' ' && c < 0x7F {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, `\x%02x`, c)
		}
	}
	if len(token) > maxNamedLength {
		b.WriteString("...")
	}
	return b.String()
}

package cluster

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf16"
)

// Property is one key of a properties file.
type Property struct {
	Key, Value string
	// Line is where it stands, counted from 1.
	Line int
}

// ParseProperties reads a Java properties file as java.util.Properties.load does from a stream
// of bytes: ISO 8859-1 with \uXXXX escapes, lines joined by a trailing backslash, comments by
// '#' or '!', and '=', ':' or white space between key and value. Of a key that stands there
// twice the last value counts; its place is that of the first.
func ParseProperties(text []byte) ([]Property, error) {
	var out []Property
	index := map[string]int{}
	for _, l := range logicalLines(text) {
		end := keyEnd(l.text)
		rest := strings.TrimLeft(l.text[end:], blanks)
		if rest != "" && (rest[0] == '=' || rest[0] == ':') {
			rest = strings.TrimLeft(rest[1:], blanks)
		}
		key, err := unescape(l.text[:end])
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", l.number, err)
		}
		value, err := unescape(rest)
		if err != nil {
			return nil, fmt.Errorf("line %d: value of %s: %w", l.number, printableKey(key), err)
		}
		if i, again := index[key]; again {
			out[i].Value = value
			continue
		}
		index[key] = len(out)
		out = append(out, Property{Key: key, Value: value, Line: l.number})
	}
	return out, nil
}

// logicalLine is a line with its continuations, still escaped, one byte per character.
type logicalLine struct {
	text   string
	number int
}

const blanks = " \t\f"

func logicalLines(text []byte) []logicalLine {
	var out []logicalLine
	var b strings.Builder
	open, crlf, number := false, false, 0
	s := string(text)
	for n := 1; s != ""; n++ {
		line, rest := s, ""
		crlf = false
		if i := strings.IndexAny(s, "\r\n"); i >= 0 {
			line, rest = s[:i], s[i+1:]
			if s[i] == '\r' {
				rest, crlf = strings.CutPrefix(rest, "\n")
			}
		}
		s = rest
		line = strings.TrimLeft(line, blanks)
		if b.Len() == 0 {
			if line == "" || line[0] == '#' || line[0] == '!' {
				open = false
				continue
			}
			number = n
		}
		backslashes := len(line) - len(strings.TrimRight(line, `\`))
		open = backslashes%2 == 1
		if open {
			line = line[:len(line)-1]
		}
		b.WriteString(line)
		if !open && b.Len() > 0 {
			out = append(out, logicalLine{b.String(), number})
			b.Reset()
		}
	}
	// A file that ends in a continuation has one more line. It may even be empty, except after a
	// carriage return and line feed: so does Java's reader.
	if open && (b.Len() > 0 || !crlf) {
		out = append(out, logicalLine{b.String(), number})
	}
	return out
}

// keyEnd gives where the key ends: at the first separator that is not escaped.
func keyEnd(line string) int {
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case '\\':
			i++
		case '=', ':', ' ', '\t', '\f':
			return i
		}
	}
	return len(line)
}

// errEscape does not repeat what it found, which may be part of a password.
var errEscape = errors.New(`malformed \uXXXX escape`)

func unescape(s string) (string, error) {
	var out []uint16
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			out = append(out, uint16(s[i]))
			continue
		}
		i++
		if i == len(s) {
			break
		}
		switch s[i] {
		case 't':
			out = append(out, '\t')
		case 'n':
			out = append(out, '\n')
		case 'r':
			out = append(out, '\r')
		case 'f':
			out = append(out, '\f')
		case 'u':
			if len(s)-i < 5 {
				return "", errEscape
			}
			unit := uint16(0)
			for _, c := range []byte(s[i+1 : i+5]) {
				digit := strings.IndexByte("0123456789abcdef", c|0x20)
				if c < '0' || c > '9' && c < 'A' || digit < 0 {
					return "", errEscape
				}
				unit = unit<<4 | uint16(digit)
			}
			out = append(out, unit)
			i += 4
		default:
			out = append(out, uint16(s[i]))
		}
	}
	return string(utf16.Decode(out)), nil
}

// printableKey gives a key for a message: a file that is no properties file may hold anything.
func printableKey(key string) string {
	if len(key) > 60 {
		key = key[:60] + "..."
	}
	return fmt.Sprintf("%q", key)
}

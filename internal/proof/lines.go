package proof

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// origin says where a class comes from: its source file's base name (JVMS 4.7.10) and, per
// method (name and descriptor), the lines in its LineNumberTable (JVMS 4.7.12).
type origin struct {
	file  string
	lines map[string][]int
}

// cursor reads big-endian numbers; past the end it gives zeros and remembers that.
type cursor struct {
	b     []byte
	short bool
}

func (c *cursor) take(n int) []byte {
	if n < 0 || n > len(c.b) {
		c.short = true
		c.b = nil
		return make([]byte, min(max(n, 0), 8))
	}
	out := c.b[:n]
	c.b = c.b[n:]
	return out
}

func (c *cursor) u1() int { return int(c.take(1)[0]) }
func (c *cursor) u2() int { return int(binary.BigEndian.Uint16(c.take(2))) }
func (c *cursor) u4() int { return int(binary.BigEndian.Uint32(c.take(4))) }

// constantSizes gives the size of each constant after its tag (JVMS table 4.4-A); Utf8 (1)
// has its own length.
var constantSizes = map[int]int{3: 4, 4: 4, 5: 8, 6: 8, 7: 2, 8: 2, 9: 4, 10: 4, 11: 4, 12: 4, 15: 3, 16: 2, 17: 4, 18: 4, 19: 2, 20: 2}

// readOrigin reads a class that a compiler just wrote.
func readOrigin(class []byte) (origin, error) {
	c := &cursor{b: class}
	if c.u4() != 0xcafebabe {
		return origin{}, fmt.Errorf("not a class file")
	}
	c.take(4)
	utf8 := map[int]string{}
	for i, n := 1, c.u2(); i < n && !c.short; i++ {
		tag := c.u1()
		if tag == 1 {
			utf8[i] = string(c.take(c.u2()))
			continue
		}
		size, ok := constantSizes[tag]
		if !ok {
			return origin{}, fmt.Errorf("constant %d has the unknown tag %d", i, tag)
		}
		c.take(size)
		if tag == 5 || tag == 6 {
			i++ // takes two places
		}
	}
	c.take(6)
	c.take(2 * c.u2())
	o := origin{lines: map[string][]int{}}
	attributes := func(c *cursor, each func(name string, body *cursor)) {
		for n := c.u2(); n > 0 && !c.short; n-- {
			name := utf8[c.u2()]
			each(name, &cursor{b: c.take(c.u4())})
		}
	}
	for _, methods := range []bool{false, true} {
		for n := c.u2(); n > 0 && !c.short; n-- {
			c.take(2)
			key := utf8[c.u2()] + utf8[c.u2()]
			attributes(c, func(name string, body *cursor) {
				if methods && name == "Code" {
					o.lines[key] = codeLines(body, attributes)
				}
			})
		}
	}
	attributes(c, func(name string, body *cursor) {
		if name == "SourceFile" {
			o.file = utf8[body.u2()]
		}
	})
	if c.short {
		return origin{}, fmt.Errorf("class file is truncated")
	}
	return o, nil
}

// codeLines gives the lines of a Code attribute, sorted, each once.
func codeLines(body *cursor, attributes func(*cursor, func(string, *cursor))) []int {
	body.take(4)
	body.take(body.u4())
	body.take(8 * body.u2())
	var lines []int
	attributes(body, func(name string, table *cursor) {
		if name == "LineNumberTable" {
			for n := table.u2(); n > 0 && !table.short; n-- {
				table.take(2)
				lines = append(lines, table.u2())
			}
		}
	})
	slices.Sort(lines)
	return slices.Compact(lines)
}

package classfile

import (
	"fmt"
	"strings"
)

// line prints an instruction as javap -c does, with the constant in place of its index and
// instruction numbers as jump targets. name says how a constant is written.
func (in *instruction) line(names []string, name func(*operand) string) string {
	var out strings.Builder
	if in.wide {
		out.WriteString("wide ")
	}
	out.WriteString(names[in.op])
	switch {
	case in.op == opBipush, in.op == opSipush, in.op == opNewarray, in.op == opRet,
		in.op >= opIload && in.op <= opAload, in.op >= opIstore && in.op <= opAstore:
		fmt.Fprintf(&out, " %d", in.a)
	case in.op == opIinc:
		fmt.Fprintf(&out, " %d %d", in.a, in.b)
	case in.ref != nil:
		out.WriteString(" " + name(in.ref))
		if in.op == opMultianew || in.op == opInterface {
			fmt.Fprintf(&out, " %d", in.a)
		}
	case len(in.keys) > 0 || in.op == opTableswitch || in.op == opLookupswitch:
		for i, key := range in.keys {
			fmt.Fprintf(&out, " %d:%d", key, in.jumps[i+1])
		}
		fmt.Fprintf(&out, " default:%d", in.jumps[0])
	case len(in.jumps) > 0:
		fmt.Fprintf(&out, " %d", in.jumps[0])
	}
	return out.String()
}

// listing prints a method for a person: no offsets, so that one more instruction does not
// change every line after it.
func (m *member) listing() []string {
	if m.code == nil {
		return []string{m.title()}
	}
	names := mnemonics()
	lines := []string{m.title()}
	for i := range m.code.instructions {
		in := m.code.instructions[i]
		for _, h := range m.code.handlers {
			if h.target == in.pc {
				lines = append(lines, "  catch "+h.caught)
			}
		}
		in.jumps = nil
		lines = append(lines, "  "+in.line(names, func(o *operand) string { return o.text }))
	}
	return lines
}

// shown bounds the lines of one side of a diff, context the equal lines around it.
const (
	shown   = 12
	context = 3
)

// diffLines prints the part between the common beginning and the common end of two lists.
func diffLines(a, b []string) []string {
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	if head == len(a) && head == len(b) {
		return []string{"  the instructions are the same; jump targets, tables or generated methods they use differ"}
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	var out []string
	for _, part := range []struct {
		mark  string
		lines []string
	}{
		{" ", a[max(0, head-context):head]},
		{"-", a[head : len(a)-tail]},
		{"+", b[head : len(b)-tail]},
		{" ", a[len(a)-tail : min(len(a), len(a)-tail+context)]},
	} {
		for i, line := range part.lines {
			if i == shown {
				out = append(out, fmt.Sprintf("%s … %d more lines", part.mark, len(part.lines)-i))
				break
			}
			out = append(out, part.mark+line)
		}
	}
	return out
}

// diff prints both sides around the first instructions that do not fit, idioms before them
// left out.
func (l *alignment) diff() []string {
	names := mnemonics()
	side := func(k *code, from int) []string {
		var lines []string
		for i := max(0, from); i < len(k.instructions); i++ {
			lines = append(lines, "  "+k.instructions[i].line(names, func(o *operand) string { return o.text }))
		}
		return lines
	}
	from := min(context, l.failA, l.failB)
	out := []string{fmt.Sprintf("  at instruction %d (offset %d) and %d", l.failA, l.a.offset(l.failA), l.failB)}
	for _, line := range side(l.a, l.failA-from)[:from] {
		out = append(out, " "+line)
	}
	return append(out, diffLines(side(l.a, l.failA), side(l.b, l.failB))...)
}

// offset is where an instruction begins; the end of the code for the one after the last.
func (k *code) offset(i int) int {
	if i < len(k.instructions) {
		return k.instructions[i].pc
	}
	return k.length
}

package classfile

import (
	"fmt"
	"slices"
	"strings"
)

// The short forms, with the number of the local variable in the opcode.
const (
	opIload0  = 26
	opIstore0 = 59
	opStores  = 79 // the first opcode after them
)

// local gives the long form of an instruction that uses a local variable, and the variable.
func (in *instruction) local() (op byte, variable int32, ok bool) {
	switch {
	case in.op >= opIload && in.op <= opAload, in.op >= opIstore && in.op <= opAstore, in.op == opIinc, in.op == opRet:
		return in.op, in.a, true
	case in.op >= opIload0 && in.op < opIload0+20:
		return opIload + (in.op-opIload0)/4, int32(in.op-opIload0) % 4, true
	case in.op >= opIstore0 && in.op < opStores:
		return opIstore + (in.op-opIstore0)/4, int32(in.op-opIstore0) % 4, true
	}
	return 0, 0, false
}

// renumbered gives the code with its local variables numbered in the order in which they are first
// mentioned; the first ones, parameters, keep theirs, as the caller fills them. Two codes that are
// the same then use their variables alike: each reads what the same instruction of the other wrote.
func (k *code) renumbered(parameters int32) *code {
	numbers := make(map[int32]int32)
	out := *k
	out.instructions = make([]instruction, len(k.instructions))
	for i, in := range k.instructions {
		if op, variable, ok := in.local(); ok {
			if variable >= parameters {
				if _, known := numbers[variable]; !known {
					numbers[variable] = parameters + int32(len(numbers))
				}
				variable = numbers[variable]
			}
			in.op, in.a, in.wide = op, variable, false
		}
		out.instructions[i] = in
	}
	return &out
}

// withoutLocals gives what a code says besides instructions, without what depends on the numbers of
// local variables: how many there are, and the verifier's stack map frames.
func withoutLocals(k *code, facts []string) []string {
	out := slices.DeleteFunc(slices.Clone(facts), func(line string) bool { return strings.HasPrefix(line, "StackMapTable ") })
	if len(out) > 0 {
		out[0] = fmt.Sprintf("stack %d", k.stack)
	}
	return out
}

// parameters counts the local variables that a method's parameters fill, its instance included
// (JVMS 2.6.1: a long or double takes two).
func (m *member) parameters() int32 {
	n := int32(1)
	if m.access&accStatic != 0 {
		n = 0
	}
	for i := 1; i < len(m.desc) && m.desc[i] != ')'; i++ {
		n++
		switch m.desc[i] {
		case 'J', 'D':
			n++
		case '[', 'L':
			for i < len(m.desc) && m.desc[i] == '[' {
				i++
			}
			if i < len(m.desc) && m.desc[i] == 'L' {
				for i < len(m.desc) && m.desc[i] != ';' {
					i++
				}
			}
		}
	}
	return n
}

// accStatic is JVMS table 4.6-A's ACC_STATIC.
const accStatic = 0x0008

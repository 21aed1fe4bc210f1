package classfile

import "slices"

// alignment pairs the instructions of two codes. Offsets get the number of the pair as their
// label, so that branch targets, frames and tables compare whatever the offsets are.
type alignment struct {
	a, b           *code
	labelA, labelB []int32
	idioms         map[string]int
	// failA and failB are the first instructions that do not fit, -1 when all do.
	failA, failB int
}

// align walks both lists once; pair is asked whether two generated methods may be the same.
func align(a, b *code, pair func(x, y string) bool) *alignment {
	l := &alignment{a: a, b: b, idioms: make(map[string]int), failA: -1, failB: -1,
		labelA: make([]int32, len(a.instructions)+1), labelB: make([]int32, len(b.instructions)+1)}
	enteredA, enteredB := a.entered(), b.entered()
	i, j, label := 0, 0, int32(0)
	for i < len(a.instructions) && j < len(b.instructions) {
		x, y := &a.instructions[i], &b.instructions[j]
		l.labelA[i], l.labelB[j] = label, label
		idiom, same := match(x, y, pair)
		switch {
		case same:
			if idiom != "" {
				l.idioms[idiom]++
			}
		case nullChecks(a, b, i, j, enteredA, enteredB):
			l.idioms[IdiomNullCheck]++
		case a.castsErased(i, enteredA) && !(y.op == opCheckcast):
			l.idioms[IdiomCheckcast]++
			i++
			continue
		case b.castsErased(j, enteredB) && !(x.op == opCheckcast):
			l.idioms[IdiomCheckcast]++
			j++
			continue
		default:
			l.failA, l.failB = i, j
			return l
		}
		i, j, label = i+1, j+1, label+1
	}
	l.labelA[len(a.instructions)], l.labelB[len(b.instructions)] = label, label
	if i < len(a.instructions) || j < len(b.instructions) {
		l.failA, l.failB = i, j
		return l
	}
	l.checkJumps()
	return l
}

// checkJumps compares branch targets once all labels are known.
func (l *alignment) checkJumps() {
	paired := make(map[int32]int, len(l.a.instructions))
	for i := range l.a.instructions {
		paired[l.labelA[i]] = i // of several with one label the last is the one that is paired
	}
	for j := range l.b.instructions {
		if l.labelB[j+1] == l.labelB[j] {
			continue // a cast that only b has
		}
		i := paired[l.labelB[j]]
		x, y := l.a.instructions[i].jumps, l.b.instructions[j].jumps
		same := slices.EqualFunc(x, y, func(s, t int) bool { return l.labelA[s] == l.labelB[t] })
		if !same {
			l.failA, l.failB = i, j
			return
		}
	}
}

func (l *alignment) fits() bool { return l.failA < 0 }

// match says whether two instructions are the same, or the same in another form.
func match(x, y *instruction, pair func(x, y string) bool) (idiom string, same bool) {
	if x.op != y.op {
		switch {
		case x.op == opLdc && y.op == opLdcW, x.op == opLdcW && y.op == opLdc:
			idiom = IdiomLdc
		case x.op == opGoto && y.op == opGotoW, x.op == opGotoW && y.op == opGoto:
			idiom = IdiomGoto
		default:
			return "", false
		}
	}
	if x.wide != y.wide || x.a != y.a || x.b != y.b || !slices.Equal(x.keys, y.keys) || len(x.jumps) != len(y.jumps) {
		return "", false
	}
	if x.ref == nil || y.ref == nil {
		return idiom, x.ref == y.ref
	}
	if x.ref.shape != y.ref.shape || len(x.ref.refs) != len(y.ref.refs) {
		return "", false
	}
	for n := range x.ref.refs {
		if !pair(x.ref.refs[n], y.ref.refs[n]) {
			return "", false
		}
	}
	return idiom, true
}

const (
	getClass       = "Method java/lang/Object.getClass:()Ljava/lang/Class;"
	requireNonNull = "Method java/util/Objects.requireNonNull:(Ljava/lang/Object;)Ljava/lang/Object;"
)

// nullChecks accepts dup, check, pop in its two forms. The dup is what tells the compiler's
// own check from a call in the source, and the result must be dropped at once.
func nullChecks(a, b *code, i, j int, enteredA, enteredB []bool) bool {
	check := func(k *code, n int, entered []bool) (old, found bool) {
		if n == 0 || n+1 >= len(k.instructions) || entered[n] || entered[n+1] ||
			k.instructions[n-1].op != opDup || k.instructions[n+1].op != opPop {
			return false, false
		}
		in := &k.instructions[n]
		old = in.op == opInvokevirtual && in.ref.text == getClass
		return old, old || in.op == opInvokestatic && in.ref.text == requireNonNull
	}
	oldA, okA := check(a, i, enteredA)
	oldB, okB := check(b, j, enteredB)
	return okA && okB && oldA != oldB
}

// castsErased says whether instruction n casts what the call right before it returned as a
// type that is not the one it is cast to; code that is entered by a jump at the cast, or
// right after it, is not taken for the idiom.
func (k *code) castsErased(n int, entered []bool) bool {
	if n == 0 || n+1 >= len(k.instructions) || k.instructions[n].op != opCheckcast || entered[n] || entered[n+1] {
		return false
	}
	before := &k.instructions[n-1]
	if before.op < opGetfield || before.op > opDynamic || before.op == opGetfield+1 {
		return false
	}
	text := before.ref.text
	return len(text) > 0 && text[len(text)-1] == ';'
}

// entered marks the instructions that control reaches otherwise than from the one before.
func (k *code) entered() []bool {
	marks := make([]bool, len(k.instructions)+1)
	for i := range k.instructions {
		for _, target := range k.instructions[i].jumps {
			marks[target] = true
		}
	}
	for _, h := range k.handlers {
		for _, pc := range []int{h.start, h.end, h.target} {
			marks[k.at(pc)] = true
		}
	}
	return marks
}

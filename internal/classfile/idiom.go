package classfile

import (
	"slices"
	"strings"
)

// Idioms that different compilers write for the same source. Each name is part of proof.json.
const (
	// IdiomNullCheck: javac 8 writes x.getClass() where later ones write
	// Objects.requireNonNull(x), for a bound method reference or an outer instance (JDK-8074306).
	IdiomNullCheck = "null-check"
	// IdiomCheckcast: one of the two casts the erased result of a generic call to the type
	// argument although its use does not need it.
	IdiomCheckcast = "redundant-checkcast"
	// IdiomLdc: ldc and ldc_w load the same constant; which one depends on its index.
	IdiomLdc = "ldc-form"
	// IdiomGoto: goto and goto_w to the same place.
	IdiomGoto = "goto-form"
	// IdiomLambdaName: a generated method with the same body has another number, or, javac 8's
	// lambda$null$N, another name.
	IdiomLambdaName = "lambda-name"
	// IdiomInnerClasses: a row of InnerClasses for a class that is neither this class nor one of
	// its members is there on one side only; javac 8 lists fewer of the classes it mentions.
	IdiomInnerClasses = "inner-classes"
	// IdiomParameters: MethodParameters that only marks nameless parameters as synthetic or
	// mandated; javac writes it since 21 (JDK-8292275).
	IdiomParameters = "method-parameters"
	// IdiomFrameType: a stack map frame names another common supertype where two branches meet
	// (Object or Serializable for a String and an ApiError). Only the verifier reads it: the
	// instructions, and the frames' places and shapes, are the same.
	IdiomFrameType = "frame-type"
	// IdiomLocals: the local variables of a method, but for its parameters, have other numbers, each
	// one number throughout. scalac's inliner gives them out in an order that depends on what else
	// is compiled with a class. Stack map frames, which list types by those numbers and are read by
	// the verifier only, are not compared in such a method.
	IdiomLocals = "local-numbers"
	// IdiomEnumValues: javac builds an enum's array in a method $values since 15
	// (JDK-8241798), and in the static initialiser before; the instructions are the same.
	IdiomEnumValues = "enum-values"
	// IdiomAnonymous: an anonymous class is marked final or static, or its constructor has a
	// Signature, on one side only; nothing can name such a class (JDK-8161009, JDK-8034044).
	IdiomAnonymous = "anonymous-class"
	// IdiomMemberOrder: the same fields or methods stand in another order.
	IdiomMemberOrder = "member-order"
)

// valuesMethod is where javac 15 and later build the array of an enum's constants.
const valuesMethod = "$values"

// enumValues gives the static initialiser with the body of $values in the place of its call,
// nil when the class is not an enum of that form. Only straight code without tables is taken.
func (c *class) enumValues() (*member, string) {
	methods := byKey(c.methods)
	key := valuesMethod + "()[L" + c.this + ";"
	values, init := methods[key], methods["<clinit>()V"]
	if values == nil || init == nil || values.code == nil || init.code == nil || c.super != "java/lang/Enum" ||
		values.access != 0x100a || len(values.facts) > 0 || len(values.code.handlers) > 0 || values.code.locals > 0 {
		return nil, ""
	}
	body := values.code.instructions
	for _, in := range body {
		if len(in.jumps) > 0 {
			return nil, ""
		}
	}
	call := "Method " + symbol(c.this) + "." + valuesMethod + ":" + "()[L" + c.this + ";"
	old := init.code
	at := slices.IndexFunc(old.instructions, func(in instruction) bool { return in.op == opInvokestatic && in.ref.text == call })
	if at < 0 || body[len(body)-1].op != opAreturn {
		return nil, ""
	}
	body = body[:len(body)-1]
	merged := *old
	merged.stack = max(old.stack, values.code.stack)
	merged.said, merged.debug = nil, nil // of other instruction numbers
	merged.instructions = slices.Concat(old.instructions[:at], body, old.instructions[at+1:])
	grown := len(body) - 1
	merged.index = slices.Clone(old.index)
	for pc, i := range merged.index {
		if int(i) > at {
			merged.index[pc] = i + int32(grown)
		}
	}
	for i := range merged.instructions {
		jumps := slices.Clone(merged.instructions[i].jumps)
		for n, target := range jumps {
			if target > at {
				jumps[n] = target + grown
			}
		}
		merged.instructions[i].jumps = jumps
	}
	return &member{access: init.access, name: init.name, desc: init.desc, facts: init.facts, code: &merged}, key
}

// anonymous says whether the class has neither a name nor an outer class in InnerClasses.
func (c *class) anonymous() bool {
	name := " class " + symbol(c.this)
	return strings.HasPrefix(c.inner[name], name+" none none ")
}

// anonymousFlags are final and static, JVMS table 4.7.6-A.
const anonymousFlags = 0x0018

// sameAnonymous says whether two rows of InnerClasses are of one anonymous class and differ
// in final or static only.
func sameAnonymous(x, y string) bool {
	headX, flagsX, okX := strings.Cut(x, " none none ")
	headY, flagsY, okY := strings.Cut(y, " none none ")
	return okX && okY && headX == headY && slices.Contains(anonymousRows(), flagsX) && slices.Contains(anonymousRows(), flagsY)
}

func anonymousRows() []string { return []string{"0x0000", "0x0008", "0x0010", "0x0018"} }

// outlineIdioms compares the outlines of two methods and names the idioms between them.
func outlineIdioms(a, b []string, constructor bool) (idioms []string, same bool) {
	for _, rule := range []struct {
		idiom   string
		applies bool
		drop    func(string) bool
	}{
		{IdiomParameters, true, nameless},
		{IdiomAnonymous, constructor, func(line string) bool { return strings.HasPrefix(line, "Signature ") }},
	} {
		if rule.applies && slices.ContainsFunc(a, rule.drop) != slices.ContainsFunc(b, rule.drop) {
			a, b = slices.DeleteFunc(slices.Clone(a), rule.drop), slices.DeleteFunc(slices.Clone(b), rule.drop)
			idioms = append(idioms, rule.idiom)
		}
	}
	return idioms, slices.Equal(a, b)
}

// nameless says whether a line is a MethodParameters that gives no parameter a name.
func nameless(line string) bool {
	rest, ok := strings.CutPrefix(line, "MethodParameters [")
	if !ok {
		return false
	}
	for part := range strings.SplitSeq(strings.TrimSuffix(rest, "]"), ";") {
		if !strings.HasPrefix(part, " none ") {
			return false
		}
	}
	return true
}

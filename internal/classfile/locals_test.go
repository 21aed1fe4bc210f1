package classfile

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLocalVariablesMayHaveOtherNumbersWhenEachIsUsedAlike(t *testing.T) {
	with := func(body string) variant {
		v := original()
		v.head, v.body = "static long m(long l, int x, String s)", body
		return v
	}
	const use = "p = x; if (p > 3) { q = 5; } else { q = p; } w = l; p++; q += 2000; return p - q + w;"
	bodies := []string{
		"int p; int q; long w; " + use,
		"int q; long w; int p; " + use,
		"int p; int q; long w; p = x; if (p > 3) { q = 5; } else { q = p; } w = l; p++; q += 2000; return q - p + w;",
		"int p; int q; long w; p = x; if (p > 3) { q = 5; } else { q = p; } w = l; q++; p += 2000; return p - q + w;",
		"int p; int q; long w; p = x; if (p > 3) { p = 5; } else { q = p; } q = 7; w = l; p++; q += 2000; return p - q + w;",
		"int p; int q; long w; p = x; if (p > 3) { q = 5; } else { q = p; } w = l; x++; q += 2000; return p - q + w;",
		"int p; int q; long w; p = x; if (p > 3) { q = 5; } else { q = p; } w = l; p++; q += 2000; return p - q + l;",
		"int p; int q; long w; p = x; if (p > 3) { q = 5; } else { q = p; } w = l; p++; p += 2000; return p - p + w;",
	}
	var variants []variant
	for _, body := range bodies {
		variants = append(variants, with(body))
	}
	classes := compileAll(t, variants)
	result, err := Compare(classes[0], classes[1])
	require.NoError(t, err)
	assert.Equal(t, Idioms, result.Level, result.Diff)
	assert.Equal(t, map[string]int{IdiomLocals: 1}, result.Idioms)
	for i := 2; i < len(classes); i++ {
		for _, against := range classes[:2] {
			requireDifferent(t, bodies[i], against, classes[i])
		}
	}
}

func TestParametersKeepTheirNumbers(t *testing.T) {
	var variants []variant
	for _, body := range []string{"return a - b;", "return b - a;", "int c = a; a = b; b = c; return a - b;", "int c = b; b = a; a = c; return b - a;"} {
		v := original()
		v.head, v.body = "int m(int a, int b)", body
		variants = append(variants, v)
	}
	classes := compileAll(t, variants)
	requireDifferent(t, "parameters swapped", classes[0], classes[1])
	requireDifferent(t, "parameters swapped beside a variable", classes[2], classes[3])
}

func TestParametersAreCountedByTheirSlots(t *testing.T) {
	for desc, want := range map[string]int32{
		"()V": 1, "(I)V": 2, "(JD)V": 5, "(Ljava/lang/String;J)V": 4, "([J[[Ljava/lang/String;Z)V": 4, "(": 1, "([": 2, "(L": 2, "": 1,
	} {
		m := member{desc: desc}
		assert.Equal(t, want, m.parameters(), desc)
		m.access = accStatic
		assert.Equal(t, want-1, m.parameters(), desc)
	}
}

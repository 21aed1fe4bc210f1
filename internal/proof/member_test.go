package proof

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

const scalaText = `package a

class Part(val x: Int,
           y: Int) extends Base {
  private val z = Set(
    y
  )

  /** doc */
  def first(a: Int,
            b: Int): Int = {
    if (a > 1) {
      a
    } else {
      b
    }
  }

  newGauge("n", () => {
    z.size
  })

  private def second(
    a: Int
  ): Int = {
    def inner(i: Int): Int =
      i + a

    inner(1)
  }
}
`

const javaText = `package a;

public class Outer
        implements Runnable {
    private final int limit = compute(
        1);

    static class Inner {
        @Override
        public boolean test(int id) {
            return id > 0;
        }
    }

    public void run(
        int a
    ) {
        new Thread() {
            public void run() {
                go();
            }
        };
    }
}
`

func TestMemberIsTheOutermostHeaderThatDeclaresNoType(t *testing.T) {
	for _, c := range []struct {
		text, at     string
		from, before string // first line of the member, and of what follows it
		method       bool
	}{
		{scalaText, "      b", "  def first(a: Int,", `  newGauge("n", () => {`, true},
		{scalaText, "    z.size", `  newGauge("n", () => {`, "  private def second(", false},
		{scalaText, "    y", "  private val z = Set(", "  /** doc */", false},
		{scalaText, "      i + a", "  private def second(", "}", true},
		{javaText, "            return id > 0;", "        public boolean test(int id) {", "    }", true},
		{javaText, "                go();", "    public void run(", "}", true},
		{javaText, "        1);", "    private final int limit = compute(", "    static class Inner {", false},
	} {
		lines := strings.Split(c.text, "\n")
		number := func(text string) int {
			for i, l := range lines {
				if l == text {
					return i + 1
				}
			}
			t.Fatalf("no line %q", text)
			return 0
		}
		n := number(c.at)
		for _, at := range []span{{n, n}, {n, n - 1}} {
			got, method := memberAt(lines, at)
			last := got.last
			for last > 0 && strings.TrimSpace(lines[last-1]) == "" {
				last--
			}
			next := last + 1
			for strings.TrimSpace(line(lines, next)) == "" && next <= len(lines) {
				next++
			}
			assert.Equal(t, c.from, line(lines, got.first), "member of %q", c.at)
			assert.Equal(t, c.before, line(lines, next), "after the member of %q", c.at)
			assert.Equal(t, c.method, method, "member of %q", c.at)
		}
	}
}

package drift_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	observerpatch "observer-patch"
	"observer-patch/internal/anchor"
	"observer-patch/internal/drift"
	"observer-patch/internal/maven/maventest"
	"observer-patch/internal/patch"
	"observer-patch/internal/release"
	"observer-patch/internal/source"
)

// tracked is a line of an upstream file that knows which line it was before the mutation;
// 0 for a line that the mutation wrote.
type tracked struct {
	text string
	was  int
}

// subject is one hook's place in one file of one release, about to be mutated.
type subject struct {
	path  string
	place anchor.Place
	found anchor.Located
	body  string
	lines []tracked
	// header is the index of the innermost line of place.In, -1 when the place has none.
	header int
	// end is the index after the last line of the header's scope.
	end int
}

func (s *subject) clone() *subject {
	c := *s
	c.lines = slices.Clone(s.lines)
	return &c
}

func (s *subject) first() int { return s.found.Start - 1 }
func (s *subject) last() int  { return s.found.End - 1 }

func (s *subject) text() []byte {
	var b strings.Builder
	for _, l := range s.lines {
		b.WriteString(l.text)
	}
	return []byte(b.String())
}

func (s *subject) insert(at int, text ...string) {
	var lines []tracked
	for _, t := range text {
		lines = append(lines, tracked{text: t + "\n"})
	}
	s.lines = slices.Insert(s.lines, at, lines...)
}

func indentation(line string) string { return line[:len(line)-len(strings.TrimLeft(line, " \t"))] }

// identifier gives the longest name in the text, so that a mutation can change it.
func identifier(text string) string {
	best := ""
	for _, w := range strings.FieldsFunc(text, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}) {
		if len(w) > len(best) {
			best = w
		}
	}
	return best
}

// mutation changes a file as upstream might. It tells false for a place that it does not fit.
type mutation struct {
	name string
	do   func(*subject) bool
	// want are the causes that say rightly what happened; none means that the place must still
	// be found, at the very line that it was.
	want []anchor.Cause
}

var mutations = []mutation{
	{"the method is renamed", func(s *subject) bool {
		if s.header < 0 {
			return false
		}
		header := s.place.In[len(s.place.In)-1][0]
		name := identifier(header)
		s.lines[s.header].text = strings.Replace(s.lines[s.header].text, name, name[:len(name)-1]+"Z", 1)
		return true
	}, []anchor.Cause{anchor.Renamed}},
	{"the method gets another modifier", func(s *subject) bool {
		if s.header < 0 || !strings.HasPrefix(s.place.In[len(s.place.In)-1][0], "private ") {
			return false
		}
		s.lines[s.header].text = strings.Replace(s.lines[s.header].text, "private ", "", 1)
		return true
	}, []anchor.Cause{anchor.Renamed}},
	{"an overload is added", func(s *subject) bool {
		if s.header < 0 {
			return false
		}
		n := len(s.place.In[len(s.place.In)-1])
		var copied []string
		for _, l := range s.lines[s.header : s.header+n] {
			copied = append(copied, strings.TrimRight(l.text, "\r\n"))
		}
		s.insert(s.header, append(copied, indentation(copied[0])+"}")...)
		return true
	}, []anchor.Cause{anchor.Duplicated}},
	{"the method is deleted", func(s *subject) bool {
		if s.header < 0 {
			return false
		}
		s.lines = slices.Delete(s.lines, s.header, s.end)
		return true
	}, []anchor.Cause{anchor.Deleted}},
	{"the method is emptied", func(s *subject) bool {
		if s.header < 0 {
			return false
		}
		s.lines = slices.Delete(s.lines, s.header+len(s.place.In[len(s.place.In)-1]), s.end)
		return true
	}, []anchor.Cause{anchor.Deleted}},
	{"the anchored line is deleted", func(s *subject) bool {
		s.lines = slices.Delete(s.lines, s.first(), s.last()+1)
		return true
	}, []anchor.Cause{anchor.Deleted}},
	{"the anchored line is commented out", func(s *subject) bool {
		if strings.HasPrefix(s.place.Anchor[0], "//") {
			return false
		}
		for i := s.first(); i <= s.last(); i++ {
			in := indentation(s.lines[i].text)
			s.lines[i] = tracked{text: in + "// " + strings.TrimPrefix(s.lines[i].text, in)}
		}
		return true
	}, []anchor.Cause{anchor.Deleted}},
	{"a name in the anchored line changes", func(s *subject) bool {
		name := identifier(s.place.Anchor[0])
		if len(name) < 4 {
			return false
		}
		line := s.first()
		if s.place.Op == anchor.Replace {
			line = s.anchorLine()
		}
		s.lines[line].text = strings.Replace(s.lines[line].text, name, name[:len(name)-1]+"Z", 1)
		return true
	}, []anchor.Cause{anchor.Renamed}},
	{"the anchored line is doubled", func(s *subject) bool {
		at := s.anchorLine()
		n := len(s.place.Anchor)
		copied := slices.Clone(s.lines[at : at+n])
		for i := range copied {
			copied[i].was = 0
		}
		s.lines = slices.Insert(s.lines, at+n, copied...)
		return true
	}, []anchor.Cause{anchor.Duplicated}},
	{"the anchored line moves out of the method", func(s *subject) bool {
		if s.header < 0 {
			return false
		}
		at, n := s.anchorLine(), len(s.place.Anchor)
		cut := slices.Clone(s.lines[at : at+n])
		in := indentation(s.lines[s.header].text)
		wrapped := []tracked{{text: in + "// a method that upstream made of it\n"}, {text: in + "zz() {\n"}}
		wrapped = append(append(wrapped, cut...), tracked{text: in + "}\n"})
		s.lines = slices.Delete(s.lines, at, at+n)
		s.lines = slices.Insert(s.lines, s.header, wrapped...)
		return true
	}, []anchor.Cause{anchor.Moved}},
	{"a line comes between the anchored ones", func(s *subject) bool {
		if len(s.place.Anchor) < 2 {
			return false
		}
		s.insert(s.anchorLine()+1, "", s.found.Indent+"// a reason")
		return true
	}, []anchor.Cause{anchor.Moved}},
	{"the fragment changes", func(s *subject) bool {
		if s.place.Op != anchor.Replace || strings.HasPrefix(s.place.Anchor[0], s.place.Fragment) || strings.Contains(s.place.Anchor.String(), s.place.Fragment) {
			return false
		}
		name := identifier(s.place.Fragment)
		l := &s.lines[s.first()]
		l.text = strings.Replace(l.text, s.place.Fragment, strings.Replace(s.place.Fragment, name, "other", 1), 1)
		return true
	}, []anchor.Cause{anchor.Renamed}},
	{"the fragment is there twice", func(s *subject) bool {
		if s.place.Op != anchor.Replace {
			return false
		}
		l := &s.lines[s.first()]
		l.text = strings.TrimRight(l.text, "\n") + " // " + s.place.Fragment + "\n"
		return true
	}, []anchor.Cause{anchor.Duplicated}},
	{"upstream has the hook's lines", func(s *subject) bool {
		in := s.found.Indent
		var adopted []string
		for _, l := range strings.Split(s.body, "\n") {
			adopted = append(adopted, in+l)
		}
		switch s.place.Op {
		case anchor.Before:
			s.insert(s.first(), adopted...)
		case anchor.After:
			s.insert(s.last()+1, adopted...)
		default:
			return false
		}
		return true
	}, []anchor.Cause{anchor.Present}},
	{"upstream has the hook's lines instead of the anchored", func(s *subject) bool {
		if s.place.Op == anchor.Replace {
			return false
		}
		in := s.found.Indent
		var adopted []string
		for _, l := range strings.Split(s.body, "\n") {
			adopted = append(adopted, in+l)
		}
		s.insert(s.last()+1, adopted...)
		s.lines = slices.Delete(s.lines, s.first(), s.last()+1)
		return true
	}, []anchor.Cause{anchor.Present}},
	{"upstream has the hook's replacement", func(s *subject) bool {
		if s.place.Op != anchor.Replace || strings.Contains(s.body, "\n") {
			return false
		}
		head, tail := anchor.SplitGap(s.body)
		l := &s.lines[s.first()]
		l.text = strings.Replace(l.text, s.place.Fragment, head+s.place.Fragment+tail, 1)
		return true
	}, []anchor.Cause{anchor.Present}},
	{"the file is emptied", func(s *subject) bool {
		s.lines = nil
		return true
	}, []anchor.Cause{anchor.Deleted}},
	{"the whole file is indented anew", func(s *subject) bool {
		for i, l := range s.lines {
			in := indentation(l.text)
			s.lines[i].text = in + in + l.text[len(in):]
		}
		return true
	}, nil},
	{"the method moves a level deeper", func(s *subject) bool {
		if s.header < 0 {
			return false
		}
		for i := s.header; i < s.end; i++ {
			if strings.TrimSpace(s.lines[i].text) != "" {
				s.lines[i].text = "  " + s.lines[i].text
			}
		}
		return true
	}, nil},
	{"the file has other line ends", func(s *subject) bool {
		for i, l := range s.lines {
			s.lines[i].text = strings.TrimSuffix(l.text, "\n") + "\r\n"
		}
		return true
	}, nil},
	{"lines come above", func(s *subject) bool {
		s.insert(0, "// one", "", "// two")
		return true
	}, nil},
	{"the anchored line goes on differently", func(s *subject) bool {
		if s.place.Op == anchor.Replace {
			return false
		}
		l := &s.lines[s.last()]
		l.text = strings.TrimRight(l.text, "\n") + " // more\n"
		return true
	}, nil},
}

// anchorLine is the index of the anchor's first line; a replacement may work on a later one.
func (s *subject) anchorLine() int {
	for at := s.first(); at >= 0; at-- {
		ok := true
		for j, a := range s.place.Anchor {
			ok = ok && at+j < len(s.lines) && strings.HasPrefix(strings.TrimSpace(s.lines[at+j].text), a)
		}
		if ok {
			return at
		}
	}
	panic("no anchor above the located line")
}

// upstream gives the release's sources, from the published jars.
func upstream(t *testing.T, version string) fs.FS {
	t.Helper()
	tree, err := source.Maven(maventest.Resolve(t.Context(), t, version, "source", nil))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, tree.Close()) })
	return tree.FS
}

func catalog(t *testing.T) *anchor.Catalog {
	t.Helper()
	c, err := anchor.ReadCatalog(observerpatch.Data())
	require.NoError(t, err)
	return c
}

func targetOf(t *testing.T, version string) release.Target {
	t.Helper()
	text, err := fs.ReadFile(observerpatch.Data(), "versions.yaml")
	require.NoError(t, err)
	m, err := release.ReadMatrix(text, "versions.yaml")
	require.NoError(t, err)
	target, err := m.Target(version, "", "", "")
	require.NoError(t, err)
	return target
}

// subjects are all places of a target's hooks that are in upstream's files.
func subjects(t *testing.T, tree fs.FS, target release.Target) []*subject {
	t.Helper()
	var out []*subject
	for _, f := range catalog(t).For(target) {
		if f.New != nil {
			continue
		}
		src, err := fs.ReadFile(tree, f.Path)
		require.NoError(t, err)
		var lines []tracked
		for i, l := range anchor.SplitLines(src) {
			lines = append(lines, tracked{l, i + 1})
		}
		for _, h := range f.Hooks {
			found, misses := anchor.Locate(f.Path, src, []anchor.Hook{h}, target)
			require.Empty(t, misses)
			p, _ := h.Place(target)
			s := &subject{path: f.Path, place: p, found: found[0], body: p.Bodies[target.Set], lines: lines, header: -1}
			if len(p.In) > 0 {
				s.header, s.end = headerOf(s)
			}
			out = append(out, s)
		}
	}
	return out
}

// headerOf finds the innermost header above the place, and where its block ends, from the text alone.
func headerOf(s *subject) (header, end int) {
	in := s.place.In[len(s.place.In)-1]
	for header = s.first(); header >= 0; header-- {
		if strings.HasPrefix(strings.TrimSpace(s.lines[header].text), in[0]) && (len(in) == 1 || strings.HasPrefix(strings.TrimSpace(s.lines[header+1].text), in[1])) {
			break
		}
	}
	depth := len(indentation(s.lines[header].text))
	for end = header + len(in); end < len(s.lines); end++ {
		text := strings.TrimSpace(s.lines[end].text)
		if text != "" && len(indentation(s.lines[end].text)) <= depth && !strings.ContainsAny(text[:1], ")]{") {
			break
		}
	}
	return header, end
}

var mutated = []string{"3.6.2", "3.9.2", "4.3.1"}

// Every hook's place in every one of these releases is mutated in every way. The catalog's own
// anchors say where; upstream's text is read from the published jars and stored nowhere.
func TestEveryMutationOfUpstreamIsReportedAndNoneIsPatchedWrongly(t *testing.T) {
	require.GreaterOrEqual(t, len(mutations), 20)
	hooks := catalog(t)
	for _, version := range mutated {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			tree, target := upstream(t, version), targetOf(t, version)
			all := subjects(t, tree, target)
			require.NotEmpty(t, all)
			byPath := map[string]anchor.FileHooks{}
			for _, f := range hooks.For(target) {
				byPath[f.Path] = f
			}
			for _, m := range mutations {
				tried := 0
				for _, s := range all {
					c := s.clone()
					if !m.do(c) {
						continue
					}
					tried++
					judge(t, m, s, c, all, byPath[s.path], target)
				}
				t.Logf("%-55s %d places", m.name, tried)
			}
		})
	}
}

// judge wants one mutated file to be reported as it should, and not to be patched wrongly.
func judge(t *testing.T, m mutation, s, c *subject, all []*subject, f anchor.FileHooks, target release.Target) {
	t.Helper()
	what := fmt.Sprintf("%s: %s (%s) in %s", m.name, s.found.Hook, s.found.Pos, path.Base(s.path))
	text := c.text()
	found, misses := anchor.Locate(f.Path, text, f.Hooks, target)
	for _, l := range found {
		i := slices.IndexFunc(all, func(o *subject) bool { return o.found.Pos == l.Pos })
		assert.Equal(t, all[i].found.Start, c.lines[l.Start-1].was, "%s: hook %s (%s) is now at line %d, which is another one", what, l.Hook, l.Pos, l.Start)
	}
	i := slices.IndexFunc(misses, func(x anchor.Miss) bool { return x.Pos == s.found.Pos })
	if len(m.want) == 0 {
		assert.Empty(t, misses, what)
		after, edits, err := patch.Apply(text, found)
		assert.NoError(t, err, what)
		assert.Len(t, edits, len(f.Hooks), what)
		back, err := patch.Reverse(f.Path, after, f.Hooks, target)
		assert.NoError(t, err, what)
		assert.True(t, bytes.Equal(text, back), "%s: what is patched can be reversed", what)
		return
	}
	if !assert.GreaterOrEqual(t, i, 0, what) {
		return
	}
	h := f.Hooks[slices.IndexFunc(f.Hooks, func(h anchor.Hook) bool {
		return slices.ContainsFunc(h.Places, func(p anchor.Place) bool { return p.Pos == s.found.Pos })
	})]
	var original strings.Builder
	for _, l := range s.lines {
		original.WriteString(l.text)
	}
	change := drift.Explain(misses[i], h, drift.Source{Target: target, Text: []byte(original.String())}, drift.Source{Target: target, Text: text})
	assert.Contains(t, m.want, change.Miss.Cause, "%s\nfrom the file alone: %s\nbeside the old one: %s", what, misses[i].Error(), change.Miss.Error())
}

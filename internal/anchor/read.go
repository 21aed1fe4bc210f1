package anchor

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"observer-patch/internal/release"
)

var (
	idForm  = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	gapWord = regexp.MustCompile(`\b` + Gap + `\b`)
)

// ReadCatalog reads anchors/*.yaml and the bodies below patches/ from the tool's data. It
// reports every mistake it finds, each with file and line.
func ReadCatalog(fsys fs.FS) (*Catalog, error) {
	names, err := fs.Glob(fsys, "anchors/*.yaml")
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, errors.New("no file anchors/*.yaml: expected one for each upstream file that is changed, as docs/hooks.md says")
	}
	r := reader{fsys: fsys}
	var c Catalog
	for _, name := range names { // Glob sorts them
		text, err := fs.ReadFile(fsys, name)
		if err != nil {
			r.errs = append(r.errs, err)
			continue
		}
		d, err := parseDocument(name, text)
		if err != nil {
			r.errs = append(r.errs, err)
			continue
		}
		c.entries = append(c.entries, r.entry(name, d))
	}
	return &c, errors.Join(r.errs...)
}

type reader struct {
	fsys fs.FS
	errs []error
}

func (r *reader) wrong(pos, format string, args ...any) {
	r.errs = append(r.errs, fmt.Errorf("%s: %w", pos, fmt.Errorf(format, args...)))
}

func (r *reader) entry(name string, d *document) entry {
	e := entry{path: d.File, releases: r.releases(name, d.Releases)}
	if ext := path.Ext(d.File); !fs.ValidPath(d.File) || ext != ".java" && ext != ".scala" {
		r.wrong(name, "file %q: expected upstream's path of a .java or .scala file", d.File)
	}
	if d.New == "" {
		if d.ID != "" || d.Sets != nil || d.Modes != nil {
			r.wrong(name, "id, sets and modes of the file belong to a new file; write them in each hook, or say new:")
		}
		if len(d.Hooks) == 0 {
			r.wrong(name, "no hooks: and no new: found; expected one of them")
		}
		for _, h := range d.Hooks {
			e.hooks = append(e.hooks, r.hook(name, d.File, h))
		}
		return e
	}
	if len(d.Hooks) > 0 {
		r.wrong(name, "a new file cannot have hooks; write the text into %s", d.New)
	}
	r.id(name, d.ID)
	e.sets, e.modes = r.selection(name, d.Sets, d.Modes)
	text, err := r.patchFile(d.New)
	if err != nil {
		r.wrong(name, "new: %w", err)
	}
	e.new = &NewFile{ID: d.ID, Text: text, Pos: name}
	return e
}

func (r *reader) hook(name, file string, h hookEntry) Hook {
	pos := fmt.Sprintf("%s:%d", name, h.line)
	r.id(pos, h.ID)
	out := Hook{ID: h.ID, Absent: r.releases(pos, h.Absent), Pos: pos}
	out.Sets, out.Modes = r.selection(pos, h.Sets, h.Modes)
	if len(h.Places) == 0 {
		r.wrong(pos, "hook %s has no places; a hook that is nowhere is deleted, not emptied", h.ID)
	}
	for i, p := range h.Places {
		if p.Releases == "" && i < len(h.Places)-1 {
			r.wrong(fmt.Sprintf("%s:%d", name, p.line), "hook %s: this place has no releases: and so takes all; the %d after it are never reached. Put it last, or write a second entry with the same id when both shall apply", h.ID, len(h.Places)-1-i)
		}
		out.Places = append(out.Places, r.place(name, file, out, h, p))
	}
	return out
}

func (r *reader) place(name, file string, hook Hook, h hookEntry, p placeEntry) Place {
	pos := fmt.Sprintf("%s:%d", name, p.line)
	out := Place{Releases: r.releases(pos, p.Releases), Pos: pos}
	for _, in := range p.In {
		out.In = append(out.In, r.lines(pos, "in", in))
	}
	ops := 0
	if p.Before != nil {
		ops, out.Op, out.Anchor = ops+1, Before, r.lines(pos, "before", p.Before)
	}
	if p.After != nil {
		ops, out.Op, out.Anchor = ops+1, After, r.lines(pos, "after", p.After)
	}
	if p.Replace != nil {
		ops, out.Op, out.Anchor, out.Fragment = ops+1, Replace, r.lines(pos, "replace: line", p.Replace.Line), p.Replace.Text
		if strings.TrimSpace(out.Fragment) == "" || strings.ContainsAny(out.Fragment, "\r\n") {
			r.wrong(pos, "replace: text %q: expected a part of one line", out.Fragment)
		}
	}
	if ops != 1 {
		r.wrong(pos, "hook %s: found %d of before:, after: and replace:, expected exactly one", h.ID, ops)
		return out
	}
	body := p.Body
	if body == "" {
		body = h.Body
	}
	out.Bodies = map[release.Set]string{}
	for _, set := range hook.Sets {
		text, err := r.body(body, h.ID, path.Ext(file), set)
		if err == nil {
			err = checkBody(text, out.Op)
		}
		if err != nil {
			r.wrong(pos, "hook %s, set %s: %w", h.ID, set, err)
		}
		out.Bodies[set] = text
	}
	return out
}

func (r *reader) lines(pos, what string, l lineList) Lines {
	if len(l) == 0 {
		r.wrong(pos, "%s: is empty; expected the beginning of a line", what)
	}
	for _, s := range l {
		if strings.TrimSpace(s) == "" || strings.TrimLeft(s, " \t") != s || strings.ContainsAny(s, "\r\n") {
			r.wrong(pos, "%s: %q: expected the beginning of one trimmed line", what, s)
		}
	}
	return Lines(l)
}

func (r *reader) id(pos, id string) {
	if !idForm.MatchString(id) {
		r.wrong(pos, "id %q: expected small letters, digits and single hyphens", id)
	}
}

func (r *reader) releases(pos, text string) Range {
	out, err := ParseRange(text)
	if err != nil {
		r.wrong(pos, "%w", err)
	}
	return out
}

func (r *reader) selection(pos string, sets, modes []string) ([]release.Set, []release.Mode) {
	var ss []release.Set
	for _, s := range sets {
		if set := release.Set(s); set == release.Base || set == release.Full {
			ss = append(ss, set)
		} else {
			r.wrong(pos, "set %q: expected base or full", s)
		}
	}
	var ms []release.Mode
	for _, m := range modes {
		if mode := release.Mode(m); mode == release.ZK || mode == release.KRaft {
			ms = append(ms, mode)
		} else {
			r.wrong(pos, "mode %q: expected zk or kraft (target 'both' takes the hooks of each)", m)
		}
	}
	if len(sets) == 0 || len(modes) == 0 {
		r.wrong(pos, "found %d sets: and %d modes:, expected at least one of each", len(sets), len(modes))
	}
	return ss, ms
}

// body gives the text of a body: the named one, else the set's own, else the common one.
func (r *reader) body(named, id, ext string, set release.Set) (string, error) {
	names := []string{named}
	if named == "" {
		names = []string{path.Join(string(set), id+ext), id + ext}
	}
	for _, n := range names {
		text, err := r.patchFile(n)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		return strings.TrimRight(string(text), "\n"), err
	}
	return "", fmt.Errorf("no body: found none of patches/%s", strings.Join(names, ", patches/"))
}

func (r *reader) patchFile(name string) ([]byte, error) {
	full := path.Join("patches", name)
	if !fs.ValidPath(name) || !strings.HasPrefix(full, "patches/") {
		return nil, fmt.Errorf("%q: expected a path below patches/", name)
	}
	return fs.ReadFile(r.fsys, full)
}

func checkBody(text string, op Op) error {
	lines := strings.Split(text, "\n")
	switch {
	case strings.TrimSpace(text) == "":
		return errors.New("the body is empty")
	case strings.Contains(text, "\r"):
		return errors.New("the body has carriage returns; write it with plain newlines")
	case strings.TrimLeft(lines[0], " \t") != lines[0]:
		return errors.New("the body does not start in column 0; the tool indents it")
	case slices.ContainsFunc(lines, IsFence):
		return errors.New("the body has a fence; the tool writes the fences")
	}
	want := 0
	if op == Replace {
		want = 1
	}
	if n := len(gapWord.FindAllString(text, -1)); n != want {
		return fmt.Errorf("the body of a %s has the word %s %d times, expected %d", op, Gap, n, want)
	}
	return nil
}

// SplitGap gives what stands before and after the gap of a replacement's body.
func SplitGap(body string) (head, tail string) {
	at := gapWord.FindStringIndex(body)
	if at == nil {
		return body, ""
	}
	return body[:at[0]], body[at[1]:]
}

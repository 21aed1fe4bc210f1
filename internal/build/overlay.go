package build

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"observer-patch/internal/jar"
	"observer-patch/internal/patch"
	"observer-patch/internal/release"
)

// Inputs are what an overlay build works from.
type Inputs struct {
	Target release.Target
	// Tree is the patch: texts before and after, with the owners of every edit.
	Tree patch.Tree
	// Upstream has the sources that the tree was made from: the Java files beside Scala ones
	// are taken from it.
	Upstream fs.FS
	// Classpath is the release's closure in order, its own jars among them.
	Classpath []Library
	// Jars gives the release's own jar of each module that the tree touches.
	Jars map[string]Library
	// Scalac is the pinned compiler's class path, Scala its version.
	Scalac []Library
	Scala  string
	Tools  Tools
	Memo   Memo
	// SkipUnpatched leaves the unpatched compile out: nothing can be proven then, and new
	// diagnostics are those in the lines of hooks.
	SkipUnpatched bool
	// Progress is told what begins; nil for silence.
	Progress func(what string)
}

// Module is what the build gave for one module.
type Module struct {
	Name string
	// Jar is the release's own.
	Jar Library
	// Files are the patched files of this module.
	Files []patch.File
	// Unpatched is nil when it was left out.
	Unpatched *Output
	Patched   Output
	// Changes turn the release's jar into the patched one.
	Changes jar.Changes
	// Vanished are entries that the patched files no longer give.
	Vanished []string
	// Rebuilt tells that the jar to prove was built whole by upstream's own build: classes
	// outside the patch may have other bytes than the release's.
	Rebuilt bool
}

// Overlay compiles the hooked and new files of each module, patched and unpatched, and says
// which entries of the release's jars change. Modules come in the order of dependency. A new
// diagnostic in a hook's lines is a *Noisy error.
func Overlay(ctx context.Context, in Inputs) ([]Module, error) {
	modules, err := split(in)
	if err != nil {
		return nil, err
	}
	units := make([]Unit, len(modules))
	for i := range modules {
		if units[i], err = in.unit(&modules[i], unpatched, nil); err != nil {
			return nil, err
		}
	}
	g, ctx := errgroup.WithContext(ctx)
	if !in.SkipUnpatched {
		// Last module first: core takes longest and needs nothing of the patched ones.
		for i := len(modules) - 1; i >= 0; i-- {
			u := units[i]
			if len(u.Files) == 0 {
				modules[i].Unpatched = &Output{}
				continue
			}
			g.Go(func() error {
				in.say("compile unpatched " + modules[i].Name)
				out, _, err := in.Memo.Compile(ctx, in.Tools, u)
				if err != nil {
					return fmt.Errorf("unpatched: %w", err)
				}
				modules[i].Unpatched = &out
				return nil
			})
		}
	}
	g.Go(func() error {
		ahead := map[string][]byte{}
		for i := range modules {
			m := &modules[i]
			u, err := in.unit(m, patched, ahead)
			if err != nil {
				return err
			}
			in.say("compile patched " + m.Name)
			out, err := Compile(ctx, in.Tools, u)
			if err != nil {
				return in.explain(*m, err)
			}
			m.Patched = out
			ahead = maps.Clone(ahead)
			maps.Copy(ahead, out.Classes)
		}
		return nil
	})
	if err := g.Wait(); err != nil {
		return nil, err
	}
	for i := range modules {
		if err := modules[i].finish(); err != nil {
			return nil, err
		}
	}
	return modules, nil
}

func (in Inputs) say(what string) {
	if in.Progress != nil {
		in.Progress(what)
	}
}

// split sorts the tree's files into modules.
func split(in Inputs) ([]Module, error) {
	by := map[string][]patch.File{}
	for _, f := range in.Tree.Files {
		name, err := ModuleOf(f.Path)
		if err != nil {
			return nil, err
		}
		by[name] = append(by[name], f)
	}
	var modules []Module
	for _, name := range moduleOrder {
		files, touched := by[name]
		if !touched {
			continue
		}
		lib, ok := in.Jars[name]
		if !ok {
			return nil, fmt.Errorf("%s: no jar of module %s is given", in.Target, name)
		}
		modules = append(modules, Module{Name: name, Jar: lib, Files: files})
	}
	if len(modules) == 0 {
		return nil, fmt.Errorf("%s: the patch changes nothing", in.Target)
	}
	return modules, nil
}

const (
	unpatched = false
	patched   = true
)

// unit makes the compilation of a module's files. It has none when all are new and the
// unpatched texts are asked for.
func (in Inputs) unit(m *Module, which bool, ahead map[string][]byte) (u Unit, err error) {
	u = Unit{Module: m.Name, Ahead: ahead, Classpath: in.Classpath, Own: m.Jar}
	scala := false
	for _, f := range m.Files {
		text := f.Before
		if which {
			text = f.After
		}
		if text != nil {
			u.Files = append(u.Files, Source{Path: f.Path, Text: text})
			scala = scala || strings.HasSuffix(f.Path, ".scala")
		}
	}
	u.Options = optionsFor(m.Name, in.Target.Release, in.Target.Scala, in.Scalac, in.Scala)
	if !scala {
		u.Options.Scalac, u.Options.Scala, u.Options.ScalaFlags = nil, "", nil
	} else if u.Beside, err = beside(in.Upstream, m.Name, u.Files); err != nil {
		return u, err
	}
	return u, nil
}

// finish computes what changes in the jar.
func (m *Module) finish() error {
	if news := fresh(*m); len(news) > 0 {
		return &Noisy{Module: m.Name, News: news}
	}
	j, err := jar.Open(m.Jar.Path)
	if err != nil {
		return err
	}
	defer j.Close()
	m.Changes.Put = m.Patched.Classes
	for _, name := range OwnEntries(j.Names(), &m.Patched, m.Unpatched) {
		if _, stays := m.Patched.Classes[name]; !stays {
			m.Vanished = append(m.Vanished, name)
		}
	}
	m.Changes.Remove = m.Vanished
	return nil
}

// OwnEntries gives the entries of a jar that come from files: their outermost class is one
// that compiling the files gives. Sorted.
func OwnEntries(names []string, outputs ...*Output) []string {
	outermost := map[string]bool{}
	for _, o := range outputs {
		if o != nil {
			for name := range o.Classes {
				outermost[Outermost(name)] = true
			}
		}
	}
	var own []string
	for _, name := range names {
		if strings.HasSuffix(name, ".class") && outermost[Outermost(name)] {
			own = append(own, name)
		}
	}
	slices.Sort(own)
	return own
}

// Outermost gives the entry name of the class that a class is nested in, without .class:
// kafka/cluster/Partition for kafka/cluster/Partition$$anonfun$1.class.
func Outermost(entry string) string {
	name := strings.TrimSuffix(entry, ".class")
	dir, base := "", name
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		dir, base = name[:i+1], name[i+1:]
	}
	if i := strings.IndexByte(base[min(1, len(base)):], '$'); i >= 0 {
		base = base[:i+1]
	}
	return dir + base
}

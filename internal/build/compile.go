package build

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"observer-patch/internal/toolchain"
)

// Tools is what compiles and where it may write.
type Tools struct {
	// JDK runs javac and scalac.
	JDK toolchain.JDK
	// Getenv gives PATH and HOME; os.Getenv but in tests.
	Getenv func(string) string
	// Temp is the folder for private folders; empty for the system's.
	Temp string
}

// limit ends a compiler that hangs; whole core takes two minutes on a busy machine.
const limit = 20 * time.Minute

// Failed is the error of a compilation that found errors.
type Failed struct {
	Module      string
	Diagnostics []Diagnostic
}

// Error names the module and every error with its file and line.
func (f *Failed) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s does not compile:", f.Module)
	for _, d := range f.Diagnostics {
		if d.Severity == Error {
			b.WriteString("\n  " + d.String())
			if d.Detail != "" {
				b.WriteString("\n    " + strings.ReplaceAll(d.Detail, "\n", "\n    "))
			}
		}
	}
	return b.String()
}

// jvmFlags are those of the JVMs that compile. The first compiler tier only: a compilation
// of a few files ends before the second pays for itself (half the processor time).
func jvmFlags() []string {
	return append(toolchain.CompilerFlags(), "-Xss4m", "-Xmx2g", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")
}

// Compile compiles a unit in a private folder that is gone afterwards. The result depends
// on the unit and the JDK only. Errors of the sources are a *Failed.
func Compile(ctx context.Context, t Tools, u Unit) (out Output, err error) {
	dir, err := os.MkdirTemp(t.Temp, "observer-patch-compile-")
	if err != nil {
		return Output{}, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	c := compilation{tools: t, unit: u, dir: dir, paths: map[string]string{}}
	if err := c.write(); err != nil {
		return Output{}, err
	}
	out.Toolchain.Javac = "javac " + t.JDK.Version
	var java []string
	for _, s := range u.Files {
		if strings.HasSuffix(s.Path, ".java") {
			java = append(java, s.Path)
		}
	}
	if len(java) < len(u.Files) {
		if len(u.Options.Scalac) == 0 {
			return Output{}, fmt.Errorf("module %s has Scala files, but no Scala compiler is given", u.Module)
		}
		out.Toolchain.Scalac = u.Options.Scala
		if err := c.scalac(ctx, &out); err != nil {
			return Output{}, err
		}
	}
	if len(java) > 0 {
		if err := c.javac(ctx, java, &out); err != nil {
			return Output{}, err
		}
	}
	out.Classes, err = readClasses(filepath.Join(dir, "out"))
	return out, err
}

type compilation struct {
	tools Tools
	unit  Unit
	dir   string
	paths map[string]string
}

// write lays out src (upstream's paths), ahead and out.
func (c *compilation) write() error {
	for _, d := range []string{"src", "ahead", "out"} {
		if err := os.MkdirAll(filepath.Join(c.dir, d), 0o755); err != nil {
			return err
		}
	}
	put := func(base, name string, text []byte) error {
		if !filepath.IsLocal(filepath.FromSlash(name)) {
			return fmt.Errorf("module %s: path %q leaves its folder", c.unit.Module, name)
		}
		path := filepath.Join(c.dir, base, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		return os.WriteFile(path, text, 0o644)
	}
	for _, s := range slices.Concat(c.unit.Files, c.unit.Beside) {
		if err := put("src", s.Path, s.Text); err != nil {
			return err
		}
		c.paths[s.Path] = s.Path
	}
	for name, class := range c.unit.Ahead {
		if err := put("ahead", name, class); err != nil {
			return err
		}
	}
	return nil
}

// classpath puts what was compiled already ahead of the jars.
func classpath(jars []string, ahead ...string) string {
	return strings.Join(append(ahead, jars...), string(filepath.ListSeparator))
}

func jarPaths(list []Library) []string {
	paths := make([]string, len(list))
	for i, l := range list {
		paths[i] = l.Path
	}
	return paths
}

func (c *compilation) scalac(ctx context.Context, out *Output) error {
	jars, err := c.hide()
	if err != nil {
		return err
	}
	args := append(jvmFlags(), "-cp", strings.Join(jarPaths(c.unit.Options.Scalac), string(filepath.ListSeparator)), "scala.tools.nsc.Main",
		"-classpath", classpath(jars, filepath.Join(c.dir, "ahead")), "-d", filepath.Join(c.dir, "out"))
	args = append(args, c.unit.Options.ScalaFlags...)
	// Java files go along for their signatures; javac compiles them afterwards.
	for _, s := range slices.Concat(c.unit.Files, c.unit.Beside) {
		args = append(args, s.Path)
	}
	return c.run(ctx, "java", args, out)
}

func (c *compilation) javac(ctx context.Context, files []string, out *Output) error {
	var args []string
	for _, f := range jvmFlags() {
		args = append(args, "-J"+f)
	}
	args = append(args, "-cp", classpath(jarPaths(c.unit.Classpath), filepath.Join(c.dir, "out"), filepath.Join(c.dir, "ahead")), "-d", filepath.Join(c.dir, "out"))
	args = append(args, c.unit.Options.JavaFlags...)
	return c.run(ctx, "javac", append(args, files...), out)
}

func (c *compilation) run(ctx context.Context, tool string, args []string, out *Output) error {
	r, err := toolchain.Run(ctx, toolchain.Command{
		Path: c.tools.JDK.Tool(tool), Args: args, Dir: filepath.Join(c.dir, "src"),
		Env: toolchain.CompilerEnv(c.tools.Getenv), Timeout: limit, Keep: 16 << 20,
	})
	var failure *toolchain.Failure
	if err != nil && !errors.As(err, &failure) {
		return fmt.Errorf("compile %s: %w", c.unit.Module, err)
	}
	// scalac writes everything to its standard error, javac as well; standard output is
	// looked at so that nothing is lost.
	list, rest := parseDiagnostics(string(r.Stderr)+string(r.Stdout), c.paths)
	out.Diagnostics = append(out.Diagnostics, list...)
	for _, d := range list {
		if d.Severity == Error {
			return &Failed{Module: c.unit.Module, Diagnostics: list}
		}
	}
	if failure != nil {
		return fmt.Errorf("compile %s: %w: %s", c.unit.Module, err, strings.Join(rest, "\n"))
	}
	if len(rest) > 0 {
		return fmt.Errorf("compile %s: the compiler said something that is no message about a file: %s", c.unit.Module, strings.Join(rest, "\n"))
	}
	return nil
}

func readClasses(dir string) (map[string][]byte, error) {
	classes := map[string][]byte{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		classes[filepath.ToSlash(rel)], err = os.ReadFile(path)
		return err
	})
	return classes, err
}

package toolchain

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Grace is how long a process group has to end after SIGTERM before SIGKILL.
const Grace = 3 * time.Second

// Command is a process to run to its end.
type Command struct {
	// Path is the program: a path, or a name looked up on PATH.
	Path string
	Args []string
	// Dir is the working folder, empty for the current one.
	Dir string
	// Env is the whole environment; nil inherits the tool's own.
	Env []string
	// Timeout ends the process group; 0 means no limit but ctx.
	Timeout time.Duration
	Stdin   io.Reader
	// Keep bounds how many bytes of each output are kept (the last ones); 0 means 1 MiB.
	Keep int
	// Line, when set, is called with each line of the standard output as it comes.
	Line func(line string)
	// Log, when set, takes both outputs as they come, whole. When it fails the command is
	// stopped and the error is the log's.
	Log io.Writer
	// Descendants ends, together with the group, every descendant that left it, such as a
	// daemon in a session of its own; also after a command that ended by itself. They are
	// known by a variable in their environment, which Linux shows; elsewhere only the group ends.
	Descendants bool
}

// Result is what a process left.
type Result struct {
	// Stdout and Stderr are the kept ends of the outputs.
	Stdout, Stderr []byte
	// Cut tells that an output was longer than Keep.
	Cut bool
	// Code is the exit code, -1 when a signal ended the process.
	Code    int
	Elapsed time.Duration
	// Left counts the descendants that the command had left running and that were ended.
	Left int
}

// Failure is the error of a process that ended with another code than 0.
type Failure struct {
	Path   string
	Result Result
}

// Error gives the program, its code and the last line it wrote.
func (f *Failure) Error() string {
	s := fmt.Sprintf("%s ended with code %d after %.1f s", filepath.Base(f.Path), f.Result.Code, f.Result.Elapsed.Seconds())
	for _, out := range [][]byte{f.Result.Stderr, f.Result.Stdout} {
		if text := strings.TrimSpace(string(out)); text != "" {
			return s + ": " + text[strings.LastIndexByte(text, '\n')+1:]
		}
	}
	return s
}

// Run starts the command in its own process group and waits for its end. When ctx ends or
// the time is over, the whole group gets SIGTERM and, after Grace, SIGKILL, and the error
// is ctx's or says how long the limit was. A code other than 0 gives the Result and a
// *Failure.
func Run(ctx context.Context, c Command) (Result, error) {
	if err := ctx.Err(); err != nil {
		return Result{}, fmt.Errorf("%s was not started: %w", filepath.Base(c.Path), err)
	}
	unlogged, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	limited, cancel := unlogged, context.CancelFunc(func() {})
	if c.Timeout > 0 {
		limited, cancel = context.WithTimeout(unlogged, c.Timeout)
	}
	defer cancel()
	keep := c.Keep
	if keep == 0 {
		keep = 1 << 20
	}
	log := &logged{to: c.Log, fail: fail}
	stdout, stderr := &tail{max: keep, line: c.Line, log: log}, &tail{max: keep, log: log}
	cmd := exec.CommandContext(limited, c.Path, c.Args...)
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = c.Dir, c.Env, c.Stdin, stdout, stderr
	cmd.SysProcAttr = process()
	var brood descendants
	if c.Descendants {
		brood = newDescendants()
		if cmd.Env == nil {
			cmd.Env = os.Environ()
		}
		cmd.Env = append(slices.Clone(cmd.Env), brood.variable())
	}
	cmd.Cancel = func() error {
		brood.signal(syscall.SIGTERM)
		return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
	}
	cmd.WaitDelay = Grace
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return Result{}, fmt.Errorf("start %s: %w", c.Path, err)
	}
	err := cmd.Wait()
	stdout.end()
	if limited.Err() != nil || errors.Is(err, exec.ErrWaitDelay) {
		// The group outlives its leader; an error says that nobody is left.
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
	left, lerr := brood.end()
	r := Result{Stdout: stdout.kept, Stderr: stderr.kept, Cut: stdout.cut || stderr.cut,
		Code: cmd.ProcessState.ExitCode(), Elapsed: time.Since(began), Left: left}
	if c.Descendants && errors.Is(err, exec.ErrWaitDelay) {
		err = nil // the command ended well; what kept its output open has been ended
	}
	name := filepath.Base(c.Path)
	var exited *exec.ExitError
	switch {
	case log.failed() != nil:
		return r, fmt.Errorf("%s was stopped, because its output could not be written: %w", name, log.failed())
	case lerr != nil:
		return r, fmt.Errorf("%s: %w", name, errors.Join(err, lerr))
	case ctx.Err() != nil && err != nil:
		return r, fmt.Errorf("%s was stopped: %w", name, ctx.Err())
	case limited.Err() != nil && err != nil:
		return r, fmt.Errorf("%s was stopped after its time limit of %s: %w", name, c.Timeout, limited.Err())
	case errors.As(err, &exited):
		return r, &Failure{Path: c.Path, Result: r}
	case err != nil:
		return r, fmt.Errorf("%s: %w", name, err)
	}
	return r, nil
}

// tail keeps the last max bytes written to it and hands on whole lines. Each is written to
// by one goroutine of os/exec only.
type tail struct {
	max  int
	kept []byte
	cut  bool
	line func(string)
	part []byte
	log  *logged
}

// Write takes everything and never fails, so that the process is never blocked by it.
func (t *tail) Write(p []byte) (int, error) {
	t.log.write(p)
	t.kept = append(t.kept, p...)
	// Twice the bound before cutting keeps the cost of copying linear.
	if len(t.kept) > 2*t.max {
		t.trim()
	}
	if t.line != nil {
		t.lines(p)
	}
	return len(p), nil
}

func (t *tail) trim() {
	if over := len(t.kept) - t.max; over > 0 {
		t.kept, t.cut = append([]byte(nil), t.kept[over:]...), true
	}
}

func (t *tail) lines(p []byte) {
	rest := append(t.part, p...)
	for {
		text, after, found := bytes.Cut(rest, []byte("\n"))
		if !found {
			break
		}
		t.line(strings.TrimSuffix(string(text), "\r"))
		rest = after
	}
	if len(rest) > t.max {
		rest = nil
	}
	t.part = append(t.part[:0], rest...)
}

func (t *tail) end() {
	t.trim()
	if t.line != nil && len(t.part) > 0 {
		t.line(string(t.part))
	}
}

// CompilerEnv gives the environment that compilers run in, so that their output depends on
// nothing of the machine: PATH and HOME of getenv, English messages, UTF-8 file names and
// UTC; no JAVA_TOOL_OPTIONS, JDK_JAVA_OPTIONS or CLASSPATH. Where the system has no
// C.UTF-8, the locale falls back to C.
func CompilerEnv(getenv func(string) string) []string {
	return []string{"PATH=" + getenv("PATH"), "HOME=" + getenv("HOME"), "LC_ALL=C.UTF-8", "TZ=UTC"}
}

// CompilerFlags gives the flags of a JVM that compiles; javac takes each with -J before it.
func CompilerFlags() []string {
	return []string{"-Dfile.encoding=UTF-8", "-Duser.language=en", "-Duser.country=US", "-Duser.timezone=UTC"}
}

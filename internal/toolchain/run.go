package toolchain

import (
	"context"
	"errors"
	"io"
	"time"
)

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
	// Line, when set, is called with each line of both outputs as it comes.
	Line func(line string)
}

// Result is what a process left.
type Result struct {
	// Stdout and Stderr are the kept ends of the outputs.
	Stdout, Stderr []byte
	// Cut tells that an output was longer than Keep.
	Cut     bool
	Code    int
	Elapsed time.Duration
}

// Failure is the error of a process that ended with another code than 0.
type Failure struct {
	Path   string
	Result Result
}

// Run starts the command in its own process group and waits for its end. When ctx ends or
// the time is over, the whole group is killed. A code other than 0 gives the Result and a
// *Failure.
func Run(ctx context.Context, c Command) (Result, error) {
	return Result{}, errors.New("not built yet")
}

// CompilerEnv gives the environment that compilers run in, so that their output depends on
// nothing of the machine: PATH and HOME of getenv, LC_ALL=C, TZ=UTC, no JAVA_TOOL_OPTIONS.
func CompilerEnv(getenv func(string) string) []string {
	return []string{"PATH=" + getenv("PATH"), "HOME=" + getenv("HOME"), "LC_ALL=C", "TZ=UTC"}
}

// Error gives the code and the last lines of the output.
func (f *Failure) Error() string { return f.Path + " failed" }

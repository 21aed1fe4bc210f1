package install

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// Process is a JVM that runs from a home.
type Process struct {
	PID int
	// UID is whose it is, -1 when that cannot be seen.
	UID int
	// Main is what it runs, e.g. kafka.Kafka.
	Main string
}

// running finds the processes that have a jar of libs open or on their class path, as far as
// proc (Linux: /proc) shows them: other users' open files only to root. Where there is no
// proc, seen is false.
func (h *Home) running(proc string, jars []string) (found []Process, seen bool) {
	entries, err := os.ReadDir(proc)
	if err != nil {
		return nil, false
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		dir := filepath.Join(proc, e.Name())
		// A process that ends meanwhile, or hides itself, is not seen.
		line, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		args := strings.Split(string(bytes.TrimRight(line, "\x00")), "\x00")
		cwd, _ := os.Readlink(filepath.Join(dir, "cwd"))
		main, onPath := classPathHas(args, cwd, h.Libs)
		if !onPath && !h.opens(filepath.Join(dir, "fd"), jars) {
			continue
		}
		p := Process{PID: pid, UID: -1, Main: main}
		if info, err := os.Stat(dir); err == nil {
			p.UID, _ = owner(info)
		}
		found = append(found, p)
	}
	return found, true
}

// classPathHas looks for a folder in a JVM's class path, and names its main class.
func classPathHas(args []string, cwd, libs string) (main string, has bool) {
	main = filepath.Base(args[0])
	for i := 1; i < len(args); i++ {
		if !slices.Contains([]string{"-cp", "-classpath", "--class-path"}, args[i]) || i+1 >= len(args) {
			continue
		}
		rest := args[i+2:]
		if k := slices.IndexFunc(rest, func(a string) bool { return a != "" && a[0] != '-' }); k >= 0 {
			main = rest[k]
		}
		for _, part := range filepath.SplitList(args[i+1]) {
			if !filepath.IsAbs(part) {
				part = filepath.Join(cwd, part)
			}
			if dir, err := filepath.EvalSymlinks(filepath.Dir(part)); err == nil && dir == libs {
				return main, true
			}
		}
		break
	}
	return main, false
}

// opens tells whether one of the open files below fd is one of the jars, by device and inode.
func (h *Home) opens(fd string, jars []string) bool {
	links, err := os.ReadDir(fd)
	if err != nil {
		return false
	}
	for _, l := range links {
		path := filepath.Join(fd, l.Name())
		target, err := os.Readlink(path)
		if err != nil || !slices.Contains(jars, filepath.Base(target)) {
			continue
		}
		var theirs, ours syscall.Stat_t
		if syscall.Stat(path, &theirs) == nil && syscall.Stat(h.jarPath(filepath.Base(target)), &ours) == nil &&
			theirs.Dev == ours.Dev && theirs.Ino == ours.Ino {
			return true
		}
	}
	return false
}

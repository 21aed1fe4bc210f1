// Package mounttest gives tests file systems of their own: small ones, read-only ones. The test
// program runs in a mount namespace of its own, so that a killed one leaves no mount behind.
package mounttest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// inside tells a test program that it is the one in the namespace.
const inside = "MOUNTTEST_INSIDE"

// Main runs the tests of a package in a mount namespace of their own, for TestMain, and gives
// the exit code. Without root, which may make one, it runs them where they are.
func Main(m *testing.M) int {
	if os.Geteuid() != 0 || os.Getenv(inside) != "" {
		return m.Run()
	}
	// The kernel kills the inner program when the thread ends that started it.
	runtime.LockOSThread()
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	cmd := exec.Command(self, os.Args[1:]...)
	cmd.Env = append(os.Environ(), inside+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	// With Unshareflags the namespace is private: no mount of it goes elsewhere.
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	err = cmd.Run()
	var failed *exec.ExitError
	if errors.As(err, &failed) && failed.ExitCode() > 0 {
		return failed.ExitCode()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "mounttest:", err)
		return 1
	}
	return 0
}

// Tmpfs gives a folder on a file system of its own in memory, of a size such as 4m.
func Tmpfs(t testing.TB, size string) string {
	t.Helper()
	if os.Getenv(inside) == "" {
		t.Fatal("this test mounts a file system: run as root, with mounttest.Main in TestMain")
	}
	dir := t.TempDir()
	if err := unix.Mount("observer-patch-test", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Fatalf("mount a file system of %s: %v", size, err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Errorf("unmount %s: %v", dir, err)
		}
	})
	return dir
}

// Writable makes the file system at a folder of Tmpfs read-only or writable again.
func Writable(t testing.TB, dir string, yes bool) {
	t.Helper()
	flags := uintptr(unix.MS_REMOUNT)
	if !yes {
		flags |= unix.MS_RDONLY
	}
	if err := unix.Mount("", dir, "", flags, ""); err != nil {
		t.Fatalf("remount %s: %v", dir, err)
	}
}

// Fill leaves so many bytes free on the file system of a folder, by a file of that path.
func Fill(t testing.TB, dir, filler string, left int64) {
	t.Helper()
	if err := os.RemoveAll(filler); err != nil {
		t.Fatal(err)
	}
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		t.Fatal(err)
	}
	size := int64(st.Bavail)*st.Bsize - left
	if size <= 0 {
		t.Fatalf("%s has less than %d bytes free", dir, left)
	}
	if err := os.WriteFile(filler, make([]byte, size), 0o600); err != nil {
		t.Fatal(err)
	}
}

//go:build !linux

package toolchain

import "syscall"

// process puts a command into a group of its own.
func process() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

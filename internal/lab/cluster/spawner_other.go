//go:build !linux

package cluster

import (
	"errors"
	"syscall"
)

// childAttributes put a child into a process group of its own.
func childAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// dropFileOverride fails: elsewhere nothing would end the children of a lab that dies.
func dropFileOverride() error { return errors.New("the lab needs Linux") }

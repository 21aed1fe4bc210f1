package toolchain

import "syscall"

// process puts a command into a group of its own, and has the kernel end it when this process
// dies, even by kill -9: what it writes into may be removed by the next run. The signal comes
// when the thread dies that started the command, so Run keeps that thread.
func process() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

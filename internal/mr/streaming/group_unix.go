//go:build unix && !linux

package streaming

import (
	"os"
	"os/exec"
	"syscall"
)

// ownGroup puts a program into a process group of its own.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// widen does nothing: the capacity of a pipe is fixed here.
func widen(*os.File, int) {}

// exited waits until a program has exited. The status is in cmd.
func exited(cmd *exec.Cmd) { _ = cmd.Wait() }

package streaming

import (
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// ownGroup puts a program into a process group of its own, and lets it die with the engine, even by kill -9; its own
// children are left to the guard then. (The kernel watches the thread that starts it; those of Go end with the
// process.)
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// widen makes a pipe hold more. A limit of the system may forbid it; then the pipe is as it was.
func widen(pipe *os.File, bytes int) {
	if raw, err := pipe.SyscallConn(); err == nil { // Fd would make the pipe blocking, and Close could not end a Write
		_ = raw.Control(func(fd uintptr) { _, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, bytes) })
	}
}

// exited waits until a program has exited, and leaves it to be reaped: its process group stays its own until then.
func exited(cmd *exec.Cmd) {
	for unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
}

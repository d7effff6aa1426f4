package streaming

import (
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
)

// guard ends the process groups of programs after their engine was killed by a signal that it cannot catch. The kernel
// ends the programs themselves then (ownGroup), but not what they have started. A shell, in a session of its own, is
// told of each group; it sees the end of its input when the engine is no more, and kills the groups that it has not
// been told to forget. What has left its program's group lives on, as does what a program starts in the moment before
// its group is told.
type guard struct {
	mu      sync.Mutex
	pipe    *os.File // to the shell; nil: none runs
	running int      // programs; with the last one the shell ends
}

const guardScript = `while read -r what group; do
	rest=
	for g in $all; do [ "$g" = "$group" ] || rest="$rest $g"; done
	all=$rest
	[ "$what" = + ] && all="$all $group"
done
for g in $all; do kill -s KILL -- "-$g"; done`

// begin tells the shell the group of a program that starts.
func (g *guard) begin(group int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.running++; g.running == 1 {
		g.start()
	}
	g.tell("+", group)
}

// end tells the shell to forget a group that is gone.
func (g *guard) end(group int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.tell("-", group)
	if g.running--; g.running == 0 && g.pipe != nil {
		closeAll([]*os.File{g.pipe})
		g.pipe = nil
	}
}

// tell writes to the shell. Where there is none, programs run all the same, without a guard.
func (g *guard) tell(what string, group int) {
	if g.pipe != nil {
		_, _ = fmt.Fprintln(g.pipe, what, group)
	}
}

func (g *guard) start() {
	r, w, err := os.Pipe()
	if err != nil {
		return
	}
	defer closeAll([]*os.File{r})
	shell := exec.Command("/bin/sh", "-c", guardScript)
	shell.Stdin = r
	shell.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if shell.Start() != nil {
		closeAll([]*os.File{w})
		return
	}
	g.pipe = w
	go func() { _ = shell.Wait() }() // it ends when the pipe is closed
}

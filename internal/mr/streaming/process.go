package streaming

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/sojourn-sched/sojourn/internal/joblog"
	"github.com/sojourn-sched/sojourn/mr/input"
)

// Command says what to run and who takes what it says.
type Command struct {
	Args []string // the program's path and its arguments
	Env  []string // name=value, added to this process's environment

	// Output takes the program's output: whole lines, each ended by one '\n', lent until it returns. It is called by
	// one goroutine, never after Wait has returned. An error kills the program and is Wait's.
	Output   func(lines []byte) error
	Reporter Reporter

	Timeout time.Duration // without a sign of life while it has work; zero: no limit
	Grace   time.Duration // from asking it to end to ending it; zero: two seconds. Five times that: see ErrHeld

	log   *joblog.File // takes what it writes to standard error; nil: only the end is kept
	guard *guard       // of its process group, should the engine be killed; nil: none

	AnyExit bool // a non-zero exit status is success too (stream.non.zero.exit.is.failure=false)
}

// Process is a running program and its children: one process group. Feed and Wait are for one goroutine, in this order;
// the other methods for any.
type Process struct {
	command Command
	cmd     *exec.Cmd
	pipes   [3]*os.File // our ends of its standard input, output and error
	stderr  errorStream
	read    sync.WaitGroup // both outputs have ended
	exit    chan struct{}  // the program has exited
	gone    chan struct{}  // the program has exited, and its outputs have ended
	kill    chan error     // why to kill it; room for one
	ended   chan struct{}  // all is over, and err known
	err     error

	began   time.Time
	sign    atomic.Int64 // when it last showed life, nanoseconds since began
	waiting atomic.Int32 // reasons for which nothing is expected of it

	mu     sync.Mutex // guards reaped
	reaped bool       // its process group may belong to another program now
}

// pipeBytes is what a pipe to or from a program holds: a program and the engine then run side by side in long
// stretches, and change places seldom.
const pipeBytes = 1 << 20

// maxLine bounds a line that a program writes, as in the engine's input.
const maxLine = 2<<30 - 1

// ErrNoMore says that the program has closed its input, or has exited: feeding can stop. Whether it failed, Wait tells.
var ErrNoMore = errors.New("the program takes no more input")

// Error says how a program failed.
type Error struct {
	Args   []string
	Cause  error  // how it exited, or why it was killed
	Stderr string // the end of what it wrote to standard error
}

func (e *Error) Error() string {
	s := fmt.Sprintf("program %s: %v%s", strings.Join(e.Args, " "), e.Cause, forShell(e.Args))
	if e.Stderr != "" {
		s += "; the end of its standard error:\n  " + strings.ReplaceAll(e.Stderr, "\n", "\n  ")
	}
	return s
}

func (e *Error) Unwrap() error { return e.Cause }

// Start starts a program. When ctx ends, the program is killed, and the error of Wait has the cause of ctx.
func Start(ctx context.Context, c Command) (*Process, error) {
	p := &Process{
		command: c, cmd: exec.Command(c.Args[0], c.Args[1:]...), stderr: errorStream{reporter: c.Reporter, log: c.log},
		began: time.Now(),
		exit:  make(chan struct{}), gone: make(chan struct{}), kill: make(chan error, 1), ended: make(chan struct{}),
	}
	p.cmd.Env = append(os.Environ(), c.Env...)
	p.cmd.SysProcAttr = ownGroup()
	if err := p.start(); err != nil {
		if errors.Is(err, syscall.ENOEXEC) {
			err = fmt.Errorf("%w: it is no program of this machine, and no script whose first line begins with #!: "+
				"name what runs it, as in \"sh %s\"", err, c.Args[0])
		}
		return nil, fmt.Errorf("start program %s: %w", c.Args[0], err)
	}
	if c.guard != nil {
		c.guard.begin(p.cmd.Process.Pid)
	}
	p.waiting.Add(1) // for Feed
	p.read.Go(func() {
		if err := p.readOutput(p.pipes[1]); err != nil {
			p.Kill(err)
		}
	})
	p.read.Go(func() { p.stderr.read(p.pipes[2], p.alive) })
	go func() {
		exited(p.cmd)
		close(p.exit)
		p.read.Wait()
		close(p.gone)
	}()
	go p.supervise(ctx)
	return p, nil
}

// start connects pipes and starts the process.
func (p *Process) start() (err error) {
	var theirs [3]*os.File
	defer func() {
		closeAll(theirs[:]) // the program has its own
		if err != nil {
			closeAll(p.pipes[:])
		}
	}()
	for i := range theirs {
		r, w, err := os.Pipe()
		if err != nil {
			return err
		}
		if theirs[i], p.pipes[i] = w, r; i == 0 {
			theirs[i], p.pipes[i] = r, w
		}
	}
	widen(p.pipes[0], pipeBytes)
	widen(p.pipes[1], pipeBytes)
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = theirs[0], theirs[1], theirs[2]
	return p.cmd.Start()
}

// closeAll closes pipes. A failed close of a pipe loses nothing that its reader has not lost anyway.
func closeAll(files []*os.File) {
	for _, f := range files {
		if f != nil {
			_ = f.Close()
		}
	}
}

// Feed writes a batch to the program's input, and waits while the program is behind. The error is ErrNoMore where the
// program wants no more.
func (p *Process) Feed(batch []byte) error {
	p.expect()
	defer p.waiting.Add(1)
	for len(batch) > 0 {
		// In pieces, so that each one taken is a sign of life.
		n, err := p.pipes[0].Write(batch[:min(len(batch), pipeBytes/4)])
		p.alive()
		if errors.Is(err, syscall.EPIPE) || errors.Is(err, os.ErrClosed) {
			return ErrNoMore
		}
		if err != nil {
			return fmt.Errorf("write to program %s: %w", p.command.Args[0], err)
		}
		batch = batch[n:]
	}
	return nil
}

// Wait ends the program's input and waits for its end: of its outputs, and of itself. The error is an *Error.
func (p *Process) Wait() error {
	p.expect()
	closeAll(p.pipes[:1])
	<-p.ended
	return p.err
}

// CPU returns the processor time that the program used, and the children that it has waited for. It is known when Wait
// has returned.
func (p *Process) CPU() time.Duration {
	state := p.cmd.ProcessState
	return state.UserTime() + state.SystemTime()
}

// Kill ends the program and its children, asked by SIGTERM, forced by SIGKILL after the grace. The first reason becomes
// the cause of Wait's error.
func (p *Process) Kill(why error) {
	select {
	case p.kill <- why:
	default:
	}
}

// Suspend stops the program and its children where they are, and its clock.
func (p *Process) Suspend() {
	p.waiting.Add(1)
	p.signal(syscall.SIGSTOP)
}

// Resume lets a suspended program go on.
func (p *Process) Resume() {
	p.signal(syscall.SIGCONT)
	p.expect()
}

// signal sends a signal to the process group, while it is ours.
func (p *Process) signal(s syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.reaped {
		_ = syscall.Kill(-p.cmd.Process.Pid, s) // fails only where the group is empty
	}
}

func (p *Process) alive() { p.sign.Store(int64(time.Since(p.began))) }

// expect takes back a reason for which nothing was expected of the program: from now on its time counts.
func (p *Process) expect() {
	p.alive()
	p.waiting.Add(-1)
}

// supervise sees the program to its end, whichever way it comes.
func (p *Process) supervise(ctx context.Context) {
	defer close(p.ended)
	var cause error
	limit := p.command.Timeout
	if limit == 0 {
		limit = math.MaxInt64
	}
	late := time.NewTimer(limit)
	defer late.Stop()
	silent, exit := silentErr, p.exit
	for cause == nil {
		select {
		case <-exit: // its outputs end with it, unless a process that it started holds them
			exit, silent, limit = nil, heldErr, min(limit, linger*p.command.grace())
			p.alive()
			late.Reset(limit)
		case <-p.gone:
			cause = p.reap()
			select {
			case cause = <-p.kill: // who takes its last output may have failed
			default:
			}
			if cause != nil {
				p.err = &Error{p.command.Args, cause, p.stderr.last()}
			}
			return
		case <-ctx.Done():
			cause = context.Cause(ctx)
		case cause = <-p.kill:
		case <-late.C:
			quiet := time.Since(p.began) - time.Duration(p.sign.Load())
			if p.waiting.Load() > 0 {
				quiet = 0
			} else if quiet >= limit {
				cause = silent(limit)
				continue
			}
			late.Reset(limit - quiet)
		}
	}
	p.terminate()
	_ = p.reap() // that it was killed is known
	p.err = &Error{p.command.Args, cause, p.stderr.last()}
}

var (
	// ErrSilent says that a program showed no sign of life.
	ErrSilent = errors.New("no progress")
	// ErrHeld says that a program exited, but a process that it started keeps the program's output open and writes
	// nothing. Whether it would write more cannot be known, so the attempt fails.
	ErrHeld = errors.New("the program has exited, but a process that it started holds its output")
)

func silentErr(limit time.Duration) error {
	return fmt.Errorf("%w for %v: it neither took input nor wrote anything", ErrSilent, limit)
}

func heldErr(limit time.Duration) error {
	return fmt.Errorf("%w, and wrote nothing for %v: redirect what that process writes, as in >/dev/null 2>&1", ErrHeld,
		limit)
}

// linger is how long after a program's exit its outputs may be silent before ErrHeld, in graces.
const linger = 5

// grace returns Grace or its default.
func (c *Command) grace() time.Duration {
	if c.Grace == 0 {
		return 2 * time.Second
	}
	return c.Grace
}

// terminate kills the process group, and waits until it is gone.
func (p *Process) terminate() {
	p.signal(syscall.SIGTERM)
	p.signal(syscall.SIGCONT) // or a suspended one would not hear it
	select {
	case <-p.gone:
		return
	case <-time.After(p.command.grace()):
	}
	p.signal(syscall.SIGKILL)
	closeAll(p.pipes[:]) // one that has left the group may hold the other ends
	<-p.gone
}

// reap takes the program's exit status, and kills what it has left running.
func (p *Process) reap() error {
	p.signal(syscall.SIGKILL)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reaped = true
	if p.command.guard != nil { // before another group can get the number
		p.command.guard.end(p.cmd.Process.Pid)
	}
	closeAll(p.pipes[:])
	if p.cmd.ProcessState == nil {
		_ = p.cmd.Wait() // the status says more
	}
	state := p.cmd.ProcessState
	if state.Success() || p.command.AnyExit && state.Exited() {
		return nil
	}
	return errors.New(state.String())
}

// readOutput hands on the program's output, lines at a time.
func (p *Process) readOutput(from *os.File) error {
	buf := make([]byte, 256<<10)
	var clean []byte
	kept := 0 // of a line that has begun
	deliver := func(lines []byte) error {
		p.waiting.Add(1) // what takes the lines may take its time
		defer p.expect()
		if bytes.IndexByte(lines, '\r') >= 0 {
			clean = input.AppendClean(clean[:0], lines)
			lines = clean
		}
		return p.command.Output(lines)
	}
	for {
		if kept == len(buf) {
			if kept > maxLine {
				return fmt.Errorf("it wrote a line of more than %d bytes", maxLine)
			}
			buf = append(buf, make([]byte, len(buf))...)
		}
		n, err := from.Read(buf[kept:])
		p.alive()
		end := bytes.LastIndexByte(buf[kept:kept+n], '\n') + 1
		if end > 0 {
			end += kept
			if err := deliver(buf[:end]); err != nil {
				return err
			}
		}
		kept = copy(buf, buf[end:kept+n])
		switch {
		case err == nil:
		case !errors.Is(err, io.EOF):
			return fmt.Errorf("read its output: %w", err)
		case kept > 0:
			return deliver(append(buf[:kept], '\n'))
		default:
			return nil
		}
	}
}

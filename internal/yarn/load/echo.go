package load

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Echo is the least that a server can do for a heartbeat: again and again it reads take bytes and writes give bytes, on
// a goroutine for each connection. It prints the address where it listens, and ends when standard input does.
func Echo(take, give int) error {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(ln.Addr())
	go func() {
		io.Copy(io.Discard, os.Stdin)
		ln.Close()
	}()
	for {
		conn, err := ln.Accept()
		if err != nil {
			return nil
		}
		go func() {
			defer conn.Close()
			buf := make([]byte, max(take, give))
			for {
				if _, err := io.ReadFull(conn, buf[:take]); err != nil {
					return
				}
				if _, err := conn.Write(buf[:give]); err != nil {
					return
				}
			}
		}()
	}
}

// echo measures Echo under the beats of idle nodes, and returns its processor time for each beat, in µs. Its server and
// its clients are processes of their own, so that the clients' connections do not count among the files that this
// process may have open. The nodes go on beating meanwhile, so that Echo is measured beside the same load as the
// ResourceManager.
func (c *cluster) echo(ctx context.Context, idle Idle) (float64, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	server, err := c.help(ctx, "echo", idle.Sent, idle.Received)
	if err != nil {
		return 0, err
	}
	defer server.end()
	address, err := server.line()
	if err != nil {
		return 0, err
	}
	clients, err := c.help(ctx, "beat", address, c.o.Nodes, c.o.Beat, idle.Sent, idle.Received)
	if err != nil {
		return 0, err
	}
	defer clients.end()
	if _, err := clients.count(); err != nil { // all have connected when it is answered
		return 0, err
	}
	if err := wait(ctx, c.o.Settle); err != nil {
		return 0, err
	}
	n, err := clients.count()
	if err != nil {
		return 0, err
	}
	before, err := processorTime(server.cmd.Process.Pid)
	if err == nil {
		err = wait(ctx, c.o.Measure)
	}
	if err != nil {
		return 0, err
	}
	after, err := processorTime(server.cmd.Process.Pid)
	if err != nil {
		return 0, err
	}
	beats, err := clients.count()
	return micros(after-before, float64(beats-n)), err
}

// Beat beats to the server of Echo at an address over count connections, each once in an interval. sizes are the bytes
// of a beat and of its reply. For each line of its input it prints how many beats were answered so far. It ends with
// its input.
func Beat(address string, count int, every time.Duration, sizes [2]int) error {
	send, receive := sizes[0], sizes[1]
	ctx, cancel := context.WithCancelCause(context.Background())
	var beats atomic.Int64
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel(nil)
	for i := range count {
		from := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(nodeID(i).Host)}}
		conn, err := from.DialContext(ctx, "tcp", address)
		if err != nil {
			return err
		}
		defer conn.Close()
		running.Go(func() {
			q := make([]byte, max(send, receive))
			if wait(ctx, rand.N(every)) != nil {
				return
			}
			timer := time.NewTicker(every)
			defer timer.Stop()
			for ctx.Err() == nil {
				_, err := conn.Write(q[:send])
				if err == nil {
					_, err = io.ReadFull(conn, q[:receive])
				}
				if err != nil {
					cancel(err)
					return
				}
				beats.Add(1)
				select {
				case <-ctx.Done():
				case <-timer.C:
				}
			}
		})
	}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); fmt.Println(beats.Load()) {
		if err := context.Cause(ctx); err != nil {
			return err
		}
	}
	return nil
}

// A helper is another process of this program, which answers by lines.
type helper struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	said bytes.Buffer // its standard error, complete when it has ended
}

// help starts this program with arguments of Main. It is killed when ctx is done.
func (c *cluster) help(ctx context.Context, args ...any) (*helper, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	words := c.o.self[:len(c.o.self):len(c.o.self)]
	for _, a := range args {
		words = append(words, fmt.Sprint(a))
	}
	h := &helper{cmd: exec.CommandContext(ctx, self, words...)}
	h.cmd.Stderr = &h.said
	if h.in, err = h.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := h.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	h.out = bufio.NewReader(out)
	return h, h.cmd.Start()
}

// line returns the next line that the process prints.
func (h *helper) line() (string, error) {
	line, err := h.out.ReadString('\n')
	if err != nil {
		h.end()
		return "", fmt.Errorf("%s has ended: %v: %s", strings.Join(h.cmd.Args, " "), h.cmd.ProcessState, &h.said)
	}
	return strings.TrimSuffix(line, "\n"), nil
}

// count asks a process of Beat how many beats were answered so far.
func (h *helper) count() (int64, error) {
	fmt.Fprintln(h.in) // if the process has ended, line says so
	line, err := h.line()
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(line, 10, 64)
}

// end ends the process.
func (h *helper) end() {
	h.in.Close()
	h.cmd.Wait()
}

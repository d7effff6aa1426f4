package load

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"
)

// Echo is the least that a server can do for a heartbeat: it takes so many bytes and sends so many, a goroutine a
// connection. It says where it listens, on a line of its own, and ends when its input does.
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

// echo measures Echo in a process of its own, under the beats that the nodes make when they are idle. The nodes go on
// beating meanwhile, so that both are measured beside as much else.
func (c *cluster) echo(ctx context.Context, idle Idle) (float64, error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := exec.CommandContext(
		ctx,
		self,
		append(c.o.self[:len(c.o.self):len(c.o.self)], "echo", fmt.Sprint(idle.Sent), fmt.Sprint(idle.Received))...)
	in, err := cmd.StdinPipe()
	if err != nil {
		return 0, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	defer cmd.Wait()
	defer in.Close()
	var address string
	if _, err := fmt.Fscanln(out, &address); err != nil {
		return 0, fmt.Errorf("the echo does not say where it listens: %w", err)
	}
	var beats atomic.Int64
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	for range c.o.Nodes {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			return 0, err
		}
		running.Go(func() {
			defer conn.Close()
			q := make([]byte, max(idle.Sent, idle.Received))
			if wait(ctx, rand.N(c.o.Beat)) != nil {
				return
			}
			for timer := time.NewTicker(c.o.Beat); ; {
				if _, err := conn.Write(q[:idle.Sent]); err != nil {
					return
				}
				if _, err := io.ReadFull(conn, q[:idle.Received]); err != nil {
					return
				}
				beats.Add(1)
				select {
				case <-ctx.Done():
					return
				case <-timer.C:
				}
			}
		})
	}
	if err := wait(ctx, c.o.Settle); err != nil {
		return 0, err
	}
	before, err := processorTime(cmd.Process.Pid)
	n := beats.Load()
	if err == nil {
		err = wait(ctx, c.o.Measure)
	}
	if err != nil {
		return 0, err
	}
	after, err := processorTime(cmd.Process.Pid)
	return micros(after-before, float64(beats.Load()-n)), err
}

package load_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/internal/yarn"
	"github.com/sojourn-sched/sojourn/internal/yarn/load"
	"github.com/sojourn-sched/sojourn/policy"
)

// TestMain lets the test binary be the echo and the beats that Run starts, and sojourn-load itself.
func TestMain(m *testing.M) {
	args, before := os.Args[1:], []string(nil)
	if len(args) > 0 && args[0] == "load" {
		args, before = args[1:], args[:1]
	}
	if before == nil && (len(args) == 0 || args[0] != "echo" && args[0] != "beat") {
		os.Exit(m.Run())
	}
	if err := load.Main(context.Background(), args, os.Stdout, before...); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// serve is a ResourceManager until the test ends.
func serve(t *testing.T) load.Addresses {
	t.Helper()
	fair, _, err := policy.Parse("fair")
	if err != nil {
		t.Fatal(err)
	}
	any := "127.0.0.1:0"
	config := yarn.Config{
		Addresses: yarn.Addresses{Tracker: any, Master: any, Client: any, Admin: any, Web: any},
		Log:       slog.New(slog.DiscardHandler),
	}
	config.Core.Policy = fair
	ctx, cancel := context.WithCancel(context.Background())
	rm, err := yarn.Listen(ctx, config)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- rm.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	at := rm.Addresses()
	return load.Addresses{Tracker: at.Tracker, Master: at.Master, Client: at.Client, Web: at.Web}
}

// measured runs o against a ResourceManager of its own, with measurements twice as long again and again, until lacking
// finds everything in the result, or the longest were a minute. So a busy machine makes the test slower, not wrong.
func measured(t *testing.T, o load.Options, lacking func(*load.Result) string) {
	t.Helper()
	for ; ; o.Warm, o.Measure, o.Settle = 2*o.Warm, 2*o.Measure, 2*o.Settle {
		o.Addresses, o.Process = serve(t), os.Getpid()
		r, err := load.Run(t.Context(), o)
		lacks := ""
		switch {
		case err == nil:
			lacks = lacking(r)
		case errors.Is(err, load.ErrIdle):
			lacks = err.Error()
		default:
			t.Fatal(err)
		}
		if lacks == "" {
			return
		}
		if o.Measure > time.Minute {
			t.Fatalf("measured for %v: %s", o.Measure, lacks)
		}
		t.Logf("measured for %v: %s", o.Measure, lacks)
	}
}

// brief returns options of a measurement that takes a moment, with peers in a hurry.
func brief(measure time.Duration) load.Options {
	return load.Options{
		Beat:    10 * time.Millisecond,
		Calls:   5 * time.Millisecond,
		Warm:    50 * time.Millisecond,
		Measure: measure,
		Settle:  100 * time.Millisecond,
	}
}

func TestRun(t *testing.T) {
	for _, each := range []bool{false, true} {
		o := brief(300 * time.Millisecond)
		o.Nodes, o.Apps, o.Slots, o.Each = 20, 3, 4, each
		measured(t, o, func(r *load.Result) string {
			if p := r.Poisson; p.Asks > 0 && (p.P50 <= 0 || p.P99 < p.P50) {
				t.Errorf("each %v: waits for containers are impossible: %+v", each, p)
			}
			if w := r.Poisson.Calls; w.Count > 0 && (w.P50 <= 0 || w.P99 < w.P50 || w.Most < w.P99) {
				t.Errorf("each %v: waits for replies are impossible: %+v", each, w)
			}
			if j := r.Saturated.Fairness; j > 1 {
				t.Errorf("each %v: Jain's index is %g", each, j)
			}
			if r.PeakMB <= 1 {
				t.Errorf("each %v: a peak of %g MB", each, r.PeakMB)
			}
			switch i, s, p := r.Idle, r.Saturated, r.Poisson; {
			case s.Completed <= 0 || s.Rate <= 0 || s.Processor <= 0:
				return fmt.Sprintf("nothing was done: %+v", s)
			case s.Fairness < 0.5: // three applications alike under fair: far from 1/3
				return fmt.Sprintf("Jain's index is %g", s.Fairness)
			case p.Asks == 0 || p.Calls.Count == 0:
				return fmt.Sprintf("asks were not answered: %+v", p)
			case i.Beats == 0 || i.Processor <= 0 || i.Echo <= 0 || i.Sent < 100 || i.Received < 20:
				return fmt.Sprintf("no beats: %+v", i)
			}
			return ""
		})
	}
}

// Honest peers are measured beside each kind of rogue caller, and what a rogue application held is free in the end.
func TestBesideRogues(t *testing.T) {
	o := brief(200 * time.Millisecond)
	o.Nodes, o.Apps, o.Slots, o.Rogues = 5, 2, 400, true
	measured(t, o, func(r *load.Result) string {
		if len(r.Beside) != 4 {
			t.Fatalf("%d kinds of rogue callers, want 4: none, and three", len(r.Beside))
		}
		for i, b := range r.Beside {
			if i == 0 && b.Calls != 0 {
				t.Errorf("%d calls of rogue callers, and there should be none", b.Calls)
			}
			if b.Beats.Count == 0 || i > 0 && b.Calls == 0 {
				return fmt.Sprintf("%s: %d beats of honest nodes, %d calls of rogues", b.Rogue, b.Beats.Count, b.Calls)
			}
			if b.Beats.P50 <= 0 || b.Beats.P99 < b.Beats.P50 || b.Beats.Most < b.Beats.P99 {
				t.Errorf("%s: waits of honest nodes are impossible: %+v", b.Rogue, b.Beats)
			}
		}
		return ""
	})
}

// A node and an application take one open file each. The echo takes none more, although it has as many connections.
func TestFewFiles(t *testing.T) {
	const nodes, apps, files = 60, 3, 60 + 3 + 32
	limited := func(args string) (stdout, stderr string, err error) {
		var out, said strings.Builder
		cmd := exec.CommandContext(t.Context(), "sh", "-c", `ulimit -n "$0" && exec "$@"`, fmt.Sprint(files),
			os.Args[0], "load")
		cmd.Args = append(cmd.Args, strings.Fields(args)...)
		cmd.Stdout, cmd.Stderr = &out, &said
		err = cmd.Run()
		return out.String(), said.String(), err
	}
	_, said, err := limited(fmt.Sprintf("-nodes %d -apps %d -tracker x -master x -client x", nodes+1, apps))
	if want := fmt.Sprintf("%d open files are needed, and this process may have %d", files+1, files); err == nil ||
		!strings.Contains(said, want) {
		t.Errorf("one node too many: %v, %s, want %q", err, said, want)
	}
	for measure := 300 * time.Millisecond; ; measure *= 2 { // a busy machine makes the test slower, not wrong
		at := serve(t)
		out, said, err := limited(fmt.Sprintf("-nodes %d -apps %d -tracker %s -master %s -client %s -pid %d -slots 4 "+
			"-beat 50ms -calls 20ms -warm 100ms -measure %v -settle %v -json",
			nodes, apps, at.Tracker, at.Master, at.Client, os.Getpid(), measure, measure/3))
		var r load.Result
		if err == nil {
			if err = json.Unmarshal([]byte(out), &r); err != nil {
				t.Fatal(err)
			}
			if r.Nodes == nodes && r.Idle.Echo > 0 {
				return
			}
		}
		if strings.Contains(said, "too many open files") || measure > time.Minute {
			t.Fatalf("measured for %v: %v, %s, %+v", measure, err, said, r.Idle)
		}
	}
}

func TestRunNobodyThere(t *testing.T) {
	_, err := load.Run(
		t.Context(),
		load.Options{
			Addresses: load.Addresses{Tracker: "127.0.0.1:1", Master: "127.0.0.1:1", Client: "127.0.0.1:1"},
			Nodes:     1,
		},
	)
	if err == nil || !strings.Contains(err.Error(), "127.0.0.1:1") {
		t.Errorf("got %v, want an error that names the address", err)
	}
}

// A ResourceManager that does not answer keeps Run no longer than its context. The connections are closed then.
func TestRunEndsInSilence(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	ctx, cancel := context.WithCancel(t.Context())
	closed := make(chan error, 1)
	go func() {
		conn, err := ln.Accept()
		if err == nil {
			defer conn.Close()
			for text, one := "", make([]byte, 1); err == nil && !strings.HasSuffix(text, "registerNodeManager"); {
				_, err = conn.Read(one)
				text += string(one)
			}
			cancel() // while the node waits for the reply
		}
		if err == nil {
			conn.SetReadDeadline(time.Now().Add(30 * time.Second))
			_, err = io.Copy(io.Discard, conn)
		}
		closed <- err
	}()
	at := ln.Addr().String()
	_, err = load.Run(ctx, load.Options{Addresses: load.Addresses{Tracker: at, Master: at, Client: at}, Nodes: 1})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want that of the context", err)
	}
	if err := <-closed; err != nil {
		t.Errorf("the connection is open after Run: %v", err)
	}
}

func TestMainRefuses(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"", "say -sojourn PROGRAM"},
		{"-nodes 0 -sojourn x", "-nodes 0: must be 1 to"},
		{"-apps 0 -sojourn x", "-apps 0: must be 1 or more"},
		{"-scheduler fifo -jars x", "-scheduler fifo: must be capacity or fair"},
		{"more", "flags only"},
	} {
		err := load.Main(t.Context(), strings.Fields(c.args), &bytes.Buffer{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("sojourn-load %s: %v, want %q", c.args, err, c.want)
		}
	}
}

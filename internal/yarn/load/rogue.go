package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sojourn-sched/sojourn/internal/theory"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
)

// Beside says how long honest peers waited while rogue callers called. Honest peers are the nodes, which send
// heartbeats, and the applications that are not rogue, which ask for containers at random instants. A wait is from a
// call until its reply was read.
type Beside struct {
	Rogue string  `json:"rogue"` // what the rogue callers did
	Calls int64   `json:"calls"` // of the rogue callers that were answered
	Beats Waits   `json:"beats"` // of nodes
	Asks  Waits   `json:"asks"`  // of honest applications
	Cores float64 `json:"cores"` // that the ResourceManager kept busy
}

// Waits are the waits of many calls, in ms.
type Waits struct {
	Count int     `json:"count"`
	P50   float64 `json:"p50_ms"`
	P99   float64 `json:"p99_ms"`
	Most  float64 `json:"max_ms"`
}

// A stopwatch keeps how long calls took while it runs. Many goroutines use it.
type stopwatch struct {
	mu    sync.Mutex
	runs  bool
	waits []float64 // ms
}

// note adds a call that took d, if the stopwatch runs.
func (s *stopwatch) note(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.runs {
		s.waits = append(s.waits, float64(d)/float64(time.Millisecond))
	}
}

// start forgets the calls before and keeps those from now on.
func (s *stopwatch) start() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.runs, s.waits = true, nil
}

// stop ends the measurement, and returns the waits since start.
func (s *stopwatch) stop() (w Waits) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.runs = false
	if w.Count = len(s.waits); w.Count > 0 {
		slices.Sort(s.waits)
		w.P50, w.P99, w.Most = theory.Percentile(s.waits, 50), theory.Percentile(s.waits, 99), s.waits[w.Count-1]
	}
	return w
}

// A rogue is a kind of caller that wants more than its part. It calls again as soon as its last call was answered.
type rogue struct {
	name  string
	count int  // callers
	web   bool // it calls REST
	// begin returns what one caller does in each of its calls, and what it does in the end.
	begin func(ctx context.Context, c *cluster, i int) (call func() error, end func(), err error)
}

// rogues are the kinds that are measured, each alone. The first has no callers, to compare with.
var rogues = []rogue{
	{name: "none"},
	{name: "4,000 priorities changed each call", count: 1, begin: manyPriorities},
	{name: "one ask for all slots each call", count: 1, begin: allSlots},
	{name: "four pollers of /apps", count: 4, web: true, begin: poller},
}

// honestRate is how many containers a second honest applications ask for beside rogue callers.
const honestRate = 500

// beside measures honest peers beside each kind of rogue.
func (c *cluster) beside(ctx context.Context, r *Result) error {
	for _, kind := range rogues {
		if kind.web && c.o.Addresses.Web == "" {
			continue
		}
		b, err := c.besideOne(ctx, kind)
		if err != nil {
			return fmt.Errorf("beside %s: %w", kind.name, err)
		}
		r.Beside = append(r.Beside, b)
	}
	return nil
}

// besideOne measures honest peers while rogue callers of one kind are at work.
func (c *cluster) besideOne(ctx context.Context, kind rogue) (b Beside, err error) {
	b.Rogue = kind.name
	c.phase.Store(&phase{kind: poisson, rate: honestRate})
	defer c.phase.Store(&phase{kind: quiet})
	ctx, cancel := context.WithCancelCause(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel(nil)
	var calls atomic.Int64
	for i := range kind.count {
		call, end, err := kind.begin(ctx, c, i)
		if err != nil {
			return b, err
		}
		running.Go(func() {
			defer end()
			for ctx.Err() == nil {
				calls.Add(1)
				if err := call(); err != nil && ctx.Err() == nil {
					cancel(err)
				}
			}
		})
	}
	if err := wait(ctx, c.o.Settle); err != nil {
		return b, errors.Join(err, context.Cause(ctx))
	}
	c.beats.start()
	c.asks.start()
	calls.Store(int64(kind.count)) // the calls that are not answered yet
	d, took, err := c.measure(ctx)
	if err != nil {
		return b, errors.Join(err, context.Cause(ctx))
	}
	b.Calls, b.Beats, b.Asks = calls.Load(), c.beats.stop(), c.asks.stop()
	b.Cores = d.rm.Seconds() / took.Seconds()
	return b, nil
}

// rogueMaster registers an application. Each call sends a request with what asks adds to it, and gives back what the
// call before was granted. end finishes the application.
func rogueMaster(ctx context.Context, c *cluster, asks func(turn int, q *wire.AllocateRequest)) (
	call func() error, end func(), err error,
) {
	m, err := newMaster(context.WithoutCancel(ctx), len(c.masters), c.o) // which finishes when ctx is done
	if err != nil {
		return nil, nil, err
	}
	turn := 0
	call = func() error {
		q := wire.AllocateRequest{ResponseID: m.turn, Releases: m.surplus, Progress: 0.5}
		asks(turn, &q)
		turn++
		m.reply.granted, m.reply.completed = m.reply.granted[:0], 0
		if err := m.caller.Call("allocate", &q, &m.reply); err != nil {
			return err
		}
		m.turn, m.surplus = m.reply.responseID, m.surplus[:0]
		for _, g := range m.reply.granted {
			m.surplus = append(m.surplus, g.id)
		}
		return nil
	}
	end = func() {
		m.caller.Call("finishApplicationMaster", &wire.FinishMasterRequest{Final: wire.Succeeded}, &wire.Empty{})
		m.caller.Close()
	}
	return call, end, nil
}

// manyPriorities is an ApplicationMaster that asks for containers of 4,000 priorities, and changes all of these asks in
// each call.
func manyPriorities(ctx context.Context, c *cluster, _ int) (func() error, func(), error) {
	return rogueMaster(ctx, c, func(turn int, q *wire.AllocateRequest) {
		for i := range 4000 {
			q.Asks = append(q.Asks, wire.ResourceRequest{
				Priority:   wire.Priority(i + 1),
				Place:      wire.Anywhere,
				Resource:   containerSize,
				Containers: int32(1 + turn%2),
				Relax:      true,
				Allocation: -1,
			})
		}
	})
}

// allSlots asks for as many containers as the cluster has room for, in each call.
func allSlots(ctx context.Context, c *cluster, _ int) (func() error, func(), error) {
	return rogueMaster(ctx, c, func(_ int, q *wire.AllocateRequest) {
		q.Asks = []wire.ResourceRequest{{
			Priority:   taskPriority,
			Place:      wire.Anywhere,
			Resource:   containerSize,
			Containers: int32(c.o.Nodes * c.o.Slots),
			Relax:      true,
			Allocation: -1,
		}}
	})
}

// poller reads the list of all applications.
func poller(ctx context.Context, c *cluster, _ int) (func() error, func(), error) {
	client := &http.Client{Transport: &http.Transport{}}
	url := "http://" + c.o.Addresses.Web + "/ws/v1/cluster/apps"
	call := func() error {
		q, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		r, err := client.Do(q)
		if err != nil {
			return err
		}
		defer r.Body.Close()
		if r.StatusCode != http.StatusOK {
			return fmt.Errorf("%s: %s", url, r.Status)
		}
		_, err = io.Copy(io.Discard, r.Body)
		return err
	}
	return call, client.CloseIdleConnections, nil
}

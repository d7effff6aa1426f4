// Package load puts the load of a large cluster on a ResourceManager, from one process: thousands of NodeManagers and
// tens of ApplicationMasters on real sockets. They speak Hadoop's protocols, so the ResourceManager may be this
// project's or Hadoop's. The package measures what the ResourceManager does and what that costs.
//
// main.go is the command line, start.go starts a ResourceManager, load.go has the phases and their results. node.go and
// master.go are the honest peers, rogue.go has callers that want more than their part. echo.go measures what the least
// possible server costs, to compare with.
package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sojourn-sched/sojourn/internal/resident"
	"github.com/sojourn-sched/sojourn/internal/theory"
)

// Options say which load to put on which ResourceManager. Zero fields have the defaults that they name.
type Options struct {
	Addresses Addresses
	Process   int // of the ResourceManager, on this machine; 0: what it costs is not measured
	Nodes     int // 1000
	Apps      int // 10
	Slots     int // containers of 1 GiB and a core that a node holds at once; 100,000 ÷ Nodes
	// NodeManagers beat when a container ends, once for each, as Hadoop's do; else what ended is in the next beat
	Each    bool
	Beat    time.Duration // between a NodeManager's beats: 1 s
	Calls   time.Duration // between an ApplicationMaster's calls: 100 ms
	Warm    time.Duration // under load, before anything is measured: 3 s
	Measure time.Duration // of each phase: 10 s
	Settle  time.Duration // between phases: 3 s
	Seed    uint64
	Rogues  bool // after the other phases, measure honest peers beside rogue callers

	hosts map[string]int // numbers of nodes, by host
	self  []string       // arguments of this program before those of Main
}

// Addresses are where the ResourceManager serves NodeManagers, ApplicationMasters, clients and REST, host:port. Web may
// be "": then REST is not called.
type Addresses struct{ Tracker, Master, Client, Web string }

func (o Options) withDefaults() *Options {
	o.Nodes, o.Apps = cmp.Or(o.Nodes, 1000), cmp.Or(o.Apps, 10)
	o.Slots = cmp.Or(o.Slots, max(1, 100_000/o.Nodes))
	o.Beat, o.Calls = cmp.Or(o.Beat, time.Second), cmp.Or(o.Calls, 100*time.Millisecond)
	o.Warm, o.Measure, o.Settle = cmp.Or(
		o.Warm,
		3*time.Second,
	), cmp.Or(
		o.Measure,
		10*time.Second,
	), cmp.Or(
		o.Settle,
		3*time.Second,
	)
	o.hosts = map[string]int{}
	for i := range o.Nodes {
		o.hosts[nodeID(i).Host] = i
	}
	return &o
}

// A Result is what was measured. Processor times are in µs.
type Result struct {
	Nodes int  `json:"nodes"`
	Apps  int  `json:"apps"`
	Slots int  `json:"slots"`
	Each  bool `json:"each"`

	Saturated Saturated `json:"saturated"`
	Poisson   Poisson   `json:"poisson"`
	Idle      Idle      `json:"idle"`
	Beside    []Beside  `json:"beside,omitempty"`
	PeakMB    float64   `json:"peak_mb"` // resident, of the ResourceManager
}

// ErrIdle means that nothing was done in the time that was measured: it was too short for so busy a machine.
var ErrIdle = errors.New("no container completed under full load")

// Saturated is a ResourceManager whose applications always want more.
type Saturated struct {
	Completed    int64   `json:"completed"`    // containers, as ApplicationMasters were told
	Rate         float64 `json:"rate"`         // of them a second
	Processor    float64 `json:"processor_us"` // of the ResourceManager, for each
	Generator    float64 `json:"generator_us"` // of this process, for each
	Cores        float64 `json:"cores"`        // that the ResourceManager kept busy
	Beats        float64 `json:"beats"`        // a second, of all nodes
	Fairness     float64 `json:"jain"`         // Jain's index of what applications completed: 1: all alike
	SecondsSpent float64 `json:"seconds"`
}

// Poisson is a ResourceManager with room, whose applications ask for one container at a time, at random. A wait is from
// when a task arrived at its ApplicationMaster until that had a container for it. Calls are the ResourceManager's part
// of the waits. The rest is the task's wait for its ApplicationMaster's next call, which comes late where processors
// are short.
type Poisson struct {
	Rate      float64 `json:"rate"` // asks a second
	Asks      int     `json:"asks"`
	P50       float64 `json:"p50_ms"`
	P99       float64 `json:"p99_ms"`
	Processor float64 `json:"processor_us"` // of the ResourceManager, for each ask
	Late      int     `json:"late"`         // asks without a container at the end
	Calls     Waits   `json:"calls"`        // of ApplicationMasters, from a call until its reply was read
}

// Idle is a ResourceManager whose nodes have nothing to say.
type Idle struct {
	Beats     int64   `json:"beats"`
	Processor float64 `json:"processor_us"` // of the ResourceManager, for each beat
	// Echo is the processor time, for each beat, of a program that only sends as many bytes back over as many
	// connections.
	Echo     float64 `json:"echo_us"`
	Sent     int     `json:"sent_bytes"`     // of a beat
	Received int     `json:"received_bytes"` // of its reply
}

// A phaseKind is what ApplicationMasters do in a phase.
type phaseKind int

const (
	quiet    phaseKind = iota // they want nothing
	saturate                  // they want more than there is
	poisson                   // they ask for one container at a time, at random
)

// A phase is what ApplicationMasters do now.
type phase struct {
	kind phaseKind
	rate float64 // asks a second
}

// cluster is everything that is put on the ResourceManager.
type cluster struct {
	o       *Options
	nodes   []*node
	masters []*master
	phase   atomic.Pointer[phase]

	beats, asks stopwatch // of nodes and of applications
}

// Run puts the load on: first as much as the ResourceManager takes, then Poisson asks at half of that rate, then none.
// When it returns, all that it started has ended. To the ResourceManager, applications and nodes look like those of
// machines that were switched off.
func Run(ctx context.Context, options Options) (*Result, error) {
	c := &cluster{o: options.withDefaults()}
	c.phase.Store(&phase{kind: saturate})
	ctx, cancel := context.WithCancelCause(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel(nil)
	if err := c.connect(ctx); err != nil {
		return nil, cmp.Or(context.Cause(ctx), err)
	}
	for _, n := range c.nodes {
		running.Go(func() {
			if err := n.run(ctx, c); err != nil {
				cancel(err)
			}
		})
	}
	for _, m := range c.masters {
		running.Go(func() {
			if err := m.run(ctx, c); err != nil {
				cancel(err)
			}
		})
	}
	r := &Result{Nodes: c.o.Nodes, Apps: c.o.Apps, Slots: c.o.Slots, Each: c.o.Each}
	var err error
	steps := []func(context.Context, *Result) error{c.saturated, c.poisson, c.idle}
	if c.o.Rogues {
		steps = append(steps, c.beside)
	}
	for _, step := range steps {
		if err = step(ctx, r); err != nil {
			break
		}
	}
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	if err == nil && c.o.Process > 0 {
		var peak int64
		peak, err = resident.Peak(c.o.Process)
		r.PeakMB = float64(peak) / 1e6
	}
	return r, err
}

// connect registers nodes, then applications, some at a time.
func (c *cluster) connect(ctx context.Context) error {
	c.nodes, c.masters = make([]*node, c.o.Nodes), make([]*master, c.o.Apps)
	if err := some(c.o.Nodes, func(i int) (err error) {
		c.nodes[i], err = newNode(ctx, i, c.o)
		return err
	}); err != nil {
		return err
	}
	return some(c.o.Apps, func(i int) (err error) {
		c.masters[i], err = newMaster(ctx, i, c.o)
		return err
	})
}

// some calls f for every i below n, sixteen at a time.
func some(n int, f func(i int) error) error {
	var wg sync.WaitGroup
	var next atomic.Int64
	errs := make([]error, 16)
	for k := range errs {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && errs[k] == nil; i = int(next.Add(1)) - 1 {
				errs[k] = f(i)
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// wait lets time pass.
func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// costs are what was used and done since the start, or, from measure, within a time.
type costs struct {
	at        time.Time
	rm, ours  time.Duration // processor times of the ResourceManager and of this process
	completed []int64       // containers, by application
	beats     int64         // of all nodes
}

// costs returns what was used and done since the start.
func (c *cluster) costs() (costs, error) {
	now := costs{at: time.Now()}
	var err, err2 error
	if c.o.Process > 0 {
		now.rm, err = processorTime(c.o.Process)
	}
	now.ours, err2 = processorTime(0)
	for _, m := range c.masters {
		now.completed = append(now.completed, m.completed.Load())
	}
	for _, n := range c.nodes {
		now.beats += n.beats.Load()
	}
	return now, errors.Join(err, err2)
}

// measure waits for the time of a measurement, and returns what was used and done in it, and how long it took.
func (c *cluster) measure(ctx context.Context) (costs, time.Duration, error) {
	before, err := c.costs()
	if err == nil {
		err = wait(ctx, c.o.Measure)
	}
	if err != nil {
		return before, 0, err
	}
	after, err := c.costs()
	for i := range after.completed {
		after.completed[i] -= before.completed[i]
	}
	after.rm, after.ours, after.beats = after.rm-before.rm, after.ours-before.ours, after.beats-before.beats
	return after, after.at.Sub(before.at), err
}

// micros returns d ÷ over, in µs.
func micros(d time.Duration, over float64) float64 {
	return float64(d) / float64(time.Microsecond) / max(1, over)
}

// saturated measures the ResourceManager while all applications want more than there is.
func (c *cluster) saturated(ctx context.Context, r *Result) error {
	if err := wait(ctx, c.o.Warm); err != nil {
		return err
	}
	d, took, err := c.measure(ctx)
	if err != nil {
		return err
	}
	var sum int64
	var each []float64
	for _, n := range d.completed {
		sum += n
		each = append(each, float64(n))
	}
	n := float64(sum)
	r.Saturated = Saturated{
		Completed:    sum,
		Rate:         n / took.Seconds(),
		Processor:    micros(d.rm, n),
		Generator:    micros(d.ours, n),
		Cores:        d.rm.Seconds() / took.Seconds(),
		Beats:        float64(d.beats) / took.Seconds(),
		Fairness:     theory.JainIndex(each),
		SecondsSpent: took.Seconds(),
	}
	return nil
}

// poisson measures the waits of Poisson asks, at half of the rate of saturated.
func (c *cluster) poisson(ctx context.Context, r *Result) error {
	rate := r.Saturated.Rate / 2
	if rate == 0 {
		return ErrIdle
	}
	c.phase.Store(&phase{kind: quiet}) // what was asked for goes, and what runs ends
	if err := wait(ctx, c.o.Settle); err != nil {
		return err
	}
	c.phase.Store(&phase{kind: poisson, rate: rate})
	if err := wait(ctx, c.o.Settle); err != nil {
		return err
	}
	c.asks.start()
	d, took, err := c.measure(ctx)
	if err != nil {
		return err
	}
	r.Poisson.Calls = c.asks.stop()
	c.phase.Store(&phase{kind: quiet})
	if err := wait(ctx, c.o.Settle); err != nil {
		return err
	}
	var waits []float64 // ms
	for _, m := range c.masters {
		waited, late := m.poisson.result()
		for _, w := range waited {
			waits = append(waits, float64(w)/float64(time.Millisecond))
		}
		r.Poisson.Late += late
	}
	slices.Sort(waits)
	r.Poisson.Rate, r.Poisson.Asks = rate, len(waits)
	r.Poisson.Processor = micros(d.rm, rate*took.Seconds())
	if len(waits) > 0 { // else all are late
		r.Poisson.P50, r.Poisson.P99 = theory.Percentile(waits, 50), theory.Percentile(waits, 99)
	}
	return nil
}

// idle measures what heartbeats cost while nothing runs.
func (c *cluster) idle(ctx context.Context, r *Result) error {
	d, _, err := c.measure(ctx)
	if err != nil {
		return err
	}
	n := c.nodes[0]
	r.Idle = Idle{Beats: d.beats, Processor: micros(d.rm, float64(d.beats)), Sent: int(n.sent.Load()),
		Received: int(n.received.Load())}
	if r.Idle.Sent == 0 {
		return fmt.Errorf("no node has beaten in %v", c.o.Measure)
	}
	r.Idle.Echo, err = c.echo(ctx, r.Idle)
	return err
}

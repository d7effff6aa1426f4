package load

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/proto"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/rpc"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
)

// containerSize is what every task asks for.
var containerSize = wire.Resource{Memory: 1024, VCores: 1}

// taskPriority is the priority of all asks, MapReduce's for maps.
const taskPriority = 20

// A master is an ApplicationMaster that no node launched. It starts the containers that it is granted at once, without
// the call to the node that a real one makes, and gives back those for which it has no task. Its goroutine owns it,
// except the counts.
type master struct {
	id      wire.ApplicationID
	caller  *rpc.Caller
	turn    int32 // ResponseID of the next call
	reply   allocation
	surplus []wire.ContainerID // to give back
	chance  *rand.Rand

	completed atomic.Int64
	poisson   askTimes
}

// askTimes are how long an application waited for its containers in the phase of Poisson asks. Goroutines share them.
type askTimes struct {
	mu     sync.Mutex
	waited []time.Duration // from ask to grant
	late   int             // asks that were not granted before the end of the phase
}

// begin forgets the times of an earlier phase.
func (w *askTimes) begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waited, w.late = w.waited[:0], 0
}

// add adds the time of an ask that was granted.
func (w *askTimes) add(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waited = append(w.waited, d)
}

// end sets how many asks were not granted.
func (w *askTimes) end(late int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.late = late
}

// result returns a copy of the times, and how many asks were not granted.
func (w *askTimes) result() ([]time.Duration, int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.waited), w.late
}

// newMaster submits an application and registers its ApplicationMaster. Its connection is closed when ctx is done.
func newMaster(ctx context.Context, i int, o *Options) (*master, error) {
	from := net.ParseIP(nodeID(i % o.Nodes).Host) // it runs on a node, as others do
	d := rpc.Dialer{Protocol: wire.ApplicationClient, User: "load", From: from}
	client, err := d.DialCaller(ctx, o.Addresses.Client)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	stop := context.AfterFunc(ctx, func() { client.Close() })
	defer stop()
	var named wire.NewApplication
	if err := client.Call("getNewApplication", &wire.Empty{}, &named); err != nil {
		return nil, err
	}
	s := wire.Submission{
		ID:          named.ID,
		Name:        fmt.Sprint("load", i),
		Queue:       "default",
		Unmanaged:   true,
		MaxAttempts: 1,
		Type:        "LOAD",
		Launch:      wire.NewLaunchContext("nothing"),
	}
	if err := client.Call("submitApplication", &wire.SubmitRequest{Submission: s}, &wire.Empty{}); err != nil {
		return nil, err
	}
	m := &master{id: named.ID, chance: rand.New(rand.NewPCG(uint64(i), o.Seed))}
	m.reply.hosts = o.hosts
	for end := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		var r wire.ApplicationResponse
		if err := client.Call("getApplicationReport", &wire.ApplicationRequest{ID: m.id}, &r); err != nil {
			return nil, err
		}
		if t := r.Report.MasterToken; t != nil {
			d := rpc.Dialer{
				Protocol: wire.ApplicationMaster,
				Secret:   &rpc.Secret{Identifier: t.Identifier, Password: t.Password},
				From:     from,
			}
			if m.caller, err = d.DialCaller(ctx, o.Addresses.Master); err != nil {
				return nil, err
			}
			context.AfterFunc(ctx, func() { m.caller.Close() })
			break
		}
		if time.Now().After(end) {
			return nil, fmt.Errorf(
				"application %s: no token for its ApplicationMaster in a minute: it is %s: %s",
				m.id,
				r.Report.State,
				strings.TrimSpace(r.Report.Diagnostics),
			)
		}
	}
	return m, m.caller.Call("registerApplicationMaster", &wire.RegisterMasterRequest{Host: "127.0.0.1"}, &wire.Empty{})
}

// allocate asks for containers for tasks: that is the total, which replaces the ask before. It also gives the surplus
// back. What the application is granted is in reply until the next call.
func (m *master) allocate(tasks int) error {
	q := wire.AllocateRequest{ResponseID: m.turn, Releases: m.surplus, Progress: 0.5, Asks: []wire.ResourceRequest{
		{
			Priority:   taskPriority,
			Place:      wire.Anywhere,
			Resource:   containerSize,
			Containers: int32(tasks),
			Relax:      true,
			Allocation: -1,
		}}}
	m.reply.granted, m.reply.completed = m.reply.granted[:0], 0
	if err := m.caller.Call("allocate", &q, &m.reply); err != nil {
		return fmt.Errorf("application %s: %w", m.id, err)
	}
	m.surplus = m.surplus[:0]
	m.turn = m.reply.responseID
	m.completed.Add(int64(m.reply.completed))
	return nil
}

// run asks for containers as the phase says, until ctx is done.
func (m *master) run(ctx context.Context, c *cluster) error {
	timer := time.NewTimer(rand.N(c.o.Calls))
	defer timer.Stop()
	var flow *arrivals
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		}
		var err error
		switch p := c.phase.Load(); p.kind {
		case saturate:
			flow = nil
			err = m.flood(c)
			timer.Reset(c.o.Calls)
		case poisson:
			if flow == nil {
				flow = &arrivals{
					mean: time.Duration(float64(len(c.masters)) / p.rate * float64(time.Second)),
					next: time.Now(),
				}
				m.poisson.begin()
			}
			began := time.Now()
			err = m.serve(c, flow)
			c.asks.note(time.Since(began))
			timer.Reset(max(0, time.Until(flow.next), shortestCall-time.Since(began)))
		default:
			if flow != nil {
				m.poisson.end(len(flow.waiting))
				flow = nil
			}
			err = m.quiet()
			timer.Reset(c.o.Beat)
		}
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// shortestCall is the shortest time from one call of an ApplicationMaster to the next.
const shortestCall = time.Millisecond

// flood asks for more containers than there is room for, and starts those that are granted.
func (m *master) flood(c *cluster) error {
	if err := m.allocate(2*c.o.Nodes*c.o.Slots/c.o.Apps + 1); err != nil {
		return err
	}
	for _, g := range m.reply.granted {
		c.nodes[g.node].start(g.id)
	}
	return nil
}

// arrivals are tasks that arrive as a Poisson process, and ask for a container each.
type arrivals struct {
	mean    time.Duration // between two tasks
	next    time.Time     // when the next task arrives
	waiting []time.Time   // when the tasks without a container have arrived
}

// serve asks for the tasks that have arrived. The oldest gets the first container.
func (m *master) serve(c *cluster, f *arrivals) error {
	for now := time.Now(); !now.Before(f.next); {
		f.waiting = append(f.waiting, f.next)
		f.next = f.next.Add(time.Duration(m.chance.ExpFloat64() * float64(f.mean)))
	}
	if err := m.allocate(len(f.waiting)); err != nil {
		return err
	}
	now := time.Now()
	for _, g := range m.reply.granted {
		if len(f.waiting) == 0 {
			m.surplus = append(m.surplus, g.id)
			continue
		}
		m.poisson.add(now.Sub(f.waiting[0]))
		f.waiting = f.waiting[1:]
		c.nodes[g.node].start(g.id)
	}
	return nil
}

// quiet asks for nothing, and gives back what is granted.
func (m *master) quiet() error {
	if err := m.allocate(0); err != nil {
		return err
	}
	for _, g := range m.reply.granted {
		m.surplus = append(m.surplus, g.id)
	}
	return nil
}

// An allocation is the part of an AllocateResponse that this generator needs. Reading only that takes less processor
// time beside the ResourceManager that is measured.
type allocation struct {
	hosts      map[string]int // numbers of nodes, by host
	responseID int32
	granted    []grant
	completed  int
}

// A grant is a container, and the number of its node.
type grant struct {
	id   wire.ContainerID
	node int
}

// Decode adds the contents of b to the allocation, and does not clear it first.
func (a *allocation) Decode(b []byte) error {
	r := proto.Read(b)
	for r.Next() {
		switch r.Num() {
		case 2:
			a.responseID = r.Int32()
		case 3:
			var g grant
			if err := g.decode(r.Lent(), a.hosts); err != nil {
				return err
			}
			a.granted = append(a.granted, g)
		case 4:
			a.completed++
		}
	}
	return r.Err()
}

func (g *grant) decode(b []byte, hosts map[string]int) error {
	r := proto.Read(b)
	for r.Next() {
		switch r.Num() {
		case 1:
			r.Message(&g.id)
		case 2:
			id := proto.Read(r.Lent())
			for id.Next() {
				if id.Num() == 1 {
					var ok bool
					if g.node, ok = hosts[string(id.Lent())]; !ok {
						return fmt.Errorf("granted a container on %q, which is not there", id.Lent())
					}
				}
			}
		}
	}
	return r.Err()
}

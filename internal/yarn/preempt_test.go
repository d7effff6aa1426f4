package yarn

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/peer"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
	"github.com/sojourn-sched/sojourn/policy"
	"github.com/sojourn-sched/sojourn/sched"
)

// Under a fair policy that kills, a queue that has nothing gets half of a node that another queue fills: containers of
// that one run no more and are reported with the exit status of preemption, and no more of them than the half.
func TestPreemption(t *testing.T) {
	c := start(t, func(config *Config) {
		p, _, err := policy.Parse("fair:preempt=kill,fair-timeout=100ms,check=20ms,threshold=1")
		if err != nil {
			t.Fatal(err)
		}
		config.Core.Policy = p
		config.Core.Queues = []*sched.QueueSpec{{Name: "a"}, {Name: "b"}}
	})
	c.node()
	c.task = func(ctx context.Context, _ wire.ContainerID) int32 { // runs until it is killed
		<-ctx.Done()
		return 0
	}
	master := func(queue string) (id wire.ApplicationID, m *peer.Master,
		beat func(*wire.AllocateRequest) *wire.AllocateResponse) {
		id = c.submit(func(s *wire.Submission) { s.Unmanaged, s.Queue = true, queue })
		m = &peer.Master{Address: c.at.Master, Token: *c.report(id).MasterToken}
		t.Cleanup(m.Close)
		if _, err := m.Register(t.Context()); err != nil {
			t.Fatal(err)
		}
		beat = func(q *wire.AllocateRequest) *wire.AllocateResponse {
			r, err := m.Allocate(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			for i := range r.Allocated {
				if err := m.Start(t.Context(), &r.Allocated[i]); err != nil {
					t.Fatal(err)
				}
			}
			return r
		}
		return id, m, beat
	}
	ask := func(n int32) *wire.AllocateRequest {
		return &wire.AllocateRequest{
			Asks: []wire.ResourceRequest{
				{Place: "*", Resource: wire.Resource{Memory: 512, VCores: 1}, Containers: n, Relax: true},
			},
		}
	}
	first, m, beatA := master("a")
	if r := beatA(ask(8)); len(r.Allocated) != 8 {
		t.Fatalf("%d containers for the first, want all 8", len(r.Allocated))
	}
	second, n, beatB := master("b")
	got := len(beatB(ask(8)).Allocated)
	var over []wire.ContainerStatus
	c.until("half of the node is the second's", func() bool {
		over = append(over, beatA(&wire.AllocateRequest{}).Completed...)
		got += len(beatB(&wire.AllocateRequest{}).Allocated)
		return got >= 4 && len(over) >= 4
	})
	if got != 4 || len(over) != 4 {
		t.Errorf("%d containers for the second, %d of the first over, want 4 and 4", got, len(over))
	}
	for _, s := range over {
		if s.Exit != wire.ExitPreempted {
			t.Errorf("%v is over with %d, %s; want %d", s.ID, s.Exit, s.Diagnostics, wire.ExitPreempted)
		}
	}
	c.look(func(m *manager) { // the roll of keys and nothing else: what is over need not be killed any more
		if len(m.live.alarms) > 1 {
			t.Errorf("%d alarms", len(m.live.alarms))
		}
	})
	for _, x := range []*peer.Master{m, n} {
		if err := x.Finish(t.Context(), wire.Succeeded); err != nil {
			t.Fatal(err)
		}
	}
	c.ends(first, wire.AppFinished)
	c.ends(second, wire.AppFinished)
	c.clean(first, second)
}

// What was to be killed for its room, and ends before that, is not waited for; nor is a node that was to end and stays,
// or has ended.
func TestGraceIsTakenBack(t *testing.T) {
	f := newFew(t)
	f.allocate(asks("* 3 true"))
	list := f.master.own()
	before := len(f.m.live.alarms)
	for _, c := range list {
		f.do(func(m *manager) (answer, error) { c.preempt(sched.Time(time.Hour)); return nil, nil })
	}
	if got := len(f.m.live.alarms) - before; got != 3 {
		t.Fatalf("%d alarms for 3 containers that are to be killed", got)
	}
	f.allocate(&wire.AllocateRequest{Releases: []wire.ContainerID{list[0].id, list[1].id}})
	f.do(func(m *manager) (answer, error) { list[2].node.gone(wire.NodeLost); return nil, nil })
	if got := len(f.m.live.alarms) - before; got != 0 {
		t.Errorf("%d alarms when two are given back and one is lost", got)
	}
	f.allocate(asks("* 2 true"))
	n := f.m.leases.slots[slices.IndexFunc(f.m.leases.slots, func(c *container) bool { return c != nil })].node
	for range 5 {
		f.do(func(m *manager) (answer, error) {
			n.decommission(time.Hour)
			n.decommission(time.Minute)
			return nil, nil
		})
		if got := len(f.m.live.alarms) - before; got != 1 || n.state != wire.NodeDecommissioning {
			t.Fatalf("%d alarms for one node that is to end, in state %d", got, n.state)
		}
		f.do(func(m *manager) (answer, error) { n.recommission(); return nil, nil })
	}
	if got := len(f.m.live.alarms) - before; got != 0 {
		t.Errorf("%d alarms for a node that stays", got)
	}
	f.do(func(m *manager) (answer, error) { n.decommission(time.Minute); return nil, nil })
	f.now = f.now.Add(time.Minute)
	f.f.turn(nil)
	if n.state != wire.NodeDecommissioned || len(f.m.live.alarms) != before {
		t.Errorf("when patience is over the node is in state %d, with %d alarms", n.state, len(f.m.live.alarms)-before)
	}
}

// Under an order by size that kills, four large applications hold all that ApplicationMasters may. A small one comes,
// and the largest gives way: its attempt ends, and that is no failure. It starts again when the small one is
// over. An application whose containers run keeps its ApplicationMaster.
func TestMasterGivesWay(t *testing.T) {
	f := newFleetUnder(t, 1, "srpt:preempt=kill") // 8 cores; ApplicationMasters may hold four
	var large []*application
	for _, size := range []string{"4h", "3h", "2h", "1h"} {
		large = append(large, f.submitOne(false, "sojourn.size="+size))
	}
	// The largest has asked for a container without room. That its asks go with its attempt makes it no smaller.
	f.do(func(m *manager) (answer, error) {
		a := large[0].current()
		a.state = wire.AttemptLaunched
		return master{m, a}.register(&wire.RegisterMasterRequest{})
	})
	f.master = large[0].current()
	big := asks("* 1 true")
	big.Asks[0].Resource.Memory = 4096
	if got := f.allocate(big); len(got) != 0 {
		t.Fatalf("%d containers, want none", len(got))
	}
	small := f.submitOne(false, "sojourn.size=1m")
	if a := small.current(); a == nil || a.master == nil {
		t.Fatal("the small application has no ApplicationMaster")
	}
	if n := len(large[0].attempts); n != 1 || !large[0].current().ended() || large[0].failures() != 0 {
		t.Errorf("the largest: %d attempts, ended %v, %d failures; want 1, true, 0", n, large[0].current().ended(),
			large[0].failures())
	}
	for i, app := range large[1:] {
		if app.current().ended() {
			t.Errorf("application %d has lost its ApplicationMaster", i+1)
		}
	}
	f.do(func(m *manager) (answer, error) {
		return client{m, "user"}.kill(nil, &wire.KillRequest{ID: small.id})
	})
	if n := len(large[0].attempts); n != 2 || large[0].current().ended() {
		t.Errorf("once the small one is over the largest has %d attempts, ended %v; want 2, false", n,
			large[0].current().ended())
	}
	for _, app := range large {
		f.do(func(m *manager) (answer, error) {
			a := app.current()
			a.state = wire.AttemptLaunched
			return master{m, a}.register(&wire.RegisterMasterRequest{})
		})
		f.master, f.id = app.current(), 0
		if got := f.allocate(asks("* 1 true")); len(got) != 1 {
			t.Fatalf("%d containers, want 1", len(got))
		}
	}
	if small = f.submitOne(false, "sojourn.size=1m"); small.current() != nil {
		t.Error("an ApplicationMaster with a container gave way")
	}
}

package sched

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
)

// chaos is a policy that does whatever the core lets it, at random, and then fills what room is left in order.
type chaos struct {
	r    *rand.Rand
	from *rand.PCG // of r
	fill inOrder
}

// newChaos returns a chaos with a source of chance.
func newChaos(from *rand.PCG, many int32) *chaos {
	return &chaos{r: rand.New(from), from: from, fill: inOrder{many: many}}
}

func (c *chaos) Decide(p *Plan) {
	for j := range p.Jobs() {
		for _, st := range j.Stages {
			for a := range p.Attempts(st) {
				n := p.Nodes[c.r.IntN(len(p.Nodes))]
				switch c.r.IntN(40) {
				case 0:
					p.Kill(a, 0)
				case 1:
					p.Suspend(a)
				case 2, 3, 4:
					if a.State == Suspended {
						p.Resume(a)
					}
				case 5:
					if !a.moot && a.State == Running && !n.Lost {
						p.Speculate(a, n, 0)
					}
				case 6:
					if a.State == Running && a.wants == a.Holds {
						p.Resize(a, p.Shape(Resources{Memory: int64(1 + c.r.IntN(3)), VCores: 1}))
					}
				case 7:
					if st.Pending > 0 && !n.Lost && n.Reserved == (StageID{}) {
						p.Reserve(st, n)
					}
				case 8:
					p.Reserve(nil, n)
				}
			}
			if st.Pending > 0 && c.r.IntN(8) == 0 {
				n := p.Nodes[c.r.IntN(len(p.Nodes))]
				if !n.Lost {
					p.LaunchAs(st, n, As{Shape: p.Shape(Resources{Memory: 2})})
				}
			}
		}
	}
	c.fill.Decide(p)
	p.Wake(p.Now + sec)
}

// chaosJobs is how many jobs a run of chaos has.
const chaosJobs = 12

// Whatever happens, the sums are those of the attempts there are (checkSums after every Step), nothing invalid was
// applied, and every job ends.
func TestSumsHoldUnderChaos(t *testing.T) {
	for seed := range uint64(60) {
		g := runChaos(t, seed, 0)
		if len(g.ended) != chaosJobs {
			t.Errorf("seed %d: %d of %d jobs ended", seed, len(g.ended), chaosJobs)
		}
		if used := g.core.Queues[0].Used; used != (Resources{}) || g.core.Queues[0].Pending() != 0 {
			t.Errorf("seed %d: %v in use after the last job", seed, used)
		}
	}
}

// LaunchMany does what so many calls of Launch on the first node with room do, whatever else happens.
func TestLaunchMany(t *testing.T) {
	for seed := range uint64(60) {
		one := runChaos(t, seed, 0)
		for _, many := range []int32{1, 3, 100} {
			g := runChaos(t, seed, many)
			if !slices.Equal(g.acts, one.acts) {
				t.Fatalf("seed %d: LaunchMany, %d at once, does something else than Launch", seed, many)
			}
			if !reflect.DeepEqual(StateOf(&g.core.View), StateOf(&one.core.View)) {
				t.Fatalf("seed %d: LaunchMany, %d at once, leaves another state than Launch", seed, many)
			}
		}
	}
}

// runChaos runs jobs on nodes that come and go under chaos, which starts so many tasks at once at the end of each Step
// (see inOrder).
func runChaos(t *testing.T, seed uint64, many int32) *rig {
	t.Helper()
	return watchChaos(t, seed, many, func(*rig) {})
}

// watchChaos is runChaos, and calls each after every Step.
func watchChaos(t *testing.T, seed uint64, many int32, each func(*rig)) *rig {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 7))
	g := newRig(t, Config{
		Policy: newChaos(rand.NewPCG(seed, 8), many), Can: CanKill | CanSuspend | CanResize | CanNameTasks,
		Limit: int(seed % 5), Spread: seed%3 == 0,
		Queues: []*QueueSpec{
			{Name: "a", Max: Share{Amount: Resources{Memory: 9}}},
			{Name: "b", Queues: []*QueueSpec{{Name: "c", Max: Share{Part: 0.6}}}},
		},
	})
	nodes := 2 + r.IntN(5)
	for range nodes {
		g.node(Resources{Memory: int64(4 + r.IntN(4)), VCores: 4})
	}
	for i := range chaosJobs {
		j := mapReduce(Time(3*i)*sec, int32(1+r.IntN(8)), Time(1+r.IntN(9))*sec, int32(r.IntN(4)),
			Time(1+r.IntN(20))*sec)
		j.Queue, j.User = [...]string{"", "a", "b.c", "new.one"}[r.IntN(4)], [...]string{"", "ana", "bo"}[r.IntN(3)]
		for k := range j.Stages {
			j.Stages[k].PerTask = Resources{Memory: int64(1 + r.IntN(3)), VCores: 1}
			if k > 0 {
				j.Stages[k].After[0].Part = [...]float64{0, 0.3, 1}[r.IntN(3)]
			}
			if st := &j.Stages[k]; r.IntN(2) == 0 {
				st.Copies = 2
				for range 2 * st.Tasks {
					st.Places = append(st.Places, NodeID(r.IntN(nodes+1)))
				}
			}
		}
		g.submit(JobID(i+1), j)
	}
	for i := range 6 {
		n := NodeID(1 + r.IntN(nodes))
		at := Time(1+i*20+r.IntN(9)) * sec
		spec := &NodeSpec{Name: "n", Class: "c", Capacity: Resources{Memory: int64(4 + r.IntN(4)), VCores: 4}}
		g.at(at, Event{Kind: NodeLost, Node: n})
		g.at(at+5*sec, Event{Kind: NodeJoined, Node: n, Body: spec})
		g.at(
			at+7*sec,
			Event{
				Kind: NodeReported,
				Node: n,
				Body: &NodeSpec{Class: "c", Capacity: Resources{Memory: 5, VCores: 3}},
			},
		)
	}
	for i, list := range [...][]*QueueSpec{
		{{Name: "a", Weight: 2}, {Name: "d"}},
		{{Name: "b", Queues: []*QueueSpec{{Name: "c", Max: Share{Part: 0.8}}}}},
		{{Name: "new", Queues: []*QueueSpec{{Name: "one"}, {Name: "two"}}}, {Name: "d"}},
	} {
		g.at(Time(10+i*15+r.IntN(9))*sec, Event{Kind: SpecChanged, Body: &Queues{list}})
	}
	steps := 0
	for g.wakeOrStep(r) {
		each(g)
		if steps++; steps > 20000 {
			t.Fatalf("seed %d: the run does not end; %d jobs left", seed, g.core.LiveJobs())
		}
	}
	return g
}

// wakeOrStep is step, with attempts failing, resizes confirmed and asked for at random, and a wake when nothing else is
// due.
func (g *rig) wakeOrStep(r *rand.Rand) bool {
	for i := range g.due {
		if e := &g.due[i].ev; e.Kind == AttemptDone && e.Outcome == OK && r.IntN(50) == 0 {
			e.Outcome = Failed
		}
	}
	for _, n := range g.core.Nodes {
		for a := range g.core.AttemptsOn(n) {
			if g.core.state.ledger.shrinks(a) && r.IntN(2) == 0 { // also once it is being suspended, or is suspended
				g.at(g.core.Now, Event{Kind: AttemptResized, Attempt: a.ID})
			}
			if r.IntN(50) == 0 { // in whatever state it is
				amount := Resources{Memory: int64(1 + r.IntN(3)), VCores: 1}
				g.at(g.core.Now, Event{Kind: ResizeAsked, Attempt: a.ID, Body: &amount})
			}
		}
	}
	if len(g.due) == 0 && g.core.LiveJobs() > 0 {
		g.at(g.core.Now+sec, Event{Kind: Tick})
		for _, n := range g.core.Nodes { // what was suspended and resumed has lost its end: say it again
			for a := range g.core.AttemptsOn(n) {
				g.at(g.core.Now+sec, Event{Kind: AttemptDone, Attempt: a.ID})
			}
		}
	}
	return g.step()
}

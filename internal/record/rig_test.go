package record

import (
	"bytes"
	"container/heap"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/sched"
)

const sec = time.Second

// inOrder is the least policy there is: stages by submission, first node with room. With last set, the youngest job
// goes first.
type inOrder struct {
	index sched.Index
	last  bool
}

func (f *inOrder) Decide(p *sched.Plan) {
	if f.index.Key == nil {
		f.index.Key = func(_ *sched.View, st *sched.Stage, _ sched.Time) (sched.Key, bool) {
			k := sched.Key{}
			if f.last {
				k.Value = -float64(st.ID.Job)
			}
			return k, st.Pending > 0
		}
	}
	f.index.Sync(p)
	for st := f.index.First(); st != nil; st = f.index.First() {
		if n := p.First(st); n == nil || !p.Launch(st, n) {
			f.index.Skip(st)
		}
	}
}

// Position implements Ranker.
func (f *inOrder) Position(_ *sched.View, st *sched.Stage) (sched.Key, bool) {
	return f.index.Position(st)
}

// policyFunc is a policy for one test.
type policyFunc func(*sched.Plan)

func (f policyFunc) Decide(p *sched.Plan) { f(p) }

// deciders makes the same policy for a replay that a run had.
func deciders(newPolicy func() sched.Policy) Deciders {
	return func(*Header) (sched.Policy, sched.Estimator, error) { return newPolicy(), nil, nil }
}

// A rig is the least engine there is: what is due at instants goes into a core, and what it launches ends after its
// stage's Prior.
type rig struct {
	core   *sched.Core
	due    dueHeap
	seq    int
	nodes  sched.NodeID
	wake   sched.Time
	takes  func(*sched.Attempt) sched.Time // nil: its stage's Prior
	events int64
}

type dueEvent struct {
	at  sched.Time
	seq int
	ev  sched.Event
}
type dueHeap []dueEvent

func (h dueHeap) Len() int { return len(h) }
func (h dueHeap) Less(i, j int) bool {
	return h[i].at < h[j].at || h[i].at == h[j].at && h[i].seq < h[j].seq
}
func (h dueHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *dueHeap) Push(x any)   { *h = append(*h, x.(dueEvent)) }
func (h *dueHeap) Pop() any {
	o := *h
	e := o[len(o)-1]
	*h = o[:len(o)-1]
	return e
}

func newRig(config sched.Config, to ...Follower) *rig {
	if config.Policy == nil {
		config.Policy = &inOrder{}
	}
	config.Recorder = Tee(to)
	return &rig{core: sched.New(config)}
}

func (r *rig) at(t sched.Time, e sched.Event) {
	r.seq++
	heap.Push(&r.due, dueEvent{t, r.seq, e})
}

func (r *rig) node(capacity sched.Resources) sched.NodeID {
	r.nodes++
	r.at(
		0,
		sched.Event{
			Kind: sched.NodeJoined,
			Node: r.nodes,
			Body: &sched.NodeSpec{
				Name:     fmt.Sprintf("n%d", r.nodes),
				Class:    "c",
				Rack:     sched.RackID(1 + r.nodes%2),
				Capacity: capacity,
			},
		},
	)
	return r.nodes
}

func (r *rig) submit(id sched.JobID, spec *sched.JobSpec) {
	r.at(spec.Submit, sched.Event{Kind: sched.JobSubmitted, Job: id, Body: spec})
}

// step runs one instant.
func (r *rig) step() bool {
	now := r.wake
	if len(r.due) > 0 && (now == 0 || r.due[0].at <= now) {
		now = r.due[0].at
	} else if now == 0 {
		return false
	}
	var evs []sched.Event
	for len(r.due) > 0 && r.due[0].at == now {
		evs = append(evs, heap.Pop(&r.due).(dueEvent).ev)
	}
	r.events += int64(len(evs))
	if r.wake <= now {
		r.wake = 0
	}
	for _, a := range r.core.Step(now, evs) {
		switch a.Kind {
		case sched.Launch:
			at := r.core.Attempt(a.Attempt)
			d := at.Stage.Spec.Prior
			if r.takes != nil {
				d = r.takes(at)
			}
			r.at(now+d, sched.Event{Kind: sched.AttemptDone, Attempt: a.Attempt})
		case sched.Kill:
			r.at(now+a.At, sched.Event{Kind: sched.AttemptDone, Outcome: sched.Killed, Attempt: a.Attempt})
		case sched.Suspend:
			r.at(now, sched.Event{Kind: sched.AttemptSuspended, Attempt: a.Attempt})
		case sched.Resize:
			r.at(now, sched.Event{Kind: sched.AttemptResized, Attempt: a.Attempt})
		case sched.Wake:
			r.wake = a.At
		}
	}
	return true
}

func (r *rig) run() *rig {
	for r.step() {
	}
	return r
}

// slots is a vector of map and reduce slots.
func slots(maps, reduces int64) sched.Resources {
	return sched.Resources{sched.MapSlots: maps, sched.ReduceSlots: reduces}
}

// mapReduce is a job with a full barrier between its stages.
func mapReduce(submit sched.Time, maps int32, mapTime sched.Time, reduces int32, reduceTime sched.Time) *sched.JobSpec {
	j := &sched.JobSpec{
		Submit: submit,
		Stages: []sched.StageSpec{
			{Kind: sched.Map, PerTask: slots(1, 0), Tasks: maps, Prior: mapTime, MaxAttempts: sched.DefaultMaxAttempts},
		},
	}
	if reduces > 0 {
		j.Stages = append(
			j.Stages,
			sched.StageSpec{
				Kind:        sched.Reduce,
				PerTask:     slots(0, 1),
				Tasks:       reduces,
				Prior:       reduceTime,
				MaxAttempts: sched.DefaultMaxAttempts,
				After:       []sched.Dep{{Stage: 0, Part: 1}},
			},
		)
	}
	return j
}

// mrorder41 is the example of mrorder 4.1: four jobs on 8 map and 4 reduce slots, which end at 16, 8, 26, 44 s under
// FIFO.
func mrorder41(config sched.Config, to ...Follower) *rig {
	r := newRig(config, to...)
	for range 4 {
		r.node(slots(2, 1))
	}
	for i, j := range [][4]int{{10, 4, 2, 8}, {4, 2, 4, 2}, {2, 6, 4, 10}, {24, 6, 6, 8}} {
		r.submit(sched.JobID(i+1), mapReduce(0, int32(j[0]), sched.Time(j[1])*sec, int32(j[2]), sched.Time(j[3])*sec))
	}
	return r
}

// chaos is a policy that does whatever the core lets it, at random, and then fills what room is left in order.
type chaos struct {
	r    *rand.Rand
	fill inOrder
}

func (c *chaos) Decide(p *sched.Plan) {
	for j := range p.Jobs() {
		for _, st := range j.Stages {
			for a := range p.Attempts(st) {
				n := p.Nodes[c.r.IntN(len(p.Nodes))]
				switch c.r.IntN(60) {
				case 0:
					p.Kill(a, sched.Time(c.r.IntN(2))*sec)
				case 1:
					if a.State == sched.Running {
						p.Suspend(a)
					}
				case 2, 3, 4, 5:
					if a.State == sched.Suspended {
						p.Resume(a)
					}
				case 6:
					if !n.Lost {
						p.Speculate(a, n, 0)
					}
				case 7:
					if a.State == sched.Running {
						p.Resize(a, p.Shape(sched.Resources{sched.Memory: int64(1 + c.r.IntN(3)), sched.VCores: 1}))
					}
				case 8:
					if st.Pending > 0 && !n.Lost && n.Reserved == (sched.StageID{}) {
						p.Reserve(st, n)
					}
				case 9:
					p.Reserve(nil, n)
				case 10:
					p.Probe(j)
				}
			}
			if st.Pending > 0 && c.r.IntN(8) == 0 {
				if n := p.Nodes[c.r.IntN(len(p.Nodes))]; !n.Lost {
					p.LaunchAs(st, n, sched.As{Shape: p.Shape(sched.Resources{sched.Memory: 2})})
				}
			}
		}
	}
	c.fill.Decide(p)
	p.Wake(p.Now + sec)
}

const allPowers = sched.CanKill | sched.CanSuspend | sched.CanResize | sched.CanNameTasks | sched.CanProbe

func chaosConfig(seed uint64) sched.Config {
	return sched.Config{
		Policy: &chaos{
			r: rand.New(rand.NewPCG(seed, 8)),
		}, Can: allPowers, Limit: int(seed % 5), Heartbeats: seed%3 == 1,
		Queues: []*sched.QueueSpec{
			{Name: "a", Max: sched.Share{Amount: sched.Resources{sched.Memory: 9}}},
			{Name: "b", Queues: []*sched.QueueSpec{{Name: "c", Max: sched.Share{Part: 0.6}}}},
		},
	}
}

// chaosRun is a run in which everything happens that can: every kind of event and of action.
func chaosRun(t testing.TB, seed uint64, to ...Follower) *rig {
	return chaosRunOf(t, seed, chaosConfig(seed), to...)
}

// chaosRunOf is chaosRun with a configuration.
func chaosRunOf(t testing.TB, seed uint64, config sched.Config, to ...Follower) *rig {
	r := rand.New(rand.NewPCG(seed, 7))
	g := newRig(config, to...)
	nodes := 2 + r.IntN(5)
	for range nodes {
		g.node(sched.Resources{sched.Memory: int64(4 + r.IntN(4)), sched.VCores: 4})
	}
	const jobs = 12
	for i := range jobs {
		j := mapReduce(sched.Time(3*i)*sec+sched.Time(r.IntN(1e9)), int32(1+r.IntN(8)), sched.Time(1+r.IntN(9))*sec,
			int32(r.IntN(4)), sched.Time(1+r.IntN(20))*sec)
		j.Name, j.Queue, j.User = fmt.Sprint("job ", i), [...]string{"", "a", "b.c", "new.one"}[r.IntN(4)],
			[...]string{"", "ana", "bo"}[r.IntN(3)]
		for k := range j.Stages {
			j.Stages[k].PerTask = sched.Resources{sched.Memory: int64(1 + r.IntN(3)), sched.VCores: 1}
			if k > 0 {
				j.Stages[k].After[0].Part = [...]float64{0, 0.3, 1}[r.IntN(3)]
			}
			if st := &j.Stages[k]; r.IntN(2) == 0 {
				st.Copies = 2
				for range 2 * st.Tasks {
					st.Places = append(st.Places, sched.NodeID(r.IntN(nodes+1)))
				}
			}
		}
		g.submit(sched.JobID(i+1), j)
	}
	last := sched.Time(3*jobs+1) * sec // an application that says by and by what it wants, and then that it is through
	g.submit(
		jobs+1,
		&sched.JobSpec{
			Name:   "app",
			Submit: last,
			Stages: []sched.StageSpec{
				{Kind: sched.Master, PerTask: sched.Resources{sched.Memory: 1}, Tasks: -1, Prior: 300 * sec},
			},
		},
	)
	g.at(last+sec, sched.Event{Kind: sched.AsksChanged, Job: jobs + 1, Body: &sched.Asks{Pending: 1}})
	g.at(
		last+2*sec,
		sched.Event{
			Kind: sched.AsksChanged,
			Job:  jobs + 1,
			Body: &sched.Asks{Stage: 1, Pending: 4, Banned: []sched.NodeID{1},
				Near: []sched.Near{{Node: 2, Tasks: 1}, {Rack: 1, Tasks: 2}},
				Spec: &sched.StageSpec{
					Kind:    sched.Map,
					PerTask: sched.Resources{sched.Memory: 1},
					Tasks:   -1,
					Prior:   5 * sec,
				}},
		},
	)
	g.at(
		last+3*sec,
		sched.Event{
			Kind: sched.SpecChanged,
			Job:  jobs + 1,
			Body: &sched.JobSpec{Queue: "b.c", Weight: 2, Priority: 4, Deadline: 90 * sec,
				Stages: []sched.StageSpec{{Kind: sched.Master, PerTask: sched.Resources{sched.Memory: 1}, Tasks: -1}}},
		},
	)
	g.at(
		last+4*sec,
		sched.Event{
			Kind: sched.SpecChanged,
			Body: &sched.Queues{List: []*sched.QueueSpec{{Name: "a", Weight: 3, Policy: "fair"},
				{
					Name: "b",
					Min:  sched.Share{Part: 0.25},
					Queues: []*sched.QueueSpec{
						{Name: "d", Masters: 0.25, Spared: true,
							Max: sched.Share{Amount: sched.Resources{sched.Memory: 3}}},
					},
				}}},
		},
	)
	found := &sched.Found{Stage: 1, Ran: sec}
	g.at(last+5*sec, sched.Event{Kind: sched.AttemptFound, Job: jobs + 1, Node: 2, Body: found})
	g.at(last+60*sec, sched.Event{Kind: sched.JobEnded, Job: jobs + 1})
	g.at(last+9*sec, sched.Event{Kind: sched.TaskUndone, Job: jobs, Body: &sched.Undone{Stage: 0, Tasks: []int32{1}}})
	for i := range 6 {
		n := sched.NodeID(1 + r.IntN(nodes))
		at := sched.Time(1+i*20+r.IntN(9)) * sec
		g.at(at, sched.Event{Kind: sched.NodeLost, Node: n})
		g.at(
			at+5*sec,
			sched.Event{
				Kind: sched.NodeJoined,
				Node: n,
				Body: &sched.NodeSpec{
					Name:     "again",
					Class:    "d",
					Rack:     1,
					Capacity: sched.Resources{sched.Memory: 7, sched.VCores: 4},
				},
			},
		)
		g.at(
			at+7*sec,
			sched.Event{
				Kind: sched.NodeReported,
				Node: n,
				Body: &sched.NodeSpec{Class: "c", Capacity: sched.Resources{sched.Memory: 5, sched.VCores: 3}},
			},
		)
	}
	for steps := 0; g.chaosStep(r); steps++ {
		if steps > 20000 {
			t.Fatalf("seed %d: the run does not end; %d jobs left", seed, g.core.LiveJobs())
		}
	}
	return g
}

// chaosStep is step, with attempts failing, progress, counters, reports and questions at random, and a wake when
// nothing else is due.
func (r *rig) chaosStep(chance *rand.Rand) bool {
	for i := range r.due {
		if e := &r.due[i].ev; e.Kind == sched.AttemptDone && e.Outcome == sched.OK && e.Body == nil {
			switch chance.IntN(50) {
			case 0:
				e.Outcome = sched.Failed
			case 1:
				e.Body = &sched.Counters{
					InputBytes:    int64(chance.IntN(1e9)),
					OutputRecords: 3,
					Phases:        [sched.NumPhases]sched.Time{sched.PhaseMap: sec},
				}
			}
		}
	}
	if len(r.due) == 0 && r.core.LiveJobs() == 0 {
		return r.step()
	}
	if chance.IntN(4) == 0 || len(r.due) == 0 {
		now := r.core.Now + sec
		r.at(now, sched.Event{Kind: sched.Tick})
		for _, n := range r.core.Nodes {
			r.at(now, sched.Event{Kind: sched.NodeReported, Node: n.ID})
			for a := range r.core.AttemptsOn(n) { // what was suspended and resumed has lost its end: say it again
				switch chance.IntN(6) {
				case 0:
					r.at(now, sched.Event{Kind: sched.AttemptDone, Attempt: a.ID})
				case 1:
					r.at(
						now,
						sched.Event{
							Kind:     sched.AttemptProgress,
							Attempt:  a.ID,
							Progress: chance.Float32(),
							Phase:    sched.PhaseMap,
						},
					)
				case 2:
					r.at(now, sched.Event{Kind: sched.ResizeAsked, Attempt: a.ID,
						Body: &sched.Resources{sched.Memory: 2}})
				}
			}
		}
	}
	return r.step()
}

// kept is a copy of what a core gave its recorder.
type kept struct{ steps []Step }

func (k *kept) Attach(*sched.View) {}
func (k *kept) Record(now sched.Time, events []sched.Event, actions []sched.Action) {
	s := Step{Now: now, Actions: append([]sched.Action(nil), actions...)}
	for _, e := range events {
		if !e.Derived {
			s.Events = append(s.Events, e)
		}
	}
	k.steps = append(k.steps, s)
}

// recorded writes a record into memory while run runs.
func recorded(t testing.TB, o Options, run func(w *Writer)) []byte {
	t.Helper()
	return write(t, Header{}, o, run)
}

// recordedWith returns the record of run under a header.
func recordedWith(t testing.TB, h Header, run func(w *Writer)) []byte {
	t.Helper()
	return write(t, h, Options{}, run)
}

func write(t testing.TB, h Header, o Options, run func(w *Writer)) []byte {
	t.Helper()
	h.Engine, h.Seed, h.Policy = "test", 1, "test"
	var b bytes.Buffer
	w, err := NewWriter(&b, h, o)
	if err != nil {
		t.Fatal(err)
	}
	run(w)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// marshalled returns v as JSON.
func marshalled(t testing.TB, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func reader(t testing.TB, record []byte) *Reader {
	t.Helper()
	r, err := NewReader(bytes.NewReader(record), "test.record", Payload{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

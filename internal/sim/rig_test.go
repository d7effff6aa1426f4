package sim

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/internal/workload"
	"github.com/sojourn-sched/sojourn/sched"
)

const sec = time.Second

// inOrder is the least policy there is: stages by submission, first node with room.
type inOrder struct{ index sched.Index }

func (f *inOrder) Decide(p *sched.Plan) {
	if f.index.Key == nil {
		f.index.Key = func(_ *sched.View, st *sched.Stage, _ sched.Time) (sched.Key, bool) {
			return sched.Key{}, st.Pending > 0
		}
	}
	f.index.Sync(p)
	for st := f.index.First(); st != nil; st = f.index.First() {
		if n := p.First(st); n == nil || !p.Launch(st, n) {
			f.index.Skip(st)
		}
	}
}

// policyFunc is a policy for one test.
type policyFunc func(*sched.Plan)

func (f policyFunc) Decide(p *sched.Plan) { f(p) }

// suspends returns a policy that starts the maps of all jobs on node 1 at once, suspends the second one at an instant,
// and lets it go on at another.
func suspends(from, until sched.Time) policyFunc {
	return func(p *sched.Plan) {
		for j := range p.Jobs() {
			st := j.Stages[0]
			for st.Pending > 0 && p.Now == 0 {
				p.Launch(st, p.Node(1))
			}
			for a := range p.Attempts(st) {
				switch {
				case a.Task == 2 && p.Now == from && a.State == sched.Running:
					p.Suspend(a)
				case a.Task == 2 && p.Now == until && a.State == sched.Suspended:
					p.Resume(a)
				}
			}
		}
		for _, at := range []sched.Time{from, until} {
			if p.Now < at {
				p.Wake(at)
			}
		}
	}
}

// A log is a Recorder that keeps everything, and when jobs came and went.
type log struct {
	events    []stamped
	actions   []sched.Action
	acted     []sched.Time
	submitted map[sched.JobID]sched.Time
	ended     map[sched.JobID]sched.Time
	how       map[sched.JobID]sched.Outcome
}

type stamped struct {
	at sched.Time
	sched.Event
}

func newLog() *log {
	return &log{
		submitted: map[sched.JobID]sched.Time{},
		ended:     map[sched.JobID]sched.Time{},
		how:       map[sched.JobID]sched.Outcome{},
	}
}

func (l *log) Record(now sched.Time, events []sched.Event, actions []sched.Action) {
	for _, ev := range events {
		l.events = append(l.events, stamped{now, ev})
		switch ev.Kind {
		case sched.JobSubmitted:
			l.submitted[ev.Job] = now
		case sched.JobEnded:
			l.ended[ev.Job], l.how[ev.Job] = now, ev.Outcome
		}
	}
	for _, a := range actions {
		l.actions, l.acted = append(l.actions, a), append(l.acted, now)
	}
}

// when returns the instants of the actions of a kind.
func (l *log) when(k sched.ActionKind) (at []sched.Time) {
	for i, a := range l.actions {
		if a.Kind == k {
			at = append(at, l.acted[i])
		}
	}
	return at
}

// ends returns when the attempts ended that came to an outcome.
func (l *log) ends(o sched.Outcome) (at []sched.Time) {
	for _, ev := range l.events {
		if ev.Kind == sched.AttemptDone && ev.Outcome == o {
			at = append(at, ev.at)
		}
	}
	return at
}

// slots is a vector of map and reduce slots.
func slots(maps, reduces int64) sched.Resources {
	return sched.Resources{sched.MapSlots: maps, sched.ReduceSlots: reduces}
}

// slotCluster is nodes with slots, evenly in racks, on links of 100 bytes/s a node and a rack.
func slotCluster(nodes, racks int32, each sched.Resources) *workload.Cluster {
	return &workload.Cluster{
		Classes: []workload.Class{{Name: "c", Count: nodes, Racks: racks, Speed: 1, Resources: each}},
		Network: workload.Network{Node: 100, Rack: 100},
	}
}

// A shape of a job in these tests: maps × mapTime, then reduces × redTime once part of the maps is done.
type mr struct {
	submit           sched.Time
	maps             int32
	mapTime          sched.Time
	reduces          int32
	redTime          sched.Time
	part             float64 // slow start
	input, shuffle   int64   // bytes of all maps, and of all reduces
	mapEach, redEach sched.Resources
}

func (m mr) job() *sched.JobSpec {
	if m.mapEach == (sched.Resources{}) {
		m.mapEach = slots(1, 0)
	}
	if m.redEach == (sched.Resources{}) {
		m.redEach = slots(0, 1)
	}
	t := &workload.Truth{
		Stages: []workload.StageTruth{{Tasks: m.maps, Base: m.mapTime, Input: m.input, Output: m.shuffle}},
	}
	j := &sched.JobSpec{Name: "j", Submit: m.submit, Payload: t,
		Stages: []sched.StageSpec{
			{Kind: sched.Map, PerTask: m.mapEach, Tasks: m.maps, MaxAttempts: sched.DefaultMaxAttempts},
		}}
	if m.reduces > 0 {
		t.Stages = append(t.Stages, workload.StageTruth{Tasks: m.reduces, Base: m.redTime, Shuffle: m.shuffle})
		j.Stages = append(
			j.Stages,
			sched.StageSpec{
				Kind:        sched.Reduce,
				PerTask:     m.redEach,
				Tasks:       m.reduces,
				MaxAttempts: sched.DefaultMaxAttempts,
				After:       []sched.Dep{{Stage: 0, Part: m.part}},
			},
		)
	}
	return j
}

// source yields jobs.
func source(jobs ...*sched.JobSpec) workload.Source {
	return func(yield func(*sched.JobSpec, error) bool) {
		for _, j := range jobs {
			if !yield(j, nil) {
				return
			}
		}
	}
}

// simulate runs a configuration, under inOrder where it names no policy, and fails the test where it does not end well.
func simulate(t *testing.T, c Config) (*log, Result) {
	t.Helper()
	l := newLog()
	if c.Core.Policy == nil {
		c.Core.Policy = &inOrder{}
	}
	c.Core.Recorder = l
	if c.MostEvents == 0 {
		c.MostEvents = 10_000_000
	}
	r, err := Run(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	return l, r
}

// wantEnds compares the ends of jobs 1, 2, ...; tolerance is what rounding bytes to nanoseconds may add.
func wantEnds(t *testing.T, l *log, tolerance sched.Time, want ...sched.Time) {
	t.Helper()
	for i, w := range want {
		if got := l.ended[sched.JobID(i+1)]; got < w-tolerance || got > w+tolerance {
			t.Errorf("job %d ends at %v, want %v", i+1, got, w)
		}
	}
}

func wantTimes(t *testing.T, what string, got []sched.Time, want ...sched.Time) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s at %v, want %v", what, got, want)
	}
}

package policy

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/sched"
)

// A deciding is a policy that is a function.
type deciding func(*sched.Plan)

func (d deciding) Decide(p *sched.Plan) { d(p) }

// nodeOf is a node of so many map slots and 4 GiB.
func nodeOf(n int64) sched.Event {
	return sched.Event{
		Kind: sched.NodeJoined,
		Node: 1,
		Body: &sched.NodeSpec{Class: "c", Capacity: sched.Resources{sched.MapSlots: n, sched.Memory: 4096}},
	}
}

func jobOf(id sched.JobID, queue string, tasks int32, each sched.Resources) sched.Event {
	return sched.Event{
		Kind: sched.JobSubmitted,
		Job:  id,
		Body: &sched.JobSpec{
			Queue:  queue,
			Stages: []sched.StageSpec{{PerTask: each, Tasks: tasks, Prior: time.Second, MaxAttempts: 4}},
		},
	}
}

// An attempt makes room for a task if the node is not kept for others nor avoided, and has room for it beside what
// others leave for once the attempt has left; suspended it keeps its memory. Job 1 holds both slots, with 1 GiB each; 2
// GiB are free.
func TestMakesRoom(t *testing.T) {
	one := sched.Resources{sched.MapSlots: 1}
	both := sched.Resources{sched.MapSlots: 1, sched.Memory: 1024}
	c := sched.New(sched.Config{Can: sched.CanSuspend | sched.CanKill, Policy: deciding(func(p *sched.Plan) {
		first, st, other := p.Job(1).Stages[0], p.Job(2).Stages[0], p.Job(3).Stages[0]
		n := p.Node(1)
		for p.Launch(first, n) {
		}
		var a *sched.Attempt
		for a = range p.Attempts(first) {
			break
		}
		for _, c := range []struct {
			what    string
			taker   taker
			need    sched.Resources
			reserve *sched.Stage
			want    bool
		}{
			{"a slot for a slot", taker{mode: suspend}, one, nil, true},
			{"a slot for two", taker{mode: suspend}, one.Times(2), nil, false},
			{"no slot where one leaves for another", taker{mode: suspend, Promises: []promise{{Stage: st.ID, Node: 1}}},
				one, nil, false},
			{"the memory that is free", taker{mode: suspend}, sched.Resources{sched.MapSlots: 1, sched.Memory: 2048},
				nil, true},
			{"memory that it keeps", taker{mode: suspend}, sched.Resources{sched.MapSlots: 1, sched.Memory: 2049}, nil,
				false},
			{"memory that it gives back", taker{mode: kill}, sched.Resources{sched.MapSlots: 1, sched.Memory: 3072},
				nil, true},
			{"more memory than it has", taker{mode: kill}, sched.Resources{sched.MapSlots: 1, sched.Memory: 3073}, nil,
				false},
			{"a node that is avoided", taker{mode: suspend, Barred: []bar{{st.ID, 1}}}, one, nil, false},
			{"a node that another avoids", taker{mode: suspend, Barred: []bar{{other.ID, 1}}}, one, nil, true},
			{"a node kept for another", taker{mode: suspend}, one, other, false},
			{"a node kept for it", taker{mode: suspend}, one, st, true},
		} {
			if c.reserve != nil {
				p.Reserve(c.reserve, n)
			}
			c.taker.count(p, c.taker.Promises)
			if got := c.taker.makesRoom(p, st, a, c.need); got != c.want {
				t.Errorf("%s: %v, want %v", c.what, got, c.want)
			}
			p.Reserve(nil, n)
		}
	})})
	c.Step(0, []sched.Event{nodeOf(2), jobOf(1, "", 2, both), jobOf(2, "", 9, one), jobOf(3, "", 9, one)})
}

// Promises count against the maxima of queues: what their tasks need, less what still leaves the same queue for them.
// Queue q may hold two slots and 2 GiB; a task of it and one of queue r leave, and each has a slot and 1 GiB.
func TestPromisesCountAgainstMaxima(t *testing.T) {
	each := sched.Resources{sched.MapSlots: 1, sched.Memory: 1024}
	memory := sched.Resources{sched.Memory: 1024}
	decided := false
	c := sched.New(sched.Config{
		Can:    sched.CanSuspend | sched.CanKill,
		Queues: []*sched.QueueSpec{{Name: "q", Max: sched.Share{Amount: each.Times(2)}}, {Name: "r"}},
		Policy: deciding(func(p *sched.Plan) {
			n := p.Node(1)
			leaving := func(j sched.JobID) (id sched.AttemptID) {
				st := p.Job(j).Stages[0]
				p.Launch(st, n)
				for a := range p.Attempts(st) {
					p.Kill(a, 0)
					id = a.ID
				}
				return id
			}
			ofQ, ofR, gone := leaving(1), leaving(2), sched.AttemptID(0)
			st, other, light := p.Job(3).Stages[0], p.Job(4).Stages[0], p.Job(5).Stages[0]
			for _, c := range []struct {
				what     string
				promises []promise
				need     sched.Resources
				want     bool
			}{
				{"none", nil, each, true},
				{"none, for two tasks", nil, each.Times(2), false},
				{"room from another queue", []promise{{Stage: st.ID, Node: 1, Attempt: ofR}}, each, false},
				{"room that has been left", []promise{{Stage: st.ID, Node: 1, Attempt: gone}}, each, false},
				{"room from the queue", []promise{{Stage: st.ID, Node: 1, Attempt: ofQ}}, each, true},
				{"room for another queue", []promise{{Stage: other.ID, Node: 1, Attempt: ofR}}, each, true},
				{"room of the queue for another", []promise{{Stage: other.ID, Node: 1, Attempt: ofQ}}, each.Times(2),
					false},
				{"more memory from the queue than it needs", []promise{{Stage: light.ID, Node: 1, Attempt: ofQ}},
					memory.Times(2), false},
				{"memory for a task", []promise{{Stage: st.ID, Node: 1, Attempt: gone}}, memory, false},
				{"no memory for a suspended task", []promise{{Stage: st.ID, Node: 1, Attempt: gone, Resumes: true}},
					memory, true},
				{"a slot for a suspended task", []promise{{Stage: st.ID, Node: 1, Attempt: gone, Resumes: true}}, each,
					false},
			} {
				k := taker{mode: kill, Promises: c.promises}
				k.foresee(p)
				if got := k.underMax(p, st, nil, c.need); got != c.want {
					t.Errorf("%s: %v, want %v", c.what, got, c.want)
				}
				k.Promises = nil
				k.foresee(p)
				if !k.underMax(p, st, nil, each) {
					t.Errorf("%s: it counts when it is over", c.what)
				}
			}
			decided = true
		}),
	})
	c.Step(0, []sched.Event{nodeOf(9), jobOf(1, "q", 1, each), jobOf(2, "r", 1, each), jobOf(3, "q", 9, each),
		jobOf(4, "r", 9, each), jobOf(5, "q", 9, sched.Resources{sched.MapSlots: 1})})
	if !decided {
		t.Error("the policy was not asked")
	}
}

// A rankedByPrior is an order by the times that are known of tasks. It counts how often it computes a key.
type rankedByPrior struct {
	Order
	DelayPlacer
	ranked int
}

func (r *rankedByPrior) Decide(p *sched.Plan) { r.Fill(p, &r.DelayPlacer) }

// parsed returns r as a policy that takes tasks back as the mode says.
func (r *rankedByPrior) parsed(t *testing.T, mode string) sched.Policy {
	own := Registry{"own": {Card: Card{Params: PlacingParams(PreemptParams()...)}, New: func(a Args) sched.Policy {
		r.DelayPlacer = NewDelayPlacer(a)
		r.Init(a, func(_ *sched.View, st *sched.Stage, _ int32) sched.Key {
			r.ranked++
			return sched.Key{Value: float64(st.Spec.Prior)}
		})
		return r
	}}}
	p, _, err := own.Parse("own:preempt=" + mode)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Tasks that a maximum holds back cost no look at what runs in other queues. Queue q has the two slots that it may
// hold. 60 tasks wait there, of different users, and each needs less memory than the task before it. Tasks of queue r
// have the other slots, and come last.
func TestMaximumCostsNoLookAtOtherQueues(t *testing.T) {
	counted := func(mode string, others int32) int {
		r := &rankedByPrior{}
		c := sched.New(sched.Config{
			Policy: r.parsed(t, mode),
			Can:    sched.CanSuspend | sched.CanKill,
			Queues: []*sched.QueueSpec{
				{Name: "q", Max: sched.Share{Amount: sched.Resources{sched.MapSlots: 2}}}, {Name: "r"},
			},
		})
		jobs := sched.JobID(0)
		submit := func(queue string, n int32, prior sched.Time) (events []sched.Event) {
			for i := range n {
				jobs++
				e := jobOf(jobs, queue, 1, sched.Resources{sched.MapSlots: 1, sched.Memory: int64(1000 - i)})
				spec := e.Body.(*sched.JobSpec)
				spec.User, spec.Stages[0].Prior = fmt.Sprint(jobs), prior
				events = append(events, e)
			}
			return events
		}
		c.Step(0, []sched.Event{{Kind: sched.NodeJoined, Node: 1, Body: &sched.NodeSpec{
			Capacity: sched.Resources{sched.MapSlots: int64(2 + others), sched.Memory: 1 << 30}}}})
		acts := slices.Clone(c.Step(1, append(submit("q", 2, 1), submit("r", others, 3)...)))
		if len(acts) != int(2+others) {
			t.Fatalf("%d actions, want a launch of each of %d tasks", len(acts), 2+others)
		}
		acts = append(acts[:0], c.Step(2, submit("q", 60, 2))...)
		r.ranked = 0
		if acts = append(acts, c.Step(3, nil)...); len(acts) > 0 {
			t.Errorf("%v, want no actions while q is at its maximum", acts)
		}
		return r.ranked
	}
	for _, mode := range []string{"kill", "suspend"} {
		if few, many := counted(mode, 100), counted(mode, 400); few != many || few == 0 {
			t.Errorf("%s: %d keys beside 100 tasks and %d beside 400, want as many", mode, few, many)
		}
	}
}

// What is leaving already is not asked for again. Queue b is owed one slot of four; queue a, whose fair share is two,
// holds all. At 2 s one task is killed; while that is leaving, the looks that follow kill none.
func TestFairCountsWhatIsComing(t *testing.T) {
	p, _, err := Parse("fair:preempt=kill,min-timeout=1s,fair-timeout=1000s,check=500ms")
	if err != nil {
		t.Fatal(err)
	}
	one := sched.Resources{sched.MapSlots: 1}
	c := sched.New(
		sched.Config{
			Policy: p,
			Can:    sched.CanKill,
			Queues: []*sched.QueueSpec{{Name: "a"}, {Name: "b", Min: sched.Share{Amount: one}}},
		},
	)
	c.Step(0, []sched.Event{nodeOf(4), jobOf(1, "a", 9, one)})
	c.Step(time.Millisecond, []sched.Event{jobOf(2, "b", 9, one)})
	kills := 0
	for now := 500 * time.Millisecond; now < 6*time.Second; now += 500 * time.Millisecond {
		for _, a := range c.Step(now, nil) {
			if a.Kind == sched.Kill {
				kills++
			}
		}
	}
	if kills != 1 {
		t.Errorf("%d tasks were killed, want 1", kills)
	}
}

// An asked estimator notes how many tasks were done each time.
type asked struct{ at []int32 }

func (*asked) Observe(*sched.Attempt, sched.Time, *sched.Counters) {}
func (*asked) Size(*sched.Job) (w sched.Work, known bool)          { return w, false }
func (e *asked) Estimate(st *sched.Stage, _ sched.ClassID) sched.Estimate {
	e.at = append(e.at, st.Done)
	return sched.Estimate{Mean: time.Second, Samples: 1}
}

// The estimator is asked when a stage arrives and each time its finished tasks have doubled: of 20 tasks, after 1, 2,
// 4, 8 and 16.
func TestEstimatorIsAskedWhenDoubled(t *testing.T) {
	p, _, err := Parse("srpt")
	if err != nil {
		t.Fatal(err)
	}
	e := &asked{}
	c := sched.New(sched.Config{Policy: p, Estimator: e})
	acts := slices.Clone(c.Step(0, []sched.Event{nodeOf(1), jobOf(1, "", 20, sched.Resources{sched.MapSlots: 1})}))
	for now := time.Second; c.LiveJobs() > 0; now += time.Second {
		acts = slices.Clone(c.Step(now, []sched.Event{{Kind: sched.AttemptDone, Attempt: acts[0].Attempt}}))
	}
	if want := []int32{0, 1, 2, 4, 8, 16}; !slices.Equal(e.at, want) {
		t.Errorf("asked after %v tasks, want %v", e.at, want)
	}
}

package policy_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/internal/theory"
	"github.com/sojourn-sched/sojourn/policy"
	"github.com/sojourn-sched/sojourn/policy/policytest"
	"github.com/sojourn-sched/sojourn/sched"
)

// The numbers in the names of these tests, and of the scenarios in testdata/mrorder, are those of docs/spec/mrorder.md,
// section 4.

func TestMROrderConforms(t *testing.T) {
	for _, spec := range []string{
		"mrorder:goal=makespan,backlog=on,interval=3s", "mrorder:rounds=fti,interval=7s,delay=2s,limit=2,backlog=off",
		"mrorder:backlog=off", "mrorder:backlog=on,sim=2,search=3,limit=4", "mrorder:rounds=offline,backlog=reorder",
		"mrorder:rounds=pnj,jobs=3,timeout=7s,order=mk-tct-jr", "mrorder:rounds=offline,order=worst,locality=off",
		"probe{mrorder}",
	} {
		t.Run(spec, func(t *testing.T) { policytest.Conform(t, policy.All, spec, *seeds/2) })
	}
}

// slotSetup is jobs at time 0 on slots, with task times known.
func slotSetup(jobs []theory.SlotJob, slots theory.Slots) policytest.Setup {
	s := policytest.Setup{
		Nodes: []sched.NodeSpec{
			{
				Name:     "n",
				Capacity: sched.Resources{sched.MapSlots: int64(slots.Map), sched.ReduceSlots: int64(slots.Reduce)},
			},
		},
		Take: func(x policytest.Try) (sched.Time, sched.Outcome) { return x.Job.Stages[x.Stage].Prior, sched.OK },
	}
	for i, j := range jobs {
		s.Jobs = append(s.Jobs, &sched.JobSpec{Name: fmt.Sprint(i), Stages: []sched.StageSpec{
			{
				Kind:    sched.Map,
				PerTask: sched.Resources{sched.MapSlots: 1},
				Tasks:   int32(j.Maps),
				Prior:   seconds(j.MapTime),
			},
			{
				Kind:    sched.Reduce,
				PerTask: sched.Resources{sched.ReduceSlots: 1},
				Tasks:   int32(j.Reduces),
				Prior:   seconds(j.ReduceTime),
				After:   []sched.Dep{{Stage: 0, Part: 1}},
			},
		}})
	}
	return s
}

func seconds(s float64) sched.Time { return sched.Time(s * float64(time.Second)) }

// offline returns what a policy makes of jobs at time 0, and the order in which they first start.
func offline(t *testing.T, s policytest.Setup, p sched.Policy) (r theory.Result, first []int) {
	t.Helper()
	res, err := policytest.Run(s, p)
	if err != nil {
		t.Fatal(err)
	}
	for _, j := range s.Jobs {
		end := res.Ends[j].At.Seconds()
		r.Makespan = max(r.Makespan, end)
		r.Total += end
	}
	for _, e := range res.Log {
		if i := int(e.Stage.Job) - 1; e.Kind == sched.Launch && !slices.Contains(first, i) {
			first = append(first, i)
		}
	}
	return r, first
}

func parsed(t *testing.T, spec string) sched.Policy {
	t.Helper()
	p, _, err := policy.Parse(spec)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

var purdue = []theory.SlotJob{
	{Maps: 160, Reduces: 100, MapTime: 22, ReduceTime: 11}, // 0 Wordcount
	{Maps: 320, Reduces: 200, MapTime: 9, ReduceTime: 24},  // 1 Sort
	{Maps: 480, Reduces: 120, MapTime: 9, ReduceTime: 11},  // 2 Grep
	{Maps: 640, Reduces: 100, MapTime: 32, ReduceTime: 23}, // 3 Inverted-Index
	{Maps: 160, Reduces: 120, MapTime: 6, ReduceTime: 13},  // 4 Classification
	{Maps: 160, Reduces: 150, MapTime: 6, ReduceTime: 13},  // 5 Histogram-Movies
	{Maps: 160, Reduces: 100, MapTime: 18, ReduceTime: 15}, // 6 Histogram-Ratings
	{Maps: 320, Reduces: 150, MapTime: 38, ReduceTime: 21}, // 7 Sequence-Count
	{Maps: 160, Reduces: 100, MapTime: 10, ReduceTime: 26}, // 8 Tera-Sort
}

var purdueSlots = theory.Slots{Map: 57, Reduce: 19}

func TestMROrder42(t *testing.T) {
	for _, c := range []struct {
		order           string
		makespan, total float64
		first           []int
	}{
		{"mk-jr", 1090, 5895, []int{4, 5, 8, 1, 6, 7, 3, 2, 0}},
		{"worst", 1539, 8454, []int{0, 2, 3, 7, 6, 1, 8, 5, 4}},
		{"mk-tct-jr", 1096, 5026, []int{4, 5, 8, 6, 2, 0, 1, 7, 3}},
		{"tct", 1090, 4780, []int{4, 5, 0, 6, 2, 8, 1, 7, 3}},
		{"arrival", 1273, 6672, []int{0, 1, 2, 3, 4, 5, 6, 7, 8}},
	} {
		r, first := offline(t, slotSetup(purdue, purdueSlots), parsed(t, "mrorder:rounds=offline,order="+c.order))
		if r.Makespan != c.makespan || r.Total != c.total || !slices.Equal(first, c.first) {
			t.Errorf("%s: %v in order %v, want %v and %v in order %v", c.order, r, first, c.makespan, c.total, c.first)
		}
	}
}

// n jobs, the k-th as the k-th of the table, round and round.
func TestMROrder42RoundRobin(t *testing.T) {
	for n, want := range map[int]map[string]theory.Result{
		10: {"mk-jr": {Makespan: 1150, Total: 7045}, "worst": {Makespan: 1605, Total: 9166},
			"mk-tct-jr": {Makespan: 1153, Total: 5809}},
		20: {"mk-jr": {Makespan: 2467, Total: 27946}, "worst": {Makespan: 3230, Total: 35655},
			"mk-tct-jr": {Makespan: 2470, Total: 22941}},
		30: {"mk-jr": {Makespan: 3607, Total: 60386}, "worst": {Makespan: 4669, Total: 74771},
			"mk-tct-jr": {Makespan: 3608, Total: 49464}},
	} {
		var jobs []theory.SlotJob
		for k := range n {
			jobs = append(jobs, purdue[k%len(purdue)])
		}
		for order, w := range want {
			if r, _ := offline(t, slotSetup(jobs, purdueSlots), parsed(t, "mrorder:rounds=offline,order="+
				order)); r != w {
				t.Errorf("%d jobs, %s: %v, want %v", n, order, r, w)
			}
		}
	}
}

// Wordcount, Grep, Inverted-Index and Tera-Sort in the best of their 24 orders.
func TestMROrder43(t *testing.T) {
	jobs := []theory.SlotJob{purdue[0], purdue[2], purdue[3], purdue[8]}
	r, _ := offline(t, slotSetup(jobs, purdueSlots), parsed(t, "mrorder:rounds=offline,goal=makespan"))
	if r.Makespan != 663 {
		t.Errorf("makespan %v, want 663", r.Makespan)
	}
}

// The jobs of Table 3.5 are unknown; what it shows is that SIM is never behind the rule. Here with the first n Purdue
// jobs, and beyond the seven that SIM is for, where the search takes over.
func TestMROrder410(t *testing.T) {
	for n := 1; n <= len(purdue); n++ {
		s := func() policytest.Setup { return slotSetup(purdue[:n], purdueSlots) }
		rule, _ := offline(t, s(), parsed(t, "mrorder:rounds=offline,order=mk-jr"))
		best, _ := offline(t, s(), parsed(t, "mrorder:rounds=offline,goal=makespan"))
		if best.Makespan > rule.Makespan {
			t.Errorf("%d jobs: makespan %v, the rule's %v", n, best.Makespan, rule.Makespan)
		}
		rule, _ = offline(t, s(), parsed(t, "mrorder:rounds=offline,order=tct"))
		if best, _ := offline(t, s(), parsed(t, "mrorder:rounds=offline")); best.Total > rule.Total {
			t.Errorf("%d jobs: total %v, the rule's %v", n, best.Total, rule.Total)
		}
	}
}

// With 8 to 40 jobs at time 0 the searched order is, on the engine, never worse than the rule's, and better in most
// draws (of 20, with 50 to 250 orders tried).
func TestMROrderNeverWorseThanItsRule(t *testing.T) {
	better := 0
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		jobs := make([]theory.SlotJob, 8+r.IntN(33))
		for i := range jobs {
			jobs[i] = theory.SlotJob{
				Maps:       1 + r.IntN(20),
				Reduces:    1 + r.IntN(8),
				MapTime:    float64(1 + r.IntN(30)),
				ReduceTime: float64(1 + r.IntN(60)),
			}
		}
		slots := theory.Slots{Map: 1 + r.IntN(12), Reduce: 1 + r.IntN(6)}
		rule, _ := offline(t, slotSetup(jobs, slots), parsed(t, "mrorder:rounds=offline,order=tct"))
		found, _ := offline(t, slotSetup(jobs, slots), parsed(t, "mrorder:rounds=offline,effort=200"))
		if found.Total > rule.Total {
			t.Errorf("seed %d: total %v, the rule's %v", seed, found.Total, rule.Total)
		}
		if found.Total < rule.Total {
			better++
		}
	}
	if better < 15 {
		t.Errorf("better than the rule in %d of 20", better)
	}
}

// An ordering of one's own: the job with the most maps first.
func TestMROrderOwnOrdering(t *testing.T) {
	var seen theory.Slots
	own := func(jobs []theory.SlotJob, slots theory.Slots) []int {
		seen = slots
		order := make([]int, len(jobs))
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(a, b int) int { return jobs[b].Maps - jobs[a].Maps })
		return order
	}
	registry := policy.Registry{"widest": policy.MROrder(own)}
	parse := func(spec string) sched.Policy {
		p, _, err := registry.Parse(spec)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	if _, first := offline(t, slotSetup(purdue, purdueSlots), parse("widest:rounds=offline")); !slices.Equal(first,
		[]int{3, 2, 1, 7, 0, 4, 5, 6, 8}) {
		t.Errorf("order %v, want those with 640, 480, 320, 320 and 160 maps", first)
	}
	if seen != purdueSlots {
		t.Errorf("the ordering was told of %v, want %v", seen, purdueSlots)
	}
	if r, _ := offline(t, slotSetup(purdue, purdueSlots), parse("widest:rounds=offline,order=tct")); r.Total != 4780 {
		t.Errorf("with order=tct a total of %v, want 4780", r.Total)
	}
	if _, _, err := policy.Parse("mrorder:order=own"); err == nil || !strings.Contains(err.Error(), "order=own") {
		t.Errorf("own where there is none: %v", err)
	}
}

// An ordering that forgets a job is a broken one, not a reason to lose the job.
func TestMROrderRefusesNoOrder(t *testing.T) {
	defer func() {
		if r := fmt.Sprint(recover()); !strings.Contains(r, "names not each of them once") {
			t.Errorf("panic %v", r)
		}
	}()
	registry := policy.Registry{"lossy": policy.MROrder(func([]theory.SlotJob, theory.Slots) []int { return nil })}
	p, _, err := registry.Parse("lossy:rounds=offline")
	if err != nil {
		t.Fatal(err)
	}
	_, _ = policytest.Run(slotSetup(purdue, purdueSlots), p)
}

// A job that its user kills while it waits is not released, nor is it missed: the round at 10 s is for the other one.
func TestMROrderKilledWhileWaiting(t *testing.T) {
	core := sched.New(sched.Config{Policy: parsed(t, "mrorder")})
	s := slotSetup(purdue[:2], purdueSlots)
	core.Step(0, []sched.Event{{Kind: sched.NodeJoined, Node: 1, Body: &s.Nodes[0]}})
	core.Step(time.Second, []sched.Event{
		{Kind: sched.JobSubmitted, Job: 1, Body: s.Jobs[0]}, {Kind: sched.JobSubmitted, Job: 2, Body: s.Jobs[1]},
	})
	core.Step(2*time.Second, []sched.Event{{Kind: sched.JobEnded, Job: 1, Outcome: sched.Killed}})
	launches := 0
	for _, a := range core.Step(10*time.Second, nil) {
		if a.Kind == sched.Launch {
			launches++
			if a.Stage.Job != 2 {
				t.Errorf("launched a task of job %d", a.Stage.Job)
			}
		}
	}
	if launches != purdueSlots.Map {
		t.Errorf("%d launches, want one for each of the %d map slots", launches, purdueSlots.Map)
	}
}

// Rounds are at multiples of the interval although an engine with a real clock asks a little late each time: with a job
// that waits whenever one is held, the third round is due at 30 s, not at 30 s and what the first two were late.
func TestMROrderLateClock(t *testing.T) {
	const late = 100 * time.Millisecond
	for _, rounds := range []string{"ati", "fti"} {
		core := sched.New(sched.Config{Policy: parsed(t, "mrorder:rounds="+rounds)})
		s := slotSetup(purdue[:3], purdueSlots)
		core.Step(0, []sched.Event{{Kind: sched.NodeJoined, Node: 1, Body: &s.Nodes[0]}})
		for k, now := range []sched.Time{late, 10*time.Second + 2*late, 20*time.Second + 3*late} {
			var wake sched.Time
			for _, a := range core.Step(now,
				[]sched.Event{{Kind: sched.JobSubmitted, Job: sched.JobID(k + 1), Body: s.Jobs[k]}}) {
				if a.Kind == sched.Wake {
					wake = a.At
				}
			}
			due := sched.Time(k+1) * 10 * time.Second
			if wake != due {
				t.Errorf("%s: round %d is due at %v, want %v", rounds, k+1, wake, due)
			}
			core.Step(due+late, nil)
		}
	}
}

// What a round costs: the jobs of a round come and are ordered, at the defaults but for what the name says.
func BenchmarkMROrderRound(b *testing.B) {
	for _, c := range []struct {
		jobs int
		spec string
	}{
		{7, "mrorder:rounds=offline"}, {30, "mrorder:rounds=offline"}, {200, "mrorder:rounds=offline"},
		{200, "mrorder:rounds=offline,order=mk-tct-jr"}, {10_000, "mrorder:rounds=offline"},
	} {
		b.Run(fmt.Sprintf("%d/%s", c.jobs, c.spec), func(b *testing.B) {
			var jobs []theory.SlotJob
			for k := range c.jobs {
				jobs = append(jobs, purdue[k%len(purdue)])
			}
			s := slotSetup(jobs, purdueSlots)
			events := []sched.Event{{Kind: sched.NodeJoined, Node: 1, Body: &s.Nodes[0]}}
			for i, j := range s.Jobs {
				events = append(events, sched.Event{Kind: sched.JobSubmitted, Job: sched.JobID(i + 1), Body: j})
			}
			for b.Loop() {
				p, _, err := policy.Parse(c.spec)
				if err != nil {
					b.Fatal(err)
				}
				sched.New(sched.Config{Policy: p}).Step(0, events)
			}
		})
	}
}

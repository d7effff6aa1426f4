package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn/sched"
)

func asJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// mrorder 4.1 under FIFO: the jobs end at 16, 8, 26, 44. All are submitted at 0, so these are the sojourn times: mean
// 23.5, median (the 2nd of
// 4) 16. First launches: job 1 and its 8 maps at 0; its last 2 maps at 4 with job 2's 4 maps and job 3's 2; job 4 at 6.
// Map slots: 10·4 + 4·2 + 2·6 + 24·6 = 204 of 8·44 slot-seconds; reduce slots: 2·8 + 4·2 + 4·10 + 6·8 = 112 of 4·44.
func TestTallyOfMROrder41(t *testing.T) {
	var rows bytes.Buffer
	csv := NewJobsCSV(&rows)
	tally := NewTally(TallyOptions{Policy: "fifo", Row: csv.Write, Truth: func(j *sched.Job) (float64, sched.Time) {
		return float64(j.ID), 8 * sec
	}})
	r := mrorder41(sched.Config{}, tally).run()
	got := asJSON(t, tally.Result())
	// Slowdowns 16/8, 1, 26/8, 44/8: mean 23.5/8. Rates 1/2, 1, 4/13, 2/11: Jain = (Σ)²/(4·Σ²).
	x := []float64{1. / 2, 1, 4. / 13, 2. / 11}
	sum, squares := 0.0, 0.0
	for _, x := range x {
		sum, squares = sum+x, squares+x*x
	}
	want := Result{
		Policy:      "fifo",
		JobCounts:   JobCounts{Jobs: 4},
		Tasks:       10 + 2 + 4 + 4 + 2 + 4 + 24 + 6,
		Events:      r.events,
		Makespan:    44,
		Sojourn:     &Distribution{23.5, 16, 44, 44, 44},
		Wait:        &Distribution{(0 + 4 + 4 + 6) / 4., 4, 6, 6, 6},
		Slowdown:    &Distribution{23.5 / 8, 2, 5.5, 5.5, 5.5},
		Utilization: map[string]float64{"map_slots": 204. / (8 * 44), "reduce_slots": 112. / (4 * 44)},
		Fairness:    &Fairness{sum * sum / (4 * squares)},
		Costs: map[string]float64{
			"weighted_response_s": 23.5, "max_weighted_response_s": 44, "avg_stretch": 23.5 / 8, "max_stretch": 5.5,
		},
	}
	// 4 nodes, 4 jobs and 56 ends of attempts.
	if r.events != 4+4+56 {
		t.Errorf("%d events were given, want 64", r.events)
	}
	if d := tally.Result().Fairness.Jain - want.Fairness.Jain; math.Abs(d) > 1e-15 {
		t.Errorf("Jain's index is off by %v", d)
	}
	want.Fairness = tally.Result().Fairness // compared above, up to rounding
	if want := asJSON(t, want); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if err := csv.Close(); err != nil {
		t.Fatal(err)
	}
	const lines = `policy,job,name,queue,user,submit_s,first_launch_s,end_s,sojourn_s,slowdown,size_s,outcome
fifo,2,,default,,0,4,8,8,1,2,ok
fifo,1,,default,,0,0,16,16,2,1,ok
fifo,3,,default,,0,4,26,26,3.25,3,ok
fifo,4,,default,,0,6,44,44,5.5,4,ok
`
	if rows.String() != lines {
		t.Errorf("rows:\n%swant:\n%s", rows.String(), lines)
	}
}

// scripted is a policy that does one thing at each of some instants, and otherwise goes in order.
func scripted(do map[sched.Time]func(*sched.Plan)) sched.Policy {
	order := &inOrder{}
	return policyFunc(func(p *sched.Plan) {
		if f := do[p.Now]; f != nil {
			f(p)
		}
		order.Decide(p)
	})
}

func firstAttempt(p *sched.Plan, st sched.StageID) *sched.Attempt {
	var oldest *sched.Attempt
	for a := range p.Attempts(p.Stage(st)) {
		oldest = a
	}
	return oldest
}

// One node with 2 slots. Job 1: two maps of 10 s. At 2 s the policy suspends its first attempt (the engine says so at 2
// s) and, asked to resume at 5 s, kills the second at 5 s (gone at 5 s: 5 attempt-seconds lost), which starts again at
// once. The first, resumed at 5 s, fails at 12 s: it ran from 0 to 2 and from 5 to 12, so 9 s are lost, not 12.
func TestTallyOfPreemption(t *testing.T) {
	stage := sched.StageID{Job: 1}
	suspended := sched.AttemptID(0)
	policy := scripted(map[sched.Time]func(*sched.Plan){
		2 * sec: func(p *sched.Plan) {
			if a := firstAttempt(p, stage); a.State == sched.Running {
				suspended = a.ID
				p.Suspend(a)
			}
		},
		5 * sec: func(p *sched.Plan) {
			for a := range p.Attempts(p.Stage(stage)) {
				if a.ID != suspended && a.State == sched.Running && a.Start == 0 {
					p.Kill(a, 0)
				}
			}
			if a := p.Attempt(suspended); a != nil && a.State == sched.Suspended {
				p.Resume(a)
			}
		},
	})
	tally := NewTally(TallyOptions{})
	r := newRig(sched.Config{Policy: policy, Can: allPowers}, tally)
	r.node(slots(2, 0))
	r.submit(1, mapReduce(0, 2, 10*sec, 0, 0))
	for _, at := range []sched.Time{2, 5} {
		r.at(at*sec, sched.Event{Kind: sched.Tick})
	}
	r.takes = func(a *sched.Attempt) sched.Time {
		if a.Start == 0 {
			return 100 * sec // said otherwise below, or killed
		}
		return 10 * sec
	}
	for r.core.Now < 2*sec {
		r.step()
	}
	r.at(12*sec, sched.Event{Kind: sched.AttemptDone, Outcome: sched.Failed, Attempt: suspended})
	r.run()
	got := tally.Result()
	if got.Preempted == nil || *got.Preempted != (Preempted{Killed: 1, Suspended: 1}) || got.Lost != 5+9 {
		t.Errorf("preempted %+v, lost %v s; want one of each and 14 s", got.Preempted, got.Lost)
	}
	if got.Makespan != 22 { // the failed task starts again at 12
		t.Errorf("makespan %v, want 22", got.Makespan)
	}
}

// One node with 2 slots, one task of 10 s whose first attempt takes 30 s. A second one, launched at 4 s, is done at 14
// s and wins; the first is killed by the core, which is no preemption, and its 14 s are lost. The job's deadline of 10
// s is missed by 4 s; a second job, at 20 s, meets its own.
func TestTallyOfSpeculationAndDeadlines(t *testing.T) {
	policy := scripted(map[sched.Time]func(*sched.Plan){4 * sec: func(p *sched.Plan) {
		p.Speculate(firstAttempt(p, sched.StageID{Job: 1}), p.Nodes[0], 0)
	}})
	tally := NewTally(TallyOptions{})
	r := newRig(sched.Config{Policy: policy, Can: allPowers}, tally)
	r.node(slots(2, 0))
	late := mapReduce(0, 1, 10*sec, 0, 0)
	late.Deadline = 10 * sec
	r.submit(1, late)
	early := mapReduce(20*sec, 1, 10*sec, 0, 0)
	early.Deadline = 10 * sec
	r.submit(2, early)
	r.at(4*sec, sched.Event{Kind: sched.Tick})
	r.takes = func(a *sched.Attempt) sched.Time {
		if a.Start == 0 {
			return 30 * sec
		}
		return 10 * sec
	}
	r.run()
	got := tally.Result()
	if got.Speculative == nil || *got.Speculative != (Speculative{1, 1}) || got.Preempted != nil || got.Lost != 14 {
		t.Errorf("speculative %+v, preempted %+v, lost %v; want 1 of 1 won, none, 14 s", got.Speculative,
			got.Preempted, got.Lost)
	}
	if got.Deadlines == nil || *got.Deadlines != (Deadlines{Met: 1, Missed: 1, Tardiness: 2}) {
		t.Errorf("deadlines %+v, want one met, one missed, mean tardiness (4+0)/2", got.Deadlines)
	}
}

// Two nodes in two racks, one slot each, and a third node in the rack of the first, without slots. Job 1's maps have
// their input on nodes 1 and 3: the first runs on node 1, where it is; the second on node 2, off its rack; the third,
// when node 1 is free, in the rack of node 3. The job fails after its fourth failure, at 4 s, and what runs of it is
// killed.
func TestTallyOfLocalityAndFailure(t *testing.T) {
	tally := NewTally(TallyOptions{})
	r := newRig(sched.Config{Can: allPowers}, tally)
	r.node(slots(1, 0)) // odd IDs are in rack 2, even ones in rack 1
	r.node(slots(1, 0))
	r.node(sched.Resources{sched.Memory: 1})
	j := mapReduce(0, 3, 10*sec, 0, 0)
	j.Stages[0].Copies, j.Stages[0].Places = 1, []sched.NodeID{1, 3, 3}
	r.submit(1, j)
	r.run()
	got := tally.Result()
	want := &Localities{Node: 1. / 3, Rack: 1. / 3, Off: 1. / 3}
	if !reflect.DeepEqual(got.Locality, want) || got.Failed != 0 {
		t.Errorf("locality %+v of %d failed jobs, want a third each", got.Locality, got.Failed)
	}

	tally = NewTally(TallyOptions{})
	r = newRig(sched.Config{}, tally)
	r.node(slots(2, 0))
	r.submit(1, mapReduce(0, 2, sec, 0, 0))
	r.takes = func(a *sched.Attempt) sched.Time {
		if a.Task == 1 {
			return sec
		}
		return 100 * sec
	}
	for r.step() {
		for i := range r.due {
			if a := r.core.Attempt(r.due[i].ev.Attempt); a != nil && a.Task == 1 {
				r.due[i].ev.Outcome = sched.Failed
			}
		}
	}
	got = tally.Result()
	// Four attempts of a second each failed, and 4 s of the other task's attempt are lost with the job.
	if got.Jobs != 1 || got.Failed != 1 || got.Sojourn != nil || got.Lost != 8 || got.Preempted != nil ||
		got.Makespan != 4 {
		t.Errorf("%s; want one failed job, 8 s lost, nothing preempted", asJSON(t, got))
	}
}

// Percentiles are by nearest rank: with 1..n the p-th is the least k with k ≥ p·n/100.
func TestPercentiles(t *testing.T) {
	for _, c := range []struct{ n, p50, p95, p99 int }{{1, 1, 1, 1}, {2, 1, 2, 2}, {20, 10, 19, 20}, {100, 50, 95, 99},
		{101, 51, 96, 100}, {1000, 500, 950, 990}} {
		var v []sched.Time
		var f []float64
		for k := c.n; k > 0; k-- {
			v, f = append(v, sched.Time(k)*sec), append(f, float64(k))
		}
		want := &Distribution{float64(c.n+1) / 2, float64(c.p50), float64(c.p95), float64(c.p99), float64(c.n)}
		if got := distribution(v); *got != *want {
			t.Errorf("1..%d: %+v, want %+v", c.n, got, want)
		}
		if got := ratios(f); *got != *want {
			t.Errorf("1..%d as numbers: %+v, want %+v", c.n, got, want)
		}
	}
	if distribution(nil) != nil || ratios(nil) != nil || jain(nil) != nil {
		t.Error("nothing has a distribution")
	}
}

func TestSecondsAreExact(t *testing.T) {
	for at, want := range map[sched.Time]string{0: "0", 1: "0.000000001", sec: "1", 1500 * sec / 1000: "1.5",
		12*sec + 34: "12.000000034", -sec / 4: "-0.25"} {
		if got := seconds(at); got != want {
			t.Errorf("%d ns: %s, want %s", at, got, want)
		}
	}
}

// Playing a record shows a follower what the run showed it: every figure of every chaotic run comes out the same, in
// every row.
func TestPlayingIsRunning(t *testing.T) {
	for seed := range uint64(40) {
		var live, later []JobRow
		tally := NewTally(TallyOptions{Row: func(r *JobRow) { live = append(live, *r) }})
		b := recordedAs(t, seed, func(w *Writer) { chaosRun(t, seed, w, tally) })
		got, err := Summarize(reader(t, b), TallyOptions{Row: func(r *JobRow) { later = append(later, *r) }})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		want := tally.Result()
		want.Policy = "chaos"
		for i := range live {
			live[i].Policy = "chaos"
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("seed %d: played %s\nran %s", seed, asJSON(t, got), asJSON(t, want))
		}
		if !slices.Equal(live, later) {
			t.Errorf("seed %d: rows differ:\n%+v\n%+v", seed, later, live)
		}
	}
}

// A replay under another policy, or of a record that was tampered with, says where it parts from the record.
func TestReplayFindsTheDifference(t *testing.T) {
	b := recorded(t, Options{}, func(w *Writer) { mrorder41(sched.Config{}, w).run() })
	done, err := Replay(reader(t, b), 0, deciders(func() sched.Policy { return &inOrder{last: true} }))
	if err != nil {
		t.Fatal(err)
	}
	// The first Step has 4 nodes and 4 jobs; its first action is entry 9: job 1 was launched, job 4 would be.
	d := done.Differs
	if d == nil || d.Step != 1 || d.Entry != 9 || d.At != 0 || !strings.HasPrefix(d.A, "action launch job=1 ") ||
		!strings.HasPrefix(d.B, "action launch job=4 ") {
		t.Errorf("differs: %v", d)
	}
}

// A record whose events no engine gives is damaged. A panic of the policy, of its estimator or of the core is a defect
// of these: it says so, and what to report.
func TestReplayTellsDefects(t *testing.T) {
	fifo := deciders(func() sched.Policy { return &inOrder{} })
	joins := func(w *Writer, at sched.Time) {
		w.Record(at, []sched.Event{{Kind: sched.NodeJoined, Node: 1, Body: &sched.NodeSpec{Capacity: slots(1, 0)}}},
			nil)
	}
	twice := recorded(t, Options{}, func(w *Writer) { joins(w, 0); joins(w, sec) })
	asks := recorded(t, Options{}, func(w *Writer) {
		w.Record(0, []sched.Event{{Kind: sched.JobSubmitted, Job: 1, Body: mapReduce(0, 1, sec, 0, 0)}}, nil)
		w.Record(sec, []sched.Event{{Kind: sched.AsksChanged, Job: 1, Body: &sched.Asks{Stage: 1}}}, nil)
	})
	for want, b := range map[string][]byte{
		"node 1 joins, and is there already":      twice,
		"asks of job 1: stage 1: a new one needs": asks,
	} {
		want = "step 2 at 1s: the record is damaged: no engine gives such events: sched: " + want
		_, err := Replay(reader(t, b), 0, fifo)
		if !errors.Is(err, ErrDamaged) || errors.As(err, new(Defect)) || !strings.Contains(err.Error(), want) {
			t.Errorf("replayed: %v, want %q", err, want)
		}
		if err := Play(reader(t, b)); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), want) {
			t.Errorf("played: %v, want %q", err, want)
		}
	}
	good := write(t, Header{}, Options{Policy: &inOrder{}, Gap: 64, span: 1}, func(w *Writer) {
		mrorder41(sched.Config{}, w).run()
	})
	breaks := deciders(func() sched.Policy { return &breaksAt{at: sec} })
	done, err := Replay(reader(t, good), 0, breaks)
	d := Defect{}
	if !errors.As(err, &d) || errors.Is(err, ErrDamaged) || done.Steps == 0 ||
		!strings.Contains(string(d.Stack), "breaksAt).Decide") {
		t.Fatalf("a policy that panics: %v after %+v", err, done)
	}
	for _, says := range []string{"policy test, its estimator or the core panicked: runtime error: index out of range",
		"a defect of the program and not of the record", "report it"} {
		if !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "snapshot") {
			t.Errorf("%q does not say %q", err, says)
		}
	}
	first := reader(t, good).Marks()[0]
	_, err = Replay(reader(t, good), first.Now+1, breaks)
	if says := fmt.Sprintf("the snapshot at byte %d of the record is wrong", first.Offset); !errors.As(err, &d) ||
		!strings.Contains(err.Error(), says) {
		t.Errorf("from a snapshot: %v, want %q", err, says)
	}
	if err := PlayWith(reader(t, good), panics{}); !errors.As(err, &d) || !strings.Contains(err.Error(),
		"the core or the estimator panicked: no estimate") {
		t.Errorf("an estimator that panics: %v", err)
	}
}

// breaksAt is inOrder until an instant, from which on it panics.
type breaksAt struct {
	inOrder
	at sched.Time
}

func (b *breaksAt) Decide(p *sched.Plan) {
	if p.Now >= b.at {
		_ = p.Nodes[len(p.Nodes)]
	}
	b.inOrder.Decide(p)
}

// panics is an estimator that panics when it learns of a task.
type panics struct{ sched.Estimator }

func (panics) Observe(*sched.Attempt, sched.Time, *sched.Counters) { panic("no estimate") }

// A sample of job 1 is no job of its own; an engine that says that a job is over when its last task is done ends it
// once; and until a job has ended it counts as unfinished, and the use so far counts: 1 of 2 slots from 0 to 4 s, 2
// from there to 6 s.
func TestTallyOfSamplesAndEnds(t *testing.T) {
	rows := 0
	tally := NewTally(TallyOptions{Row: func(*JobRow) { rows++ }})
	r := newRig(sched.Config{}, tally)
	r.node(slots(2, 0))
	r.submit(1, mapReduce(0, 1, 10*sec, 0, 0))
	sample := mapReduce(4*sec, 1, 6*sec, 0, 0)
	sample.Probes = 1
	r.submit(2, sample)
	r.at(6*sec, sched.Event{Kind: sched.Tick})
	r.at(10*sec, sched.Event{Kind: sched.JobEnded, Job: 1, Outcome: sched.Killed})
	for r.core.Now < 6*sec {
		r.step()
	}
	if got := tally.Result(); got.Unfinished != 1 || got.Jobs != 0 || got.Utilization["map_slots"] != (4+2*2)/(2*6.) {
		t.Errorf("at 6 s: %s", asJSON(t, got))
	}
	r.run()
	if got := tally.Result(); got.Unfinished != 0 || got.Jobs != 1 || got.Killed != 0 || rows != 1 || got.Tasks != 1 {
		t.Errorf("in the end: %s, %d rows", asJSON(t, got), rows)
	}
}

// The cluster is there from 0, the job from 1 s to 8 s: what counts is the time between its submission and its end.
func TestUtilizationIsOverTheMakespan(t *testing.T) {
	tally := NewTally(TallyOptions{})
	small(tally)
	want := map[string]float64{"map_slots": 2 * 4 / (2 * 7.), "reduce_slots": 3 / 7.}
	if got := tally.Result(); !reflect.DeepEqual(got.Utilization, want) || got.Makespan != 7 {
		t.Errorf("%v over %v s, want %v over 7 s", got.Utilization, got.Makespan, want)
	}
}

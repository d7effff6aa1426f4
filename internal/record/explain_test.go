package record

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn/sched"
)

// explainAt runs what run sets up, records it, and explains a job's first stage that has tasks waiting.
func explainAt(t *testing.T, config sched.Config, q Question, run func(*rig)) StageExplanation {
	t.Helper()
	var b []byte
	{
		var out strings.Builder
		w, err := NewWriter(&out, Header{Policy: "test", Core: CoreConfigOf(config)}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		r := newRig(config, w)
		run(r)
		r.run()
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		b = []byte(out.String())
	}
	e, err := Explain(reader(t, b), q, deciders(func() sched.Policy {
		if config.Policy == nil {
			return &inOrder{}
		}
		return config.Policy
	}))
	if err != nil {
		t.Fatal(err)
	}
	if _, ranks := config.Policy.(Ranker); e.State != "unfinished" || config.Policy != nil && ranks != (e.Note == "") {
		t.Fatalf("%+v", e)
	}
	for _, s := range e.Stages {
		if s.Waiting > 0 {
			return s
		}
	}
	return e.Stages[0]
}

// withholding is ranked, and says why it lets a kind of stage not start.
type withholding struct {
	ranked
	kind sched.StageKind
}

func (w *withholding) Withheld(_ *sched.View, st *sched.Stage) string {
	if st.Kind == w.kind {
		return "user u uses 1 of at most 1"
	}
	return ""
}

// ranked is a policy function that orders stages by submission, and keeps some out of its order.
type ranked struct {
	decide func(*sched.Plan)
	out    func(*sched.Stage) bool
}

func (r *ranked) Decide(p *sched.Plan) { r.decide(p) }
func (r *ranked) Position(_ *sched.View, st *sched.Stage) (sched.Key, bool) {
	return sched.Key{}, r.out == nil || !r.out(st)
}

func TestExplain(t *testing.T) {
	mem := func(submit sched.Time, tasks int32, memory int64, takes sched.Time) *sched.JobSpec {
		j := mapReduce(submit, tasks, takes, 0, 0)
		j.Stages[0].PerTask = sched.Resources{sched.Memory: memory}
		return j
	}
	launchOnly := func(jobs ...sched.JobID) func(*sched.Plan) {
		return func(p *sched.Plan) {
			for j := range p.Jobs() {
				for _, st := range j.Stages {
					for slices.Contains(jobs, j.ID) && st.Pending > 0 && p.First(st) != nil {
						p.Launch(st, p.First(st))
					}
				}
			}
		}
	}
	cases := []struct {
		name   string
		config sched.Config
		q      Question
		run    func(*rig)
		want   Reason
		detail string // part of it
		ahead  int
		holder sched.JobID
	}{
		{"the reduces wait for the maps", sched.Config{}, Question{1, 5 * sec}, func(r *rig) {
			r.node(slots(2, 1))
			r.submit(1, mapReduce(0, 2, 10*sec, 1, sec))
		}, EarlierStage, "starts when 1 of stage 0 (map) is done; 0 of 2 tasks are", 0, 0},
		{"the tasks were not asked for", sched.Config{}, Question{1, 5 * sec}, func(r *rig) {
			r.node(slots(2, 1))
			j := mapReduce(0, 2, 10*sec, 0, 0)
			j.Stages[0].Asked = true
			r.submit(1, j)
			r.at(9*sec, sched.Event{Kind: sched.JobEnded, Job: 1, Outcome: sched.Killed})
		}, NotAsked, "has not asked for its tasks", 0, 0},
		{"a reduce slot is taken while all maps run", sched.Config{}, Question{1, 5 * sec}, func(r *rig) {
			r.node(slots(2, 1))
			r.submit(1, mapReduce(0, 2, 10*sec, 0, 0))
		}, NothingWaits, "run or are done", 0, 0},
		{"the node is full", sched.Config{}, Question{2, 5 * sec}, func(r *rig) {
			r.node(slots(1, 0))
			r.submit(1, mapReduce(0, 1, 10*sec, 0, 0))
			r.submit(2, mapReduce(0, 1, 10*sec, 0, 0))
		}, NoNodeFits, "no node of 1 has that free", 0, 1},
		{"the node is full, and another comes first", sched.Config{}, Question{3, 5 * sec}, func(r *rig) {
			r.node(slots(1, 0))
			for id := range sched.JobID(3) {
				r.submit(id+1, mapReduce(0, 1, 10*sec, 0, 0))
			}
		}, NoNodeFits, "1 stage comes first", 1, 1},
		{"a reduce that waits is not ahead of a map", sched.Config{}, Question{3, 5 * sec}, func(r *rig) {
			r.node(slots(1, 0))
			r.submit(1, mapReduce(0, 1, 10*sec, 0, 0))
			j := mapReduce(0, 0, 0, 1, sec)
			r.submit(2, j)
			r.submit(3, mapReduce(0, 1, 10*sec, 0, 0))
		}, NoNodeFits, "no node of 1 has that free", 0, 1},
		{"no node is that large", sched.Config{}, Question{1, 5 * sec}, func(r *rig) {
			r.node(sched.Resources{sched.Memory: 4})
			r.submit(1, mem(0, 1, 5, sec))
		}, TooLarge, "memory:5, more than any node of 1", 0, 0},
		{
			"the queue has its maximum",
			sched.Config{
				Queues: []*sched.QueueSpec{{Name: "a", Max: sched.Share{Amount: sched.Resources{sched.Memory: 3}}}},
			},
			Question{1, 5 * sec},
			func(r *rig) {
				r.node(sched.Resources{sched.Memory: 10})
				j := mem(0, 2, 2, 10*sec)
				j.Queue = "a"
				r.submit(1, j)
			},
			QueueMaximum,
			"queue a uses 2 of at most 3 memory, and a task takes 2",
			0,
			0,
		},
		{
			"the queue has room for just one more",
			sched.Config{
				Queues: []*sched.QueueSpec{{Name: "a", Max: sched.Share{Amount: sched.Resources{sched.Memory: 4}}}},
			},
			Question{1, 5 * sec},
			func(r *rig) {
				r.node(sched.Resources{sched.Memory: 3})
				j := mem(0, 2, 2, 10*sec)
				j.Queue = "a"
				r.submit(1, j)
			},
			NoNodeFits,
			"memory:2",
			0,
			1,
		},
		{
			"a job that runs comes before no other",
			sched.Config{Policy: &ranked{decide: launchOnly(1)}},
			Question{2, 5 * sec},
			func(r *rig) {
				r.node(slots(3, 0))
				r.submit(1, mapReduce(0, 1, 10*sec, 0, 0))
				r.submit(2, mapReduce(0, 1, 10*sec, 0, 0))
				r.at(9*sec, sched.Event{Kind: sched.JobEnded, Job: 2, Outcome: sched.Killed})
			},
			Held,
			"waits for a better one",
			0,
			0,
		},
		{
			"the node reported when the job came",
			sched.Config{Heartbeats: true, Policy: &ranked{decide: launchOnly()}},
			Question{1, 5 * sec},
			func(r *rig) {
				r.node(slots(1, 0))
				r.at(3*sec, sched.Event{Kind: sched.NodeReported, Node: 1})
				r.submit(1, mapReduce(3*sec, 1, 10*sec, 0, 0))
				r.at(9*sec, sched.Event{Kind: sched.JobEnded, Job: 1, Outcome: sched.Killed})
			},
			Held,
			"waits for a better one",
			0,
			0,
		},
		{"the free node is kept for another", sched.Config{Policy: policyFunc(func(p *sched.Plan) {
			if one := p.Job(1); one != nil && p.Nodes[0].Reserved.Job == 0 && one.Stages[0].Pending > 0 {
				p.Reserve(one.Stages[0], p.Nodes[0])
			}
		})}, Question{2, 5 * sec}, func(r *rig) {
			r.node(slots(1, 0))
			r.submit(1, mapReduce(0, 1, 10*sec, 0, 0))
			r.submit(2, mapReduce(0, 1, 10*sec, 0, 0))
			r.at(9*sec, sched.Event{Kind: sched.JobEnded, Job: 1, Outcome: sched.Killed})
			r.at(9*sec, sched.Event{Kind: sched.JobEnded, Job: 2, Outcome: sched.Killed})
		}, ReservedRoom, "n1 for job 1 stage 0", 0, 0},
		{"tasks failed on the only free node", sched.Config{}, Question{1, 31 * sec}, func(r *rig) {
			for range 4 { // a job may avoid a third of the nodes
				r.node(slots(1, 0))
			}
			j := mapReduce(0, 4, 10*sec, 0, 0)
			j.Stages[0].MaxAttempts = 9
			r.submit(1, j)
			failFirstNode(r, 3)
		}, Blacklisted, "n1 have room, and the job avoids them", 0, 0},
		{
			"the policy keeps the job back",
			sched.Config{Policy: &ranked{launchOnly(1), func(st *sched.Stage) bool { return st.ID.Job == 2 }}},
			Question{2, 5 * sec},
			func(r *rig) {
				r.node(slots(3, 0))
				r.submit(1, mapReduce(0, 1, 10*sec, 0, 0))
				r.submit(2, mapReduce(0, 1, 10*sec, 0, 0))
				r.at(9*sec, sched.Event{Kind: sched.JobEnded, Job: 2, Outcome: sched.Killed})
			},
			Held,
			"no place for the stage",
			0,
			0,
		},
		{
			"the policy says what keeps the job back",
			sched.Config{Policy: &withholding{ranked{launchOnly(1), nil}, sched.Map}},
			Question{2, 5 * sec},
			func(r *rig) {
				r.node(slots(3, 0))
				r.submit(1, mapReduce(0, 1, 10*sec, 0, 0))
				r.submit(2, mapReduce(0, 1, 10*sec, 0, 0))
				r.at(9*sec, sched.Event{Kind: sched.JobEnded, Job: 2, Outcome: sched.Killed})
			},
			UserLimit,
			"user u uses 1 of at most 1",
			0,
			0,
		},
		{
			"the first in order is waited for",
			sched.Config{Policy: &ranked{decide: launchOnly()}},
			Question{2, 5 * sec},
			func(r *rig) {
				r.node(slots(3, 0))
				r.submit(1, mapReduce(0, 1, 10*sec, 0, 0))
				r.submit(2, mapReduce(0, 1, 10*sec, 0, 0))
				r.at(9*sec, sched.Event{Kind: sched.JobEnded, Job: 1, Outcome: sched.Killed})
				r.at(9*sec, sched.Event{Kind: sched.JobEnded, Job: 2, Outcome: sched.Killed})
			},
			Behind,
			"the first of job 1",
			1,
			0,
		},
		{
			"the first in order waits by itself",
			sched.Config{Policy: &ranked{decide: launchOnly()}},
			Question{1, 5 * sec},
			func(r *rig) {
				r.node(slots(3, 0))
				r.submit(1, mapReduce(0, 1, 10*sec, 0, 0))
				r.at(9*sec, sched.Event{Kind: sched.JobEnded, Job: 1, Outcome: sched.Killed})
			},
			Held,
			"waits for a better one",
			0,
			0,
		},
		{
			"a policy without order launches nothing",
			sched.Config{Policy: policyFunc(func(*sched.Plan) {})},
			Question{1, 5 * sec},
			func(r *rig) {
				r.node(slots(3, 0))
				r.submit(1, mapReduce(0, 1, 10*sec, 0, 0))
				r.at(9*sec, sched.Event{Kind: sched.JobEnded, Job: 1, Outcome: sched.Killed})
			},
			Unordered,
			"n1 fit",
			0,
			0,
		},
		{"no node has reported", sched.Config{Heartbeats: true}, Question{1, 5 * sec}, func(r *rig) {
			r.node(slots(1, 0))
			r.at(2*sec, sched.Event{Kind: sched.NodeReported, Node: 1})
			r.submit(1, mapReduce(3*sec, 1, 10*sec, 0, 0))
			r.at(7*sec, sched.Event{Kind: sched.NodeReported, Node: 1})
		}, NoReport, "n1 have room, and have not reported since", 0, 0},
	}
	for _, c := range cases {
		c.config.Can = allPowers
		t.Run(c.name, func(t *testing.T) {
			got := explainAt(t, c.config, c.q, c.run)
			if got.Reason != c.want || !strings.Contains(got.Detail, c.detail) || got.Ahead != c.ahead ||
				len(got.Before) != c.ahead {
				t.Errorf("%+v\nwant %q, %q, %d ahead", got, c.want, c.detail, c.ahead)
			}
			if c.holder != 0 && (len(got.Holders) != 1 || got.Holders[0] != (Holder{Job: c.holder, Attempts: 1})) {
				t.Errorf("holders %+v, want job %d", got.Holders, c.holder)
			}
		})
	}
}

// failFirstNode has the first attempts on node 1 fail, a second apart, until n have.
func failFirstNode(r *rig, n int) {
	r.takes = func(a *sched.Attempt) sched.Time {
		if a.Node == 1 && n > 0 {
			n--
			r.at(a.Start+sec, sched.Event{Kind: sched.AttemptDone, Outcome: sched.Failed, Attempt: a.ID})
			return 1000 * sec // stale by then
		}
		if a.Stage.ID.Job == 1 {
			return 400 * sec
		}
		return a.Stage.Spec.Prior
	}
}

// What is not there to explain is said; a policy that decides otherwise now is noticed.
func TestExplainWhatItCannot(t *testing.T) {
	b := recorded(t, Options{}, func(w *Writer) { mrorder41(sched.Config{}, w).run() })
	for _, c := range []struct {
		q    Question
		want string
	}{{Question{9, 5 * sec}, "unknown"}, {Question{2, 8 * sec}, "ended"}, {Question{2, 50 * sec}, "ended"},
		{Question{2, 7 * sec}, "unfinished"}} {
		e, err := Explain(reader(t, b), c.q, nil)
		if err != nil || e.State != c.want {
			t.Errorf("%+v: %+v, %v; want %s", c.q, e, err, c.want)
		}
		if c.want == "unknown" && !strings.Contains(e.Note, "no job 9") {
			t.Errorf("of a job that never was it is noted: %q", e.Note)
		}
		if c.want == "ended" && e.Ended != 8 {
			t.Errorf("job 2 ended at %v, want 8", e.Ended)
		}
	}
	e, err := Explain(reader(t, b), Question{4, 2 * sec}, deciders(func() sched.Policy { return &inOrder{last: true} }))
	if err != nil || !strings.Contains(e.Note, "decides otherwise now") || e.Stages[0].Reason != NoNodeFits {
		t.Errorf("under another policy: %+v, %v", e, err)
	}
	broken := fmt.Errorf("no such policy")
	if _, err := Explain(reader(t, b), Question{1, 0}, func(*Header) (sched.Policy, sched.Estimator, error) {
		return nil, nil, broken
	}); err == nil ||
		!strings.Contains(err.Error(), "no such policy") {
		t.Errorf("without a policy: %v", err)
	}
}

package model

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/sojourn-sched/sojourn/sched"
)

// conformance runs jobs on a core whose estimator is under test: one task at a time, on the node whose turn it is.
type conformance struct {
	core    *sched.Core
	submits sched.JobID
	ended   int
	actions []sched.Action // of the last Step
}

// pair tells a second estimator, unless it is nil, of what the first one learns.
type pair struct {
	sched.Estimator
	second sched.Estimator
}

// Observe implements sched.Estimator.
func (p *pair) Observe(a *sched.Attempt, took sched.Time, c *sched.Counters) {
	p.Estimator.Observe(a, took, c)
	if p.second != nil {
		p.second.Observe(a, took, c)
	}
}

// Decide starts the first task that waits, unless one runs.
func (c *conformance) Decide(p *sched.Plan) {
	for j := range p.Jobs() {
		for _, st := range j.Stages {
			if st.Running > 0 {
				return
			}
		}
	}
	for j := range p.Jobs() {
		for _, st := range j.Stages {
			if st.Pending > 0 {
				p.Launch(st, p.Nodes[c.ended%len(p.Nodes)])
				return
			}
		}
	}
}

// newConformance returns a core with three nodes of two classes.
func newConformance(e sched.Estimator) *conformance {
	c := &conformance{}
	c.core = sched.New(sched.Config{Policy: c, Estimator: e})
	for i, class := range []string{"plain", "cell", "plain"} {
		c.core.Step(0, []sched.Event{{Kind: sched.NodeJoined, Node: sched.NodeID(i + 1), Body: &sched.NodeSpec{
			Class: class, Capacity: sched.Resources{sched.Memory: 4096},
		}}})
	}
	return c
}

// run submits a job and ends up to most tasks, of this job or of earlier ones.
func (c *conformance) run(spec *sched.JobSpec, most int) *sched.Job {
	c.submits++
	id := c.submits
	started := c.core.Step(c.core.Now, []sched.Event{{Kind: sched.JobSubmitted, Job: id, Body: spec}})
	if len(started) > 0 {
		c.actions = started
	}
	job := c.core.Job(id)
	c.end(most)
	return job
}

// end ends up to most tasks. Their times and counters differ by job, stage, class and task.
func (c *conformance) end(most int) {
	for ; most > 0 && len(c.actions) > 0; most-- {
		a := c.core.Attempt(c.actions[0].Attempt)
		n := sched.Time(7*int(a.Stage.ID.Job) + 11*int(a.Stage.ID.Index) + 5*int(a.Class) + c.ended%3)
		counters := &sched.Counters{
			InputBytes: int64(n) << 16, OutputBytes: int64(n) << 12, InputRecords: int64(n) * 90,
			OutputRecords: int64(n) * 70,
		}
		counters.Phases[sched.PhaseMap], counters.Phases[sched.PhaseReduce] = n*sec/2, n*sec/3
		c.ended++
		c.actions = c.core.Step(c.core.Now+n*sec, []sched.Event{
			{Kind: sched.AttemptDone, Attempt: a.ID, Body: counters},
		})
	}
}

// conformJob is a job of ana's or bo's with a name that comes again. It probes the job with the ID probes, unless that
// is zero.
func conformJob(i int, probes sched.JobID) *sched.JobSpec {
	spec := &sched.JobSpec{
		User: []string{"ana", "bo"}[i%2], Name: []string{"sort", "grep", "join"}[i%3],
		Type:   []string{"sort", "scan"}[i%2],
		Probes: probes, Payload: fixed{10 * sec, 20 * sec},
		Stages: []sched.StageSpec{
			{Kind: sched.Map, Tasks: int32(3 + i%5), InputBytes: int64(3+i) << 24},
			{Kind: sched.Reduce, Tasks: int32(2 + i%3)},
		},
	}
	for k := range spec.Stages {
		st := &spec.Stages[k]
		st.PerTask, st.Prior, st.MaxAttempts = sched.Resources{sched.Memory: 1024}, sec, 4
		if probes != 0 {
			st.Tasks, st.InputBytes = 1, 1<<20
		}
	}
	return spec
}

// estimates are all that e says of jobs, one line each.
func estimates(e sched.Estimator, jobs []*sched.Job) (lines []string) {
	for _, j := range jobs {
		size, known := e.Size(j)
		lines = append(lines, fmt.Sprintf("job %d: size %v, known %v", j.ID, size, known))
		for _, st := range j.Stages {
			for class := range sched.ClassID(3) {
				lines = append(lines, fmt.Sprintf("stage %v, class %d: %+v", st.ID, class, e.Estimate(st, class)))
			}
		}
	}
	return lines
}

// What an estimator remembers survives JSON, as a restart of an engine needs it. Each estimator of All learns from 20
// jobs of several kinds, each with a probe, on two classes of nodes. Then a copy that has its memory as JSON says the
// same of jobs that have not run, that run, and that were probed, also when a job that ran meanwhile has ended. An
// estimator that is not told the truth says other things of them than a fresh one does: it has learned.
func TestConform(t *testing.T) {
	for _, spec := range All.Examples() {
		t.Run(spec, func(t *testing.T) {
			made := func() sched.Estimator {
				e, _, err := All.Parse(spec, truth)
				if err != nil {
					t.Fatal(err)
				}
				return e
			}
			e, again, fresh := made(), made(), made()
			both := &pair{Estimator: e}
			c := newConformance(both)
			attach := func(e sched.Estimator) {
				if a, ok := e.(interface{ Attach(*sched.View) }); ok {
					a.Attach(&c.core.View)
				}
			}
			attach(e)
			for i := range 20 {
				c.run(conformJob(i, c.submits+2), 1000)
				c.run(conformJob(i, 0), 1000)
			}
			c.run(conformJob(20, c.submits+4), 1000)
			c.run(conformJob(19, c.submits+2), 1000)
			running := c.run(conformJob(19, 0), 3)
			other := conformJob(24, 0)
			other.User, other.Name = "cleo", "new"
			jobs := []*sched.Job{running, c.run(conformJob(20, 0), 0), c.run(other, 0)}
			memory, err := json.Marshal(e)
			if err == nil {
				err = json.Unmarshal(memory, again)
			}
			if err != nil {
				t.Fatal(err)
			}
			attach(again)
			attach(fresh)
			same := func(when string) {
				t.Helper()
				want := estimates(e, jobs)
				for i, got := range estimates(again, jobs) {
					if got != want[i] {
						t.Errorf("%s, after a way through JSON: %s; without: %s", when, got, want[i])
					}
				}
			}
			if card, _ := All.Find(spec); !card.Truth && slices.Equal(estimates(e, jobs), estimates(fresh, jobs)) {
				t.Error("after 20 jobs it estimates as a fresh one does")
			}
			same("after 20 jobs")
			both.second = again
			c.end(int(running.Stages[0].Pending + running.Stages[1].Total + 1))
			same("after the job that ran has ended")
		})
	}
}

package ltyarn

import (
	"context"
	"math"

	"github.com/sojourn-sched/sojourn/internal/reproduce/paper"
	"github.com/sojourn-sched/sojourn/internal/theory/reference"
	"github.com/sojourn-sched/sojourn/policy"
	"github.com/sojourn-sched/sojourn/sched"
)

// letters are policies that an experiment alone has: LTYARN's engine written as the thesis says it
// (reference.LongTermTree), behind the interface of policies.
var letters = policy.Registry{"letter": {
	Card: policy.Card{
		Title:  "LTYARN by the letter",
		Source: "S. Tang, PhD thesis, 5.3 and 5.4",
		Params: []policy.Param{{Name: "quantum", Kind: policy.Duration, Default: "10s",
			Meaning: "how long tasks are assumed to run where nothing is known"}},
	},
	New: func(a policy.Args) sched.Policy {
		l := &letter{
			tree: reference.LongTermTree{Root: &reference.LongTermNode{Name: "root", Weight: 1}, Discount: 1,
				Capacity: containers * containerMiB},
			queues: map[string]*letterRow{}, jobs: map[sched.JobID]*letterRow{},
			tasks: map[sched.AttemptID]*reference.LongTermTask{},
		}
		quanta := reference.NewQuantum(a.Time("quantum").Seconds())
		for _, name := range queueNames {
			node := &reference.LongTermNode{Name: name, Weight: 1, Order: reference.ArrivalOrder}
			l.queues[name] = &letterRow{node: l.tree.Add(l.tree.Root, node), quantum: quanta.Below()}
		}
		return l
	},
}}

// A letter starts one task after the other where the tree says, and brings the tree up to now at every decision.
type letter struct {
	tree   reference.LongTermTree
	queues map[string]*letterRow
	jobs   map[sched.JobID]*letterRow
	live   []*letterRow // jobs that have not ended, in order of arrival
	tasks  map[sched.AttemptID]*reference.LongTermTask
}

// A letterRow is a queue or a job.
type letterRow struct {
	node    *reference.LongTermNode
	quantum *reference.Quantum
	job     *sched.Job // nil of a queue
}

// Decide implements sched.Policy.
func (l *letter) Decide(p *sched.Plan) {
	l.tree.Tick(p.Now.Seconds())
	for i := range p.Events {
		l.follow(p, &p.Events[i])
	}
	for _, r := range l.live {
		r.node.Pending, r.node.Quantum = 0, r.quantum.Assumed
		if st := r.waits(); st != nil {
			r.node.Pending, r.node.Size = int(st.Pending), float64(st.Spec.PerTask[sched.Memory])
		}
	}
	l.tree.Tick(p.Now.Seconds())
	for l.start(p) {
	}
}

// waits returns the stage of a job that waits; nil: none does. Its stages run one after the other.
func (r *letterRow) waits() *sched.Stage {
	for _, st := range r.job.Stages {
		if st.Pending > 0 {
			return st
		}
	}
	return nil
}

// follow tells the tree and the quanta of a job that came or ended, or of a task that ended.
func (l *letter) follow(p *sched.Plan, e *sched.Event) {
	switch e.Kind {
	case sched.JobSubmitted:
		j := p.Job(e.Job)
		q := l.queues[j.Spec.Queue]
		node := l.tree.Add(q.node, &reference.LongTermNode{Weight: 1})
		r := &letterRow{node: node, quantum: q.quantum.Below(), job: j}
		l.jobs[j.ID] = r
		l.live = append(l.live, r)
	case sched.JobEnded:
		for i, r := range l.live {
			if r.job.ID == e.Job {
				r.quantum.Gone()
				r.node.Pending = 0
				l.live = append(l.live[:i:i], l.live[i+1:]...)
				return
			}
		}
	case sched.AttemptDone:
		a := p.Attempt(e.Attempt)
		l.jobs[a.Stage.Job.ID].quantum.Finished(l.tree.Finish(l.tasks[a.ID]))
		delete(l.tasks, a.ID)
	}
}

// start starts the next task; false: none that waits has room.
func (l *letter) start(p *sched.Plan) bool {
	room := int64(0)
	for _, n := range p.Nodes {
		room = max(room, n.Free()[sched.Memory])
	}
	next := l.tree.Next(float64(room))
	for _, r := range l.live {
		if r.node != next {
			continue
		}
		st := r.waits()
		n := p.First(st)
		if n == nil || !p.Launch(st, n) {
			return false
		}
		started := p.Actions()[len(p.Actions())-1]
		l.tasks[started.Attempt] = l.tree.Start(next)
		return true
	}
	return false
}

func letterPart() paper.Part {
	specs := []struct{ name, says, spec string }{
		{"letter600", "by the letter, Q₀ 600 s", "letter:quantum=600s"},
		{"par600", "`longterm` with `par=on`, Q₀ 600 s", remembers + ",par=on,quantum=600s"},
		{"plain600", "`longterm` without PAR, Q₀ 600 s", remembers + ",quantum=600s"},
		{"letter10", "by the letter, Q₀ 10 s", "letter:quantum=10s"},
		{"par10", "`longterm` with `par=on`, Q₀ 10 s", remembers + ",par=on,quantum=10s"},
		{"plain10", "`longterm` without PAR, Q₀ 10 s", remembers},
	}
	p := paper.Part{
		Title: "By the letter", Trials: 12,
		How: "Is it the policy that misses a published figure? The four workloads under LTYARN's engine, written " +
			"down as the thesis prints it (package `internal/theory/reference`: resource controller, quantum " +
			"updater, allocator; PAR frozen at arrival), and under `longterm` with and without PAR. Q₀ is what is " +
			"assumed where nothing is known; it adapts.",
		Reading: "In the median the policy with PAR does what the engine by the letter does; single trials differ by " +
			"more. So what the four workloads miss is not due to a difference between the two. The experiment shows " +
			"another thing: a newcomer's PAR takes over what the queue before it is counted for, with the quantum " +
			"that is assumed at that instant. When the first tasks of that queue have ended its account falls, and " +
			"the newcomer's PAR does not. With a Q₀ far from the tasks newcomers starve for as long as nothing is " +
			"forgotten, also if the quantum adapts. That is why PAR is off by default.",
		Trial: func(ctx context.Context, _ paper.Lab, seed uint64) (paper.Sample, error) {
			s := paper.Sample{}
			ends := map[string]map[string]float64{}
			for _, c := range specs {
				set, w := fourQueues(assumed.jobs(seed), seed, false), &sharing{}
				if c.name[0] == 'l' {
					set.Policies = letters
				}
				var err error
				if ends[c.name], err = runFour(ctx, set, c.spec, w); err != nil {
					return nil, err
				}
				s.Set(c.name+" omega", paper.Mean(w.omega))
			}
			for _, q := range []string{"600", "10"} {
				apart := 0.0
				for _, name := range queueNames {
					apart = max(apart, math.Abs(paper.Gain(ends["letter"+q][name], ends["par"+q][name])))
				}
				s.Set("apart"+q, apart)
				s.Set("omegas"+q, math.Abs(s.Of("letter"+q+" omega")-s.Of("par"+q+" omega")))
			}
			s.Set("harm", s.Of("par600 omega")-s.Of("plain600 omega"))
			return s, nil
		},
	}
	for _, c := range specs {
		p.Claims = append(p.Claims,
			paper.Claim{Where: "Engine", Says: c.says + ": Ω on average", Figure: c.name + " omega", Own: true})
	}
	for _, q := range []string{"600", "10"} {
		p.Claims = append(p.Claims,
			paper.Claim{Where: "Engine", Says: "letter and `par=on`, Q₀ " + q + " s: Ω on average differs by",
				Figure: "omegas" + q, Own: true, Agrees: paper.AtMost(0.05)},
			paper.Claim{Where: "Engine", Says: "the same: the time to a queue's last job differs by at most", Unit: "%",
				Figure: "apart" + q, Own: true, Agrees: paper.AtMost(10)})
	}
	p.Claims = append(p.Claims, paper.Claim{Where: "Formula 5.16", Says: "with Q₀ 600 s PAR changes Ω on average by",
		Figure: "harm", Own: true, Agrees: paper.Below(0)})
	return p
}

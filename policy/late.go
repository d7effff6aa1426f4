package policy

import (
	"cmp"
	"slices"

	"github.com/sojourn-sched/sojourn/sched"
)

var lateCard = Card{
	Title: "second attempts for tasks that will end last, on nodes that are not slow, around any policy",
	Source: "Zaharia et al., Improving MapReduce Performance in Heterogeneous Environments (LATE), OSDI 2008, 4.1; " +
		"times as in Hadoop's speculator",
	Spec:     "docs/spec/policies.md#late",
	Needs:    sched.CanNameTasks,
	Wraps:    true,
	Progress: true,
	Params:   speculating(),
	Memory:   []string{"second attempts that run", "by node: how many tasks were finished there"},
}

// speculating appends the parameters of every policy that starts second attempts.
func speculating(own ...Param) []Param {
	return append(
		own,
		Param{
			Name:    "cap",
			Kind:    Number,
			Default: "0.1",
			Max:     1,
			Meaning: "how many second attempts may run at once, as a part of the cluster's slots; one always may " +
				"(SpeculativeCap)",
		},
		Param{
			Name:    "slow-node",
			Kind:    Number,
			Default: "0.25",
			Max:     1,
			Meaning: "part of the nodes, those with the least progress, that get no second attempts " +
				"(SlowNodeThreshold)",
		},
		Param{
			Name:    "slow-task",
			Kind:    Number,
			Default: "0.25",
			Max:     1,
			Meaning: "part of a stage's tasks, those with the slowest progress, that may get a second attempt " +
				"(SlowTaskThreshold)",
		},
		Param{Name: "min-run", Kind: Duration, Default: "60s", Meaning: "how long a task must have run before it " +
			"gets a second attempt"},
		Param{
			Name:    "check",
			Kind:    Duration,
			Default: "1s",
			Min:     0.001,
			Meaning: "how often the policy looks for slow tasks",
		},
	)
}

// late lets another policy decide, and then uses the room that is left for second attempts of the tasks that are
// estimated to end last.
//
// The inner policy sees a second attempt only when it is asked the next time. For an inner policy that takes tasks
// back, it therefore matters how often it is asked.
type late struct {
	stragglers
	wrapper
}

func newLate(a Args) sched.Policy {
	l := &late{wrapper: wrapper{a.Inner}}
	l.set(a)
	return l
}

// Decide asks the inner policy to decide, then starts second attempts.
func (l *late) Decide(p *sched.Plan) {
	l.count(p)
	l.Inner.Decide(p)
	if l.due(p, l.check) {
		l.speculate(p)
	}
}

// speculate starts second attempts of slow tasks on nodes that are not slow.
func (l *late) speculate(p *sched.Plan) {
	if l.left(p) <= 0 || len(l.find(p, false)) == 0 {
		return
	}
	threshold := l.scoreNodes(p)
	for _, c := range l.slow {
		if l.left(p) <= 0 {
			return
		}
		for n := range p.Fits(c.attempt.Stage, 0) {
			if n.ID != c.attempt.Node && l.scores[n.ID-1] >= threshold {
				l.second(p, c.attempt, n, c.attempt.Stage.Shape)
				break
			}
		}
	}
}

// stragglers finds the tasks that are estimated to end last, and counts their second attempts.
//
// A task's rate is its progress over the time it has run, without the time for which it was suspended. Where an engine
// reports no progress, a task is taken to go at the mean rate of the finished ones of its stage, until it has run
// longer than they: then it is taken to be half done.
type stragglers struct {
	ticker
	Second []sched.AttemptID // second attempts that run
	Done   []float64         // by NodeID-1: tasks that were finished there

	cap, slowNode, slowTask float64 // the parameters of these names
	minRun, check           sched.Time
	started                 sched.Index           // stages with nothing left to start, by quiet
	quiet                   sched.Per[sched.Time] // by stage: until when none of its attempts has run for minRun
	slow                    []candidate           // what find has found
	scores                  []float64             // by NodeID-1: progress made there, by the last scoreNodes
	rates, sorted           []float64             // scratch
}

// A candidate is an attempt that may get a second one.
type candidate struct {
	attempt *sched.Attempt
	left    float64 // seconds until it ends, by estimate
}

// set reads the parameters. The policy must not be copied after that.
func (l *stragglers) set(a Args) {
	l.cap, l.slowNode, l.slowTask = a.Number("cap"), a.Number("slow-node"), a.Number("slow-task")
	l.minRun, l.check = a.Time("min-run"), a.Time("check")
	l.started.Key = func(_ *sched.View, st *sched.Stage, _ sched.Time) (sched.Key, bool) {
		return sched.Key{Then: int64(*l.quiet.Of(st))}, st.Pending == 0 && st.Running > 0 && st.Kind != sched.Master
	}
}

// left returns how many second attempts may be started now.
func (l *stragglers) left(p *sched.Plan) int {
	return max(1, int(l.cap*float64(slots(p)))) - len(l.Second)
}

// second starts a second attempt that holds a shape, and reports whether it fits.
func (l *stragglers) second(p *sched.Plan, a *sched.Attempt, n *sched.Node, holds sched.ShapeID) bool {
	if !p.Speculate(a, n, holds) {
		return false
	}
	acts := p.Actions()
	l.Second = append(l.Second, acts[len(acts)-1].Attempt)
	return true
}

// find returns the tasks that are slow now, the one with most time left first: all, or those of stages that have room
// somewhere.
func (l *stragglers) find(p *sched.Plan, all bool) []candidate {
	l.slow = l.slow[:0]
	l.started.Sync(p)
	first := l.started.First
	if all {
		first = func() *sched.Stage { return l.started.Head(0) }
	}
	for st := first(); st != nil && *l.quiet.Of(st) <= p.Now; st = first() {
		if l.isQuiet(p, st) {
			p.Touch(st)
			continue
		}
		l.look(p, st)
		l.started.Skip(st)
	}
	slices.SortFunc(l.slow, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.left, a.left), cmp.Compare(a.attempt.ID, b.attempt.ID))
	})
	return l.slow
}

// count counts the tasks finished on each node, and forgets second attempts that have ended.
func (l *stragglers) count(p *sched.Plan) {
	for len(l.Done) < len(p.Nodes) {
		l.Done = append(l.Done, 0)
	}
	for i := range p.Events {
		e := &p.Events[i]
		if e.Kind != sched.AttemptDone {
			continue
		}
		if at := slices.Index(l.Second, e.Attempt); at >= 0 {
			l.Second = slices.Delete(l.Second, at, at+1)
		}
		if a := p.Attempt(e.Attempt); a != nil && e.Outcome == sched.OK {
			l.Done[a.Node-1]++
		}
	}
}

// slots returns how many tasks the cluster runs at once: its slots, or, on a cluster of containers, the attempts that
// run now.
func slots(p *sched.Plan) int64 {
	if n := p.Capacity[sched.MapSlots] + p.Capacity[sched.ReduceSlots]; n > 0 {
		return n
	}
	return int64(p.Queues[0].Running())
}

// isQuiet reports whether no attempt of st has run for minRun yet, and notes when the first one may have. Attempts that
// start later reach minRun later, and so does one that is suspended.
func (l *stragglers) isQuiet(p *sched.Plan, st *sched.Stage) bool {
	first := p.Now
	for a := range p.Attempts(st) {
		first = min(first, p.Now-p.Ran(a, p.Now))
	}
	*l.quiet.Of(st) = first + l.minRun
	return first+l.minRun > p.Now
}

// look adds the slow tasks of a stage to the candidates. Suspended attempts make no progress, and are passed over.
func (l *stragglers) look(p *sched.Plan, st *sched.Stage) {
	e := p.Estimate(st, 0)
	l.rates = l.rates[:0]
	for a := range p.Attempts(st) {
		if rate, _, ok := progressRate(p, a, e); ok && a.State != sched.Suspended {
			l.rates = append(l.rates, rate)
		}
	}
	slices.Sort(l.rates)
	threshold := percentile(l.rates, l.slowTask)
	if mean := e.Mean.Seconds(); mean > 0 { // finished tasks count as well: they went at the mean rate
		threshold = percentileWith(l.rates, 1/mean, int(st.Done), l.slowTask)
	}
	for a := range p.Attempts(st) {
		if a.State != sched.Running || p.Ran(a, p.Now) < l.minRun || p.Twins(a) > 1 {
			continue
		}
		if rate, left, ok := progressRate(p, a, e); ok && rate < threshold {
			l.slow = append(l.slow, candidate{a, left})
		}
	}
}

// progressRate returns the rate of progress of attempt a in tasks a second, and how many seconds are left of it at that
// rate. ok is false if neither the attempt's progress nor the mean time e of its stage's tasks is known.
func progressRate(p *sched.Plan, a *sched.Attempt, e sched.Estimate) (rate, left float64, ok bool) {
	ran := p.Ran(a, p.Now).Seconds()
	mean := e.Mean.Seconds()
	switch {
	case ran <= 0:
		return 0, 0, false
	case a.Progress >= 0:
		rate = float64(a.Progress) / ran
		return rate, float64(1-a.Progress) / max(rate, 1e-9), true
	case mean <= 0:
		return 0, 0, false
	case ran <= mean:
		return 1 / mean, mean - ran, true
	}
	return 0.5 / ran, ran, true
}

// scoreNodes sums up the progress made on each node, and returns the threshold below which a node is slow.
func (l *stragglers) scoreNodes(p *sched.Plan) float64 {
	l.scores = append(l.scores[:0], l.Done...)
	for _, n := range p.Nodes {
		for a := range p.AttemptsOn(n) {
			l.scores[n.ID-1] += float64(max(0, a.Progress))
		}
	}
	l.sorted = append(l.sorted[:0], l.scores...)
	slices.Sort(l.sorted)
	return percentile(l.sorted, l.slowNode)
}

// percentile returns the value of sorted below which a part of them lies; zero: there is none.
func percentile(sorted []float64, part float64) float64 { return percentileWith(sorted, 0, 0, part) }

// percentileWith returns the percentile of the values in sorted and of as many further values x as times says.
func percentileWith(sorted []float64, x float64, times int, part float64) float64 {
	n := len(sorted) + times
	if n == 0 {
		return 0
	}
	rank := min(int(part*float64(n)), n-1)
	below, _ := slices.BinarySearch(sorted, x)
	switch {
	case times == 0 || rank < below:
		return sorted[rank]
	case rank < below+times:
		return x
	}
	return sorted[rank-times]
}

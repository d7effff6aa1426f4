package policy

import (
	"fmt"
	"maps"
	"slices"

	"github.com/sojourn-sched/sojourn/internal/theory/malleable"
	"github.com/sojourn-sched/sojourn/sched"
)

var flexCard = Card{
	Title:  "slots divided so that a metric of choice is as good as it can be, minimum and maximum shares kept",
	Source: "Wolf et al., FLEX: A Slot Allocation Scheduling Optimizer for MapReduce Workloads, Middleware 2010",
	Spec:   "docs/spec/flex.md#3-parameters",
	Params: append([]Param{{
		Name:    "metric",
		Kind:    Choice,
		Default: "avg-response",
		Choices: flexMetrics(),
		Meaning: "what is made small, for jobs whose goal does not name a metric of their own",
	}}, flexParams...),
	Memory: []string{
		"by stage: its slots, its place, and the size of a task, as the estimator last said",
		"by stage: the mean time of its finished tasks (with work=printed)",
		"by queue: what its jobs are to hold",
		"whether slots are to be divided anew, when at the earliest, and the capacity that was divided",
		"by stage: since when it waits for a node near its input (with a delay)",
	},
	Claims: []Claim{WorkConserving, NonPreemptive, TimeInvariant},
}

// flexParams are the parameters of flex but for the metric.
var flexParams = PlacingParams(
	Param{
		Name:    "base",
		Kind:    Choice,
		Default: "none",
		Choices: []Option{{Name: "none"}, {Name: "fair"}},
		Meaning: "whether flex places tasks alone, or its slots are the minimum shares of jobs and queues under fair",
	},
	Param{
		Name:    "epoch",
		Kind:    Duration,
		Default: "0s",
		Meaning: "slots are divided at most once in so long; 0s: whenever a job or an estimate changes",
	},
	Param{
		Name:    "work",
		Kind:    Choice,
		Default: "estimated",
		Choices: []Option{{Name: "estimated"}, {Name: "printed"}},
		Meaning: "task times as the estimator says, or the mean of the stage's finished tasks as in the paper",
	},
	Param{
		Name:    "elapsed",
		Kind:    Choice,
		Default: "off",
		Choices: []Option{{Name: "off"}, {Name: "on"}},
		Meaning: "whether the time that tasks have run is taken off the work that is left",
	},
	Param{
		Name:    "stages",
		Kind:    Choice,
		Default: "separate",
		Choices: []Option{{Name: "separate"}, {Name: "joint"}},
		Meaning: "whether a stage is due when its job is, or earlier by the time that later stages take",
	},
	Param{
		Name:    "stretch",
		Kind:    Choice,
		Default: "isolation",
		Choices: []Option{{Name: "isolation"}, {Name: "work"}},
		Meaning: "whether stretch divides by the time alone on the cluster or by the work",
	},
	Param{
		Name:    "least",
		Kind:    Integer,
		Default: "1",
		Meaning: "slots that every job has at least, as far as there are enough",
	},
	Param{
		Name:    "churn",
		Kind:    Number,
		Default: "0",
		Max:     1,
		Meaning: "part of the objective by which a new order must be better than the one that holds to replace it",
	},
	Param{
		Name:    "effort",
		Kind:    Integer,
		Default: "60000",
		Min:     1000,
		Max:     1e9,
		Meaning: "elementary steps that dividing the slots of one kind may take; 60000 are about a millisecond",
	},
	Param{
		Name:    "sample",
		Kind:    Integer,
		Default: "1",
		Min:     1,
		Meaning: "how many tasks of a stage of unknown size are to run, so that it becomes known",
	},
	leading("0.5", "the cluster, or with base=fair of a queue's share,"),
)

// flexMetrics are the metrics by name.
func flexMetrics() (options []Option) {
	for _, name := range slices.Sorted(maps.Keys(malleable.Metrics)) {
		options = append(options, Option{Name: name})
	}
	return options
}

// flex divides the slots of each kind among the stages that compete for them, so that the penalties of their completion
// are least (package malleable), and starts tasks of the stage that lacks most of its slots. Nothing is taken back, so
// slots are goals: a stage comes to them as tasks end, and slots that a stage cannot use go to the others.
//
// Slots are divided anew when a job comes or ends, when a stage begins or is through, when an estimate or the cluster
// changes; never because a task has started or ended. That costs O(n log n) for n jobs, and the effort allowed.
type flex struct {
	tree
	sizes
	Slots    sched.Per[flexSlots]       // by stage
	Shares   sched.Per[sched.Resources] // by queue: what its jobs are to hold
	Finished sched.Per[average]         // by stage: times of tasks (with work=printed)
	Dirty    bool                       // slots are to be divided anew
	Next     sched.Time                 // when at the earliest
	Divided  sched.Resources            // the capacity that was divided last

	flexOptions
	weights weighted // of queues; masters may hold a part of each
}

// flexOptions are the parameters of flex.
type flexOptions struct {
	metric                                  flexMetric
	fair, printed, elapsed, joint, workBase bool
	epoch                                   sched.Time
	least                                   int
	churn                                   float64
	effort                                  int
}

// flexSlots is what flex wants for a stage.
type flexSlots struct {
	Active bool  // it had tasks to run when slots were divided
	Known  bool  // the time of a task was known
	Slots  int64 // that its tasks are to hold together
	Each   int64 // slots that one task takes; zero: slots have not been divided since it came
	Place  int32 // in the order, from 0
}

// A flexMetric makes penalties of facts.
type flexMetric struct {
	worst   bool
	penalty func(malleable.Facts) malleable.Penalty
}

func newFlex(a Args) sched.Policy {
	m := malleable.Metrics[a.Choice("metric")]
	return newFlexOf(a, flexMetric{m.Worst, m.Penalty})
}

// A FlexMetric is a metric of one's own for the policy flex.
type FlexMetric struct {
	Title string // one line: what is made small
	Worst bool   // the largest penalty of all jobs counts; else their sum
	// Penalty returns what a job costs by the instant at which it completes, in seconds since the run began: a
	// non-decreasing function without effects.
	Penalty func(FlexJob) func(completion float64) float64
}

// FlexJob is what a metric knows of a job. Times are in seconds.
type FlexJob struct {
	Submitted float64 // since the run began
	Deadline  float64 // since the run began; +Inf: none
	Base      float64 // time alone on the cluster, or work (parameter stretch)
	Weight    float64
}

// Flex returns the policy flex with a metric of one's own, to be put into a registry.
func Flex(m FlexMetric) Entry {
	card := flexCard
	card.Title = m.Title
	card.Params = flexParams
	own := flexMetric{m.Worst, func(f malleable.Facts) malleable.Penalty {
		own := m.Penalty(FlexJob{f.Arrival, f.Deadline, f.Base, f.Weight})
		return malleable.Penalty{Shape: malleable.Curve, Func: own}
	}}
	return Entry{card, func(a Args) sched.Policy { return newFlexOf(a, own) }}
}

func newFlexOf(a Args, metric flexMetric) sched.Policy {
	f := &flex{sizes: newSizes(a), flexOptions: flexOptions{
		metric:   metric,
		fair:     a.Choice("base") == "fair",
		printed:  a.Choice("work") == "printed",
		elapsed:  a.Choice("elapsed") == "on",
		joint:    a.Choice("stages") == "joint",
		workBase: a.Choice("stretch") == "work",
		epoch:    a.Time("epoch"),
		least:    a.Int("least"),
		churn:    a.Number("churn"),
		effort:   a.Int("effort"),
	}}
	f.leads = leads{a.Number("masters"), ofAll}
	f.flat = !f.fair
	if f.fair {
		f.leads.whole = f.weights.of
	}
	f.turn = f.entitled
	f.admit = mayGrow // a job is kept at its maximum by leaving its stages out of the order
	f.init(a, f.goal)
	return f
}

// mayGrow reports whether the job of st allows one more task of it at once.
func mayGrow(st *sched.Stage) bool {
	most := &st.Job.Spec.Max
	for k, each := range &st.Spec.PerTask {
		if most[k] > 0 && each > 0 && int64(st.Running) >= max(1, most[k]/each) {
			return false
		}
	}
	return true
}

// The classes of stages under flex, in that order.
const (
	flexMaster  = iota - 3 // bounded by leads
	flexUnknown            // of unknown task time, and fewer tasks than are to run for it to become known
	flexLacks              // less than its slots
	flexHas
)

// goal orders the stages of a queue. A stage whose task time is not known comes first, with few tasks. Then come
// those that hold less than their slots: with base=none the one that lacks most (2.11 of the page), with base=fair
// the one that has the smallest part of them, as fair serves minimum shares. Slots that no stage is entitled to, as a
// job has fewer tasks left than slots, go by the order in which packing would give them; with base=fair to the job
// that holds least for its weight.
func (f *flex) goal(_ *sched.View, st *sched.Stage, _ int32) sched.Key {
	if st.Kind == sched.Master {
		return sched.Key{Class: flexMaster}
	}
	s := f.Slots.Of(st)
	have, slots, place := int64(st.Running)*s.Each, s.Slots, int64(s.Place)
	switch {
	case s.Each == 0 && st.Running == 0, have < slots && !s.Known: // it has just come, or waits for a sample
		return sched.Key{Class: flexUnknown}
	case have < slots && f.fair:
		return sched.Key{Class: flexLacks, Value: float64(have) / float64(slots), Then: place}
	case have < slots:
		return sched.Key{Class: flexLacks, Value: float64(have - slots), Then: place}
	case f.fair:
		return sched.Key{Class: flexHas, Value: float64(have) / st.Job.Weight, Then: place}
	}
	return sched.Key{Class: flexHas, Value: float64(place)}
}

// entitled is a queue's place among its siblings under fair, where what its jobs are to hold is its minimum share.
func (f *flex) entitled(q *sched.Queue, k sched.ResourceKind) sched.Key {
	used, least := q.Used[k], q.Min[k]
	if s, ok := f.Shares.Has(q); ok {
		least = max(least, s[k])
	}
	if least = min(least, q.Demand[k]); used < least {
		return sched.Key{Class: flexLacks, Value: float64(used) / float64(least)}
	}
	return sched.Key{Value: float64(used) / q.Weight()}
}

// Decide divides slots anew where something has changed, and starts tasks.
func (f *flex) Decide(p *sched.Plan) {
	if f.fair {
		f.weights.follow(p)
	}
	f.learn(p)
	f.notice(p)
	if f.Dirty && p.Now >= f.Next {
		f.divideAll(p)
		f.Dirty = false
		if f.epoch > 0 {
			f.Next = (p.Now/f.epoch + 1) * f.epoch
		}
	}
	if f.Dirty {
		p.Wake(f.Next)
	}
	f.fill(p)
}

// notice sets Dirty if something has changed for which slots are to be divided anew.
func (f *flex) notice(p *sched.Plan) {
	f.Dirty = f.Dirty || len(f.news) > 0 || f.Divided != p.Capacity
	for i := range p.Events {
		switch e := &p.Events[i]; e.Kind {
		case sched.JobSubmitted, sched.JobEnded, sched.SpecChanged, sched.AsksChanged:
			f.Dirty = true
		case sched.AttemptDone:
			if a := p.Attempt(e.Attempt); a != nil {
				f.finished(p, a, e.Outcome)
				f.noticeJob(a.Stage.Job)
			}
		case sched.TaskUndone:
			if j := p.Job(e.Job); j != nil {
				f.noticeJob(j)
			}
		}
	}
}

// noticeJob sets Dirty if a stage of j has begun, or is through, since slots were divided.
func (f *flex) noticeJob(j *sched.Job) {
	for _, st := range j.Stages {
		f.Dirty = f.Dirty || f.Slots.Of(st).Active != runnable(st)
	}
}

// finished counts the time of a task that has ended in the mean of its stage.
func (f *flex) finished(p *sched.Plan, a *sched.Attempt, out sched.Outcome) {
	if !f.printed || out != sched.OK {
		return
	}
	m := f.Finished.Of(a.Stage)
	m.add(p.Ran(a, p.Now))
	if f.epoch > 0 || m.N&(m.N-1) == 0 { // without epochs, each time that the number of tasks has doubled
		f.Dirty = true
	}
}

// runnable reports whether st has tasks that may run, or do.
func runnable(st *sched.Stage) bool {
	return st.Kind != sched.Master && st.Pending+st.Running+st.Suspended > 0 && !st.Job.Ended
}

// Why says what flex wants for a stage, and what would be lost by one slot less for the command explain; "": slots have
// not been divided since the stage began.
func (f *flex) Why(v *sched.View, st *sched.Stage) string {
	s := f.Slots.Of(st)
	switch {
	case s.Each == 0 || !s.Active:
		return ""
	case !s.Known:
		return fmt.Sprintf("flex: %d slots until the time of a task is known", s.Slots)
	}
	text := fmt.Sprintf("flex: place %d, %d slots", s.Place+1, s.Slots)
	if s.Each > 1 {
		text += fmt.Sprintf(" (%d a task)", s.Each)
	}
	text += fmt.Sprintf(", holds %d", int64(st.Running)*s.Each)
	l := laneOf(v, kindOf(st))
	c := f.claim(v, l, st)
	at := v.Now.Seconds()
	if s.Slots < 2 || c.Work <= 0 {
		return text
	}
	with, without := at+c.Work/float64(s.Slots), at+c.Work/float64(s.Slots-1)
	return text + fmt.Sprintf("; with one slot less for good it ends %.3g s later, and its penalty grows from "+
		"%.4g to %.4g", without-with, c.Penalty.At(with), c.Penalty.At(without))
}

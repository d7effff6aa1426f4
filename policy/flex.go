package policy

import (
	"fmt"
	"maps"
	"slices"

	"github.com/sojourn-sched/sojourn/internal/spelling"
	"github.com/sojourn-sched/sojourn/internal/theory/malleable"
	"github.com/sojourn-sched/sojourn/sched"
)

var flexCard = Card{
	Title:  "divides slots so that a metric of your choice is as good as it can be, within minimum and maximum shares",
	Source: "Wolf et al., FLEX: A Slot Allocation Scheduling Optimizer for MapReduce Workloads, Middleware 2010",
	Spec:   "docs/spec/flex.md#3-parameters",
	Params: append([]Param{{
		Name:    "metric",
		Kind:    Choice,
		Default: "avg-response",
		Choices: flexMetrics(),
		Meaning: "metric that is made as small as possible; a job's goal may name another",
	}}, flexParams...),
	Memory: []string{
		"by stage: its slots, its place, and the size of a task, as the estimator last said",
		"by stage: the mean time of its finished tasks (with work=printed)",
		"by stage: the law of its task times (with certainty=law)",
		"by stage: until when it is kept from starting (with reduces=late)",
		"by queue: what its jobs should hold",
		"whether slots are to be divided anew, when at the earliest, how often at this instant, and the capacity " +
			"that was divided",
		PlacingMemory,
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
		Meaning: "none: flex alone decides; fair: what flex gives are minimum shares under policy fair",
	},
	Param{
		Name:    "epoch",
		Kind:    Duration,
		Default: "0s",
		Meaning: "least time between two divisions of the slots; 0s: they are divided whenever a job or an " +
			"estimate changes",
	},
	Param{
		Name:    "work",
		Kind:    Choice,
		Default: "estimated",
		Choices: []Option{{Name: "estimated"}, {Name: "printed"}},
		Meaning: "task times: as the estimator says, or, as in the paper, the mean of the stage's finished tasks",
	},
	Param{
		Name:    "elapsed",
		Kind:    Choice,
		Default: "off",
		Choices: []Option{{Name: "off"}, {Name: "on"}},
		Meaning: "whether the time that running tasks have run already counts as done",
	},
	Param{
		Name:    "stages",
		Kind:    Choice,
		Default: "separate",
		Choices: []Option{{Name: "separate"}, {Name: "joint"}},
		Meaning: "when a stage is due: separate, when its job is; joint, earlier by the time of its later stages",
	},
	Param{
		Name:    "certainty",
		Kind:    Choice,
		Default: "mean",
		Choices: []Option{{Name: "mean"}, {Name: "law"}},
		Meaning: "what a completion time is: mean, one instant; law, a distribution, whose expected cost counts",
	},
	Param{
		Name:    "reduces",
		Kind:    Choice,
		Default: "early",
		Choices: []Option{{Name: "early"}, {Name: "late"}},
		Voids:   []Claim{WorkConserving},
		Meaning: "when a reduce stage starts: early, as soon as it may; late, one task's time before the maps that " +
			"it waits for are planned to end",
	},
	Param{
		Name:    "stretch",
		Kind:    Choice,
		Default: "isolation",
		Choices: []Option{{Name: "isolation"}, {Name: "work"}},
		Meaning: "what stretch divides by: the time that the job takes alone on the cluster, or its work",
	},
	Param{
		Name:    "least",
		Kind:    Integer,
		Default: "1",
		Meaning: "slots that every job gets at least, while there are enough",
	},
	Param{
		Name:    "churn",
		Kind:    Number,
		Default: "0",
		Max:     1,
		Meaning: "how much better a new order must be to replace the present one, as a part of the metric",
	},
	Param{
		Name:    "effort",
		Kind:    Integer,
		Default: "60000",
		Min:     1000,
		Max:     1e9,
		Meaning: "bound of the search for a division of the slots, in elementary steps; 60000 take about a millisecond",
	},
	Param{
		Name:    "sample",
		Kind:    Integer,
		Default: "1",
		Min:     1,
		Meaning: "how many tasks of a stage of unknown size start first, so that its size becomes known",
	},
	mastersParam("0.5", "the cluster, or with base=fair of a queue's share,"),
)

// flexMetrics returns the metrics by name, as values of the parameter metric.
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
// Facts go one way through its parts: events tell Demand what each stage wants and Epochs whether to divide; Division
// makes slots and places of what Demand says; order makes keys of these; Tree starts tasks by the keys.
//
// Slots are divided anew when a job comes or ends, when a stage begins or is through, when an estimate or the cluster
// changes; never because a task has started or ended. That costs O(n log n) for n jobs, and the effort allowed. Changes
// of one Step lead to one division. Where an engine makes many Steps at one instant, as for jobs that come one by one,
// the first mostPlans of them divide, and the others a nanosecond later together.
type flex struct {
	Demand   flexDemand   // work, bounds and penalty of each stage
	Epochs   flexEpochs   // when slots are divided
	Division flexDivision // slots and place of each stage, shares of queues
	Holds    flexHolds    // stages that do not start yet (with reduces=late)
	Tree     tree         // starts tasks

	weights weighted // of queues; masters may hold a part of each
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
	f := &flex{
		Demand:   newFlexDemand(a, metric),
		Epochs:   flexEpochs{every: a.Time("epoch")},
		Division: newFlexDivision(a),
		Holds:    flexHolds{on: a.Choice("reduces") == "late"},
	}
	order := flexOrder{&f.Division}
	f.Tree.masters = masterLimit{a.Number("masters"), ofAll}
	f.Tree.flat = !f.Division.fair
	if f.Division.fair {
		f.Tree.masters.whole = f.weights.of
	}
	f.Tree.turn = order.entitled
	f.Tree.admit = func(st *sched.Stage) bool { // what may start nothing is left out of the order
		return mayGrow(st) && !f.Holds.holds(st)
	}
	f.Tree.init(a, order.goal)
	return f
}

// Decide divides slots anew where something has changed, and starts tasks.
func (f *flex) Decide(p *sched.Plan) {
	if f.Division.fair {
		f.weights.follow(p)
	}
	news := f.Demand.learn(p)
	f.Epochs.notice(p, news)
	f.Epochs.noticeStages(p, &f.Division)
	f.Holds.notice(p)
	if f.Epochs.due(p) {
		f.Division.divideAll(p, &f.Demand)
		f.Holds.hold(p, &f.Division, &f.Demand)
		f.Tree.siblings.forget() // the shares of queues have changed
	}
	if f.Epochs.waits(p) {
		return
	}
	f.Holds.release(p)
	f.Tree.fill(p)
}

// Position returns the place of a stage for explanations.
func (f *flex) Position(v *sched.View, st *sched.Stage) (sched.Key, bool) {
	return f.Tree.Position(v, st)
}

// InWords says whose turn comes first, and what a stage lacks of its slots.
func (f *flex) InWords(v *sched.View, st *sched.Stage, k sched.Key) string {
	k, queues := inQueue(&f.Tree, v, st, k)
	return queues + flexOrder{&f.Division}.inWords(k)
}

// Withheld says why a master may not start; "": it may.
func (f *flex) Withheld(v *sched.View, st *sched.Stage) string { return f.Tree.Withheld(v, st) }

// Why says, for the command explain, what flex wants for a stage, and what would be lost by one slot less; "": slots
// have not been divided since the stage began.
func (f *flex) Why(v *sched.View, st *sched.Stage) string {
	s := f.Division.Slots.Of(st)
	switch {
	case s.Each == 0 || !s.Active:
		return ""
	case !s.Known:
		return fmt.Sprintf("flex: %s until the time of a task is known", spelling.Count(s.Slots, "slot"))
	}
	text := fmt.Sprintf("flex: place %d, %s", s.Place+1, spelling.Count(s.Slots, "slot"))
	if at, held := f.Holds.until(st); held {
		text += fmt.Sprintf(", starts nothing before %v", at)
	}
	if s.Each > 1 {
		text += fmt.Sprintf(" (%d a task)", s.Each)
	}
	text += fmt.Sprintf(", holds %d", int64(st.Running)*s.Each)
	l := laneOf(v, kindOf(st))
	c := f.Demand.job(v, l, st)
	at := v.Now.Seconds()
	if s.Slots < 2 || c.Work <= 0 {
		return text
	}
	with, without := at+c.Work/float64(s.Slots), at+c.Work/float64(s.Slots-1)
	return text + fmt.Sprintf("; with one slot less for good it ends %.3g s later, and its penalty grows from "+
		"%.4g to %.4g", without-with, c.Penalty.At(with), c.Penalty.At(without))
}

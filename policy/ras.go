package policy

import (
	"math"

	"github.com/sojourn-sched/sojourn/internal/theory/placement"
	"github.com/sojourn-sched/sojourn/sched"
)

var rasCard = Card{
	Title:  "maps and reduces placed by what they use of CPU, disk and network, so that goals are met",
	Source: "Polo, Multi-constraint Scheduling of MapReduce Workloads, PhD thesis, UPC 2014, chapter 4",
	Spec:   "docs/spec/ras.md#3-parameters",
	Params: rasParams("off"),
	Memory: rasMemory,
	Claims: []Claim{NonPreemptive, TimeInvariant},
	Limits: rasLimits("ras"),
}

// rasLimits returns what engines do not tell the policy of a name about the use of resources.
func rasLimits(name string) []Limit {
	return []Limit{
		{Verb: "sim", Text: "policy " + name + " learns no profiles in the simulator, which does not count what " +
			"tasks use: jobs without a profile count with what their tasks ask for"},
		{Verb: "rm", Text: "policy " + name + " learns from heartbeats what containers use of the processors, and is " +
			"told no bytes: what they do to disks and network is for tags to say (sojourn.map=disk-io:300000)"},
	}
}

// rasMemory is what policies with a placement matrix remember.
var rasMemory = []string{
	"by job: how many of its maps and reduces are placed on which nodes, and its place in the order of utilities",
	"by stage: the mean length of its finished tasks, and what they used of CPU, disk and network",
	"by user, name, type and kind of stage: what tasks used (kept over runs by --state)",
	"by stage: nodes that it may not use",
	"the most that a node has offered",
	"when the next cycle is due, whether something has changed since the last one, and how many cycles there were at " +
		"this instant",
	"stages that waited at the last cycle while nothing of them ran",
	mastersMemory,
}

// rasParams returns the parameters of policies with a placement matrix.
func rasParams(waves string) []Param {
	onOff := []Option{{Name: "off"}, {Name: "on"}}
	return []Param{
		{
			Name: "cycle", Kind: Duration, Default: "30s", Min: 0.001,
			Meaning: "time between two cycles; in each the policy plans anew where tasks run",
		},
		{
			Name: "trigger", Kind: Choice, Default: "on", Choices: onOff,
			Meaning: "whether the policy plans anew also when a job comes or ends, a stage begins or has no task " +
				"left to start, or a node changes",
		},
		{
			Name: "rounds", Kind: Integer, Default: "10", Min: 1, Max: 1000,
			Meaning: "how often at most a plan goes over all nodes to improve where maps run",
		},
		{
			Name: "copies", Kind: Integer, Default: "5", Min: 1, Max: 1000,
			Meaning: "how many maps a reduce copies from at the same time (Hadoop's " +
				"mapreduce.reduce.shuffle.parallelcopies)",
		},
		{
			Name: "candidates", Kind: Choice, Default: "fit", Choices: []Option{{Name: "fit"}, {Name: "literal"}},
			Meaning: "jobs that a node may be given to: fit, those with a task that fits beside the node's " +
				"reduces; literal, as in the source, those with a task that fits where one other task has left, so " +
				"that jobs with large tasks may starve",
		},
		{
			Name: "waves", Kind: Choice, Default: waves, Choices: onOff,
			Meaning: "whether the maps that a job requires are counted in whole waves",
		},
		{
			Name: "resize", Kind: Choice, Default: "off",
			Choices: []Option{{Name: "off"}, {Name: "on", Needs: sched.CanResize}},
			Meaning: "on: a reduce holds what the profile of its job says of its phase (shuffle while maps of the " +
				"job are left, merge to write afterwards), where that is less than it asks for",
		},
		{
			Name: "profiles", Kind: Choice, Default: "learned", Choices: []Option{{Name: "learned"}, {Name: "given"}},
			Meaning: "jobs without a profile: learned, what their tasks use is learned from counters; given, " +
				"nothing is known of it",
		},
		{
			Name: "soft", Kind: Number, Default: "1", Min: 0.1, Max: 10,
			Meaning: "part of a node's cores, disk and network that placed tasks may use together; above 1: more " +
				"than there is",
		},
		{
			Name: "disk", Kind: Number, Default: "200", Min: 1, Max: 1e6,
			Meaning: "MB/s of a node's disks; the bytes that tasks read and write are counted as a part of it",
		},
		{
			Name: "network", Kind: Number, Default: "125", Min: 1, Max: 1e6,
			Meaning: "MB/s of a node's network",
		},
		mastersParam("0.5", "the cluster"),
	}
}

// ras places tasks by what they use (RAS). A cycle computes how many maps and reduces of each job are to run on each
// node; between cycles tasks are started there as others end, never more than a node has room for. Nothing is taken
// back.
type ras struct {
	matrix
}

func newRAS(a Args) sched.Policy {
	r := &ras{}
	r.init(a, r.need)
	return r
}

// need sets the utility of each job: by the maps that it requires to meet its goal.
func (r *ras) need(p *sched.Plan, rows []row) {
	for i := range rows {
		x := &rows[i]
		required := r.required(p, x)
		x.Utility = placement.Need{Required: required, Pending: x.Pending, Reduces: x.Reduces}.Utility
	}
}

// required returns how many maps of a job must run at once.
func (m *matrix) required(p *sched.Plan, x *row) float64 {
	left := math.Inf(1)
	if x.job.Spec.Deadline > 0 {
		left = (x.job.Submitted + x.job.Spec.Deadline - p.Now).Seconds()
	}
	need := placement.Required(x.Pending, x.mean, left, m.waves)
	if x.maps != nil {
		need = max(need, min(float64(x.Pending), float64(tasksIn(&x.job.Spec.Min, x.maps))))
	}
	return need
}

// tasksIn returns how many tasks of st fit into amount. Kinds with amount 0 set no bound; 0: no kind sets one.
func tasksIn(amount *sched.Resources, st *sched.Stage) int64 {
	tasks := int64(0)
	for k, each := range &st.Spec.PerTask {
		if each > 0 && amount[k] > 0 && (tasks == 0 || amount[k]/each < tasks) {
			tasks = amount[k] / each
		}
	}
	return tasks
}

// Decide learns from tasks that have ended, places tasks anew where that is due, and starts tasks.
func (r *ras) Decide(p *sched.Plan) { r.decide(p) }

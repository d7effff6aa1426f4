package sched

import "cmp"

// A JobSpec is a user's description of a job. After the submission only SpecChanged changes it: the event replaces the
// queue, the weight, the priority, the deadline, the allocation, the goal, the profile and the delays.
type JobSpec struct {
	Name, User, Queue string    // Queue: dotted path below the root; "" is "default"
	Type              string    // as in the keys of the history: "MAPREDUCE", "SPARK", ...
	Weight            float64   // share among the jobs of its queue; zero means 1
	Priority          int32     // larger is more urgent (fifo, capacity)
	Submit            Time      // instant of the submission; negative for an open job that is older than this core
	Deadline          Time      // after Submit; zero: none. The completion goal, for policies that have one
	Min, Max          Resources // the least and the most that the job wants to hold at once; zero: no bound
	Goal              *Goal     // nil: the policy's metric, with the job's Weight
	Profile           *Profile  // nil: unknown
	Delays            int32     // D_max: passes over a node without a task's input; zero: the policy's; -1: none
	Stages            []StageSpec
	Probes            JobID // the job that this job probes; zero: it is no probe
	Open              bool  // stages may yet be added (AsksChanged): the engine ends the job (JobEnded)
	Payload           any   // the engine's own: true task times, or a program and its input. Policies must not read it
}

// A Metric names the cost of a job as a function of the instant t at which it completes (FLEX 2.2). Policies that use
// costs minimize their sum or their maximum over all jobs. d is the job's deadline and w the weight of its goal.
type Metric uint8

// The metrics. Only MetricLateness may be negative.
const (
	NoMetric        Metric = iota // the policy's choice
	MetricResponse                // w·(t − submission)
	MetricStretch                 // w·(t − submission) ÷ the job's time alone on the cluster
	MetricTardy                   // w if t > d, else 0
	MetricTardiness               // w·max(0, t − d)
	MetricLateness                // w·(t − d)
	MetricSteps                   // w·the cost of the last of Goal.Steps that lies before t; 0 before the first
	NumMetrics
)

var metricNames = [NumMetrics]string{"", "response", "stretch", "tardy", "tardiness", "lateness", "steps"}

// String returns the name that files and the command line use; "" for NoMetric.
func (m Metric) String() string { return metricNames[m] }

// MetricNamed returns the metric with a name, and whether there is one.
func MetricNamed(name string) (Metric, bool) {
	for m, n := range metricNames {
		if n == name && n != "" {
			return Metric(m), true
		}
	}
	return NoMetric, false
}

// A Goal says how much it costs the owner of a job if the job completes late.
type Goal struct {
	Metric Metric
	Weight float64    // of the cost among the costs of other jobs; zero: the job's Weight
	Steps  []CostStep // of MetricSteps, a service level agreement: After and Cost rise; nil for other metrics
}

// A CostStep is the cost of a job that has not completed so long after its submission.
type CostStep struct {
	After Time
	Cost  float64
}

// A Profile says how much a task uses in each phase, and which accelerators the code of a job can use.
type Profile struct {
	Phases       [NumPhases]Resources // of one task while it is in the phase
	Accelerators []string             // names of classes of nodes (NodeSpec.Class) whose hardware it uses; best first
}

// DefaultMaxAttempts is Hadoop's mapreduce.map.maxattempts and mapreduce.reduce.maxattempts.
const DefaultMaxAttempts = 4

// A StageSpec describes tasks of one job that do the same to different data.
type StageSpec struct {
	Kind    StageKind
	PerTask Resources
	// Tasks is the number of tasks; -1: the engine cannot know it (yarn). Then AsksChanged says how many tasks wait,
	// and JobEnded says when the job is over.
	Tasks       int32
	After       []Dep // all must hold before a task may start
	Asked       bool  // no task may start before the job's master has asked for it (AsksChanged)
	MaxAttempts int32 // failures of one task that fail the job; zero: failed tasks do not start again (mr reads 4)
	InputBytes  int64
	Prior       Time     // the time of a task, as the user or past runs say; zero: not known
	Places      []NodeID // nodes with the input of task t: Places[(t-1)·Copies : t·Copies]; zero entries name none
	Copies      int32
}

// A Dep says which part of an earlier stage must be done: 1 is a barrier, less is slow start.
type Dep struct {
	Stage int32
	Part  float64 // in [0, 1]
}

// met reports whether done of total tasks satisfy d, with the rounding of Hadoop's slow start (ceil of the product).
func (d Dep) met(done, total int32) bool { return float64(done) >= d.Part*float64(total) }

// A NodeSpec describes a machine.
type NodeSpec struct {
	Name     string
	Class    string // name of its class; nodes with equal names are alike
	Rack     RackID
	Capacity Resources
}

// A QueueSpec describes a named share of the cluster, and the queues below it.
type QueueSpec struct {
	Name     string
	Weight   float64 // among siblings; zero means 1
	Min, Max Share
	// Masters is the part of the queue's share that stages of kind Master may hold, for policies that limit them. It is
	// in (0, 1], where 1 is no limit; zero: the policy's own.
	Masters float64 `json:",omitempty"`
	// Spared says that policies take nothing back from the jobs of this queue and of the queues below it.
	Spared bool `json:",omitempty"`
	// Policy orders the jobs of the queue, under policies that let queues differ: "", or fifo, fair or drf, with
	// parameters: "fifo:delay=5s".
	Policy string
	Queues []*QueueSpec
}

// Queues are all queues below the root from now on (SpecChanged). A queue that is missing in the list has no shares of
// its own any more, and is removed in the Step in which the last job of it ends. A queue that is made for a job later
// stays until the next list.
type Queues struct{ List []*QueueSpec }

// A Share is an entitlement: amounts, or a part of the parent's. The zero Share means that nothing is configured.
type Share struct {
	Amount Resources // kinds with zero are not configured
	Part   float64   // of the parent queue's own minimum or maximum; in [0, 1]; zero: not configured
}

// Asks say how many containers of one kind an application wants now: absolute numbers, not differences. Where the spec
// of a stage says the number of tasks, fewer may be asked for now, and the rest later.
type Asks struct {
	Stage   int32      // index of the stage; one more than the last makes a new one
	Spec    *StageSpec // of a new stage, or of one whose tasks ask for something else now (Kind and Tasks stay), or nil
	Pending int32      // if the spec says the number of tasks: AskAll, or at most those that neither run nor are done
	Near    []Near     // nodes with input of pending tasks by ID, then racks by ID; nil: all nodes are alike
	Only    []NodeID   // the only nodes to use, sorted; nil: all. With Near, these only as far as Near goes
	Banned  []NodeID   // nodes not to use for the whole job, sorted; the core keeps the list: it must not change
}

// AskAll as Asks.Pending asks for all tasks of a stage that neither run nor are done when the other events of the Step
// are applied. The stage is there already and has a known number of tasks. The core sets Pending to the number, so that
// policies and records see it: to zero when the job has ended.
const AskAll = -1

// A Near says how many waiting tasks of a stage have their input on a node, or in a rack. A task counts at each node
// and rack that has a copy.
type Near struct {
	Node  NodeID // zero: the tasks are near Rack
	Rack  RackID
	Tasks int32
}

// Compare returns a negative number if n comes before m, and a positive one if m comes first. Nodes come by ID, and
// after them racks by ID.
func (n Near) Compare(m Near) int {
	if n.Node == 0 || m.Node == 0 {
		return cmp.Or(cmp.Compare(m.Node, n.Node), cmp.Compare(n.Rack, m.Rack))
	}
	return cmp.Compare(n.Node, m.Node)
}

// Found describes an attempt that an engine finds running after a restart: its stage, and for how long it has run.
type Found struct {
	Stage int32
	Ran   Time
}

// Undone names finished tasks of a stage whose output was lost.
type Undone struct {
	Stage int32
	Tasks []int32
}

// Counters are what an engine has counted of a successful attempt. A counter that the engine does not have is zero.
type Counters struct {
	InputBytes, OutputBytes     int64
	InputRecords, OutputRecords int64
	LocalBytes, RemoteBytes     int64           // of InputBytes: read on the attempt's node, and from other nodes
	SpilledRecords              int64           // records written to disk before the output, once for each time
	CPU                         Time            // of all threads and processes of the attempt
	Phases                      [NumPhases]Time // wall-clock time spent in each
}

// A Policy chooses actions. The core calls Decide once a Step. A policy that wraps another one calls it exactly once a
// Step.
type Policy interface{ Decide(*Plan) }

// An Estimator predicts task times and job sizes. A core has one, and calls Observe before it calls the policy.
type Estimator interface {
	// Observe learns from attempt a, which has just succeeded on a node of the class a.Class. It ran for the time took,
	// in which it was not suspended. Counters c are nil if the engine counts nothing.
	Observe(a *Attempt, took Time, c *Counters)
	// Estimate returns the time of one task of st on a class of nodes (zero: on any node).
	Estimate(st *Stage, class ClassID) Estimate
	// Size returns the whole job's size, done parts included, and whether it is known.
	Size(j *Job) (Work, bool)
}

// An Estimate is of the time of one task.
type Estimate struct {
	Mean, StdDev Time
	// Samples is how many attempts on the class it is from; zero: Mean is a guess from other classes or a prior, or is
	// not known at all.
	Samples int
}

// Known reports whether e says anything: it is from finished attempts, or it is a guess above zero.
func (e Estimate) Known() bool { return e.Mean > 0 || e.Samples > 0 }

// A Recorder is called with the events and the actions of each Step. The slices are lent. Events with Derived set
// follow from the others.
type Recorder interface {
	Record(now Time, events []Event, actions []Action)
}

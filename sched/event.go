package sched

import "fmt"

// An EventKind says what happened. Events of one instant are applied in the order of their kinds.
type EventKind uint8

// The kinds of events. Each comment says which fields of Event it uses.
const (
	NodeJoined       EventKind = iota // Node, Body *NodeSpec; a lost node that returns keeps its ID
	NodeReported                      // Node; Body *NodeSpec where capacity changed, else nil
	NodeLost                          // Node
	AttemptDone                       // Attempt, Outcome; Body *Counters or nil
	AttemptSuspended                  // Attempt: what Suspend asked for has happened
	AttemptResized                    // Attempt: what a Resize to less asked for has happened
	AttemptProgress                   // Attempt, Progress, Phase
	TaskUndone                        // Job, Body *Undone
	ResizeAsked                       // Attempt, Body *Resources: its application asked for another amount and has it
	JobEnded                          // Job, Outcome: the application is through, or the user killed it
	AsksChanged                       // Job, Body *Asks
	JobSubmitted                      // Job: larger than any before; Body *JobSpec
	Tick                              // nothing but time
	SpecChanged                       // Job, Body *JobSpec: what JobSpec says may change; without Job, Body *Queues
	AttemptFound                      // Job, Node, Body *Found: it runs already. The core sets Attempt; 0: none
	numEventKinds
)

var eventNames = [numEventKinds]string{
	"node-joined",
	"node-reported",
	"node-lost",
	"attempt-done",
	"attempt-suspended",
	"attempt-resized",
	"attempt-progress",
	"task-undone",
	"resize-asked",
	"job-ended",
	"asks-changed",
	"job-submitted",
	"tick",
	"spec-changed",
	"attempt-found",
}

func (k EventKind) String() string { return eventNames[k] }

// An Outcome says how an attempt or a job ended.
type Outcome uint8

// The outcomes.
const (
	OK       Outcome = iota
	Failed           // counts towards MaxAttempts
	Killed           // asked for; does not count
	Lost             // went with its node; does not count
	Released         // given back unused by the application; not observed by estimators
)

func (o Outcome) String() string { return [...]string{"ok", "failed", "killed", "lost", "released"}[o] }

// An Event is something that happened. It is a small value; Body is nil in the kinds that are many.
type Event struct {
	Kind     EventKind
	Outcome  Outcome
	Phase    Phase
	Derived  bool // added by the core, because it follows from others
	Node     NodeID
	Job      JobID
	Progress float32 // in [0, 1]
	Attempt  AttemptID
	Body     any
}

// An ActionKind says what to do.
type ActionKind uint8

// The kinds of actions. Each comment says which fields of Action it uses.
const (
	Launch  ActionKind = iota // Stage, Task (zero: the engine's choice), Node, Shape, Attempt
	Kill                      // Attempt, Node, Stage; At: how long to warn first
	Suspend                   // Attempt, Node, Stage
	Resume                    // Attempt, Node, Stage
	Resize                    // Attempt, Node, Stage, Shape
	Reserve                   // Stage (zero: the node is free again), Node
	Probe                     // Stage.Job: run a probe of that job
	Wake                      // At: call Step then, with or without events; zero: not needed any more
	numActionKinds
)

var actionNames = [numActionKinds]string{"launch", "kill", "suspend", "resume", "resize", "reserve", "probe", "wake"}

func (k ActionKind) String() string { return actionNames[k] }

// An Action is something to do.
type Action struct {
	Kind    ActionKind
	Node    NodeID
	Task    int32
	Shape   ShapeID
	Stage   StageID
	Attempt AttemptID
	At      Time
}

// A Refusal is an action that the core did not take because it was invalid. Lack of room is no refusal.
type Refusal struct {
	Action Action
	Reason string
	At     Time // the instant of the Step
}

// String says which action was refused, when and why.
func (r Refusal) String() string {
	a := &r.Action
	what := fmt.Sprintf("%v at %v", a.Kind, r.At)
	if a.Stage != (StageID{}) {
		what += fmt.Sprintf(" for stage %d of job %d", a.Stage.Index, a.Stage.Job)
	}
	if a.Node != 0 {
		what += fmt.Sprintf(" on node %d", a.Node)
	}
	if a.Attempt != 0 {
		what += fmt.Sprintf(", attempt %d", a.Attempt.Serial())
	}
	return what + ": " + r.Reason
}

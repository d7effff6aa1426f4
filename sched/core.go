package sched

import (
	"cmp"
	"fmt"
)

// Config is what a core is made from.
type Config struct {
	Policy     Policy
	Estimator  Estimator // nil: what the specs say (Prior)
	Recorder   Recorder  // nil: none. A method Attach(*View), of it or of Estimator, is called before the first Step
	Queues     []*QueueSpec
	Can        Powers
	Heartbeats bool // nodes may be launched on only in a Step in which they report
	// Forecast is what all nodes together are expected to offer when, where something says so; nil: nothing does.
	Forecast *Forecast
	// Limit bounds the launches of a Step, so that live engines stay responsive; zero: no limit. A launch of a job with
	// many stages counts as 1 + stages ÷ 16, because it sorts them all again. The Step that reaches the limit asks for
	// another at once.
	Limit int
	// Spread makes First and FirstWhere begin behind the node of the last launch, so that launches go round all nodes.
	Spread bool
	// Forget is for tests: asked at each Sync of an Index whether that is to be built anew, which may change no
	// decision.
	Forget func() bool
}

// Hadoop's defaults for keeping a job away from nodes on which its tasks fail:
// mapreduce.job.maxtaskfailures.per.tracker, and the part of the nodes that a job may at most avoid
// (yarn.app.mapreduce.am.job.node-blacklisting.ignore-threshold-node-percent).
const (
	failuresToAvoidNode = 3
	mostNodesAvoided    = 0.33
)

// A Core decides what to do on a cluster, whose state and jobs its View shows. It is not safe for concurrent use: one
// goroutine owns it.
type Core struct {
	View

	policy   Policy
	recorder Recorder
	state    cluster
}

// New returns a core without nodes and jobs.
func New(config Config) *Core {
	c := &Core{policy: config.Policy, recorder: config.Recorder}
	c.state.init(&c.View, config)
	for _, part := range [...]any{config.Recorder, config.Estimator} {
		if f, ok := part.(interface{ Attach(*View) }); ok {
			f.Attach(&c.View)
		}
	}
	return c
}

// Step applies what happened at now, which is not before the last Step, asks the policy once, and returns what to do. A
// second Step at the same instant is legal. Events may be given in any order. Both slices are lent until the next call.
//
// Stale facts (the end of an attempt that has ended already) are ignored, since live engines send them. Step panics
// where an engine breaks its contract: time that goes back, a node or a job under a wrong ID, a spec that is not valid.
func (c *Core) Step(now Time, events []Event) []Action {
	if now < c.Now {
		panic(fmt.Sprintf("sched: step at %v after %v", now, c.Now))
	}
	s := &c.state
	s.begin(now)
	s.applyAll(events)
	if c.policy != nil {
		c.policy.Decide(&s.plan)
	}
	s.finish()
	if c.recorder != nil {
		c.recorder.Record(now, c.Events, s.plan.out.actions)
	}
	return s.plan.out.actions
}

// Refusals returns the first few of the invalid actions that the policy asked for in the last Step.
func (c *Core) Refusals() []Refusal { return c.state.plan.out.refusals }

// FirstRefusal returns the first invalid action that the policy asked for in the whole run. Refused says whether there
// was one.
func (c *Core) FirstRefusal() Refusal { return c.state.plan.out.first }

// Refused returns how many actions were invalid in the whole run.
func (c *Core) Refused() int { return c.state.plan.out.refused }

// compareEvents is the one order of the events of an instant.
func compareEvents(a, b Event) int {
	switch {
	case a.Kind != b.Kind:
		return cmp.Compare(a.Kind, b.Kind)
	case a.Attempt != b.Attempt:
		return cmp.Compare(a.Attempt, b.Attempt)
	case a.Job != b.Job:
		return cmp.Compare(a.Job, b.Job)
	}
	return cmp.Compare(a.Node, b.Node)
}

// sorted reports whether events stand in their order, as those of most engines do.
func sorted(events []Event) bool {
	for i := 1; i < len(events); i++ {
		a, b := &events[i-1], &events[i]
		if a.Kind > b.Kind ||
			a.Kind == b.Kind && (a.Attempt > b.Attempt || a.Attempt == b.Attempt && compareEvents(*a, *b) > 0) {
			return false
		}
	}
	return true
}

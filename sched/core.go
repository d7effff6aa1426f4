package sched

import (
	"cmp"
	"fmt"
)

// Config is the configuration of a core.
type Config struct {
	Policy     Policy
	Estimator  Estimator // nil: estimates are the specs' own (Prior)
	Recorder   Recorder  // nil: none. A method Attach(*View), of it or of Estimator, is called before the first Step
	Queues     []*QueueSpec
	Can        Powers
	Heartbeats bool // nodes may be launched on only in a Step in which they report
	// Forecast is what all nodes together are expected to offer over time; nil: not known.
	Forecast *Forecast
	// Limit bounds the launches of a Step, so that live engines stay responsive; zero: no limit. A launch of a job with
	// many stages counts as 1 + stages ÷ 16, because it sorts them all again. The Step that reaches the limit asks for
	// another at once.
	Limit int
	// Spread makes First and FirstWhere begin with the node after that of the last launch, so that launches go round
	// all nodes.
	Spread bool
	// Forget is for tests. It is called at the beginning of each Step and at each Sync of an Index. If it returns true,
	// the shapes that no stage and no attempt has are forgotten, or the Index is built again: neither may change a
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

// A Core has the state of a cluster and of its jobs, which its View shows, and asks a policy what to do. It is not safe
// for concurrent use: one goroutine owns it.
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

// Step applies the events of instant now, asks the policy once, and returns the actions for the engine. now is not
// before the last Step; several Steps may have the same instant. Events may be in any order. Both slices are lent until
// the next call.
//
// Stale events (the end of an attempt that has ended already) are ignored, since live engines send them. Step panics
// with a Breach if the engine breaks its contract: time goes back, a node or a job has a wrong ID, or a spec is not
// valid. Every other panic of Step is a defect of the policy, of the estimator or of this package.
func (c *Core) Step(now Time, events []Event) []Action {
	if now < c.Now {
		breach("step at %v after %v", now, c.Now)
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

// A Breach is what Step panics with when its caller, the engine, breaks its contract: it says what the engine did.
type Breach struct{ What string }

// Error implements error.
func (b Breach) Error() string { return "sched: " + b.What }

// breach panics with a Breach.
func breach(format string, args ...any) { panic(Breach{fmt.Sprintf(format, args...)}) }

// Refusals returns the first few invalid actions for which the policy asked in the last Step.
func (c *Core) Refusals() []Refusal { return c.state.plan.out.refusals }

// FirstRefusal returns the first invalid action for which the policy asked in the whole run. Refused says whether there
// was one.
func (c *Core) FirstRefusal() Refusal { return c.state.plan.out.first }

// Refused returns how many actions were invalid in the whole run.
func (c *Core) Refused() int { return c.state.plan.out.refused }

// compareEvents compares events in the order in which the core applies the events of an instant.
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

// sorted reports whether events are in that order already, as those of most engines are.
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

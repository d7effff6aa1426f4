package policytest

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/sojourn-sched/sojourn/sched"
)

// A revived is a second core and a second policy that begin in the midst of a run, from the state of the core and the
// memory of the policy and the estimator, as after a restart. They are given the same events, and must decide the same.
// Now and then they begin anew.
type revived struct {
	conformance *conformance
	setup       Setup
	policy      sched.Policy // of the run
	chance      *rand.Rand
	estimator   sched.Estimator // of the run; nil: there is none
	core        *sched.Core     // nil: not begun yet
	since       sched.Time
}

// oneRevivalIn is in how many Steps, on average, the second core begins anew.
const oneRevivalIn = 64

// revivalRule says what a policy does wrong that decides otherwise after a restart.
const revivalRule = "a key or a decision depends on what is neither in the rows that a key may read nor in " +
	"exported memory, or Touch was not called when it changed"

// follow takes in a Step of e.
func (r *revived) follow(e *engine) error {
	if r.core != nil {
		if again := r.core.Step(e.core.Now, e.events); !slices.EqualFunc(again, e.acts, r.same(e.core)) {
			return fmt.Errorf("at %v: revived from the state at %v, it chose %+v instead of %+v: %s", e.core.Now,
				r.since, again, e.acts, revivalRule)
		}
	}
	if r.chance.IntN(oneRevivalIn) != 0 {
		return nil
	}
	return r.begin(e, r.conformance.fresh(false))
}

// same returns a function that reports whether the second core has chosen what the first one has. Each has IDs of its
// own for shapes.
func (r *revived) same(first *sched.Core) func(a, b sched.Action) bool {
	return func(a, b sched.Action) bool {
		return entryOf(&r.core.View, a) == entryOf(&first.View, b)
	}
}

// begin makes the second core, with a policy that is given the memory of the run's.
func (r *revived) begin(e *engine, p sched.Policy) error {
	if err := throughJSON(r.policy, p); err != nil {
		return err
	}
	config := sched.Config{Policy: p, Can: r.setup.Can, Heartbeats: r.setup.Heartbeat > 0,
		Forecast: r.setup.Forecast}
	if r.estimator != nil {
		config.Estimator = r.setup.Estimator(func() *sched.Core { return r.core })
		if err := throughJSON(r.estimator, config.Estimator); err != nil {
			return err
		}
	}
	var err error
	r.core, err = sched.Restore(config, sched.StateOf(&e.core.View))
	r.since = e.core.Now
	return err
}

package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"sync"
	"time"

	"github.com/sojourn-sched/sojourn/internal/record"
	"github.com/sojourn-sched/sojourn/internal/sim"
	"github.com/sojourn-sched/sojourn/internal/spelling"
	"github.com/sojourn-sched/sojourn/model"
	"github.com/sojourn-sched/sojourn/mr"
	"github.com/sojourn-sched/sojourn/sched"
)

// An Outcome is what a run came to.
type Outcome struct {
	Result      record.Result
	Predictions []Prediction
	Jobs        []mr.Result   // of the embedded engine, in the order in which they are given
	Counters    []mr.Counters // likewise
}

// untouched is memory that no code reads or writes, so that the operating system never provides it. The garbage
// collector starts when the heap has doubled, and untouched counts as a part of the heap. A simulation needs little
// memory: without untouched the collector would start every few MB, and take a tenth of the processor time. With it a
// process holds at most 32 MB more. A larger GOGC would save as much time, and multiply what large simulations need.
var untouched = sync.OnceValue(func() []byte { return make([]byte, 32<<20) })

// Simulate runs the jobs of c on the simulator, with c's cluster and seed, and fills in c.Core, but keeps its Spread
// and, where neither s nor a timetable says what to expect, its Forecast.
func Simulate(ctx context.Context, s Setup, c sim.Config) (out Outcome, err error) {
	s.Engine, s.Cluster, s.Queues, s.Seed = Simulator, c.Cluster, c.Cluster.Queues, c.Seed
	s.Heartbeat, s.Spread = c.Costs.Reporting.Heartbeat, c.Core.Spread
	if s.Forecast == nil && len(c.Timetables) == 0 {
		s.Forecast = c.Core.Forecast
	}
	if s.Forecast == nil {
		if s.Forecast, err = sim.Expected(c.Cluster, c.Timetables); err != nil {
			return out, err
		}
	}
	o, err := s.Open()
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, o.Close()) }()
	defer o.caught(&err)
	c.Core = o.Core
	untouched()
	start := time.Now()
	done, err := sim.Run(ctx, c)
	policy := s.Choice.Policy
	switch {
	case errors.Is(err, sim.ErrStuck) || errors.Is(err, sim.ErrLimit) || errors.Is(err, sim.ErrClock):
		return out, Failuref("policy %s: %w", policy, err)
	case err != nil:
		return out, fmt.Errorf("policy %s: %w", policy, err)
	case done.Jobs == 0:
		return out, fmt.Errorf("%s: no jobs are left to simulate", s.Workload)
	}
	out.Predictions = o.predictions()
	out.Result = o.Tally.Result()
	out.Result.Wall = time.Since(start).Seconds()
	out.Result.EventRate = float64(done.Events) / out.Result.Wall
	if done.Refused > 0 {
		err = Failuref("%s", refusals(policy, done.Refused, done.Refusal))
	}
	return out, err
}

// refusals says that a policy asked for invalid actions: how many, the first of them, and why it was refused.
func refusals(policy string, n int, first sched.Refusal) string {
	return fmt.Sprintf("policy %s asked for %s invalid, a defect of the policy; the first: %v", policy,
		spelling.Count(n, "action that is", "actions that are"), first)
}

// Reporting returns costs with progress reports every second where the policy looks at progress and the costs have no
// reports.
func (n Names) Reporting(costs sim.Costs, policy string) sim.Costs {
	if _, card, err := n.Policies.Parse(policy); err == nil && card.Progress && costs.Reporting.Progress == 0 {
		costs.Reporting.Progress = time.Second
	}
	return costs
}

// caught is deferred around a run. It turns a panic of Policy.Decide, or of what Decide called, into an error; other
// panics go on. The stack tells them apart.
func (o *Opened) caught(err *error) {
	why := recover()
	if why == nil {
		return
	}
	stack := debug.Stack()
	if !bytes.Contains(stack, []byte(".Decide(")) {
		panic(why)
	}
	*err = Panic{Failuref(
		"policy %s, or what it called, panicked when it decided after event %d, at %v: %v: a defect of one of them; "+
			"%s, and --verbose shows where",
		o.choice.Policy, o.Tally.Result().Events, o.Tally.Now(), why, o.engine.again), stack}
}

// A Prediction is how good the sizes were that an estimator predicted in a run: R², 1 when all are right.
type Prediction struct {
	Policy  string   `json:"policy"`
	Jobs    int      `json:"jobs"` // that were probed and have finished, at most as many as the models look at
	Maps    *float64 `json:"r2_maps,omitempty"`
	Reduces *float64 `json:"r2_reduces,omitempty"`
	Size    *float64 `json:"r2_size,omitempty"`
}

// predictions returns those of the run's estimator: none where it does not predict, or has not.
func (o *Opened) predictions() []Prediction {
	f, ok := o.estimator.(*model.FSPY)
	if !ok || len(f.Trials) == 0 {
		return nil
	}
	number := func(x float64) *float64 {
		if math.IsNaN(x) {
			return nil
		}
		return &x
	}
	maps, reduces, size := f.Accuracy()
	return []Prediction{{o.choice.Policy, len(f.Trials), number(maps), number(reduces), number(size)}}
}

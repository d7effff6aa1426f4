package policy_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/internal/sim"
	"github.com/sojourn-sched/sojourn/internal/workload"
	"github.com/sojourn-sched/sojourn/model"
	"github.com/sojourn-sched/sojourn/policy"
	"github.com/sojourn-sched/sojourn/sched"
)

// told is a policy that tells its order in words.
type told interface {
	Position(*sched.View, *sched.Stage) (sched.Key, bool)
	InWords(*sched.View, *sched.Stage, sched.Key) string
}

// listener asks, after each Step, for the words of all stages that have a place.
type listener struct {
	view   *sched.View
	policy told
	keys   map[string]sched.Key // by words, the first key that had them
	errs   []string
}

func (l *listener) Attach(v *sched.View) { l.view = v }

func (l *listener) Record(now sched.Time, _ []sched.Event, _ []sched.Action) {
	for j := range l.view.Jobs() {
		for _, st := range j.Stages {
			k, ok := l.policy.Position(l.view, st)
			if !ok {
				continue
			}
			words := l.policy.InWords(l.view, st, k)
			// What the words say besides the key, such as the kind of resource, is part of them.
			switch was, known := l.keys[words]; {
			case words == "" || strings.Contains(words, "  "):
				l.errs = append(l.errs, fmt.Sprintf("at %v: key %v is %q", now, k, words))
			case !known:
				l.keys[words] = k
			case was.Class != k.Class || was.Then != k.Then || !alike(was.Value, k.Value):
				l.errs = append(l.errs, fmt.Sprintf("at %v: keys %v and %v are both %q", now, was, k, words))
			}
		}
	}
}

// alike reports whether two values may have the same words, which say six digits, and times to the millisecond.
func alike(a, b float64) bool {
	return a == b || math.Abs(a-b) <= 1e-3+1e-5*max(math.Abs(a), math.Abs(b))
}

// wordyJobs are jobs of two queues, several sizes and three priorities, some with deadlines. They say how long their
// tasks take if that is to be known.
func wordyJobs(c *workload.Cluster, known bool) workload.Source {
	var list []*sched.JobSpec
	o := c.Options()
	for i := range 24 {
		spec := &sched.JobSpec{Name: fmt.Sprint("j", i), Type: "MAPREDUCE", Submit: sched.Time(i) * 2 * time.Second,
			Queue: []string{"a", "b"}[i%2], User: []string{"u", "w"}[i/2%2], Priority: int32(i % 3),
			Stages: []sched.StageSpec{
				{Kind: sched.Map, PerTask: o.MapTask, Tasks: int32(3 + i%7), MaxAttempts: 4},
				{Kind: sched.Reduce, PerTask: o.ReduceTask, Tasks: 2, MaxAttempts: 4,
					After: []sched.Dep{{Part: 0.5}}},
			}}
		if i%3 > 0 {
			spec.Deadline = sched.Time(10+i*i) * time.Second
		}
		truth := &workload.Truth{Seed: uint64(i)}
		for k, st := range spec.Stages {
			truth.Stages = append(truth.Stages,
				workload.StageTruth{Tasks: st.Tasks, Base: sched.Time(4+i%5+6*k) * time.Second, Sigma: 0.3})
		}
		for k := range spec.Stages {
			if known {
				spec.Stages[k].Prior = truth.Stages[k].Base
			}
		}
		spec.Payload = truth
		list = append(list, spec)
	}
	return workload.Of(list...)
}

// Each registered policy that tells its order says its keys in words: each part of a key, so that keys which differ do
// so in words too.
func TestKeysInWords(t *testing.T) {
	clusters := map[string]string{
		"slots":  "nodes=4,map-slots=2,reduce-slots=1",
		"memory": "nodes=4,memory=4GiB,vcores=4",
	}
	var specs []string
	for name, entry := range policy.All {
		if entry.Card.Wraps {
			name += "{srpt}"
		}
		specs = append(specs, name)
	}
	specs = append(specs, "fspy:late=share", "flex:base=fair", "srpt:preempt=kill", "longterm:jobs=longterm",
		"gittins:aging=2", "adaptive:no-goal=background", "adaptive:shortage=fewest", "dynamicmr:base=srpt",
		"dynamicmr:base=fifo", "dynamicmr:dhsa=pd")
	for _, spec := range specs {
		for kind, text := range clusters {
			for _, known := range []bool{true, false} { // the times of tasks, before the first has run
				p, _, err := policy.Parse(spec)
				if err != nil {
					t.Fatal(err)
				}
				if _, ranks := p.(interface {
					Position(*sched.View, *sched.Stage) (sched.Key, bool)
				}); !ranks {
					continue // it has no order to tell
				}
				teller, ok := p.(told)
				if !ok {
					t.Errorf("%s: it tells its order, but not what its keys stand for: InWords is missing", spec)
					continue
				}
				c, err := workload.ParseCluster(text)
				if err != nil {
					t.Fatal(err)
				}
				var e sched.Estimator // none: what the jobs say
				if !known {
					if e, _, err = model.All.Parse("mean", nil); err != nil {
						t.Fatal(err)
					}
				}
				c.Queues = []*sched.QueueSpec{{Name: "a"}, {Name: "b", Weight: 2}}
				l := &listener{policy: teller, keys: map[string]sched.Key{}}
				_, err = sim.Run(context.Background(), sim.Config{Cluster: c, Jobs: wordyJobs(c, known), Seed: 1,
					Core: sched.Config{Policy: p, Estimator: e, Recorder: l, Queues: c.Queues}})
				if err != nil {
					t.Errorf("%s on %s: %v", spec, kind, err)
				}
				for _, e := range l.errs[:min(3, len(l.errs))] {
					t.Errorf("%s on %s, times known: %v: %s", spec, kind, known, e)
				}
			}
		}
	}
}

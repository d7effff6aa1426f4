package policy_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/internal/theory/malleable"
	"github.com/sojourn-sched/sojourn/policy/policytest"
	"github.com/sojourn-sched/sojourn/sched"
)

const year = 365 * 24 * time.Hour

// oddLoads are jobs at the edges of what a spec may say, on a node with four map slots. The longest task takes long.
func oddLoads(long sched.Time) map[string][]*sched.JobSpec {
	each := func(n int, change func(i int, j *sched.JobSpec)) (jobs []*sched.JobSpec) {
		for i := range n {
			j := mapsOf(fmt.Sprint("job", i), int32(1+i%5), sched.Time(1+i%3)*time.Second)
			j.Deadline = sched.Time(5+i) * time.Second
			change(i, j)
			jobs = append(jobs, j)
		}
		return jobs
	}
	return map[string][]*sched.JobSpec{
		"one job":  each(1, func(int, *sched.JobSpec) {}),
		"one task": {mapsOf("job", 1, time.Nanosecond)},
		"equal jobs": each(20, func(_ int, j *sched.JobSpec) {
			*j = *mapsOf("job", 3, 2*time.Second)
			j.Deadline = time.Minute
		}),
		"weights from next to nothing to the largest": each(12, func(i int, j *sched.JobSpec) {
			j.Weight = []float64{5e-324, 1e-300, 1e-9, 0, 1e9}[i%5]
			weight := []float64{0, 5e-324, 1e9}[i%3]
			j.Goal = &sched.Goal{Metric: sched.Metric(i % int(sched.MetricSteps)), Weight: weight}
		}),
		"deadlines in the past": each(12, func(i int, j *sched.JobSpec) {
			j.Submit, j.Deadline = sched.Time(i)*time.Second, 1
		}),
		"deadlines in thousands of years, and none": each(12, func(i int, j *sched.JobSpec) {
			j.Deadline = []sched.Time{0, math.MaxInt64 - 100*year}[i%2]
		}),
		"tasks of a nanosecond and long ones": each(8, func(i int, j *sched.JobSpec) {
			j.Stages[0].Prior = []sched.Time{1, long}[i%2]
		}),
		"minima above the cluster": each(12, func(i int, j *sched.JobSpec) {
			j.Min[sched.MapSlots] = []int64{0, 4, 1000, 1 << 36}[i%4]
		}),
		"maxima below a task": each(6, func(_ int, j *sched.JobSpec) {
			j.Stages[0].PerTask[sched.MapSlots], j.Max[sched.MapSlots] = 2, 1
		}),
		"tasks as large as the cluster": each(6, func(_ int, j *sched.JobSpec) {
			j.Stages[0].PerTask[sched.MapSlots] = 4
		}),
		"many more jobs than slots": each(150, func(int, *sched.JobSpec) {}),
		"steps at once, equal and without cost": each(12, func(i int, j *sched.JobSpec) {
			steps := [][]sched.CostStep{
				{{After: 0, Cost: 0}}, {{After: 0, Cost: 1e9}},
				{{After: 1, Cost: 2}, {After: 2, Cost: 2}, {After: year, Cost: 2}},
			}[i%3]
			j.Goal = &sched.Goal{Metric: sched.MetricSteps, Steps: steps}
		}),
	}
}

// Whatever a spec may say: every job ends, nothing that the policy asks for is invalid, a node never runs more than it
// has, no slot is idle while a task waits for one (but under policies that place by cycles), and a second run takes the
// same actions.
func TestOddJobs(t *testing.T) {
	specs := []string{
		"flex:base=fair", "flex:epoch=2s", "flex:churn=0.1,stages=joint", "flex:metric=tardy,certainty=law",
		"flex:metric=sla,base=fair,least=0", "flex:stretch=work,metric=max-stretch,work=printed", "reverse",
		"ras:waves=on", "reverse:cycle=1s,fractions=off,window=cycle", "adaptive",
		"adaptive:shortage=fewest,split=waves",
		"adaptive:need=waves,late-cap=0.5", "distributions", "minedf",
	}
	for metric := range malleable.Metrics {
		specs = append(specs, "flex:metric="+metric)
	}
	slices.Sort(specs)
	for _, spec := range specs {
		t.Run(spec, func(t *testing.T) {
			t.Parallel()
			cycles, long := strings.HasPrefix(spec, "ras") || strings.HasPrefix(spec, "reverse"), year
			if cycles {
				long = time.Hour
			}
			for name, jobs := range oddLoads(long) {
				var logs [2][]policytest.Entry
				for i := range logs {
					logs[i] = oddRun(t, name, &within{inner: flexOf(t, spec), idle: cycles}, jobs)
				}
				if !slices.Equal(logs[0], logs[1]) {
					t.Errorf("%s: two runs differ", name)
				}
			}
		})
	}
}

// oddRun runs jobs under a policy, and returns what it did.
func oddRun(t *testing.T, name string, w *within, jobs []*sched.JobSpec) []policytest.Entry {
	t.Helper()
	r, err := policytest.Run(slotsOf(4, jobs...), w)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	for _, j := range jobs {
		if r.Ends[j].Outcome != sched.OK || r.Ends[j].At == 0 {
			t.Errorf("%s: %s comes to %v", name, j.Name, r.Ends[j])
		}
	}
	if n := r.Core.Refused(); n > 0 {
		t.Errorf("%s: %d actions are refused, the first: %v", name, n, r.Core.FirstRefusal())
	}
	if w.wrong != "" {
		t.Errorf("%s: %s", name, w.wrong)
	}
	return r.Log
}

// within looks after each decision at what the node runs.
type within struct {
	inner sched.Policy
	idle  bool // slots may be idle while tasks wait
	wrong string
}

func (w *within) Decide(p *sched.Plan) {
	w.inner.Decide(p)
	for _, n := range p.Nodes {
		if n != nil && !n.Used.FitsIn(n.Capacity) {
			w.wrong = fmt.Sprintf("at %v the node runs %v of %v", p.Now, n.Used, n.Capacity)
		}
	}
	for j := range p.Jobs() {
		if w.idle || j.Spec.Max[sched.MapSlots] > 0 { // such a job may have to wait
			continue
		}
		for _, st := range j.Stages {
			if st.Pending > 0 && p.First(st) != nil {
				w.wrong = fmt.Sprintf("at %v a task of job %d waits while there is room", p.Now, j.ID)
			}
		}
	}
}

// A queue whose minimum is above the cluster, one whose maximum is nothing but a task, and one without jobs: flex
// divides, every job ends, and within the maximum.
func TestOddQueues(t *testing.T) {
	slots := func(n int64) sched.Resources { return sched.Resources{sched.MapSlots: n} }
	queue := func(name string, least, most int64, weight float64) *sched.QueueSpec {
		return &sched.QueueSpec{
			Name: name, Weight: weight, Min: sched.Share{Amount: slots(least)}, Max: sched.Share{Amount: slots(most)},
		}
	}
	for _, spec := range []string{
		"flex", "flex:base=fair", "flex:base=fair,epoch=1s,metric=tardiness", "reverse", "adaptive",
	} {
		var jobs []*sched.JobSpec
		for i := range 12 {
			j := mapsOf(fmt.Sprint("job", i), int32(1+i%5), sched.Time(1+i%3)*time.Second)
			j.Queue, j.Deadline = []string{"greedy", "narrow", "light"}[i%3], 1
			jobs = append(jobs, j)
		}
		s := slotsOf(4, jobs...)
		s.Queues = []*sched.QueueSpec{
			queue("greedy", 1<<36, 0, 1), queue("narrow", 0, 1, 1e9), queue("light", 0, 0, 1e-9),
			queue("empty", 4, 4, 1),
		}
		narrow := &queueUse{inner: flexOf(t, spec), queue: "narrow"}
		r, err := policytest.Run(s, narrow)
		if err != nil {
			t.Errorf("%s: %v", spec, err)
			continue
		}
		if narrow.most != 1 || r.Core.Refused() > 0 {
			t.Errorf("%s: queue narrow held up to %d slots, %d actions were refused", spec, narrow.most,
				r.Core.Refused())
		}
	}
}

// queueUse notes the most map slots that a queue held.
type queueUse struct {
	inner sched.Policy
	queue string
	most  int64
}

func (u *queueUse) Decide(p *sched.Plan) {
	u.inner.Decide(p)
	for _, q := range p.Queues {
		if q != nil && q.Spec.Name == u.queue {
			u.most = max(u.most, q.Used[sched.MapSlots])
		}
	}
}

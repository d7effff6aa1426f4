package policy_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/internal/longtest"
	"github.com/sojourn-sched/sojourn/model"
	"github.com/sojourn-sched/sojourn/policy"
	"github.com/sojourn-sched/sojourn/policy/policytest"
	"github.com/sojourn-sched/sojourn/sched"
)

// An asking policy lets a test look at the view right after a decision.
type asking struct {
	inner sched.Policy
	at    sched.Time
	ask   func(*sched.View)
}

func (a *asking) Decide(p *sched.Plan) {
	a.inner.Decide(p)
	if p.Now == a.at {
		a.ask(p.View)
	}
}

func flexOf(t *testing.T, spec string) sched.Policy {
	t.Helper()
	p, _, err := policy.Parse(spec)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// slotsOf makes a setup of one node with map slots, where every task takes its stage's prior.
func slotsOf(slots int64, jobs ...*sched.JobSpec) policytest.Setup {
	return policytest.Setup{
		Nodes: []sched.NodeSpec{{Name: "n1", Capacity: sched.Resources{sched.MapSlots: slots}}},
		Jobs:  jobs,
		Take:  func(x policytest.Try) (sched.Time, sched.Outcome) { return x.Job.Stages[x.Stage].Prior, sched.OK },
	}
}

func mapsOf(name string, tasks int32, each sched.Time) *sched.JobSpec {
	return &sched.JobSpec{Name: name, Stages: []sched.StageSpec{{
		Kind: sched.Map, PerTask: sched.Resources{sched.MapSlots: 1}, Tasks: tasks, Prior: each,
	}}}
}

// X3 of the page: the mean of 4 finished tasks times the 16 that are left, on at most as many slots as there are, or
// tasks.
func TestFlexX3Work(t *testing.T) {
	times := []sched.Time{30 * time.Second, 28 * time.Second, 34 * time.Second, 32 * time.Second}
	for slots, want := range map[int64]int{4: 4, 20: 16} {
		s := slotsOf(slots, mapsOf("A", 20, 0))
		s.Take = func(x policytest.Try) (sched.Time, sched.Outcome) {
			if x.Task > 4 {
				return 100 * time.Second, sched.OK
			}
			return times[x.Task-1], sched.OK
		}
		work, most := 0.0, 0
		p := flexOf(t, "flex:work=printed,epoch=1s")
		if _, err := policytest.Run(s, &asking{p, 34 * time.Second, func(v *sched.View) {
			for j := range v.Jobs() {
				if st := j.Stages[0]; st.Done == 4 && st.Total == 20 {
					work, most = policy.FlexWork(p, v, st)
				}
			}
		}}); err != nil {
			t.Fatal(err)
		}
		if math.Abs(work-496) > 1e-9 || most != want {
			t.Errorf("%d slots: work %v on at most %d, want 496 on %d", slots, work, most, want)
		}
	}
}

// What explain says: place, slots, and the loss by one slot less. B has 3 of 4 slots for 12 s of work: 4 s, with 2
// slots 6 s.
func TestFlexWhy(t *testing.T) {
	s := slotsOf(4, mapsOf("A", 40, 2*time.Second), mapsOf("B", 6, 2*time.Second))
	said := map[string]string{}
	p := flexOf(t, "flex")
	_, err := policytest.Run(s, &asking{p, 0, func(v *sched.View) {
		for j := range v.Jobs() {
			said[j.Spec.Name] = p.(interface {
				Why(*sched.View, *sched.Stage) string
			}).Why(v, j.Stages[0])
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	want := "flex: place 1, 3 slots, holds 3; " +
		"with one slot less for good it ends 2 s later, and its penalty grows from 4 to 6"
	if said["B"] != want {
		t.Errorf("B: %q, want %q", said["B"], want)
	}
	if want := "flex: place 2, 1 slot, holds 1"; said["A"] != want {
		t.Errorf("A: %q, want %q", said["A"], want)
	}
}

// A metric of one's own: penalties that jump a thousandfold for the job with the larger weight.
func TestFlexOwnMetric(t *testing.T) {
	own := policy.Registry{"mine": policy.Flex(policy.FlexMetric{
		Title: "the heavy first",
		Penalty: func(j policy.FlexJob) func(float64) float64 {
			return func(at float64) float64 {
				if j.Weight > 1 {
					return 1000 * at
				}
				return at
			}
		},
	})}
	p, _, err := own.Parse("mine:least=0")
	if err != nil {
		t.Fatal(err)
	}
	small, heavy := mapsOf("small", 4, time.Second), mapsOf("heavy", 40, time.Second)
	heavy.Weight = 2
	r, err := policytest.Run(slotsOf(4, small, heavy), p)
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(r.Ends[small].At, r.Ends[heavy].At); got != "11s 10s" {
		t.Errorf("small and heavy end at %s, want 11s and 10s", got)
	}
	if _, _, err := own.Parse("mine:metric=tardy"); err == nil {
		t.Error("a metric is taken although there is one")
	}
	for _, spec := range []string{"mine", "mine:base=fair,epoch=2s"} {
		policytest.Conform(t, own, spec, 5)
	}
}

// Jobs with goals of their own, minima, maxima and deadlines: every run ends, nothing is refused, no job ever runs more
// tasks at once than its maximum, and JSON and extra questions change no action.
func TestFlexGoals(t *testing.T) {
	specs := []string{"flex", "flex:base=fair,metric=sla", "flex:metric=max-stretch,epoch=2s,stages=joint"}
	for _, spec := range specs {
		for seed := range longtest.Few[uint64](8, 30) {
			setup := policytest.RandomSetup(seed, 1)
			r := rand.New(rand.NewPCG(seed, 9))
			for _, j := range setup.Jobs {
				g := &sched.Goal{Metric: sched.Metric(r.IntN(int(sched.NumMetrics))), Weight: r.Float64()}
				if g.Metric == sched.MetricSteps {
					g.Steps = []sched.CostStep{{After: 20 * time.Second, Cost: 1}, {After: 60 * time.Second, Cost: 5}}
				}
				j.Goal, j.Deadline = g, sched.Time(1+r.IntN(90))*time.Second
				j.Min, j.Max = sched.Resources{}, j.Stages[0].PerTask.Times(1+r.Int64N(3))
			}
			var last []sched.Time
			for _, wrapped := range []bool{false, true} {
				w := &restless{spec: spec, inner: flexOf(t, spec)}
				if wrapped {
					w.r = rand.New(rand.NewPCG(seed, 10))
				}
				over := &withinMax{inner: w}
				res, err := policytest.Run(setup, over)
				switch {
				case err != nil:
					t.Fatalf("%s, seed %d: %v", spec, seed, err)
				case w.err != nil:
					t.Fatalf("%s, seed %d: %v", spec, seed, w.err)
				case over.job != 0:
					t.Fatalf("%s, seed %d: job %d runs more than its maximum", spec, seed, over.job)
				}
				var ends []sched.Time
				for _, j := range setup.Jobs {
					ends = append(ends, res.Ends[j].At)
				}
				if wrapped && !slices.Equal(ends, last) {
					t.Errorf("%s, seed %d: disturbed %v, else %v", spec, seed, ends, last)
				}
				last = ends
			}
		}
	}
}

// withinMax notes a job with a stage that runs more tasks at once than its maximum allows.
type withinMax struct {
	inner sched.Policy
	job   sched.JobID
}

func (w *withinMax) Decide(p *sched.Plan) {
	w.inner.Decide(p)
	for j := range p.Jobs() {
		for _, st := range j.Stages {
			if most := j.Spec.Max[sched.MapSlots]; st.Kind == sched.Map && most > 0 && int64(st.Running) > most {
				w.job = j.ID
			}
		}
	}
}

// A watching policy notes when a reduce runs first.
type watching struct {
	inner sched.Policy
	first sched.Time
}

func (w *watching) Decide(p *sched.Plan) {
	w.inner.Decide(p)
	for j := range p.Jobs() {
		for _, st := range j.Stages {
			if st.Kind == sched.Reduce && st.Running > 0 && w.first == 0 {
				w.first = p.Now
			}
		}
	}
}

// Eight maps of 10 s on four slots end at 20 s. Reduces of 4 s may start once a map is done, at 10 s; late, they start
// at 16 s.
func TestFlexLateReduces(t *testing.T) {
	for spec, want := range map[string]sched.Time{"flex": 10 * time.Second, "flex:reduces=late": 16 * time.Second} {
		job := mapsOf("job", 8, 10*time.Second)
		job.Stages = append(job.Stages, sched.StageSpec{
			Kind: sched.Reduce, PerTask: sched.Resources{sched.ReduceSlots: 1}, Tasks: 2, Prior: 4 * time.Second,
			After: []sched.Dep{{Stage: 0, Part: 0.1}},
		})
		s := slotsOf(4, job)
		s.Nodes[0].Capacity[sched.ReduceSlots] = 4
		w := &watching{inner: flexOf(t, spec)}
		if _, err := policytest.Run(s, w); err != nil {
			t.Fatal(err)
		}
		if w.first != want {
			t.Errorf("%s: the first reduce runs at %v, want %v", spec, w.first, want)
		}
	}
}

// Three jobs on one slot: the minimum of one slot for each job cannot be kept, and the metric decides who is first.
// Were the slot the minimum of the job that came first, all metrics would be FIFO.
func TestFlexMoreJobsThanSlots(t *testing.T) {
	a, b, c := mapsOf("A", 1, 10*time.Second), mapsOf("B", 1, 8*time.Second), mapsOf("C", 1, time.Second)
	a.Deadline = 10 * time.Second
	for spec, want := range map[string]string{
		"flex": "19s 9s 1s", "flex:base=fair": "19s 9s 1s", "flex:metric=max-lateness": "10s 19s 11s",
	} {
		r, err := policytest.Run(slotsOf(1, a, b, c), flexOf(t, spec))
		if err != nil {
			t.Fatalf("%s: %v", spec, err)
		}
		if got := fmt.Sprint(r.Ends[a].At, r.Ends[b].At, r.Ends[c].At); got != want {
			t.Errorf("%s: A, B, C end at %s, want %s", spec, got, want)
		}
	}
}

// A patient job of four maps of 10 s, and one of two maps that is due after 10 s, in a queue with a minimum of both
// slots. The metric decides within the queue; were its minimum divided among its jobs, each would have one slot. A job
// of another queue leaves the queue its minimum, and each job its part of it.
func TestFlexMinimumOfTheOnlyQueue(t *testing.T) {
	patient, urgent, other := mapsOf("patient", 4, 10*time.Second), mapsOf("urgent", 2, 10*time.Second),
		mapsOf("other", 2, 10*time.Second)
	patient.Deadline, urgent.Deadline = time.Hour, 10*time.Second
	patient.Queue, urgent.Queue, other.Queue = "q", "q", "o"
	for _, beside := range []bool{false, true} {
		jobs, want := []*sched.JobSpec{patient, urgent}, 10*time.Second
		if beside {
			jobs, want = append(jobs, other), 20*time.Second
		}
		s := slotsOf(2, jobs...)
		both := sched.Share{Amount: sched.Resources{sched.MapSlots: 2}}
		s.Queues = []*sched.QueueSpec{{Name: "q", Min: both}, {Name: "o"}}
		r, err := policytest.Run(s, flexOf(t, "flex:metric=tardiness,least=0"))
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Ends[urgent].At; got != want {
			t.Errorf("beside another queue's job %v: the urgent job ends at %v, want %v", beside, got, want)
		}
	}
}

// Two containers, four maps of 10 s, and two reduces of 5 s, which are shorter and may start once a map is done. When
// two maps have ended at 10 s, reduces that took both containers would wait for maps without room; an engine that ends
// them would see them start again for ever. Maps run first, until 20 s, and the job ends at 25 s.
func TestFlexMapsBeforeReducesThatWaitForThem(t *testing.T) {
	job := mapsOf("job", 4, 10*time.Second)
	job.Stages = append(job.Stages, sched.StageSpec{
		Kind: sched.Reduce, Tasks: 2, Prior: 5 * time.Second, After: []sched.Dep{{Stage: 0, Part: 0.25}},
	})
	s := slotsOf(2, job)
	s.Nodes[0].Capacity = sched.Resources{sched.Memory: 2048}
	for i := range job.Stages {
		job.Stages[i].PerTask = sched.Resources{sched.Memory: 1024}
	}
	s.Patience = 30 * time.Second
	for _, spec := range []string{"flex:least=0", "flex:base=fair,least=0"} {
		r, err := policytest.Run(s, flexOf(t, spec))
		if err != nil {
			t.Fatalf("%s: %v", spec, err)
		}
		if got := r.Ends[job].At; got != 25*time.Second {
			t.Errorf("%s: the job ends at %v, want 25 s", spec, got)
		}
	}
}

// A job of 40 tasks, which take 2 s and 18 s in turn, is due after 100 s and would end at 91.5 s, if the mean of those
// that have ended were sure. By their law it is late with a chance of 0.41, and with a slot less of 0.63.
func TestFlexCertaintyByLaw(t *testing.T) {
	cost := func(spec string) string {
		a := mapsOf("A", 40, 0)
		a.Deadline = 100 * time.Second
		s := slotsOf(4, a)
		s.Take = func(x policytest.Try) (sched.Time, sched.Outcome) {
			return []sched.Time{2, 18}[x.Task%2] * time.Second, sched.OK
		}
		s.Estimator = func(func() *sched.Core) sched.Estimator { return &model.Mean{} }
		said := ""
		p := flexOf(t, spec)
		_, err := policytest.Run(s, &asking{p, 18 * time.Second, func(v *sched.View) {
			for j := range v.Jobs() {
				said = p.(interface {
					Why(*sched.View, *sched.Stage) string
				}).Why(v, j.Stages[0])
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		return said
	}
	for spec, want := range map[string]string{
		"flex:metric=tardy":               "from 0 to 1",
		"flex:metric=tardy,certainty=law": "from 0.4083 to 0.6283",
	} {
		if got := cost(spec); !strings.HasSuffix(got, "its penalty grows "+want) {
			t.Errorf("%s: %q, want a penalty that grows %s", spec, got, want)
		}
	}
}

package policy_test

import (
	"encoding/json"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/internal/longtest"
	"github.com/sojourn-sched/sojourn/model"
	"github.com/sojourn-sched/sojourn/policy"
	"github.com/sojourn-sched/sojourn/policy/policytest"
	"github.com/sojourn-sched/sojourn/sched"
)

// The parameters of fspy that change what it decides.
var fspySpecs = []string{
	"fspy", "fspy:uber-maps=0", "fspy:vra=drf,rank=finish,late=order", "fspy:late=share,waves=whole,bound=printed",
	"fspy:late=age,virtual=production,probing=0.3", "fspy:delay=2s,probe-timeout=20s",
	"fspy:uber-maps=2,probing=0,late=age,rank=finish",
}

func TestFspyConforms(t *testing.T) {
	for _, spec := range fspySpecs {
		t.Run(spec, func(t *testing.T) { policytest.Conform(t, policy.All, spec, 15) })
	}
}

// doubtful knows a size only when tasks of every stage are finished, or a probe of the job.
type doubtful struct {
	model.Mean
	Probed map[sched.JobID]bool
}

func (d *doubtful) Observe(a *sched.Attempt, took sched.Time, c *sched.Counters) {
	if of := a.Stage.Job.Spec.Probes; of > 0 && of%3 != 0 { // every third probe tells nothing
		d.Probed[of] = true
	}
	d.Mean.Observe(a, took, c)
}

func (d *doubtful) Size(j *sched.Job) (sched.Work, bool) {
	w, known := d.Mean.Size(j)
	for _, st := range j.Stages {
		known = known && d.Mean.Estimate(st, 0).Samples > 0
	}
	return w, known || d.Probed[j.ID]
}

// A restless policy is sent through JSON, and asks to be asked again, at random.
type restless struct {
	spec  string
	inner sched.Policy
	r     *rand.Rand // nil: neither
	err   error
}

func (w *restless) Decide(p *sched.Plan) {
	if w.r != nil && w.r.IntN(3) == 0 {
		next, _, err := policy.Parse(w.spec)
		if err != nil {
			panic(err)
		}
		b, err := json.Marshal(w.inner)
		if err == nil {
			err = json.Unmarshal(b, next)
		}
		if err != nil {
			w.err = err
		}
		w.inner = next
	}
	if w.r != nil && w.r.IntN(3) == 0 {
		p.Wake(p.Now + 1 + sched.Time(w.r.Int64N(int64(5*time.Second))))
	}
	w.inner.Decide(p)
}

// With sizes that become known late or never, jobs go through all queues. The run ends, nothing is refused, and neither
// JSON nor being asked more often changes an action.
func TestFspyUnknownSizes(t *testing.T) {
	for _, spec := range fspySpecs {
		t.Run(spec, func(t *testing.T) {
			probes, sized, both := 0, 0, 0
			for seed := range longtest.Few[uint64](6, 32) {
				run := func(r *rand.Rand) policytest.Result {
					setup := policytest.RandomSetup(seed, 1)
					setup.Can |= sched.CanProbe
					if seed%5 == 0 {
						setup.Can &^= sched.CanProbe
					}
					setup.Estimator = func(func() *sched.Core) sched.Estimator {
						return &doubtful{Probed: map[sched.JobID]bool{}}
					}
					if seed%2 == 1 {
						setup.Estimator = func(func() *sched.Core) sched.Estimator {
							return model.NewFSPY(model.DefaultFit)
						}
					}
					if seed%4 == 2 {
						setup.Estimator = func(func() *sched.Core) sched.Estimator { return &model.Blend{Weight: 1} }
					}
					p, _, err := policy.Parse(spec)
					if err != nil {
						t.Fatal(err)
					}
					w := &restless{spec: spec, inner: p, r: r}
					res, err := policytest.Run(setup, w)
					if err != nil || w.err != nil {
						t.Fatalf("seed %d: %v %v", seed, err, w.err)
					}
					if n := res.Core.Refused(); n > 0 {
						t.Fatalf("seed %d: %d actions refused", seed, n)
					}
					return res
				}
				if setup := policytest.RandomSetup(seed, 1); setup.Heartbeat > 0 && len(setup.Trouble) > 0 {
					both++
				}
				a, b := run(nil), run(rand.New(rand.NewPCG(seed, 7)))
				for i := range max(len(a.Log), len(b.Log)) {
					if i >= len(a.Log) || i >= len(b.Log) || a.Log[i] != b.Log[i] {
						t.Fatalf("seed %d: action %d of %d and %d differs", seed, i+1, len(a.Log), len(b.Log))
					}
					if a.Log[i].Kind == sched.Probe {
						probes++
					}
				}
				sized += len(a.Ends)
			}
			if probes == 0 || sized == 0 || both == 0 {
				t.Errorf("%d probes, %d ends, %d runs in which nodes report and are lost: nothing was tested",
					probes, sized, both)
			}
		})
	}
}

// fspy does what its definition says, computed plainly, action by action: with probes and without, sizes known at once,
// late, wrongly or never, masters, jobs that fail, and nodes that are lost.
func TestFspyAgainstPlain(t *testing.T) {
	seeds := longtest.Few(10, 56)
	plain := policy.Registry{"fspy": policy.PlainFSPY}
	crossed := 0
	for _, spec := range append(fspySpecs, "fspy:late=order", "fspy:vra=drf", "fspy:uber-maps=0,vra=drf,late=age",
		"fspy:uber-maps=0,rank=finish") {
		for seed := range uint64(seeds) {
			run := func(r policy.Registry) []policytest.Entry {
				p, _, err := r.Parse(spec)
				if err != nil {
					t.Fatal(err)
				}
				w := &overtaken{Policy: p}
				res, err := policytest.Run(fspySetup(seed), w)
				if err != nil {
					t.Fatalf("%s, seed %d: %v", spec, seed, err)
				}
				crossed += w.times
				return res.Log
			}
			got, want := run(policy.All), run(plain)
			for i := range max(len(got), len(want)) {
				if i >= len(got) || i >= len(want) || got[i] != want[i] {
					t.Fatalf("%s, seed %d: action %d of %d is not that of the definition, which has %d", spec, seed,
						i+1, len(got), len(want))
				}
			}
		}
	}
	if crossed < 25*seeds {
		t.Errorf("jobs overtook each other %d times: little was tested", crossed)
	}
}

// overtaken counts how often a job of known size comes to be ranked before one that was ranked before it.
type overtaken struct {
	sched.Policy
	before []sched.JobID
	times  int
}

func (w *overtaken) Decide(p *sched.Plan) {
	w.Policy.Decide(p)
	now := policy.RankedByFSPY(p, w.Policy)
	places := map[sched.JobID]int{}
	for i, id := range now {
		places[id] = i
	}
	last := -1
	for _, id := range w.before {
		if at, there := places[id]; there {
			if at < last {
				w.times++
			}
			last = at
		}
	}
	w.before = now
}

// fspySetup is a load in which much happens to the virtual cluster: twice as many jobs, at odd instants or, as likely,
// at such that coincide; some have a master, and some fail with their first attempt that does.
//
// A reduce that may start before the last map asks for no less memory and no fewer vcores than a map. Else a load may
// never end: reduces of one vcore hold all, and maps that they wait for ask for two. When the engine takes a reduce
// back, fspy gives that vcore to the next reduce, since it leaves no room empty and takes nothing back. Its definition
// does the same.
func fspySetup(seed uint64) policytest.Setup {
	s := oddSetup(seed)
	if seed%2 == 0 {
		s = policytest.RandomSetup(seed, 1)
		s.Jobs = append(s.Jobs, policytest.RandomSetup(seed, 1).Jobs...)
	}
	s.Can |= sched.CanProbe
	switch seed % 5 {
	case 0:
		s.Can &^= sched.CanProbe
	case 1:
		s.Estimator = func(func() *sched.Core) sched.Estimator { return &doubtful{Probed: map[sched.JobID]bool{}} }
	case 2:
		s.Estimator = func(func() *sched.Core) sched.Estimator { return model.NewFSPY(model.DefaultFit) }
	}
	for i, j := range s.Jobs {
		if i%3 == 0 {
			master := j.Stages[0]
			j.Stages = append(
				j.Stages,
				sched.StageSpec{
					Kind:        sched.Master,
					Tasks:       1,
					PerTask:     master.PerTask,
					Prior:       10 * time.Second,
					MaxAttempts: 12,
				},
			)
		}
		if i%7 == 0 {
			j.Stages[0].MaxAttempts = 1
		}
		for k := range j.Stages {
			if st := &j.Stages[k]; len(st.After) > 0 && st.After[0].Part < 1 {
				for _, of := range []sched.ResourceKind{sched.Memory, sched.VCores} {
					st.PerTask[of] = max(st.PerTask[of], j.Stages[0].PerTask[of])
				}
			}
		}
	}
	return s
}

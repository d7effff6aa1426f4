package policy_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/internal/longtest"
	"github.com/sojourn-sched/sojourn/policy"
	"github.com/sojourn-sched/sojourn/policy/policytest"
	"github.com/sojourn-sched/sojourn/sched"
)

// hfsp does what its definition says, computed plainly: the same actions at the same instants, to the microsecond,
// whatever the parameters. Times are made odd; still the rounding of either way decides where a job is done virtually
// at the very instant of an event, as one that has the cluster to itself is. That may be so under one seed in fifty.
func TestHFSPAgainstPlain(t *testing.T) {
	seeds := longtest.Few(25, 200)
	plain := policy.Registry{"hfsp": policy.PlainHFSP}
	for _, spec := range []string{"hfsp", "hfsp:check=200ms,sample=1", "hfsp:preempt=kill",
		"hfsp:preempt=wait,sample=2"} {
		suspended, other := 0, 0
		for seed := range uint64(seeds) {
			run := func(r policy.Registry) []policytest.Entry {
				p, _, err := r.Parse(spec)
				if err != nil {
					t.Fatal(err)
				}
				res, err := policytest.Run(oddSetup(seed), p)
				if err != nil {
					t.Fatalf("%s, seed %d: %v", spec, seed, err)
				}
				for _, e := range res.Log {
					if e.Kind == sched.Suspend {
						suspended++
					}
				}
				return res.Log
			}
			got, want := run(policy.All), run(plain)
			if !slices.EqualFunc(got, want, func(a, b policytest.Entry) bool {
				return a.Action == b.Action && max(a.At-b.At, b.At-a.At) < time.Microsecond
			}) {
				t.Logf("%s, seed %d: not the actions that the definition gives", spec, seed)
				other++
			}
		}
		if other > seeds/50 {
			t.Errorf("%s: under %d seeds of %d other actions than the definition gives", spec, other, seeds)
		}
		if spec == "hfsp" && suspended < seeds {
			t.Errorf("%d attempts were suspended: little was tested", suspended)
		}
	}
}

// oddSetup is a RandomSetup of more jobs, whose times are multiples of nothing.
func oddSetup(seed uint64) policytest.Setup {
	s := policytest.RandomSetup(seed, 1)
	more := policytest.RandomSetup(seed, 1)
	r := rand.New(rand.NewPCG(seed, 17))
	for _, j := range more.Jobs {
		j.Submit += sched.Time(r.Int64N(20e9))
	}
	s.Jobs = append(s.Jobs, more.Jobs...)
	for _, j := range s.Jobs {
		j.Submit += sched.Time(r.Int64N(1e6))
		for i := range j.Stages {
			j.Stages[i].Prior += sched.Time(r.Int64N(1e6))
		}
	}
	return s
}

// A watched policy is looked into after each decision.
type watched struct {
	sched.Policy
	err error
}

func (w *watched) Decide(p *sched.Plan) {
	w.Policy.Decide(p)
	if w.err == nil {
		w.err = policy.CheckRunners(p, w.Policy)
	}
}

// What is known of running attempts, which spares looking at those that do not run, is true after every decision.
func TestRunnersAreKnown(t *testing.T) {
	for seed := range longtest.Few[uint64](20, 60) {
		for _, spec := range []string{"hfsp:check=100ms", "hfsp:preempt=kill"} {
			p, _, err := policy.Parse(spec)
			if err != nil {
				t.Fatal(err)
			}
			w := &watched{Policy: p}
			if _, err := policytest.Run(oddSetup(seed), w); err != nil || w.err != nil {
				t.Fatalf("%s, seed %d: %v %v", spec, seed, err, w.err)
			}
		}
	}
}

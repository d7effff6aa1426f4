package policy_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/sojourn-sched/sojourn/internal/longtest"
	"github.com/sojourn-sched/sojourn/model"
	"github.com/sojourn-sched/sojourn/policy"
	"github.com/sojourn-sched/sojourn/policy/policytest"
	"github.com/sojourn-sched/sojourn/sched"
)

// A placed notes the places of all stages after each Decide. Where renew is set, the policy's memory goes through JSON
// into a new policy before.
type placed struct {
	sched.Policy
	spec   string
	renew  bool
	places [][]sched.Key
	sized  int // keys of jobs of known size, from the third of the virtual cluster on
	err    error
}

func (w *placed) Decide(p *sched.Plan) {
	if w.renew {
		next, _, err := policy.Parse(w.spec)
		if err == nil {
			var b []byte
			if b, err = json.Marshal(w.Policy); err == nil {
				err = json.Unmarshal(b, next)
			}
		}
		if err != nil {
			w.err = err
		}
		w.Policy = next
	}
	w.Policy.Decide(p)
	var keys []sched.Key
	for j := range p.Jobs() {
		for _, st := range j.Stages {
			if k, ok := w.Policy.(told).Position(p.View, st); ok {
				keys = append(keys, k)
				if k.Value == 3 {
					w.sized++
				}
			}
		}
	}
	w.places = append(w.places, keys)
}

// The places that fspy tells are the same whether its memory has been through JSON or not: an explanation from a
// snapshot of a record has the numbers of one from the beginning.
func TestFspyTellsTheSameFromMemory(t *testing.T) {
	sized := 0
	for seed := range longtest.Few[uint64](8, 32) {
		for _, spec := range []string{"fspy:uber-maps=0", "fspy:rank=finish"} {
			run := func(renew bool) *placed {
				setup := policytest.RandomSetup(seed, 1)
				setup.Can |= sched.CanProbe
				setup.Estimator = func(func() *sched.Core) sched.Estimator { return &model.Blend{Weight: 1} }
				p, _, err := policy.Parse(spec)
				if err != nil {
					t.Fatal(err)
				}
				w := &placed{Policy: p, spec: spec, renew: renew}
				if _, err := policytest.Run(setup, w); err != nil || w.err != nil {
					t.Fatalf("%s, seed %d: %v, %v", spec, seed, err, w.err)
				}
				return w
			}
			whole, renewed := run(false), run(true)
			sized += whole.sized
			for i := range min(len(whole.places), len(renewed.places)) {
				if !slices.Equal(whole.places[i], renewed.places[i]) {
					t.Fatalf("%s, seed %d, decision %d: places %v, from memory %v", spec, seed, i+1, whole.places[i],
						renewed.places[i])
				}
			}
		}
	}
	if sized == 0 {
		t.Error("never were three jobs of known size there: nothing was tested")
	}
}

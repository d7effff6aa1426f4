package cli

import (
	"encoding/json"
	"testing"
)

// Sizes from other jobs, before a job's first task has run, make a policy that goes by size better than no sizes do,
// and not better than the truth.
func TestModelInSim(t *testing.T) {
	sojourn := func(estimator, policy string) float64 {
		out := must(t, "sim", "--trace", "../examples/bursty.tsv", "--cluster", "nodes=20,map-slots=3,reduce-slots=1",
			"--policy", policy, "--estimator", estimator, "--json")
		var doc struct {
			Results []struct {
				Sojourn struct{ Mean float64 } `json:"sojourn_s"`
			}
		}
		if err := json.Unmarshal([]byte(out), &doc); err != nil || len(doc.Results) != 1 {
			t.Fatalf("%v: %s", err, out)
		}
		return doc.Results[0].Sojourn.Mean
	}
	for _, policy := range []string{"srpt", "hfsp", "psbs"} {
		none, blend, truth := sojourn("mean", policy), sojourn("model", policy), sojourn("oracle", policy)
		if blend > 0.85*none || blend < 0.95*truth {
			t.Errorf("%s: mean sojourn time %.1f s; %.1f s without sizes, %.1f s with true ones", policy, blend,
				none, truth)
		}
	}
}

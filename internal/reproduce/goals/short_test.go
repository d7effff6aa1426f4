package goals

import "testing"

// On short jobs the thesis's order meets fewer goals than earliest deadline first, and giving up the goals that do not
// fit meets at least as many, over 20 draws at each load.
func TestAdaptiveShortJobs(t *testing.T) {
	for _, load := range []float64{0.7, 1.2} {
		met := map[string]float64{}
		for _, by := range shortWorld.rivals {
			if by.policy != "edf" && by.policy != "adaptive" && by.policy != shortWorld.own {
				continue
			}
			for seed := range uint64(20) {
				n, err := shortWorld.met(t.Context(), by, worldPoint{load, 4, seed})
				if err != nil {
					t.Fatal(err)
				}
				met[by.policy] += n / 20
			}
		}
		if met["adaptive"] >= met["edf"] || met[shortWorld.own] < met["edf"] {
			t.Errorf("load %v: goals met %v %%", load, met)
		}
	}
}

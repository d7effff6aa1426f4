package theory

import "math"

// LoadLevel returns how heavy a workload is on a scale on which one more is a constant factor more (FSPY's RCP, eq.
// 11):
//
//	α · ln( Σ sizes ÷ (span × capacity) ) + β
//
// with sizes in resource-seconds, the span over which jobs come in seconds, and the capacity in the resource. With α =
// 1 ÷ ln 2 one more is twice as heavy, and β is the level at which the offered load is 1. It is −Inf without work.
func LoadLevel(sizes []float64, span, capacity float64, scale Scale) float64 {
	sum := 0.0
	for _, s := range sizes {
		sum += s
	}
	return scale.Alpha*math.Log(sum/(span*capacity)) + scale.Beta
}

// A Scale is the constants of LoadLevel.
type Scale struct{ Alpha, Beta float64 }

// A Window is the jobs First to End−1 of a trace.
type Window struct{ First, End int }

// Windows returns the windows of so many jobs that fit into a trace, each beginning stride > 0 jobs after the one
// before.
func Windows(jobs, length, stride int) (list []Window) {
	for first := 0; first+length <= jobs; first += stride {
		list = append(list, Window{first, first + length})
	}
	return list
}

package jobs

import "github.com/sojourn-sched/sojourn/mr"

// HistogramRatings counts ratings: docs/spec/jobs.md, 3.1. A map adds up in an array and emits at most five pairs.
func HistogramRatings(conf mr.Conf) (*mr.Job, error) {
	return &mr.Job{Name: "histogram-ratings", Conf: conf, Fold: mr.Sum(1), Map: countRatings}, nil
}

func countRatings(t *mr.Task, in *mr.Batches, out *mr.Emitter) error {
	var counts [256]int64 // as many as a rating has values to the compiler
	eachMovie(t, in, func(m *movie, _ []byte) {
		for _, star := range m.stars {
			counts[star]++
		}
	})
	for star, n := range counts {
		if n > 0 {
			out.Emit([]byte{'0' + byte(star)}, mr.AppendSum(nil, n))
		}
	}
	return nil
}

package jobs

import (
	"fmt"

	"github.com/sojourn-sched/sojourn/mr"
)

// HistogramMovies counts movies by mean rating: docs/spec/jobs.md, 3.2. Bins sort as text because they have one digit
// before the point.
func HistogramMovies(conf mr.Conf) (*mr.Job, error) {
	return &mr.Job{Name: "histogram-movies", Conf: conf, Fold: mr.Sum(1), Map: countMeans}, nil
}

// countMeans is the map function. It counts the movies of its split by mean rating, in classes of a half star. It emits
// the upper bound of each class that is not empty, and the count.
func countMeans(t *mr.Task, in *mr.Batches, out *mr.Emitter) error {
	var counts [12]int64 // by upper bound in halves: means of 1 to 5 are in 3 to 11
	eachMovie(t, in, func(m *movie, _ []byte) {
		sum := 0
		for _, star := range m.stars {
			sum += int(star)
		}
		counts[2*sum/len(m.stars)+1]++
	})
	for halves, n := range counts {
		if n > 0 {
			out.Emit(fmt.Appendf(nil, "%d.%d", halves/2, halves%2*5), mr.AppendSum(nil, n))
		}
	}
	return nil
}

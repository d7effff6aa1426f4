package workload

import (
	"slices"

	"github.com/sojourn-sched/sojourn/sched"
)

// A Summary says what a workload holds. It keeps three numbers a job for exact percentiles.
type Summary struct {
	Jobs        int64       `json:"jobs"`
	Programs    int64       `json:"programs"` // of Jobs, those that run something instead of having task times
	Maps        int64       `json:"maps"`
	Reduces     int64       `json:"reduces"`
	Others      int64       `json:"others"`      // tasks that are neither
	Input       int64       `json:"input_bytes"` // of all jobs, as the next two
	Shuffle     int64       `json:"shuffle_bytes"`
	Output      int64       `json:"output_bytes"`
	First, Last sched.Time  `json:"-"`               // submissions
	Tasks       Percentiles `json:"job_tasks"`       // of a job, as the next two
	Bytes       Percentiles `json:"job_input_bytes"` // of its input
	Work        Percentiles `json:"job_work_s"`      // of all tasks together, on nodes of speed 1
}

// Percentiles describe a distribution, each the smallest value that at least that part of the values do not exceed.
type Percentiles struct {
	Mean float64 `json:"mean"`
	P50  float64 `json:"p50"`
	P90  float64 `json:"p90"`
	P99  float64 `json:"p99"`
	Max  float64 `json:"max"`
}

// Summarize goes through a source.
func Summarize(s Source) (Summary, error) {
	var sum Summary
	var tasks, bytes, work []float64
	for spec, err := range s {
		if err != nil {
			return sum, err
		}
		if sum.Jobs == 0 {
			sum.First = spec.Submit
		}
		sum.Jobs++
		sum.Last = spec.Submit
		t, ok := spec.Payload.(*Truth)
		if !ok {
			sum.Programs++
			continue
		}
		n, w := int64(0), 0.0
		for i := range spec.Stages {
			st := &spec.Stages[i]
			mean, _ := t.Times(int32(i))
			n += int64(st.Tasks)
			w += mean.Seconds() * float64(st.Tasks)
			switch st.Kind {
			case sched.Map:
				sum.Maps += int64(st.Tasks)
			case sched.Reduce:
				sum.Reduces += int64(st.Tasks)
			default:
				sum.Others += int64(st.Tasks)
			}
		}
		in, shuffle, out := t.Bytes()
		sum.Input += in
		sum.Shuffle += shuffle
		sum.Output += out
		tasks, bytes, work = append(tasks, float64(n)), append(bytes, float64(in)), append(work, w)
	}
	sum.Tasks, sum.Bytes, sum.Work = percentiles(tasks), percentiles(bytes), percentiles(work)
	return sum, nil
}

// percentiles sorts values.
func percentiles(values []float64) (p Percentiles) {
	n := len(values)
	if n == 0 {
		return p
	}
	slices.Sort(values)
	for _, v := range values {
		p.Mean += v
	}
	p.Mean /= float64(n)
	at := func(percent int) float64 { return values[(n*percent+99)/100-1] }
	p.P50, p.P90, p.P99, p.Max = at(50), at(90), at(99), values[n-1]
	return p
}

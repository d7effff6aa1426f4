package record

import (
	"encoding/csv"
	"io"
	"slices"
	"strconv"

	"github.com/sojourn-sched/sojourn/sched"
)

// A Result is the figures of a run under one policy, as they stand in JSON. What does not apply is nil. Times are in
// seconds.
type Result struct {
	Policy string `json:"policy"`
	JobCounts
	Tasks    int64         `json:"tasks"`               // of the jobs that ended
	Events   int64         `json:"events"`              // given to Step; what follows from them is not counted
	Makespan float64       `json:"makespan_s"`          // first submission to last end of a job
	Sojourn  *Distribution `json:"sojourn_s,omitempty"` // of the jobs that succeeded, as the next two
	Wait     *Distribution `json:"wait_s,omitempty"`
	Slowdown *Distribution `json:"slowdown,omitempty"`
	// used ÷ capacity over the makespan, by kind of resource
	Utilization map[string]float64 `json:"utilization,omitempty"`
	Locality    *Localities        `json:"locality,omitempty"`
	Preempted   *Preempted         `json:"preempted,omitempty"`
	Speculative *Speculative       `json:"speculative,omitempty"`
	// attempt-seconds of attempts that failed, were killed or went with their node, suspension apart
	Lost      float64    `json:"lost_s"`
	Deadlines *Deadlines `json:"deadlines,omitempty"`
	Fairness  *Fairness  `json:"fairness,omitempty"`
	// of the jobs that succeeded, by the metrics of the policy flex (CostKey)
	Costs     map[string]float64 `json:"costs,omitempty"`
	Wall      float64            `json:"wall_s,omitempty"`       // of the run; its runner fills this and the next
	EventRate float64            `json:"events_per_s,omitempty"` // Events ÷ Wall
}

// JobCounts are of jobs; probes are not counted.
type JobCounts struct {
	Jobs       int `json:"jobs"` // that ended, the next two included
	Failed     int `json:"failed,omitempty"`
	Killed     int `json:"killed,omitempty"`
	Unfinished int `json:"unfinished,omitempty"` // when the run, or what there is of its record, ended
}

// A Distribution describes one figure over jobs. Percentiles are exact, by nearest rank: P95 is the least value that at
// least 95 of 100 values do not exceed.
type Distribution struct {
	Mean float64 `json:"mean"`
	P50  float64 `json:"p50"`
	P95  float64 `json:"p95"`
	P99  float64 `json:"p99"`
	Max  float64 `json:"max"`
}

// Localities are the parts of launches by how near the task's input was, of tasks whose input has places. They add up
// to 1.
type Localities struct {
	Node float64 `json:"node"`
	Rack float64 `json:"rack"`
	Off  float64 `json:"off"`
}

// Preempted is how many times the policy asked for an attempt to be killed or suspended. What the core kills, because a
// job is over or another attempt was faster, is not counted.
type Preempted struct {
	Killed    int64 `json:"killed"`
	Suspended int64 `json:"suspended"`
}

// Speculative is about second attempts of running tasks.
type Speculative struct {
	Launched int64 `json:"launched"`
	Won      int64 `json:"won"` // succeeded before the others
}

// Deadlines is about the jobs that have one. A job that did not succeed missed it.
type Deadlines struct {
	Met       int     `json:"met"`
	Missed    int     `json:"missed"`
	Tardiness float64 `json:"tardiness_mean_s"` // max(0, sojourn − deadline) over the jobs that succeeded
}

// Fairness is Jain's index (Σx)² ÷ (n·Σx²) over the jobs' rates x = 1 ÷ slowdown, the part of a lone job's speed that
// each got: 1 where all were slowed alike, 1/n where one got all (Jain, Chiu and Hawe, DEC-TR-301, 1984).
type Fairness struct {
	Jain float64 `json:"jain"`
}

// distribution sorts values and describes them; nil where there are none. The mean is of the exact sum of nanoseconds.
func distribution(values []sched.Time) *Distribution {
	if len(values) == 0 {
		return nil
	}
	slices.Sort(values)
	var sum total
	for _, v := range values {
		sum.add(v)
	}
	at := func(percent int) float64 { return values[rank(len(values), percent)].Seconds() }
	return &Distribution{sum.seconds() / float64(len(values)), at(50), at(95), at(99), at(100)}
}

// ratios is distribution for numbers without unit. They are added in rising order, so that the sum depends on nothing
// else.
func ratios(values []float64) *Distribution {
	if len(values) == 0 {
		return nil
	}
	slices.Sort(values)
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	at := func(percent int) float64 { return values[rank(len(values), percent)] }
	return &Distribution{sum / float64(len(values)), at(50), at(95), at(99), at(100)}
}

// rank returns the index of a percentile among n sorted values by nearest rank: ceil(n·percent ÷ 100) − 1.
func rank(n, percent int) int { return max(0, (n*percent+99)/100-1) }

// jain returns Jain's index of 1 ÷ slowdown; nil where there are none.
func jain(slowdowns []float64) *Fairness {
	if len(slowdowns) == 0 {
		return nil
	}
	sum, squares := 0.0, 0.0
	for _, s := range slowdowns {
		sum += 1 / s
		squares += 1 / (s * s)
	}
	return &Fairness{sum * sum / (float64(len(slowdowns)) * squares)}
}

// A total is a sum of times that is exact and does not overflow.
type total struct{ whole, ns int64 }

func (t *total) add(d sched.Time) {
	t.whole += int64(d / 1e9)
	t.ns += int64(d % 1e9)
}

func (t *total) seconds() float64 { return float64(t.whole) + float64(t.ns)/1e9 }

// A JobRow is what became of one job.
type JobRow struct {
	Policy            string
	ID                sched.JobID
	Name, Queue, User string
	Submit            sched.Time
	FirstLaunch       sched.Time // -1: none
	Finish            sched.Time
	Slowdown          float64 // zero: not known
	Size              float64 // seconds of the whole cluster
	Outcome           sched.Outcome
}

// Sojourn returns the time from submission to the end.
func (r *JobRow) Sojourn() sched.Time { return r.Finish - r.Submit }

// JobsCSV writes rows as lines of CSV: times and sizes in seconds, what is not known empty.
type JobsCSV struct{ out *csv.Writer }

// NewJobsCSV writes the line of names.
func NewJobsCSV(out io.Writer) *JobsCSV {
	w := &JobsCSV{csv.NewWriter(out)}
	w.out.Write(
		[]string{
			"policy",
			"job",
			"name",
			"queue",
			"user",
			"submit_s",
			"first_launch_s",
			"end_s",
			"sojourn_s",
			"slowdown",
			"size_s",
			"outcome",
		},
	)
	return w
}

// Write writes a row. Close returns what goes wrong.
func (w *JobsCSV) Write(r *JobRow) {
	first, slowdown := "", ""
	if r.FirstLaunch >= 0 {
		first = seconds(r.FirstLaunch)
	}
	if r.Slowdown > 0 {
		slowdown = strconv.FormatFloat(r.Slowdown, 'g', -1, 64)
	}
	w.out.Write(
		[]string{
			r.Policy,
			strconv.Itoa(int(r.ID)),
			r.Name,
			r.Queue,
			r.User,
			seconds(r.Submit),
			first,
			seconds(r.Finish),
			seconds(r.Sojourn()),
			slowdown,
			strconv.FormatFloat(r.Size, 'g', -1, 64),
			r.Outcome.String(),
		},
	)
}

// Close writes what is left and returns the first error of all.
func (w *JobsCSV) Close() error {
	w.out.Flush()
	return w.out.Error()
}

// seconds writes a time exactly, in seconds.
func seconds(t sched.Time) string { return string(appendSeconds(nil, t)) }

func appendSeconds(b []byte, t sched.Time) []byte {
	if t < 0 {
		b, t = append(b, '-'), -t
	}
	b = strconv.AppendInt(b, int64(t/1e9), 10)
	ns := int64(t % 1e9)
	if ns == 0 {
		return b
	}
	at := len(b)
	b = strconv.AppendInt(b, 1e9+ns, 10) // a leading 1 keeps the zeros, and becomes the point
	b[at] = '.'
	for b[len(b)-1] == '0' {
		b = b[:len(b)-1]
	}
	return b
}

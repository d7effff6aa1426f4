package dynamicmr

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/sojourn-sched/sojourn/internal/chart"
	"github.com/sojourn-sched/sojourn/internal/reproduce/paper"
	"github.com/sojourn-sched/sojourn/internal/workload"
	"github.com/sojourn-sched/sojourn/sched"
)

// throughputStep is over how long figure 4.18 sums up what is shuffled.
const throughputStep = sched.Time(2 * time.Second)

// A throughput is the bytes that were shuffled, by steps from time 0.
type throughput []float64

// add spreads bytes that were fetched at an even rate over the steps.
func (t *throughput) add(from, to sched.Time, bytes float64) {
	rate := bytes / float64(to-from)
	for from < to {
		step := int(from / throughputStep)
		end := min(to, sched.Time(step+1)*throughputStep)
		for len(*t) <= step {
			*t = append(*t, 0)
		}
		(*t)[step] += float64(rate * float64(end-from))
		from = end
	}
}

// variation returns the standard deviation ÷ mean of the steps, and peak ÷ mean, from the first in which anything was
// shuffled to the last.
func (t throughput) variation() (deviation, peak float64) {
	for len(t) > 0 && t[0] == 0 {
		t = t[1:]
	}
	sum, squares, most := 0.0, 0.0, 0.0
	for _, b := range t {
		sum += b
		squares += float64(b * b)
		most = max(most, b)
	}
	n := float64(len(t))
	mean := sum / n
	return math.Sqrt(max(0, squares/n-float64(mean*mean))) / mean, most / mean
}

// megabytes returns the steps in MB/s.
func (t throughput) megabytes() (rates []float64) {
	for _, b := range t {
		rates = append(rates, b/1e6/throughputStep.Seconds())
	}
	return rates
}

func shufflePart() paper.Part {
	return paper.Part{
		Title: "What is shuffled over time", Trials: 9,
		How: `Batches of five jobs under all three techniques, and in containers, as many as slots, both with reduces
that start after the last map: bytes that reduces fetch, in steps of 2 s, from the first step in which any are fetched
to the last. The picture is of the first trial.`,
		Reading: `In containers all of a job's reduces fetch at once, and then none do; with slots that are lent only
when maps leave them, reduces follow one another. The highest step is the same on both sides: our network carries what
it can and no more, so that peaks show against the mean alone. Reduces that start early turn the picture round: those in
slots wait for maps in between.`,
		Charts: []paper.Picture{
			{File: "dynamicmr-shuffle", Caption: "What the reduces of five jobs fetch over time",
				Draw: func(samples []paper.Sample) chart.Chart {
					c := chart.Chart{X: chart.Axis{Label: "time (s)"}, Y: chart.Axis{Label: "shuffled (MB/s)"}}
					for _, name := range []string{"DynamicMR", "containers"} {
						l := chart.Line{Name: name, Manner: chart.Steps}
						for i, rate := range samples[0]["rates "+name] {
							l.Points = append(l.Points, chart.Point{X: float64(i) * throughputStep.Seconds(), Y: rate,
								Low: rate, High: rate})
						}
						c.Lines = append(c.Lines, l)
					}
					return c
				}},
		},
		Claims: []paper.Claim{
			{
				Where:     "Fig. 4.18",
				Says:      "fluctuation (standard deviation ÷ mean), containers over DynamicMR",
				Published: paper.Above(1),
				Unit:      "×",
				Figure:    "deviation",
				Agrees:    paper.Above(1),
			},
			{
				Where:     "Fig. 4.18",
				Says:      "peak ÷ mean, containers over DynamicMR",
				Published: paper.Above(1),
				Unit:      "×",
				Figure:    "peak",
				Agrees:    paper.Above(1),
			},
			{
				Where:  "ours",
				Says:   "the same fluctuation where reduces start after 5 % of the maps",
				Unit:   "×",
				Figure: "early deviation",
				Own:    true,
			},
		},
		Trial: func(ctx context.Context, _ paper.Lab, seed uint64) (paper.Sample, error) {
			s := paper.Sample{}
			for prefix, part := range map[string]float64{"": 1, "early ": workload.HadoopSlowStart} {
				slots, err := fetchedBy(ctx, slotted, part, seed)
				if err != nil {
					return nil, err
				}
				cores, err := fetchedBy(ctx, contained, part, seed)
				if err != nil {
					return nil, err
				}
				d, p := slots.variation()
				dc, pc := cores.variation()
				s.Set(prefix+"deviation", dc/d)
				s.Set(prefix+"peak", pc/p)
				if prefix == "" {
					s.Set("rates DynamicMR", slots.megabytes()...)
					s.Set("rates containers", cores.megabytes()...)
				}
			}
			return s, nil
		},
	}
}

// fetchedBy returns what a batch of five jobs shuffles one way, with reduces that may start when a part of the maps is
// done.
func fetchedBy(ctx context.Context, in way, part float64, seed uint64) (t throughput, err error) {
	jobs := batch(5, seed, in.containers)
	for _, j := range jobs {
		j.Stages[1].After[0].Part = part
	}
	set := in.setting(jobs, seed)
	set.Fetched = t.add
	if _, err := set.Under(ctx, in.spec); err != nil {
		return nil, fmt.Errorf("what is shuffled: %w", err)
	}
	return t, nil
}

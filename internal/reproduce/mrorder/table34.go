package mrorder

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn/internal/chart"
	"github.com/sojourn-sched/sojourn/internal/reproduce/paper"
	"github.com/sojourn-sched/sojourn/internal/reproduce/testbed"
	"github.com/sojourn-sched/sojourn/internal/workload"
	"github.com/sojourn-sched/sojourn/sched"
)

// table34 is table 3.4: gain of the total in percent by number of jobs.
var table34 = []row34{
	{50, 41.91, 44.31},
	{100, 14.81, 28.30},
	{150, 9.28, 14.13},
	{200, 6.98, 10.83},
	{250, 24.08, 123.74},
	{300, 19.49, 186.29},
	{350, 13.11, 89.7},
	{400, 9.81, 56.91},
}

type row34 struct {
	jobs     int
	fti, ati float64
}

// A roundKind is a kind of rounds, as the policy names it, and intervals for them.
type roundKind struct {
	name      string
	intervals []string
}

// Rounds with the intervals that the thesis found good.
var (
	adaptedRounds = roundKind{"ati", []string{"10s", "20s", "30s"}}
	equalRounds   = roundKind{"fti", []string{"110s", "230s", "310s", "350s"}}
)

// bestGain returns by how many percent such rounds shorten the total of fifo with the best of their intervals.
func (r roundKind) bestGain(ctx context.Context, set *testbed.Setting, fifo *testbed.Outcome) (float64, error) {
	best := math.Inf(-1)
	for _, interval := range r.intervals {
		o, err := set.Under(ctx, fmt.Sprintf("%s,rounds=%s,interval=%s", asPublished, r.name, interval))
		if err != nil {
			return 0, err
		}
		best = max(best, paper.Gain(fifo.Total(), o.Total()))
	}
	return best, nil
}

// rows34 adds to a sample what rounds of both kinds gain for each number of jobs of table 3.4, under names that begin
// with a prefix, and for how many of them those that adapt are ahead.
func rows34(ctx context.Context, s paper.Sample, prefix string, jobs func(n int) ([]*sched.JobSpec, error)) error {
	ahead := 0.0
	for _, row := range table34 {
		list, err := jobs(row.jobs)
		if err != nil {
			return err
		}
		set := testbed.Setting{Cluster: testbed.SlotCluster(19, 3, 1), Jobs: list, Seed: 1}
		base, err := set.Under(ctx, "fifo")
		if err != nil {
			return err
		}
		ati, err := adaptedRounds.bestGain(ctx, &set, base)
		if err != nil {
			return err
		}
		fti, err := equalRounds.bestGain(ctx, &set, base)
		if err != nil {
			return err
		}
		s.Set(fmt.Sprintf("%sati %d", prefix, row.jobs), ati)
		s.Set(fmt.Sprintf("%sfti %d", prefix, row.jobs), fti)
		if ati > fti {
			ahead++
		}
	}
	s.Set(prefix+"ahead", ahead)
	return nil
}

// claims34 are the rows of table 3.4 as claims about figures of rows34.
func claims34(prefix, why string) []paper.Claim {
	list := []paper.Claim{
		{
			Where:     "Table 3.4",
			Says:      "TP-ATI ahead of TP-FTI, of 8 numbers of jobs",
			Published: paper.Exactly(8),
			Figure:    prefix + "ahead",
			Agrees:    paper.AtLeast(7),
			Why:       why,
		},
	}
	for _, row := range table34 {
		list = append(
			list,
			paper.Claim{
				Where:     "Table 3.4",
				Says:      fmt.Sprintf("TP-ATI, %d jobs", row.jobs),
				Published: paper.Exactly(row.ati),
				Unit:      "%",
				Figure:    fmt.Sprintf("%sati %d", prefix, row.jobs),
				Agrees:    paper.Above(0),
				Why:       why,
			},
			paper.Claim{
				Where:     "Table 3.4",
				Says:      fmt.Sprintf("TP-FTI, %d jobs", row.jobs),
				Published: paper.Exactly(row.fti),
				Unit:      "%",
				Figure:    fmt.Sprintf("%sfti %d", prefix, row.jobs),
				Agrees:    paper.Above(0),
				Why:       why,
			},
		)
	}
	return list
}

// names34 are the numbers of jobs of table 3.4.
func names34() (names []string) {
	for _, row := range table34 {
		names = append(names, fmt.Sprint(row.jobs))
	}
	return names
}

// line34 is what was published of TP-ATI.
func line34() chart.Line {
	l := chart.Line{Name: "published, TP-ATI", Manner: chart.Given}
	for i, row := range table34 {
		l.Points = append(l.Points, chart.Point{X: float64(i), Y: row.ati})
	}
	return l
}

// raised is a point for a logarithmic axis that begins at 1.
func raised(q chart.Point) chart.Point {
	q.Y, q.Low, q.High = max(q.Y, 1), max(q.Low, 1), max(q.High, 1)
	return q
}

func intervalsPart() paper.Part {
	other := "one draw is published for each number; the gain depends on how far jobs outrun the cluster, see the " +
		"next two sections"
	return paper.Part{
		Title: "Rounds that adapt, rounds that do not", Trials: 6,
		How: "Table 3.4: 50 to 400 of Facebook's jobs, 13 s apart, gain of the total over jobs sent as they come, " +
			"each at the best Δ of 10, 20 and 30 s (TP-ATI) and of 110, 230, 310 and 350 s (TP-FTI), which are the " +
			"ranges that the thesis found good.",
		Claims: claims34("", other),
		Charts: []paper.Picture{
			{
				File: "mrorder-intervals",
				Caption: "Gain of the total, by number of jobs: rounds that adapt (TP-ATI) and rounds at equal " +
					"intervals (TP-FTI), ours and published",
				Draw: func(samples []paper.Sample) chart.Chart {
					c := chart.Chart{
						X: chart.Axis{Label: "jobs", Names: names34()},
						Y: chart.Axis{Label: "gain of the total (%)", Log: true},
					}
					for _, rounds := range []string{"ati", "fti"} {
						l := chart.Line{
							Name:   map[string]string{"ati": "TP-ATI", "fti": "TP-FTI"}[rounds],
							Manner: chart.Apart,
						}
						for i, row := range table34 {
							l.Points = append(l.Points,
								raised(paper.PointOf(samples, float64(i), fmt.Sprintf("%s %d", rounds, row.jobs))))
						}
						c.Lines = append(c.Lines, l)
					}
					c.Lines = append(c.Lines, line34())
					return c
				},
			},
		},
		Reading: "Rounds that adapt are ahead, as published: what a round released keeps the cluster busy for so " +
			"long that the next one has many jobs to order. Rounds every few minutes have a handful.",
		Trial: func(ctx context.Context, _ paper.Lab, seed uint64) (paper.Sample, error) {
			s := paper.Sample{}
			err := rows34(ctx, s, "", func(n int) ([]*sched.JobSpec, error) {
				specs, _, err := facebookBatch(n, seed, workload.Arrivals{Gap: 13 * time.Second})
				return specs, err
			})
			return s, err
		},
	}
}

// nearest is the distance with which most of the published gains lie within the spread.
const nearest = 150 * time.Second

// densities are mean distances of Facebook's jobs.
var densities = []sched.Time{
	13 * time.Second,
	60 * time.Second,
	nearest,
	300 * time.Second,
	600 * time.Second,
	1000 * time.Second,
}

func densityPart() paper.Part {
	figure := func(gap sched.Time, n int) string { return fmt.Sprintf("%v %d", gap, n) }
	p := paper.Part{
		Title: "How dense the arrivals of table 3.4 are", Trials: 6,
		How: "The same jobs, 13 to 1000 s apart, under TP-ATI at the best Δ of 10, 20 and 30 s. A published gain is " +
			"*met* by a distance if it lies between the least and the greatest of the trials.",
		Charts: []paper.Picture{
			{
				File:    "mrorder-density",
				Caption: "Gain of the total under TP-ATI by number of jobs and their mean distance; published",
				Draw: func(samples []paper.Sample) chart.Chart {
					c := chart.Chart{
						X: chart.Axis{Label: "jobs", Names: names34()},
						Y: chart.Axis{Label: "gain of the total (%), median", Log: true},
					}
					for _, gap := range densities {
						l := chart.Line{Name: fmt.Sprintf("%v s apart", gap.Seconds())}
						for i, row := range table34 {
							l.Points = append(
								l.Points,
								chart.Point{
									X: float64(i),
									Y: raised(paper.PointOf(samples, float64(i), figure(gap, row.jobs))).Y,
								},
							)
						}
						c.Lines = append(c.Lines, l)
					}
					c.Lines = append(c.Lines, line34())
					return c
				},
			},
		},
		Reading: `The closer jobs come, the more there is to order. No distance gives the whole table: the published
gains fall from 50 to 200 jobs and rise tenfold after, which equal arrivals do not do. They look like the first jobs of
one trace, in which something large comes in between; see the next section.`,
		Over: func(samples []paper.Sample) paper.Sample {
			s := paper.Sample{}
			for _, gap := range densities {
				met := 0.0
				for _, row := range table34 {
					if q := paper.PointOf(samples, 0, figure(gap, row.jobs)); q.Low <= row.ati && row.ati <= q.High {
						met++
					}
				}
				s.Set("met "+gap.String(), met)
			}
			return s
		},
	}
	for _, gap := range densities {
		p.Claims = append(
			p.Claims,
			paper.Claim{
				Where:  "ours",
				Says:   fmt.Sprintf("jobs %v s apart: published gains of TP-ATI that are met, of 8", gap.Seconds()),
				Figure: "met " + gap.String(),
				Own:    true,
			},
		)
	}
	for _, row := range table34 {
		p.Claims = append(
			p.Claims,
			paper.Claim{
				Where:     "Table 3.4",
				Says:      fmt.Sprintf("%d jobs %v s apart", row.jobs, nearest.Seconds()),
				Published: paper.Exactly(row.ati),
				Unit:      "%",
				Figure:    figure(nearest, row.jobs),
				Agrees:    paper.Above(0),
				Why:       "one draw is published for each number, and its arrivals are not equally dense",
			},
		)
	}
	p.Trial = func(ctx context.Context, _ paper.Lab, seed uint64) (paper.Sample, error) {
		s := paper.Sample{}
		for _, gap := range densities {
			for _, row := range table34 {
				specs, _, err := facebookBatch(row.jobs, seed, workload.Arrivals{Gap: gap})
				if err != nil {
					return nil, err
				}
				set := testbed.Setting{Cluster: testbed.SlotCluster(19, 3, 1), Jobs: specs, Seed: seed}
				base, err := set.Under(ctx, "fifo")
				if err != nil {
					return nil, err
				}
				best, err := adaptedRounds.bestGain(ctx, &set, base)
				if err != nil {
					return nil, err
				}
				s.Set(figure(gap, row.jobs), best)
			}
		}
		return s, nil
	}
	return p
}

// blocks are sizes of a split of the input: that of the thesis's Hadoop, and today's.
var blocks = []struct {
	name  string
	bytes int64
}{{"64 MiB", 64 << 20}, {"128 MiB", 128 << 20}}

func tracePart() paper.Part {
	thesis, now := blocks[0].name+" ", blocks[1].name+" "
	p := paper.Part{
		Title: "The first jobs of a trace", Trials: 1,
		How: `"Task counts and arrival times derived from published Facebook input and output sizes": such sizes were
published as SWIM's traces, and which one is not stated. These are the first 50 to 400 jobs of its day of 2010
(FB-2010_samples_24_times_1hr_0.tsv) at their own times, with blocks of 64 MiB as the thesis has them, as many reduces
as reduce slots at most, and task times as ` + "`sojourn sim`" + ` reckons them by default (docs/spec/simulator.md).
Nothing is fitted, and there is no chance in it.`,
		Claims: append(
			claims34(
				thesis,
				"the rates of disks and network behind the thesis's task times are not stated; which jobs wait "+
					"behind the first large ones depends on them",
			),
			paper.Claim{
				Where:     "Table 3.4",
				Says:      "blocks of 128 MiB: TP-ATI ahead of TP-FTI, of 8 numbers of jobs",
				Published: paper.Exactly(8),
				Figure:    now + "ahead",
				Agrees:    paper.AtLeast(7),
			},
			paper.Claim{
				Where:     "Table 3.4",
				Says:      "most gain of TP-ATI is at so many jobs",
				Published: paper.Exactly(300),
				Figure:    "peak",
				Agrees:    paper.Exactly(300),
			},
		),
		Charts: []paper.Picture{
			{
				File: "mrorder-trace",
				Caption: "Gain of the total under TP-ATI, first jobs of Facebook's day of 2010, by size of a block; " +
					"published",
				Draw: func(samples []paper.Sample) chart.Chart {
					c := chart.Chart{
						X: chart.Axis{Label: "jobs", Names: names34()},
						Y: chart.Axis{Label: "gain of the total (%)"},
					}
					for _, b := range blocks {
						l := chart.Line{Name: "blocks of " + b.name, Manner: chart.Apart}
						for i, row := range table34 {
							l.Points = append(l.Points,
								paper.PointOf(samples, float64(i), fmt.Sprintf("%s ati %d", b.name, row.jobs)))
						}
						c.Lines = append(c.Lines, l)
					}
					c.Lines = append(c.Lines, line34())
					return c
				},
			},
		},
		Reading: "The shape of the table comes back that equal arrivals do not have: the gain is greatest at 300 " +
			"jobs and falls fast after, as what waited behind the first large jobs is done and later ones add to " +
			"the total only.",
	}
	p.Trial = func(ctx context.Context, lab paper.Lab, _ uint64) (paper.Sample, error) {
		if err := paper.NeedsDay2010(lab); err != nil {
			return nil, err
		}
		s := paper.Sample{}
		for _, b := range blocks {
			all, err := firstJobs(lab.Trace2010, b.bytes)
			if err != nil {
				return nil, err
			}
			if err := rows34(ctx, s, b.name+" ", func(n int) ([]*sched.JobSpec, error) {
				return all[:n:n], nil
			}); err != nil {
				return nil, err
			}
		}
		gainOf := func(r row34) float64 { return s.Of(fmt.Sprintf("%sati %d", thesis, r.jobs)) }
		most := slices.MaxFunc(table34, func(a, b row34) int { return cmp.Compare(gainOf(a), gainOf(b)) })
		s.Set("peak", float64(most.jobs))
		return s, nil
	}
	return p
}

// firstJobs returns as many jobs from the beginning of a trace as table 3.4 has at most.
func firstJobs(trace string, block int64) (jobs []*sched.JobSpec, err error) {
	o := testbed.SlotCluster(19, 3, 1).Options()
	o.Block = block
	file, err := workload.Open(trace, o)
	if err != nil {
		return nil, err
	}
	most := table34[len(table34)-1].jobs
	for j, err := range file.Jobs {
		if err != nil {
			return nil, err
		}
		if jobs = append(jobs, j); len(jobs) == most {
			return jobs, nil
		}
	}
	return nil, fmt.Errorf("%s: has %d jobs, must have %d", trace, len(jobs), most)
}

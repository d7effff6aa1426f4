// Package mix runs a mix of real jobs under several policies, and compares what the simulator says of each.
package mix

import (
	"context"
	"fmt"
	"math"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/sojourn-sched/sojourn/internal/chart"
	"github.com/sojourn-sched/sojourn/internal/reproduce/paper"
	"github.com/sojourn-sched/sojourn/internal/reproduce/testbed"
	"github.com/sojourn-sched/sojourn/internal/workload"
	"github.com/sojourn-sched/sojourn/sched"
)

// Paper makes the page of the mix of real jobs.
func Paper() *paper.Paper {
	return &paper.Paper{
		Name: "mix", Title: "A mix of real jobs, and what the simulator says of it",
		Needs:  func(paper.Lab) error { _, err := sourceFolder(); return err },
		Source: "the mix of `make run`, [examples/mix/mix.yaml](../../examples/mix/mix.yaml).",
		About: `Twelve real jobs as they come in an office, two long ones first and short ones behind them: 600 MB of
generated data, and the source code of the Go distribution. They are run by the engine
` + "`mr`" + ` on this machine under one policy after the other, and each run is recorded. ` + "`sim`" + ` takes from a
record when jobs came and how long their tasks took, and decides anew. It is asked twice: from the record of that very
run, under the same policy, where what is off is what the engine does between tasks; and from the record of a run
under *another* policy, which is what one asks a simulator for: what would this policy have done to yesterday's jobs?
What counts there is whether it is right about which of the two is
better. ` + "`fspy`" + ` has all jobs probed and predicts their sizes, ` + "`srpt`, `hfsp`, `gittins`" + ` and
` + "`mrorder`" + ` know of times what finished tasks have told. All figures are of a machine, and of a run: they mean
something where nothing else runs beside them.`,
		Parts: []paper.Part{
			policiesPart("Containers", "mix", testbed.Machine, []string{"fifo", "fair", "srpt", "hfsp", "gittins",
				"mrorder:interval=500ms", "fspy:uber-maps=0"}),
			policiesPart("Slots", "mix-slots", slotMachine, []string{"fair", "fifo", "dynamicmr", "late{dynamicmr}"}),
		},
	}
}

// policiesPart is the mix under policies on a cluster; the first of them is what the others are predicted from.
func policiesPart(title, file string, cluster func(cores int) *workload.Cluster, policies []string) paper.Part {
	base := policies[0]
	return paper.Part{
		Title: title, Trials: 3, Alone: true,
		How: fmt.Sprintf(
			"A trial is a run under each policy. Each run is simulated from its own record, and from that of the "+
				"trial's run under `%s`.",
			base,
		),
		Trial: func(ctx context.Context, lab paper.Lab, seed uint64) (paper.Sample, error) {
			mix, err := exampleMix(lab, seed)
			if err != nil {
				return nil, err
			}
			mix.Cluster = cluster(runtime.GOMAXPROCS(0))
			return runTrial(ctx, mix, policies)
		},
		Over: func(samples []paper.Sample) paper.Sample {
			s := paper.Sample{}
			for _, spec := range policies[1:] {
				right := 0.0 // a median would hide a trial in which it was not
				for _, t := range samples {
					right += t.Of("was right "+spec) / float64(len(samples))
				}
				s.Set("right "+spec, right)
			}
			return s
		},
		Claims: policyClaims(policies),
		Charts: []paper.Picture{
			{
				File: file + "-means",
				Caption: "Mean sojourn time on the machine, and as simulated from the run's own record and from " +
					"that under " + base,
				Draw: func(samples []paper.Sample) chart.Chart { return meansChart(samples, policies) },
			},
			{
				File: file + "-jobs",
				Caption: "What each policy does to the jobs: sojourn time by job, in order of submission, median of " +
					"the trials",
				Draw: func(samples []paper.Sample) chart.Chart { return sojournsChart(samples, policies) },
			},
		},
	}
}

// policyClaims are what is claimed of the mix under each policy, most of it against the first one.
func policyClaims(policies []string) (claims []paper.Claim) {
	base := policies[0]
	for _, spec := range policies {
		claim := func(says, unit, figure string, agrees paper.Range) {
			claims = append(claims, paper.Claim{
				Where:  "`" + spec + "`",
				Says:   says,
				Unit:   unit,
				Figure: figure + " " + spec,
				Agrees: agrees,
				Own:    true,
			})
		}
		claim("mean sojourn time on the machine", "s", "mr", paper.Range{})
		claim("simulated from its own record: by how much that is off", "%", "off", paper.Between(-5, 5))
		if spec == base {
			continue
		}
		claim("mean sojourn time, "+base+" ÷ this, on the machine", "×", "really", paper.Range{})
		claim("the same, predicted from the record under "+base, "×", "predicted", paper.Range{})
		claim("trials in which that is right about which is better, or they are within 2 %", "%", "right",
			paper.Exactly(100))
	}
	return claims
}

// meansChart draws mean sojourn times by policy: on the machine, and as simulated from either record.
func meansChart(samples []paper.Sample, policies []string) chart.Chart {
	base := policies[0]
	c := chart.Chart{X: chart.Axis{Names: policies}, Y: chart.Axis{Label: "mean sojourn time (s)"}}
	for _, what := range []string{"mr", "sim, own record", "sim, record of " + base} {
		l := chart.Line{Name: what, Manner: chart.Apart}
		for i, spec := range policies {
			if what != "sim, record of "+base || spec != base {
				l.Points = append(l.Points, paper.PointOf(samples, float64(i), what+" "+spec))
			}
		}
		c.Lines = append(c.Lines, l)
	}
	return c
}

// sojournsChart draws the median sojourn time of each job under each policy.
func sojournsChart(samples []paper.Sample, policies []string) chart.Chart {
	c := chart.Chart{Y: chart.Axis{Label: "sojourn time (s)", Log: true}}
	for _, j := range exampleJobs {
		c.X.Names = append(c.X.Names, j.name)
	}
	for _, spec := range policies {
		l := chart.Line{Name: spec, Manner: chart.Apart}
		for i := range exampleJobs {
			var of []float64
			for _, s := range samples {
				of = append(of, s["sojourns "+spec][i])
			}
			if len(of) > 0 {
				y, _, _ := paper.Spread(of)
				l.Points = append(l.Points, chart.Point{X: float64(i), Y: y})
			}
		}
		c.Lines = append(c.Lines, l)
	}
	return c
}

// runTrial runs a mix under policies; the first is what the others are predicted from.
func runTrial(ctx context.Context, mix *testbed.Mix, policies []string) (paper.Sample, error) {
	s, base := paper.Sample{}, policies[0]
	var first *testbed.MixRun
	for _, spec := range policies {
		run, err := mix.Run(ctx, spec, nil)
		if err != nil {
			return nil, err
		}
		if first == nil {
			first = run
		}
		again, err := mix.Simulate(ctx, spec, run)
		if err != nil {
			return nil, err
		}
		predicted, err := mix.Simulate(ctx, spec, first)
		if err != nil {
			return nil, err
		}
		took, started := paper.Mean(run.Sojourns), paper.Mean(first.Sojourns)
		s.Set("mr "+spec, took)
		s.Set("sim, own record "+spec, paper.Mean(again))
		s.Set("sim, record of "+base+" "+spec, paper.Mean(predicted))
		s.Set("off "+spec, 100*(paper.Mean(again)/took-1))
		really, said := started/took, started/paper.Mean(predicted)
		s.Set("really "+spec, really)
		s.Set("predicted "+spec, said)
		s.Set("was right "+spec, 0)
		if (really > 1) == (said > 1) || math.Abs(really/said-1) <= 0.02 {
			s.Set("was right "+spec, 100)
		}
		s.Set("sojourns "+spec, run.Sojourns...)
	}
	return s, nil
}

// goSource stands for the source code of the Go distribution, as a kind of input.
const goSource = "go"

// exampleJobs are those of examples/mix/mix.yaml.
var exampleJobs = []struct {
	name, job string
	input     testbed.Input
	folders   []string // of the source code; none: all
	pattern   string
	submit    sched.Time
}{
	{"sort-words", "sort", words, nil, "", 0},
	{"index-code", "inverted-index", code, nil, "", 100 * time.Millisecond},
	{"count-memo", "wordcount", memo, nil, "", 300 * time.Millisecond},
	{"find-panic", "grep", code, nil, `panic\(`, 500 * time.Millisecond},
	{"sort-records", "terasort", testbed.Input{Kind: "teragen", Bytes: 200e6, Seed: 1}, nil, "",
		700 * time.Millisecond},
	{"ratings", "histogram-ratings", ratings, nil, "", 900 * time.Millisecond},
	{"movies", "histogram-movies", ratings, nil, "", 1100 * time.Millisecond},
	{"count-words", "wordcount", words, nil, "", 1300 * time.Millisecond},
	{"graph", "adjacency-list", testbed.Input{Kind: "edges", Bytes: 20e6, Seed: 1}, nil, "", 1500 * time.Millisecond},
	{"joins", "self-join", testbed.Input{Kind: "associations", Bytes: 40e6, Seed: 1}, nil, "", 1700 * time.Millisecond},
	{"find-memo", "grep", memo, nil, "th", 1900 * time.Millisecond},
	{"terms", "term-vector", code, []string{"net", "os"}, "", 2100 * time.Millisecond},
}

// Input that several of them read.
var (
	words   = testbed.Input{Kind: "text", Bytes: 300e6, Seed: 1}
	memo    = testbed.Input{Kind: "text", Bytes: 4e6, Seed: 2}
	ratings = testbed.Input{Kind: "ratings", Bytes: 60e6, Seed: 1}
	code    = testbed.Input{Kind: goSource}
)

// sourceFolder returns where the source code of the Go distribution is.
func sourceFolder() (string, error) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return "", paper.Missing{
			What: "the source code of the Go distribution is needed, and `go env GOROOT` does not say where it is",
		}
	}
	return filepath.Join(strings.TrimSpace(string(root)), "src"), nil
}

// exampleMix makes the jobs of exampleJobs, with their input in memory as far as the system keeps files there.
func exampleMix(lab paper.Lab, seed uint64) (*testbed.Mix, error) {
	if lab.Scratch == "" {
		return nil, paper.Missing{What: "a folder is needed for the data of real jobs"}
	}
	source, err := sourceFolder()
	if err != nil {
		return nil, err
	}
	m := &testbed.Mix{Folder: lab.Scratch, Seed: seed}
	for _, j := range exampleJobs {
		job := testbed.MixJob{Name: j.name, Job: j.job, Submit: j.submit, Input: []string{source}}
		if j.input.Kind != goSource {
			if job.Input[0], err = j.input.In(lab.Scratch); err != nil {
				return nil, err
			}
		}
		if len(j.folders) > 0 {
			job.Input = nil
			for _, folder := range j.folders {
				job.Input = append(job.Input, filepath.Join(source, folder))
			}
		}
		if j.pattern != "" {
			job.Conf = map[string]string{"pattern": j.pattern}
		}
		m.Jobs = append(m.Jobs, job)
		for _, path := range job.Input {
			if err := testbed.ReadAll(path); err != nil {
				return nil, err
			}
		}
	}
	return m, nil
}

// slotMachine is the same with slots, half of them for maps and half for reduces.
func slotMachine(cores int) *workload.Cluster {
	each := int64(cores+1) / 2
	return testbed.SlotCluster(1, each, each)
}

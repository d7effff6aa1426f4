package sim

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"syscall"
	"testing"

	"github.com/sojourn-sched/sojourn/internal/record"
	"github.com/sojourn-sched/sojourn/internal/workload"
	"github.com/sojourn-sched/sojourn/policy"
	"github.com/sojourn-sched/sojourn/sched"
)

// day is the path of the trace whose map tasks the project's figures of speed are of: a day of Facebook's in 2010,
// 24,442 jobs.
const day = "../workload/testdata/traces/swim-FB-2010_samples_24_times_1hr_0.tsv.gz"

// dayOf returns the day as jobs for a cluster, kept in memory so that reading is not measured. With sigma, task times
// are lognormal.
func dayOf(b *testing.B, cluster string, sigma float64) (*workload.Cluster, []*sched.JobSpec) {
	b.Helper()
	c, err := workload.ParseCluster(cluster)
	if err != nil {
		b.Fatal(err)
	}
	f, err := workload.Open(day, c.Options())
	if err != nil {
		b.Fatal(err)
	}
	var jobs []*sched.JobSpec
	for j, err := range f.Jobs {
		if err != nil {
			b.Fatal(err)
		}
		truth := j.Payload.(*workload.Truth)
		for i := range j.Stages {
			truth.Stages[i].Sigma = sigma
			mean, _ := (&workload.Truth{Stages: []workload.StageTruth{{Tasks: 1, Base: truth.Stages[i].Base,
				Rate: truth.Stages[i].Rate, Input: truth.Stages[i].Input / int64(j.Stages[i].Tasks)}}}).Times(
				0,
			)
			j.Stages[i].Prior = mean
		}
		jobs = append(jobs, j)
	}
	return c, jobs
}

// BenchmarkDay is the maps of the day on 600 nodes with 5 slots, under policies. Times are as the trace has them, so
// that most tasks of a wave end together, and lognormal. `make bench` measures it beside a loop without a core.
func BenchmarkDay(b *testing.B) {
	for _, sigma := range []float64{0, 0.5} {
		c, jobs := dayOf(b, "nodes=600,map-slots=5", sigma)
		for _, p := range []string{"fifo", "srpt", "fair"} {
			b.Run(fmt.Sprintf("sigma=%g/%s", sigma, p), func(b *testing.B) {
				runDay(b, Config{Cluster: c, Jobs: source(jobs...)}, p)
			})
		}
	}
}

// BenchmarkHadoop is the whole day, reduces included, at the default costs: offers at once, blocks placed and read over
// the network, a shuffle.
func BenchmarkHadoop(b *testing.B) {
	c, jobs := dayOf(b, "nodes=600,map-slots=5,reduce-slots=2,racks=15", 0)
	for _, p := range []string{"fifo", "srpt", "fair"} {
		b.Run(p, func(b *testing.B) { runDay(b, Config{Cluster: c, Jobs: source(jobs...), Costs: Defaults()}, p) })
	}
}

// cpu returns the seconds that this process has computed: unlike those on the wall, they say something on a machine
// that is shared.
func cpu() float64 {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return 0
	}
	return float64(r.Utime.Nano()) / 1e9
}

// BenchmarkEverything is the whole day, reduces included, on nodes that report every 3 s, with blocks placed and read
// over the network, a shuffle, stragglers, failures, lost nodes, and a record written.
func BenchmarkEverything(b *testing.B) {
	costs := Defaults()
	costs.Chance = Variation{Sigma: 0.3, Stragglers: 0.02, SlowNodes: 0.02, Slowdown: 3}
	costs.Faults = Faults{Attempts: 0.005, MTBF: 100 * 3600 * sec, MTTR: 600 * sec}
	costs.Reporting.Heartbeat = 3 * sec
	c, jobs := dayOf(b, "nodes=600,map-slots=5,reduce-slots=2,racks=15", 0)
	for _, p := range []string{"fifo", "srpt", "fair"} {
		b.Run(p, func(b *testing.B) {
			w, err := record.NewWriter(io.Discard, record.Header{}, record.Options{})
			if err != nil {
				b.Fatal(err)
			}
			runDay(b, Config{Cluster: c, Jobs: source(jobs...), Costs: costs, Core: sched.Config{Recorder: w}}, p)
		})
	}
}

// BenchmarkDecision is an event and what follows from it, in steady state, with as many jobs unfinished as there are
// nodes (of 5 slots): jobs of 300 tasks of 25 s come as fast as they go.
func BenchmarkDecision(b *testing.B) {
	for _, name := range []string{"fifo", "srpt", "fair"} {
		for _, n := range []int32{1000, 10000, 100000} {
			b.Run(fmt.Sprintf("%s/nodes=%d", name, n), func(b *testing.B) {
				p, _, err := policy.All.Parse(name)
				if err != nil {
					b.Fatal(err)
				}
				jobs := func(yield func(*sched.JobSpec, error) bool) {
					for i := int64(0); ; i++ {
						j := mr{
							submit:  max(0, sched.Time(i-int64(n))*1500*sec/sched.Time(n)),
							maps:    300,
							mapTime: 25 * sec,
						}.job()
						j.Payload.(*workload.Truth).Seed, j.Payload.(*workload.Truth).Stages[0].Sigma = uint64(i), 0.5
						j.Stages[0].Prior = 25 * sec
						if !yield(j, nil) {
							return
						}
					}
				}
				e, err := newEngine(&Config{Cluster: slotCluster(n, 1, slots(5, 0)), Jobs: jobs,
					Core: sched.Config{Policy: p}})
				if err != nil {
					b.Fatal(err)
				}
				defer e.feed.stop()
				step := func() {
					at, err := e.next()
					if err != nil {
						b.Fatal(err)
					}
					e.instant(at)
				}
				for e.now < 100*sec { // the first wave, which begins at once, is over
					step()
				}
				runtime.GC()
				events, from := e.total.Events, cpu()
				for b.Loop() {
					step()
				}
				b.ReportMetric((cpu()-from)*1e9/float64(e.total.Events-events), "ns/ev")
				b.ReportMetric(float64(e.core.LiveJobs()), "jobs")
			})
		}
	}
}

// runDay runs a configuration under a policy and reports its speed.
func runDay(b *testing.B, c Config, name string) {
	var events int64
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	from := cpu()
	for b.Loop() {
		p, _, err := policy.All.Parse(name)
		if err != nil {
			b.Fatal(err)
		}
		c.Core.Policy = p
		r, err := Run(context.Background(), c)
		if err != nil {
			b.Fatal(err)
		}
		events += r.Events
	}
	rate := float64(events) / (cpu() - from)
	runtime.ReadMemStats(&after)
	b.ReportMetric(rate/1e6, "Mev/s")
	b.ReportMetric(1e9/rate, "ns/ev")
	b.ReportMetric(float64(after.Mallocs-before.Mallocs)/float64(events), "allocs/ev")
	b.ReportMetric(float64(after.Sys)/(1<<20), "MB")
}

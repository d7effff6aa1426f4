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
func dayOf(b *testing.B, cluster string, sigma float64) (*workload.Cluster, []*sched.JobSpec, int64) {
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
	tasks := int64(0)
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
			tasks += int64(j.Stages[i].Tasks)
		}
		jobs = append(jobs, j)
	}
	return c, jobs, tasks
}

// BenchmarkDay is the maps of the day on 600 nodes with 5 slots: first a loop that does nothing else than it must, then
// policies on the core, as parts of the loop's speed, by CPU time. Times are as the trace has them, so that most tasks
// of a wave end together, and lognormal, drawn anew for each task by the loop as by the simulator.
func BenchmarkDay(b *testing.B) {
	for _, sigma := range []float64{0, 0.5} {
		c, jobs, tasks := dayOf(b, "nodes=600,map-slots=5", sigma)
		bare, end := 0.0, sched.Time(0)
		b.Run(fmt.Sprintf("sigma=%g/bare", sigma), func(b *testing.B) {
			from := cpu()
			for b.Loop() {
				end = bareLoop(jobs, 3000)
			}
			bare = float64(tasks+int64(len(jobs))) * float64(b.N) / (cpu() - from)
			b.ReportMetric(bare/1e6, "Mev/s")
		})
		for _, p := range []string{"fifo", "srpt", "fair"} {
			b.Run(fmt.Sprintf("sigma=%g/%s", sigma, p), func(b *testing.B) {
				if r := runDay(b, Config{Cluster: c, Jobs: source(jobs...)}, p, bare); p == "fifo" && end > 0 &&
					r.End != end {
					b.Errorf("the run ends at %v, the loop at %v", r.End, end)
				}
			})
		}
	}
}

// BenchmarkHadoop is the whole day, reduces included, at the default costs: offers at once, blocks placed and read over
// the network, a shuffle.
func BenchmarkHadoop(b *testing.B) {
	c, jobs, _ := dayOf(b, "nodes=600,map-slots=5,reduce-slots=2,racks=15", 0)
	for _, p := range []string{"fifo", "srpt", "fair"} {
		b.Run(p, func(b *testing.B) { runDay(b, Config{Cluster: c, Jobs: source(jobs...), Costs: Defaults()}, p, 0) })
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
	c, jobs, _ := dayOf(b, "nodes=600,map-slots=5,reduce-slots=2,racks=15", 0)
	for _, p := range []string{"fifo", "srpt", "fair"} {
		b.Run(p, func(b *testing.B) {
			w, err := record.NewWriter(io.Discard, record.Header{}, record.Options{})
			if err != nil {
				b.Fatal(err)
			}
			runDay(b, Config{Cluster: c, Jobs: source(jobs...), Costs: costs, Core: sched.Config{Recorder: w}}, p, 0)
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
func runDay(b *testing.B, c Config, name string, bare float64) (last Result) {
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
		last = r
	}
	rate := float64(events) / (cpu() - from)
	runtime.ReadMemStats(&after)
	b.ReportMetric(rate/1e6, "Mev/s")
	b.ReportMetric(1e9/rate, "ns/ev")
	if bare > 0 {
		b.ReportMetric(rate/bare, "of-bare")
	}
	b.ReportMetric(float64(after.Mallocs-before.Mallocs)/float64(events), "allocs/ev")
	b.ReportMetric(float64(after.Sys)/(1<<20), "MB")
	return last
}

// bareLoop runs the maps of jobs in order of submission on so many slots: a heap of the tasks that run, and counters
// for each job. It returns when the last one ends.
func bareLoop(jobs []*sched.JobSpec, slots int) (now sched.Time) {
	type work struct {
		truth         *workload.Truth
		waiting, left int32
	}
	list := make([]work, len(jobs))
	for i, j := range jobs {
		t := j.Payload.(*workload.Truth)
		list[i] = work{t, t.Stages[0].Tasks, t.Stages[0].Tasks}
	}
	heap := make(dueHeap, 0, slots)     // its items are jobs
	arrived, first, free := 0, 0, slots // first: the first job with tasks that wait
	for arrived < len(list) || len(heap) > 0 {
		if arrived < len(list) && (len(heap) == 0 || jobs[arrived].Submit < heap[0].at) {
			now = jobs[arrived].Submit
			arrived++
		} else {
			now = heap[0].at
			list[heap.pop()].left--
			free++
		}
		for free > 0 && first < arrived {
			w := &list[first]
			w.waiting--
			heap.push(due{now + w.truth.Time(0, w.truth.Stages[0].Tasks-w.waiting), int32(first)})
			free--
			if w.waiting == 0 {
				first++
			}
		}
	}
	return now
}

// A due is an item of a dueHeap, and the instant at which it is due.
type due struct {
	at   sched.Time
	item int32
}

// A dueHeap is a 4-ary heap by instant. Items of equal instants come in no order.
type dueHeap []due

func (h *dueHeap) push(d due) {
	*h = append(*h, d)
	a := *h
	i := len(a) - 1
	for ; i > 0 && d.at < a[(i-1)>>2].at; i = (i - 1) >> 2 {
		a[i] = a[(i-1)>>2]
	}
	a[i] = d
}

// pop removes the first entry, and returns its item.
func (h *dueHeap) pop() (first int32) {
	a := *h
	first = a[0].item
	n := len(a) - 1
	d := a[n]
	a = a[:n]
	*h = a
	if n == 0 {
		return first
	}
	i := 0
	for {
		least := 4*i + 1
		if least >= n {
			break
		}
		for k := least + 1; k < min(4*i+5, n); k++ {
			if a[k].at < a[least].at {
				least = k
			}
		}
		if d.at <= a[least].at {
			break
		}
		a[i] = a[least]
		i = least
	}
	a[i] = d
	return first
}

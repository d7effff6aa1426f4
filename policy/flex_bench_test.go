package policy

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/sched"
)

// BenchmarkFlexCall is one decision of flex that divides slots, core included: ten slots a job, jobs of 1 to 300 tasks
// with deadlines up to the time that all slots need for all work. The goals are below 1 ms of a processor at 100 jobs,
// and below 10 ms at 4,000.
func BenchmarkFlexCall(b *testing.B) {
	for _, metric := range flexMetrics() {
		for _, n := range []int{40, 100, 400, 4000} {
			b.Run(fmt.Sprintf("%s/jobs=%d", metric.Name, n), func(b *testing.B) {
				p, _, err := Parse("flex:epoch=1000h,metric=" + metric.Name)
				if err != nil {
					b.Fatal(err)
				}
				f, r := p.(*flex), rand.New(rand.NewPCG(1, 2))
				core := sched.New(sched.Config{Policy: p})
				events := []sched.Event{{Kind: sched.NodeJoined, Node: 1, Body: &sched.NodeSpec{Name: "n", Class: "c",
					Capacity: sched.Resources{sched.MapSlots: int64(10 * n)}}}}
				for i := range n {
					events = append(events, sched.Event{
						Kind: sched.JobSubmitted,
						Job:  sched.JobID(i + 1),
						Body: &sched.JobSpec{
							Weight:   0.1 + r.Float64(),
							Deadline: sched.Time(1 + r.Int64N(int64(300*time.Second))),
							Stages: []sched.StageSpec{{
								Kind:    sched.Map,
								PerTask: sched.Resources{sched.MapSlots: 1},
								Tasks:   1 + r.Int32N(300),
								Prior:   time.Duration(5+r.IntN(30)) * time.Second,
							}},
						},
					})
				}
				core.Step(0, events)
				calls, from := 0, cpu()
				for b.Loop() {
					f.Epochs.Dirty, f.Epochs.Next = true, 0
					core.Step(core.Now, nil)
					calls++
				}
				b.ReportMetric(float64(cpu()-from)/1e6/float64(calls), "cpu-ms/op")
			})
		}
	}
}

// BenchmarkBurst is a burst of jobs that come in Steps of their own at one instant, core included, on 1,000 nodes: what
// one job of it costs.
func BenchmarkBurst(b *testing.B) {
	for _, spec := range []string{"flex", "flex:metric=tardiness", "ras", "reverse"} {
		for _, n := range []int{1000, 10_000, 100_000} {
			b.Run(fmt.Sprintf("%s/jobs=%d", spec, n), func(b *testing.B) {
				var took time.Duration
				for b.Loop() {
					took += burstOf(b, spec, n)
				}
				b.ReportMetric(float64(took)/float64(b.N)/float64(n), "cpu-ns/job")
			})
		}
	}
}

// burstOf submits n jobs at one instant, each in a Step of its own, makes the Steps that the policy asks for at this
// instant and the next, and returns the processor time.
func burstOf(t testing.TB, spec string, n int) time.Duration {
	p, _, err := Parse(spec)
	if err != nil {
		t.Fatal(err)
	}
	core := sched.New(sched.Config{Policy: p})
	var nodes []sched.Event
	for i := range 1000 {
		nodes = append(nodes, sched.Event{Kind: sched.NodeJoined, Node: sched.NodeID(i + 1), Body: &sched.NodeSpec{
			Class: "c", Capacity: sched.Resources{sched.Memory: 4096, sched.VCores: 4}}})
	}
	core.Step(0, nodes)
	r, start := rand.New(rand.NewPCG(1, 2)), cpu()
	for i := range n {
		core.Step(time.Second, []sched.Event{{Kind: sched.JobSubmitted, Job: sched.JobID(i + 1), Body: &sched.JobSpec{
			Deadline: sched.Time(1 + r.Int64N(int64(300*time.Second))),
			Stages: []sched.StageSpec{{Kind: sched.Map, PerTask: sched.Resources{sched.Memory: 1024, sched.VCores: 1},
				Tasks: 1 + r.Int32N(30), Prior: time.Duration(5+r.IntN(30)) * time.Second}},
		}}})
	}
	core.Step(time.Second+1, nil)
	return cpu() - start
}

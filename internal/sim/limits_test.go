package sim

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/internal/unpack/bomb"
	"github.com/sojourn-sched/sojourn/internal/workload"
	"github.com/sojourn-sched/sojourn/sched"
)

// TestClock runs what goes on for centuries: the run ends with an error at a hundred years.
func TestClock(t *testing.T) {
	const hour = 3600 * sec
	cluster := slotCluster(1, 1, slots(1, 1))
	containers := slotCluster(1, 1, sched.Resources{sched.Memory: 4096, sched.VCores: 4})
	each := sched.Resources{sched.Memory: 1024, sched.VCores: 1}
	jobs := workload.Master{Size: each, Start: 5 * sec}.AddTo(
		source(mr{maps: 4, mapTime: 300 * sec, reduces: 1, redTime: 100 * hour, part: 1, mapEach: each,
			redEach: each}.job()), containers)
	for name, c := range map[string]Config{
		// 200 maps of 80,000 hours, one after the other, take 1,826 years.
		"long tasks": {Cluster: cluster, Jobs: source(mr{maps: 200, mapTime: 80_000 * hour}.job())},
		// A node is never there for the 100 hours of the map: e⁻¹⁷ is the part of its stays that are long enough.
		"lost nodes": {Cluster: cluster, Jobs: source(mr{maps: 1, mapTime: 100 * hour}.job()),
			Costs: Costs{Faults: Faults{MTBF: 6 * hour, MTTR: hour}}},
		// The same with a master that is lost each time, and maps that are done each time.
		"lost masters": {Cluster: containers, Jobs: jobs, Costs: Costs{Faults: Faults{MTBF: 6 * hour, MTTR: hour}}},
		"late jobs":    {Cluster: cluster, Jobs: source(mr{submit: clockMax + 1, maps: 1, mapTime: sec}.job())},
	} {
		t.Run(name, func(t *testing.T) {
			c.Core.Policy = &inOrder{}
			_, err := Run(context.Background(), c)
			if !errors.Is(err, ErrClock) || !strings.Contains(err.Error(), "1 job is left") && name != "late jobs" {
				t.Errorf("got %v, want %v", err, ErrClock)
			}
		})
	}
}

// TestLostMastersAreNoProgress holds that maps which are done again and again, since their outputs are lost, do not
// keep a run going: it ends long before a hundred years.
func TestLostMastersAreNoProgress(t *testing.T) {
	each := sched.Resources{sched.Memory: 1024, sched.VCores: 1}
	cluster := slotCluster(1, 1, sched.Resources{sched.Memory: 4096, sched.VCores: 4})
	jobs := workload.Master{Size: each, Start: sec}.AddTo(
		source(mr{maps: 4, mapTime: sec, reduces: 1, redTime: 3600 * sec, part: 1, mapEach: each, redEach: each}.job()),
		cluster)
	_, err := Run(context.Background(), Config{Cluster: cluster, Jobs: jobs, Core: sched.Config{Policy: &inOrder{}},
		Costs: Costs{Faults: Faults{MTBF: 10 * sec, MTTR: sec}}})
	if !errors.Is(err, ErrStuck) || !strings.Contains(err.Error(), "since a job last got further") {
		t.Errorf("got %v, want %v", err, ErrStuck)
	}
}

// TestWakesCount holds that a policy which wakes itself for ever, while one task runs for years, comes to the limit of
// events.
func TestWakesCount(t *testing.T) {
	order := &inOrder{}
	waking := policyFunc(func(p *sched.Plan) {
		order.Decide(p)
		p.Wake(p.Now + time.Millisecond)
	})
	done, err := Run(context.Background(), Config{Cluster: slotCluster(1, 1, slots(1, 1)), MostEvents: 1000,
		Jobs: source(mr{maps: 1, mapTime: workload.MaxTime}.job()), Core: sched.Config{Policy: waking}})
	if !errors.Is(err, ErrLimit) || done.Steps > 1001 {
		t.Errorf("got %v after %d steps, want %v after 1000", err, done.Steps, ErrLimit)
	}
}

// TestMostJobs holds the limits of unfinished jobs and of their tasks: at the limit a run goes on, one beyond it ends.
func TestMostJobs(t *testing.T) {
	three := func() workload.Source { // of 4 tasks each, all at once
		one := mr{maps: 3, mapTime: sec, reduces: 1, redTime: sec, part: 1}
		return source(one.job(), one.job(), one.job())
	}
	after := source(mr{maps: 4, mapTime: sec}.job(), mr{submit: 100 * sec, maps: 4, mapTime: sec}.job())
	for _, c := range []struct {
		config Config
		want   string
	}{
		{Config{Jobs: three(), MostJobs: 3}, ""},
		{Config{Jobs: three(), MostJobs: 2}, "job 3 (j): more than 2 jobs are unfinished"},
		{Config{Jobs: three(), MostTasks: 12}, ""},
		{Config{Jobs: three(), MostTasks: 11}, "job 3 (j): the unfinished jobs have more than 11 tasks"},
		{Config{Jobs: after, MostJobs: 2, MostTasks: 8}, ""},
	} {
		c.config.Cluster, c.config.Core.Policy = slotCluster(1, 1, slots(1, 1)), &inOrder{}
		done, err := Run(context.Background(), c.config)
		if c.want == "" && (err != nil || done.Failed > 0) {
			t.Errorf("%v", err)
		}
		if c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
}

// TestManyJobsAtOnce holds what the default limit of unfinished jobs comes to in memory.
func TestManyJobsAtOnce(t *testing.T) {
	bomb.Within(t, func(t *testing.T) {
		o := workload.Defaults()
		jobs := func(yield func(*sched.JobSpec, error) bool) {
			for spec, err := range (&workload.Generator{Jobs: 30_000_000, Input: workload.Constant(10)}).Source(o) {
				if spec != nil {
					spec.Submit = 0
				}
				if !yield(spec, err) {
					return
				}
			}
		}
		_, err := Run(context.Background(), Config{Cluster: slotCluster(20, 1, slots(3, 1)), Jobs: jobs,
			Core: sched.Config{Policy: &inOrder{}}})
		if err == nil || !strings.Contains(err.Error(), "job 100001 (job100001): more than 100000 jobs "+
			"are unfinished") {
			t.Error(err)
		}
	})
}

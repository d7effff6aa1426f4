// Package testbed has what trials of several papers run.
//
//	Setting  jobs on a cluster, run under policies by the simulator. JobOf, SlotCluster and ClusterOf make its parts,
//	         Evenly says where the copies of blocks lie
//	Mix      real jobs for the engine mr, whose runs the simulator repeats from their records. Input makes what they
//	         read
package testbed

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/sojourn-sched/sojourn/internal/record"
	"github.com/sojourn-sched/sojourn/internal/run"
	"github.com/sojourn-sched/sojourn/internal/sim"
	"github.com/sojourn-sched/sojourn/internal/theory"
	"github.com/sojourn-sched/sojourn/internal/workload"
	"github.com/sojourn-sched/sojourn/policy"
	"github.com/sojourn-sched/sojourn/sched"
)

// A Setting is jobs on a cluster, to be run under policies.
type Setting struct {
	Cluster   *workload.Cluster
	Jobs      []*sched.JobSpec // in order of submission
	Costs     sim.Costs
	Estimator string          // as --estimator names it; "": an oracle
	Made      sched.Estimator // used instead; nil: none
	Seed      uint64
	Watch     record.Follower // follows the run; nil: none does
	Policies  policy.Registry // where policies are looked up; nil: those of this module
	// by class of nodes: what a service leaves of them when; nil: all
	Timetables map[string]*sched.Forecast
	Fetched    func(from, to sched.Time, bytes float64) // as sim.Config.Fetched
}

// An Outcome is what became of the jobs, in seconds.
type Outcome struct {
	record.Result
	Sojourns, Ends []float64 // by job
	Masters        float64   // part of the memory that masters held, on average over the run
}

// Total returns the sum of completion times in seconds, counted from time 0 as the MROrder thesis counts them.
func (o *Outcome) Total() (sum float64) {
	for _, e := range o.Ends {
		sum += e
	}
	return sum
}

// Under simulates the jobs under a policy, as --policy names it. It is an error if a job does not end or fails.
func (s *Setting) Under(ctx context.Context, spec string) (*Outcome, error) {
	var rows []record.JobRow
	specs, held := Specs{}, &heldByMasters{}
	setup := run.Setup{
		Names:  run.BuiltIn,
		Choice: run.Choice{Policy: spec, Estimator: cmp.Or(s.Estimator, "oracle")},
		Made:   s.Made,
		Watch:  []record.Follower{specs, held},
		Row:    func(r *record.JobRow) { rows = append(rows, *r) },
	}
	if s.Policies != nil {
		setup.Names.Policies = s.Policies
	}
	if s.Watch != nil {
		setup.Watch = append(setup.Watch, s.Watch)
	}
	out, err := run.Simulate(ctx, setup, sim.Config{
		Cluster: s.Cluster, Jobs: workload.Of(s.Jobs...), Seed: s.Seed, Costs: s.Costs, Fetched: s.Fetched,
		Timetables: s.Timetables,
	})
	if err != nil {
		return nil, err
	}
	o := &Outcome{Result: out.Result, Masters: held.part()}
	o.Sojourns, o.Ends = make([]float64, len(s.Jobs)), make([]float64, len(s.Jobs))
	place := map[any]int{} // by payload: the simulator may add places to a spec
	for i, j := range s.Jobs {
		place[j.Payload] = i
		o.Ends[i] = math.NaN()
	}
	for _, r := range rows {
		i := place[specs[r.ID].Payload]
		o.Sojourns[i], o.Ends[i] = r.Sojourn().Seconds(), r.Finish.Seconds()
	}
	if slices.ContainsFunc(o.Ends, math.IsNaN) || o.JobCounts.Jobs != len(s.Jobs) ||
		o.Failed+o.Killed+o.Unfinished > 0 {
		return nil, fmt.Errorf("simulate %s: of %d jobs %d ended, %d failed", spec, len(s.Jobs),
			o.JobCounts.Jobs, o.Failed)
	}
	return o, nil
}

// Specs collects the specs of a run's jobs, by ID, as a follower of the run.
type Specs map[sched.JobID]*sched.JobSpec

// Attach implements record.Follower.
func (s Specs) Attach(*sched.View) {}

// Record implements sched.Recorder.
func (s Specs) Record(_ sched.Time, events []sched.Event, _ []sched.Action) {
	for i := range events {
		if e := &events[i]; e.Kind == sched.JobSubmitted {
			s[e.Job] = e.Body.(*sched.JobSpec)
		}
	}
}

// Noisy returns the name of the estimator that tells sizes times exp(sigma·N), N normal and drawn from the seed.
func Noisy(sigma float64, seed uint64) string {
	return fmt.Sprintf("noisy:sigma=%v,seed=%d", sigma, seed)
}

// heldByMasters is how much memory masters hold, over time.
type heldByMasters struct {
	view         *sched.View
	last         sched.Time
	now, sum, of float64 // MiB, and MiB-seconds: held, and there
}

func (h *heldByMasters) Attach(v *sched.View) { h.view = v }

func (h *heldByMasters) Record(now sched.Time, _ []sched.Event, _ []sched.Action) {
	took := (now - h.last).Seconds()
	h.sum, h.of = h.sum+h.now*took, h.of+float64(h.view.Capacity[sched.Memory])*took
	h.last, h.now = now, float64(h.view.Queues[0].Masters[sched.Memory])
}

// part is what masters hold of all, on average.
func (h *heldByMasters) part() float64 {
	if h.of == 0 {
		return 0
	}
	return h.sum / h.of
}

// Collect returns all jobs of a source, or its first error.
func Collect(source workload.Source) (jobs []*sched.JobSpec, err error) {
	for j, err := range source {
		if err != nil {
			return nil, err
		}
		jobs = append(jobs, j)
	}
	return jobs, nil
}

// SlotCluster returns a cluster of equal nodes with so many slots each, on the simulator's default network.
func SlotCluster(nodes int32, maps, reduces int64) *workload.Cluster {
	return ClusterOf("nodes=%d,map-slots=%d,reduce-slots=%d", nodes, maps, reduces)
}

// JobOf makes a job for the simulator from the task counts and mean times in seconds of j. Own has the times of single
// tasks, by stage (maps, reduces); nil: all take the mean.
func JobOf(name string, submit sched.Time, j theory.SlotJob, own [2][]workload.Task) *sched.JobSpec {
	spec := &sched.JobSpec{Name: name, Type: "MAPREDUCE", Submit: submit}
	truth := &workload.Truth{}
	for i, st := range [...]struct {
		kind  sched.StageKind
		slot  sched.ResourceKind
		tasks int
		time  float64
	}{{sched.Map, sched.MapSlots, j.Maps, j.MapTime}, {sched.Reduce, sched.ReduceSlots, j.Reduces, j.ReduceTime}} {
		if st.tasks == 0 {
			continue
		}
		var after []sched.Dep
		if len(spec.Stages) > 0 {
			after = []sched.Dep{{Stage: 0, Part: 1}}
		}
		mean := sched.Time(math.Round(st.time * 1e9))
		var per sched.Resources
		per[st.slot] = 1
		spec.Stages = append(
			spec.Stages,
			sched.StageSpec{Kind: st.kind, PerTask: per, Tasks: int32(st.tasks), After: after,
				MaxAttempts: sched.DefaultMaxAttempts, Prior: mean},
		)
		truth.Stages = append(truth.Stages, workload.StageTruth{Tasks: int32(st.tasks), Base: mean, List: own[i]})
	}
	spec.Payload = truth
	return spec
}

// Machine returns the cluster that a run of real jobs has: one node with so many cores.
func Machine(cores int) *workload.Cluster { return ClusterOf("nodes=1,vcores=%d,memory=1TiB", cores) }

// ClusterOf makes the cluster that --cluster would make of a formatted text. It panics if that is malformed.
func ClusterOf(format string, args ...any) *workload.Cluster {
	c, err := workload.ParseCluster(fmt.Sprintf(format, args...))
	if err != nil {
		panic(err)
	}
	return c
}

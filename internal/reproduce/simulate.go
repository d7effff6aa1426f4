package reproduce

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

// A setting is jobs on a cluster, to be run under policies.
type setting struct {
	cluster   *workload.Cluster
	jobs      []*sched.JobSpec // in order of submission
	costs     sim.Costs
	estimator string          // as --estimator names it; "": an oracle
	made      sched.Estimator // used instead; nil: none
	seed      uint64
	watch     record.Follower // follows the run; nil: none does
	policies  policy.Registry // where policies are looked up; nil: those of this module
	// by class of nodes: what a service leaves of them when; nil: all
	timetables map[string]*sched.Forecast
	fetched    func(from, to sched.Time, bytes float64) // as sim.Config.Fetched
}

// An outcome is what became of the jobs, in seconds.
type outcome struct {
	record.Result
	sojourns, ends []float64 // by job
	masters        float64   // part of the memory that masters held, on average over the run
}

// total is the sum of completion times, counted from time 0 as the MROrder thesis counts them.
func (o *outcome) total() (sum float64) {
	for _, e := range o.ends {
		sum += e
	}
	return sum
}

// under runs the setting under a policy.
func (s *setting) under(ctx context.Context, spec string) (*outcome, error) {
	var rows []record.JobRow
	specs, held := submitted{}, &heldByMasters{}
	setup := run.Setup{
		Names:  run.BuiltIn,
		Choice: run.Choice{Policy: spec, Estimator: cmp.Or(s.estimator, "oracle")},
		Made:   s.made,
		Watch:  []record.Follower{specs, held},
		Row:    func(r *record.JobRow) { rows = append(rows, *r) },
	}
	if s.policies != nil {
		setup.Names.Policies = s.policies
	}
	if s.watch != nil {
		setup.Watch = append(setup.Watch, s.watch)
	}
	out, err := run.Simulate(ctx, setup, sim.Config{
		Cluster: s.cluster, Jobs: workload.Of(s.jobs...), Seed: s.seed, Costs: s.costs, Fetched: s.fetched,
		Timetables: s.timetables,
	})
	if err != nil {
		return nil, err
	}
	o := &outcome{Result: out.Result, masters: held.part()}
	o.sojourns, o.ends = make([]float64, len(s.jobs)), make([]float64, len(s.jobs))
	place := map[any]int{} // by payload: the simulator may add places to a spec
	for i, j := range s.jobs {
		place[j.Payload] = i
		o.ends[i] = math.NaN()
	}
	for _, r := range rows {
		i := place[specs[r.ID].Payload]
		o.sojourns[i], o.ends[i] = r.Sojourn().Seconds(), r.Finish.Seconds()
	}
	if slices.ContainsFunc(o.ends, math.IsNaN) || o.JobCounts.Jobs != len(s.jobs) ||
		o.Failed+o.Killed+o.Unfinished > 0 {
		return nil, fmt.Errorf("simulate %s: of %d jobs %d ended, %d failed", spec, len(s.jobs),
			o.JobCounts.Jobs, o.Failed)
	}
	return o, nil
}

// submitted holds the specs of a run's jobs, by ID.
type submitted map[sched.JobID]*sched.JobSpec

// Attach implements record.Follower.
func (s submitted) Attach(*sched.View) {}

// Record implements sched.Recorder.
func (s submitted) Record(_ sched.Time, events []sched.Event, _ []sched.Action) {
	for i := range events {
		if e := &events[i]; e.Kind == sched.JobSubmitted {
			s[e.Job] = e.Body.(*sched.JobSpec)
		}
	}
}

// noisy names the estimator of sizes with errors of a spread sigma.
func noisy(sigma float64, seed uint64) string {
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

// day2009 reports whether the lab has Facebook's day of 2009.
func day2009(lab Lab) error {
	if lab.Trace == "" {
		return Missing{
			"the trace of Facebook's day of 2009 is needed (`--trace`): FB-2009_samples_24_times_1hr_0.tsv of " +
				"SWIM's repository",
		}
	}
	return nil
}

// day2010 reports whether the lab has Facebook's day of 2010.
func day2010(lab Lab) error {
	if lab.Trace2010 == "" {
		return Missing{
			"the trace of Facebook's day of 2010 is needed (`--trace-2010`): FB-2010_samples_24_times_1hr_0.tsv of " +
				"SWIM's repository",
		}
	}
	return nil
}

// collect returns the jobs of a source.
func collect(source workload.Source) (jobs []*sched.JobSpec, err error) {
	for j, err := range source {
		if err != nil {
			return nil, err
		}
		jobs = append(jobs, j)
	}
	return jobs, nil
}

// slotCluster is a cluster of equal nodes with slots, on the simulator's default network.
func slotCluster(nodes int32, maps, reduces int64) *workload.Cluster {
	return clusterOf("nodes=%d,map-slots=%d,reduce-slots=%d", nodes, maps, reduces)
}

// jobOf makes a job for the simulator of task counts and times in seconds; the list of a stage, where it is given, has
// its tasks' own times.
func jobOf(name string, submit sched.Time, j theory.SlotJob, own [2][]workload.Task) *sched.JobSpec {
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

// gain is by how many percent a figure of ours is better than a baseline, as speedups are counted: baseline ÷ ours − 1.
func gain(base, ours float64) float64 { return 100 * (base/ours - 1) }

package run

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/sojourn-sched/sojourn/internal/joblog"
	"github.com/sojourn-sched/sojourn/internal/mr/streaming"
	"github.com/sojourn-sched/sojourn/internal/record"
	"github.com/sojourn-sched/sojourn/internal/workload"
	"github.com/sojourn-sched/sojourn/mr"
	"github.com/sojourn-sched/sojourn/mr/input"
	"github.com/sojourn-sched/sojourn/mr/jobs"
	"github.com/sojourn-sched/sojourn/mr/store"
	"github.com/sojourn-sched/sojourn/sched"
)

// A RealJob is a job for the embedded engine, which is not opened yet.
type RealJob struct {
	Spec    *sched.JobSpec // name, arrival and what the scheduler is told; stages are found when the job is opened
	Program workload.Program
}

// A Machine is where real jobs run, and how their outputs are written.
type Machine struct {
	Jobs      map[string]jobs.Entry // the built-in jobs, by name
	Cluster   *workload.Cluster
	Memory    int64                    // bytes that all tasks together may use
	Output    func(dir string) string  // where a job writes whose program names dir
	Overwrite bool                     // replace outputs that exist, once the new ones are complete
	Logs      joblog.Place             // of what programs write to standard error
	Notes     func(job, remark string) // is told what the user may want to know of a job, "": of all; nil: no remarks
}

// Job makes the MapReduce job of a program.
func (m *Machine) job(p workload.Program, logs *joblog.Folder) (*mr.Job, error) {
	conf := mr.Conf(maps.Clone(p.Conf))
	if conf == nil {
		conf = mr.Conf{}
	}
	if p.Job == "" {
		return streaming.Job(streaming.Programs{Mapper: p.Mapper, Combiner: p.Combiner, Reducer: p.Reducer}, conf,
			logs)
	}
	if err := m.Check(p); err != nil {
		return nil, err
	}
	return m.Jobs[p.Job].New(conf)
}

// Check returns an error where a program names no job, or configures what its job does not have.
func (m *Machine) Check(p workload.Program) error {
	if p.Job == "" {
		return nil
	}
	e, ok := m.Jobs[p.Job]
	if !ok {
		return fmt.Errorf("no job is named %q: there are %s", p.Job, strings.Join(sortedKeys(m.Jobs), ", "))
	}
	known := input.Options()
	for _, p := range e.Params {
		known = append(known, p.Name)
	}
	return mr.Conf(p.Conf).Check(known, true)
}

// stores are the key-value stores that jobs read, by the word before the colon of an input.
var stores = map[string]func(path string) (input.Store, error){"pebble": store.Open}

// StoreIn returns the path of the key-value store that an input names, as pebble:DIR; false: it names files.
func StoreIn(input string) (path string, ok bool) {
	scheme, path, _ := strings.Cut(input, ":")
	return path, path != "" && stores[scheme] != nil
}

// open opens all jobs, whose outputs are claimed from then on.
func (m *Machine) open(list []RealJob, site mr.Site, logs *joblog.Folder) (opened []mr.Submission, err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, closeAll(opened))
		}
	}()
	for _, j := range list {
		job, err := m.job(j.Program, logs)
		if err != nil {
			return opened, fmt.Errorf("job %q: %w", j.Spec.Name, err)
		}
		o := mr.Order{
			Job:       job,
			Input:     j.Program.Input,
			Output:    m.Output(j.Program.Output),
			Reduces:   mr.Slots(m.Cluster.Capacity()),
			Overwrite: m.Overwrite,
			Stores:    stores,
		}
		if m.Notes != nil {
			o.Notes = func(remark string) { m.Notes(j.Spec.Name, remark) }
		}
		switch n := j.Program.Reduces; {
		case n > 0:
			o.Reduces = int(n)
		case n == 0:
			job.Reduces, job.Combine = mr.MapOnly, nil
		}
		w, err := mr.Open(o, site)
		if err != nil {
			return opened, fmt.Errorf("job %q: %w", j.Spec.Name, err)
		}
		spec := *j.Spec
		spec.Open = job.Next != nil
		if spec.Profile == nil && len(job.Accelerated) > 0 {
			spec.Profile = &sched.Profile{Accelerators: sortedKeys(job.Accelerated)}
		}
		opened = append(opened, mr.Submission{Spec: &spec, Work: w})
	}
	return opened, nil
}

// closeAll closes jobs that no engine was given.
func closeAll(list []mr.Submission) (err error) {
	for _, s := range list {
		err = errors.Join(err, s.Work.Close(false))
	}
	return err
}

// Serve runs jobs on the embedded engine and fills in what c lacks: core and nodes. Every output is claimed before any
// work is done. The outcome holds what was done also where there is an error; without Jobs, nothing was.
func (m *Machine) Serve(ctx context.Context, s Setup, c mr.Config, list []RealJob) (out Outcome, err error) {
	memory, err := mr.NewMemory(m.Memory, 2*mr.Slots(m.Cluster.Capacity())) // as many again may be suspended
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, memory.Close()) }()
	var logs *joblog.Folder
	if m.Logs.Dir != "" {
		if logs, err = joblog.New(m.Logs); err != nil {
			return out, fmt.Errorf("logs: %w", err)
		}
	}
	work, err := m.open(list, mr.SiteOf(m.Cluster.Capacity(), memory), logs)
	if err != nil {
		return out, err
	}
	s.Engine, s.Cluster, s.Queues = Embedded, m.Cluster, m.Cluster.Queues
	seen := map[sched.JobID]bool{}
	row := s.Row
	s.Row = func(r *record.JobRow) {
		seen[r.ID] = true
		if row != nil {
			row(r)
		}
	}
	o, err := s.Open()
	if err != nil {
		return out, errors.Join(err, closeAll(work))
	}
	defer func() { err = errors.Join(err, o.Close()) }()
	defer o.caught(&err)
	c.Core, c.Nodes, c.Seed = o.Core, m.Cluster.List(), s.Seed
	watch, refused := c.Watch, 0
	var first sched.Refusal
	c.Watch = func(core *sched.Core) {
		if n := core.Refused(); n > refused {
			refused, first = n, core.FirstRefusal()
		}
		if watch != nil {
			watch(core)
		}
	}
	start := time.Now()
	out.Jobs, err = mr.Serve(ctx, c, work)
	if refused > 0 && m.Notes != nil {
		m.Notes("", refusals(s.Choice.Policy, refused, first))
	}
	if missing := logs.Err(); missing != nil && m.Notes != nil {
		m.Notes("", fmt.Sprintf("logs are missing: %v", missing))
	}
	for _, x := range out.Jobs {
		if x.Slowed >= time.Second/10 && m.Notes != nil {
			m.Notes(list[x.Index].Spec.Name, fmt.Sprintf("its tasks stood still for %v in all, because nodes offered "+
				"less than what ran on them", x.Slowed.Round(time.Millisecond)))
		}
	}
	out.Predictions = o.predictions()
	out.Result = o.Tally.Result()
	out.Result.Wall = time.Since(start).Seconds()
	for _, x := range out.Jobs {
		if x.Outcome == sched.Failed && !seen[x.Job] { // before the core heard of it
			out.Result.Jobs++
			out.Result.Failed++
		}
	}
	for _, s := range work {
		out.Counters = append(out.Counters, mr.CountersOf(s.Work))
	}
	return out, err
}

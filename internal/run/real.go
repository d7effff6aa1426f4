package run

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/sojourn-sched/sojourn/internal/joblog"
	"github.com/sojourn-sched/sojourn/internal/mr/streaming"
	"github.com/sojourn-sched/sojourn/internal/record"
	"github.com/sojourn-sched/sojourn/internal/workload"
	"github.com/sojourn-sched/sojourn/model"
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

// taskTimeout are Hadoop's names, of today and of Hadoop 1, for the time in milliseconds that a task may be silent.
var taskTimeout = []string{"mapreduce.task.timeout", "mapred.task.timeout"}

// ownTimeout returns how long the tasks of a program may be silent by its own configuration, as a Submission says it.
// It returns what means for ever if the value cannot be read, which the program's job refuses.
func ownTimeout(conf mr.Conf) time.Duration {
	for _, key := range taskTimeout {
		if _, says := conf[key]; says {
			if ms, _ := conf.Int(key, 0, 0, 1<<40); ms > 0 {
				return time.Duration(ms) * time.Millisecond
			}
			return -1
		}
	}
	return 0
}

// job makes the MapReduce job of a program. Its tasks may be silent for timeout, unless its own configuration says how
// long; 0: for ever.
func (m *Machine) job(p workload.Program, logs *joblog.Folder, timeout time.Duration) (*mr.Job, error) {
	conf := mr.Conf(maps.Clone(p.Conf))
	if conf == nil {
		conf = mr.Conf{}
	}
	if p.Job == "" {
		if ownTimeout(conf) == 0 {
			// Rounded up: 0 would be no limit.
			conf[taskTimeout[0]] = strconv.FormatInt(int64((timeout+time.Millisecond-1)/time.Millisecond), 10)
		}
		return streaming.Job(streaming.Programs{Mapper: p.Mapper, Combiner: p.Combiner, Reducer: p.Reducer}, conf,
			logs)
	}
	if err := m.Check(p); err != nil {
		return nil, err
	}
	return m.Jobs[p.Job].New(conf)
}

// Check returns an error where a program names no job, configures what its job does not have, or leaves out the reduces
// that its job needs.
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
	if err := mr.Conf(p.Conf).Check(known, true); err != nil {
		return err
	}
	c, err := input.Configure(p.Conf)
	if err != nil || c.RecordLength == 0 && p.Reduces != 0 {
		return err
	}
	job, err := e.New(p.Conf)
	if err != nil {
		return err
	}
	if err := jobs.CheckReduces(p.Job, job, int(p.Reduces)); err != nil {
		return err
	}
	if c.RecordLength != 0 && job.Record != c.RecordLength {
		reads := "lines"
		if job.Record > 0 {
			reads = fmt.Sprintf("records of %d bytes", job.Record)
		}
		err = fmt.Errorf("%s reads %s, and no records of %d bytes: leave FixedLengthInputFormat out", p.Job, reads,
			c.RecordLength)
	}
	return err
}

// stores are the key-value stores that jobs read, by the word before the colon of an input.
var stores = map[string]func(path string) (input.Store, error){"pebble": store.Open}

// StoreIn returns the path of the key-value store that an input names, as pebble:DIR; false: it names files. The path
// is empty if the user left it out.
func StoreIn(input string) (path string, ok bool) {
	scheme, path, named := strings.Cut(input, ":")
	return path, named && stores[scheme] != nil
}

// open opens all jobs, whose outputs are claimed from then on. Tasks of programs may be silent for timeout.
func (m *Machine) open(list []RealJob, site mr.Site, logs *joblog.Folder, timeout time.Duration) (
	opened []mr.Submission, err error,
) {
	defer func() {
		if err != nil {
			err = errors.Join(err, closeAll(opened))
		}
	}()
	for i, j := range list {
		job, err := m.job(j.Program, logs, timeout)
		if err != nil {
			return opened, fmt.Errorf("job %q: %w", j.Spec.Name, err)
		}
		inputs, late := m.inputs(list, i)
		o := mr.Order{
			Job:       job,
			Input:     inputs,
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
		opened = append(opened, mr.Submission{Spec: &spec, Work: w, Late: late, Timeout: ownTimeout(j.Program.Conf)})
	}
	return opened, nil
}

// inputs returns the inputs of a job of list. Those that another job of the list writes are where that job writes them.
// late is true if what another job writes may be among them, so that they can be found only when the job arrives.
func (m *Machine) inputs(list []RealJob, of int) (inputs []string, late bool) {
	for _, pattern := range list[of].Program.Input {
		for k := range list {
			dir := list[k].Program.Output
			if k == of || dir == "" || !reaches(pattern, dir) {
				continue
			}
			late = true
			below, ok := strings.CutPrefix(absolute(pattern), absolute(dir))
			if ok && (below == "" || below[0] == '/') && m.Output(dir) != dir {
				pattern = m.Output(dir) + below
				break
			}
		}
		inputs = append(inputs, pattern)
	}
	return inputs, late
}

// reaches reports whether a pattern of input may name a directory, something in it, or a directory above it.
func reaches(pattern, dir string) bool {
	if _, ok := StoreIn(pattern); ok || pattern == "-" {
		return false
	}
	parts, names := strings.Split(absolute(pattern), "/"), strings.Split(absolute(dir), "/")
	for i := range min(len(parts), len(names)) {
		switch part := parts[i]; {
		case part == "**":
			return true
		case strings.ContainsAny(part, "{\\"): // alternatives may have a / in them
			return true
		default:
			if ok, err := filepath.Match(part, names[i]); err != nil || !ok {
				return false
			}
		}
	}
	return true
}

// absolute returns a clean absolute path.
func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return filepath.Clean(path) // the working directory is gone
}

// noteProbes remarks on jobs that could not be probed. It also says so if nothing is predicted because no probe was
// done before its job.
func (o *Opened) noteProbes(m *Machine, list []RealJob, results []mr.Result) {
	if m.Notes == nil {
		return
	}
	probed := false
	for _, x := range results {
		probed = probed || x.Probed
		if x.NotProbed != nil {
			m.Notes(list[x.Index].Spec.Name, fmt.Sprintf("it was not probed: %v", x.NotProbed))
		}
	}
	if _, predicts := o.estimator.(*model.FSPY); predicts && probed && len(o.predictions()) == 0 {
		m.Notes("", fmt.Sprintf("policy %s: no probe was done before its job, so nothing was predicted: probes get "+
			"room beside other tasks, on a cluster that runs two or more at once", o.choice.Policy))
	}
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
	work, err := m.open(list, mr.SiteOf(m.Cluster.Capacity(), memory), logs, c.Timeout)
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
	o.noteProbes(m, list, out.Jobs)
	for _, x := range out.Jobs {
		if x.NotClosed != nil && m.Notes != nil {
			m.Notes(list[x.Index].Spec.Name, fmt.Sprintf("temporary files may be left behind: %v", x.NotClosed))
		}
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

package testbed

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"time"

	"github.com/sojourn-sched/sojourn/internal/record"
	"github.com/sojourn-sched/sojourn/internal/run"
	"github.com/sojourn-sched/sojourn/internal/workload"
	"github.com/sojourn-sched/sojourn/mr"
	"github.com/sojourn-sched/sojourn/mr/jobs"
	"github.com/sojourn-sched/sojourn/policy"
	"github.com/sojourn-sched/sojourn/sched"
)

// A Mix is real jobs that come over time, to be run by the engine mr on a cluster of one node, which stands for this
// machine.
type Mix struct {
	Jobs    []MixJob // in order of submission, under different names
	Cluster *workload.Cluster
	Folder  string // where a run makes a folder for what the jobs write, which goes with it
	Seed    uint64 // decides which parts of their jobs probes read
}

// A MixJob is one of the built-in jobs, and when it comes.
type MixJob struct {
	Name   string
	Submit sched.Time
	Job    string
	Input  []string
	Conf   map[string]string
}

// mixJobs are the jobs that a mix may have: the built-in ones, and one that is made for it.
var mixJobs = func() map[string]jobs.Entry {
	all := maps.Clone(jobs.All)
	all[SortPart] = jobs.Entry{About: "sort a part of the lines", Input: "text", New: partSorter,
		Params: []jobs.Param{{Name: "part", Default: "1", About: "how many of the lines, from 0 to 1"}}}
	return all
}()

// A MixRun is what became of a mix under a policy.
type MixRun struct {
	Result   record.Result
	Sojourns []float64 // by job, in seconds

	record []byte
}

// mixMemory is what the jobs of a mix may use, in bytes: enough for those of all papers to spill nothing.
const mixMemory = 4 << 30

// Run runs the jobs under a policy. Without an estimator e, that is fspy's for a policy that asks for probes, else the
// mean of finished tasks.
func (m *Mix) Run(ctx context.Context, spec string, e sched.Estimator) (done *MixRun, err error) {
	folder, err := os.MkdirTemp(m.Folder, "run-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	machine := run.Machine{
		Jobs:    mixJobs,
		Cluster: m.Cluster,
		Memory:  mixMemory,
		Output:  func(dir string) string { return filepath.Join(folder, dir) },
	}
	reduces := mr.SiteOf(m.Cluster.Capacity(), nil).Cores
	var list []run.RealJob
	place := map[string]int{}
	for i, j := range m.Jobs {
		place[j.Name] = i
		program := workload.Program{Job: j.Job, Input: j.Input, Conf: j.Conf, Output: j.Name, Reduces: int32(reduces)}
		list = append(list, run.RealJob{Spec: &sched.JobSpec{Name: j.Name, Submit: j.Submit}, Program: program})
	}
	done = &MixRun{Sojourns: make([]float64, len(m.Jobs))}
	var out bytes.Buffer
	setup := run.Setup{
		Names:    run.BuiltIn,
		Choice:   run.Choice{Policy: spec},
		Made:     e,
		Seed:     m.Seed,
		RecordTo: &out,
		Row:      func(r *record.JobRow) { done.Sojourns[place[r.Name]] = r.Sojourn().Seconds() },
	}
	outcome, err := machine.Serve(ctx, setup, mr.Config{Report: time.Second}, list)
	for _, r := range outcome.Jobs {
		if r.Err != nil {
			err = errors.Join(err, fmt.Errorf("under %s, job %s: %w", spec, m.Jobs[r.Index].Name, r.Err))
		}
	}
	if err != nil {
		return nil, err
	}
	done.Result, done.record = outcome.Result, out.Bytes()
	return done, nil
}

// Simulate simulates the jobs of a run, which came and took what they did there, under a policy, theirs or another, and
// returns their sojourn times in seconds, by job. What the engine itself takes between tasks is not in it.
func (m *Mix) Simulate(ctx context.Context, spec string, of *MixRun) ([]float64, error) {
	_, card, err := policy.All.Parse(spec)
	if err != nil {
		return nil, err
	}
	r, err := record.NewReader(bytes.NewReader(of.record), "the run of "+spec, run.Payload)
	if err != nil {
		return nil, err
	}
	set := Setting{Cluster: m.Cluster, Seed: m.Seed, Estimator: "mean"}
	if card.Probes {
		set.Estimator = run.BuiltIn.Estimators.WithoutContainers("fspy")
	}
	set.Costs = run.BuiltIn.Reporting(set.Costs, spec)
	for past, err := range record.PastJobs(r, nil) {
		if err != nil {
			return nil, err
		}
		set.Jobs = append(set.Jobs, past.On(m.Cluster, nil))
	}
	o, err := set.Under(ctx, spec)
	if err != nil {
		return nil, err
	}
	return o.Sojourns, nil
}

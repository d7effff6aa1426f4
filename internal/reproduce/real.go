package reproduce

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"time"

	"github.com/sojourn-sched/sojourn/internal/record"
	"github.com/sojourn-sched/sojourn/internal/workload"
	"github.com/sojourn-sched/sojourn/model"
	"github.com/sojourn-sched/sojourn/mr"
	"github.com/sojourn-sched/sojourn/mr/generate"
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
	Seed    uint64 // of which parts of their jobs probes read
}

// A MixJob is one of the built-in jobs, and when it comes.
type MixJob struct {
	Name   string
	Submit sched.Time
	Job    string
	Input  []string
	Conf   map[string]string
}

// A MixRun is what became of a mix under a policy.
type MixRun struct {
	Result   record.Result
	Sojourns []float64 // by job, in seconds

	record []byte
}

// mixMemory is what the jobs of a mix may use, in bytes: enough for those of this package to spill nothing.
const mixMemory = 4 << 30

// Run runs the jobs under a policy. Without an estimator, that is fspy's for a policy that has jobs probed, else the
// mean of finished tasks.
func (m *Mix) Run(ctx context.Context, spec string, e sched.Estimator) (run *MixRun, err error) {
	p, card, err := policy.All.Parse(spec)
	if err != nil {
		return nil, err
	}
	if e == nil {
		e = online(card)
	}
	memory, err := mr.NewMemory(mixMemory, 2*mr.Slots(m.Cluster.Capacity()))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, memory.Close()) }()
	folder, err := os.MkdirTemp(m.Folder, "run-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	work, err := m.open(folder, mr.SiteOf(m.Cluster.Capacity(), memory))
	if err != nil {
		return nil, err
	}

	run = &MixRun{Sojourns: make([]float64, len(m.Jobs))}
	place := map[string]int{}
	for i, j := range m.Jobs {
		place[j.Name] = i
	}
	tally := record.NewTally(
		record.TallyOptions{
			Policy: spec,
			Row:    func(r *record.JobRow) { run.Sojourns[place[r.Name]] = r.Sojourn().Seconds() },
		},
	)
	core := sched.Config{Policy: p, Estimator: e, Can: mr.Powers}
	var out bytes.Buffer
	writer, err := record.NewWriter(
		&out,
		record.Header{Engine: "mr", Seed: m.Seed, Policy: spec, Core: record.CoreConfigOf(core)},
		record.Options{},
	)
	if err != nil {
		return nil, err
	}
	core.Recorder = record.Tee{tally, writer}
	results, err := mr.Serve(
		ctx,
		mr.Config{Core: core, Nodes: m.Cluster.List(), Seed: m.Seed, Report: time.Second},
		work,
	)
	for _, r := range results {
		if r.Err != nil {
			err = errors.Join(err, fmt.Errorf("under %s, job %s: %w", spec, m.Jobs[r.Index].Name, r.Err))
		}
	}
	if err = errors.Join(err, writer.Close()); err != nil {
		return nil, err
	}
	run.Result, run.record = tally.Result(), out.Bytes()
	return run, nil
}

// open makes the work of all jobs, which write into a folder.
func (m *Mix) open(folder string, site mr.Site) (list []mr.Submission, err error) {
	defer func() {
		if err != nil {
			for _, s := range list {
				err = errors.Join(err, s.Work.Close(false))
			}
		}
	}()
	for _, j := range m.Jobs {
		e, ok := jobs.All[j.Job]
		if !ok {
			return list, fmt.Errorf("job %s: there is no %q", j.Name, j.Job)
		}
		job, err := e.New(mr.Conf(maps.Clone(j.Conf)))
		if err != nil {
			return list, fmt.Errorf("job %s: %w", j.Name, err)
		}
		w, err := mr.Open(
			mr.Order{Job: job, Input: j.Input, Output: filepath.Join(folder, j.Name), Reduces: site.Cores},
			site,
		)
		if err != nil {
			return list, fmt.Errorf("job %s: %w", j.Name, err)
		}
		list = append(
			list,
			mr.Submission{Spec: &sched.JobSpec{Name: j.Name, Submit: j.Submit, Open: job.Next != nil}, Work: w},
		)
	}
	return list, nil
}

// Simulate simulates the jobs of a run, which came and took what they did there, under a policy, be it another, and
// returns their sojourn times in seconds, by job. What the engine itself takes between tasks is not in it.
func (m *Mix) Simulate(ctx context.Context, spec string, of *MixRun) ([]float64, error) {
	_, card, err := policy.All.Parse(spec)
	if err != nil {
		return nil, err
	}
	r, err := record.NewReader(bytes.NewReader(of.record), "the run of "+spec, record.Payload{})
	if err != nil {
		return nil, err
	}
	set := setting{cluster: m.Cluster, seed: m.Seed, estimator: func() sched.Estimator { return online(card) }}
	if card.Progress {
		set.costs.Reporting.Progress = time.Second
	}
	for past, err := range record.PastJobs(r, nil) {
		if err != nil {
			return nil, err
		}
		set.jobs = append(set.jobs, workload.Past(*past).On(m.Cluster))
	}
	o, err := set.under(ctx, spec)
	if err != nil {
		return nil, err
	}
	return o.sojourns, nil
}

// online returns an estimator that knows of jobs what their tasks, and where there are any their probes, have told.
func online(c policy.Card) sched.Estimator {
	if c.Probes {
		return model.NewFSPY(realFit())
	}
	return &model.Mean{}
}

// realFit is FSPY's fit, of tasks that need no container and may take a millisecond.
func realFit() model.FitConfig {
	c := model.DefaultFit
	c.Least = 1e-3
	return c
}

// machine is the cluster that a run of real jobs has: one node with a core for each that Go may use.
func machine(cores int) *workload.Cluster { return clusterOf("nodes=1,vcores=%d,memory=1TiB", cores) }

// slotMachine is the same with slots, half of them for maps and half for reduces.
func slotMachine(cores int) *workload.Cluster {
	each := int64(cores+1) / 2
	return slotCluster(1, each, each)
}

// clusterOf makes a cluster of what a command line would say.
func clusterOf(format string, args ...any) *workload.Cluster {
	c, err := workload.ParseCluster(fmt.Sprintf(format, args...))
	if err != nil {
		panic(err)
	}
	return c
}

// An ingredient is input of real jobs: so many bytes of a kind of data.
type ingredient struct {
	kind  string // of generate.All, or documents
	bytes int64
	seed  uint64
}

// documentBytes is the size of a document.
const documentBytes = 500_000

// in makes the input in a folder, unless it is there, and returns its path.
func (g ingredient) in(folder string) (path string, err error) {
	path = filepath.Join(folder, fmt.Sprintf("%s-%d-%d", g.kind, g.bytes, g.seed))
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	begun := path + ".begun"
	if g.kind == "documents" {
		if err := os.Mkdir(begun, 0o777); err != nil {
			return "", err
		}
		d := generate.Documents{
			Files: int(max(1, g.bytes/documentBytes)),
			Text:  generate.Text{Bytes: g.bytes, Seed: g.seed},
		}
		err = d.Each(func(name string) (io.WriteCloser, error) { return os.Create(filepath.Join(begun, name)) })
	} else {
		err = g.write(begun)
	}
	if err != nil {
		return "", fmt.Errorf("make %s: %w", path, err)
	}
	return path, os.Rename(begun, path)
}

func (g ingredient) write(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(f, 1<<20)
	return errors.Join(generate.All[g.kind].New(g.bytes, g.seed).Write(out), out.Flush(), f.Close())
}

// mean is that of numbers.
func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

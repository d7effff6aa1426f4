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

	"github.com/sojourn-sched/sojourn/internal/mr/generate"
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
	all[sortPart] = jobs.Entry{About: "sort a part of the lines", Input: "text", New: partSorter,
		Params: []jobs.Param{{Name: "part", Default: "1", About: "how many of the lines, from 0 to 1"}}}
	return all
}()

// A MixRun is what became of a mix under a policy.
type MixRun struct {
	Result   record.Result
	Sojourns []float64 // by job, in seconds

	record []byte
}

// mixMemory is what the jobs of a mix may use, in bytes: enough for those of this package to spill nothing.
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
	set := setting{cluster: m.Cluster, seed: m.Seed, estimator: "mean"}
	if card.Probes {
		set.estimator = run.BuiltIn.Estimators.WithoutContainers("fspy")
	}
	set.costs = run.BuiltIn.Reporting(set.costs, spec)
	for past, err := range record.PastJobs(r, nil) {
		if err != nil {
			return nil, err
		}
		set.jobs = append(set.jobs, past.On(m.Cluster, nil))
	}
	o, err := set.under(ctx, spec)
	if err != nil {
		return nil, err
	}
	return o.sojourns, nil
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

package jobs

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sojourn-sched/sojourn/mr"
	"github.com/sojourn-sched/sojourn/mr/input"
	"github.com/sojourn-sched/sojourn/policy"
	"github.com/sojourn-sched/sojourn/sched"
)

// setup is how a job is run in a test.
type setup struct {
	name    string
	split   int64 // bytes
	reduces int
	memory  int64
	workers int           // tasks at a time; 0: 1
	chaos   float64       // probability that the engine loses an attempt or a map's output; 0: without an engine
	lost    *atomic.Int64 // counts attempts that were lost; nil: not counted
}

const enough = 256 << 20

// least is what the engine needs for one attempt: 2 MiB of it are for what the attempt holds, so that the larger inputs
// spill.
const least = 32 << 20

// run runs a job, all rounds, and returns its parts.
func (s setup) run(t testing.TB, build mr.Builder, conf mr.Conf, paths []string) [][]byte {
	t.Helper()
	parts, _ := s.count(t, build, conf, paths)
	return parts
}

// count is run, with what all rounds counted.
func (s setup) count(t testing.TB, build mr.Builder, conf mr.Conf, paths []string) ([][]byte, *mr.Counters) {
	t.Helper()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", s.name, err)
		}
	}
	memory, err := mr.NewMemory(s.memory, max(1, s.workers))
	check(err)
	output := filepath.Join(t.TempDir(), "out")
	if s.chaos > 0 {
		total := s.serve(t, build, conf, paths, mr.Order{Output: output, Reduces: s.reduces}, memory)
		check(memory.Close())
		return readParts(t, output), total
	}
	files, err := mr.OpenWorkspace(output, false)
	check(err)
	job, err := build(conf)
	check(err)
	total := &mr.Counters{}
	for round := 0; job != nil; round++ {
		r, counters := s.round(t, job, paths, memory, files, round)
		total.Add(counters)
		parts, err := r.Outputs()
		check(err)
		var next *mr.Job
		if job.Next != nil {
			next, err = job.Next(&mr.Round{Index: round, Parts: parts, Counters: counters})
			check(err)
		}
		if next == nil {
			check(r.CommitJob())
		} else if round > 0 && len(job.Input) > 0 {
			check(os.RemoveAll(filepath.Dir(job.Input[0])))
		}
		job = next
	}
	check(files.Close())
	if used := memory.InUse(); used != 0 {
		t.Errorf("%s: %d bytes of memory are still in use", s.name, used)
	}
	check(memory.Close())
	return readParts(t, output), total
}

func readParts(t testing.TB, output string) (parts [][]byte) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(output, "part-*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		part, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, part)
	}
	return parts
}

// serve runs a job on the engine, under the chaos option.
func (s setup) serve(t testing.TB, build mr.Builder, conf mr.Conf, paths []string, order mr.Order,
	memory *mr.Memory) *mr.Counters {
	t.Helper()
	conf = maps.Clone(conf)
	if conf == nil {
		conf = mr.Conf{}
	}
	conf["mapreduce.input.fileinputformat.split.maxsize"] = fmt.Sprint(s.split)
	conf["mapreduce.input.fileinputformat.split.minsize"] = fmt.Sprint(min(s.split, 1<<20))
	job, err := build(conf)
	if err != nil {
		t.Fatalf("%s: %v", s.name, err)
	}
	one := sched.Resources{sched.VCores: 1}
	order.Job, order.Input = job, paths
	work, err := mr.Open(order, mr.Site{Memory: memory, Map: one, Reduce: one, Cores: max(1, s.workers)})
	if err != nil {
		t.Fatalf("%s: %v", s.name, err)
	}
	fifo, _, err := policy.Parse("fifo")
	if err != nil {
		t.Fatal(err)
	}
	results, err := mr.Serve(t.Context(), mr.Config{
		Core:  sched.Config{Policy: fifo},
		Nodes: []sched.NodeSpec{{Class: "c", Capacity: sched.Resources{sched.VCores: int64(max(1, s.workers))}}},
		Chaos: mr.Chaos{Rate: s.chaos, Seed: 7},
		Watch: func(c *sched.Core) {
			for i := range c.Events {
				if v := &c.Events[i]; v.Kind == sched.AttemptDone && v.Outcome == sched.Lost && s.lost != nil {
					s.lost.Add(1)
				}
			}
		},
	}, []mr.Submission{{Spec: &sched.JobSpec{Name: job.Name, Open: job.Next != nil}, Work: work}})
	if err != nil || results[0].Outcome != sched.OK {
		t.Fatalf("%s: %v, %v", s.name, results, err)
	}
	if used := memory.InUse(); used != 0 {
		t.Errorf("%s: %d bytes of memory are still in use", s.name, used)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(order.Output), ".*")); len(left) > 0 {
		t.Errorf("%s: left behind: %v", s.name, left)
	}
	counters := mr.CountersOf(work)
	return &counters
}

func (s setup) round(t testing.TB, job *mr.Job, paths []string, memory *mr.Memory, files *mr.Workspace,
	round int) (*mr.Run, *mr.Counters) {
	t.Helper()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %s, round %d: %v", s.name, job.Name, round, err)
		}
	}
	config, err := input.Configure(job.Conf)
	check(err)
	config.MinSplit, config.MaxSplit, config.Cores = min(s.split, 1<<20), s.split, max(1, s.workers)
	if job.Record > 0 {
		config.RecordLength = job.Record
	}
	if job.Input != nil {
		paths, config.KeepMark = job.Input, true
	}
	found, err := input.Expand(paths, config)
	check(err)
	splits, _ := input.Plan(found, config)
	parts := job.Reduces
	if parts == 0 {
		parts = s.reduces
	}
	r, err := mr.NewRun(job, parts, memory, files)
	check(err)
	r.Round = round
	check(r.Cut(t.Context(), splits))
	total := &mr.Counters{}
	outputs := make([]*mr.MapOutput, len(splits))
	s.tasks(t, len(splits), total, func(a *mr.Attempt, i int) (err error) {
		outputs[i], err = r.Map(a, splits[i])
		return err
	})
	s.tasks(t, parts, total, func(a *mr.Attempt, _ int) error {
		if err := r.Reduce(a, outputs); err != nil {
			return err
		}
		return r.CommitTask(a)
	})
	for _, o := range outputs {
		o.Release()
	}
	return r, total
}

// tasks runs n attempts, some at a time, and adds up what they counted.
func (s setup) tasks(t testing.TB, n int, total *mr.Counters, run func(a *mr.Attempt, i int) error) {
	t.Helper()
	var next atomic.Int64
	var all sync.WaitGroup
	var mu sync.Mutex
	for range max(1, s.workers) {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && !t.Failed(); i = int(next.Add(1)) - 1 {
				a := mr.NewAttempt(t.Context(), i, 0)
				if err := run(a, i); err != nil {
					t.Errorf("%s: %v", s.name, err)
				}
				mu.Lock()
				total.Add(&a.Report().Counters)
				mu.Unlock()
			}
		})
	}
	all.Wait()
	if t.Failed() {
		t.FailNow()
	}
}

// joined is all parts, one after the other.
func joined(parts [][]byte) []byte { return bytes.Join(parts, nil) }

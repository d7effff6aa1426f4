package streaming

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn/model"
	"github.com/sojourn-sched/sojourn/mr"
	"github.com/sojourn-sched/sojourn/policy"
	"github.com/sojourn-sched/sojourn/sched"
)

// sampled is an estimator that keeps what probes have counted, by kind of task.
type sampled struct {
	model.Mean
	counted [sched.NumKinds]*sched.Counters
	over    chan struct{} // closed when the probe's reduce is through
}

func (s *sampled) Observe(a *sched.Attempt, _ sched.Time, c *sched.Counters) {
	if a.Stage.Job.Spec.Probes != 0 {
		if s.counted[a.Stage.Kind] = c; a.Stage.Kind == sched.Reduce {
			close(s.over)
		}
	}
}

// probesFirst asks for a probe of each job that comes, waits until it is there, and launches its tasks before others.
type probesFirst struct{ index sched.Index }

func (f *probesFirst) Decide(p *sched.Plan) {
	if f.index.Key == nil {
		f.index.Key = func(_ *sched.View, st *sched.Stage, _ sched.Time) (sched.Key, bool) {
			return sched.Key{Value: -float64(st.Job.ID)}, st.Pending > 0
		}
	}
	for i := range p.Events {
		if e := &p.Events[i]; e.Kind == sched.JobSubmitted && p.Job(e.Job).Spec.Probes == 0 && p.Probe(p.Job(e.Job)) {
			return
		}
	}
	f.index.Sync(p)
	for st := f.index.First(); st != nil; st = f.index.First() {
		if n := p.First(st); n == nil || !p.Launch(st, n) {
			f.index.Skip(st)
		}
	}
}

// Programs are probed as functions are: cat has on the sample as many lines as it reads, and the job's output is that
// of a run without a probe.
func TestFspyProbeCat(t *testing.T) {
	program(t, "cat")
	var text strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&text, "%05d\tvalue of %d\n", i*7919%20_000, i)
	}
	in := file(t, "in", text.String())
	var outputs [2][]byte
	for i, probed := range []bool{false, true} {
		p, _, err := policy.All.Parse("fifo")
		if err != nil {
			t.Fatal(err)
		}
		if probed {
			p = &probesFirst{}
		}
		memory, err := mr.NewMemory(1<<28, 4)
		if err != nil {
			t.Fatal(err)
		}
		j, err := Job(
			Programs{Mapper: "cat", Reducer: "cat"},
			mr.Conf{
				"mapreduce.input.fileinputformat.split.maxsize": "65536",
				"mapreduce.input.fileinputformat.split.minsize": "1",
			},
			nil,
		)
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		one := sched.Resources{sched.VCores: 1}
		w, err := mr.Open(mr.Order{Job: j, Input: []string{in}, Output: filepath.Join(dir, "out"), Reduces: 2},
			mr.Site{Memory: memory, Map: one, Reduce: one, Cores: 2})
		if err != nil {
			t.Fatal(err)
		}
		s := &sampled{over: make(chan struct{})}
		if probed {
			run := j.Map
			j.Map = func(task *mr.Task, in *mr.Batches, out *mr.Emitter) error {
				if task.Parts > 1 { // the job's own
					<-s.over
				}
				return run(task, in, out)
			}
		}
		results, err := mr.Serve(
			t.Context(),
			mr.Config{
				Core:  sched.Config{Policy: p, Estimator: s},
				Nodes: []sched.NodeSpec{{Class: "c", Capacity: sched.Resources{sched.VCores: 2}}},
			},
			[]mr.Submission{{Spec: &sched.JobSpec{Name: "cat"}, Work: w}},
		)
		if err != nil || results[0].Outcome != sched.OK {
			t.Fatalf("probed %v: %v, %v", probed, results, err)
		}
		for part := range 2 {
			text, err := os.ReadFile(filepath.Join(dir, "out", fmt.Sprintf("part-r-%05d", part)))
			if err != nil {
				t.Fatal(err)
			}
			outputs[i] = append(outputs[i], text...)
		}
		if m, r := s.counted[sched.Map], s.counted[sched.Reduce]; (m != nil) != probed {
			t.Errorf("probed: %v, and a probe has counted %+v", probed, m)
		} else if probed && (m.InputRecords < 20_000/20 || m.InputRecords > 20_000/5 ||
			m.OutputRecords != m.InputRecords ||
			r.InputRecords != m.InputRecords || r.OutputRecords != m.InputRecords) { // about one split of 17
			t.Errorf("map %+v, reduce %+v: want as many lines in as out", m, r)
		}
		if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) > 0 || memory.InUse() != 0 {
			t.Errorf("probed %v: left behind: %v and %d bytes", probed, left, memory.InUse())
		}
		if err := memory.Close(); err != nil {
			t.Error(err)
		}
	}
	if !bytes.Equal(outputs[0], outputs[1]) || bytes.Count(outputs[0], []byte("\n")) != 20_000 {
		t.Errorf("outputs of %d and %d bytes differ", len(outputs[0]), len(outputs[1]))
	}
}

package mr

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sojourn-sched/sojourn/internal/theory"
	"github.com/sojourn-sched/sojourn/model"
	"github.com/sojourn-sched/sojourn/sched"
)

// probing asks for a probe of each job that comes, and for one more when a probe fails. Probes go first, and nothing is
// launched at the instant at which one is asked for, so that it is there before the job's own tasks.
type probing struct {
	inOrder
	asked int
	most  int
}

func (f *probing) Decide(p *sched.Plan) {
	f.index.Key = func(_ *sched.View, st *sched.Stage, _ sched.Time) (sched.Key, bool) {
		k := sched.Key{Value: 1}
		if st.Job.Spec.Probes != 0 {
			k.Value = 0
		}
		return k, st.Pending > 0
	}
	for i := range p.Events {
		e := &p.Events[i]
		j := p.Job(e.Job)
		switch {
		case e.Kind == sched.JobSubmitted && j.Spec.Probes == 0:
		case e.Kind == sched.JobEnded && j.Spec.Probes != 0 && e.Outcome == sched.Failed:
			j = p.Job(j.Spec.Probes)
		default:
			continue
		}
		if f.asked < f.most && !j.Ended {
			f.asked++
			p.Probe(j)
			p.Wake(p.Now + 1) // there may be none
			return
		}
	}
	f.inOrder.Decide(p)
}

// samples records what probes have counted, by kind of task, and how each ended.
type samples struct {
	model.Mean
	counted  [sched.NumKinds]*sched.Counters
	probes   map[sched.JobID]*sched.JobSpec
	outcomes []sched.Outcome
	over     chan struct{} // closed when the first probe is
}

func (s *samples) Record(_ sched.Time, events []sched.Event, _ []sched.Action) {
	for _, e := range events {
		switch spec, _ := e.Body.(*sched.JobSpec); {
		case e.Kind == sched.JobSubmitted && spec.Probes != 0:
			s.probes[e.Job] = spec
		case e.Kind == sched.JobEnded && s.probes[e.Job] != nil:
			if s.outcomes = append(s.outcomes, e.Outcome); len(s.outcomes) == 1 {
				close(s.over)
			}
		}
	}
}

// Observe is what an estimator is told.
func (s *samples) Observe(a *sched.Attempt, _ sched.Time, c *sched.Counters) {
	if a.Stage.Job.Spec.Probes != 0 {
		s.counted[a.Stage.Kind] = c
	}
}

// A probeRun is a job to be run with probes, as many as its policy may ask for.
type probeRun struct {
	job     *Job
	input   string
	reduces int
	seed    uint64
	most    int
	after   bool            // the job's maps wait until the probe is over
	ctx     context.Context // nil: none
	notes   func(string)
}

// serve runs it, and returns its parts and what its probes did. Nothing may be left of them.
func (r probeRun) serve(t *testing.T) (string, *samples, Result) {
	t.Helper()
	dir := t.TempDir()
	out := filepath.Join(dir, "out")
	s := &samples{probes: map[sched.JobID]*sched.JobSpec{}, over: make(chan struct{})}
	if r.after {
		job, run := *r.job, r.job.Map
		job.Map = func(task *Task, in *Batches, out *Emitter) error {
			if !aProbe(task) {
				<-s.over
			}
			return run(task, in, out)
		}
		r.job = &job
	}
	w, err := Open(Order{Job: r.job, Input: []string{r.input}, Output: out, Reduces: r.reduces, Notes: r.notes},
		site(t, 2))
	if err != nil {
		t.Fatal(err)
	}
	ctx := r.ctx
	if ctx == nil {
		ctx = t.Context()
	}
	results, err := Serve(
		ctx,
		Config{Core: sched.Config{Policy: &probing{most: r.most}, Recorder: s, Estimator: s}, Seed: r.seed,
			Nodes: []sched.NodeSpec{{Class: "c", Capacity: sched.Resources{sched.VCores: 2}}}},
		[]Submission{{Spec: &sched.JobSpec{Name: "job", User: "ana", Queue: "", Open: r.job.Next != nil}, Work: w}},
	)
	if r.ctx == nil && err != nil || len(results) != 1 {
		t.Fatalf("results %v, error %v", results, err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if results[0].Outcome != sched.OK {
		return "", s, results[0]
	}
	return strings.Join(readParts(t, out), ""), s, results[0]
}

// smallSplits make 64 KiB a split.
var smallSplits = Conf{
	"mapreduce.input.fileinputformat.split.maxsize": "65536",
	"mapreduce.input.fileinputformat.split.minsize": "1",
}

// linesOf writes lines of words of all lengths to a file of many splits.
func linesOf(t *testing.T, seed uint64) (path, content string) {
	content = strings.ReplaceAll(text(seed, 100_000), "\t", "\n") + "end\n"
	return write(t, t.TempDir(), "in.txt", content), content
}

// sampled finds out what a probe of text reads, from its definition: pieces of equal splits, each from after the first
// line end in it to the first after it. read has what the pieces before that line end have as well.
func sampled(content string, maps, reduces int, seed uint64) (lines string, read int64) {
	part := (len(content) + maps - 1) / maps
	var lengths []int64
	for lo := 0; lo < len(content); lo += part {
		lengths = append(lengths, int64(min(part, len(content)-lo)))
	}
	plan := theory.PlanSample(maps, reduces, 10)
	for _, piece := range theory.SemiRandom(lengths, plan, rand.New(rand.NewPCG(seed, 0)).IntN) {
		lo := piece.Split * part
		from, to := lo, lo+int(piece.Bytes)
		if lo > 0 {
			from += strings.IndexByte(content[from:], '\n') + 1
		}
		to += strings.IndexByte(content[to:], '\n') + 1
		lines += content[from:to]
		read += int64(to - lo)
	}
	return lines, read
}

// A probe counts what its sample has, by an independent count; the job's output is that of a run without.
func TestFspyProbeCounts(t *testing.T) {
	path, content := linesOf(t, 3)
	maps := (len(content) + 65535) / 65536
	for _, reduces := range []int{3, 2 * maps} {
		job := wordCount()
		job.Conf = smallSplits
		want, none, _ := probeRun{job: job, input: path, reduces: reduces}.serve(t)
		got, s, r := probeRun{job: job, input: path, reduces: reduces, most: 1, after: true, seed: 5}.serve(t)
		if r.Outcome != sched.OK || !r.Probed || len(none.probes) != 0 || got != want || got == "" {
			t.Fatalf("%d reduces: %v, %v; same output: %v", reduces, r.Outcome, r.Err, got == want)
		}
		for _, spec := range s.probes {
			if spec.Name != "probe of job" || spec.User != "ana" || spec.Probes != r.Job || len(spec.Stages) != 2 ||
				spec.Stages[0].Tasks != 1 ||
				spec.Stages[1].Tasks != 1 {
				t.Errorf("the probe is %+v", spec)
			}
		}
		lines, read := sampled(content, maps, reduces, 5)
		counts := countedWords(lines)
		words, bytes := 0, 0
		for w, n := range counts {
			words += n
			bytes += n * (len(w) + 8) // a word and a count
		}
		m, x := s.counted[sched.Map], s.counted[sched.Reduce]
		if m == nil || x == nil {
			t.Fatalf("%d reduces: the probe is not through: %v", reduces, s.outcomes)
		}
		if m.InputBytes != read || m.InputRecords != int64(strings.Count(lines, "\n")) ||
			m.OutputRecords != int64(words) ||
			m.OutputBytes != int64(bytes) {
			t.Errorf("%d reduces, map: %+v, want %d bytes, %d records, %d words of %d bytes", reduces, m, read,
				strings.Count(lines, "\n"), words, bytes)
		}
		if x.InputRecords != int64(len(counts)) || x.OutputRecords != int64(len(counts)) ||
			x.OutputBytes != int64(len(sortedCounts(counts))) {
			t.Errorf("%d reduces, reduce: %+v, want %d words, %d bytes", reduces, x, len(counts),
				len(sortedCounts(counts)))
		}
		if m.Phases[sched.PhaseMap] <= 0 || x.Phases[sched.PhaseReduce] <= 0 {
			t.Errorf("%d reduces: times of the functions are missing: %v, %v", reduces, m.Phases, x.Phases)
		}
	}
}

// copyLines is a job without reduces that writes its lines as they are.
func copyLines() *Job {
	return &Job{Name: "copy", Conf: smallSplits, Reduces: MapOnly, Map: func(_ *Task, in *Batches, out *Emitter) error {
		for in.Next() {
			out.Write(in.Data())
		}
		return nil
	}}
}

// The probe of a job without reduces is one map; the same seed draws the same sample, another one another.
func TestFspyProbeSeed(t *testing.T) {
	path, content := linesOf(t, 4)
	maps := (len(content) + 65535) / 65536
	seen := map[int64]bool{}
	for _, seed := range []uint64{1, 1, 2} {
		got, s, r := probeRun{job: copyLines(), input: path, most: 1, after: true, seed: seed}.serve(t)
		if r.Outcome != sched.OK || got != content {
			t.Fatalf("seed %d: %v, %v; %d of %d bytes", seed, r.Outcome, r.Err, len(got), len(content))
		}
		lines, read := sampled(content, maps, 0, seed)
		m := s.counted[sched.Map]
		if m == nil || s.counted[sched.Reduce] != nil {
			t.Fatalf("seed %d: %v", seed, s.counted)
		}
		if m.LocalBytes != m.InputBytes || m.RemoteBytes != 0 {
			t.Errorf("seed %d: read %d bytes here and %d elsewhere, want %d and 0", seed, m.LocalBytes,
				m.RemoteBytes, m.InputBytes)
		}
		if m.InputBytes != read || m.OutputBytes != int64(len(lines)) {
			t.Errorf("seed %d: read %d bytes and wrote %d, want %d and %d", seed, m.InputBytes, m.OutputBytes,
				read, len(lines))
		}
		seen[m.OutputBytes] = true
	}
	if len(seen) != 2 {
		t.Errorf("%d different samples of two seeds", len(seen))
	}
}

// aProbe tells a probe's map of a job with several reduces from the job's own.
func aProbe(t *Task) bool { return t.Stage == MapStage && t.Parts == 1 }

// A job whose probe hangs is done when it is done; the probe is ended then, and nothing is left of it. Cancelled in the
// middle, nothing is either.
func TestFspyProbeEnded(t *testing.T) {
	path, _ := linesOf(t, 5)
	job := wordCount()
	job.Conf = smallSplits
	count := job.Map
	for _, cancelled := range []bool{false, true} {
		ctx, cancel := context.WithCancel(t.Context())
		started := make(chan struct{})
		job.Map = func(task *Task, in *Batches, out *Emitter) error {
			if aProbe(task) {
				for range 1000 { // something to throw away
					out.Emit(bytes.Repeat([]byte{'x'}, 1000), One)
				}
				close(started)
				<-task.Context().Done()
				return task.Context().Err()
			}
			<-started
			if cancelled {
				cancel()
			}
			return count(task, in, out)
		}
		run := probeRun{job: job, input: path, reduces: 3, most: 1}
		want := sched.OK
		if cancelled {
			run.ctx, want = ctx, sched.Killed
		}
		out, s, r := run.serve(t)
		if r.Outcome != want || r.Err != nil || (out == "") != cancelled {
			t.Errorf("cancelled %v: %v, %v, %d bytes", cancelled, r.Outcome, r.Err, len(out))
		}
		if !cancelled && fmt.Sprint(s.outcomes) != fmt.Sprint([]sched.Outcome{sched.Killed}) {
			t.Errorf("the probe ended %v", s.outcomes)
		}
		cancel()
	}
}

// A probe that fails is run again if the policy wants it, in files of its own, and the job does not mind.
func TestFspyProbeFails(t *testing.T) {
	path, _ := linesOf(t, 6)
	job := wordCount()
	job.Conf = smallSplits
	count, starts := job.Map, atomic.Int32{}
	release := make(chan struct{})
	job.Map = func(task *Task, in *Batches, out *Emitter) error {
		if !aProbe(task) {
			<-release
			return count(task, in, out)
		}
		switch starts.Add(1) {
		case 1:
			return Permanent(errors.New("no sample, please"))
		default:
			time.AfterFunc(time.Millisecond, func() { close(release) })
			return count(task, in, out)
		}
	}
	job.Reduces = 3
	// One of the two cores is the probe's: the job's map waits on the other.
	_, s, r := probeRun{job: job, input: path, most: 2}.serve(t)
	if r.Outcome != sched.OK || starts.Load() != 2 || len(s.outcomes) != 2 || s.outcomes[0] != sched.Failed {
		t.Errorf("%v, %v; probes started %d times and ended %v", r.Outcome, r.Err, starts.Load(), s.outcomes)
	}
}

// Of a job of several rounds the first is sampled, and Next is called for the job's own rounds only.
func TestFspyProbeRounds(t *testing.T) {
	path, content := linesOf(t, 7)
	var rounds atomic.Int32
	job := copyLines()
	job.Next = func(r *Round) (*Job, error) {
		rounds.Add(1)
		next := copyLines()
		next.Input = r.Parts
		return next, nil
	}
	got, s, r := probeRun{job: job, input: path, most: 1, after: true, seed: 1}.serve(t)
	if r.Outcome != sched.OK || got != content || rounds.Load() != 1 || len(s.probes) != 1 {
		t.Errorf("%v, %v; same: %v, Next was called %d times, %d probes", r.Outcome, r.Err, got == content,
			rounds.Load(), len(s.probes))
	}
}

// unsampled is work that no sample can be made of.
type unsampled struct {
	sleeper
	why error
}

func (u *unsampled) Probe(func(int) int) (Work, []sched.StageSpec, error) { return nil, nil, u.why }

// Why a job could not be probed is in its result, and the job does without.
func TestProbeThatCannotBeMade(t *testing.T) {
	for _, why := range []error{errors.New("no sample here"), nil} {
		synctest.Test(t, func(t *testing.T) {
			slots := sched.Resources{sched.MapSlots: 1, sched.ReduceSlots: 1}
			results, err := Serve(t.Context(), Config{Core: sched.Config{Policy: &probing{most: 1}},
				Settle: synctest.Wait, Nodes: []sched.NodeSpec{{Class: "c", Capacity: slots}}},
				[]Submission{{Spec: &sched.JobSpec{Name: "job"},
					Work: &unsampled{sleeper{stages: mapReduce(1, time.Second, 1, time.Second)}, why}}})
			if err != nil || len(results) != 1 || results[0].Outcome != sched.OK || results[0].NotProbed != why ||
				results[0].Probed {
				t.Errorf("%+v, %v; want a job that went well and was not probed: %v", results, err, why)
			}
		})
	}
}

// What can be read once only is not sampled, which is said.
func TestFspyProbePipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Skip("no named pipes here: ", err)
	}
	go func() {
		if f, err := os.OpenFile(path, os.O_WRONLY, 0); err == nil {
			fmt.Fprint(f, "a b\nb\n")
			f.Close()
		}
	}()
	var notes []string
	got, s, r := probeRun{
		job:     wordCount(),
		input:   path,
		reduces: 1,
		most:    1,
		notes:   func(n string) { notes = append(notes, n) },
	}.serve(t)
	if r.Outcome != sched.OK || got != "a\t1\nb\t2\n" || len(s.probes) != 0 ||
		!strings.Contains(strings.Join(notes, "\n"), "so the job is not probed") {
		t.Errorf("%v, %v: %q, %d probes, %q", r.Outcome, r.Err, got, len(s.probes), notes)
	}
}

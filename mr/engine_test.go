package mr

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sojourn-sched/sojourn/sched"
)

// inOrder is the least policy there is: stages by submission, first node with room.
type inOrder struct{ index sched.Index }

func (f *inOrder) Decide(p *sched.Plan) {
	if f.index.Key == nil {
		f.index.Key = func(_ *sched.View, st *sched.Stage, _ sched.Time) (sched.Key, bool) {
			return sched.Key{}, st.Pending > 0
		}
	}
	f.index.Sync(p)
	for st := f.index.First(); st != nil; st = f.index.First() {
		if n := p.First(st); n == nil || !p.Launch(st, n) {
			f.index.Skip(st)
		}
	}
}

// sleeper is work whose attempts only take time.
type sleeper struct {
	stages []sched.StageSpec
	later  []sched.StageSpec // of the second round; none: there is none
	asked  int
	run    func(l *Launch) error // instead of sleeping the stage's Prior; nil: sleep
	closed atomic.Int32
}

func (s *sleeper) Stages(context.Context) ([]sched.StageSpec, error) {
	switch s.asked++; s.asked {
	case 1:
		return s.stages, nil
	case 2:
		return s.later, nil
	}
	return nil, nil
}

func (s *sleeper) Run(l *Launch) error {
	if s.run != nil {
		return s.run(l)
	}
	select {
	case <-time.After(s.stages[l.Stage].Prior):
		return nil
	case <-l.Attempt.ctx.Done():
		return l.Attempt.ctx.Err()
	}
}

func (s *sleeper) Close(bool) error { s.closed.Add(1); return nil }

func mapReduce(maps int32, mapTime time.Duration, reduces int32, reduceTime time.Duration) []sched.StageSpec {
	return []sched.StageSpec{
		{Kind: sched.Map, PerTask: sched.Resources{sched.MapSlots: 1}, Tasks: maps, Prior: mapTime, MaxAttempts: 4},
		{
			Kind:        sched.Reduce,
			PerTask:     sched.Resources{sched.ReduceSlots: 1},
			Tasks:       reduces,
			Prior:       reduceTime,
			MaxAttempts: 4,
			After:       []sched.Dep{{Stage: 0, Part: 1}},
		},
	}
}

// endings records when jobs end.
type endings map[sched.JobID]sched.Time

func (e endings) Record(now sched.Time, events []sched.Event, _ []sched.Action) {
	for _, v := range events {
		if v.Kind == sched.JobEnded {
			e[v.Job] = now
		}
	}
}

// mrorder 4.1 on this engine, its tasks asleep under a fake clock: J1..J4 end at 16, 8, 26, 44 under FIFO, to the
// nanosecond.
func TestServeMROrder41(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := endings{}
		var jobs []Submission
		for i, j := range [][4]int{{10, 4, 2, 8}, {4, 2, 4, 2}, {2, 6, 4, 10}, {24, 6, 6, 8}} {
			jobs = append(jobs, Submission{Spec: &sched.JobSpec{Name: fmt.Sprint("J", i+1)},
				Work: &sleeper{
					stages: mapReduce(int32(j[0]), time.Duration(j[1])*time.Second, int32(j[2]),
						time.Duration(j[3])*time.Second),
				}})
		}
		nodes := slices.Repeat([]sched.NodeSpec{{Class: "c", Capacity: sched.Resources{sched.MapSlots: 2,
			sched.ReduceSlots: 1}}}, 4)
		results, err := Serve(t.Context(), Config{Core: sched.Config{Policy: &inOrder{}, Recorder: ended}, Nodes: nodes,
			Settle: synctest.Wait}, jobs)
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range []time.Duration{16, 8, 26, 44} {
			if got := ended[sched.JobID(i+1)]; got != want*time.Second || results[i].Outcome != sched.OK {
				t.Errorf("job %d ends %v at %v, want ok at %ds", i+1, results[i].Outcome, got, want)
			}
			if n := jobs[i].Work.(*sleeper).closed.Load(); n != 1 {
				t.Errorf("job %d was closed %d times", i+1, n)
			}
		}
	})
}

// A node offers two map slots, one from 3 s on, and two again from 9 s on. Seven maps of 2 s: two start at 0 s and at 2
// s, and one at a time from 4 s on; what runs at 3 s goes on. The last one ends at 10 s, its reduce at 11 s.
func TestOffers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := endings{}
		slots := func(n int64) sched.Resources { return sched.Resources{sched.MapSlots: n, sched.ReduceSlots: 1} }
		over := false
		config := Config{
			Core:   sched.Config{Policy: &inOrder{}, Recorder: ended},
			Nodes:  []sched.NodeSpec{{Class: "c", Capacity: slots(2)}},
			Settle: synctest.Wait,
			Offers: func(ctx context.Context, tell func(sched.NodeID, sched.Resources, float64)) {
				time.Sleep(3 * time.Second)
				tell(1, slots(1), 0.5)
				time.Sleep(6 * time.Second)
				tell(1, slots(2), 1)
				<-ctx.Done()
				over = true
			},
		}
		work := &sleeper{stages: mapReduce(7, 2*time.Second, 1, time.Second)}
		jobs := []Submission{{Spec: &sched.JobSpec{Name: "j"}, Work: work}}
		if _, err := Serve(t.Context(), config, jobs); err != nil {
			t.Fatal(err)
		}
		if ended[1] != 11*time.Second || !over {
			t.Errorf("the job ends at %v, want 11s; offers are over: %v", ended[1], over)
		}
	})
}

func serveOne(t *testing.T, w *sleeper, timeout time.Duration) Result {
	t.Helper()
	nodes := []sched.NodeSpec{{Class: "c", Capacity: sched.Resources{sched.MapSlots: 2, sched.ReduceSlots: 1}}}
	results, err := Serve(t.Context(), Config{Core: sched.Config{Policy: &inOrder{}}, Nodes: nodes,
		Settle: synctest.Wait, Timeout: timeout}, []Submission{{Spec: &sched.JobSpec{Name: "job"}, Work: w}})
	if err != nil || len(results) != 1 {
		t.Fatalf("results %v, error %v", results, err)
	}
	if w.closed.Load() != 1 {
		t.Errorf("closed %d times", w.closed.Load())
	}
	return results[0]
}

// A task that fails three times and then succeeds does not fail its job; one that fails four times does, with the last
// error.
func TestServeRetries(t *testing.T) {
	for failures, want := range map[int]sched.Outcome{3: sched.OK, 4: sched.Failed} {
		synctest.Test(t, func(t *testing.T) {
			starts := 0
			w := &sleeper{stages: mapReduce(1, time.Second, 1, time.Second)}
			w.run = func(l *Launch) error {
				if l.Stage == 0 {
					if starts++; l.Attempt.Number != starts-1 {
						t.Errorf("start %d has number %d", starts, l.Attempt.Number)
					}
					if starts <= failures {
						return fmt.Errorf("failure %d", starts)
					}
				}
				return nil
			}
			r := serveOne(t, w, 0)
			if r.Outcome != want ||
				(want == sched.Failed) != (r.Err != nil && strings.Contains(r.Err.Error(), "failure 4")) {
				t.Errorf("after %d failures: %v, %v", failures, r.Outcome, r.Err)
			}
		})
	}
}

func TestServePermanentErrorIsNotRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		starts := 0
		w := &sleeper{stages: mapReduce(1, time.Second, 1, time.Second)}
		w.run = func(*Launch) error { starts++; return Permanent(errors.New("the file has changed")) }
		if r := serveOne(t, w, 0); r.Outcome != sched.Failed || starts != 1 ||
			!strings.Contains(r.Err.Error(), "has changed") {
			t.Errorf("%d attempts, %v, %v", starts, r.Outcome, r.Err)
		}
	})
}

// A job whose second round asks for more than any node has fails when that round is planned: its reduces would wait for
// ever.
func TestServeLaterRoundThatNoNodeHolds(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	job := copyLines()
	job.Next = func(r *Round) (*Job, error) {
		next := wordCount()
		next.Input = r.Parts
		return next, nil
	}
	s := site(t, 2)
	s.Reduce[sched.VCores] = 3
	in, dir := write(t, t.TempDir(), "in", "a b\n"), t.TempDir()
	w, err := Open(Order{Job: job, Input: []string{in}, Output: filepath.Join(dir, "out")}, s)
	if err != nil {
		t.Fatal(err)
	}
	results, err := Serve(
		ctx,
		Config{
			Core:  sched.Config{Policy: &inOrder{}},
			Nodes: []sched.NodeSpec{{Class: "c", Capacity: sched.Resources{sched.VCores: 2}}},
		},
		[]Submission{{Spec: &sched.JobSpec{Name: "job", Open: true}, Work: w}},
	)
	if err != nil || len(results) != 1 {
		t.Fatalf("results %v, error %v", results, err)
	}
	const want = "a reduce task asks for 3 vcores, more than any node has"
	if r := results[0]; r.Outcome != sched.Failed || r.Err == nil || r.Err.Error() != want {
		t.Errorf("%v, error %v, want %s", r.Outcome, r.Err, want)
	}
	if left := names(t, dir); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// A job whose second round no core can take fails alone: the other one ends well.
func TestServeLaterRoundThatCannotBe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bad := &sleeper{stages: mapReduce(1, time.Second, 0, 0), later: mapReduce(1<<30, time.Second, 0, 0)}
		good := &sleeper{stages: mapReduce(2, time.Second, 1, time.Second)}
		results, err := Serve(t.Context(), Config{
			Core:  sched.Config{Policy: &inOrder{}},
			Nodes: []sched.NodeSpec{{Class: "c", Capacity: sched.Resources{sched.MapSlots: 2, sched.ReduceSlots: 1}}},
		}, []Submission{{Spec: &sched.JobSpec{Name: "bad", Open: true}, Work: bad},
			{Spec: &sched.JobSpec{Name: "good"}, Work: good}})
		if err != nil || len(results) != 2 {
			t.Fatalf("results %v, error %v", results, err)
		}
		for _, r := range results {
			const want = "stage 2 (map): tasks: 1073741824, must be from 0 to"
			if r.Index == 0 && (r.Outcome != sched.Failed || r.Err == nil || !strings.HasPrefix(r.Err.Error(), want)) {
				t.Errorf("%v, error %v, want %s", r.Outcome, r.Err, want)
			}
			if r.Index == 1 && (r.Outcome != sched.OK || r.Err != nil) {
				t.Errorf("the other job: %v, error %v", r.Outcome, r.Err)
			}
		}
	})
}

// A map whose output a reduce finds lost runs again, and the reduce after it.
func TestServeLostOutput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex // of log: two maps end at the same instant
		var log []string
		w := &sleeper{stages: mapReduce(2, time.Second, 1, time.Second)}
		w.run = func(l *Launch) error {
			time.Sleep(time.Second)
			mu.Lock()
			defer mu.Unlock()
			log = append(log, fmt.Sprint(l.Stage, l.Task, l.Attempt.Number))
			if l.Stage == 1 && l.Attempt.Number == 0 {
				return fmt.Errorf("reduce: %w", &LostOutput{Map: 1})
			}
			return nil
		}
		r := serveOne(t, w, 0)
		slices.Sort(log[:2]) // two maps at the same instant
		if want := "[0 0 0 0 1 0 1 0 0 0 1 1 1 0 1]"; r.Outcome != sched.OK || fmt.Sprint(log) != want {
			t.Errorf("%v: %v, want %s", r, log, want)
		}
	})
}

// A map runs again too where the reduce that finds its output lost is killed in that moment. The reduces after it wait
// for the map.
func TestServeLostOutputOfKilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		maps, reduces := 0, 0
		w := &sleeper{stages: mapReduce(1, time.Second, 1, time.Second)}
		w.run = func(l *Launch) error {
			switch {
			case l.Stage == 0:
				maps++
			case reduces > 10:
				return Permanent(errors.New("the map does not run again"))
			case maps < 2:
				if reduces++; reduces == 1 {
					l.cancel(errKilled)
					return &LostOutput{Map: 0}
				}
				return errNotYet
			}
			return nil
		}
		if r := serveOne(t, w, 0); r.Outcome != sched.OK || maps != 2 || reduces != 1 {
			t.Errorf("%v, %v: %d runs of the map, %d reduces too early", r.Outcome, r.Err, maps, reduces)
		}
	})
}

// A reduce can find the output of a map lost before the engine hears that the map has ended. The map runs again then,
// too. The first reduce finds the output lost, and the map is made again. The second reduce reads that output as soon
// as it is there, and finds it lost: the engine hears this before it hears of the map.
func TestServeLostOutputOfEnding(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		made, told := make(chan struct{}), make(chan struct{})
		var maps, reduces atomic.Int32
		w := &sleeper{stages: mapReduce(1, time.Second, 2, time.Second)}
		w.run = func(l *Launch) error {
			switch {
			case l.Stage == 0 && maps.Add(1) == 2:
				close(made)
				<-told
			case l.Stage == 0:
			case reduces.Add(1) > 10:
				return Permanent(errors.New("the map does not run again"))
			case l.Attempt.Number > 0 && maps.Load() < 3:
				return errNotYet
			case l.Attempt.Number > 0:
			case l.Task == 0:
				return &LostOutput{Map: 0}
			default:
				<-made
				return &LostOutput{Map: 0}
			}
			return nil
		}
		results, err := Serve(t.Context(), Config{
			Core:  sched.Config{Policy: &hearing{told: told}},
			Nodes: []sched.NodeSpec{{Class: "c", Capacity: sched.Resources{sched.MapSlots: 1, sched.ReduceSlots: 2}}},
		}, []Submission{{Spec: &sched.JobSpec{}, Work: w}})
		if err != nil || results[0].Outcome != sched.OK || maps.Load() != 3 || reduces.Load() != 4 {
			t.Errorf("%v, %v: %d runs of the map, %d of reduces, want 3 and 4", results, err, maps.Load(),
				reduces.Load())
		}
	})
}

// hearing closes told when the core hears that both reduces have ended, in the order of inOrder.
type hearing struct {
	inOrder
	told  chan struct{}
	ended int
}

func (h *hearing) Decide(p *sched.Plan) {
	for _, e := range p.Events {
		if e.Kind == sched.AttemptDone && e.Outcome == sched.Lost {
			if h.ended++; h.ended == 2 {
				close(h.told)
			}
		}
	}
	h.inOrder.Decide(p)
}

// An attempt without a sign of life for 30 s is ended and tried again, four times in all; one that does not even end is
// given up 10 s later.
func TestServeHang(t *testing.T) {
	for _, obeys := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			release := make(chan struct{})
			w := &sleeper{stages: mapReduce(1, time.Second, 0, 0)[:1]}
			w.run = func(l *Launch) error {
				if obeys {
					<-l.Attempt.ctx.Done()
					return l.Attempt.ctx.Err()
				}
				<-release
				return nil
			}
			start := time.Now()
			r := serveOne(t, w, 30*time.Second)
			took := time.Since(start)
			least, most := 4*30*time.Second, 4*33*time.Second
			if !obeys {
				least, most = 4*40*time.Second, 4*44*time.Second
			}
			if r.Outcome != sched.Failed || !errors.Is(r.Err, ErrHung) || took < least || took > most {
				t.Errorf("obeys=%v: %v after %v, %v", obeys, r.Outcome, took, r.Err)
			}
			close(release)
		})
	}
}

// TestServeOwnTimeout: a job's own limit takes the place of that of the run, whether longer, shorter, or none.
func TestServeOwnTimeout(t *testing.T) {
	for _, c := range []struct {
		all, own, silent time.Duration
		ends             bool
	}{
		{30 * time.Second, 0, 20 * time.Second, false},
		{30 * time.Second, 0, 40 * time.Second, true},
		{30 * time.Second, 2 * time.Minute, time.Minute, false},
		{30 * time.Second, 2 * time.Minute, 3 * time.Minute, true},
		{30 * time.Second, -1, time.Hour, false},
		{30 * time.Second, 10 * time.Second, 20 * time.Second, true},
		{0, 10 * time.Second, 20 * time.Second, true},
		{0, 0, time.Hour, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := &sleeper{stages: mapReduce(1, c.silent, 0, 0)[:1]}
			nodes := []sched.NodeSpec{{Class: "c", Capacity: sched.Resources{sched.MapSlots: 2}}}
			results, err := Serve(t.Context(), Config{Core: sched.Config{Policy: &inOrder{}}, Nodes: nodes,
				Settle: synctest.Wait, Timeout: c.all},
				[]Submission{{Spec: &sched.JobSpec{Name: "job"}, Work: w, Timeout: c.own}})
			if err != nil || len(results) != 1 {
				t.Fatalf("%+v: results %v, error %v", c, results, err)
			}
			r := results[0]
			if errors.Is(r.Err, ErrHung) != c.ends || (r.Outcome == sched.OK) == c.ends {
				t.Errorf("%+v: %v, %v", c, r.Outcome, r.Err)
			}
		})
	}
}

// TestServeNotOpen: further stages of a job that is not Open fail it. The core would end it before they run.
func TestServeNotOpen(t *testing.T) {
	for _, open := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			later := mapReduce(1, time.Second, 0, 0)[:1]
			later[0].After = []sched.Dep{{Stage: 1, Part: 1}}
			ran := 0
			w := &sleeper{stages: mapReduce(2, time.Second, 1, time.Second), later: later}
			w.run = func(l *Launch) error {
				if l.Stage == 2 {
					ran++
				}
				return nil
			}
			nodes := []sched.NodeSpec{{Class: "c", Capacity: sched.Resources{sched.MapSlots: 2, sched.ReduceSlots: 1}}}
			results, err := Serve(t.Context(), Config{Core: sched.Config{Policy: &inOrder{}}, Nodes: nodes,
				Settle: synctest.Wait}, []Submission{{Spec: &sched.JobSpec{Name: "job", Open: open}, Work: w}})
			if err != nil || len(results) != 1 {
				t.Fatalf("results %v, error %v", results, err)
			}
			r := results[0]
			switch {
			case open && (r.Outcome != sched.OK || ran != 1):
				t.Errorf("open: %v, %v, and the further stage ran %d times", r.Outcome, r.Err, ran)
			case !open && (r.Outcome != sched.Failed || !errors.Is(r.Err, errNotOpen) || ran != 0):
				t.Errorf("not open: %v, %v, and the further stage ran %d times", r.Outcome, r.Err, ran)
			}
		})
	}
}

// Ctrl-C ends everything: attempts, work, and Serve.
func TestServeCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		w := &sleeper{stages: mapReduce(8, time.Minute, 1, time.Second)}
		nodes := []sched.NodeSpec{{Class: "c", Capacity: sched.Resources{sched.MapSlots: 2, sched.ReduceSlots: 1}}}
		results, err := Serve(
			ctx,
			Config{Core: sched.Config{Policy: &inOrder{}}, Nodes: nodes},
			[]Submission{
				{Spec: &sched.JobSpec{}, Work: w},
				{Spec: &sched.JobSpec{Submit: time.Hour}, Work: &sleeper{}},
			},
		)
		if !errors.Is(err, context.DeadlineExceeded) || len(results) != 2 || results[0].Outcome != sched.Killed ||
			results[1].Outcome != sched.Killed || w.closed.Load() != 1 {
			t.Errorf("results %v, error %v, closed %d times", results, err, w.closed.Load())
		}
	})
}

// site is a place for small jobs.
func site(t *testing.T, slots int) Site {
	t.Helper()
	memory, err := newMemory(64<<20, 2*slots)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if n := memory.InUse(); n != 0 {
			t.Errorf("%d bytes are in use at the end", n)
		}
		memory.Close()
	})
	return Site{
		Memory: memory,
		Map:    sched.Resources{sched.VCores: 1},
		Reduce: sched.Resources{sched.VCores: 1},
		Cores:  slots,
	}
}

// Real jobs on real files, with attempts and outputs lost at random: the output is that of a run without.
func TestServeChaos(t *testing.T) {
	dir := t.TempDir()
	var text strings.Builder
	for i := range 200000 {
		fmt.Fprintf(&text, "w%d w%d\n", i%1000, i%77)
	}
	in := filepath.Join(dir, "in.txt")
	if err := os.WriteFile(in, []byte(text.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	var want string
	var counted [NumCounters]int64
	for _, rate := range []float64{0, 0.2, 0.5} {
		out := filepath.Join(dir, fmt.Sprint("out", rate))
		s := site(t, 2)
		job := &Job{
			Name: "count",
			Fold: Sum(1),
			Conf: Conf{
				"mapreduce.input.fileinputformat.split.maxsize": "65536",
				"mapreduce.input.fileinputformat.split.minsize": "1",
			},
			Map: func(_ *Task, in *Batches, out *Emitter) error {
				var words [256]Span
				for in.Next() {
					text := in.Data()
					for at := 0; at < len(text); {
						n, next := Words(words[:], text, at)
						out.EmitEach(text, words[:n], One)
						at = next
					}
				}
				return nil
			},
		}
		w, err := Open(Order{Job: job, Input: []string{in}, Output: out, Reduces: 3}, s)
		if err != nil {
			t.Fatal(err)
		}
		results, err := Serve(
			t.Context(),
			Config{
				Core:  sched.Config{Policy: &inOrder{}},
				Nodes: []sched.NodeSpec{{Class: "c", Capacity: sched.Resources{sched.VCores: 2}}},
				Chaos: Chaos{Rate: rate, Seed: 7},
			},
			[]Submission{{Spec: &sched.JobSpec{}, Work: w}},
		)
		if err != nil || results[0].Outcome != sched.OK {
			t.Fatalf("rate %v: %v, %v", rate, results, err)
		}
		counters := CountersOf(w).Of
		for _, c := range []Counter{MapInputRecords, MapOutputRecords, BytesRead, ReduceOutputRecords, BytesWritten} {
			if rate > 0 && counters[c] != counted[c] {
				t.Errorf("rate %v: %v is %d, without chaos %d", rate, c, counters[c], counted[c])
			}
		}
		counted = counters
		var got strings.Builder
		for i := range 3 {
			b, err := os.ReadFile(filepath.Join(out, fmt.Sprintf("part-r-%05d", i)))
			if err != nil {
				t.Fatal(err)
			}
			got.Write(b)
		}
		if rate == 0 {
			want = got.String()
			if lines := strings.Count(want, "\n"); lines != 1000 {
				t.Fatalf("%d distinct words, want 1000", lines)
			}
		} else if got.String() != want {
			t.Errorf("rate %v: another output", rate)
		}
		if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) > 0 {
			t.Errorf("rate %v: left behind: %v", rate, left)
		}
	}
}

package mr

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sojourn-sched/sojourn/sched"
)

// TestNoCommitAfterClose: a job that was given up publishes nothing afterwards, though a commit or a task was under
// way. The directory would be empty, with _SUCCESS in it.
func TestNoCommitAfterClose(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "out")
	opened, err := Open(Order{Job: wordCount(), Input: []string{write(t, t.TempDir(), "in", "a b\n")}, Output: out},
		site(t, 1))
	if err != nil {
		t.Fatal(err)
	}
	w := opened.(*jobWork)
	if _, err := w.Stages(t.Context()); err != nil {
		t.Fatal(err)
	}
	for stage := range 2 {
		if err := w.Run(&Launch{Stage: stage, Attempt: NewAttempt(t.Context(), 0, 0)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(false); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Stages(t.Context()); !errors.Is(err, errClosed) {
		t.Errorf("the commit ends with %v", err)
	}
	if err := w.rounds[0].run.CommitTask(NewAttempt(t.Context(), 0, 1)); !errors.Is(err, errClosed) {
		t.Errorf("the commit of a task ends with %v", err)
	}
	if left := names(t, dir); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestCloseWaitsForCommit: a job that is given up while it is committed leaves all of its output. Its parts would else
// be removed while the directory gets its name.
func TestCloseWaitsForCommit(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	job := wordCount()
	committing, goOn := make(chan struct{}), make(chan struct{})
	job.Next = func(*Round) (*Job, error) {
		close(committing)
		<-goOn
		return nil, nil
	}
	w, err := Open(Order{Job: job, Input: []string{write(t, t.TempDir(), "in", "a b\n")}, Output: out}, site(t, 1))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Stages(t.Context()); err != nil {
		t.Fatal(err)
	}
	for stage := range 2 {
		if err := w.Run(&Launch{Stage: stage, Attempt: NewAttempt(t.Context(), 0, 0)}); err != nil {
			t.Fatal(err)
		}
	}
	committed, closed := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := w.Stages(t.Context())
		committed <- err
	}()
	<-committing
	go func() { closed <- w.Close(false) }()
	select {
	case err := <-closed:
		t.Fatalf("closed while the job was committed: %v", err)
	case <-time.After(50 * time.Millisecond): // it may not have begun; then this test shows less
	}
	close(goOn)
	if err, err2 := <-committed, <-closed; err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	if got := strings.Join(readParts(t, out), ""); got != "a\t1\nb\t1\n" {
		t.Errorf("%q", got)
	}
}

// TestServeGivenUpCommits: an attempt that does not end when it is told to is given up. If it commits its task later,
// the task is done: no further attempt can commit it, and the job would wait for ever.
func TestServeGivenUpCommits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var committed atomic.Bool
		var starts atomic.Int32
		w := &sleeper{stages: mapReduce(1, time.Second, 0, 0)[:1]}
		w.run = func(l *Launch) error {
			begun := starts.Add(1)
			switch {
			case l.Attempt.Number == 0:
				time.Sleep(time.Minute)
				committed.Store(true)
				return nil
			case begun > 10:
				return Permanent(errors.New("attempts start and end without end"))
			}
			time.Sleep(25 * time.Second)
			if committed.Load() {
				return ErrCommitted
			}
			committed.Store(true)
			return nil
		}
		if r := serveOne(t, w, 30*time.Second); r.Outcome != sched.OK || starts.Load() != 2 {
			t.Errorf("%v, %v after %d attempts, want OK after 2", r.Outcome, r.Err, starts.Load())
		}
	})
}

// TestServeUnreadableOutput: outputs of maps that can never be read fail the job. Maps and reduces would take turns
// without end. Outputs that the chaos option gives up do not count.
func TestServeUnreadableOutput(t *testing.T) {
	for why, want := range map[error]sched.Outcome{os.ErrNotExist: sched.Failed, ErrReleased: sched.OK} {
		synctest.Test(t, func(t *testing.T) {
			reduces := 0
			w := &sleeper{stages: mapReduce(2, time.Second, 1, time.Second)}
			w.run = func(l *Launch) error {
				time.Sleep(time.Second)
				if l.Stage == 1 {
					if reduces++; reduces <= 3*mostDamaged {
						return fmt.Errorf("reduce: %w", &LostOutput{Map: 1, Err: why})
					}
				}
				return nil
			}
			r := serveOne(t, w, 0)
			if r.Outcome != want || want == sched.Failed && (reduces != mostDamaged || !errors.Is(r.Err, why)) {
				t.Errorf("%v: %v, %v after %d reduces, want %v", why, r.Outcome, r.Err, reduces, want)
			}
		})
	}
}

// TestTwoFailuresInOneTurn: a job fails once if two of its tasks fail at one instant and each failure ends it.
func TestTwoFailuresInOneTurn(t *testing.T) {
	for _, last := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w := &sleeper{stages: mapReduce(2, time.Second, 0, 0)[:1]}
			w.stages[0].MaxAttempts = 1
			w.run = func(l *Launch) error {
				time.Sleep(time.Second)
				if last && l.Task == 1 {
					return errors.New("the only failure that the task may have")
				}
				return Permanent(errors.New("each attempt ends so"))
			}
			if r := serveOne(t, w, 0); r.Outcome != sched.Failed || r.Err == nil || len(r.Failed) != 2 || w.asked != 1 {
				t.Errorf("%+v, asked %d times, want it failed with two failures, and asked once", r, w.asked)
			}
		})
	}
}

// TestFirstFailureStays: the error of a job is that which has failed it, also if another task fails in the same turn.
// The job fails with an error that is permanent, or with the last one that a task may have.
func TestFirstFailureStays(t *testing.T) {
	for _, fatal := range []error{Permanent(errors.New("each attempt ends so")), errors.New("task 0 fails again")} {
		synctest.Test(t, func(t *testing.T) {
			o := newOrdered()
			w := &sleeper{stages: mapReduce(2, time.Second, 0, 0)[:1]}
			w.stages[0].MaxAttempts = 2
			first, other := errors.New("task 0 fails"), errors.New("task 1 fails")
			w.run = func(l *Launch) error {
				switch {
				case l.Task == 0 && l.Attempt.Number == 0:
					time.Sleep(time.Second)
					return first
				case l.Task == 0:
					time.Sleep(time.Second)
					close(o.cue)
					return fatal
				}
				<-o.next
				return other
			}
			nodes := []sched.NodeSpec{{Class: "c", Capacity: sched.Resources{sched.MapSlots: 2}}}
			results, err := Serve(t.Context(), Config{Core: sched.Config{Policy: &inOrder{}}, Nodes: nodes,
				Settle: o.settle}, []Submission{{Spec: &sched.JobSpec{}, Work: w}})
			if err != nil || len(results) != 1 || results[0].Err != fatal ||
				!slices.Equal(results[0].Failed, []error{first, fatal, other}) {
				t.Errorf("results %+v, error %v; want three failures, and the error %q", results, err, fatal)
			}
		})
	}
}

// TestGivenUpInOrder: attempts that are given up together fail in the order in which they started.
func TestGivenUpInOrder(t *testing.T) {
	for range 50 {
		synctest.Test(t, func(t *testing.T) {
			release := make(chan struct{})
			w := &sleeper{stages: mapReduce(3, time.Second, 0, 0)[:1]}
			w.stages[0].MaxAttempts = 1
			w.run = func(*Launch) error { <-release; return nil }
			nodes := []sched.NodeSpec{{Class: "c", Capacity: sched.Resources{sched.MapSlots: 3}}}
			results, err := Serve(t.Context(), Config{Core: sched.Config{Policy: &inOrder{}}, Nodes: nodes,
				Settle: synctest.Wait, Timeout: 30 * time.Second}, []Submission{{Spec: &sched.JobSpec{}, Work: w}})
			close(release)
			if err != nil || len(results) != 1 || len(results[0].Failed) != 3 {
				t.Fatalf("results %+v, error %v; want three failures", results, err)
			}
			for i, failed := range results[0].Failed {
				if want := fmt.Sprintf("task %d: ", i); !strings.HasPrefix(failed.Error(), want) {
					t.Errorf("failure %d is %q, want that of %s", i, failed, want)
				}
			}
		})
	}
}

// TestStagesPanics: a job whose own function panics while its stages are planned fails alone.
func TestStagesPanics(t *testing.T) {
	const why = "a defect of the job"
	in := write(t, t.TempDir(), "in", "a b\nb\n")
	sorted := wordCount()
	sorted.Fold, sorted.Combine, sorted.TotalOrder = nil, nil, true
	sorted.Reduce = func(*Task, *Groups, *Emitter) error { return nil }
	sorted.Compare = func(_, _ []byte) int { panic(why) }
	rounds := wordCount()
	rounds.Next = func(*Round) (*Job, error) { panic(why) }
	for name, job := range map[string]*Job{"Compare": sorted, "Next": rounds} {
		for _, late := range []bool{false, true} {
			var jobs []Submission
			for _, job := range []*Job{job, wordCount()} {
				out := filepath.Join(t.TempDir(), "out")
				w, err := Open(Order{Job: job, Input: []string{in}, Output: out, Reduces: 2}, site(t, 1))
				if err != nil {
					t.Fatal(err)
				}
				jobs = append(jobs, Submission{Spec: &sched.JobSpec{Open: job.Next != nil}, Work: w, Late: late})
			}
			results, err := Serve(t.Context(), Config{Core: sched.Config{Policy: &inOrder{}}, Nodes: oneOfEach}, jobs)
			if err != nil || len(results) != 2 {
				t.Fatalf("%s panics: results %+v, error %v", name, results, err)
			}
			var panicked *PanicError
			if !errors.As(results[0].Err, &panicked) || panicked.Value != why {
				t.Errorf("%s panics, late %v: the job ends %v, error %v", name, late, results[0].Outcome,
					results[0].Err)
			}
			if results[1].Outcome != sched.OK {
				t.Errorf("%s panics, late %v: the other job ends %+v", name, late, results[1])
			}
		}
	}
}

// TestMemoryOutlivesItsAttempts: memory that an attempt still uses, which was given up, is not unmapped under it.
func TestMemoryOutlivesItsAttempts(t *testing.T) {
	m, err := newMemory(2*smallest, 1)
	if err != nil {
		t.Fatal(err)
	}
	account := m.attempt()
	b := account.Alloc(1)
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	b[0] = 1 // would end the process
	m.end(account)
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestLostOutputsAreFoundTogether: a reduce that finds one output lost names all that were given up. To begin anew for
// each takes maps × reduces attempts.
func TestLostOutputsAreFoundTogether(t *testing.T) {
	job := wordCount()
	job.Conf = Conf{"mapreduce.input.fileinputformat.split.minsize": "1",
		"mapreduce.input.fileinputformat.split.maxsize": "1000"}
	in := write(t, t.TempDir(), "in", text(1, 2000))
	opened, err := Open(Order{Job: job, Input: []string{in}, Output: filepath.Join(t.TempDir(), "out")}, site(t, 1))
	if err != nil {
		t.Fatal(err)
	}
	w := opened.(*jobWork)
	if _, err := w.Stages(t.Context()); err != nil {
		t.Fatal(err)
	}
	var released []int
	for i := range w.rounds[0].splits {
		if err := w.Run(&Launch{Task: i, Attempt: NewAttempt(t.Context(), i, 0)}); err != nil {
			t.Fatal(err)
		}
		if i%3 == 1 {
			w.LoseOutput(0, i)
			released = append(released, i)
		}
	}
	lost := new(LostOutput)
	err = w.Run(&Launch{Stage: 1, Attempt: NewAttempt(t.Context(), 0, 0)})
	if !errors.As(err, &lost) || len(released) < 3 || !slices.Equal(append([]int{lost.Map}, lost.Others...), released) {
		t.Errorf("%v names %d and %v, want %v", err, lost.Map, lost.Others, released)
	}
	if err := w.Run(&Launch{Stage: 1, Attempt: NewAttempt(t.Context(), 0, 1)}); !errors.Is(err, errNotYet) {
		t.Errorf("the next attempt ends with %v, before the maps have run again", err)
	}
	for _, i := range released {
		if err := w.Run(&Launch{Task: i, Attempt: NewAttempt(t.Context(), i, 1)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Run(&Launch{Stage: 1, Attempt: NewAttempt(t.Context(), 0, 2)}); err != nil {
		t.Error(err)
	}
	if err := w.Close(false); err != nil {
		t.Fatal(err)
	}
}

// A planner takes its time to plan.
type planner struct {
	sleeper
	plan func(ctx context.Context)
}

func (p *planner) Stages(ctx context.Context) ([]sched.StageSpec, error) {
	p.plan(ctx)
	return p.sleeper.Stages(ctx)
}

// TestServeClosesAll: when ctx is done, Serve closes every job once: one that runs, and those that have not arrived,
// planned or not, or are being planned. A plan that goes on is not waited for beyond patience, and closed too.
func TestServeClosesAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stages := mapReduce(1, time.Hour, 0, 0)[:1]
		runs, planned, late := &sleeper{stages: stages}, &sleeper{stages: stages}, &sleeper{stages: stages}
		begun := &planner{sleeper{stages: stages}, func(ctx context.Context) { <-ctx.Done() }}
		stuck := &planner{sleeper{stages: stages}, func(context.Context) { time.Sleep(time.Minute) }}
		jobs := []Submission{
			{Spec: &sched.JobSpec{Submit: time.Hour}, Work: planned},
			{Spec: &sched.JobSpec{Submit: time.Hour}, Work: late, Late: true},
			{Spec: &sched.JobSpec{}, Work: begun, Late: true},
			{Spec: &sched.JobSpec{}, Work: runs},
		}
		nodes := []sched.NodeSpec{{Class: "c", Capacity: sched.Resources{sched.MapSlots: 2}}}
		config := Config{Core: sched.Config{Policy: &inOrder{}}, Nodes: nodes}
		serve := func(jobs []Submission) ([]Result, time.Duration) {
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			defer cancel()
			start := time.Now()
			results, err := Serve(ctx, config, jobs)
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("error %v", err)
			}
			return results, time.Since(start)
		}
		results, took := serve(jobs)
		if took != 3*time.Second {
			t.Errorf("Serve returns after %v, and nothing is left at 3s", took)
		}
		if len(results) != len(jobs) {
			t.Fatalf("%d results of %d jobs: %v", len(results), len(jobs), results)
		}
		for i, r := range results {
			if r.Index != i || r.Outcome != sched.Killed || r.Err != nil {
				t.Errorf("result %d: %+v, want job %d killed", i, r, i)
			}
		}
		for name, w := range map[string]*sleeper{"runs": runs, "planned": planned, "late": late,
			"begun": &begun.sleeper} {
			if n := w.closed.Load(); n != 1 {
				t.Errorf("the job %q was closed %d times", name, n)
			}
		}
		_, took = serve([]Submission{{Spec: &sched.JobSpec{}, Work: stuck, Late: true}})
		if synctest.Wait(); took != 3*time.Second+patience || stuck.closed.Load() != 1 {
			t.Errorf("Serve returns after %v, the job that was still being planned was closed %d times", took,
				stuck.closed.Load())
		}
		time.Sleep(time.Minute)
	})
}

// TestInterruptedFreesOutputs: after Serve was interrupted, the output of a job that had not arrived is free again.
func TestInterruptedFreesOutputs(t *testing.T) {
	dir, in := t.TempDir(), write(t, t.TempDir(), "in", "a b\n")
	order := Order{Job: wordCount(), Input: []string{in}, Output: filepath.Join(dir, "out")}
	here := site(t, 1)
	w, err := Open(order, here)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	nodes := []sched.NodeSpec{{Class: "c", Capacity: sched.Resources{sched.MapSlots: 1, sched.ReduceSlots: 1}}}
	if _, err := Serve(ctx, Config{Core: sched.Config{Policy: &inOrder{}}, Nodes: nodes},
		[]Submission{{Spec: &sched.JobSpec{Submit: time.Hour}, Work: w}}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if left := names(t, dir); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if w, err = Open(order, here); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(false); err != nil {
		t.Error(err)
	}
}

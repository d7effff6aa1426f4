package mr

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sojourn-sched/sojourn/sched"
)

// asksMiB is what the stage of a rationed attempt asks for.
const asksMiB = 64

// rationed makes a an attempt that holds what its stage asks for, and can be resized. tell is called as ration.tell.
func rationed(a *Attempt, tell func(a *Attempt, again bool)) *Attempt {
	a.ration.asks = asksMiB
	a.ration.holds.Store(asksMiB)
	a.ration.tell = func(again bool) { tell(a, again) }
	return a
}

// A mapScene is a job of one map, which reads 6 MiB in 24 batches, and two reduces.
type mapScene struct {
	name string
	fold *Fold
	emit func(batch []byte, out *Emitter)
	each func(n int, a *Attempt)         // at batch n of the map, from 0; nil: nothing
	tell func(a *Attempt, again bool)    // as ration.tell
	more func(n int) (key, value []byte) // a pair that is emitted at batch n; nil: none
}

// run returns the parts of the output, and how many records the map spilled.
func (s mapScene) run(t *testing.T, input string) (parts []string, spilled int64) {
	t.Helper()
	job := &Job{Name: s.name, Fold: s.fold, Conf: Conf{"mapreduce.input.fileinputformat.split.minsize": "1073741824"}}
	job.Map = func(_ *Task, in *Batches, out *Emitter) error {
		for n := 0; in.Next(); n++ {
			if s.each != nil {
				s.each(n, in.attempt)
			}
			s.emit(in.Data(), out)
			if key, value := s.more(n); key != nil {
				out.Emit(key, value)
			}
		}
		return nil
	}
	out := filepath.Join(t.TempDir(), "out")
	opened, err := Open(Order{Job: job, Input: []string{input}, Output: out, Reduces: 2}, site(t, 1))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := opened.Stages(t.Context()); err != nil {
		t.Fatal(err)
	}
	a := rationed(NewAttempt(t.Context(), 0, 0), s.tell)
	if err := opened.Run(&Launch{Attempt: a}); err != nil {
		t.Fatal(err)
	}
	spilled = a.Report().Counters.Of[SpilledRecords]
	for part := range 2 {
		if err := opened.Run(&Launch{Stage: 1, Task: part, Attempt: NewAttempt(t.Context(), part, 0)}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := opened.Stages(t.Context()); err != nil { // commits the job
		t.Fatal(err)
	}
	if err := opened.Close(true); err != nil {
		t.Fatal(err)
	}
	return readParts(t, out), spilled
}

// scenes are a sort of lines and a count of words that spill nothing undisturbed, and their input.
func scenes(t *testing.T) (list []mapScene, input string) {
	r := rand.New(rand.NewPCG(3, 4))
	var b strings.Builder
	for b.Len() < 6<<20 {
		for range 9 {
			fmt.Fprintf(&b, "w%09d ", r.IntN(60_000))
		}
		b.WriteString("\n")
	}
	none := func(int) ([]byte, []byte) { return nil, nil }
	return []mapScene{
		{name: "sort", more: none, emit: func(batch []byte, out *Emitter) {
			for line := range Lines(batch) {
				out.Emit(line, nil)
			}
		}},
		{name: "words", more: none, fold: Sum(1), emit: func(batch []byte, out *Emitter) {
			for word := range bytes.FieldsSeq(batch) {
				out.Emit(word, One)
			}
		}},
	}, write(t, t.TempDir(), "in", b.String())
}

// A map that is resized to a sixteenth between two batches spills, uses no more than that from the time when it says
// so, and uses more again when it has grown. Its job writes the bytes that it writes undisturbed.
func TestResizeMap(t *testing.T) {
	list, input := scenes(t)
	for _, s := range list {
		t.Run(s.name, func(t *testing.T) {
			want, spilled := s.run(t, input)
			if spilled > 0 {
				t.Fatalf("%d records are spilled undisturbed", spilled)
			}
			told, small, most := 0, int64(0), int64(0)
			s.tell = func(a *Attempt, again bool) {
				if told++; again || a.account.Used() > a.ration.limit() {
					t.Errorf("it says that it holds no more than %d, and uses %d; again: %v", a.ration.limit(),
						a.account.Used(), again)
				}
			}
			s.each = func(n int, a *Attempt) {
				used := a.account.Used()
				switch n {
				case 6:
					if small = a.ration.full / 16; used <= small {
						t.Errorf("it uses %d before, no more than %d", used, small)
					}
					a.ration.hold(asksMiB / 16)
				case 12:
					a.ration.hold(asksMiB)
				}
				switch {
				case n > 6 && n <= 12 && (told != 1 || used > small):
					t.Errorf("batch %d: it uses %d of %d, told %d times", n, used, small, told)
				case n > 12:
					most = max(most, used)
				}
			}
			got, spilled := s.run(t, input)
			if !slices.Equal(got, want) {
				t.Error("another output")
			}
			if spilled == 0 || told != 2 || most <= small {
				t.Errorf("%d records spilled, told %d times, %d used when it has grown", spilled, told, most)
			}
		})
	}
}

// A pair that is too long for what a map holds since it was resized is no error: the map takes back what its stage asks
// for, and says so.
func TestResizeLongPair(t *testing.T) {
	list, input := scenes(t)
	for _, s := range list {
		t.Run(s.name, func(t *testing.T) {
			s.more = func(n int) (key, value []byte) {
				if n != 8 {
					return nil, nil
				}
				if key = bytes.Repeat([]byte("long"), 1<<19); s.fold != nil {
					return key, One
				}
				return key, nil
			}
			want, _ := s.run(t, input)
			var told []bool
			s.tell = func(_ *Attempt, again bool) { told = append(told, again) }
			s.each = func(n int, a *Attempt) {
				if n == 4 {
					a.ration.hold(1)
				}
				if n == 9 && a.account.Limit() != a.ration.full {
					t.Errorf("its limit is %d, want %d", a.account.Limit(), a.ration.full)
				}
			}
			if got, _ := s.run(t, input); !slices.Equal(got, want) {
				t.Error("another output")
			}
			if !slices.Equal(told, []bool{false, true}) {
				t.Errorf("told %v, want that it has less, and that it has it again", told)
			}
		})
	}
}

// resizer launches in order, and changes what every attempt holds again and again.
type resizer struct {
	inOrder
	random *rand.Rand
}

func (r *resizer) Decide(p *sched.Plan) {
	r.inOrder.Decide(p)
	for j := range p.Jobs() {
		for _, st := range j.Stages {
			for a := range p.Attempts(st) {
				if a.State == sched.Running && a.Start < p.Now && !a.Resizing() {
					p.Resize(a, p.Shape(sched.Resources{sched.VCores: 1, sched.Memory: 1 + r.random.Int64N(asksMiB-1)}))
				}
			}
		}
	}
	p.Wake(p.Now + time.Millisecond)
}

// countResized counts what the engine says of resizes.
type countResized struct{ n int }

func (c *countResized) Record(_ sched.Time, events []sched.Event, _ []sched.Action) {
	for i := range events {
		if events[i].Kind == sched.AttemptResized {
			c.n++
		}
	}
}

// Real jobs whose attempts are resized all the time write the bytes that they write undisturbed.
func TestServeResizes(t *testing.T) {
	input, _ := linesOf(t, 5)
	var want []string
	for _, policy := range []sched.Policy{&inOrder{}, &resizer{random: rand.New(rand.NewPCG(7, 8))}} {
		resizes := want != nil
		s := site(t, 2)
		s.Map[sched.Memory], s.Reduce[sched.Memory] = asksMiB, asksMiB
		job := wordCount()
		job.Conf = smallSplits
		count := job.Map
		job.Map = func(task *Task, in *Batches, out *Emitter) error {
			for resizes && in.attempt.ration.holds.Load() == asksMiB && in.attempt.ctx.Err() == nil {
				time.Sleep(time.Millisecond)
			}
			return count(task, in, out)
		}
		out := filepath.Join(t.TempDir(), "out")
		w, err := Open(Order{Job: job, Input: []string{input}, Output: out, Reduces: 3}, s)
		if err != nil {
			t.Fatal(err)
		}
		resized := &countResized{}
		node := sched.NodeSpec{Class: "c", Capacity: sched.Resources{sched.VCores: 2, sched.Memory: 4 * asksMiB}}
		results, err := Serve(t.Context(), Config{Core: sched.Config{Policy: policy, Recorder: resized},
			Nodes: []sched.NodeSpec{node}}, []Submission{{Spec: &sched.JobSpec{}, Work: w}})
		if err != nil || results[0].Outcome != sched.OK {
			t.Fatalf("%v, %v", results, err)
		}
		switch got := readParts(t, out); {
		case !resizes:
			want = got
		case !slices.Equal(got, want):
			t.Error("another output")
		case resized.n == 0:
			t.Error("the engine never says that an attempt was resized")
		}
	}
}

// acting launches in order, and does something at each of some instants.
type acting struct {
	inOrder
	at []moment
}

type moment struct {
	at sched.Time
	do func(p *sched.Plan, first *sched.Attempt) // first: of job 1
}

func (f *acting) Decide(p *sched.Plan) {
	for len(f.at) > 0 && f.at[0].at <= p.Now {
		for a := range p.Attempts(p.Job(1).Stages[0]) {
			f.at[0].do(p, a)
			break
		}
		f.at = f.at[1:]
	}
	f.inOrder.Decide(p)
	if len(f.at) > 0 {
		p.Wake(f.at[0].at)
	}
}

// Memory is free when the attempt has given it up, not when it was asked to. Job 1 runs from 0 s to 10 s, holds 60 of
// 100 MiB, is asked at 1 s to hold 40, and looks at 5 s whether it is to hold less, if at all. Job 2 asks for 60 MiB
// and takes 2 s.
func TestResizeWhenGivenUp(t *testing.T) {
	shrink := moment{time.Second, func(p *sched.Plan, a *sched.Attempt) {
		p.Resize(a, p.Shape(sched.Resources{sched.VCores: 1, sched.Memory: 40}))
	}}
	suspend := moment{2 * time.Second, func(p *sched.Plan, a *sched.Attempt) { p.Suspend(a) }}
	resume := moment{3 * time.Second, func(p *sched.Plan, a *sched.Attempt) { p.Resume(a) }}
	for _, c := range []struct {
		name  string
		at    []moment
		looks bool
		ends  sched.Time // of job 2
		holds int64      // of job 1 in the end
	}{
		{"given up", []moment{shrink}, true, 7 * time.Second, 40},
		{"not given up", []moment{shrink}, false, 12 * time.Second, 40},
		{"suspended before", []moment{shrink, suspend, resume}, true, 7 * time.Second, 40},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ended := endings{}
				asks := sched.StageSpec{Kind: sched.Map, Tasks: 1, MaxAttempts: 4,
					PerTask: sched.Resources{sched.VCores: 1, sched.Memory: 60}}
				first := &sleeper{stages: []sched.StageSpec{asks}}
				var held atomic.Int64
				first.run = func(l *Launch) error {
					time.Sleep(5 * time.Second)
					if c.looks {
						if err := l.Attempt.pass(); err != nil {
							return err
						}
					}
					time.Sleep(5 * time.Second)
					held.Store(l.Attempt.ration.holds.Load())
					return nil
				}
				asks.Prior = 2 * time.Second
				room := sched.Resources{sched.VCores: 2, sched.Memory: 100}
				_, err := Serve(t.Context(), Config{
					Core:   sched.Config{Policy: &acting{at: c.at}, Recorder: ended},
					Nodes:  []sched.NodeSpec{{Class: "c", Capacity: room}},
					Settle: synctest.Wait,
				}, []Submission{
					{Spec: &sched.JobSpec{Name: "1"}, Work: first},
					{Spec: &sched.JobSpec{Name: "2"}, Work: &sleeper{stages: []sched.StageSpec{asks}}},
				})
				if err != nil {
					t.Fatal(err)
				}
				if ended[2] != c.ends || held.Load() != c.holds {
					t.Errorf("job 2 ends at %v, job 1 holds %d MiB; want %v and %d", ended[2], held.Load(), c.ends,
						c.holds)
				}
			})
		})
	}
}

// An attempt says that its memory has grown at the instant at which it is asked to give some up: that is no word of
// what it gives up. Job 1 asks for 60 of 100 MiB, holds 80 from 1 s on, and is asked at 3 s to hold 40. Job 2 asks for
// 60 MiB and takes 2 s.
func TestResizeCrosses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended, looks := endings{}, make(chan struct{})
		first := crossing(func(l *Launch) error {
			<-looks
			if err := l.Attempt.pass(); err != nil {
				return err
			}
			time.Sleep(2 * time.Second)
			if err := l.Attempt.pass(); err != nil {
				return err
			}
			time.Sleep(5 * time.Second)
			return nil
		})
		second := crossing(nil)
		second.stages[0].Prior = 2 * time.Second
		serveCrossing(t, ended, first, second, moment{time.Second, holdMemory(80)},
			moment{3 * time.Second, func(p *sched.Plan, a *sched.Attempt) {
				close(looks)
				synctest.Wait()
				holdMemory(40)(p, a)
			}})
		if want := 7 * time.Second; ended[2] != want {
			t.Errorf("job 2 ends at %v, want %v", ended[2], want)
		}
	})
}

// An attempt takes back the 60 MiB that its stage asks for at the instant at which it is asked to hold another amount,
// or is suspended: it holds 60 by the books and in memory.
func TestResizeTakenBack(t *testing.T) {
	for _, c := range []struct {
		name string
		then func(p *sched.Plan, a *sched.Attempt)
	}{
		{"grows", holdMemory(80)},
		{"shrinks", holdMemory(20)},
		{"suspended", func(p *sched.Plan, a *sched.Attempt) { p.Suspend(a) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				memory, err := newMemory(64<<20, 1)
				if err != nil {
					t.Fatal(err)
				}
				defer memory.Close()
				takes := make(chan struct{})
				full, limit, booked := memory.attemptBytes(), int64(0), int64(0)
				first := crossing(func(l *Launch) error {
					a := l.Attempt
					a.account, a.ration.full = memory.attempt(), full
					defer memory.end(a.account)
					time.Sleep(2 * time.Second)
					if err := a.pass(); err != nil {
						return err
					}
					<-takes
					if !a.takeBack() {
						t.Error("it takes nothing back")
					}
					time.Sleep(2 * time.Second)
					for range 2 { // before and after it waits to be resumed
						if err := a.pass(); err != nil {
							return err
						}
					}
					limit = a.account.Limit()
					time.Sleep(5 * time.Second)
					return nil
				})
				serveCrossing(t, endings{}, first, nil, moment{time.Second, holdMemory(40)},
					moment{3 * time.Second, func(p *sched.Plan, a *sched.Attempt) {
						close(takes)
						synctest.Wait()
						c.then(p, a)
					}},
					moment{6 * time.Second, func(p *sched.Plan, a *sched.Attempt) {
						if a.State == sched.Suspended {
							p.Resume(a)
						}
					}},
					moment{8 * time.Second, func(p *sched.Plan, a *sched.Attempt) {
						booked = p.Amount(a.Holds)[sched.Memory]
					}})
				if booked != 60 || limit != full {
					t.Errorf("it holds %d MiB by the books, and %d of %d bytes", booked, limit, full)
				}
			})
		})
	}
}

// crossing is a job of one map that asks for 60 MiB.
func crossing(run func(*Launch) error) *sleeper {
	return &sleeper{run: run, stages: []sched.StageSpec{{Kind: sched.Map, Tasks: 1, MaxAttempts: 4,
		PerTask: sched.Resources{sched.VCores: 1, sched.Memory: 60}}}}
}

// holdMemory resizes an attempt.
func holdMemory(mib int64) func(*sched.Plan, *sched.Attempt) {
	return func(p *sched.Plan, a *sched.Attempt) {
		p.Resize(a, p.Shape(sched.Resources{sched.VCores: 1, sched.Memory: mib}))
	}
}

// serveCrossing runs one job or two (second: nil) on a node of 100 MiB.
func serveCrossing(t *testing.T, ended endings, first, second *sleeper, at ...moment) {
	t.Helper()
	jobs := []Submission{{Spec: &sched.JobSpec{Name: "1"}, Work: first}}
	if second != nil {
		jobs = append(jobs, Submission{Spec: &sched.JobSpec{Name: "2"}, Work: second})
	}
	room := sched.Resources{sched.VCores: 2, sched.Memory: 100}
	if _, err := Serve(t.Context(), Config{
		Core:   sched.Config{Policy: &acting{at: at}, Recorder: ended},
		Nodes:  []sched.NodeSpec{{Class: "c", Capacity: room}},
		Settle: synctest.Wait,
	}, jobs); err != nil {
		t.Fatal(err)
	}
}

// Two attempts hold 2 of 4 cores each, and from 1 s on the node offers half of them: each has half of the time. From
// 2 s on one of them holds one core, so that each has two thirds.
func TestResizeThrottled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		work := &sleeper{stages: []sched.StageSpec{{Kind: sched.Map, Tasks: 2, MaxAttempts: 4,
			PerTask: sched.Resources{sched.VCores: 2}}}}
		var idle [2]float64
		work.run = func(l *Launch) error {
			time.Sleep(3 * time.Second)
			idle[l.Task] = l.Attempt.throttle.idle()
			return nil
		}
		_, err := Serve(t.Context(), Config{
			Core: sched.Config{Policy: &acting{at: []moment{{2 * time.Second,
				func(p *sched.Plan, a *sched.Attempt) { p.Resize(a, p.Shape(sched.Resources{sched.VCores: 1})) }}}}},
			Nodes:  []sched.NodeSpec{{Class: "c", Capacity: sched.Resources{sched.VCores: 4}}},
			Settle: synctest.Wait,
			Offers: func(ctx context.Context, tell func(sched.NodeID, sched.Resources, float64)) {
				time.Sleep(time.Second)
				tell(1, sched.Resources{sched.VCores: 2}, 0.5)
				<-ctx.Done()
			},
		}, []Submission{{Spec: &sched.JobSpec{Name: "j"}, Work: work}})
		if err != nil {
			t.Fatal(err)
		}
		for i, got := range idle {
			if math.Abs(got-1.0/3) > 1e-9 {
				t.Errorf("attempt %d is idle for %v of the time, want a third", i+1, got)
			}
		}
	})
}

// A lateResizer asks the attempts of first stages to hold one byte less, again and again from an instant on.
type lateResizer struct {
	inOrder
	at    sched.Time
	asked int
}

func (f *lateResizer) Decide(p *sched.Plan) {
	f.inOrder.Decide(p)
	p.Wake(max(f.at, p.Now+100*time.Millisecond))
	if p.Now < f.at {
		return
	}
	for j := range p.Jobs() {
		for a := range p.Attempts(j.Stages[0]) {
			less := p.Amount(a.Holds)
			less[sched.Memory]--
			if !a.Resizing() && p.Resize(a, p.Shape(less)) {
				f.asked++
			}
		}
	}
}

// resizeFacts records what is said of attempts, a list for each Step that says something.
type resizeFacts [][]sched.EventKind

func (r *resizeFacts) Record(_ sched.Time, events []sched.Event, _ []sched.Action) {
	var said []sched.EventKind
	for _, v := range events {
		if v.Kind == sched.AttemptResized || v.Kind == sched.AttemptDone {
			said = append(said, v.Kind)
		}
	}
	if said != nil {
		*r = append(*r, slices.Sorted(slices.Values(said)))
	}
}

// TestResizeWhilePublishing: an attempt has ended, its end is held back, and it is asked to give something up. The
// engine says that it has given it up when it tells the end, not before: the policy would ask again at once.
func TestResizeWhilePublishing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hold := sched.Resources{sched.VCores: 1, sched.Memory: 1000}
		work := &sleeper{stages: []sched.StageSpec{{Kind: sched.Map, PerTask: hold, Tasks: 1, Prior: time.Second}}}
		w := &hooked{Work: work, published: func() { time.Sleep(2 * time.Second) }}
		p, said := &lateResizer{at: 2 * time.Second}, resizeFacts{}
		_, err := Serve(t.Context(), Config{Core: sched.Config{Policy: p, Recorder: &said},
			Nodes: []sched.NodeSpec{{Class: "c", Capacity: hold}}}, []Submission{{Spec: &sched.JobSpec{}, Work: w}})
		want := slices.Sorted(slices.Values([]sched.EventKind{sched.AttemptResized, sched.AttemptDone}))
		if err != nil || p.asked != 1 || len(said) != 1 || !slices.Equal(said[0], want) {
			t.Errorf("error %v; asked %d times, want once; said %v, want %v in one Step", err, p.asked, said, want)
		}
	})
}

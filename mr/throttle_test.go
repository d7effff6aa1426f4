package mr

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sojourn-sched/sojourn/sched"
)

// An attempt of 40 batches of 50 ms takes 2 s alone. It takes as much longer as its part is smaller, and where the part
// changes meanwhile, what is left of the work takes as long as the new part says. It ends when told to, standing still.
func TestSlow(t *testing.T) {
	type change struct {
		at   time.Duration
		part float64
	}
	for _, c := range []struct {
		name    string
		changes []change
		ends    time.Duration
		batches int
	}{
		{"all", []change{{0, 1}}, 2 * time.Second, 40},
		{"a half", []change{{0, 0.5}}, 4 * time.Second, 40},
		{"a tenth", []change{{0, 0.1}}, 20 * time.Second, 40},
		{"a quarter for two seconds", []change{{0, 0.25}, {2 * time.Second, 1}}, 3500 * time.Millisecond, 40},
		{"nothing for a minute", []change{{time.Second, 0}, {61 * time.Second, 1}}, 62 * time.Second, 40},
		{"cancelled", []change{{1025 * time.Millisecond, 0}, {61 * time.Second, -1}}, 61 * time.Second, 21},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				a := NewAttempt(ctx, 0, 0)
				go func() {
					start := time.Now()
					for _, x := range c.changes {
						time.Sleep(x.at - time.Since(start))
						if x.part < 0 {
							cancel()
						} else {
							a.Slow(x.part)
						}
					}
				}()
				synctest.Wait()
				start, batches := time.Now(), 0
				for ; batches < 40; batches++ {
					if a.pass() != nil {
						break
					}
					time.Sleep(50 * time.Millisecond)
				}
				_ = a.pass()
				took := time.Since(start)
				// The batch in which a change falls is paid for at the old part, or at the new one.
				off := (took - c.ends).Abs()
				if off > 100*time.Millisecond || batches != c.batches {
					t.Errorf("%d batches in %v, want %d in %v", batches, took, c.batches, c.ends)
				}
				if idle := took - time.Duration(batches)*50*time.Millisecond; a.Slowed() != idle {
					t.Errorf("it stood still for %v, and says %v", idle, a.Slowed())
				}
				cancel()
			})
		})
	}
}

// A fakeProgram notes for how long it was not stopped.
type fakeProgram struct {
	t     *testing.T
	since time.Time // zero: it is stopped
	ran   time.Duration
}

func (p *fakeProgram) Suspend() {
	if p.since.IsZero() {
		p.t.Error("stopped twice")
	}
	p.ran += time.Since(p.since)
	p.since = time.Time{}
}

func (p *fakeProgram) Resume() {
	if !p.since.IsZero() {
		p.t.Error("continued twice")
	}
	p.since = time.Now()
}

func (p *fakeProgram) so(a *Attempt) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	if p.since.IsZero() {
		return p.ran
	}
	return p.ran + time.Since(p.since)
}

// A program runs for its part of the time, not at all while its attempt is suspended or has no part, and is left
// running. A program that comes while the attempt is slowed is slowed too.
func TestSlowProgram(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		a := NewAttempt(ctx, 0, 0)
		task := &Task{attempt: a}
		first := &fakeProgram{t: t, since: time.Now()}
		task.Suspends(first)
		before := time.Duration(0)
		for _, c := range []struct {
			what string
			do   func()
			part float64
		}{
			{"at first", func() {}, 1},
			{"a half", func() { a.Slow(0.5) }, 0.5},
			{"a fiftieth", func() { a.Slow(0.02) }, 0.02},
			{"suspended", a.Suspend, 0},
			{"resumed", a.Resume, 0.02},
			{"nothing", func() { a.Slow(0) }, 0},
			{"suspended besides", a.Suspend, 0},
			{"suspended, with all its time", func() { a.Slow(1) }, 0},
			{"resumed, with all its time", a.Resume, 1},
			{"three quarters", func() { a.Slow(0.75) }, 0.75},
		} {
			c.do()
			const span = 100 * time.Second
			time.Sleep(span)
			ran := first.so(a) - before
			before += ran
			if off := float64(ran)/float64(span) - c.part; off < -0.01 || off > 0.01 {
				t.Errorf("%s: it ran %v of %v", c.what, ran, span)
			}
		}
		task.Suspends(nil)
		second := &fakeProgram{t: t, since: time.Now()}
		task.Suspends(second)
		time.Sleep(100 * time.Second)
		if ran := second.so(a); ran < 74*time.Second || ran > 76*time.Second {
			t.Errorf("the second program ran %v of 100s, want 75s", ran)
		}
		cancel()
		synctest.Wait()
		if second.since.IsZero() {
			t.Error("a program is still stopped when its attempt has ended")
		}
	})
}

// Two maps of 4 s run on two slots. From 1 s on the node offers three quarters of its slots, which is one whole slot:
// the maps share the three quarters, so that the 3 s of each that are left take 4 s. The third map, of 4 s too, starts
// when both are over and has the slot for itself. A pause of a minute is no lost sign of life.
func TestOffersSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := endings{}
		slots := func(n int64) sched.Resources { return sched.Resources{sched.MapSlots: n} }
		work := &sleeper{stages: mapReduce(3, 0, 0, 0)[:1]}
		var over [3]time.Duration // by task
		start := time.Now()
		work.run = func(l *Launch) error {
			for range 80 {
				if err := l.Attempt.pass(); err != nil {
					return err
				}
				time.Sleep(50 * time.Millisecond)
			}
			over[l.Task] = time.Since(start)
			return l.Attempt.pass()
		}
		config := Config{
			Core:    sched.Config{Policy: &inOrder{}, Recorder: ended},
			Nodes:   []sched.NodeSpec{{Class: "c", Capacity: slots(2)}},
			Settle:  synctest.Wait,
			Timeout: 10 * time.Second,
			Offers: func(ctx context.Context, tell func(sched.NodeID, sched.Resources, float64)) {
				time.Sleep(time.Second)
				tell(1, slots(1), 0.75)
				time.Sleep(5 * time.Second)
				tell(1, slots(0), 0)
				time.Sleep(time.Minute)
				tell(1, slots(2), 1)
			},
		}
		results, err := Serve(t.Context(), config, []Submission{{Spec: &sched.JobSpec{Name: "j"}, Work: work}})
		if err != nil || results[0].Outcome != sched.OK {
			t.Fatalf("%v, %v", results, err)
		}
		for i, want := range []time.Duration{5 * time.Second, 5 * time.Second, 69 * time.Second} {
			if off := over[i] - want; off < -150*time.Millisecond || off > 150*time.Millisecond {
				t.Errorf("map %d is over at %v, want %v", i+1, over[i], want)
			}
		}
		if slowed, want := results[0].Slowed, 62*time.Second; slowed < want-200*time.Millisecond ||
			slowed > want+200*time.Millisecond {
			t.Errorf("its attempts stood still for %v, want %v", slowed, want)
		}
	})
}

// Two maps, of 2 s and 6 s, share three quarters of a node from 1 s on. The first is over at 2.33 s. The second has
// done 2 s of its work then, and has all the time for what is left: it is over at 6.33 s.
func TestThrottleFollowsWhatRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var over [2]time.Duration // by task
		start := time.Now()
		work := &sleeper{stages: mapReduce(2, 0, 0, 0)[:1]}
		work.run = func(l *Launch) error {
			for range []int{40, 120}[l.Task] {
				if err := l.Attempt.pass(); err != nil {
					return err
				}
				time.Sleep(50 * time.Millisecond)
			}
			err := l.Attempt.pass()
			over[l.Task] = time.Since(start)
			return err
		}
		config := Config{
			Core:   sched.Config{Policy: &inOrder{}},
			Nodes:  []sched.NodeSpec{{Class: "c", Capacity: sched.Resources{sched.MapSlots: 2}}},
			Settle: synctest.Wait,
			Offers: func(ctx context.Context, tell func(sched.NodeID, sched.Resources, float64)) {
				time.Sleep(time.Second)
				tell(1, sched.Resources{sched.MapSlots: 1}, 0.75)
			},
		}
		results, err := Serve(t.Context(), config, []Submission{{Spec: &sched.JobSpec{Name: "j"}, Work: work}})
		if err != nil || results[0].Outcome != sched.OK {
			t.Fatalf("%v, %v", results, err)
		}
		for i, want := range []time.Duration{2333 * time.Millisecond, 6333 * time.Millisecond} {
			if off := over[i] - want; off < -150*time.Millisecond || off > 150*time.Millisecond {
				t.Errorf("map %d is over at %v, want %v", i+1, over[i], want)
			}
		}
	})
}

// A program that takes another's place while the attempt is suspended is stopped instead of it, and gives the place
// back: what works for the attempt then goes on when the attempt does.
func TestProgramTakesAPlace(t *testing.T) {
	a := NewAttempt(t.Context(), 0, 0)
	task := &Task{attempt: a}
	mapper, combiner := &fakeProgram{t: t, since: time.Now()}, &fakeProgram{t: t, since: time.Now()}
	stopped := func(when string, first, second bool) {
		t.Helper()
		if mapper.since.IsZero() != first || combiner.since.IsZero() != second {
			t.Errorf("%s: stopped are the mapper (%v) and the combiner (%v), want %v and %v", when,
				mapper.since.IsZero(), combiner.since.IsZero(), first, second)
		}
	}
	if before := task.Suspends(mapper); before != nil {
		t.Errorf("before the first there was %v", before)
	}
	a.Suspend()
	stopped("suspended", true, false)
	before := task.Suspends(combiner)
	stopped("replaced", false, true)
	a.Resume()
	stopped("resumed", false, false)
	a.Suspend()
	stopped("suspended again", false, true)
	if before != mapper || task.Suspends(before) != combiner {
		t.Error("not the program before")
	}
	stopped("in its place again", true, false)
	a.Resume()
	task.Suspends(nil)
	stopped("resumed again", false, false)
}

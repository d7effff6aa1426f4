// Package enginetest checks that an engine keeps its contract with the core: [sched.Core.Step] and the actions that it
// returns. An engine passes it in one test, whatever clock it has and whatever its tasks do. The tests of this package
// have two small engines to start from: one with a virtual clock (toy_test.go), one whose tasks run in real time
// (live_test.go).
package enginetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/sched"
)

// A Kit is an engine under test.
type Kit struct {
	// Run runs at least two jobs with at least eight tasks together, on at least two nodes, until all jobs have ended.
	// It uses the Policy and the Recorder of config, and sets Can and what else it needs.
	Run func(t *testing.T, config sched.Config)
	// Late is how much later than asked for the engine may wake the core: zero with a simulated clock.
	Late sched.Time
}

// mostRuns is how often Check runs an engine until the policy has met an attempt that it can meddle with: under a real
// clock, a busy machine may end all tasks of a run before the Step that follows their launch.
const mostRuns = 10

// Check runs the engine for each kind of action, under policies that ask for it at every third attempt, and checks what
// the core was told:
//
//   - Nodes join before anything is launched there; jobs are submitted with rising IDs, and each ends once.
//   - Each attempt that is launched ends once, and nothing is said of it after that which the core would act on.
//   - Facts may be stale: an attempt that was suspended or resized and killed in one Step says so before or after its
//     end, or not at all.
//   - An attempt that is killed ends. One that is suspended says so before it is resumed; it may end instead, as it may
//     have been through when it was asked. One that is resized to less says so, at its end at the latest,
//     also if it is suspended before.
//   - The core is woken when it asked for it, and not later.
//   - Progress is from 0 to 1.
//   - An attempt that comes to hold another amount, because its application asked for that, holds something.
//
// What the engine cannot do (View.Can) is not asked for.
func Check(t *testing.T, k Kit) {
	for name, meddle := range map[string]func(p *sched.Plan, a *sched.Attempt){
		"launch":  func(*sched.Plan, *sched.Attempt) {},
		"kill":    func(p *sched.Plan, a *sched.Attempt) { p.Kill(a, 0) },
		"warn":    func(p *sched.Plan, a *sched.Attempt) { p.Kill(a, sched.Time(time.Millisecond)) },
		"suspend": func(p *sched.Plan, a *sched.Attempt) { p.Suspend(a) },
		"resize": func(p *sched.Plan, a *sched.Attempt) {
			p.Resize(a, p.Shape(half(p.Amount(a.Holds))))
		},
		// It gives up what it was asked to give up before it is suspended, or after it is resumed.
		"resize and suspend": func(p *sched.Plan, a *sched.Attempt) {
			p.Resize(a, p.Shape(half(p.Amount(a.Holds))))
			p.Suspend(a)
		},
		// The engine says late that the attempt is suspended, or has less: it has ended meanwhile.
		"suspend and kill": func(p *sched.Plan, a *sched.Attempt) { p.Suspend(a); p.Kill(a, 0) },
		"resize and kill": func(p *sched.Plan, a *sched.Attempt) {
			p.Resize(a, p.Shape(half(p.Amount(a.Holds))))
			p.Kill(a, 0)
		},
	} {
		t.Run(name, func(t *testing.T) {
			for range mostRuns {
				w := &watch{late: k.Late, attempts: map[sched.AttemptID]*life{}, jobs: map[sched.JobID]bool{}}
				p := &policy{meddle: meddle, watch: w}
				k.Run(t, sched.Config{Policy: p, Recorder: w})
				w.end()
				for _, wrong := range w.wrong {
					t.Error(wrong)
				}
				if p.met || t.Failed() {
					return
				}
			}
			t.Error("no third attempt was running a Step after its launch: tasks must last longer")
		})
	}
}

// half returns half of each resource, rounded up.
func half(r sched.Resources) sched.Resources {
	for kind := range r {
		r[kind] = (r[kind] + 1) / 2
	}
	return r
}

// A policy launches in order of submission, and meddles with every third attempt once, at the Step after its launch. It
// resumes what it suspended a millisecond later.
type policy struct {
	meddle func(*sched.Plan, *sched.Attempt)
	watch  *watch
	index  sched.Index
	fresh  []sched.AttemptID // launched in the last Step
	met    bool              // meddle was called
}

// Decide meddles with what was launched in the last Step, and launches what has room.
func (f *policy) Decide(p *sched.Plan) {
	for _, id := range f.fresh {
		if a := p.Attempt(id); a != nil && id.Serial()%3 == 0 && a.State == sched.Running && !f.watch.over(id) {
			f.meddle(p, a)
			f.met = true
		}
	}
	f.fresh = f.fresh[:0]
	waits := false
	for j := range p.Jobs() {
		for _, st := range j.Stages {
			for a := range p.Attempts(st) {
				if a.State == sched.Suspended {
					waits = !p.Resume(a) || waits
				}
			}
		}
	}
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
	for _, a := range p.Actions() {
		if a.Kind == sched.Launch {
			f.fresh = append(f.fresh, a.Attempt)
		}
	}
	if len(f.fresh) > 0 || waits {
		p.Wake(p.Now + sched.Time(time.Millisecond))
	}
}

// A life is what was asked of an attempt and said of it.
type life struct {
	suspended       bool // asked for
	killed, resized bool // asked for, and not said
	over            bool
}

// A watch checks the facts and actions of a run.
type watch struct {
	late     sched.Time
	view     *sched.View
	attempts map[sched.AttemptID]*life
	jobs     map[sched.JobID]bool // submitted: whether it has ended
	newest   sched.JobID
	nodes    int
	wake     sched.Time // zero: none
	wrong    []string
}

// Attach makes the watch see the cluster.
func (w *watch) Attach(v *sched.View) { w.view = v }

// say notes what is wrong; at most ten findings are kept.
func (w *watch) say(now sched.Time, format string, args ...any) {
	if len(w.wrong) < 10 {
		w.wrong = append(w.wrong, fmt.Sprintf("at %v: ", now)+fmt.Sprintf(format, args...))
	}
}

// over reports whether an attempt has ended, or was never launched.
func (w *watch) over(id sched.AttemptID) bool { return w.attempts[id] == nil || w.attempts[id].over }

// Record checks one Step.
func (w *watch) Record(now sched.Time, events []sched.Event, actions []sched.Action) {
	if w.wake > 0 && now >= w.wake {
		if now > w.wake+w.late {
			w.say(now, "the core asked to be woken at %v", w.wake)
		}
		w.wake = 0
	}
	for i := range events { // at the instant of its end an attempt may say that it was resized, in whatever order
		if l := w.attempts[events[i].Attempt]; l != nil && events[i].Kind == sched.AttemptResized {
			l.resized = false
		}
	}
	for i := range events {
		w.event(now, &events[i])
	}
	for i := range actions {
		w.action(now, &actions[i])
	}
}

func (w *watch) event(now sched.Time, e *sched.Event) {
	switch e.Kind {
	case sched.NodeJoined:
		w.nodes++
	case sched.JobSubmitted:
		if e.Job <= w.newest {
			w.say(now, "job %d is submitted after job %d", e.Job, w.newest)
		}
		w.newest, w.jobs[e.Job] = e.Job, false
	case sched.JobEnded:
		if ended, known := w.jobs[e.Job]; ended || !known {
			w.say(now, "job %d ends twice, or was never submitted", e.Job)
		}
		w.jobs[e.Job] = true
	case sched.AttemptDone, sched.AttemptSuspended, sched.AttemptResized, sched.AttemptProgress, sched.ResizeAsked:
		w.fact(now, e)
	}
}

// fact checks what is said of an attempt. Stale facts, of an attempt that is over, are allowed.
func (w *watch) fact(now sched.Time, e *sched.Event) {
	l := w.attempts[e.Attempt]
	switch {
	case l == nil:
		w.say(now, "%v of attempt %d, which was never launched", e.Kind, e.Attempt.Serial())
	case l.over:
	case e.Kind == sched.AttemptDone:
		if l.resized && !l.killed && e.Outcome == sched.OK {
			w.say(now, "attempt %d succeeds before the engine has said that it was resized", e.Attempt.Serial())
		}
		l.over = true
	case e.Kind == sched.AttemptSuspended:
		if !l.suspended {
			w.say(now, "attempt %d is suspended, and the core did not ask for it", e.Attempt.Serial())
		}
	case e.Kind == sched.AttemptResized: // Record has noted it
	case e.Kind == sched.ResizeAsked:
		if amount, ok := e.Body.(*sched.Resources); !ok || *amount == (sched.Resources{}) {
			w.say(now, "attempt %d comes to hold nothing: Body must say the amount", e.Attempt.Serial())
		}
	case !(e.Progress >= 0 && e.Progress <= 1):
		w.say(now, "progress %v of attempt %d: must be from 0 to 1", e.Progress, e.Attempt.Serial())
	}
}

func (w *watch) action(now sched.Time, a *sched.Action) {
	switch a.Kind {
	case sched.Launch:
		w.attempts[a.Attempt] = &life{}
	case sched.Kill:
		w.attempts[a.Attempt].killed = true
	case sched.Suspend:
		w.attempts[a.Attempt].suspended = true
	case sched.Resume:
		w.attempts[a.Attempt].suspended = false
	case sched.Resize:
		w.attempts[a.Attempt].resized = true
	case sched.Wake:
		w.wake = a.At
	}
}

// end checks what must be true when the run is over.
func (w *watch) end() {
	if w.nodes < 2 || len(w.jobs) < 2 || len(w.attempts) < 8 {
		w.say(w.view.Now, "%d nodes, %d jobs, %d attempts: want at least 2, 2 and 8",
			w.nodes, len(w.jobs), len(w.attempts))
	}
	for id, ended := range w.jobs {
		if !ended {
			w.say(w.view.Now, "job %d has not ended", id)
		}
	}
	for id, l := range w.attempts {
		if !l.over {
			w.say(w.view.Now, "attempt %d has not ended: %+v", id.Serial(), *l)
		}
	}
}

package record

import (
	"errors"
	"fmt"
	"iter"

	"github.com/sojourn-sched/sojourn/sched"
)

// Play makes a core live through a recorded run, and shows it to followers as the run itself was shown. Events and
// decisions come from the record, so that no policy is needed. It costs as much as a run under a policy whose decisions
// cost nothing. It returns ErrCut when everything that is whole has been played.
func Play(r *Reader, to ...Follower) error { return PlayWith(r, nil, to...) }

// PlayWith is Play with an estimator, which learns as it did in the run, so that followers can ask the view for
// estimates. A nil estimator knows what the jobs say of themselves.
func PlayWith(r *Reader, e sched.Estimator, to ...Follower) error {
	for _, err := range playWith(r, e, to...).steps() {
		if err != nil {
			return err
		}
	}
	return nil
}

// PlayOn is PlayWith for a record that is still being written. When it has played everything that is whole, it calls
// more, which should wait a while. It goes on if more returns true.
func PlayOn(r *Reader, e sched.Estimator, more func() bool, to ...Follower) error {
	p := playWith(r, e, to...)
	for {
		var end error
		for _, err := range p.steps() {
			end = err
		}
		if !errors.Is(end, ErrCut) || !more() {
			return end
		}
	}
}

// Summarize computes the figures of a recorded run. An ErrCut comes with those of what is whole.
func Summarize(r *Reader, o TallyOptions) (Result, error) {
	if o.Policy == "" {
		o.Policy = r.Header.Policy
	}
	t := NewTally(o)
	err := Play(r, t)
	return t.Result(), err
}

// A player is a core whose policy does what a record says. Its state after a Step is that of the run.
//
// It has every power and no limit, and if the run had heartbeats, its nodes are always open. It still does nothing that
// the run could not do, because it does only what the run did.
type player struct {
	replayer
	now  *Step
	lost error // the first action that could not be done again
}

func play(r *Reader, to ...Follower) *player { return playWith(r, nil, to...) }

func playWith(r *Reader, e sched.Estimator, to ...Follower) *player {
	p := &player{}
	p.replayer = replayer{reader: r, core: sched.New(p.config(r, e, to))}
	return p
}

// playFrom is play from a snapshot on, to which r has been moved.
func playFrom(r *Reader, from *Snapshot, to ...Follower) (*player, error) {
	p := &player{}
	core, err := sched.Restore(p.config(r, nil, to), from.State)
	if err != nil {
		return nil, fmt.Errorf("read %s: snapshot at byte %d: %w: %v", r.name, from.Offset, ErrDamaged, err)
	}
	p.replayer = replayer{reader: r, core: core, from: &from.Mark}
	return p, nil
}

func (p *player) config(r *Reader, e sched.Estimator, to []Follower) sched.Config {
	all := sched.CanKill | sched.CanSuspend | sched.CanResize | sched.CanNameTasks | sched.CanProbe
	return sched.Config{Policy: p, Estimator: e, Can: all, Queues: r.Header.Core.Queues, Recorder: Tee(to)}
}

// steps yields the Steps of the record, each when the core is through with it.
func (p *player) steps() iter.Seq2[*Step, error] {
	return func(yield func(*Step, error) bool) {
		for s, err := range p.reader.Steps() {
			if err == nil {
				err = p.apply(s)
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(s, nil) {
				return
			}
		}
	}
}

// apply makes the core carry out a Step of the record.
func (p *player) apply(s *Step) error {
	p.now = s
	if _, err := p.step(s); err != nil {
		return err
	}
	return p.lost
}

// Decide implements sched.Policy: it does what the record says.
func (p *player) Decide(plan *sched.Plan) {
	for i := range p.now.Actions {
		a := &p.now.Actions[i]
		if err := p.do(plan, a); err != nil && p.lost == nil {
			p.lost = fmt.Errorf("play %s: step %d at %v, entry %d: %w: %s: %v", p.reader.name, p.now.Number, p.now.Now,
				p.now.Entry+int64(len(p.now.Events)+i), ErrDamaged,
				describeAction(plan.View, p.now, a, p.reader.Amount), err)
		}
	}
}

var (
	errNoStage   = errors.New("there is no such stage")
	errNoAttempt = errors.New("there is no such attempt")
	errCannot    = errors.New("that cannot be done")
)

// do does one recorded action.
func (p *player) do(plan *sched.Plan, a *sched.Action) error {
	var at *sched.Attempt
	switch a.Kind {
	case sched.Kill, sched.Suspend, sched.Resume, sched.Resize:
		if at = plan.Attempt(a.Attempt); at == nil {
			return errNoAttempt
		}
	}
	ok := true
	switch a.Kind {
	case sched.Launch:
		return p.launch(plan, a)
	case sched.Kill:
		ok = at.State == sched.Leaving || plan.Kill(at, a.At) // the core has done its own kills by now
	case sched.Suspend:
		ok = plan.Suspend(at)
	case sched.Resume:
		ok = plan.Resume(at)
	case sched.Resize:
		amount, known := p.reader.Amount(a.Shape)
		ok = known && plan.Resize(at, plan.Shape(amount))
	case sched.Reserve:
		st := plan.Stage(a.Stage)
		if st == nil && a.Stage != (sched.StageID{}) {
			return errNoStage
		}
		ok = plan.Reserve(st, plan.Node(a.Node))
	case sched.Probe:
		j := plan.Job(a.Stage.Job)
		ok = j != nil && plan.Probe(j)
	case sched.Wake:
		plan.Wake(a.At)
	}
	if !ok {
		return errCannot
	}
	return nil
}

// launch carries out a recorded launch: it starts the task that a names, on a's node. If that task runs already, it
// starts a speculative attempt of it. An error means that the core refuses the launch, or gives the attempt another ID
// than in the run.
func (p *player) launch(plan *sched.Plan, a *sched.Action) error {
	st, n := plan.Stage(a.Stage), plan.Node(a.Node)
	if st == nil {
		return errNoStage
	}
	amount, ok := p.reader.Amount(a.Shape)
	if !ok {
		return errCannot
	}
	as := sched.As{Task: a.Task, Shape: plan.Shape(amount)}
	if !plan.LaunchAs(st, n, as) && !speculate(plan, st, a, as.Shape) {
		return errCannot
	}
	if done := plan.Actions(); done[len(done)-1].Attempt != a.Attempt {
		return fmt.Errorf("it is attempt %d now", done[len(done)-1].Attempt)
	}
	return nil
}

// speculate starts another attempt of a task that runs.
func speculate(plan *sched.Plan, st *sched.Stage, a *sched.Action, holds sched.ShapeID) bool {
	for b := range plan.Attempts(st) {
		if b.Task == a.Task {
			return plan.Speculate(b, plan.Node(a.Node), holds)
		}
	}
	return false
}

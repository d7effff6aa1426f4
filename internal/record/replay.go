package record

import (
	"encoding/json"
	"fmt"
	"runtime/debug"

	"github.com/sojourn-sched/sojourn/sched"
)

// A Deciders function makes new ones of the policy and the estimator (nil: none) that the header of a run names.
type Deciders func(*Header) (sched.Policy, sched.Estimator, error)

// A Replayed says what a replay found.
type Replayed struct {
	Steps   int64       `json:"steps"` // replayed, as the next two
	Events  int64       `json:"events"`
	Actions int64       `json:"actions"`
	Differs *Difference `json:"differs,omitempty"` // the first one; nil: all was decided as recorded
}

// A Difference is where two runs part.
type Difference struct {
	Step  int64 // its number in the record, from 1
	Entry int64 // likewise
	At    sched.Time
	A     string // what one has there, "": nothing
	B     string // and the other
}

// MarshalJSON writes the instant in seconds, exactly.
func (d Difference) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Step  int64        `json:"step"`
		Entry int64        `json:"entry"`
		At    *json.Number `json:"at_s"`
		A     string       `json:"a"`
		B     string       `json:"b"`
	}{d.Step, d.Entry, exactly(d.At), d.A, d.B})
}

func (d *Difference) String() string {
	or := func(s string) string {
		if s == "" {
			return "nothing more"
		}
		return s
	}
	return fmt.Sprintf("step %d at %v, entry %d: %s, against %s", d.Step, d.At, d.Entry, or(d.A), or(d.B))
}

// Replay gives a core the recorded events and compares what it decides with what was recorded, up to the first
// difference (A: recorded, B: decided now). It begins at the last snapshot that is not after from, and where there is
// none, at the beginning. An ErrCut comes with what was replayed until then.
func Replay(r *Reader, from sched.Time, make Deciders) (*Replayed, error) {
	p, err := replayerFrom(r, from, make)
	if err != nil {
		return nil, err
	}
	return p.rest()
}

// replayerFrom returns a replayer whose core has the state of the last snapshot that is not after an instant.
func replayerFrom(r *Reader, from sched.Time, make Deciders) (*replayer, error) {
	if from > 0 {
		marks := r.Marks()
		if i := before(marks, from); i >= 0 {
			snap, err := r.Seek(marks[i])
			if err != nil {
				return nil, err
			}
			return replayFrom(r, snap, make)
		}
	}
	return newReplayer(r, make)
}

// rest replays what is left of the record.
func (p *replayer) rest() (*Replayed, error) {
	done := &Replayed{}
	for step, err := range p.reader.Steps() {
		if err != nil {
			return done, err
		}
		actions, err := p.step(step)
		if err != nil {
			return done, err
		}
		done.Steps++
		done.Events += int64(len(step.Events))
		done.Actions += int64(len(actions))
		if done.Differs = p.difference(step, actions); done.Differs != nil {
			break
		}
	}
	return done, nil
}

// A replayer is a core that is given recorded events.
type replayer struct {
	reader *Reader
	core   *sched.Core
	policy sched.Policy // nil: the record decides
	from   *Mark        // of the snapshot at which it began; nil: it began at the beginning
}

// newReplayer returns a replayer for the record of r: a new core, with the policy and the estimator that make returns
// for the header of the record. An error is one of make.
func newReplayer(r *Reader, make Deciders) (*replayer, error) {
	config := r.Header.Core.Config()
	var err error
	if config.Policy, config.Estimator, err = make(r.Header); err != nil {
		return nil, fmt.Errorf("replay %s under %s: %w", r.name, r.Header.Policy, err)
	}
	return &replayer{reader: r, core: sched.New(config), policy: config.Policy}, nil
}

// replayFrom is newReplayer from a snapshot on, to which r has been moved.
func replayFrom(r *Reader, from *Snapshot, make Deciders) (*replayer, error) {
	wrong := func(err error) error {
		return fmt.Errorf("replay %s under %s from byte %d: %w", r.name, r.Header.Policy, from.Offset, err)
	}
	h := *r.Header
	h.Learned, h.Memory = nil, nil // of the beginning
	config := h.Core.Config()
	var err error
	if config.Policy, config.Estimator, err = make(&h); err != nil {
		return nil, wrong(err)
	}
	err = json.Unmarshal(from.Policy, config.Policy)
	if err == nil && config.Estimator != nil && from.Estimator != nil {
		err = json.Unmarshal(from.Estimator, config.Estimator)
	}
	if err != nil {
		return nil, wrong(fmt.Errorf("%w: what the policy remembered: %v", ErrDamaged, err))
	}
	core, err := sched.Restore(config, from.State)
	if err != nil {
		return nil, wrong(fmt.Errorf("%w: %v", ErrDamaged, err))
	}
	return &replayer{r, core, config.Policy, &from.Mark}, nil
}

// A Defect is a panic of the core, of the policy or of the estimator while it was given a record. The record is not to
// blame: its checksums are right, and its events break no rule of the core.
type Defect struct {
	error
	Stack []byte // of the panic
}

// Unwrap returns the error.
func (d Defect) Unwrap() error { return d.error }

// step gives the core the events of a Step. A core panics with a Breach where an engine breaks its contract. Here the
// engine is a file, whose content is checked only entry by entry, so that a breach is an error of the file. Every other
// panic is a Defect.
func (p *replayer) step(s *Step) (actions []sched.Action, err error) {
	defer func() {
		why := recover()
		if why == nil {
			return
		}
		err = fmt.Errorf("replay %s: step %d at %v", p.reader.name, s.Number, s.Now)
		if broken, ok := why.(sched.Breach); ok {
			err = fmt.Errorf("%w: %w: no engine gives such events: %w", err, ErrDamaged, broken)
			return
		}
		err = Defect{fmt.Errorf("%w: %s panicked: %v; %s", err, p.decides(), why, p.blame()), debug.Stack()}
	}()
	return p.core.Step(s.Now, s.Events), nil
}

// decides says whose code runs in a Step.
func (p *replayer) decides() string {
	if p.policy == nil {
		return "the core or the estimator"
	}
	return "policy " + p.reader.Header.Policy + ", its estimator or the core"
}

// blame says what a panic means, and what to do.
func (p *replayer) blame() string {
	report := "it is a defect of the program and not of the record: please report it with the version, this message, " +
		"the stack, and the record"
	if p.from == nil {
		return report
	}
	return fmt.Sprintf("unless a replay from the beginning goes well, which would mean that the snapshot at byte %d "+
		"of the record is wrong, %s", p.from.Offset, report)
}

// difference returns where actions differ from those of a Step; nil: nowhere.
func (p *replayer) difference(s *Step, actions []sched.Action) *Difference {
	for i := range max(len(s.Actions), len(actions)) {
		if i < len(s.Actions) && i < len(actions) && p.same(&s.Actions[i], &actions[i]) {
			continue
		}
		d := &Difference{Step: s.Number, Entry: s.Entry + int64(len(s.Events)+i), At: s.Now}
		if i < len(s.Actions) {
			d.A = describeAction(&p.core.View, s, &s.Actions[i], p.reader.Amount)
		}
		if i < len(actions) {
			d.B = describeAction(&p.core.View, s, &actions[i], p.amount)
		}
		return d
	}
	return nil
}

// same reports whether a recorded action is the one that was decided now.
func (p *replayer) same(recorded, now *sched.Action) bool {
	return sameActions(recorded, now, p.reader.Amount, p.amount)
}

// amount returns the resources of a shape in an action that the core has decided in its last Step.
func (p *replayer) amount(id sched.ShapeID) (sched.Resources, bool) { return p.core.Amount(id), true }

// An amountsOf function returns what the shape of an action stands for; false where that is not known.
type amountsOf func(sched.ShapeID) (sched.Resources, bool)

// sameActions reports whether two actions of different cores are the same. Of a shape its amount counts: each core has
// IDs of its own.
func sameActions(a, b *sched.Action, amountOfA, amountOfB amountsOf) bool {
	if a.Kind != sched.Launch && a.Kind != sched.Resize {
		return *a == *b
	}
	x := *a
	x.Shape = b.Shape
	if x != *b {
		return false
	}
	p, known := amountOfA(a.Shape)
	q, alsoKnown := amountOfB(b.Shape)
	return known && alsoKnown && p == q
}

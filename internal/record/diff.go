package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"reflect"

	"github.com/sojourn-sched/sojourn/sched"
)

// A Compared is two runs side by side.
type Compared struct {
	Headers []string `json:"headers"` // what differs in how the runs were made, a line each
	// Parts is where the runs part: the first event or action that differs, apart from wakes and ticks; nil: nowhere.
	// Numbers are those of A.
	Parts *Difference     `json:"parts,omitempty"`
	Jobs  []JobDifference `json:"jobs"`
}

// A JobDifference is one job in two runs; at least one of them finished it.
type JobDifference struct {
	ID   sched.JobID
	Name string
	A    sched.Time // sojourn time in one run; -1: the job did not end in it
	B    sched.Time // and in the other
}

// MarshalJSON writes times in seconds, exactly; null where the job did not end.
func (d JobDifference) MarshalJSON() ([]byte, error) {
	type run struct {
		Sojourn *json.Number `json:"sojourn_s"`
	}
	return json.Marshal(struct {
		Job  sched.JobID `json:"job"`
		Name string      `json:"name"`
		A    run         `json:"a"`
		B    run         `json:"b"`
	}{d.ID, d.Name, run{exactly(d.A)}, run{exactly(d.B)}})
}

// exactly returns a time in seconds; nil for one below zero.
func exactly(t sched.Time) *json.Number {
	if t < 0 {
		return nil
	}
	n := json.Number(seconds(t))
	return &n
}

// Diff compares two runs: where they part, and what became of each job. An ErrCut comes with what is whole.
func Diff(a, b *Reader) (*Compared, error) {
	c := &Compared{Headers: headerDifferences(a.Header, b.Header)}
	var rows [2]sojourns
	left := newSide(a, &rows[0])
	right := newSide(b, &rows[1])
	defer left.stop()
	defer right.stop()
	for c.Parts == nil {
		x, y := left.next(), right.next()
		if !x && !y {
			break
		}
		c.Parts = part(left, right)
	}
	for left.step != nil {
		left.advance()
	}
	for right.step != nil {
		right.advance()
	}
	c.Jobs = join(rows[0].list, rows[1].list)
	return c, errors.Join(left.err, right.err)
}

func headerDifferences(a, b *Header) (lines []string) {
	x, y := reflect.ValueOf(*a), reflect.ValueOf(*b)
	for i := range x.NumField() {
		if p, q := x.Field(i).Interface(), y.Field(i).Interface(); !reflect.DeepEqual(p, q) {
			name := x.Type().Field(i).Name
			lines = append(lines, fmt.Sprintf("%s: %s, against %s", name, appendJSON(nil, p), appendJSON(nil, q)))
		}
	}
	return lines
}

// A side walks through the events and actions of one run.
type side struct {
	player *player
	pull   func() (*Step, error, bool)
	stop   func()
	step   *Step
	at     int // in the Step: events, then actions
	err    error
}

func newSide(r *Reader, rows *sojourns) *side {
	s := &side{player: play(r, rows), at: -1}
	s.pull, s.stop = iter.Pull2(s.player.steps())
	s.advance()
	return s
}

// advance goes to the next Step. s.step is nil if there is none.
func (s *side) advance() {
	var ok bool
	s.at = -1
	if s.step, s.err, ok = s.pull(); !ok || s.err != nil {
		s.step = nil
	}
}

// next goes to the next event or action that is not about waking.
func (s *side) next() bool {
	for s.step != nil {
		for s.at++; s.at < len(s.step.Events)+len(s.step.Actions); s.at++ {
			if e, a := s.entry(); e != nil && e.Kind != sched.Tick || a != nil && a.Kind != sched.Wake {
				return true
			}
		}
		s.advance()
	}
	return false
}

func (s *side) entry() (*sched.Event, *sched.Action) {
	if n := len(s.step.Events); s.at >= n {
		return nil, &s.step.Actions[s.at-n]
	}
	return &s.step.Events[s.at], nil
}

func (s *side) describe() string {
	if s.step == nil {
		return ""
	}
	e, a := s.entry()
	if e != nil {
		return fmt.Sprintf("%v: %s", s.step.Now, describeEvent(&s.player.core.View, s.step, e))
	}
	is := describeAction(&s.player.core.View, s.step, a, s.player.reader.Amount)
	return fmt.Sprintf("%v: %s", s.step.Now, is)
}

// part returns the difference between where two sides stand; nil: none.
func part(x, y *side) *Difference {
	if x.step != nil && y.step != nil && x.step.Now == y.step.Now {
		e, a := x.entry()
		f, b := y.entry()
		if e != nil && f != nil && reflect.DeepEqual(e, f) || a != nil && b != nil &&
			sameActions(a, b, x.player.reader.Amount, y.player.reader.Amount) {
			return nil
		}
	}
	d := &Difference{A: x.describe(), B: y.describe()}
	switch {
	case x.step != nil:
		d.Step, d.Entry, d.At = x.step.Number, x.step.Entry+int64(x.at), x.step.Now
	default:
		d.At = y.step.Now
	}
	return d
}

// sojourns keeps how long jobs took.
type sojourns struct {
	view *sched.View
	list []JobDifference // in order of submission; A is meant
	at   map[sched.JobID]int
}

func (s *sojourns) Attach(v *sched.View) { s.view, s.at = v, map[sched.JobID]int{} }

// Record implements sched.Recorder: it lists each job at its submission, and fills in its sojourn time at its end.
func (s *sojourns) Record(now sched.Time, events []sched.Event, _ []sched.Action) {
	for i := range events {
		switch e := &events[i]; e.Kind {
		case sched.JobSubmitted:
			s.at[e.Job] = len(s.list)
			s.list = append(s.list, JobDifference{ID: e.Job, Name: e.Body.(*sched.JobSpec).Name, A: -1})
		case sched.JobEnded:
			if k, ok := s.at[e.Job]; ok {
				s.list[k].A = now - s.view.Job(e.Job).Submitted
				delete(s.at, e.Job)
			}
		}
	}
}

// join joins two lists in order of ID.
func join(a, b []JobDifference) (list []JobDifference) {
	for len(a) > 0 || len(b) > 0 {
		var d JobDifference
		switch {
		case len(b) == 0 || len(a) > 0 && a[0].ID < b[0].ID:
			d, a = a[0], a[1:]
			d.B = -1
		case len(a) == 0 || b[0].ID < a[0].ID:
			d, b = b[0], b[1:]
			d.A, d.B = -1, d.A
		default:
			d = a[0]
			d.B = b[0].A
			a, b = a[1:], b[1:]
		}
		if d.A >= 0 || d.B >= 0 {
			list = append(list, d)
		}
	}
	return list
}

package record

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/sojourn-sched/sojourn/sched"
)

// EventOptions say which lines Events writes, and how. What is zero does not restrict.
type EventOptions struct {
	Job   sched.JobID
	Node  sched.NodeID
	Kinds []string // names of events and actions, as in "attempt-done" and "launch"
	From  sched.Time
	Until sched.Time // the last instant; zero: to the end
	JSON  bool       // a JSON object a line, else text
}

// Kinds returns the names of all events and actions, in the order in which an instant has them.
func Kinds() (names []string) {
	for k := sched.NodeJoined; k <= sched.AttemptFound; k++ {
		names = append(names, k.String())
	}
	for k := sched.Launch; k <= sched.Wake; k++ {
		names = append(names, k.String())
	}
	return names
}

// Events writes what happened and what was decided, a line each: the events that the engine gave ("event"), what
// followed from them ("derived"), and the actions ("action").
func Events(out io.Writer, r *Reader, o EventOptions) error {
	for _, k := range o.Kinds {
		if !slices.Contains(Kinds(), k) {
			return fmt.Errorf("kind %q: must be one of %s", k, strings.Join(Kinds(), ", "))
		}
	}
	p, err := playBefore(r, o.From)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(out)
	l := line{view: &p.core.View, amount: r.Amount, json: o.JSON}
	for s, err := range p.steps() {
		if err != nil {
			w.Flush()
			return err
		}
		if o.Until > 0 && s.Now > o.Until {
			break
		}
		if s.Now < o.From {
			continue
		}
		for i := range p.core.Events {
			l.event(s, &p.core.Events[i])
			l.writeIf(w, &o)
		}
		for i := range s.Actions {
			l.action(s, &s.Actions[i])
			l.writeIf(w, &o)
		}
		if err := w.Flush(); err != nil {
			return fmt.Errorf("write events: %w", err)
		}
	}
	return nil
}

// playBefore plays a record from its last snapshot before an instant on, or from its beginning.
func playBefore(r *Reader, at sched.Time) (*player, error) {
	marks := r.Marks()
	i := before(marks, at-1)
	if i < 0 {
		return play(r), nil
	}
	snap, err := r.Seek(marks[i])
	if err != nil {
		return nil, err
	}
	return playFrom(r, snap)
}

// A line describes an event or an action in fields, as text or as JSON.
type line struct {
	view    *sched.View
	amount  amountsOf // of the shapes of actions
	amounts bool      // launches have theirs, as resizes always have
	json    bool
	b       []byte
	kind    string
	job     sched.JobID
	node    sched.NodeID
}

func (l *line) writeIf(w *bufio.Writer, o *EventOptions) {
	if o.Job != 0 && l.job != o.Job || o.Node != 0 && l.node != o.Node ||
		len(o.Kinds) > 0 && !slices.Contains(o.Kinds, l.kind) {
		return
	}
	w.Write(l.b)
	if l.json {
		w.WriteByte('}')
	}
	w.WriteByte('\n')
}

// begin starts a line: its instant, and whether it is an event, derived or an action.
func (l *line) begin(s *Step, is, kind string) {
	l.b, l.kind, l.job, l.node = l.b[:0], kind, 0, 0
	if !l.json {
		l.b = appendSeconds(l.b, s.Now)
		l.b = append(append(append(append(l.b, ' '), is...), ' '), kind...)
		return
	}
	l.b = append(l.b, `{"at_s":`...)
	l.b = appendSeconds(l.b, s.Now)
	l.number("step", s.Number)
	l.text("is", is)
	l.text("kind", kind)
}

func (l *line) name(field string) {
	if l.json {
		l.b = append(append(append(l.b, `,"`...), field...), `":`...)
	} else {
		l.b = append(append(append(l.b, ' '), field...), '=')
	}
}

func (l *line) number(field string, v int64) {
	l.name(field)
	l.b = strconv.AppendInt(l.b, v, 10)
}

func (l *line) seconds(field string, t sched.Time) {
	l.name(field)
	l.b = appendSeconds(l.b, t)
}

// text writes a string, in quotes where text would be ambiguous without.
func (l *line) text(field, v string) {
	l.name(field)
	if l.json {
		l.b = appendJSON(l.b, v)
	} else if v == "" || strings.ContainsAny(v, " \"=\\") || strconv.Quote(v) != `"`+v+`"` {
		l.b = strconv.AppendQuote(l.b, v)
	} else {
		l.b = append(l.b, v...)
	}
}

// appendJSON appends v as JSON; v is of a kind that cannot fail.
func appendJSON(b []byte, v any) []byte {
	doc, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("record: %v", err))
	}
	return append(b, doc...)
}

func (l *line) onNode(n sched.NodeID) {
	l.node = n
	l.number("node", int64(n))
}

func (l *line) ofJob(j sched.JobID) {
	l.job = j
	l.number("job", int64(j))
}

// stage names a stage, whose job may have gone.
func (l *line) stage(id sched.StageID) {
	l.ofJob(id.Job)
	l.number("stage", int64(id.Index))
	if st := l.view.Stage(id); st != nil {
		l.text("of", st.Kind.String())
	}
}

// attempt names an attempt that may have gone.
func (l *line) attempt(id sched.AttemptID) {
	if a := l.view.Attempt(id); a != nil {
		l.stage(a.Stage.ID)
		l.number("task", int64(a.Task))
		l.onNode(a.Node)
	}
	l.number("attempt", int64(id.Serial()))
}

func (l *line) resources(field string, r sched.Resources) {
	l.name(field)
	open, is, between, end := "", ":", ",", ""
	if l.json {
		open, is, between, end = `{"`, `":`, `,"`, "}"
	}
	l.b = append(l.b, open...)
	some := false
	for k, a := range r {
		if a == 0 {
			continue
		}
		if some {
			l.b = append(l.b, between...)
		}
		some = true
		kind := sched.ResourceKind(k)
		name := kind.String()
		if l.json {
			name = kind.Key()
		}
		l.b = append(append(l.b, name...), is...)
		l.b = strconv.AppendInt(l.b, a, 10)
	}
	if l.json && !some {
		l.b = l.b[:len(l.b)-1] // the quote of a first name
	}
	l.b = append(l.b, end...)
}

// event makes the line of an event.
func (l *line) event(s *Step, e *sched.Event) {
	is := "event"
	if e.Derived {
		is = "derived"
	}
	l.begin(s, is, e.Kind.String())
	switch e.Kind {
	case sched.NodeJoined, sched.NodeReported, sched.NodeLost:
		l.onNode(e.Node)
		if spec, _ := e.Body.(*sched.NodeSpec); spec != nil {
			l.text("name", spec.Name)
			l.text("class", spec.Class)
			l.number("rack", int64(spec.Rack))
			l.resources("capacity", spec.Capacity)
		}
	case sched.AttemptDone, sched.AttemptSuspended, sched.AttemptResized, sched.AttemptProgress, sched.ResizeAsked:
		l.attempt(e.Attempt)
		l.ofAttempt(e)
	case sched.AttemptFound:
		f := e.Body.(*sched.Found)
		l.stage(sched.StageID{Job: e.Job, Index: f.Stage})
		l.onNode(e.Node)
		l.number("attempt", int64(e.Attempt.Serial()))
		l.seconds("ran_s", f.Ran)
	case sched.TaskUndone:
		u := e.Body.(*sched.Undone)
		l.stage(sched.StageID{Job: e.Job, Index: u.Stage})
		l.number("tasks", int64(len(u.Tasks)))
		if e.Node != 0 {
			l.onNode(e.Node)
		}
	case sched.JobEnded:
		l.ofJob(e.Job)
		l.text("outcome", e.Outcome.String())
	case sched.AsksChanged:
		asks := e.Body.(*sched.Asks)
		l.stage(sched.StageID{Job: e.Job, Index: asks.Stage})
		l.number("pending", int64(asks.Pending))
	case sched.JobSubmitted:
		spec := e.Body.(*sched.JobSpec)
		l.ofJob(e.Job)
		l.text("name", spec.Name)
		l.text("user", spec.User)
		l.text("queue", spec.Queue)
		l.tasks(spec)
	case sched.SpecChanged:
		if q, ok := e.Body.(*sched.Queues); ok {
			l.number("queues", int64(len(q.List)))
			break
		}
		spec := e.Body.(*sched.JobSpec)
		l.ofJob(e.Job)
		l.text("queue", spec.Queue)
		l.number("priority", int64(spec.Priority))
	}
}

// tasks adds how many tasks a job has of each kind, as far as that is known.
func (l *line) tasks(spec *sched.JobSpec) {
	var n [sched.NumKinds]int64
	for i := range spec.Stages {
		n[spec.Stages[i].Kind] += int64(max(0, spec.Stages[i].Tasks))
	}
	for k, n := range n {
		if n > 0 {
			l.number(sched.StageKind(k).String()+"s", n)
		}
	}
}

// ofAttempt adds what an event says of an attempt.
func (l *line) ofAttempt(e *sched.Event) {
	switch e.Kind {
	case sched.AttemptDone:
		l.text("outcome", e.Outcome.String())
	case sched.AttemptProgress:
		l.name("progress")
		l.b = strconv.AppendFloat(l.b, float64(e.Progress), 'f', -1, 32)
		l.text("phase", e.Phase.String())
	case sched.ResizeAsked:
		l.resources("asks", *e.Body.(*sched.Resources))
	}
}

// holds adds what the shape of an action stands for, if that is known.
func (l *line) holds(id sched.ShapeID) {
	if amount, known := l.amount(id); known {
		l.resources("holds", amount)
	}
}

// action makes the line of an action.
func (l *line) action(s *Step, a *sched.Action) {
	l.begin(s, "action", a.Kind.String())
	switch a.Kind {
	case sched.Launch:
		l.stage(a.Stage)
		l.number("task", int64(a.Task))
		l.onNode(a.Node)
		l.number("attempt", int64(a.Attempt.Serial()))
		if l.amounts {
			l.holds(a.Shape)
		}
	case sched.Kill, sched.Suspend, sched.Resume, sched.Resize:
		l.attempt(a.Attempt)
		if a.Kind == sched.Kill && a.At > 0 {
			l.seconds("grace_s", a.At)
		}
		if a.Kind == sched.Resize {
			l.holds(a.Shape)
		}
	case sched.Reserve:
		l.onNode(a.Node)
		if a.Stage != (sched.StageID{}) {
			l.stage(a.Stage)
		}
	case sched.Probe:
		l.ofJob(a.Stage.Job)
	case sched.Wake:
		l.seconds("wake_s", a.At)
	}
}

// describeEvent says what an event is.
func describeEvent(v *sched.View, s *Step, e *sched.Event) string {
	l := line{view: v}
	l.event(s, e)
	return l.withoutInstant()
}

// describeAction says what an action is. Two actions that differ only in the amount of their shapes read differently.
func describeAction(v *sched.View, s *Step, a *sched.Action, amount amountsOf) string {
	l := line{view: v, amount: amount, amounts: true}
	l.action(s, a)
	return l.withoutInstant()
}

func (l *line) withoutInstant() string {
	_, text, _ := strings.Cut(string(l.b), " ")
	return text
}

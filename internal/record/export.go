package record

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/sojourn-sched/sojourn/sched"
)

// Formats are what Export writes: a line of CSV an attempt; an array of JSON objects, one an attempt; and the JSON of
// Chrome's traces, which Perfetto opens.
var Formats = []string{"csv", "json", "chrome"}

// Export writes the attempts of a record to out, in one of Formats. If the record was cut off, attempts that still ran
// there get the outcome "running". Export then writes the whole document and returns an ErrCut.
func Export(out io.Writer, r *Reader, format string) error {
	to := &sink{out: out}
	w := bufio.NewWriter(to)
	var x exporter
	switch format {
	case "csv":
		x = &table{rows: newCSVRows(w)}
	case "json":
		x = &table{rows: &jsonRows{out: w}}
	case "chrome":
		x = newChrome(w, r.Header)
	default:
		return fmt.Errorf("format %q: must be one of %s", format, strings.Join(Formats, ", "))
	}
	var stopped error
	for _, err := range play(r, x).steps() {
		if stopped = err; err != nil || to.err != nil {
			break
		}
	}
	x.finish()
	w.Flush()
	if to.err != nil {
		return fmt.Errorf("export %s: %w", r.name, to.err)
	}
	return stopped
}

// A sink keeps the first error of writing.
type sink struct {
	out io.Writer
	err error
}

func (s *sink) Write(b []byte) (n int, err error) {
	if s.err == nil {
		n, s.err = s.out.Write(b)
	}
	return n, s.err
}

// An exporter writes what it sees of a run.
type exporter interface {
	Follower
	finish() // says what still runs, and ends the document
}

// An attemptRow is what became of an attempt.
type attemptRow struct {
	Job      sched.JobID `json:"job"`
	Name     string      `json:"name"`
	Stage    int32       `json:"stage"`
	Kind     string      `json:"kind"`
	Task     int32       `json:"task"`
	Attempt  uint64      `json:"attempt"`
	Node     string      `json:"node"`
	Start    json.Number `json:"start_s"`
	End      json.Number `json:"end_s"`
	Outcome  string      `json:"outcome"`
	Locality string      `json:"locality,omitempty"` // of tasks whose input has places
}

func rowOf(v *sched.View, a *sched.Attempt, outcome string) *attemptRow {
	st := a.Stage
	row := &attemptRow{
		Job:     st.ID.Job,
		Name:    st.Job.Spec.Name,
		Stage:   st.ID.Index,
		Kind:    st.Kind.String(),
		Task:    a.Task,
		Attempt: a.ID.Serial(),
		Node:    v.Node(a.Node).Name,
		Start:   json.Number(seconds(a.Start)),
		End:     json.Number(seconds(v.Now)),
		Outcome: outcome,
	}
	if st.Spec.Copies > 0 {
		row.Locality = LocalityOf(v, a).String()
	}
	return row
}

// running calls each with the attempts that run or are suspended, by node.
func running(v *sched.View, each func(*sched.Attempt)) {
	for _, n := range v.Nodes {
		for a := range v.AttemptsOn(n) {
			each(a)
		}
	}
}

// A table writes a row for each attempt when it ends.
type table struct {
	view *sched.View
	rows rowWriter
}

type rowWriter interface {
	write(*attemptRow)
	end()
}

func (t *table) Attach(v *sched.View) { t.view = v }

func (t *table) Record(_ sched.Time, events []sched.Event, _ []sched.Action) {
	for i := range events {
		if events[i].Kind != sched.AttemptDone {
			continue
		}
		if a := ended(t.view, events, i); a != nil {
			t.rows.write(rowOf(t.view, a, events[i].Outcome.String()))
		}
	}
}

func (t *table) finish() {
	running(t.view, func(a *sched.Attempt) { t.rows.write(rowOf(t.view, a, "running")) })
	t.rows.end()
}

type csvRows struct{ out *csv.Writer }

func newCSVRows(w io.Writer) csvRows {
	c := csv.NewWriter(w)
	c.Write([]string{"job", "name", "stage", "kind", "task", "attempt", "node", "start_s", "end_s", "outcome",
		"locality"})
	return csvRows{c}
}

func (c csvRows) write(r *attemptRow) {
	c.out.Write(
		[]string{
			strconv.Itoa(int(r.Job)),
			r.Name,
			strconv.Itoa(int(r.Stage)),
			r.Kind,
			strconv.Itoa(int(r.Task)),
			strconv.FormatUint(r.Attempt, 10),
			r.Node,
			r.Start.String(),
			r.End.String(),
			r.Outcome,
			r.Locality,
		},
	)
}

func (c csvRows) end() { c.out.Flush() }

type jsonRows struct {
	out  *bufio.Writer
	some bool
}

func (j *jsonRows) write(r *attemptRow) {
	between := "[\n"
	if j.some {
		between = ",\n"
	}
	j.some = true
	j.out.WriteString(between)
	j.out.Write(appendJSON(j.out.AvailableBuffer(), r))
}

func (j *jsonRows) end() {
	if !j.some {
		j.out.WriteString("[")
	}
	j.out.WriteString("\n]\n")
}

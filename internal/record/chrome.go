package record

import (
	"bufio"
	"fmt"
	"math/bits"
	"strconv"

	"github.com/sojourn-sched/sojourn/sched"
)

// A chrome writes a run as a trace in Chrome's JSON format: a process a node, a thread a slot (the lowest that is free
// when an attempt starts), a slice for each time that an attempt runs, named after its job so that a job has one
// colour; and jobs, from submission to end, in a process of their own. Times are in microseconds.
//
// Google, Trace Event Format: https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
type chrome struct {
	out   *bufio.Writer
	view  *sched.View
	some  bool
	lanes []lanes // by node
	open  map[sched.AttemptID]slice
	b     []byte // the object in the making

	last     sched.JobID
	lastName []byte
}

// lanes are the slots of a node: used by bit, and how many have been named.
type lanes struct {
	used  []uint64
	named int
}

// A slice is an attempt that runs: since when, and on which lane of its node.
type slice struct {
	since sched.Time
	lane  int
}

// jobsProcess shows the jobs; a node's process is its ID + 1.
const jobsProcess = 1

func newChrome(w *bufio.Writer, h *Header) *chrome {
	w.WriteString(`{"displayTimeUnit":"ms","otherData":{"engine":`)
	w.Write(appendJSON(nil, h.Engine))
	w.WriteString(`,"policy":`)
	w.Write(appendJSON(nil, h.Policy))
	fmt.Fprintf(w, `,"seed":"%d"},"traceEvents":[`, h.Seed)
	c := &chrome{out: w, open: map[sched.AttemptID]slice{}}
	c.name("process", jobsProcess, 0, "jobs")
	return c
}

func (c *chrome) Attach(v *sched.View) { c.view = v }

func (c *chrome) Record(now sched.Time, events []sched.Event, actions []sched.Action) {
	for i := range events {
		switch e := &events[i]; e.Kind {
		case sched.NodeJoined:
			n := c.view.Node(e.Node)
			c.name("process", int(n.ID)+1, 0, fmt.Sprintf("%s (class %s, rack %d)", n.Name,
				c.view.Classes[n.Class-1].Name, n.Rack))
		case sched.AttemptDone:
			if a := ended(c.view, events, i); a != nil {
				c.close(a, e.Outcome.String())
			}
		case sched.AttemptSuspended:
			if a := c.view.Attempt(e.Attempt); a != nil {
				c.close(a, "suspended")
			}
		case sched.AttemptFound:
			if e.Attempt != 0 {
				c.start(e.Attempt, e.Node)
			}
		case sched.JobSubmitted:
			c.job("b", e.Job)
		case sched.JobEnded:
			if ends(events, i) {
				c.job("e", e.Job)
			}
		}
	}
	for i := range actions {
		if a := &actions[i]; a.Kind == sched.Launch || a.Kind == sched.Resume {
			c.start(a.Attempt, a.Node)
		}
	}
}

// event begins an object; the caller goes on with fields and end.
func (c *chrome) event(phase string, process, thread int) {
	c.b = c.b[:0]
	if c.some {
		c.b = append(c.b, ',')
	}
	c.some = true
	c.text("\n{\"ph\":\"", phase, `"`)
	c.number("pid", int64(process))
	c.number("tid", int64(thread))
}

func (c *chrome) end(brackets string) {
	c.text(brackets)
	c.out.Write(c.b)
}

func (c *chrome) text(parts ...string) {
	for _, p := range parts {
		c.b = append(c.b, p...)
	}
}

func (c *chrome) number(field string, v int64) {
	c.text(`,"`, field, `":`)
	c.b = strconv.AppendInt(c.b, v, 10)
}

// micros writes a time in microseconds, to the nanosecond.
func (c *chrome) micros(field string, t sched.Time) {
	c.number(field, int64(t/1000))
	ns := t % 1000
	c.b = append(c.b, '.', byte('0'+ns/100), byte('0'+ns/10%10), byte('0'+ns%10))
}

func (c *chrome) name(what string, process, thread int, name string) {
	c.event("M", process, thread)
	c.text(`,"name":"`, what, `_name","args":{"name":`)
	c.b = appendJSON(c.b, name)
	c.end("}}")
}

// job begins ("b") or ends ("e") a job.
func (c *chrome) job(phase string, id sched.JobID) {
	j := c.view.Job(id)
	if j == nil {
		return
	}
	c.event(phase, jobsProcess, 0)
	c.micros("ts", c.view.Now)
	c.number("id", int64(id))
	c.text(`,"cat":"job"`)
	c.named(j)
	c.text(`,"args":{"queue":`)
	c.b = appendJSON(c.b, c.view.Path(c.view.Queues[j.Queue]))
	c.text(`,"user":`)
	c.b = appendJSON(c.b, j.Spec.User)
	c.end("}}")
}

// named gives an object its job's name. The last one is kept, because a job's attempts often end one after the other.
func (c *chrome) named(j *sched.Job) {
	if c.last != j.ID {
		c.last, c.lastName = j.ID, appendJSON(append(c.lastName[:0], `,"name":`...), nameOf(j))
	}
	c.b = append(c.b, c.lastName...)
}

// nameOf returns a job's name; without one, its ID.
func nameOf(j *sched.Job) string {
	if j.Spec.Name == "" {
		return fmt.Sprintf("job %d", j.ID)
	}
	return j.Spec.Name
}

// start puts an attempt on the lowest free lane of its node.
func (c *chrome) start(id sched.AttemptID, n sched.NodeID) {
	for int(n) >= len(c.lanes) {
		c.lanes = append(c.lanes, lanes{})
	}
	l := &c.lanes[n]
	lane := l.take()
	for l.named <= lane {
		l.named++
		c.name("thread", int(n)+1, l.named, fmt.Sprintf("slot %d", l.named))
	}
	c.open[id] = slice{c.view.Now, lane}
}

func (l *lanes) take() int {
	for i, w := range l.used {
		if w != ^uint64(0) {
			k := bits.TrailingZeros64(^w)
			l.used[i] |= 1 << k
			return i*64 + k
		}
	}
	l.used = append(l.used, 1)
	return (len(l.used) - 1) * 64
}

// close writes the slice of an attempt that stops running, if it ran.
func (c *chrome) close(a *sched.Attempt, outcome string) {
	s, ok := c.open[a.ID]
	if !ok {
		return
	}
	delete(c.open, a.ID)
	c.lanes[a.Node].used[s.lane/64] &^= 1 << (s.lane % 64)
	st := a.Stage
	c.event("X", int(a.Node)+1, s.lane+1)
	c.micros("ts", s.since)
	c.micros("dur", c.view.Now-s.since)
	c.text(`,"cat":"`, st.Kind.String(), `"`)
	c.named(st.Job)
	c.text(`,"args":{"outcome":"`, outcome, `"`)
	c.number("job", int64(st.ID.Job))
	c.number("stage", int64(st.ID.Index))
	c.number("task", int64(a.Task))
	c.number("attempt", int64(a.ID.Serial()))
	if st.Spec.Copies > 0 {
		c.text(`,"locality":"`, LocalityOf(c.view, a).String(), `"`)
	}
	c.end("}}")
}

func (c *chrome) finish() {
	running(c.view, func(a *sched.Attempt) { c.close(a, "running") })
	for j := range c.view.Jobs() {
		c.job("e", j.ID)
	}
	c.out.WriteString("\n]}\n")
}

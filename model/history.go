package model

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/sojourn-sched/sojourn/sched"
)

// samplesKept is how many task times History keeps of a kind: enough for a mean, few enough that a changed job shows
// soon.
const samplesKept = 50

// kindsKept bounds the kinds of tasks that History learns. It forgets them in generations: when tasks of half as many
// kinds have ended, it forgets all others. What it has loaded comes on top until then.
const kindsKept = 10_000

var historyCard = Card{
	About: "the last tasks of the same stage of jobs with the same user and name",
	Keeps: "task times, format 1",
}

func newHistory(Args) sched.Estimator { return &History{Past: map[string][]PastTask{}} }

// History estimates a stage by the tasks of stages like it that ran before, perhaps in earlier runs
// ([sched.JobSpec.Likeness] says which stages are alike). As soon as tasks of the stage itself have finished, their
// times are used instead. Classes of nodes are known by their names, because their numbers are those of one run.
type History struct {
	Past map[string][]PastTask // by Likeness, oldest first, the last 50
	// Recent has the kinds whose tasks have ended since History last forgot some; empty while Past is small.
	Recent map[string]bool `json:",omitempty"`
	Own    Mean

	view *sched.View // names the classes of nodes; nil: none are told apart
}

// A PastTask is the time of a task that ran before, and the name of the class of its node; "": not known. In JSON it is
// the time alone where the class is not known.
type PastTask struct {
	Took sched.Time
	On   string
}

// MarshalJSON writes the time, and the class where it is known.
func (t PastTask) MarshalJSON() ([]byte, error) {
	if t.On == "" {
		return json.Marshal(t.Took)
	}
	type plain PastTask
	return json.Marshal(plain(t))
}

// UnmarshalJSON reads a time, or a time and a class.
func (t *PastTask) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] != '{' {
		return json.Unmarshal(b, &t.Took)
	}
	type plain PastTask
	return json.Unmarshal(b, (*plain)(t))
}

// Attach shows the history the names of the classes of nodes.
func (h *History) Attach(v *sched.View) { h.view = v }

// className returns the name of a class of nodes; "": it is not known.
func (h *History) className(class sched.ClassID) string {
	if h.view == nil || class < 1 || int(class) > len(h.view.Classes) {
		return ""
	}
	return h.view.Classes[class-1].Name
}

// Observe learns from an attempt that succeeded after it ran for the time took.
func (h *History) Observe(a *sched.Attempt, took sched.Time, c *sched.Counters) {
	h.Own.Observe(a, took, c)
	if h.Past == nil {
		h.Past = map[string][]PastTask{}
	}
	key := a.Stage.Job.Spec.Likeness(a.Stage.Kind)
	list := append(h.Past[key], PastTask{took, h.className(a.Class)})
	if len(list) > samplesKept {
		list = append(list[:0], list[len(list)-samplesKept:]...)
	}
	h.Past[key] = list
	h.use(key)
}

// use notes that a task of a kind that Past has now has ended, and bounds the kinds in Past.
func (h *History) use(key string) {
	if len(h.Past) < kindsKept/2 {
		return
	}
	if h.Recent == nil {
		h.Recent = map[string]bool{}
	}
	if h.Recent[key] = true; len(h.Recent) < kindsKept/2 {
		return
	}
	maps.DeleteFunc(h.Past, func(key string, _ []PastTask) bool { return !h.Recent[key] })
	h.Recent = nil
}

// Estimate returns the mean of the stage's own finished tasks on a class of nodes (zero: on any). Before the first one
// there it is the mean of past tasks like them on the class. Without such tasks it is a guess from other classes.
func (h *History) Estimate(st *sched.Stage, class sched.ClassID) sched.Estimate {
	var guess sched.Estimate
	if seen, ok := h.Own.Seen.Has(st); ok && seen.N > 0 {
		if guess = seen.on(class); guess.Samples > 0 {
			return guess
		}
	}
	past := h.past(st, class)
	switch {
	case guess.Mean > 0 && past.Samples == 0:
		return guess
	case past.Mean == 0:
		return sched.Estimate{Mean: st.Spec.Prior}
	}
	return past
}

// past returns the estimate from past tasks on a class of nodes (zero: on any), else a guess from other classes; zero
// where there are none.
func (h *History) past(st *sched.Stage, class sched.ClassID) sched.Estimate {
	var all, there Moments
	name := h.className(class)
	for _, t := range h.Past[st.Job.Spec.Likeness(st.Kind)] {
		all.Add(t.Took)
		if class != 0 && t.On == name {
			there.Add(t.Took)
		}
	}
	if there.N > 0 {
		return there.Estimate()
	}
	e := all.Estimate()
	if class != 0 {
		e.Samples = 0
	}
	return e
}

// Changes implements Keeper: an entry holds the last task times of a kind.
func (h *History) Changes(a *sched.Attempt) string { return a.Stage.Job.Spec.Likeness(a.Stage.Kind) }

// Entry implements Keeper.
func (h *History) Entry(key string) any { return slices.Clone(h.Past[key]) }

// Load implements Keeper.
func (h *History) Load(key string, value []byte) error {
	var times []PastTask
	err := json.Unmarshal(value, &times)
	if h.Past == nil {
		h.Past = map[string][]PastTask{}
	}
	h.Past[key] = times
	return err
}

// Size returns the job's tasks at their stages' estimates.
func (h *History) Size(j *sched.Job) (sched.Work, bool) { return sizeOf(h, j) }

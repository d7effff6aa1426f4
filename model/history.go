package model

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/sojourn-sched/sojourn/sched"
)

// samplesKept is how many task times History keeps of a kind: enough for a mean, few enough that a changed job shows
// soon.
const samplesKept = 50

var historyCard = Card{
	About: "the last tasks of the same stage of jobs with the same user and name",
	Keeps: "task times, format 1",
}

func newHistory(Args) sched.Estimator { return &History{Past: map[string][]sched.Time{}} }

// History estimates a stage by the tasks of stages like it that ran before, perhaps in earlier runs: of jobs of the
// same user, name (runs of digits apart: dates and numbers change from run to run), type and kind of stage. As soon as
// tasks of the stage itself are finished, they are asked instead.
type History struct {
	Past map[string][]sched.Time // by HistoryKey, oldest first, the last 50
	Own  Mean
}

// HistoryKey names what is alike. Fields are separated by a byte that no name has.
func HistoryKey(j *sched.JobSpec, kind sched.StageKind) string {
	return strings.Join([]string{j.User, withoutDigits(j.Name), j.Type, kind.String()}, "\x00")
}

// withoutDigits puts one # in the place of each run of digits.
func withoutDigits(name string) string {
	b := make([]byte, 0, len(name))
	for i := range len(name) {
		switch c := name[i]; {
		case c < '0' || c > '9':
			b = append(b, c)
		case i == 0 || name[i-1] < '0' || name[i-1] > '9':
			b = append(b, '#')
		}
	}
	return string(b)
}

// Observe learns from an attempt that succeeded.
func (h *History) Observe(a *sched.Attempt, ended sched.Time, c *sched.Counters) {
	h.Own.Observe(a, ended, c)
	if h.Past == nil {
		h.Past = map[string][]sched.Time{}
	}
	key := HistoryKey(a.Stage.Job.Spec, a.Stage.Kind)
	list := append(h.Past[key], ended-a.Start)
	if len(list) > samplesKept {
		list = append(list[:0], list[len(list)-samplesKept:]...)
	}
	h.Past[key] = list
}

// Estimate returns the mean of the stage's own finished tasks on a class of nodes (zero: on any). Before the first one
// there it is a guess from the other classes, and before the first one at all the mean of past tasks like them.
func (h *History) Estimate(st *sched.Stage, class sched.ClassID) sched.Estimate {
	if seen, ok := h.Own.Seen.Has(st); ok && seen.N > 0 {
		return seen.on(class)
	}
	past := h.Past[HistoryKey(st.Job.Spec, st.Kind)]
	if len(past) == 0 {
		return sched.Estimate{Mean: st.Spec.Prior}
	}
	var m Moments
	for _, t := range past {
		m.Add(t)
	}
	return m.Estimate()
}

// Changes implements Keeper: an entry holds the last task times of a kind.
func (h *History) Changes(a *sched.Attempt) string { return HistoryKey(a.Stage.Job.Spec, a.Stage.Kind) }

// Entry implements Keeper.
func (h *History) Entry(key string) any { return slices.Clone(h.Past[key]) }

// Load implements Keeper.
func (h *History) Load(key string, value []byte) error {
	var times []sched.Time
	err := json.Unmarshal(value, &times)
	if h.Past == nil {
		h.Past = map[string][]sched.Time{}
	}
	h.Past[key] = times
	return err
}

// Size returns the job's tasks at their stages' estimates.
func (h *History) Size(j *sched.Job) (sched.Work, bool) { return sizeOf(h, j) }

package yarn

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/sojourn-sched/sojourn/sched"
)

// hints are what a user says of an application in its tags, for policies that go by it:
//
//	sojourn.deadline=10m     when it should be over, from its submission on
//	sojourn.size=2h          what its containers take together, one after another, ApplicationMasters apart
//	sojourn.queue=etl        the queue that it is for, where its submission names none
//	sojourn.goal=tardiness   what finishing late costs: a metric, or costs by the time it takes, as 5m:1/10m:4
//	sojourn.weight=3         of that cost among those of others; the application's shares are not touched
type hints struct {
	deadline, size time.Duration
	queue          string
	goal           *sched.Goal // nil: nothing is said
}

const hintPrefix = "sojourn."

// readHints reads tags; wrong says, for each that begins as a hint and is none, what it must be.
func readHints(tags []string) (h hints, wrong []error) {
	for _, tag := range tags {
		rest, ours := strings.CutPrefix(tag, hintPrefix)
		if !ours {
			continue
		}
		name, value, _ := strings.Cut(rest, "=")
		var err error
		duration := func(to *time.Duration) {
			d, wrong := time.ParseDuration(value)
			if wrong != nil || d <= 0 {
				err = fmt.Errorf("must be like %s%s=10m", hintPrefix, name)
				return
			}
			*to = d
		}
		switch name {
		case "deadline":
			duration(&h.deadline)
		case "size":
			duration(&h.size)
		case "queue":
			h.queue = value
		case "goal":
			err = h.readGoal(value)
		case "weight":
			h.theGoal().Weight, err = strconv.ParseFloat(value, 64)
		default:
			err = errors.New("there are sojourn.deadline, size, queue, goal and weight")
		}
		if err != nil {
			wrong = append(wrong, fmt.Errorf("tag %q: %w", tag, err))
		}
	}
	if h.goal != nil {
		if err := (&sched.JobSpec{Deadline: h.deadline, Goal: h.goal}).ValidateTerms(); err != nil {
			h.goal = nil
			wrong = append(wrong, fmt.Errorf("tags %s: %w", strings.Join(tags, ", "), err))
		}
	}
	return h, wrong
}

// theGoal returns the goal of the application, a new one at first.
func (h *hints) theGoal() *sched.Goal {
	if h.goal == nil {
		h.goal = &sched.Goal{}
	}
	return h.goal
}

// readGoal reads the name of a metric, or the steps of a cost: 5m:1/10m:4 is 1 after 5 minutes and 4 after 10. Commas
// separate tags, so they cannot separate steps.
func (h *hints) readGoal(value string) error {
	g := h.theGoal()
	g.Steps = nil
	if m, ok := sched.MetricNamed(value); ok && m != sched.MetricSteps {
		g.Metric = m
		return nil
	}
	g.Metric = sched.MetricSteps
	for text := range strings.SplitSeq(value, "/") {
		after, cost, _ := strings.Cut(text, ":")
		at, err1 := time.ParseDuration(after)
		c, err2 := strconv.ParseFloat(cost, 64)
		if err1 != nil || err2 != nil {
			h.goal = nil
			return errors.New("must be response, stretch, tardy, tardiness, lateness, or steps as 5m:1/10m:4")
		}
		g.Steps = append(g.Steps, sched.CostStep{After: at, Cost: c})
	}
	return nil
}

// prior is what a task of a stage takes, of which nothing is known but the hint: that is shared out among the tasks
// that are asked for at first. Later stages take what is learned.
func (h *hints) prior(stage, pending int32) sched.Time {
	if stage != 1 || pending <= 0 {
		return 0
	}
	return h.size / time.Duration(pending)
}

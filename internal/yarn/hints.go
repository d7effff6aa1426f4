package yarn

import (
	"errors"
	"fmt"
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
//	sojourn.accelerators=gpu classes of nodes whose hardware its code can use, the best first, as gpu/cell
//	sojourn.map=vcores:2     what a container of its maps uses (policies ras and reverse), as vcores:2/disk-io:300000
//	sojourn.delays=3         how often policy adaptive may pass over a node without a task's input
//
// The phases of a task are read, map, sort, spill, shuffle, merge, reduce and write.
type hints struct {
	size  time.Duration
	queue string
	// terms has Deadline, Goal, Profile and Delays.
	terms sched.JobSpec
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
		known, err := h.terms.SetTerm(name, value)
		switch {
		case known:
		case name == "size":
			d, unread := time.ParseDuration(value)
			if unread != nil || d <= 0 {
				err = errors.New("must be a time above 0, such as 2h")
				break
			}
			h.size = d
		case name == "queue":
			h.queue = value
		default:
			err = errors.New("there are sojourn.deadline, size, queue, goal, weight, accelerators, delays, and the " +
				"phases of a task, as map")
		}
		if err != nil {
			wrong = append(wrong, fmt.Errorf("tag %q: %w", tag, err))
		}
	}
	if h.terms.Goal != nil {
		if err := h.terms.ValidateTerms(); err != nil {
			h.terms.Goal = nil
			wrong = append(wrong, fmt.Errorf("tags %s: %w", strings.Join(tags, ", "), err))
		}
	}
	return h, wrong
}

// prior is what a task of a stage takes when only the hint is known: that is shared out among the tasks
// that are asked for at first. Later stages take what is learned. The ApplicationMaster, stage 0, stands for all of it
// until it asks, so that the masters of small applications start first.
func (h *hints) prior(stage, pending int32) sched.Time {
	if stage > 1 || pending <= 0 {
		return 0
	}
	return h.size / time.Duration(pending)
}

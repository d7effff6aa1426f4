package yarn

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sojourn-sched/sojourn/sched"
)

// hints are what a user says to policies about an application, by tags of the application:
//
//	sojourn.deadline=10m     the application should be over so long after its submission
//	sojourn.size=2h          the sum of the times of its containers, without ApplicationMasters
//	sojourn.queue=etl        its queue, if its submission names none
//	sojourn.goal=tardiness   what it costs to finish late: a metric, or costs by sojourn time, as 5m:1/10m:4
//	sojourn.weight=3         the weight of that cost among the costs of other applications; shares do not change
//	sojourn.accelerators=gpu the classes of nodes whose hardware its code can use, the best first, as gpu/cell
//	sojourn.delays=3         how often policy adaptive may pass over a node without a task's input
//	sojourn.map=vcores:2     how much a task uses in phase map (ras, reverse), as vcores:2/disk-io:300000
//
// There is a tag like the last one for each phase of a task: read, map, sort, spill, shuffle, merge, reduce and write.
type hints struct {
	size  time.Duration
	queue string
	// terms: only Deadline, Goal, Profile and Delays are set.
	terms sched.JobSpec
}

const hintPrefix = "sojourn."

// lowerTag returns a tag in lower case. A hint stays as it is: names of queues have upper and lower case.
func lowerTag(tag string) string {
	if strings.HasPrefix(tag, hintPrefix) {
		return tag
	}
	return strings.ToLower(tag)
}

// readHints reads the hints among tags. wrong has an error for each tag that begins as a hint does and is none: it says
// what is allowed.
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

// prior returns the expected time of a task of a stage when only the hint of the size is known: the size, divided by
// the number of tasks for which the application asks first. Later stages have no prior. The ApplicationMaster (stage 0)
// counts as the whole size until it asks for containers, so that the masters of small applications start first.
func (h *hints) prior(stage, pending int32) sched.Time {
	if stage > 1 || pending <= 0 {
		return 0
	}
	return h.size / time.Duration(pending)
}

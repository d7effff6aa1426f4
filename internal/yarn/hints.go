package yarn

import (
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
type hints struct {
	deadline, size time.Duration
	queue          string
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
		duration := func(to *time.Duration) {
			d, err := time.ParseDuration(value)
			if err != nil || d <= 0 {
				wrong = append(wrong, fmt.Errorf("tag %q: must be like %s%s=10m", tag, hintPrefix, name))
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
		default:
			wrong = append(wrong, fmt.Errorf("tag %q: there are sojourn.deadline, sojourn.size and sojourn.queue", tag))
		}
	}
	return h, wrong
}

// prior is what a task of a stage takes, of which nothing is known but the hint: that is shared out among the tasks
// that are asked for at first. Later stages take what is learned.
func (h *hints) prior(stage, pending int32) sched.Time {
	if stage != 1 || pending <= 0 {
		return 0
	}
	return h.size / time.Duration(pending)
}

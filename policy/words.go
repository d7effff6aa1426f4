package policy

import (
	"fmt"
	"math"
	"time"

	"github.com/sojourn-sched/sojourn/sched"
)

// A worder is a policy that can say in words what puts a stage where it is, for the key that its method Position
// returned. The words say each part of the key, so that keys that differ have different words. Each policy has its
// words beside its key.
type worder interface {
	InWords(v *sched.View, st *sched.Stage, k sched.Key) string
}

// wordsIn returns what key k of st stands for under policy p. It returns "" if p cannot tell.
func wordsIn(p sched.Policy, v *sched.View, st *sched.Stage, k sched.Key) string {
	if w, ok := p.(worder); ok {
		return w.InWords(v, st, k)
	}
	return ""
}

// longest bounds an instant of a schedule, in seconds, so that it is one of the core's.
const longest = 9e9

// span writes a number of seconds, to a millisecond.
func span(s float64) string {
	if !(math.Abs(s) < longest) {
		return "for ever"
	}
	return seconds(s).Round(time.Millisecond).String()
}

// work writes seconds of the whole cluster.
func work(s float64) string { return span(s) + " of the whole cluster" }

// urgencyInWords says a key of urgency.
func urgencyInWords(k sched.Key) string { return fmt.Sprintf("priority %g", -k.Value) }

// holdsInWords says a key that is what a job holds of a kind for its weight.
func holdsInWords(kind sched.ResourceKind, k sched.Key) string {
	return fmt.Sprintf("it holds %.6g %v for its weight", k.Value, kind)
}

// shareInWords says a key that is a dominant share.
func shareInWords(k sched.Key) string {
	return fmt.Sprintf("dominant share %.6g for its weight", k.Value)
}

// sizedInWords says a key of an order by size, where known says its value in the class of those of known size.
func sizedInWords(k sched.Key, known func(float64) string) string {
	switch k.Class {
	case sampled:
		return "its size is unknown, and a few of its tasks come first"
	case overdue:
		return fmt.Sprintf("it should have ended, and holds %.6g tasks for its weight", k.Value)
	case ranked:
		return known(k.Value)
	}
	return "its size is unknown"
}

// dueInWords says a key of an order by deadlines.
func dueInWords(k sched.Key) string {
	at := "deadline at " + span(k.Value)
	switch k.Class {
	case dueEntitled:
		return at + ", and fewer slots than it needs for that"
	case undue:
		return "no deadline"
	case hopeless:
		return at + ", which it is not likely to meet"
	}
	return at
}

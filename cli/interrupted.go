package cli

import (
	"errors"
	"fmt"
	"io"

	"github.com/sojourn-sched/sojourn/internal/spelling"
	"github.com/sojourn-sched/sojourn/sched"
)

// An interruption is an error of a command that may have been interrupted. It says what the command leaves then, and
// how to go on.
type interruption struct {
	error
	left string
}

func (i interruption) Unwrap() error { return i.error }

// leftNothing is what most commands leave: a file gets its name when it is whole.
const leftNothing = "there is no result, and no half-written file is left; the same command begins anew"

// leaves returns the error of a command, with what the command leaves if it was interrupted; nil if err is.
func leaves(err error, left string) error {
	if err == nil {
		return nil
	}
	return interruption{err, left}
}

// sayInterrupted prints that a command was interrupted, what it leaves, and how to go on. err is the error of the
// command: an interruption, unless the command leaves nothing.
func sayInterrupted(w io.Writer, command string, err error) {
	i := interruption{left: leftNothing}
	errors.As(err, &i)
	fmt.Fprintf(w, "sojourn: '%s' was interrupted: %s\n", command, i.left)
}

// named reports whether the user named files that an interrupted run may leave.
func (l *leaving) named() bool { return l.record != "" || l.perJob != "" || len(l.plots.said) > 0 }

// left says what an interrupted simulation leaves, and how to go on.
func (l *leaving) left() string {
	if !l.named() {
		return leftNothing
	}
	return "files of policies that were done are whole, a record that was begun has what happened until then,\n" +
		"  and no other file is left; the same command with --overwrite begins anew"
}

// leftOutputs says what an interrupted run leaves, and how to go on. runs are those that ended and the one that was
// interrupted.
func (f *runFlags) leftOutputs(m *mix, policies []string, runs []*policyRun) string {
	whole := map[string]bool{} // outputs that are in place
	for _, r := range runs {
		for _, j := range r.jobs {
			if j.Outcome == sched.OK {
				whole[r.place.output(m.jobs[j.Index].Program.Output)] = true
			}
		}
	}
	overwrite := ""
	if len(whole) > 0 || f.named() {
		overwrite = " with --overwrite"
	}
	return fmt.Sprintf("%d of %s complete, and nothing else of outputs was written\n  the same command%s runs all "+
		"jobs again", len(whole), spelling.Count(len(policies)*len(m.jobs), "output is", "outputs are"), overwrite)
}

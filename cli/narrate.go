package cli

import (
	"io"
	"log/slog"
	"time"

	"github.com/sojourn-sched/sojourn/internal/record"
	"github.com/sojourn-sched/sojourn/sched"
)

// A narrator writes what happens in a run as structured logs: jobs that come and end, attempts that start and end, and
// what the policy takes back.
type narrator struct {
	log  *slog.Logger
	view *sched.View
}

// narrate returns the followers that tell of a run under a policy: one where -v asks for it, else none.
func (o *output) narrate(w io.Writer, policy string) []record.Follower {
	if !o.verbose || o.quiet {
		return nil
	}
	return []record.Follower{&narrator{log: o.logger(w).With("policy", policy)}}
}

// Attach implements record.Follower.
func (n *narrator) Attach(v *sched.View) { n.view = v }

// Record implements sched.Recorder.
func (n *narrator) Record(now sched.Time, events []sched.Event, actions []sched.Action) {
	at := slog.Duration("at", now.Round(time.Microsecond))
	for i := range events {
		n.event(at, &events[i])
	}
	for i := range actions {
		n.action(at, &actions[i])
	}
}

func (n *narrator) event(at slog.Attr, e *sched.Event) {
	switch e.Kind {
	case sched.JobSubmitted:
		spec := e.Body.(*sched.JobSpec)
		n.log.Info("job submitted", at, "job", e.Job, "name", spec.Name, "queue", spec.Queue)
	case sched.JobEnded:
		n.log.Info("job ended", at, "job", e.Job, "outcome", e.Outcome)
	case sched.NodeLost:
		n.log.Info("node lost", at, "node", e.Node)
	case sched.AttemptDone:
		if a := n.view.Attempt(e.Attempt); a != nil {
			n.log.Info("attempt ended", at, "job", a.Stage.ID.Job, "stage", a.Stage.Kind, "task", a.Task-1, "attempt",
				e.Attempt.Serial(), "outcome", e.Outcome)
		}
	}
}

func (n *narrator) action(at slog.Attr, a *sched.Action) {
	switch a.Kind {
	case sched.Launch:
		st := n.view.Stage(a.Stage)
		n.log.Info("attempt starts", at, "job", a.Stage.Job, "stage", st.Kind, "task", a.Task-1, "attempt",
			a.Attempt.Serial(), "node", a.Node)
	case sched.Kill, sched.Suspend, sched.Resume, sched.Probe:
		n.log.Info(a.Kind.String(), at, "job", a.Stage.Job, "attempt", a.Attempt.Serial(), "node", a.Node)
	}
}

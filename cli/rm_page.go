package cli

import (
	"errors"
	"net/http"

	"github.com/sojourn-sched/sojourn/internal/run"
	"github.com/sojourn-sched/sojourn/internal/web"
	"github.com/sojourn-sched/sojourn/internal/yarn"
	"github.com/sojourn-sched/sojourn/sched"
)

// A managerGuard lets the users of the page change applications as far as lists of queues and applications allow.
type managerGuard struct{ rm *yarn.ResourceManager }

// User implements web.Guard.
func (g *managerGuard) User(r *http.Request) string { return yarn.Visitor(r) }

// Views implements web.Guard.
func (g *managerGuard) Views(user string) func(sched.JobID) bool {
	if g.rm == nil {
		return nil // nothing has been submitted yet
	}
	return g.rm.Views(user)
}

// Act implements web.Guard.
func (g *managerGuard) Act(user string, job sched.JobID, what web.Action) error {
	if g.rm == nil {
		return errors.New("the ResourceManager does not serve yet")
	}
	return g.rm.Change(user, job, yarn.Change{Kill: what.Kill, Queue: what.Queue, Priority: what.Priority})
}

// pageOf adds the page to a ResourceManager that is being put together. The caller gives the guard what it guards.
func pageOf(a *app, s *run.Setup, c *yarn.Config) *managerGuard {
	about := web.About{Name: "ResourceManager", Engine: s.Engine.Name, Policy: s.Choice.Policy,
		Estimator: s.Choice.Estimator}
	if s.Record != "" {
		about.Explain = explainFrom(a, s.Record)
	}
	board, guard := web.NewBoard(about), &managerGuard{}
	s.Watch = append(s.Watch, board)
	site := web.NewSite(guard)
	site.Add(board)
	c.Page = site.Handler()
	return guard
}

package yarn

import (
	"fmt"
	"net/http"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
	"github.com/sojourn-sched/sojourn/sched"
)

// A Change is what a user wants of an application: its end, another queue, or another priority.
type Change struct {
	Kill     bool
	Queue    string // to move it to; "": it stays
	Priority *int32 // nil: as it is
}

// Change does what a user wants of the application that is a job of the core, as the same calls of Hadoop's client
// protocol do: the lists of the queue and of the application say whether the user may. It waits for a turn.
func (rm *ResourceManager) Change(user string, job sched.JobID, c Change) error {
	rm.front.groups.meet(user)
	_, err := rm.front.ask(func(m *manager) (answer, error) {
		app := m.apps.byJob[job]
		if app == nil {
			return nil, fmt.Errorf("job %d is no application that is known", job)
		}
		u := client{m, user}
		switch {
		case c.Kill:
			return u.kill(nil, &wire.KillRequest{ID: app.id, Diagnostics: "on the page"})
		case c.Queue != "":
			return u.move(&wire.Move{ID: app.id, Queue: c.Queue})
		case c.Priority != nil:
			return u.changePriority(&wire.PriorityChange{ID: app.id, Priority: wire.Priority(*c.Priority)})
		}
		return nil, fmt.Errorf("nothing is wanted of job %d", job)
	})
	return err
}

// Views returns which jobs of the core a user may look at: those of applications that the user may see (VIEW_APP), and,
// of an administrator, all. Nil: every user may look at everything, as no lists count. It waits for a turn, which costs
// O(applications).
func (rm *ResourceManager) Views(user string) func(sched.JobID) bool {
	if !rm.front.config.Access.Lists {
		return nil
	}
	rm.front.groups.meet(user)
	all, seen := false, map[sched.JobID]bool{}
	rm.front.look(func(m *manager) {
		j := m.judge(user)
		all = j.admin
		for id, app := range m.apps.byJob {
			seen[id] = j.may(app, wire.ViewApp)
		}
	})
	if all {
		return nil
	}
	return func(job sched.JobID) bool { return seen[job] }
}

// Visitor returns the user of a request of a browser, as REST does.
func Visitor(r *http.Request) string { return visitor(r) }

// servePage serves the page of the configuration, at paths that Hadoop does not serve; nil: there is none.
func servePage(mux *http.ServeMux, page http.Handler) {
	if page == nil {
		return
	}
	for _, path := range []string{"GET /{$}", "GET /static/", "GET /api/", "POST /api/"} {
		mux.Handle(path, page)
	}
}

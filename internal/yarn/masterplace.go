package yarn

import (
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/rpc"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
	"github.com/sojourn-sched/sojourn/sched"
)

// Where an application's next ApplicationMaster may be started, how the core learns of that, and how many of its
// failures count.

// mostMasterPlaces bounds the hosts and racks that a submission names for its ApplicationMaster.
const mostMasterPlaces = 1000

// checkMaster reports why a submission's requests for its ApplicationMaster are not taken, in Hadoop's words
// (RMAppManager.validateAndCreateResourceRequest). An ApplicationMaster that its user starts needs none.
func checkMaster(s *wire.Submission) error {
	switch n := len(s.Master); {
	case n > mostMasterPlaces: // also of one that needs none: they are kept
		return rpc.Errorf(classInvalidResource, "Invalid resource request, the ApplicationMaster's names %d places: "+
			"may be up to %d", n, mostMasterPlaces)
	case s.Unmanaged || n == 0:
		return nil
	}
	total := 0
	for i := range s.Master {
		q := &s.Master[i]
		if q.Place == wire.Anywhere || q.Place == "" {
			total++
		}
		if q.Label != "" {
			return rpc.Errorf(classInvalidLabel, "Invalid resource request, node label not enabled "+
				"but request contains label expression: %.100q", q.Label)
		}
	}
	switch {
	case total == 0:
		return rpc.Errorf(classInvalidResource, "Invalid resource request, no resource request specified with *")
	case total > 1:
		return rpc.Errorf(classInvalidResource, "Invalid resource request, only one resource request with * is allowed")
	}
	return nil
}

// near returns a group of one container with the hosts and racks that the submission names for the ApplicationMaster;
// nil: it names none, and any node will do. O(places named).
func (app *application) near() *group {
	if app.submission.Unmanaged || len(app.submission.Master) < 2 {
		return nil
	}
	g := &group{total: 1, relax: true, places: map[string]wire.ResourceRequest{}}
	for _, q := range app.submission.Master {
		if q.Place == wire.Anywhere || q.Place == "" {
			g.relax = q.Relax
			continue
		}
		q.Containers = 1
		g.places[q.Place] = q
	}
	return g
}

// countedAttempts returns how many failures of the ApplicationMaster the core counts until the application has failed.
// Where failures expire they are counted here, and the core learns of the last alone.
func (app *application) countedAttempts() int32 {
	if app.submission.Validity > 0 {
		return 1
	}
	return app.mostAttempts()
}

// forgiving reports whether the application goes on after the failure of an attempt, because failures expire and too
// few are left (attempt_failures_validity_interval).
func (app *application) forgiving() bool {
	return app.submission.Validity > 0 && app.failures() < app.mostAttempts()
}

// mostAttempts returns how many attempts of its ApplicationMaster may fail before the application has failed.
func (app *application) mostAttempts() int32 {
	if n := app.submission.MaxAttempts; n > 0 {
		return min(n, app.m.config.Apps.Attempts)
	}
	return app.m.config.Apps.Attempts
}

// noteMaster notes for the core where the next ApplicationMaster may be started, and whether there is to be one.
func (app *application) noteMaster() {
	if app.submission.Unmanaged {
		return
	}
	j := app.m.core.Job(app.job)
	if j == nil || j.Ended {
		return
	}
	asks := &sched.Asks{Banned: app.excluded()}
	if g := app.near(); g != nil {
		asks.Only, asks.Near = g.only(&app.m.nodes), g.near(&app.m.nodes)
	}
	// The core may not have heard of the end of the last one yet, so what it has pending does not count.
	if a := app.current(); a == nil || a.ended() && (a.master == nil || a.master.state == done) {
		asks.Pending = 1
	}
	app.m.note(sched.Event{Kind: sched.AsksChanged, Job: app.job, Body: asks})
}

// starting reports whether the application waits for an ApplicationMaster to be started.
func (app *application) starting() bool {
	a := app.current()
	return !app.over && (a == nil || a.ended())
}

// retry notes that the core must learn again where ApplicationMasters that wait may be started, because nodes have
// changed. It notes nothing if no node is excluded now, or was when nodes changed last.
func (t *appTable) retry(m *manager) {
	wary := t.wary > 0 || m.live.shunned.count > 0
	t.again = t.again || wary || t.wasWary
	t.wasWary = wary
}

// noteMasters notes for the core where ApplicationMasters that wait may be started, if nodes have changed: once before
// a Step, however many have.
func (t *appTable) noteMasters() {
	if !t.again && !t.nearer {
		return
	}
	for _, app := range t.list {
		if app.starting() && (t.again || app.near() != nil) {
			app.noteMaster()
		}
	}
	t.again, t.nearer = false, false
}

package yarn

import (
	"cmp"
	"slices"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
	"github.com/sojourn-sched/sojourn/sched"
)

// newAppTable returns an empty table. The ids that it gives to applications have the timestamp, in ms since 1970.
func newAppTable(timestamp int64) appTable {
	return appTable{
		ids:     appIDs{timestamp: timestamp},
		byID:    map[wire.ApplicationID]*application{},
		byJob:   map[sched.JobID]*application{},
		trimmed: map[endedApp]int{},
		logs:    map[wire.ApplicationID]*collection{},
	}
}

// add puts a new application into the table, as the next job of the core.
func (t *appTable) add(app *application) {
	t.newest++
	t.order++
	app.job = t.newest
	if app.order == 0 {
		app.order = t.order
	}
	t.order = max(t.order, app.order)
	t.byID[app.id] = app
	t.byJob[app.job] = app
	t.list = append(t.list, app)
	app.footprint = app.submission.Footprint()
	for _, list := range app.access {
		app.footprint += int64(len(list))
	}
	t.footprint += app.footprint
}

// unfinished returns how many applications are not over.
func (t *appTable) unfinished() int { return len(t.list) - t.gone }

// mostFootprint bounds the memory that all applications' footprints may make up, in bytes.
const mostFootprint = 1 << 30

// letGo frees what only the launch of an application's master needs.
func (t *appTable) letGo(app *application) {
	app.submission.DropLaunch()
	t.footprint, app.footprint = t.footprint-app.footprint, 0
}

// pageOfApps is how many applications one turn looks at for a list of them.
const pageOfApps = 100

// page calls visit for the applications that were submitted after job, pageOfApps at most, until visit returns false.
// It returns the job to go on after, and whether to go on.
func (t *appTable) page(job sched.JobID, visit func(*application) bool) (last sched.JobID, more bool) {
	first, _ := slices.BinarySearchFunc(t.list, job+1, func(app *application, id sched.JobID) int {
		return cmp.Compare(app.job, id)
	})
	rest := t.list[first:]
	for _, app := range rest[:min(len(rest), pageOfApps)] {
		if last = app.job; !visit(app) {
			return last, false
		}
	}
	return last, len(rest) > pageOfApps
}

// trim forgets the oldest of the applications that are over and have nothing left, beyond the keep latest.
func (t *appTable) trim(keep int) {
	for i := 0; t.gone > keep && i < len(t.list); {
		app := t.list[i]
		if !app.over || !app.cleared() {
			i++
			continue
		}
		t.list = append(t.list[:i], t.list[i+1:]...)
		delete(t.byID, app.id)
		delete(t.byJob, app.job)
		t.forgetLogs(app)
		app.forgotten = true
		t.trimmed[endedApp{app.queue, app.state}]++
		app.save()
		t.gone--
	}
}

// A tally counts applications as Hadoop's metrics do. An application that waits for its ApplicationMaster to be started
// is pending, and any other one that lives runs.
type tally struct{ submitted, pending, running, completed, failed, killed int64 }

// add counts n applications in a state. pending: they wait for their ApplicationMasters.
func (c *tally) add(state wire.AppState, pending bool, n int64) {
	c.submitted += n
	switch {
	case state == wire.AppFinished:
		c.completed += n
	case state == wire.AppFailed:
		c.failed += n
	case state == wire.AppKilled:
		c.killed += n
	case pending:
		c.pending += n
	default:
		c.running += n
	}
}

// tallies counts all applications by the path of their queue and of each queue above it; "" is the root. Applications
// that are not reported any more count, too. O(applications).
func (t *appTable) tallies() map[string]*tally {
	all := map[string]*tally{"": {}}
	add := func(path string, state wire.AppState, pending bool, n int64) {
		if all[path] == nil {
			all[path] = &tally{}
		}
		all[path].add(state, pending, n)
	}
	addTo := func(queue string, state wire.AppState, pending bool, n int64) {
		add("", state, pending, n)
		for i, r := range queue {
			if r == '.' {
				add(queue[:i], state, pending, n)
			}
		}
		add(queue, state, pending, n)
	}
	for _, app := range t.list {
		addTo(app.queue, app.state, app.starting(), 1)
	}
	for ended, n := range t.trimmed {
		addTo(ended.queue, ended.state, false, int64(n))
	}
	return all
}

// cleared reports whether the nodes may have forgotten all containers of the application.
func (app *application) cleared() bool {
	for _, a := range app.attempts {
		if a.containers.count > 0 {
			return false
		}
	}
	return true
}

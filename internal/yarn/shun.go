package yarn

import (
	"slices"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
	"github.com/sojourn-sched/sojourn/sched"
)

// Where ApplicationMasters are not started.
//
// A node where a launch or the process of an ApplicationMaster has failed is excluded for the application's next
// attempts, until a NodeManager registers there again. Otherwise a node where every process fails at once would always
// have room for the next one. A node on which shunLaunches launches in a row have failed is excluded for the
// ApplicationMasters of all applications, until one starts there, the node registers again, or shunTime is over. If no
// node would be left that is large enough, none is excluded.

// shunLaunches is how many launches on a node fail in a row until it is excluded for all.
const shunLaunches = 2

// A shunnedNode is a node on which no ApplicationMaster is started. When it expires, after shunTime, its failures are
// forgotten.
type shunnedNode node

func (n *shunnedNode) expired() { (*node)(n).trust() }

// distrust notes that a launch on the node failed.
func (n *node) distrust() {
	if n.launches.failures++; n.launches.failures < shunLaunches {
		return
	}
	n.m.live.shunned.watch(&n.launches.shunned, n.m.now, (*shunnedNode)(n))
	n.m.apps.retry(n.m)
	n.m.log.Warn("no application master is started on a node: launches there failed", "node", n.name,
		"launches", n.launches.failures, "for", shunTime)
}

// trust forgets launches that failed on the node.
func (n *node) trust() {
	if n.launches.failures >= shunLaunches {
		n.launches.failures = 0
		n.launches.shunned.leave()
		n.m.apps.retry(n.m)
	}
	n.launches.failures = 0
}

// shun excludes a node for the application's next attempts. The core must know before it hears that the attempt has
// ended, or in the same Step.
func (app *application) shun(n *node) {
	if app.shunned == nil {
		app.shunned = map[*node]int32{}
		app.m.apps.wary++
	}
	app.shunned[n] = n.registration
	app.noteMaster()
}

// blamesNode reports whether the exit status of an ApplicationMaster's container may be its node's fault, as in Hadoop
// (RMAppAttemptImpl.shouldCountTowardsNodeBlacklisting).
func blamesNode(exit int32) bool {
	switch exit {
	case 0, wire.ExitVirtual, wire.ExitMemory, wire.ExitByMaster, wire.ExitAfterApp:
		return false
	}
	return !blamelessExit(exit)
}

// excluded returns the nodes on which no ApplicationMaster of the application is started, sorted; nil if no other node
// is left that is large enough for one.
func (app *application) excluded() (ids []sched.NodeID) {
	for n, then := range app.shunned {
		if n.registration == then && n.fresh() {
			ids = append(ids, n.sched)
		}
	}
	for thing := range app.m.live.shunned.all() {
		if n := (*node)(thing.(*shunnedNode)); n.fresh() {
			ids = append(ids, n.sched)
		}
	}
	slices.Sort(ids)
	if ids = slices.Compact(ids); len(ids) == 0 || !canStartBeside(app, ids) {
		return nil
	}
	return ids
}

// canStartBeside reports whether an ApplicationMaster of the application may be started on a node that is large enough
// and not one of ids, which are sorted. It looks at nodes until it finds one.
func canStartBeside(app *application, ids []sched.NodeID) bool {
	t, sizes := &app.m.nodes, &app.m.config.Sizes
	size, _ := app.submission.MasterResource()
	wants := sizes.amount(sizes.normal(size))
	fits := func(n *node) bool {
		_, not := slices.BinarySearch(ids, n.sched)
		return !not && n.fresh() && wants.FitsIn(sizes.amount(n.capacity))
	}
	if g := app.near(); g != nil && !g.relax { // it may be started on a few nodes only
		return slices.ContainsFunc(g.only(t), func(id sched.NodeID) bool { return fits(t.list[id-1]) })
	}
	return slices.ContainsFunc(t.list, fits)
}

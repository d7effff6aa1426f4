package yarn

import (
	"cmp"
	"slices"

	"github.com/sojourn-sched/sojourn/sched"
	"github.com/sojourn-sched/sojourn/yarn/internal/rpc"
	"github.com/sojourn-sched/sojourn/yarn/internal/wire"
)

// mostStages bounds how many kinds of containers one application may ask for.
const mostStages = 4096

// An askTable is what an application wants. Asks are absolute: a new one for a place replaces the one before, zero takes it back. Those of one
// priority and allocation id are a group, with one size at a time; a group with a size is a stage of the core.
type askTable struct {
	groups map[groupKey]*group
	stages []stageKey // by index in the core
	index  map[stageKey]int32
	banned map[string]bool // hosts and racks that the application does not want
	bans   []sched.NodeID  // the nodes that these are, sorted
}

type groupKey struct {
	priority   wire.Priority
	allocation int64
}

type stageKey struct {
	groupKey
	size wire.Resource
}

// A group is the asks of one priority and allocation id. The request for anywhere carries the total; those for hosts and racks are hints, and bounds
// where farther places will not do.
type group struct {
	stage  int32 // in the core; 0: none yet
	size   wire.Resource
	total  int32
	relax  bool // any node will do
	places map[string]wire.ResourceRequest
	strict bool  // the core was told to use some nodes only
	owed   int32 // containers that were granted and that the ApplicationMaster has not heard of
}

// newAskTable returns the table of an application whose ApplicationMaster's container is stage 0.
func newAskTable() askTable {
	return askTable{groups: map[groupKey]*group{}, stages: make([]stageKey, 1), index: map[stageKey]int32{}, banned: map[string]bool{}}
}

// kindOf is the kind of a stage: MapReduce tells its tasks apart by priority.
func kindOf(appType string, p wire.Priority) sched.StageKind {
	if appType == "MAPREDUCE" {
		switch p {
		case 20, 19, 5: // maps, opportunistic ones, and those to be run again
			return sched.Map
		case 10:
			return sched.Reduce
		}
	}
	return sched.Other
}

// checkAsks reports what is wrong with the asks of a call, before any of them is taken.
func (m *manager) checkAsks(q *wire.AllocateRequest) error {
	for i := range q.Asks {
		a := &q.Asks[i]
		switch err := m.config.Sizes.check(a.Resource); {
		case err != nil:
			return rpc.Errorf(classInvalidResource, "Invalid resource request! %v", err)
		case a.Containers < 0:
			return rpc.Errorf(classInvalidResource, "Invalid resource request! %d containers", a.Containers)
		case a.Label != "" && a.Label != "*":
			return rpc.Errorf(classInvalidLabel, "Invalid resource request! Node label %q: there are none", a.Label)
		}
	}
	if slices.Contains(q.Blacklist.Add, wire.Anywhere) {
		return rpc.Errorf(classInvalidBlacklist, "Cannot add %s to the blacklist!", wire.Anywhere)
	}
	return nil
}

// ask takes the asks and the blacklist of a call in.
func (app *application) ask(q *wire.AllocateRequest) error {
	t := &app.asks
	for _, place := range q.Blacklist.Add {
		t.banned[place] = true
	}
	for _, place := range q.Blacklist.Remove {
		delete(t.banned, place)
	}
	rebanned := len(q.Blacklist.Add)+len(q.Blacklist.Remove) > 0
	if rebanned {
		app.ban()
	}
	var changed []*group
	keys := map[*group]groupKey{}
	for i := range q.Asks {
		a := &q.Asks[i]
		key := groupKey{a.Priority, a.Allocation}
		g := t.groups[key]
		if g == nil {
			g = &group{places: map[string]wire.ResourceRequest{}, relax: true}
			t.groups[key] = g
		}
		g.take(a, app.m.config.Sizes)
		if _, ok := keys[g]; !ok {
			changed = append(changed, g)
			keys[g] = key
		}
	}
	for _, g := range changed {
		if err := app.settle(keys[g], g); err != nil {
			return err
		}
	}
	if rebanned && len(changed) == 0 {
		app.rebanned()
	}
	return nil
}

// take puts one ask into its group. A total was counted without what its sender has not heard of yet: that is taken off, or it would be
// granted twice.
func (g *group) take(a *wire.ResourceRequest, sizes Sizes) {
	if a.Place == wire.Anywhere {
		g.total, g.relax, g.size = max(0, a.Containers-g.owed), a.Relax, sizes.normal(a.Resource)
		return
	}
	if g.size == (wire.Resource{}) {
		g.size = sizes.normal(a.Resource)
	}
	if a.Containers == 0 {
		delete(g.places, a.Place)
		return
	}
	g.places[a.Place] = *a
}

// settle tells the core what a group wants now: of its stage, and nothing any more of the stage that it had with another size.
func (app *application) settle(key groupKey, g *group) error {
	t := &app.asks
	stage, known := t.index[stageKey{key, g.size}]
	if g.stage != 0 && (!known || g.stage != stage) {
		app.tellAsks(&sched.Asks{Stage: g.stage})
	}
	asks := &sched.Asks{Pending: g.total, Only: g.only(&app.m.nodes), Near: g.near(&app.m.nodes)}
	if !known {
		if g.total == 0 {
			return nil
		}
		if len(t.stages) == mostStages {
			return rpc.Errorf(classInvalidResource, "Invalid resource request! More than %d kinds of containers", mostStages)
		}
		stage = int32(len(t.stages))
		t.index[stageKey{key, g.size}] = stage
		t.stages = append(t.stages, stageKey{key, g.size})
		asks.Spec = &sched.StageSpec{Kind: kindOf(app.submission.Type, key.priority), PerTask: amount(g.size), Tasks: -1,
			Prior: app.hints.prior(stage, g.total)}
	}
	g.stage, asks.Stage = stage, stage
	g.strict = asks.Only != nil
	app.tellAsks(asks)
	return nil
}

func (app *application) tellAsks(asks *sched.Asks) {
	asks.Banned = app.asks.bans
	app.m.note(sched.Event{Kind: sched.AsksChanged, Job: app.job, Body: asks})
}

// only returns the nodes that a group is bound to; nil: none.
func (g *group) only(nodes *nodeTable) []sched.NodeID {
	if g.relax {
		return nil
	}
	ids := []sched.NodeID{}
	for place, a := range g.places {
		if a.Containers > 0 && (a.Relax || !nodes.isRack(place)) {
			ids = append(ids, nodes.named(place)...)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// near returns where the containers of a group would be, by node and by rack.
func (g *group) near(nodes *nodeTable) (list []sched.Near) {
	if g.total == 0 {
		return nil
	}
	for place, a := range g.places {
		switch {
		case !nodes.isRack(place):
			for _, id := range nodes.named(place) {
				list = append(list, sched.Near{Node: id, Tasks: a.Containers})
			}
		case a.Relax || g.relax:
			if rack, ok := nodes.racks[place]; ok {
				list = append(list, sched.Near{Rack: rack, Tasks: a.Containers})
			}
		}
	}
	slices.SortFunc(list, func(a, b sched.Near) int {
		if a.Node == 0 || b.Node == 0 { // nodes before racks
			return cmp.Or(cmp.Compare(b.Node, a.Node), cmp.Compare(a.Rack, b.Rack))
		}
		return cmp.Compare(a.Node, b.Node)
	})
	return list
}

// placed takes a container that was granted off its group's counts: off the host's, the rack's and the total, as far as they go.
func (g *group) placed(n *node) {
	g.owed++
	g.total = max(0, g.total-1)
	for _, place := range []string{n.id.Host, n.rack} {
		if a, ok := g.places[place]; ok {
			if a.Containers--; a.Containers == 0 {
				delete(g.places, place)
			} else {
				g.places[place] = a
			}
		}
	}
}

// ban works out which nodes the blacklist names.
func (app *application) ban() {
	t := &app.asks
	t.bans = nil
	for place := range t.banned {
		t.bans = append(t.bans, app.m.nodes.named(place)...)
	}
	slices.Sort(t.bans)
	t.bans = slices.Compact(t.bans)
}

// rebanned tells the core of a blacklist that changed without an ask.
func (app *application) rebanned() {
	if len(app.asks.stages) > 1 {
		key := app.asks.stages[1]
		g := app.asks.groups[key.groupKey]
		asks := &sched.Asks{Stage: 1}
		if g.stage == 1 {
			asks.Pending, asks.Only, asks.Near = g.total, g.only(&app.m.nodes), g.near(&app.m.nodes)
		}
		app.tellAsks(asks)
	}
}

// nodeCame looks again at what was asked of some places, and at the blacklist: a node that has come may be meant.
func (app *application) nodeCame() {
	if len(app.asks.banned) > 0 {
		app.ban()
		app.rebanned()
	}
	for _, key := range app.asks.stages[1:] {
		if g := app.asks.groups[key.groupKey]; (g.strict || len(g.places) > 0) && g.size == key.size {
			app.settle(key.groupKey, g) // the stage is known: no error is possible
		}
	}
}

// drop takes all asks back, and the blacklist: the next ApplicationMaster may start anywhere, and only one that keeps its containers is bound by what
// the one before did not want.
func (app *application) drop() {
	t := &app.asks
	t.bans = nil
	if !app.submission.KeepContainers {
		clear(t.banned)
	}
	for i := range t.stages[1:] {
		app.tellAsks(&sched.Asks{Stage: int32(i + 1)})
	}
	for _, g := range t.groups {
		g.total, g.owed = 0, 0
		clear(g.places)
	}
}

// unplaced puts a container back that was granted and is over before the ApplicationMaster has heard of it.
func (app *application) unplaced(c *container) {
	key := groupKey{c.priority, c.group}
	g := app.asks.groups[key]
	g.owed--
	g.total++
	app.settle(key, g) // the stage is known: no error is possible
}

// pending is what an application still waits for.
func (app *application) pending() (n int32) {
	for _, g := range app.asks.groups {
		n += g.total
	}
	return n
}

// isRack reports whether a place is a rack, which it is when its name is a path.
func (t *nodeTable) isRack(place string) bool { return len(place) > 0 && place[0] == '/' }

package yarn

import (
	"slices"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/rpc"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
	"github.com/sojourn-sched/sojourn/sched"
)

// Limits on the asks of one application: kinds of containers, and hosts and racks (as many again in its blacklist).
const (
	mostStages = 4096
	mostPlaces = 1 << 16
	mostWanted = 1_000_000 // containers of one kind
)

// kind returns the parts of the key that matter to the core.
func (k stageKey) kind() askKind { return askKind{k.priority, k.size} }

// newAskTable returns the table of an application whose ApplicationMaster's container is stage 0.
func newAskTable() askTable {
	return askTable{
		groups: map[groupKey]*group{},
		stages: make([]stageKey, 1),
		idle:   map[askKind][]int32{},
		banned: map[string]bool{},
	}
}

// kindOf returns the kind of a stage. MapReduce asks for maps and reduces with different priorities.
func kindOf(appType string, p wire.Priority) sched.StageKind {
	if appType == "MAPREDUCE" {
		switch p {
		case 20, 19, 5: // maps, opportunistic maps, and maps that run again
			return sched.Map
		case 10:
			return sched.Reduce
		}
	}
	return sched.Other
}

// checkAsks returns an error if an ask is wrong whatever the application has asked for before. most is the largest size
// of a container.
func (s Sizes) checkAsks(asks []wire.ResourceRequest, most wire.Resource) error {
	for i := range asks {
		a := &asks[i]
		switch err := s.check(a.Resource, most); {
		case err != nil:
			return rpc.Errorf(classInvalidResource, "Invalid resource request! %v", err)
		case a.Containers < 0 || a.Containers > mostWanted:
			return rpc.Errorf(classInvalidResource, "Invalid resource request! %d containers", a.Containers)
		case len(a.Place) > mostName:
			return rpc.Errorf(classInvalidResource, "Invalid resource request! A host or rack of %d bytes, may have %d",
				len(a.Place), mostName)
		case a.Label != "" && a.Label != "*":
			return rpc.Errorf(classInvalidLabel, "Invalid resource request! Node label %q: there are none", a.Label)
		}
	}
	return nil
}

// checkAsks returns an error if the asks or the blacklist of a call are wrong. It is called before any of them is
// taken.
func (app *application) checkAsks(q *wire.AllocateRequest) error {
	if len(q.Asks) > 0 {
		if err := app.m.config.Sizes.checkAsks(q.Asks, askable(app.m)); err != nil {
			return err
		}
	}
	t := &app.asks
	if n := len(t.stages) + t.newStages(q, app.m.config.Sizes); n > mostStages {
		return rpc.Errorf(
			classInvalidResource,
			"Invalid resource request! More than %d kinds of containers",
			mostStages,
		)
	}
	if n := t.places + t.newPlaces(q); n > mostPlaces {
		return rpc.Errorf(
			classInvalidResource,
			"Invalid resource request! %d hosts and racks are asked for, may be %d",
			n,
			mostPlaces,
		)
	}
	banned := len(t.banned)
	long := func(place string) bool { return len(place) > mostName }
	for _, place := range q.Blacklist.Add {
		if !t.banned[place] {
			banned++
		}
	}
	switch {
	case slices.ContainsFunc(q.Blacklist.Add, long):
		return rpc.Errorf(classInvalidBlacklist, "Cannot add to the blacklist: a host or rack has more than %d bytes",
			mostName)
	case slices.Contains(q.Blacklist.Add, wire.Anywhere):
		return rpc.Errorf(classInvalidBlacklist, "Cannot add %s to the blacklist!", wire.Anywhere)
	case banned > mostPlaces:
		return rpc.Errorf(
			classInvalidBlacklist,
			"Cannot add to the blacklist: %d hosts and racks, may be %d",
			banned,
			mostPlaces,
		)
	}
	return nil
}

// newStages returns how many further stages a call needs. It returns 0 without counting if even one stage for each ask
// would be within mostStages.
func (t *askTable) newStages(q *wire.AllocateRequest, sizes Sizes) (n int) {
	if len(t.stages)+len(q.Asks) <= mostStages {
		return 0
	}
	wanted := map[groupKey]wire.Resource{}
	for i := range q.Asks {
		if a := &q.Asks[i]; a.Place == wire.Anywhere {
			key := groupKey{a.Priority, a.Allocation, 0}
			if delete(wanted, key); a.Containers > 0 {
				wanted[key] = sizes.normal(a.Resource)
			}
		}
	}
	again := map[askKind]int{}
	for key, size := range wanted {
		if g := t.groups[key]; g != nil && t.fits(g, size) {
			continue
		}
		if k := (askKind{key.priority, size}); again[k] < len(t.idle[k]) {
			again[k]++
		} else {
			n++
		}
	}
	return n
}

// newPlaces returns how many hosts and racks of a call the application has not asked for yet.
func (t *askTable) newPlaces(q *wire.AllocateRequest) (n int) {
	for i := range q.Asks {
		a := &q.Asks[i]
		if a.Place == wire.Anywhere || a.Containers == 0 {
			continue
		}
		g := t.groups[groupKey{a.Priority, a.Allocation, 0}]
		if g == nil {
			n++
		} else if _, there := g.places[a.Place]; !there {
			n++
		}
	}
	return n
}

// ask applies the asks and the blacklist of a call, which have been checked.
func (app *application) ask(q *wire.AllocateRequest) {
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
	for i := range q.Asks {
		a := &q.Asks[i]
		key := groupKey{a.Priority, a.Allocation, 0}
		g := t.groups[key]
		if g == nil {
			if a.Containers == 0 {
				continue
			}
			g = &group{key: key, relax: true}
			t.groups[key] = g
		}
		t.take(g, a, app.m.config.Sizes)
		if !g.changed {
			g.changed = true
			changed = append(changed, g)
		}
	}
	for _, g := range changed {
		g.changed = false
		rebanned = !app.settle(g) && rebanned
	}
	if rebanned { // and no ask told the core of it
		app.rebanned()
	}
}

// take applies ask a to its group. The sender has not heard of some granted containers (group.owed) when it counts the
// total. They are subtracted from it, or they would be granted twice.
func (t *askTable) take(g *group, a *wire.ResourceRequest, sizes Sizes) {
	if a.Place == wire.Anywhere {
		t.want(g, max(0, a.Containers-g.owed))
		g.relax, g.size = a.Relax, sizes.normal(a.Resource)
		return
	}
	if g.size == (wire.Resource{}) {
		g.size = sizes.normal(a.Resource)
	}
	before := len(g.places)
	if a.Containers == 0 {
		delete(g.places, a.Place)
	} else {
		if g.places == nil {
			g.places = map[string]wire.ResourceRequest{}
		}
		g.places[a.Place] = *a
	}
	t.places += len(g.places) - before
}

// want changes how many containers a group waits for.
func (t *askTable) want(g *group, n int32) {
	t.pending += int64(n) - int64(g.total)
	g.total = n
}

// fits reports whether a group has a stage, for containers of a size.
func (t *askTable) fits(g *group, size wire.Resource) bool {
	return g.stage != 0 && t.stages[g.stage].size == size
}

// settle notes for the core how many containers a group wants now of its stage. Of the stage that it had for another
// size, it wants none any more.
func (app *application) settle(g *group) (noted bool) {
	t := &app.asks
	if g.stage != 0 && !t.fits(g, g.size) {
		app.noteAsks(&sched.Asks{Stage: g.stage})
		t.leave(g)
	}
	if g.stage != 0 || g.total > 0 {
		asks := &sched.Asks{Pending: g.total, Only: g.only(&app.m.nodes), Near: g.near(&app.m.nodes)}
		if g.stage == 0 {
			asks.Spec = app.enter(g)
		}
		asks.Stage, noted = g.stage, true
		app.noteAsks(asks)
	}
	t.forget(g)
	return noted
}

// enter gives a group a stage: an idle one, or a new one, for which it returns the spec.
func (app *application) enter(g *group) *sched.StageSpec {
	t, key := &app.asks, stageKey{g.key, g.size}
	if list := t.idle[key.kind()]; len(list) > 0 {
		g.stage, t.idle[key.kind()] = list[len(list)-1], list[:len(list)-1]
		t.stages[g.stage] = key
		return nil
	}
	g.stage = int32(len(t.stages))
	t.stages = append(t.stages, key)
	return &sched.StageSpec{
		Kind:    kindOf(app.submission.Type, g.key.priority),
		PerTask: app.m.config.Sizes.amount(g.size),
		Tasks:   -1,
		Prior:   app.hints.prior(g.stage, g.total),
	}
}

// leave makes the stage of a group, which waits for nothing any more, idle.
func (t *askTable) leave(g *group) {
	k := t.stages[g.stage].kind()
	t.idle[k] = append(t.idle[k], g.stage)
	g.stage = 0
}

// forget removes a group if it has no asks any more.
func (t *askTable) forget(g *group) {
	if g.total == 0 && g.owed == 0 && len(g.places) == 0 {
		if g.stage != 0 {
			t.leave(g)
		}
		delete(t.groups, g.key)
	}
}

// noteAsks notes asks for the core, with the nodes that the application does not want. While the application waits for
// its ApplicationMaster, these are the nodes on which no ApplicationMaster is started.
func (app *application) noteAsks(asks *sched.Asks) {
	if asks.Banned = app.asks.bans; app.starting() {
		asks.Banned = app.excluded()
	}
	app.m.note(sched.Event{Kind: sched.AsksChanged, Job: app.job, Body: asks})
}

// only returns the nodes that a group may use; nil: all. Groups that are bound to one rack share the list of its
// nodes, because there may be thousands of such groups and of nodes.
func (g *group) only(nodes *nodeTable) []sched.NodeID {
	if g.on != nil {
		return []sched.NodeID{g.on.sched}
	}
	if g.relax {
		return nil
	}
	lists, n := [][]sched.NodeID{}, 0
	for place, a := range g.places {
		if a.Containers > 0 && (a.Relax || !nodes.isRack(place)) {
			list := nodes.named(place)
			lists, n = append(lists, list), n+len(list)
		}
	}
	if len(lists) == 1 {
		return lists[0]
	}
	ids := make([]sched.NodeID, 0, n)
	for _, list := range lists {
		ids = append(ids, list...)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// near returns on which nodes and racks the containers of a group would run, and how many on each.
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
	slices.SortFunc(list, sched.Near.Compare)
	return list
}

// placed subtracts a container that was granted on node n from its group's counts: those of the host and the rack, and
// the total. Counts do not fall below zero.
func (t *askTable) placed(g *group, n *node) {
	g.owed++
	t.want(g, max(0, g.total-1))
	for _, place := range []string{n.id.Host, n.rack} {
		if a, ok := g.places[place]; ok {
			if a.Containers--; a.Containers == 0 {
				delete(g.places, place)
				t.places--
			} else {
				g.places[place] = a
			}
		}
	}
}

// heard notes that the ApplicationMaster hears of granted container c.
func (t *askTable) heard(c *container) {
	g := t.groups[groupKey{c.priority, c.group, 0}]
	g.owed--
	t.forget(g)
}

// ban computes which nodes the blacklist names.
func (app *application) ban() {
	t := &app.asks
	t.bans = nil
	for place := range t.banned {
		t.bans = append(t.bans, app.m.nodes.named(place)...)
	}
	slices.Sort(t.bans)
	t.bans = slices.Compact(t.bans)
}

// rebanned notes for the core a blacklist that changed without an ask.
func (app *application) rebanned() {
	if t := &app.asks; len(t.stages) > 1 {
		asks := &sched.Asks{Stage: 1}
		if g := t.of(1); g != nil {
			asks.Pending, asks.Only, asks.Near = g.total, g.only(&app.m.nodes), g.near(&app.m.nodes)
		}
		app.noteAsks(asks)
	}
}

// of returns the group that has a stage; nil: none has.
func (t *askTable) of(stage int32) *group {
	if g := t.groups[t.stages[stage].groupKey]; g != nil && g.stage == stage {
		return g
	}
	return nil
}

// meet notes again, for the core, the asks that name the hosts and racks of nodes that have come in this turn. It is
// called once a turn, because thousands of nodes may come at once.
func meet(m *manager) {
	came := m.nodes.came
	if len(came) == 0 {
		return
	}
	m.nodes.came, m.apps.nearer = map[string]bool{}, true
	for _, app := range m.apps.list {
		if a := app.current(); !app.over && a != nil && !a.ended() {
			app.reask(came)
		}
	}
}

// reask notes again, for the core, the asks and the blacklist that name one of places: hosts and racks whose nodes have
// changed. The value of a place is false if asks that relax locality need not be noted again.
func (app *application) reask(places map[string]bool) {
	t := &app.asks
	if overlap(t.banned, places, func(string) bool { return true }) {
		app.ban()
		app.rebanned()
	}
	if t.places == 0 {
		return
	}
	for i := range t.stages[1:] {
		g := t.of(int32(i + 1))
		if g != nil && overlap(g.places, places, func(p string) bool { return places[p] || !g.relax }) {
			app.settle(g)
		}
	}
}

// overlap reports whether two maps have a key in common for which counts is true. O(the smaller one).
func overlap[A, B any](a map[string]A, b map[string]B, counts func(key string) bool) bool {
	if len(a) > len(b) {
		return overlap(b, a, counts)
	}
	for key := range a {
		if _, both := b[key]; both && counts(key) {
			return true
		}
	}
	return false
}

// drop withdraws all asks, and the blacklist. So the next ApplicationMaster may start on any node; only if the
// application keeps containers, the blacklist stays for the next attempt.
func (app *application) drop() {
	t := &app.asks
	t.bans = nil
	if !app.submission.KeepContainers {
		clear(t.banned)
	}
	for i := range t.stages[1:] {
		stage := int32(i + 1)
		if g := t.of(stage); g != nil {
			t.leave(g)
		}
		app.noteAsks(&sched.Asks{Stage: stage})
	}
	clear(t.groups)
	t.pending, t.places = 0, 0
}

// unplaced adds a granted container, which has ended before the ApplicationMaster has heard of it, to its group's
// counts again. The core learns of that before the next Step, once for all containers of a group. O(1).
func (app *application) unplaced(c *container) {
	g := app.asks.groups[groupKey{c.priority, c.group, 0}]
	g.owed--
	app.asks.want(g, g.total+1)
	if !g.changed {
		g.changed = true
		app.m.unsettled = append(app.m.unsettled, unsettled{app, g})
	}
}

// settleAll notes for the core the groups that have changed since the last Step without a call of their
// ApplicationMaster, and where ApplicationMasters may be started now.
func (m *manager) settleAll() {
	m.apps.noteMasters()
	for _, u := range m.unsettled {
		if u.app.asks.groups[u.group.key] == u.group && u.group.changed {
			u.app.settle(u.group)
		}
		u.group.changed = false
	}
	clear(m.unsettled)
	m.unsettled = m.unsettled[:0]
}

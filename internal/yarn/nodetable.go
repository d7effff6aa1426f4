package yarn

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
	"github.com/sojourn-sched/sojourn/sched"
)

// newNodeTable returns a table without nodes. racks and rackScript are those of Config.
func newNodeTable(hosts hostSet, racks map[string]string, rackScript string) nodeTable {
	r := newResolver(systemAddresses)
	return nodeTable{
		byID:     map[wire.NodeID]*node{},
		racks:    map[string]sched.RackID{},
		byPlace:  map[string][]*node{},
		idsOf:    map[string][]sched.NodeID{},
		classes:  map[string]bool{},
		came:     map[string]bool{},
		newest:   map[*node]int64{},
		topology: newTopology(racks, rackScript, r),
		hosts:    hosts,
		resolver: r,
	}
}

// allows reports whether a host may have a NodeManager, by its name and by its addresses as far as they are known.
func (t *nodeTable) allows(host string) bool { return t.hosts.allows(t.resolver.names(host)...) }

// unresolved reports whether the addresses of a host must be looked up before allows is asked about it.
func (t *nodeTable) unresolved(host string) bool { return t.hosts.addressed && !t.resolver.knows(host) }

// hostsBeside returns the hosts of the nodes that are here, each once, without those of learned whose addresses are
// still known. It adds them to learned.
func (t *nodeTable) hostsBeside(learned map[string]bool) (list []string) {
	listed := map[string]bool{}
	for _, n := range t.list {
		host := n.id.Host
		if n.here() && !listed[host] && (!learned[host] || !t.resolver.knows(host)) {
			listed[host], learned[host] = true, true
			list = append(list, host)
		}
	}
	return list
}

// Limits on nodes that come and go.
const (
	mostGone    = 1000 // nodes that have left and are remembered
	mostClasses = 256  // classes of nodes; the nodes of all others share the class "others"
)

// class returns the name of the node's class: the one configured for its host, else the device that it has, else its
// size. A new class beyond mostClasses becomes "others".
func (n *node) class() string {
	t := &n.m.nodes
	name := n.m.config.Room.Classes[n.id.Host]
	if name == "" {
		name = n.m.config.Sizes.device(n.capacity)
	}
	if name == "" {
		name = fmt.Sprintf("%dMiB-%d", n.capacity.Memory, n.capacity.VCores)
	}
	if !t.classes[name] && len(t.classes) >= mostClasses {
		return "others"
	}
	t.classes[name] = true
	return name
}

// add adds node n, which is new, to the table. If mostGone nodes that have left are remembered, the table forgets the
// one that left first, and n gets its ID in the core.
func (t *nodeTable) add(n *node) {
	if t.gone.count >= mostGone {
		n.m.step() // the old one may have been lost in this turn: see join
		old := t.gone.oldest().thing.(*node)
		t.forget(old)
		n.sched = old.sched
		t.list[n.sched-1] = n
	} else {
		t.list = append(t.list, n)
		n.sched = sched.NodeID(len(t.list))
	}
	t.byID[n.id] = n
	for _, place := range []string{n.id.Host, n.rack} {
		at, _ := slices.BinarySearchFunc(t.byPlace[place], n, bySched)
		t.byPlace[place] = slices.Insert(t.byPlace[place], at, n)
		delete(t.idsOf, place)
	}
	_, known := t.racks[n.rack]
	t.came[n.id.Host], t.came[n.rack] = true, t.came[n.rack] || !known
}

// mostNews is how many changes of nodes an ApplicationMaster is told of in one answer.
const mostNews = 100

// changes notes that ApplicationMasters must be told of node n, which has joined, has left or will leave. O(1)
// amortized, however many ApplicationMasters there are: each knows the number of the last change that it was told of.
func (t *nodeTable) changes(n *node) {
	if len(t.news) > 2*len(t.list) {
		t.news = slices.DeleteFunc(t.news, func(c nodeChange) bool {
			if t.byID[c.node.id] != c.node { // it is forgotten
				delete(t.newest, c.node)
			}
			return t.newest[c.node] != c.number
		})
	}
	t.lastNews++
	t.newest[n] = t.lastNews
	t.news = append(t.news, nodeChange{n, t.lastNews})
}

// newsAfter returns reports of the nodes with changes after that number: mostNews at most, the oldest change first.
// last is the number of the last change that they include.
func (t *nodeTable) newsAfter(number int64) (list []wire.NodeReport, last int64) {
	at, _ := slices.BinarySearchFunc(t.news, number+1, func(c nodeChange, want int64) int {
		return cmp.Compare(c.number, want)
	})
	for ; at < len(t.news) && len(list) < mostNews; at++ {
		c := &t.news[at]
		if number = c.number; number == t.newest[c.node] {
			list = append(list, c.node.report())
		}
	}
	return list, number
}

// bySched compares nodes by their IDs in the core.
func bySched(a, b *node) int { return cmp.Compare(a.sched, b.sched) }

// forget removes node n, which has left, from the table, but for its place in list: the caller puts another node there.
func (t *nodeTable) forget(n *node) {
	n.silent.leave()
	n.launches.shunned.leave()
	delete(t.byID, n.id)
	for _, place := range []string{n.id.Host, n.rack} {
		list := t.byPlace[place]
		delete(t.idsOf, place)
		if i := slices.Index(list, n); len(list) > 1 {
			t.byPlace[place] = slices.Delete(list, i, i+1)
		} else {
			delete(t.byPlace, place)
		}
	}
	for _, app := range n.m.apps.list {
		delete(app.nodes, n)
		delete(app.shunned, n)
		if a := app.current(); a != nil {
			delete(a.dues.tokens, n)
			if !app.over && !a.ended() {
				app.reask(map[string]bool{n.id.Host: true, n.rack: false}) // its id will be another node's
			}
		}
	}
	for _, c := range n.m.apps.logs {
		delete(c.at, n)
	}
}

// rackID returns the core's ID of the rack of a name. A new rack gets the next ID.
func (t *nodeTable) rackID(name string) sched.RackID {
	id, ok := t.racks[name]
	if !ok {
		id = sched.RackID(len(t.racks) + 1)
		t.racks[name] = id
	}
	return id
}

// named returns the IDs of the nodes on the host, or in the rack, that place names, in ascending order; not nil. The
// list is shared: callers must not change it.
func (t *nodeTable) named(place string) []sched.NodeID {
	ids, known := t.idsOf[place]
	if !known {
		ids = []sched.NodeID{}
		for _, n := range t.byPlace[place] {
			ids = append(ids, n.sched)
		}
		if len(ids) > 0 {
			t.idsOf[place] = ids
		}
	}
	return ids
}

// isRack reports whether place names a rack, which is a path, and not a host.
func (t *nodeTable) isRack(place string) bool { return len(place) > 0 && place[0] == '/' }

// largest returns the most that one container can get: of each kind of resource what the node has that has most of it,
// within the limits s. While there is no node, it returns the limits. The result is cached until a node changes.
func (t *nodeTable) largest(s Sizes) wire.Resource {
	if t.changed {
		t.changed, t.widest = false, sched.Resources{}
		for _, n := range t.list {
			if n.usable() {
				for k, has := range s.amount(n.capacity) {
					t.widest[k] = max(t.widest[k], has)
				}
			}
		}
	}
	if t.widest == (sched.Resources{}) {
		return s.most()
	}
	r := wire.Resource{Memory: min(t.widest[sched.Memory], s.MaxMemory),
		VCores: min(int32(t.widest[sched.VCores]), s.MaxVCores)}
	for _, k := range s.Kinds {
		r.Others = r.Others.Plus(wire.Amount{Kind: k.Name, Units: k.Units, Value: min(t.widest[k.at], k.Max)})
	}
	return r
}

// nodesWait is how long after the start askable does not look at nodes, because they may not have registered yet.
// Hadoop waits as long.
const nodesWait = 10 * time.Second

// askable returns the largest size that may be asked for: the configured limits, and of kinds other than memory and
// cores no more than the largest node has.
func askable(m *manager) wire.Resource {
	most := m.config.Sizes.most()
	if len(m.config.Sizes.Kinds) > 0 && m.now.Sub(m.started) >= nodesWait {
		most.Others = m.nodes.largest(m.config.Sizes).Others
	}
	return most
}

// offer reports to the core how much of the node it may use now: nothing while the node is quiet or is being
// decommissioned.
func (n *node) offer() {
	if n.usable() {
		n.m.note(sched.Event{Kind: sched.NodeReported, Node: n.sched, Body: n.spec()})
	}
}

// spec returns the description of the node for the core.
func (n *node) spec() *sched.NodeSpec {
	s := &sched.NodeSpec{Name: n.name, Class: n.class(), Rack: n.m.nodes.rackID(n.rack)}
	if n.fresh() {
		s.Capacity = n.left(n.m.config.Sizes.amount(n.capacity))
	}
	return s
}

// fresh reports whether the node may get containers.
func (n *node) fresh() bool { return n.state == wire.NodeRunning && !n.quiet.Load() }

// become sets the state of the node to s, and updates the counts of the node table.
func (n *node) become(s wire.NodeState) {
	n.count(-1)
	n.state = s
	n.count(1)
	n.m.nodes.changed = true
}

// hush marks the node as quiet, or as not quiet any more.
func (n *node) hush(quiet bool) {
	n.count(-1)
	n.quiet.Store(quiet)
	n.count(1)
}

// count adds d to each count of the node table that includes the node in its present state.
func (n *node) count(d int32) {
	if n.usable() {
		n.m.nodes.up += d
	}
	if n.fresh() {
		n.m.nodes.ready += d
	}
}

// hold adds container c to those on the node.
func (n *node) hold(c *container) {
	c.at = int32(len(n.containers))
	n.containers = append(n.containers, c)
}

// drop removes container c from those on the node.
func (n *node) drop(c *container) {
	last := len(n.containers) - 1
	n.containers[c.at] = n.containers[last]
	n.containers[c.at].at = c.at
	n.containers[last] = nil
	n.containers = n.containers[:last]
}

// stop notes that the node must be told to end a container. A second call for the same container does nothing.
func (n *node) stop(id wire.ContainerID) {
	if n.stopped[id] {
		return
	}
	if n.stopped == nil {
		n.stopped = map[wire.ContainerID]bool{}
	}
	n.stopped[id] = true
	n.cleanup = append(n.cleanup, id)
}

// report returns the node's report for clients. The report shares no memory with the node.
func (n *node) report() wire.NodeReport {
	r := wire.NodeReport{ID: n.id, HTTPAddress: n.web, Rack: n.rack, Capacity: n.capacity,
		Containers: int32(len(n.containers)), State: n.state,
		Health: n.doing.health.Report, HealthTime: n.doing.health.Time,
		Utilization: slices.Clone(n.doing.utilization), Machine: slices.Clone(n.doing.machine)}
	if n.usable() && int(n.sched) <= len(n.m.core.Nodes) {
		r.Used = n.m.config.Sizes.size(n.m.core.Node(n.sched).Used)
	}
	return r
}

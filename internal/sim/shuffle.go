package sim

import (
	"math"

	"github.com/sojourn-sched/sojourn/internal/workload"
	"github.com/sojourn-sched/sojourn/sched"
)

// The shuffle.
//
// A reduce may fetch the part of its input that the finished maps of its job are of all its maps: every map is taken to
// leave equal parts. While it fetches, its rate in bytes a second is
//
//	min( Node ÷ (k·(1 + Interference·(k−1))),  Rack ÷ (a·φ) )
//
// with Node and Rack the bandwidths of the cluster's network, k the reduces that fetch on its node, a those that fetch
// in its rack, and φ the part of the cluster's nodes that are in other racks, which is the part of its bytes that come
// through the rack's uplink. With one rack φ is 0, and the uplink does not matter. When a reduce has all there is, it
// waits, and goes on when a further Batch of the maps is done, or all. Having all its input it begins to compute.
//
// Approximated: the smaller of two equal shares takes the place of max-min fairness, so what reduces that are held up
// at their node leave of an uplink goes to no other; the sending side is not modelled, because a reduce reads from many
// nodes at once and senders average out; reads of map input and writes of output do not share the links.
//
// All reduces on a node have one rate, and so have all nodes of a rack on which equally many fetch. So a rack keeps a
// clock for each such number k, which counts the bytes that a reduce gets; a heap of the nodes by the clock's reading
// at which the first of their reduces is done; and each node a heap of its reduces. A change of rates moves one node
// from one clock to the next and costs O(K + log n), with K the different k of the rack: never more than a node runs
// reduces.

// A network is the links and what goes over them.
type network struct {
	*agenda
	*attempts
	model     Shuffle
	bandwidth workload.Network
	told      func(from, to sched.Time, bytes float64) // Config.Fetched

	racks   []rack  // by RackID
	links   []link  // by NodeID-1
	fetches []fetch // fetches[0] is not used
	free    []int32
	flowPos []int32 // by fetch: its place in its node's heap, from 1; 0: none
	nodePos []int32 // by NodeID-1: its place in its group's heap, likewise
	dirty   []sched.RackID
	// whose attempts came to an end or began to wait at this instant, while reduces wait for outputs
	changed []*job
	done    []int32           // scratch
	woken   []sched.AttemptID // scratch
}

// A rack is what shares an uplink.
type rack struct {
	outside float64    // φ
	active  int        // reduces that fetch
	groups  []group    // by the number of reduces that fetch on a node
	at      sched.Time // for which the clocks are right
	item    int32      // in the queue: the next fetch that ends; zero: none
	dirty   bool       // item is out of date
}

// A group is the nodes of a rack on which equally many reduces fetch.
type group struct {
	clock float64 // bytes that a reduce there has got
	nodes ranking // by the clock's reading at which the first of their fetches ends
}

// A link is a node's.
type link struct {
	rack   sched.RackID
	offset float64 // of the bytes that a reduce on this node has got, from its group's clock
	flows  ranking // fetches, by what a reduce on this node has got when they end
}

// A fetch is what a reduce has of its input.
type fetch struct {
	id    sched.AttemptID
	node  int32   // NodeID-1
	at    int32   // in its job's list
	total float64 // bytes
	got   float64 // bytes, when it last began
	goal  float64 // bytes that it has when this part is fetched
	wake  int32   // finished maps at which it goes on, while it waits
}

// A supply is what a job's reduces wait for.
type supply struct {
	fetches []int32 // of its reduces, not in order
	wakeAt  int32   // finished tasks of the job below which none of them goes on
	noted   bool
	hungry  hunger
}

func (n *network) init(config *Config, nodes []node) {
	n.model, n.bandwidth, n.told = config.Costs.Shuffle, config.Cluster.Network, config.Fetched
	n.fetches, n.flowPos = make([]fetch, 1), make([]int32, 1)
	n.links, n.nodePos = make([]link, len(nodes)), make([]int32, len(nodes))
	for i := range nodes {
		r := nodes[i].spec.Rack
		n.links[i].rack = r
		for int(r) >= len(n.racks) {
			n.racks = append(n.racks, rack{})
		}
		n.racks[r].outside++
	}
	for i := range n.racks {
		n.racks[i].outside = 1 - n.racks[i].outside/float64(len(nodes))
	}
}

// rate returns the bytes a second of a reduce in r on a node where k fetch.
func (n *network) rate(r *rack, k int) float64 {
	v := float64(n.bandwidth.Node) / (float64(k) * (1 + float64(n.model.Interference*float64(k-1))))
	if r.outside > 0 {
		v = min(v, float64(n.bandwidth.Rack)/(float64(r.active)*r.outside))
	}
	return v
}

// advance brings the clocks of a rack up to now, and marks it for settle.
func (n *network) advance(id sched.RackID) *rack {
	r := &n.racks[id]
	if r.at != n.now {
		s := (n.now - r.at).Seconds()
		bytes := 0.0
		for k := 1; k < len(r.groups); k++ {
			if g := &r.groups[k]; len(g.nodes) > 0 {
				each := float64(n.rate(r, k) * s)
				g.clock += each
				bytes += float64(each * float64(k*len(g.nodes)))
			}
		}
		if n.told != nil && bytes > 0 {
			n.told(r.at, n.now, bytes)
		}
		r.at = n.now
	}
	if !r.dirty {
		r.dirty = true
		n.dirty = append(n.dirty, id)
	}
	return r
}

// settle sees to it that the next end of a fetch in each rack is in the queue.
func (n *network) settle() {
	for _, id := range n.dirty {
		r := &n.racks[id]
		r.dirty = false
		if r.item != 0 {
			n.cancel(r.item)
			r.item = 0
		}
		least := math.Inf(1)
		for k := 1; k < len(r.groups); k++ {
			if g := &r.groups[k]; len(g.nodes) > 0 {
				least = min(least, (g.nodes[0].Key.bytes-g.clock)/n.rate(r, k))
			}
		}
		if !math.IsInf(least, 1) {
			wait := sched.Time(min(math.Ceil(max(least, 0)*1e9), workload.MaxTime))
			r.item = n.await(n.now+wait, fetchOf|uint64(id))
		}
	}
	n.dirty = n.dirty[:0]
}

// fetched ends the fetches of a rack that are due, and returns them, lent until the next call.
func (n *network) fetched(id sched.RackID) []int32 {
	n.racks[id].item = 0
	r := n.advance(id)
	n.done = n.done[:0]
	for k := 1; k < len(r.groups); {
		g := &r.groups[k]
		// What goes over the link within the nanosecond to which instants are rounded is there.
		if len(g.nodes) == 0 || g.nodes[0].Key.bytes > g.clock+float64(n.rate(r, k)*1e-9) {
			k++
			continue
		}
		f := n.links[g.nodes[0].ID].flows[0].ID
		n.unlink(r, f)
		n.fetches[f].got = n.fetches[f].goal
		n.done = append(n.done, f)
		k = max(1, k-1) // the node's next fetch may be due as well
	}
	return n.done
}

// join makes a fetch flow.
func (n *network) join(id int32) {
	f := &n.fetches[id]
	l := &n.links[f.node]
	r := n.advance(l.rack)
	k := len(l.flows)
	got := 0.0
	if k > 0 {
		got = l.offset + r.groups[k].clock
	}
	n.regroup(r, f.node, got, func() { l.flows.Put(n.flowPos, ranked(got+(f.goal-f.got), id)) })
	r.active++
}

// leave removes a fetch that is in progress from its link, and notes the bytes that it has got.
func (n *network) leave(id int32) {
	f := &n.fetches[id]
	f.got = n.has(id)
	n.unlink(n.advance(n.links[f.node].rack), id)
}

func (n *network) unlink(r *rack, id int32) {
	l := &n.links[n.fetches[id].node]
	got := l.offset + r.groups[len(l.flows)].clock
	n.regroup(r, n.fetches[id].node, got, func() { l.flows.Remove(n.flowPos, id) })
	r.active--
}

// has returns the bytes that a fetch which flows has got.
func (n *network) has(id int32) float64 {
	f := &n.fetches[id]
	l := &n.links[f.node]
	r := n.advance(l.rack)
	left := l.flows[n.flowPos[id]-1].Key.bytes - (l.offset + r.groups[len(l.flows)].clock)
	return min(max(f.got, f.goal-left), f.goal)
}

// regroup changes the fetches on a node, where a reduce has got so many bytes, and puts the node with those that have
// equally many.
func (n *network) regroup(r *rack, node int32, got float64, change func()) {
	l := &n.links[node]
	if k := len(l.flows); k > 0 {
		r.groups[k].nodes.Remove(n.nodePos, node)
	}
	change()
	k := len(l.flows)
	if k == 0 {
		return
	}
	for k >= len(r.groups) {
		r.groups = append(r.groups, group{})
	}
	g := &r.groups[k]
	if len(g.nodes) == 0 {
		g.clock = 0 // so that it does not lose precision over the years
	}
	l.offset = got - g.clock
	g.nodes.Put(n.nodePos, ranked(l.flows[0].Key.bytes-l.offset, node))
}

// part returns which part of its input a reduce has.
func (n *network) part(r *attempt) float64 {
	f := &n.fetches[r.fetch]
	switch {
	case f.total == 0:
		return 0
	case r.state == fetching:
		return n.has(r.fetch) / f.total
	}
	return f.got / f.total
}

// outputs returns how many of the tasks that a stage is after are done, and how many there are.
func outputs(st *sched.Stage) (done, total int32) {
	for _, d := range st.Spec.After {
		before := st.Job.Stages[d.Stage]
		done += before.Done
		total += before.Total
	}
	return done, total
}

// start begins the fetch of a reduce's input.
func (n *network) start(r *attempt, t *workload.Task) {
	var id int32
	if k := len(n.free); k > 0 {
		id = n.free[k-1]
		n.free = n.free[:k-1]
	} else {
		id = int32(len(n.fetches))
		n.fetches = append(n.fetches, fetch{})
		n.flowPos = append(n.flowPos, 0)
	}
	f := &n.fetches[id]
	*f = fetch{id: r.id, node: int32(r.core.Node - 1), at: int32(len(r.job.fetches))}
	if n.model.On {
		f.total = float64(t.Shuffle)
	}
	r.fetch = id
	r.job.fetches = append(r.job.fetches, id)
}

// more makes a reduce fetch what there is of its input, or wait where there is nothing new. It returns true, and
// forgets the fetch, when the reduce has all.
func (n *network) more(r *attempt) (all bool) {
	f := &n.fetches[r.fetch]
	done, total := outputs(r.core.Stage)
	there := f.total
	if done < total {
		there *= float64(done) / float64(total)
	}
	switch {
	case there > f.got && n.model.On:
		f.goal = there
		r.state = fetching
		n.join(r.fetch)
	case done >= total:
		n.drop(r)
		return true
	default:
		r.state = waiting
		step := max(1, int32(math.Ceil(float64(total)*n.model.Batch)))
		f.wake = min(total, (done/step+1)*step)
		n.wakeAt(r.job, f.wake-done)
		n.note(r.job)
	}
	return false
}

// drop forgets what a reduce fetched.
func (n *network) drop(r *attempt) {
	list := r.job.fetches
	last := list[len(list)-1]
	at := n.fetches[r.fetch].at
	list[at], n.fetches[last].at = last, at
	r.job.fetches = list[:len(list)-1]
	n.free = append(n.free, r.fetch)
	r.fetch = 0
}

// wakeAt says that one of a job's reduces goes on when so many more of its tasks are done, at the earliest.
func (n *network) wakeAt(j *job, more int32) {
	if at := n.doneOf(j) + more; j.supply.wakeAt == 0 || at < j.supply.wakeAt {
		j.supply.wakeAt = at
	}
}

// doneOf returns how many tasks of a job are done.
func (n *network) doneOf(j *job) (done int32) {
	if row := n.view.Job(j.id); row != nil {
		for _, st := range row.Stages {
			done += st.Done
		}
	}
	return done
}

// note makes lookAll look at a job before this instant is over.
func (n *network) note(j *job) {
	if !j.noted {
		j.noted = true
		n.changed = append(n.changed, j)
	}
}

// ready returns the reduces of a job that wait and for which enough maps are done, lent until the next call.
func (n *network) ready(j *job) []sched.AttemptID {
	j.noted = false
	n.woken = n.woken[:0]
	if j.supply.wakeAt == 0 || n.doneOf(j) < j.supply.wakeAt {
		return nil
	}
	j.supply.wakeAt = 0
	for _, id := range j.fetches {
		r := n.find(n.fetches[id].id)
		if r == nil || r.state != waiting {
			continue
		}
		if done, _ := outputs(r.core.Stage); done >= n.fetches[id].wake {
			n.woken = append(n.woken, r.id)
		} else {
			n.wakeAt(j, n.fetches[id].wake-done)
		}
	}
	return n.woken
}

package sim

import (
	"math"

	"github.com/sojourn-sched/sojourn/internal/workload"
	"github.com/sojourn-sched/sojourn/sched"
)

// The shuffle.
//
// All maps of a job are assumed to have equal parts of the input of a reduce. So a reduce may fetch the part of its
// input that the finished maps are of all maps. While it fetches, its rate in bytes a second is
//
//	min( Node ÷ (k·(1 + Interference·(k−1))),  Rack ÷ (a·φ) )
//
// Node and Rack are the bandwidths of the cluster's network, k is the number of reduces that fetch on the reduce's
// node, and a the number that fetch in its rack. φ is the part of the cluster's nodes that are in other racks: this
// part of the bytes comes through the rack's uplink. With one rack φ is 0, and the uplink does not matter. When a
// reduce has fetched all there is, it waits until a further Batch of the maps is done, or all. When it has all its
// input it begins to compute.
//
// The model approximates:
//
//   - Instead of max-min fairness a reduce gets the smaller of two equal shares. What a reduce cannot use of its share
//     of the uplink, because its node's link is slower, is given to no other reduce.
//   - The sending side is not modelled: a reduce reads from many nodes at once, so that senders average out.
//   - Reads of map input and writes of output do not share the links.
//
// All reduces on a node have one rate, and so have the reduces on all nodes of a rack on which equally many fetch. So a
// rack has a clock for each number k, which counts the bytes that one reduce gets, and a heap of the nodes with k
// fetching reduces, by the clock's reading at which the first of their reduces is done. Each node has a heap of its
// reduces. A change of rates moves one node from one clock to another and costs O(K + log n). K is the number of
// different k in the rack: at most the number of reduces that a node runs.

// A network has the links of the cluster, and the fetches of reduces.
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
	// jobs for lookAll: with attempts that ended or began to wait at this instant, while reduces wait for outputs
	changed []*job
	done    []int32           // scratch
	woken   []sched.AttemptID // scratch
}

// A rack has the nodes that share an uplink.
type rack struct {
	outside float64    // φ
	active  int        // reduces that fetch
	groups  []group    // by the number of reduces that fetch on a node
	at      sched.Time // the instant to which the clocks were advanced
	item    int32      // in the queue: the next fetch that ends; zero: none
	dirty   bool       // item is out of date
}

// A group has the nodes of a rack on which equally many reduces fetch.
type group struct {
	clock float64 // bytes that a reduce there has got
	nodes ranking // by the clock's reading at which the first of their fetches ends
}

// A link is the link of a node to its rack. A reduce on the node has got offset + its group's clock bytes.
type link struct {
	rack   sched.RackID
	offset float64
	flows  ranking // the node's fetches, by the bytes that a reduce on the node has got when they end
}

// A fetch says how much a reduce has of its input.
type fetch struct {
	id    sched.AttemptID
	node  int32   // NodeID-1
	at    int32   // its place in supply.fetches of its job
	total float64 // bytes of the input
	got   float64 // bytes that it had when it began or stopped to fetch
	goal  float64 // bytes that it has when it has fetched what there is now
	wake  int32   // while it waits: the number of finished maps at which it continues
}

// A supply says what the reduces of a job fetch, and what they wait for.
type supply struct {
	fetches []int32 // of its reduces, in no order
	wakeAt  int32   // with fewer finished tasks of the job, none of its reduces continues; zero: none waits
	noted   bool    // the job is in network.changed
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

// rate returns the bytes a second that a reduce gets on a node of rack r where k reduces fetch.
func (n *network) rate(r *rack, k int) float64 {
	v := float64(n.bandwidth.Node) / (float64(k) * (1 + float64(n.model.Interference*float64(k-1))))
	if r.outside > 0 {
		v = min(v, float64(n.bandwidth.Rack)/(float64(r.active)*r.outside))
	}
	return v
}

// advance advances the clocks of a rack to now, and marks the rack for settle.
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

// settle puts the next end of a fetch of each marked rack into the queue.
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

// fetched ends the fetches of a rack that are due, and returns them. The slice is lent until the next call.
func (n *network) fetched(id sched.RackID) []int32 {
	n.racks[id].item = 0
	r := n.advance(id)
	n.done = n.done[:0]
	for k := 1; k < len(r.groups); {
		g := &r.groups[k]
		// Instants are rounded to a nanosecond: what the link carries within the next one counts as fetched.
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

// join adds a fetch to the flows of its node's link.
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

// leave removes a fetch from the flows of its node's link, and notes the bytes that it has got.
func (n *network) leave(id int32) {
	f := &n.fetches[id]
	f.got = n.has(id)
	n.unlink(n.advance(n.links[f.node].rack), id)
}

// unlink removes a fetch from the flows of its node's link, in rack r.
func (n *network) unlink(r *rack, id int32) {
	l := &n.links[n.fetches[id].node]
	got := l.offset + r.groups[len(l.flows)].clock
	n.regroup(r, n.fetches[id].node, got, func() { l.flows.Remove(n.flowPos, id) })
	r.active--
}

// has returns the bytes that a fetch, which is among the flows of a link, has got by now.
func (n *network) has(id int32) float64 {
	f := &n.fetches[id]
	l := &n.links[f.node]
	r := n.advance(l.rack)
	left := l.flows[n.flowPos[id]-1].Key.bytes - (l.offset + r.groups[len(l.flows)].clock)
	return min(max(f.got, f.goal-left), f.goal)
}

// regroup calls change, which adds or removes a flow of a node, and moves the node to the group for its new number of
// flows. got is how many bytes a reduce on the node has got by the node's count.
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
		g.clock = 0 // begins anew, as a float loses precision when it is large
	}
	l.offset = got - g.clock
	g.nodes.Put(n.nodePos, ranked(l.flows[0].Key.bytes-l.offset, node))
}

// part returns the part of its input that reduce r has fetched.
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

// outputs returns how many tasks of the stages that st is after are done, and how many there are.
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

// more lets reduce r fetch what there is of its input, or wait if there is nothing new. If the reduce has all, more
// forgets the fetch and returns true.
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

// drop frees the fetch of a reduce.
func (n *network) drop(r *attempt) {
	list := r.job.fetches
	last := list[len(list)-1]
	at := n.fetches[r.fetch].at
	list[at], n.fetches[last].at = last, at
	r.job.fetches = list[:len(list)-1]
	n.free = append(n.free, r.fetch)
	r.fetch = 0
}

// wakeAt notes that a reduce of job j may continue when more further tasks of the job are done.
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

// note adds a job to changed, so that lookAll looks at it before this instant is over.
func (n *network) note(j *job) {
	if !j.noted {
		j.noted = true
		n.changed = append(n.changed, j)
	}
}

// ready returns the waiting reduces of a job for which enough maps are done. The slice is lent until the next call.
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

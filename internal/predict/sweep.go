package predict

import (
	"cmp"
	"slices"
)

// customers are the subtasks of all jobs as customers of the queueing network, in parallel slices.
type customers struct {
	demand    []Cost    // service at each kind of centre
	queueing  []Cost    // of the demand, what queues: demand ÷ servers (Seidmann's split)
	delay     []float64 // the rest, which never waits
	residence []Cost    // at each kind of centre, waiting included
	response  []float64 // delay plus all residences
	presence  []Cost    // part of the response time at each kind of centre
	interval  []Interval
}

// A layout says which tasks meet at a centre.
type layout struct {
	cluster   *Cluster
	aggregate bool // one centre of each kind for the whole cluster, as the thesis has it; else one a node
}

// servers returns the servers of the centre of kind z that a task on a node uses.
func (l layout) servers(z Resource, node int) float64 {
	if z == Net || z == Wait {
		return float64(max(1, l.cluster.NetServers))
	}
	if l.cluster.OneMachine {
		node = 0
	}
	n := 0
	for i := range l.cluster.Nodes {
		if c := &l.cluster.Nodes[i]; i == node || l.aggregate && !l.cluster.OneMachine {
			if z == CPU {
				n += c.CPUs
			} else {
				n += c.Disks
			}
		}
	}
	return float64(n)
}

// serversOn returns the servers of each kind that a task on a node uses; of one without a place, those of the first.
func (l layout) serversOn(node int) (servers [resources]float64) {
	for z := range resources {
		servers[z] = l.servers(z, max(0, node))
	}
	return servers
}

// split divides the demand of task i, on the node where it is now, into what queues and what is a pure delay: a centre
// with s servers is a single server of demand D/s and a delay of D·(s−1)/s (Seidmann's approximation, spec 2.3).
func (c *customers) split(i int, servers [resources]float64) {
	c.delay[i] = c.demand[i][Wait]
	for z, d := range c.demand[i][:Wait] {
		c.queueing[i][z] = d / servers[z]
		c.delay[i] += d * (servers[z] - 1) / servers[z]
	}
}

// A meeting is how much of the times of two tasks they overlap.
type meeting struct {
	weight float64 // expected number of such tasks that i meets
	less   float64 // part of the other's queueing that i itself causes, and does not meet
}

// meet adds to found how much of task j is at each centre, on average, when task i arrives there. Both tasks may visit
// all centres (spec 10.2). In the network without i the residence time of j at centre z is R_jz − less·S_jz·R_iz/R_i.
// found grows by weight times the part of that residence at each centre.
func (c *customers) meet(found *Cost, i, j int, m meeting) {
	other, own := &c.queueing[j], &c.presence[i]
	var caused Cost
	for z := range Wait {
		caused[z] = m.less * other[z] * own[z]
	}
	rest := c.response[j] - caused.Total()
	if rest <= 0 {
		return
	}
	scale := m.weight / rest
	for z, r := range c.residence[j][:Wait] {
		found[z] += scale * (r - caused[z])
	}
}

// meetInNet does the same for tasks that share only the network.
func (c *customers) meetInNet(found *Cost, i, j int, m meeting) {
	caused := m.less * c.queueing[j][Net] * c.presence[i][Net]
	if rest := c.response[j] - caused; rest > 0 {
		found[Net] += m.weight * (c.residence[j][Net] - caused) / rest
	}
}

// locate computes the presence of all tasks.
func (c *customers) locate() {
	for i, r := range c.residence {
		c.presence[i] = Cost{}
		if c.response[i] > 0 {
			c.presence[i] = r.times(1 / c.response[i])
		}
	}
}

// settle returns the residence times of task i that follow from the queues it finds.
func (c *customers) settle(i int, found Cost) (r Cost) {
	for z, s := range c.queueing[i] {
		r[z] = s * (1 + found[z])
	}
	return r
}

// sweepTimeline returns new residence times of all tasks, from the overlaps of their intervals on one joint timeline.
// It costs the number of pairs that overlap and share a centre, after sorting.
func (c *customers) sweepTimeline(l layout) []Cost {
	c.locate()
	found := make([]Cost, len(c.demand))
	byNode := map[int][]int{}
	var nodes, all []int
	for i := range c.demand {
		if iv := &c.interval[i]; iv.End > iv.Start {
			node := iv.Node
			if l.aggregate || l.cluster.OneMachine {
				node = 0
			}
			if byNode[node] == nil {
				nodes = append(nodes, node)
			}
			byNode[node] = append(byNode[node], i)
			if c.queueing[i][Net] > 0 {
				all = append(all, i)
			}
		}
	}
	slices.Sort(nodes)
	for _, node := range nodes {
		c.pairs(byNode[node], func(i, j int, m meeting) {
			c.meet(&found[i], i, j, m)
		})
	}
	if !l.aggregate {
		c.pairs(all, func(i, j int, m meeting) {
			if c.interval[i].Node != c.interval[j].Node {
				c.meetInNet(&found[i], i, j, m)
			}
		})
	}
	next := make([]Cost, len(found))
	for i := range next {
		next[i] = c.settle(i, found[i])
	}
	return next
}

// pairs calls each for all pairs of tasks in list that overlap, both ways. Tasks are visited by start; those that have
// not ended when another one starts are the ones that it overlaps.
func (c *customers) pairs(list []int, each func(i, j int, m meeting)) {
	slices.SortFunc(list, func(a, b int) int {
		return cmp.Or(cmp.Compare(c.interval[a].Start, c.interval[b].Start), cmp.Compare(a, b))
	})
	var running []int
	for _, i := range list {
		a := &c.interval[i]
		kept := running[:0]
		for _, j := range running {
			b := &c.interval[j]
			if b.End <= a.Start {
				continue
			}
			kept = append(kept, j)
			together := min(a.End, b.End) - a.Start
			ofA, ofB := together/(a.End-a.Start), together/(b.End-b.Start)
			each(i, j, meeting{weight: ofA, less: ofB})
			each(j, i, meeting{weight: ofB, less: ofA})
		}
		running = append(kept, i)
	}
}

// sweepClosed returns new residence times of the tasks of one of some equal jobs. within are the overlaps inside a
// job; tasks of another job are met at a uniformly random point of its response time (spec 8.2, 10.1). All centres are
// shared. It costs the square of the number of tasks.
func (c *customers) sweepClosed(jobs int, within [][]overlap, response float64) []Cost {
	c.locate()
	others := float64(jobs - 1)
	next := make([]Cost, len(c.demand))
	row := make([]float64, len(c.demand))
	for i := range next {
		var found Cost
		if c.response[i] > 0 {
			clear(row)
			for _, o := range within[i] {
				row[o.with] = o.part
			}
			for j, alpha := range row {
				if c.response[j] <= 0 {
					continue
				}
				betaIJ, betaJI := c.response[j]/response, c.response[i]/response
				m := meeting{
					weight: alpha + others*betaIJ,
					less:   (alpha*c.response[i]/c.response[j] + others*betaJI) / float64(jobs),
				}
				if i == j {
					m.weight, m.less = others*betaIJ, betaIJ
				}
				if m.weight > 0 {
					c.meet(&found, i, j, m)
				}
			}
		}
		next[i] = c.settle(i, found)
	}
	return next
}

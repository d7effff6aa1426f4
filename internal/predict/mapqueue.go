package predict

// mapQueue holds the maps of a job that have no container yet. The next one is found in O(nodes), because each node and
// rack has a list of the maps whose input it has.
type mapQueue struct {
	left  int    // maps that wait
	taken []bool // by map: it has a container
	first int    // no map before it waits
	// on lists the maps with input on each node, ascending. Taken maps are dropped when they come to the front. nil: no
	// map prefers a node.
	on     [][]int
	in     map[int][]int // the same by rack, where racks are known
	prefer [][]int       // of the job
}

// newMapQueue returns the queue of all maps of j.
func newMapQueue(c *Cluster, j *Job) mapQueue {
	m := mapQueue{left: j.Maps, taken: make([]bool, j.Maps), prefer: j.Prefer}
	if j.Prefer == nil {
		return m
	}
	m.on, m.in = make([][]int, len(c.Nodes)), map[int][]int{}
	for q, nodes := range j.Prefer {
		for _, node := range nodes {
			m.on[node] = append(m.on[node], q)
			if rack := c.Nodes[node].Rack; rack != 0 && (len(m.in[rack]) == 0 || m.in[rack][len(m.in[rack])-1] != q) {
				m.in[rack] = append(m.in[rack], q)
			}
		}
	}
	return m
}

// take removes map q from the queue.
func (m *mapQueue) take(q int) {
	m.taken[q] = true
	m.left--
	for m.first < len(m.taken) && m.taken[m.first] {
		m.first++
	}
}

// head drops maps that are taken from the front of a list and returns its first, or -1.
func (m *mapQueue) head(list *[]int) int {
	for len(*list) > 0 && m.taken[(*list)[0]] {
		*list = (*list)[1:]
	}
	if len(*list) == 0 {
		return -1
	}
	return (*list)[0]
}

// next returns the map to place and where: the first with a preferred node that has room, else the first with such a
// rack, else the first, on the least occupied of those nodes; node -1: none has room.
func (m *mapQueue) next(t *scheduler, j *jobState) (q, node int) {
	best := -1
	for node := range m.on {
		if q := m.head(&m.on[node]); q >= 0 && (best < 0 || q < best) && t.fits(j.MapSize, node) {
			best = q
		}
	}
	if best >= 0 {
		return best, t.leastOccupied(j.MapSize, m.prefer[best])
	}
	var nodes []int
	for node := range m.on {
		rack := t.cluster.Nodes[node].Rack
		list := m.in[rack]
		if rack == 0 || len(list) == 0 || !t.fits(j.MapSize, node) {
			continue
		}
		q := m.head(&list)
		m.in[rack] = list
		switch {
		case q < 0:
		case best < 0 || q < best:
			best, nodes = q, []int{node}
		case q == best:
			nodes = append(nodes, node)
		}
	}
	if best >= 0 {
		return best, t.leastOccupied(j.MapSize, nodes)
	}
	return m.first, t.leastOccupied(j.MapSize, nil)
}

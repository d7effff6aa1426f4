package sched

import (
	"cmp"
	"slices"
)

// wishes are where the waiting tasks of a stage would run, for a stage whose tasks the engine chooses (Asks.Near): how
// many tasks on which node, and how many in which rack. A task with copies of its input on several nodes counts at each
// of them, so the number of tasks behind the counts is unknown. After each launch the application says what is left.
type wishes struct {
	nodes, racks []wish // sorted by id
	spent        int    // of nodes, those at the front with no task left
	listed       int32  // tasks counted by racks, or, where no rack is named, by nodes
}

// A wish is a number of tasks at a node or a rack.
type wish struct{ id, tasks int32 }

// wish replaces where the waiting tasks would run.
func (t *taskSet) wish(near []Near) {
	if len(near) == 0 {
		t.wishes = nil
		return
	}
	if t.wishes == nil {
		t.wishes = &wishes{}
	}
	w := t.wishes
	*w = wishes{nodes: w.nodes[:0], racks: w.racks[:0]}
	inNodes, inRacks := int32(0), int32(0)
	for _, one := range near {
		if tasks := min(max(0, one.Tasks), maxTasks); one.Node != 0 {
			w.nodes = append(w.nodes, wish{int32(one.Node), tasks})
			inNodes = min(inNodes+tasks, maxTasks)
		} else {
			w.racks = append(w.racks, wish{int32(one.Rack), tasks})
			inRacks = min(inRacks+tasks, maxTasks)
		}
	}
	w.listed = cmp.Or(inRacks, inNodes)
}

// at returns the wish for an id; nil: there is none with a task left.
func at(sorted []wish, id int32) *wish {
	i, ok := slices.BinarySearchFunc(sorted, id, func(w wish, id int32) int { return cmp.Compare(w.id, id) })
	if !ok || sorted[i].tasks == 0 {
		return nil
	}
	return &sorted[i]
}

// free reports whether some waiting tasks have no place, so that all nodes are alike to them. With st.only no task is
// free.
func (w *wishes) free(st *Stage) bool { return st.only == nil && st.Pending > w.listed }

// level returns how near its input the nearest waiting task of st would be on n.
func (w *wishes) level(st *Stage, n *Node) Locality {
	switch {
	case at(w.nodes, int32(n.ID)) != nil || w.free(st):
		return NodeLocal
	case at(w.racks, int32(n.Rack)) != nil:
		return RackLocal
	}
	return OffSwitch
}

// take notes that a task of st was started on n. The task is one that is counted at n or at its rack. If none is
// counted at n and some waiting tasks are free, it is a free one.
func (w *wishes) take(st *Stage, n *Node) {
	node, rack := at(w.nodes, int32(n.ID)), at(w.racks, int32(n.Rack))
	if node == nil && w.free(st) {
		return
	}
	if node != nil {
		node.tasks--
	}
	if rack != nil {
		rack.tasks--
	}
	if rack != nil || node != nil && len(w.racks) == 0 {
		w.listed = max(0, w.listed-1)
	}
}

// firstAt returns the first node that fits and where level is at most l, in the order of around. It walks the
// nodes with room or the nodes wished for, whichever are fewer.
func (w *wishes) firstAt(c *cluster, st *Stage, l Locality) *Node {
	for w.spent < len(w.nodes) && w.nodes[w.spent].tasks == 0 {
		w.spent++
	}
	fits := &c.ledger.shapes.at(st.Shape).fits
	if l > NodeLocal || w.free(st) || fits.count <= len(w.nodes)-w.spent {
		for n := range around(c, st, Where{Shape: st.Shape}) {
			if w.level(st, n) <= l {
				return n
			}
		}
		return nil
	}
	list, from := w.nodes[w.spent:], 0
	if c.config.Spread {
		from, _ = slices.BinarySearchFunc(list, int32(c.started)+1, func(w wish, id int32) int {
			return cmp.Compare(w.id, id)
		})
	}
	if n := w.firstOf(c, st, list[from:]); n != nil {
		return n
	}
	return w.firstOf(c, st, list[:from])
}

// firstOf returns the first of the nodes of a list that fits; nil: none.
func (w *wishes) firstOf(c *cluster, st *Stage, list []wish) *Node {
	for _, one := range list {
		if one.tasks == 0 || int(one.id) > len(c.view.Nodes) {
			continue
		}
		if n := c.view.Node(NodeID(one.id)); c.fitsOn(st, st.Shape, n) {
			return n
		}
	}
	return nil
}

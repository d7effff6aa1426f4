package predict

// treeOverlaps returns the part of each subtask's time during which each other one of the same job runs, by
// Algorithm 3 over a binary tree (spec 8.2): pairs[i][j] for subtask i of the time of j. A missing pair is zero.
func treeOverlaps(root *node, response []float64, cv float64) [][]overlap {
	o := treeOverlap{response: response, pairs: make([][]overlap, len(response)), moments: map[*node]Moments{}}
	root.moments(response, cv, o.moments)
	o.walk(root)
	return o.pairs
}

// An overlap is the part of a task's time during which another task runs.
type overlap struct {
	with int
	part float64
}

// A treeOverlap is the state of treeOverlaps.
type treeOverlap struct {
	response []float64         // by task
	pairs    [][]overlap       // by task: found so far
	moments  map[*node]Moments // of the time of each inner node
}

// walk finds the overlaps between the two branches of each parallel node of a subtree.
func (o *treeOverlap) walk(n *node) {
	for _, child := range n.children {
		o.walk(child)
	}
	if n.kind != parallel {
		return
	}
	left, right := n.children[0], n.children[1]
	starts := o.starts(right)
	for _, first := range o.starts(left) {
		for _, second := range starts {
			together := o.together(first, second)
			if together <= 0 {
				continue
			}
			meanA, meanB := o.moments[first.node].Mean, o.moments[second.node].Mean
			for _, i := range leaves(first.node, nil) {
				for _, j := range leaves(second.node, nil) {
					ri, rj := o.response[i], o.response[j]
					shared := ri / meanA * rj / meanB * together
					if ri > 0 && rj > 0 {
						o.pairs[i] = append(o.pairs[i], overlap{j, shared / ri})
						o.pairs[j] = append(o.pairs[j], overlap{i, shared / rj})
					}
				}
			}
		}
	}
}

// A stage of a branch, with the moments of the time until it starts.
type stage struct {
	node  *node
	start Moments
}

// starts returns the stages of a branch that follow each other.
func (o *treeOverlap) starts(branch *node) []stage {
	if branch.kind != series {
		return []stage{{node: branch}}
	}
	list := make([]stage, len(branch.children))
	var at Moments
	for i, child := range branch.children {
		list[i] = stage{child, at}
		at = at.plus(o.moments[child])
	}
	return list
}

// together returns the mean time for which two stages of independent branches run at once: with F the end and G the
// start of each, E min(F1,F2) − E min(F1,G2) − E min(G1,F2) + E min(G1,G2).
func (o *treeOverlap) together(a, b stage) float64 {
	endA, endB := a.start.plus(o.moments[a.node]), b.start.plus(o.moments[b.node])
	return max(0, smaller(endA, endB)-smaller(endA, b.start)-smaller(a.start, endB)+smaller(a.start, b.start))
}

// smaller returns the mean of the smaller of two independent times.
func smaller(x, y Moments) float64 {
	if x.Mean <= 0 || y.Mean <= 0 {
		return 0
	}
	first, _ := minimum(fit(x), fit(y))
	return first
}

// leaves appends the tasks below a node to list.
func leaves(n *node, list []int) []int {
	if n.kind == leaf {
		return append(list, n.task)
	}
	for _, child := range n.children {
		list = leaves(child, list)
	}
	return list
}

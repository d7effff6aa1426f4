package predict

import (
	"cmp"
	"slices"
	"strings"
)

// A node of a precedence tree: a leaf is a subtask or a delay; the children of a series run one after another, those
// of a parallel node side by side, and it ends when all have.
type node struct {
	kind     nodeKind
	task     int     // of a leaf
	delay    float64 // of a delay, in seconds
	children []*node
}

// A nodeKind says what a node of a tree is.
type nodeKind uint8

const (
	leaf nodeKind = iota
	delay
	series
	parallel
)

// tree builds the precedence tree of one job's intervals (spec 7.2). Where an instant exists that no task spans, the
// tasks before and after it follow each other. Else they are divided among their containers, and a container's among
// its copiers, and run side by side. Series inside series and parallel nodes inside parallel ones are merged, so that
// the tree is unique. It returns nil for a job without any time.
func tree(line []Interval) *node {
	list := make([]Interval, 0, len(line))
	for _, iv := range line {
		if iv.End > iv.Start {
			list = append(list, iv)
		}
	}
	if len(list) == 0 {
		return nil
	}
	slices.SortFunc(list, func(a, b Interval) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End), cmp.Compare(a.Task, b.Task))
	})
	return build(list)
}

// build builds the tree of intervals that are sorted by start. There is at least one.
func build(list []Interval) *node {
	if len(list) == 1 {
		return &node{kind: leaf, task: list[0].Task}
	}
	s := &node{kind: series}
	end, from := list[0].End, 0
	for i := 1; i <= len(list); i++ {
		if i < len(list) && list[i].Start < end-tolerance {
			end = max(end, list[i].End)
			continue
		}
		if i == len(list) && from == 0 {
			return parts(list) // nothing cuts it
		}
		s.append(build(list[from:i]))
		if i < len(list) {
			if gap := list[i].Start - end; gap > tolerance {
				s.append(&node{kind: delay, delay: gap})
			}
			end = max(end, list[i].End)
		}
		from = i
	}
	return s
}

// parts divides intervals that no instant cuts among owners, or those of one owner among lanes.
func parts(list []Interval) *node {
	key := func(iv *Interval) int { return iv.owner }
	if !slices.ContainsFunc(list, func(iv Interval) bool { return iv.owner != list[0].owner }) {
		key = func(iv *Interval) int { return iv.lane }
	}
	place := map[int]int{}
	var groups [][]Interval // in the order of their first tasks
	for i := range list {
		k := key(&list[i])
		at, known := place[k]
		if !known {
			at = len(groups)
			place[k] = at
			groups = append(groups, nil)
		}
		groups[at] = append(groups[at], list[i])
	}
	p := &node{kind: parallel}
	for _, group := range groups {
		child := build(group)
		if late := group[0].Start - list[0].Start; late > tolerance {
			s := &node{kind: series}
			s.append(&node{kind: delay, delay: late})
			s.append(child)
			child = s
		}
		p.append(child)
	}
	return p
}

// append adds a child, or the children of a child of the same kind.
func (n *node) append(child *node) {
	if child.kind == n.kind {
		n.children = append(n.children, child.children...)
		return
	}
	n.children = append(n.children, child)
}

// binary returns the tree with parallel nodes of two children: a node of more is halved, the larger half first, again
// and again, so that it is as flat as can be.
func (n *node) binary() *node {
	if n.kind == leaf || n.kind == delay {
		return n
	}
	children := make([]*node, len(n.children))
	for i, c := range n.children {
		children[i] = c.binary()
	}
	if n.kind == series {
		return &node{kind: series, children: children}
	}
	return halve(children)
}

// halve returns a parallel node over children, halved again and again. There is at least one.
func halve(children []*node) *node {
	if len(children) == 1 {
		return children[0]
	}
	half := (len(children) + 1) / 2
	return &node{kind: parallel, children: []*node{halve(children[:half]), halve(children[half:])}}
}

// text returns the tree as S(P(m1, m2), ...), with the names of the job's subtasks.
func (n *node) text(j *Job) string {
	letter := "S("
	switch n.kind {
	case leaf:
		return j.name(n.task)
	case delay:
		return "Delay"
	case parallel:
		letter = "P("
	}
	children := make([]string, len(n.children))
	for i, c := range n.children {
		children[i] = c.text(j)
	}
	return letter + strings.Join(children, ", ") + ")"
}

package policy

import "github.com/sojourn-sched/sojourn/sched"

// A tree serves stages queue by queue: from the root it goes down to the child whose turn it is, and in a leaf to the first job.
//
// Tasks that need different kinds of slots do not compete, so that each kind is shared for itself: memory among those that need
// memory, map slots among maps, reduce slots among reduces, as both of Hadoop's generations have it.
//
// A decision costs the children of the queues on the way down: linear in siblings, whatever the number of jobs.
type tree struct {
	order
	rank  func(p *sched.Plan, q *sched.Queue, k sched.ResourceKind) sched.Key // of a child among its siblings
	users bool                                                                // each user of a queue is a child of it; else they are not told apart

	view  *sched.View
	kinds uint32   // of which some stage has asked for, by bit
	full  []uint64 // by queue: the pass in which it had nothing that fits
	pass  uint64
}

func newTree(a Args) tree { return tree{order: newOrder(a)} }

// begin sets up the index, whose Key the policy gives.
func (t *tree) begin(key func(*sched.View, *sched.Stage, sched.Time) (sched.Key, bool)) {
	t.whole = true
	t.index.Key = key
	t.index.Group = t.group
}

// kindOf returns the kind of resource in which st competes: the first that a task has any of.
func kindOf(st *sched.Stage) sched.ResourceKind {
	for k, a := range st.Spec.PerTask {
		if a > 0 {
			return sched.ResourceKind(k)
		}
	}
	panic("policy: a task that asks for nothing")
}

func groupOf(q sched.QueueID, k sched.ResourceKind) int { return int(q)*sched.NumResources + int(k) }

func (t *tree) group(st *sched.Stage) int {
	q, k := st.Job.Queue, kindOf(st)
	if !t.users {
		q = t.view.Queues[q].Parent
	}
	t.kinds |= 1 << k
	return groupOf(q, k)
}

// fill starts tasks until nothing that waits has room.
func (t *tree) fill(p *sched.Plan) {
	t.view = p.View
	t.index.Sync(p)
	for len(t.full) < len(p.Queues) {
		t.full = append(t.full, 0)
	}
	for k := range sched.ResourceKind(sched.NumResources) {
		if t.kinds>>k&1 == 0 {
			continue
		}
		t.pass++
		for st := t.first(p, p.Queues[0], k); st != nil; st = t.first(p, p.Queues[0], k) {
			if !t.start(p, st) {
				t.index.Skip(st)
			}
		}
	}
}

// first returns the stage below q whose turn it is among those with room; nil: none. A child is looked into only if its turn would come
// before that of the best one so far.
func (t *tree) first(p *sched.Plan, q *sched.Queue, k sched.ResourceKind) (first *sched.Stage) {
	if q.ID != 0 {
		if st := t.index.FirstOf(groupOf(q.ID, k), 0); st != nil {
			return st
		}
	}
	var least sched.Key
	for _, id := range q.Children {
		c := p.Queues[id]
		if t.full[id] == t.pass || c.Demand[k] <= c.Used[k] || c.User && !t.users {
			continue
		}
		key := t.rank(p, c, k)
		if first != nil && !before(key, least) {
			continue
		}
		if st := t.first(p, c, k); st != nil {
			first, least = st, key
		} else {
			t.full[id] = t.pass
		}
	}
	return first
}

// before reports whether a comes before b; of equals, the one that was there first stays first.
func before(a, b sched.Key) bool {
	switch {
	case a.Class != b.Class:
		return a.Class < b.Class
	case a.Value != b.Value:
		return a.Value < b.Value
	}
	return a.Then < b.Then
}

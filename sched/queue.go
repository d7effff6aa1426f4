package sched

import (
	"maps"
	"slices"
	"strings"
)

// DefaultQueue is the queue of jobs that name none.
const DefaultQueue = "default"

// noUser names the user of jobs that name none.
const noUser = "-"

// A queueTable finds queues by their paths, and the leaves of users by queue.
type queueTable struct {
	cluster *cluster
	byPath  map[string]QueueID
	users   map[userOf]QueueID
	spare   map[QueueID][]QueueID // rows of users that have gone, by parent
}

// A userOf names a user of a queue.
type userOf struct {
	queue QueueID
	user  string
}

func (t *queueTable) init(c *cluster, specs []*QueueSpec) {
	t.cluster = c
	t.byPath, t.users, t.spare = map[string]QueueID{}, map[userOf]QueueID{}, map[QueueID][]QueueID{}
	t.add(&QueueSpec{Name: "root"}, 0)
	t.addAll(specs, 0, "")
}

// addAll adds the queues of one level, and then those below them: parents come before children.
func (t *queueTable) addAll(specs []*QueueSpec, parent QueueID, path string) {
	ids := make([]QueueID, len(specs))
	for i, s := range specs {
		ids[i] = t.add(s, parent)
		t.byPath[path+s.Name] = ids[i]
	}
	for i, s := range specs {
		t.addAll(s.Queues, ids[i], path+s.Name+".")
	}
}

// add adds a queue below parent, and returns its ID. The first one is the root.
func (t *queueTable) add(spec *QueueSpec, parent QueueID) QueueID {
	c := t.cluster
	q := &Queue{ID: QueueID(len(c.view.Queues)), Parent: parent, Spec: spec, since: -1}
	c.view.Queues = append(c.view.Queues, q)
	if q.ID != 0 {
		p := c.view.Queues[parent]
		q.above = p
		p.Children = append(p.Children, q.ID)
	}
	t.limit(q)
	return q.ID
}

// change replaces the configured queues by those of specs. A queue that specs do not name goes when it is empty. Its
// row is not used again, so that parents stay before children.
func (t *queueTable) change(specs []*QueueSpec) {
	c := t.cluster
	said := map[QueueID]bool{}
	t.amend(specs, 0, "", said)
	paths := slices.Sorted(maps.Keys(t.byPath))
	slices.Reverse(paths) // those below before those above
	for _, path := range paths {
		id := t.byPath[path]
		q := c.view.Queues[id]
		if said[id] {
			continue
		}
		q.Spec = &QueueSpec{Name: q.Spec.Name}
		if q.Jobs == 0 && len(q.Children) == 0 {
			t.cut(q)
			delete(t.byPath, path)
		}
	}
	c.view.QueueChanges++
	t.setLimits()
	for j := range c.view.Jobs() {
		for _, st := range j.Stages {
			st.cap = j.leaf.cap
			c.ledger.log.touch(st)
		}
	}
}

// amend adds the queues of one level that are new, and gives the others their new specs.
func (t *queueTable) amend(specs []*QueueSpec, parent QueueID, path string, said map[QueueID]bool) {
	for _, s := range specs {
		id, ok := t.byPath[path+s.Name]
		if !ok {
			id = t.add(s, parent)
			t.byPath[path+s.Name] = id
		}
		t.cluster.view.Queues[id].Spec = s
		said[id] = true
		t.amend(s.Queues, id, path+s.Name+".", said)
	}
}

// cut removes queue q from the children of its parent.
func (t *queueTable) cut(q *Queue) {
	siblings := &t.cluster.view.Queues[q.Parent].Children
	if i := slices.Index(*siblings, q.ID); i >= 0 {
		*siblings = slices.Delete(*siblings, i, i+1)
	}
}

// setLimits computes the minima and maxima of all queues for the present capacity.
func (t *queueTable) setLimits() {
	for _, q := range t.cluster.view.Queues {
		t.limit(q)
	}
}

// limit computes the minimum and the maximum of queue q, whose parent has them already.
func (t *queueTable) limit(q *Queue) {
	if q.ID == 0 {
		q.Min, q.Max = t.cluster.view.Capacity, Resources{}
		for k := range q.Max {
			q.Max[k] = Unlimited
		}
		return
	}
	p := t.cluster.view.Queues[q.Parent]
	q.cap = p.cap
	for k := range q.Max {
		q.Min[k], q.Max[k] = q.Spec.Min.of(k, p.Min[k], 0), Unlimited
		above := p.Max[k]
		if above == Unlimited {
			above = t.cluster.view.Capacity[k]
		}
		if m := q.Spec.Max.of(k, above, Unlimited); m != Unlimited {
			q.Max[k], q.cap = m, q.ID
		}
	}
}

// of returns the share of resource kind k as an amount, where whole is that of the parent; none where the share says
// nothing of k.
func (s Share) of(k int, whole, none int64) int64 {
	switch {
	case s.Amount[k] > 0:
		return s.Amount[k]
	case s.Part > 0:
		return int64(s.Part * float64(whole))
	}
	return none
}

// leafOf returns the queue of a job's user, and makes it if there is none. A queue that is not configured gets weight 1
// below the root, as in Hadoop's Fair Scheduler.
func (t *queueTable) leafOf(spec *JobSpec) *Queue {
	path := strings.TrimPrefix(spec.Queue, "root.")
	if path == "" {
		path = DefaultQueue
	}
	id, ok := t.byPath[path]
	if !ok {
		parent, above := QueueID(0), ""
		for name := range strings.SplitSeq(path, ".") {
			above += name
			if id, ok = t.byPath[above]; !ok {
				id = t.add(&QueueSpec{Name: name}, parent)
				t.byPath[above] = id
			}
			parent = id
			above += "."
		}
	}
	user := spec.User
	if user == "" {
		user = noUser
	}
	key := userOf{id, user}
	leaf, ok := t.users[key]
	if !ok {
		leaf = t.addUser(id, user)
		t.users[key] = leaf
	}
	return t.cluster.view.Queues[leaf]
}

// addUser adds the queue of a user below parent, in the row of a user that has gone if there is one, and returns its
// ID.
func (t *queueTable) addUser(parent QueueID, user string) QueueID {
	c := t.cluster
	spare := t.spare[parent]
	if len(spare) == 0 {
		id := t.add(&QueueSpec{Name: user}, parent)
		c.view.Queues[id].User = true
		return id
	}
	id := spare[len(spare)-1]
	t.spare[parent] = spare[:len(spare)-1]
	q := c.view.Queues[id]
	*q = Queue{
		ID:     id,
		Parent: parent,
		above:  c.view.Queues[parent],
		User:   true,
		Spec:   &QueueSpec{Name: user},
		since:  -1,
		uses:   q.uses + 1,
	}
	c.view.Queues[parent].Children = append(c.view.Queues[parent].Children, id)
	t.limit(q)
	return id
}

// dropIdleUser removes q from the tree if it is a user's, and nothing is in it any more.
func (t *queueTable) dropIdleUser(q *Queue) {
	if !q.User || q.Jobs > 0 || q.Running() > 0 || q.Used != (Resources{}) {
		return
	}
	key := userOf{q.Parent, q.Spec.Name}
	if t.users[key] != q.ID {
		return // it was taken out already: several of its jobs were forgotten at once
	}
	delete(t.users, key)
	t.spare[q.Parent] = append(t.spare[q.Parent], q.ID)
	t.cut(q)
}

// QueueNamed returns the configured queue with a dotted path below the root, and whether there is one.
func (v *View) QueueNamed(path string) (*Queue, bool) {
	id, ok := v.cluster.queues.byPath[strings.TrimPrefix(path, "root.")]
	if !ok {
		return nil, false
	}
	return v.Queues[id], true
}

// Path returns the dotted path of a queue below the root, without users.
func (v *View) Path(q *Queue) string {
	if q.User {
		q = v.Queues[q.Parent]
	}
	if q.ID == 0 {
		return q.Spec.Name
	}
	path := q.Spec.Name
	for q = v.Queues[q.Parent]; q.ID != 0; q = v.Queues[q.Parent] {
		path = q.Spec.Name + "." + path
	}
	return path
}

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
	spare   map[spareOf][]QueueID // rows of queues that have gone, in the order in which they went
}

// A userOf names a user of a queue.
type userOf struct {
	queue QueueID
	user  string
}

// spareOf says for which queues spare rows are: those below a parent, so that parents stay before children, and either
// users or others.
type spareOf struct {
	parent QueueID
	user   bool
}

func (t *queueTable) init(c *cluster, specs []*QueueSpec) {
	t.cluster = c
	t.byPath, t.users, t.spare = map[string]QueueID{}, map[userOf]QueueID{}, map[spareOf][]QueueID{}
	t.add(&QueueSpec{Name: "root"}, spareOf{})
	t.addAll(specs, 0, "")
}

// addAll adds the queues of one level, and then those below them: parents come before children.
func (t *queueTable) addAll(specs []*QueueSpec, parent QueueID, path string) {
	ids := make([]QueueID, len(specs))
	for i, s := range specs {
		ids[i] = t.add(s, spareOf{parent: parent})
		t.byPath[path+s.Name] = ids[i]
	}
	for i, s := range specs {
		t.addAll(s.Queues, ids[i], path+s.Name+".")
	}
}

// add adds a queue below a parent, in the row of one that has gone if there is one, and returns its ID. The first one
// is the root.
func (t *queueTable) add(spec *QueueSpec, at spareOf) QueueID {
	v := t.cluster.view
	id, uses := QueueID(len(v.Queues)), int64(0)
	if spare := t.spare[at]; len(spare) > 0 {
		id = spare[len(spare)-1]
		t.spare[at] = spare[:len(spare)-1]
		if uses = v.Queues[id].uses + 1; !at.user {
			v.QueueChanges++ // the number of rows, by which policies notice a new queue, stays
		}
	} else {
		v.Queues = append(v.Queues, &Queue{})
	}
	q := v.Queues[id]
	*q = Queue{ID: id, Parent: at.parent, User: at.user, Spec: spec, since: -1, uses: uses}
	if id != 0 {
		p := v.Queues[at.parent]
		q.above = p
		p.Children = append(p.Children, id)
	}
	t.limit(q)
	return id
}

// change replaces the configured queues by those of specs. A queue that specs do not name is retired: it goes when it
// is empty.
func (t *queueTable) change(specs []*QueueSpec) {
	v := t.cluster.view
	said := map[QueueID]bool{}
	t.amend(specs, 0, "", said)
	paths := slices.Sorted(maps.Keys(t.byPath))
	slices.Reverse(paths) // those below before those above
	retired := make([]*Queue, 0, len(paths))
	for _, path := range paths {
		q := v.Queues[t.byPath[path]]
		if q.retired = !said[q.ID]; q.retired {
			q.Spec = &QueueSpec{Name: q.Spec.Name}
			retired = append(retired, q)
		}
	}
	for _, q := range retired { // it asks which queues above are retired
		t.dropRetired(q)
	}
	t.changed()
}

// changed brings all up to date that depends on which queues are configured, and on their specs. It costs O(stages of
// all live jobs): queues change when a configuration is read, and when one that was retired has become empty.
func (t *queueTable) changed() {
	v := t.cluster.view
	v.QueueChanges++
	t.setLimits()
	for j := range v.Jobs() {
		for _, st := range j.Stages {
			st.cap = j.leaf.cap
			t.cluster.ledger.log.touch(st)
		}
	}
}

// amend adds the queues of one level that are new, and gives the others their new specs.
func (t *queueTable) amend(specs []*QueueSpec, parent QueueID, path string, said map[QueueID]bool) {
	for _, s := range specs {
		id, ok := t.byPath[path+s.Name]
		if !ok {
			id = t.add(s, spareOf{parent: parent})
			t.byPath[path+s.Name] = id
		}
		t.cluster.view.Queues[id].Spec = s
		said[id] = true
		t.amend(s.Queues, id, path+s.Name+".", said)
	}
}

// dropRetired removes queue q, and then those above it, as far as they are retired and no job and no attempt is in them
// any more. It does so in the Step in which the last one ends. The users below, whose rows policies still read in that
// Step, go when the next one begins: then the row of the queue is used again. dropRetired reports whether the tree has
// changed.
func (t *queueTable) dropRetired(q *Queue) (changed bool) {
	v := t.cluster.view
	for ; q.retired && q.idle() && !t.hasQueues(q); q = q.above {
		if path := v.Path(q); t.byPath[path] == q.ID {
			delete(t.byPath, path)
			t.cut(q)
			changed = true
		}
		if len(q.Children) == 0 {
			q.retired = false
			t.keep(q)
		}
	}
	return changed
}

// dropEmptied removes the retired queues that are empty now that some jobs have ended.
func (t *queueTable) dropEmptied(ended []*Job) {
	changed := false
	for _, j := range ended {
		changed = t.dropRetired(j.leaf.above) || changed
	}
	if changed {
		t.changed()
	}
}

// idle reports whether no job and no attempt is in queue q.
func (q *Queue) idle() bool {
	return q.Jobs == 0 && q.Running() == 0 && q.Used == (Resources{}) && q.Demand == (Resources{})
}

// hasQueues reports whether there are queues below q that are not users'.
func (t *queueTable) hasQueues(q *Queue) bool {
	return slices.ContainsFunc(q.Children, func(id QueueID) bool { return !t.cluster.view.Queues[id].User })
}

// cut removes queue q from the children of its parent.
func (t *queueTable) cut(q *Queue) {
	q.gone = true
	siblings := &t.cluster.view.Queues[q.Parent].Children
	if i := slices.Index(*siblings, q.ID); i >= 0 {
		*siblings = slices.Delete(*siblings, i, i+1)
	}
}

// keep keeps the row of queue q, which is no more, for another one.
func (t *queueTable) keep(q *Queue) {
	at := spareOf{q.Parent, q.User}
	t.spare[at] = append(t.spare[at], q.ID)
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
				id = t.add(&QueueSpec{Name: name}, spareOf{parent: parent})
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
		leaf = t.add(&QueueSpec{Name: user}, spareOf{id, true})
		t.users[key] = leaf
	}
	return t.cluster.view.Queues[leaf]
}

// dropIdleUser removes q from the tree if it is a user's, and nothing is in it any more. The queues above it go too if
// they are retired and empty.
func (t *queueTable) dropIdleUser(q *Queue) {
	if !q.User || !q.idle() {
		return
	}
	key := userOf{q.Parent, q.Spec.Name}
	if t.users[key] != q.ID {
		return // it was taken out already: several of its jobs were forgotten at once
	}
	delete(t.users, key)
	t.cut(q)
	t.keep(q)
	if t.dropRetired(q.above) {
		t.changed()
	}
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

package policy

import (
	"slices"

	"github.com/sojourn-sched/sojourn/internal/priority"
	"github.com/sojourn-sched/sojourn/sched"
)

// userLines keep the users of queues with many users in the order of their first stages. Users at their limits are set
// aside. A user who has changed is put in his place before the next look. That costs O(log n) for n users.
//
// The place of a user in a heap is never behind that of his first stage: what could move the stage forward changes the
// stage, and so the user. So first looks at the stage of the first user only. If that stage has no room, or was passed
// over, it moves the user to where his first stage with room is, until the next pass.
type userLines struct {
	few   int         // queues with so many users, or with fewer, have no line
	lines []*userLine // by queue; nil: its users are few, or have not been looked at
	anew  int         // siblings.anew for which lines were made
	in    [2][sched.NumResources]userPlaces
}

// userPlaces say where users are, by queue, in the order of one side of a userLine.
type userPlaces struct {
	at    []int32 // place in the heap of the user's state
	state []userState
}

// A userState says where a user is in a userSide.
type userState uint8

const (
	userGone    userState = iota // nothing waits, or all that waits was passed over
	userReady                    // in order
	userLimited                  // at his limit
	userRefused                  // may have no more masters in this pass
	userOut                      // has no stage with room in this pass
)

// A userLine is the users of one queue.
type userLine struct {
	c      *capacity
	queue  sched.QueueID
	dirty  []sched.QueueID // users that have changed
	wants  [sched.NumResources]map[sched.QueueID]bool
	active [sched.NumResources]int         // users who want more
	sides  [2][sched.NumResources]userSide // of tasks, and of masters, which have limits of their own
}

// A userSide is the users with tasks, or with masters, that compete for one kind of resource.
type userSide struct {
	ready   priority.Indexed[userKey]
	limited priority.Indexed[usedKey] // users at their limits, who uses least first
	refused []sched.QueueID           // users who may have no more masters in this pass
	unsure  []sched.QueueID           // likewise, but another of their masters may be next when the room gets smaller
	users   int                       // active users for which refused holds
	moved   []sched.QueueID           // users that are not where their first stages are, until the next pass
	pass    uint64
	kept    int // nodes kept when pass began: when a task takes one, what is left of it is for all
}

// A userKey is the place of a user's stage.
type userKey struct {
	key sched.Key
	id  sched.StageID
}

// Before compares keys, and for equal ones which stage was submitted first.
func (a userKey) Before(b userKey) bool {
	return a.key.Before(b.key) || !b.key.Before(a.key) && earlier(a.id, b.id)
}

// A usedKey is what a user uses.
type usedKey struct {
	used int64
	user sched.QueueID
}

// Before compares amounts, and for equal ones the rows of users.
func (a usedKey) Before(b usedKey) bool {
	return a.used < b.used || a.used == b.used && a.user < b.user
}

// changed notes that something of a user has changed.
func (u *userLines) changed(v *sched.View, user sched.QueueID) {
	if above := v.Queues[user].Parent; int(above) < len(u.lines) && u.lines[above] != nil {
		line := u.lines[above]
		if n := len(line.dirty); n == 0 || line.dirty[n-1] != user {
			line.dirty = append(line.dirty, user)
		}
	}
}

// of returns the line of queue q, up to date.
func (u *userLines) of(c *capacity, p *sched.Plan, q *sched.Queue) *userLine {
	if u.anew != c.siblings.anew {
		*u = userLines{few: u.few, anew: c.siblings.anew}
	}
	for len(u.lines) < len(p.Queues) {
		u.lines = append(u.lines, nil)
	}
	line := u.lines[q.ID]
	if line == nil {
		line = &userLine{c: c, queue: q.ID, dirty: slices.Clone(q.Children)}
		for k := range line.wants {
			line.wants[k] = map[sched.QueueID]bool{}
		}
		u.lines[q.ID], c.siblings.inLeaf = line, true
	}
	c.waits.index.Head(0) // reads the log, and so notes the users that have changed
	for i := 0; i < len(line.dirty); i++ {
		line.update(p.View, p.Queues[line.dirty[i]])
	}
	line.dirty = line.dirty[:0]
	return line
}

// grow makes room for a user.
func (x *userPlaces) grow(id sched.QueueID) {
	if n := int(id) + 1; len(x.at) < n {
		n = max(n, 2*len(x.at))
		x.at = append(x.at, make([]int32, n-len(x.at))...)
		x.state = append(x.state, make([]userState, n-len(x.state))...)
	}
}

// update puts a user in his place.
func (l *userLine) update(v *sched.View, user *sched.Queue) {
	for k := range sched.ResourceKind(sched.NumResources) {
		wants := user.User && user.Demand[k] > user.Used[k]
		if was := l.wants[k][user.ID]; wants && !was {
			l.wants[k][user.ID] = true
			l.active[k]++
		} else if was && !wants {
			delete(l.wants[k], user.ID)
			l.active[k]--
		}
		if l.c.has(k) {
			for side := range l.sides {
				x := l.side(v, side, k)
				x.place(user.ID)
			}
		}
	}
}

// side returns one side of the order of users for a kind of resource.
func (l *userLine) side(v *sched.View, side int, k sched.ResourceKind) userOrder {
	return userOrder{l.c, v, l, k, side, &l.sides[side][k], &l.c.limits.in[side][k]}
}

// first returns the first stage of queue q among those of users below their limits, as capacity.underLimit does.
func (u *userLines) first(c *capacity, p *sched.Plan, q *sched.Queue, s sought) (first *sched.Stage) {
	line := u.of(c, p, q)
	var best userKey
	for side := range line.sides {
		x := line.side(p.View, side, s.kind)
		x.begin(s)
		if st, key := x.first(s.room, best); st != nil {
			first, best = st, key
		}
	}
	return first
}

// A userOrder is one side of a userLine, for one kind of resource, in a decision.
type userOrder struct {
	c    *capacity
	v    *sched.View
	line *userLine
	kind sched.ResourceKind
	side int
	*userSide
	in *userPlaces
}

// place puts a user where his first stage is, with room or without.
func (x *userOrder) place(user sched.QueueID) {
	x.in.grow(user)
	x.leave(user, userGone)
	if x.line.wants[x.kind][user] {
		if st := x.c.waits.at(groupOf(user, x.kind)+x.side, false); st != nil {
			x.put(user, st, x.c.rank(x.v, st, 1))
		}
	}
}

// put puts a user, who is in no heap, where stage st with a key is.
func (x *userOrder) put(user sched.QueueID, st *sched.Stage, key sched.Key) {
	x.in.state[user] = userReady
	x.ready.Put(x.in.at, priority.Entry[userKey]{Key: userKey{key, st.ID}, ID: int32(user)})
}

// leave takes a user out of the heap that he is in, and gives him another state.
func (x *userOrder) leave(user sched.QueueID, to userState) {
	switch x.in.state[user] {
	case userReady:
		x.ready.Remove(x.in.at, int32(user))
	case userLimited:
		x.limited.Remove(x.in.at, int32(user))
	}
	x.in.state[user] = to
}

// begin puts the users back who are not where their first stages are, if this is another pass, and those who may be
// below their limits by now.
func (x *userOrder) begin(s sought) {
	back := func(list *[]sched.QueueID, of ...userState) {
		for _, user := range *list {
			if slices.Contains(of, x.in.state[user]) {
				x.place(user)
			}
		}
		*list = (*list)[:0]
	}
	kept := x.c.Keep.reserved(x.v)
	if x.pass != s.pass || !s.room || x.kept != kept {
		x.pass, x.kept = s.pass, kept
		back(&x.moved, userOut, userReady)
		back(&x.refused, userRefused)
	}
	back(&x.unsure, userRefused)
	users, queue := x.line.active[x.kind], x.v.Queues[x.line.queue]
	if x.users != users {
		x.users = users
		back(&x.refused, userRefused)
	}
	for len(x.limited) > 0 && float64(x.limited[0].Key.used) < x.most(queue, users) {
		x.place(x.limited[0].Key.user)
	}
}

// most returns how much a user may use at most so that some task may still start.
func (x *userOrder) most(queue *sched.Queue, users int) float64 {
	return x.c.limits.limit(queue, x.kind, x.c.limits.largest[x.kind], users)
}

// first returns the first stage, with room or without, and its place, if it comes before best (the zero value is none).
// A master that may not start now may not start later in the same pass, in which masters only become more.
func (x *userOrder) first(room bool, best userKey) (*sched.Stage, userKey) {
	limits, users := &x.c.limits, x.line.active[x.kind]
	for len(x.ready) > 0 {
		e := x.ready[0]
		if best != (userKey{}) && !e.Key.Before(best) {
			break
		}
		user := sched.QueueID(e.ID)
		st := x.c.waits.at(groupOf(user, x.kind)+x.side, room)
		if st == nil {
			x.leave(user, userOut)
			x.moved = append(x.moved, user)
			continue
		}
		key := userKey{x.c.rank(x.v, st, 1), st.ID}
		switch {
		case e.Key.Before(key):
			x.leave(user, userGone)
			x.put(user, st, key.key)
			x.moved = append(x.moved, user)
		case !limits.mayHaveMore(x.v, st, users):
			x.leave(user, userLimited)
			used := usedKey{x.v.Queues[user].Used[x.kind], user}
			x.limited.Put(x.in.at, priority.Entry[usedKey]{Key: used, ID: e.ID})
		case limits.mayStart(x.v, st, users):
			return st, key
		default:
			x.leave(user, userRefused)
			if x.v.Queues[user].Count[sched.Master].Pending > 1 {
				x.unsure = append(x.unsure, user)
			} else {
				x.refused = append(x.refused, user)
			}
		}
	}
	return nil, userKey{}
}

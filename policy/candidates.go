package policy

import "github.com/sojourn-sched/sojourn/sched"

// Candidates are the stages that a tree may choose from: those that wait, or those that a policy keeps beside them. A
// stage is in one group for its queue and the kind of resource that it competes for.
type candidates struct {
	index   sched.Index // in one group for each queue and kind
	some    sched.Index // in one group for each kind, to tell whether there is room for any
	synced  bool        // some is up to date
	skipped bool        // some stage has been passed over in this Step
	full    []uint64    // by queue: the pass in which it had nothing that fits
}

// init sets the functions of both indexes. key orders the stages of a group, and reports whether a stage is a
// candidate; in reports the same for the index by kind, which has no order.
func (c *candidates) init(group func(*sched.Stage) int, key func(*sched.View, *sched.Stage) (sched.Key, bool),
	in func(*sched.Stage) bool) {
	c.index.Group, c.some.Group = group, kindGroup
	c.index.Key = func(v *sched.View, st *sched.Stage, _ sched.Time) (sched.Key, bool) { return key(v, st) }
	c.some.Key = func(_ *sched.View, st *sched.Stage, _ sched.Time) (sched.Key, bool) { return sched.Key{}, in(st) }
}

// begin brings back the stages that were passed over.
func (c *candidates) begin(p *sched.Plan) {
	c.index.Sync(p)
	c.synced = false
	if more := len(p.Queues) - len(c.full); more > 0 {
		c.full = append(c.full, make([]uint64, more)...)
	}
}

// skip passes a stage over until begin.
func (c *candidates) skip(st *sched.Stage) {
	c.index.Skip(st)
	c.skipped = true
	if c.synced {
		c.some.Skip(st)
	}
}

// head returns the first stage of kind k, room or not; nil: none.
func (c *candidates) head(p *sched.Plan, k sched.ResourceKind) *sched.Stage {
	c.follow(p)
	return c.some.Head(int(k))
}

// follow brings some up to date.
func (c *candidates) follow(p *sched.Plan) {
	if !c.synced {
		c.synced = true
		c.some.Sync(p)
	}
}

// any returns a stage of kind k that has room if its task holds a shape, zero being its own; nil: none has.
func (c *candidates) any(p *sched.Plan, k sched.ResourceKind, holds sched.ShapeID) *sched.Stage {
	c.follow(p)
	return c.some.FirstOf(int(k), holds)
}

// at returns the first stage of a group, among those with room or among all; nil: none.
func (c *candidates) at(group int, room bool) *sched.Stage {
	if room {
		return c.index.FirstOf(group, 0)
	}
	return c.index.Head(group)
}

// only reports whether all candidates are in queue q and compete for the kind of resource that search s is for, and the
// search has not found that the queue has nothing that fits.
func (c *candidates) only(q sched.QueueID, s sought) bool {
	return c.full[q] != s.pass && c.index.Only(groupOf(q, s.kind))
}

// groupOf returns the group of the stages in queue q that compete for kind k. Masters that are bounded (see
// masterLimit) are in a group of their own.
func groupOf(q sched.QueueID, k sched.ResourceKind) int {
	return 2 * (int(q)*sched.NumResources + int(k))
}

// mastersOf returns the group of the bounded masters that belongs to a group of groupOf.
func mastersOf(group int) int { return group + 1 }

// A sought says what a walk down the tree of queues looks for: a stage among candidates.
type sought struct {
	of   *candidates
	kind sched.ResourceKind // kind of resource that the stage competes for
	lane lane               // order in which the walk visits sibling queues
	room bool               // only a stage whose task fits on some node now
	pass uint64             // number of this pass: a queue that was found empty in it is not visited again
}

package sim

import (
	"math/bits"
	"slices"

	"github.com/sojourn-sched/sojourn/sched"
)

// A calendar is a priority queue of items. Each item is due at an instant. It is a hierarchy of timing wheels (Varghese
// and Lauck, Hashed and Hierarchical Timing Wheels, SOSP 1987) whose hand jumps from instant to instant: a radix heap
// with digits of four bits. No item may be pushed for an instant before the last one taken.
//
// The level of an item is the highest digit in which its instant differs from the last one taken, and the value of that
// digit is its slot there. So the items that are due first are in the first slot of the lowest level that has any. When
// they are taken, the others of that slot move to lower levels. Of n items due at random instants each moves about
// log2(n) ÷ 4 times. Nothing must be fitted to the distances between instants.
type calendar struct {
	items []item // items[0] is not used
	free  int32  // first of the list of free items; 0: none
	live  int    // how many items are due
	dead  int    // how many were dropped and are still in a slot

	slots   [digits][1 << digitBits]int32 // the first item of each; 0: none
	filled  [digits]uint16                // a bit for each slot that is not empty
	levels  uint16                        // a bit for each level that has such a slot
	last    sched.Time                    // the instant whose items were taken last
	soonest sched.Time                    // the earliest instant at which an item is due; sched.Never: no item is
}

// digitBits is how many bits a digit has, and digits how many digits an instant has.
const (
	digitBits = 4
	digits    = 64 / digitBits
)

// An item is something that is due, or a free row.
type item struct {
	at   sched.Time
	what uint64 // never zero while it is due
	next int32  // in its slot, or in the list of free items
}

// leastDead is how many dropped items are kept at least before they are removed from their slots.
const leastDead = 1 << 10

func newCalendar() *calendar {
	return &calendar{items: make([]item, 1), soonest: sched.Never}
}

// push adds an item with the value what, which is not zero, and which is due at an instant not before the last one
// taken. Until the item is taken, drop accepts the handle.
func (c *calendar) push(at sched.Time, what uint64) (handle int32) {
	i := c.free
	if i == 0 {
		i = int32(len(c.items))
		c.items = append(c.items, item{})
	} else {
		c.free = c.items[i].next
	}
	x := &c.items[i]
	x.at, x.what = at, what
	c.live++
	c.place(i, x)
	c.soonest = min(c.soonest, at)
	return i
}

// place puts item i, whose row is x, into its slot.
func (c *calendar) place(i int32, x *item) {
	l, s := c.slotOf(x.at)
	x.next = c.slots[l][s]
	c.slots[l][s] = i
	c.filled[l] |= 1 << s
	c.levels |= 1 << l
}

// slotOf returns the level and the slot of an instant.
func (c *calendar) slotOf(at sched.Time) (level, slot uint) {
	level = uint(bits.Len64(uint64(at^c.last)|1)-1) / digitBits % digits // % saves the check of bounds
	return level, uint(at>>(level*digitBits)) % (1 << digitBits)
}

// empty removes the items from a slot, and returns the first.
func (c *calendar) empty(level, slot uint) (first int32) {
	first = c.slots[level][slot]
	c.slots[level][slot] = 0
	if c.filled[level] &^= 1 << slot; c.filled[level] == 0 {
		c.levels &^= 1 << level
	}
	return first
}

// drop removes the item of a handle.
func (c *calendar) drop(handle int32) {
	x := &c.items[handle]
	x.what = 0
	c.live--
	if c.dead++; c.dead > c.live+leastDead {
		for l := range c.slots {
			for s := range c.slots[l] {
				c.sweep(uint(l), uint(s))
			}
		}
	}
	if x.at == c.soonest {
		c.settle()
	}
}

// next returns the earliest instant at which something is due; sched.Never: nothing is.
func (c *calendar) next() sched.Time { return c.soonest }

// settle sets soonest. It removes dropped items from the slots up to the one that has the items of that instant.
func (c *calendar) settle() {
	c.soonest = sched.Never
	for c.levels != 0 && c.soonest == sched.Never {
		l := uint(bits.TrailingZeros16(c.levels))
		s := uint(bits.TrailingZeros16(c.filled[l]))
		if c.dead > 0 {
			c.sweep(l, s)
		}
		for i := c.slots[l][s]; i != 0; i = c.items[i].next {
			c.soonest = min(c.soonest, c.items[i].at)
		}
	}
}

// sweep removes the dropped items from a slot.
func (c *calendar) sweep(level, slot uint) {
	for i := c.empty(level, slot); i != 0; {
		x := &c.items[i]
		next := x.next
		if x.what != 0 {
			c.place(i, x)
		} else {
			c.release(i, x)
			c.dead--
		}
		i = next
	}
}

// take removes the items that are due at the instant that next returned, and appends their values to list, in ascending
// order.
func (c *calendar) take(list []uint64) []uint64 {
	n, at := len(list), c.soonest
	i := c.empty(c.slotOf(at))
	c.last, c.soonest = at, sched.Never
	for i != 0 {
		x := &c.items[i]
		next := x.next
		if x.at != at {
			c.soonest = min(c.soonest, x.at)
			c.place(i, x)
		} else if what := c.release(i, x); what != 0 {
			list = append(list, what)
		} else {
			c.dead--
		}
		i = next
	}
	c.live -= len(list) - n
	if len(list) > n+1 {
		slices.Sort(list[n:])
	}
	if c.soonest == sched.Never || c.dead > 0 {
		c.settle()
	}
	return list
}

// release frees item i, whose row is x, and returns the item's value; zero: it had been dropped.
func (c *calendar) release(i int32, x *item) (what uint64) {
	what, x.what = x.what, 0
	x.next = c.free
	c.free = i
	return what
}

package sim

import (
	"math/bits"
	"slices"

	"github.com/sojourn-sched/sojourn/sched"
)

// A calendar is a priority queue of items. Each item is due at an instant (Brown, Calendar Queues, CACM 1988).
// Items of the near future are in a ring of buckets of equal width, one bucket a "day". Items beyond the ring are in
// the heap far. The items of the present day are in the heap today.
//
// An item costs O(1) while a bucket holds about one instant, however many items are due at that instant (plus sorting
// these by their values). An item costs O(log n) while the width does not suit the times. After as many items as the
// queue holds, look chooses the width anew.
type calendar struct {
	items []item // items[0] is not used
	free  int32  // first of the list of free items; 0: none
	live  int    // how many items are due
	dead  int    // how many were dropped and are still in a bucket or a heap

	ring   []int32  // by bucket: its first item; 0: none
	words  []uint64 // a bit for each bucket that is not empty
	inRing int      // items in ring
	shift  uint     // a bucket is 1<<shift ns wide
	day    int64    // number of the present bucket, since instant 0
	today  dueHeap
	far    dueHeap

	soonest  sched.Time // the earliest instant at which an item is due; never: no item is
	last     sched.Time // the instant whose items were taken last
	instants int        // distinct instants since the last look at the width
	pops     int        // items taken since then
	looked   sched.Time // what last was at that look
}

type item struct {
	at   sched.Time
	what uint64 // never zero while it is due
	next int32  // in its bucket, or in the list of free items
}

const (
	leastRing = 1 << 8
	mostRing  = 1 << 22
	// perItem is how many buckets the ring has for each item. On average items are pushed as many instants ahead as
	// there are items, so few are pushed beyond perItem times as many.
	perItem   = 4
	leastLook = 1 << 10
)

func newCalendar() *calendar {
	return &calendar{
		items:   make([]item, 1),
		ring:    make([]int32, leastRing),
		words:   make([]uint64, leastRing/64),
		shift:   30,
		soonest: never,
	}
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
	if at < c.soonest {
		c.soonest = at
	}
	if c.live > 4*perItem*len(c.ring) && len(c.ring) < mostRing {
		c.rebuild(c.shift)
	}
	return i
}

// place puts item i, whose row is x, into today, the ring or far, by its instant.
func (c *calendar) place(i int32, x *item) {
	switch d := int64(x.at) >> c.shift; {
	case d <= c.day:
		c.today.push(due{x.at, i})
	case d-c.day < int64(len(c.ring)):
		b := d & int64(len(c.ring)-1)
		x.next = c.ring[b]
		c.ring[b] = i
		c.words[b>>6] |= 1 << (b & 63)
		c.inRing++
	default:
		c.far.push(due{x.at, i})
	}
}

// drop removes the item of a handle.
func (c *calendar) drop(handle int32) {
	x := &c.items[handle]
	x.what = 0
	c.live--
	if c.dead++; c.dead > c.live+leastLook {
		c.rebuild(c.shift)
	}
	if x.at == c.soonest {
		c.settle()
	}
}

// next returns the earliest instant at which something is due; never: nothing is.
func (c *calendar) next() sched.Time { return c.soonest }

// settle sets soonest, and opens days until today has the items of that instant.
func (c *calendar) settle() {
	for {
		for len(c.today) > 0 {
			top := c.today[0]
			if c.items[top.item].what != 0 {
				c.soonest = top.at
				return
			}
			c.release(c.today.pop())
			c.dead--
		}
		if !c.open() {
			c.soonest = never
			return
		}
	}
}

// take removes the items that are due at the instant that next returned, and appends their values to list, in ascending
// order.
func (c *calendar) take(list []uint64) []uint64 {
	at, n := c.soonest, len(list)
	if len(c.today) == 0 || c.today[0].at != at { // it was pushed when there was nothing else, or the buckets are new
		c.settle()
	}
	if len(c.today) > 1 && c.today.same() { // as where the tasks of a wave end together
		for _, d := range c.today {
			list = c.taken(list, d.item)
		}
		c.today = c.today[:0]
	}
	for len(c.today) > 0 && c.today[0].at == at {
		list = c.taken(list, c.today.pop())
	}
	c.live -= len(list) - n
	c.pops += len(list) - n
	if len(list) > n+1 {
		slices.Sort(list[n:])
	}
	c.last = at
	if c.instants++; c.pops >= leastLook && c.pops >= c.live {
		c.look()
	}
	c.settle()
	return list
}

// taken frees item i, and appends its value to list unless the item had been dropped.
func (c *calendar) taken(list []uint64, i int32) []uint64 {
	what := c.release(i)
	if what == 0 {
		c.dead--
		return list
	}
	return append(list, what)
}

// release frees the row of item i, and returns the item's value; zero: it had been dropped.
func (c *calendar) release(i int32) (what uint64) {
	x := &c.items[i]
	what, x.what = x.what, 0
	x.next = c.free
	c.free = i
	return what
}

// open moves the items of the next day that has any into today, and reports whether there is such a day.
func (c *calendar) open() bool {
	if c.inRing == 0 && len(c.far) == 0 {
		return false
	}
	mask := int64(len(c.ring) - 1)
	if c.inRing > 0 {
		c.day += c.ahead()
	}
	if len(c.far) > 0 {
		if d := int64(c.far[0].at) >> c.shift; c.inRing == 0 || d < c.day {
			c.day = d
		}
		for len(c.far) > 0 && int64(c.far[0].at)>>c.shift == c.day {
			c.today.push(c.far[0])
			c.far.pop()
		}
	}
	b := c.day & mask
	if i := c.ring[b]; i != 0 && int64(c.items[i].at)>>c.shift == c.day {
		c.ring[b] = 0
		c.words[b>>6] &^= 1 << (b & 63)
		for i != 0 {
			x := &c.items[i]
			c.today.push(due{x.at, i})
			i = x.next
			c.inRing--
		}
	}
	return true
}

// ahead returns how many days after today the ring's next day with items is. There must be one.
func (c *calendar) ahead() int64 {
	mask := int64(len(c.ring) - 1)
	b := (c.day + 1) & mask
	w := c.words[b>>6] >> (b & 63) << (b & 63)
	for k := b >> 6; ; w = c.words[k] {
		if w != 0 {
			found := k<<6 + int64(bits.TrailingZeros64(w))
			return (found-c.day-1)&mask + 1
		}
		k = (k + 1) & (mask >> 6)
	}
}

// look rebuilds the calendar if its width does not suit the distance between instants, or its size the items.
func (c *calendar) look() {
	gap := (c.last - c.looked) / sched.Time(c.instants)
	c.pops, c.instants, c.looked = 0, 0, c.last
	shift := uint(bits.Len64(uint64(gap)))
	size := c.size()
	if shift+1 < c.shift || shift > c.shift+1 || size > 2*len(c.ring) || 4*size < len(c.ring) {
		c.rebuild(shift)
	}
}

// size returns how many buckets suit the present number of items.
func (c *calendar) size() int {
	return min(max(1<<bits.Len(uint(perItem*c.live)), leastRing), mostRing)
}

// rebuild gives the calendar buckets of a width of 1<<shift ns, as many as size says, and drops the dead items.
func (c *calendar) rebuild(shift uint) {
	was := c.ring
	keep := make([]int32, 0, c.live)
	gather := func(i int32) {
		if c.items[i].what != 0 {
			keep = append(keep, i)
		} else {
			c.release(i)
		}
	}
	for _, d := range c.today {
		gather(d.item)
	}
	for _, d := range c.far {
		gather(d.item)
	}
	for _, i := range was {
		for i != 0 {
			next := c.items[i].next
			gather(i)
			i = next
		}
	}
	size := c.size()
	if size != len(was) {
		c.ring, c.words = make([]int32, size), make([]uint64, size/64)
	} else {
		clear(c.ring)
		clear(c.words)
	}
	c.today, c.far, c.inRing, c.dead = c.today[:0], c.far[:0], 0, 0
	c.shift, c.day = shift, int64(c.last)>>shift
	for _, i := range keep {
		c.place(i, &c.items[i])
	}
}

// A due is an index of calendar.items, and the instant at which the item is due.
type due struct {
	at   sched.Time
	item int32
}

// A dueHeap is a 4-ary heap by instant. Items of equal instants come in no order.
type dueHeap []due

func (h *dueHeap) push(d due) {
	*h = append(*h, d)
	a := *h
	i := len(a) - 1
	for ; i > 0 && d.at < a[(i-1)>>2].at; i = (i - 1) >> 2 {
		a[i] = a[(i-1)>>2]
	}
	a[i] = d
}

// same reports whether all items are due at one instant. It costs no more than to pop the items of the first instant.
func (h dueHeap) same() bool {
	for i := range h {
		if h[i].at != h[0].at {
			return false
		}
	}
	return true
}

// pop removes the first entry, and returns its item.
func (h *dueHeap) pop() (first int32) {
	a := *h
	first = a[0].item
	n := len(a) - 1
	d := a[n]
	a = a[:n]
	*h = a
	if n == 0 {
		return first
	}
	i := 0
	for {
		least := 4*i + 1
		if least >= n {
			break
		}
		for k := least + 1; k < min(4*i+5, n); k++ {
			if a[k].at < a[least].at {
				least = k
			}
		}
		if d.at <= a[least].at {
			break
		}
		a[i] = a[least]
		i = least
	}
	a[i] = d
	return first
}

package sim

import (
	"math/bits"
	"slices"

	"github.com/sojourn-sched/sojourn/sched"
)

// A calendar is a queue of what is due at instants: a ring of buckets of equal width for what is near (Brown, Calendar
// Queues, CACM 1988), a heap for what is far, and a heap for the bucket that is open. Push and take cost O(1) for each
// item while a bucket holds about one instant, any number of items due at one instant included, but for putting these
// into order; they cost O(log n) where widths do not suit the times, until the next look at the widths, which comes
// after as many pops as there are items.
type calendar struct {
	items []item // items[0] is not used
	free  int32
	live  int // items that are due
	dead  int // items that were dropped and are still somewhere

	ring   []int32 // first item of each bucket; 0: none
	words  []uint64
	inRing int
	shift  uint  // a bucket is 1<<shift ns wide
	day    int64 // number of the open bucket
	today  dueHeap
	far    dueHeap

	soonest  sched.Time // of what is due; never: nothing is
	last     sched.Time // instant that was taken last
	instants int        // distinct ones since the last look at the widths
	pops     int
	looked   sched.Time // instant of that look
}

type item struct {
	at   sched.Time
	what uint64 // never zero while it is due
	next int32  // in its bucket, or in the list of free items
}

const (
	leastRing = 1 << 8
	mostRing  = 1 << 22
	// perItem is how many buckets the ring has for each item: items are pushed on average as many instants ahead as
	// there are items, so this many times that is rarely exceeded.
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

// push adds what, which is not zero, at an instant not before the last one taken. The handle is good for drop until the
// item is taken.
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

// place puts an item where its day says.
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

// drop takes an item out that is due.
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

// settle finds out what is due next.
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

// take removes what is due at the instant that next returned and appends it to list, in ascending order.
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

// taken appends to list what an item was about, if it had not been dropped, and frees the item.
func (c *calendar) taken(list []uint64, i int32) []uint64 {
	what := c.release(i)
	if what == 0 {
		c.dead--
		return list
	}
	return append(list, what)
}

// release frees an item and returns what it was about; zero: it had been dropped.
func (c *calendar) release(i int32) (what uint64) {
	x := &c.items[i]
	what, x.what = x.what, 0
	x.next = c.free
	c.free = i
	return what
}

// open makes the next day that has something today, and reports whether there is one.
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

// ahead returns how many days after today the first is that the ring has something for. There must be one.
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

// look checks whether the widths suit the times.
func (c *calendar) look() {
	gap := (c.last - c.looked) / sched.Time(c.instants)
	c.pops, c.instants, c.looked = 0, 0, c.last
	shift := uint(bits.Len64(uint64(gap)))
	size := c.size()
	if shift+1 < c.shift || shift > c.shift+1 || size > 2*len(c.ring) || 4*size < len(c.ring) {
		c.rebuild(shift)
	}
}

// size returns how many buckets suit the number of items.
func (c *calendar) size() int {
	return min(max(1<<bits.Len(uint(perItem*c.live)), leastRing), mostRing)
}

// rebuild gives the calendar buckets of another width, and as many as suit what is due.
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

// A due is an item of a calendar and its instant.
type due struct {
	at   sched.Time
	item int32
}

// A dueHeap is a 4-ary heap by instant. Items of equal instants pass each other at no cost.
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

// same reports whether all items are of one instant. It costs no more than to pop those of the first.
func (h dueHeap) same() bool {
	for i := range h {
		if h[i].at != h[0].at {
			return false
		}
	}
	return true
}

// pop takes out the first, and returns its item.
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

package sim

import (
	"cmp"
	"container/heap"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sojourn-sched/sojourn/sched"
)

// patterns are the ways in which times can be pushed: ahead of now, in nanoseconds.
var patterns = []struct {
	name  string
	ahead func(r *rand.Rand, k int) sched.Time
}{
	{"exponential", func(r *rand.Rand, _ int) sched.Time { return sched.Time(r.ExpFloat64() * 25e9) }},
	{"all equal", func(*rand.Rand, int) sched.Time { return 25e9 }},
	{"same instant", func(*rand.Rand, int) sched.Time { return 0 }},
	{"far and near", func(r *rand.Rand, _ int) sched.Time { return sched.Time(1) << (r.UintN(56)) }},
	{"burst and lull", func(r *rand.Rand, k int) sched.Time {
		if k/1000%2 == 0 {
			return sched.Time(r.Uint64N(1000))
		}
		return sched.Time(1e12 + r.Uint64N(1e12))
	}},
	{"width changes a millionfold", func(r *rand.Rand, k int) sched.Time {
		if k < 30000 {
			return sched.Time(r.Uint64N(1e6))
		}
		return sched.Time(r.Uint64N(1e15))
	}},
}

// The calendar gives back what is due in the order of a sorted list, whatever is pushed and dropped.
func TestCalendarAgainstSorting(t *testing.T) {
	for _, p := range patterns {
		t.Run(p.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 2))
			c := newCalendar()
			type thing struct {
				at     sched.Time
				handle int32
			}
			in := map[uint64]thing{}
			now, last := sched.Time(0), uint64(0)
			for k := range 60000 {
				for range 1 + r.IntN(2) {
					last++
					at := now + p.ahead(r, k)
					in[last] = thing{at, c.push(at, last)}
				}
				if r.IntN(8) == 0 {
					for what, x := range in { // any: which one the map gives does not matter for what must hold
						c.drop(x.handle)
						delete(in, what)
						break
					}
				}
				if len(in) > 3000 || r.IntN(3) == 0 {
					at := c.next()
					ok := at != sched.Never
					if ok != (len(in) > 0) {
						t.Fatalf("next says %v with %d items", ok, len(in))
					}
					if !ok {
						continue
					}
					got := c.take(nil)
					if !slices.IsSorted(got) {
						t.Fatalf("not in order: %v", got)
					}
					for _, what := range got {
						if in[what].at != at {
							t.Fatalf("item of %v taken at %v", in[what].at, at)
						}
						delete(in, what)
					}
					if at < now {
						t.Fatalf("instant %v after %v", at, now)
					}
					now = at
				}
			}
			var rest []sched.Time
			for _, x := range in {
				rest = append(rest, x.at)
			}
			slices.Sort(rest)
			for _, want := range slices.Compact(rest) {
				if at := c.next(); at != want {
					t.Fatalf("next is %v, want %v", at, want)
				}
				c.take(nil)
			}
			if c.next() != sched.Never || c.live != 0 {
				t.Fatalf("%d items are left", c.live)
			}
		})
	}
}

// What was dropped does not pile up.
func TestCalendarSize(t *testing.T) {
	c := newCalendar()
	for i := range 1_000_000 {
		c.drop(c.push(sched.Time(1e9+i*1e6), 1))
	}
	if len(c.items) > 10*leastDead {
		t.Errorf("%d items are kept of a million dropped", len(c.items))
	}
}

// A plainQueue keeps items by container/heap: what a calendar does, in a few lines.
type plainQueue []dueItem

type dueItem struct {
	at   sched.Time
	what uint64
}

func (q plainQueue) Len() int { return len(q) }
func (q plainQueue) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(q[i].at, q[j].at), cmp.Compare(q[i].what, q[j].what)) < 0
}
func (q plainQueue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *plainQueue) Push(x any)   { *q = append(*q, x.(dueItem)) }

func (q *plainQueue) Pop() any {
	last := len(*q) - 1
	x := (*q)[last]
	*q = (*q)[:last]
	return x
}

func (q *plainQueue) push(at sched.Time, what uint64) { heap.Push(q, dueItem{at, what}) }

func (q *plainQueue) take(list []uint64) []uint64 {
	for at := q.next(); len(*q) > 0 && (*q)[0].at == at; {
		list = append(list, heap.Pop(q).(dueItem).what)
	}
	return list
}

func (q *plainQueue) next() sched.Time { return (*q)[0].at }

// BenchmarkCalendar is an item pushed and taken with as many items in the queue as the name says, beside a queue by
// container/heap.
func BenchmarkCalendar(b *testing.B) {
	for _, p := range patterns {
		for _, n := range []int{100, 3000, 100000} {
			b.Run(p.name+"/items="+itoa(n), func(b *testing.B) {
				c := newCalendar()
				pushAndTake(b, n, p.ahead, func(at sched.Time, what uint64) { c.push(at, what) }, c.next, c.take)
			})
			b.Run(p.name+"/container/items="+itoa(n), func(b *testing.B) {
				q := &plainQueue{}
				pushAndTake(b, n, p.ahead, q.push, q.next, q.take)
			})
		}
	}
}

// pushAndTake keeps n items in a queue.
func pushAndTake(b *testing.B, n int, pattern func(*rand.Rand, int) sched.Time, push func(sched.Time, uint64),
	next func() sched.Time, take func([]uint64) []uint64) {
	r := rand.New(rand.NewPCG(1, 2))
	ahead := make([]sched.Time, 1<<16)
	for i := range ahead {
		ahead[i] = pattern(r, i)
	}
	for i := range n {
		push(ahead[i&65535], uint64(i+1))
	}
	var due []uint64
	at := sched.Time(0)
	b.ReportAllocs()
	for k := 0; b.Loop(); k++ {
		if len(due) == 0 {
			at = next()
			due = take(due[:0])
		}
		push(at+ahead[k&65535], due[len(due)-1])
		due = due[:len(due)-1]
	}
}

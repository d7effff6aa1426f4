package sched

import (
	"container/heap"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sojourn-sched/sojourn/internal/priority"
)

// A dueAttempt ends at an instant.
type dueAttempt struct {
	at Time
	id AttemptID
}

// Before reports whether a ends before b.
func (a dueAttempt) Before(b dueAttempt) bool { return a.at < b.at }

// durations are 65,536 lognormal task times of mean 25 s, drawn once.
func durations() []Time {
	r := rand.New(rand.NewPCG(1, 2))
	d := make([]Time, 1<<16)
	for i := range d {
		d[i] = Time(25e9 * math.Exp(r.NormFloat64()*0.5-0.125))
	}
	return d
}

// A load keeps a fixed number of jobs unfinished: when one ends, another comes.
type load struct {
	core  *Core
	due   priority.Queue[dueAttempt]
	times []Time
	draw  uint32
	next  JobID
	spec  []StageSpec
	evs   []Event
}

func newLoad(nodes, jobs int, policy Policy, estimator Estimator) *load {
	l := &load{core: New(Config{Policy: policy, Estimator: estimator}), times: durations(),
		spec: []StageSpec{
			{Kind: Map, PerTask: slots(1, 0), Tasks: 300, Prior: 25 * sec, MaxAttempts: DefaultMaxAttempts},
		}}
	for i := range nodes {
		l.evs = append(l.evs, Event{Kind: NodeJoined, Node: NodeID(i + 1),
			Body: &NodeSpec{Class: "c", Capacity: slots(5, 0)}})
	}
	l.do(l.core.Step(0, l.evs))
	for range jobs {
		l.evs = l.evs[:0]
		l.submit()
		l.do(l.core.Step(l.core.Now, l.evs))
	}
	return l
}

func (l *load) submit() {
	l.next++
	l.evs = append(l.evs, Event{Kind: JobSubmitted, Job: l.next, Body: &JobSpec{Stages: l.spec}})
}

func (l *load) do(acts []Action) {
	for i := range acts {
		if acts[i].Kind == Launch {
			l.draw++
			l.due.Push(dueAttempt{l.core.Now + l.times[l.draw*2654435761>>16], acts[i].Attempt})
		}
	}
}

// step runs one completion, and submits a job for one that ends.
func (l *load) step() {
	e := l.due.Pop()
	l.evs = append(l.evs[:0], Event{Kind: AttemptDone, Attempt: e.id})
	l.do(l.core.Step(e.at, l.evs))
	if n := len(l.core.Events); l.core.Events[n-1].Kind == JobEnded {
		l.evs = l.evs[:0]
		l.submit()
		l.do(l.core.Step(e.at, l.evs))
	}
}

// BenchmarkStep is the cost of a completion and the launch that follows, with as many jobs unfinished as there are
// nodes.
func BenchmarkStep(b *testing.B) {
	for _, n := range []int{600, 1000, 10000, 100000} {
		b.Run(fmt.Sprint("inorder/nodes=", n), func(b *testing.B) {
			l := newLoad(n, n, &inOrder{}, nil)
			b.ReportAllocs()
			for b.Loop() {
				l.step()
			}
		})
	}
}

// plainHeap keeps the entries of an index by container/heap.
type plainHeap struct {
	entries []entry
	where   []int // by slot
}

func (h *plainHeap) Len() int           { return len(h.entries) }
func (h *plainHeap) Less(i, j int) bool { return h.entries[i].before(&h.entries[j]) }
func (h *plainHeap) Push(x any)         { h.entries = append(h.entries, x.(entry)) }
func (h *plainHeap) Pop() any           { panic("no entry is removed here") }

func (h *plainHeap) Swap(i, j int) {
	a := h.entries
	a[i], a[j] = a[j], a[i]
	h.where[a[i].slot], h.where[a[j].slot] = i, j
}

// BenchmarkIndexHeap is a key that changes, in the heap of an Index and in one of container/heap: in turn that of the
// first entry, as after a launch, and that of any entry.
func BenchmarkIndexHeap(b *testing.B) {
	const draws = 1 << 16
	r := rand.New(rand.NewPCG(1, 2))
	var keys [draws]float64
	var slots [draws]int32
	for i := range keys {
		keys[i], slots[i] = r.Float64(), r.Int32()
	}
	for _, n := range []int{100, 10_000, 1_000_000} {
		x := &Index{heaps: make([]stageHeap, 1), where: make([]spot, n)}
		h := &plainHeap{where: make([]int, n)}
		for i := range n {
			e := entry{value: keys[i%draws], id: int64(i), slot: int32(i)}
			x.heaps[0].entries = append(x.heaps[0].entries, e)
			x.up(1, int32(i), e)
			h.where[i] = i
			h.entries = append(h.entries, e)
		}
		heap.Init(h)
		b.Run(fmt.Sprintf("own/entries=%d", n), func(b *testing.B) {
			for k := 0; b.Loop(); k++ {
				at := int32(0)
				if k%2 == 1 {
					at = x.where[int(slots[k%draws])%n].pos
				}
				old := &x.heaps[0].entries[at]
				e := *old
				if e.value = keys[k*7%draws]; e.before(old) {
					x.up(1, at, e)
				} else {
					x.down(1, at, e)
				}
			}
		})
		b.Run(fmt.Sprintf("container/entries=%d", n), func(b *testing.B) {
			for k := 0; b.Loop(); k++ {
				at := 0
				if k%2 == 1 {
					at = h.where[int(slots[k%draws])%n]
				}
				h.entries[at].value = keys[k*7%draws]
				heap.Fix(h, at)
			}
		})
	}
}

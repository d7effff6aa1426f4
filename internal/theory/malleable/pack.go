package malleable

import "slices"

// A Schedule is what every job has at every time.
type Schedule struct {
	Intervals []Interval
	Done      []float64 // by job: the instant at which it completes
}

// An Interval is a time in which no job changes its slots. Intervals of no length are legal: jobs that end at once.
type Interval struct {
	From, To float64
	Slots    []int // by job
}

// Pack returns the schedule of an order by malleable packing (FLEX 3.1, figure 3): in each interval every unfinished
// job has its minimum, and the slots beyond the minima go to the jobs in order, to each up to its maximum; an interval
// ends when the first job does. Where all maxima together are less than the slots, slots stay idle. O(n²) for n jobs.
func (p *Problem) Pack(order []int) Schedule {
	s := Schedule{Done: make([]float64, len(p.Jobs))}
	left := make([]float64, len(p.Jobs))
	for i := range p.Jobs {
		left[i] = p.Jobs[i].Work
	}
	at := p.Start
	for live := slices.Clone(order); len(live) > 0; {
		slots := p.Allocate(live)
		next := -1
		for k, i := range live {
			if slots[i] > 0 && (next < 0 || soonerBy(left[i], slots[i], left[live[next]], slots[live[next]])) {
				next = k
			}
		}
		first := live[next]
		length := max(0, left[first]/float64(slots[first]))
		for _, i := range live {
			left[i] -= float64(slots[i]) * length
		}
		s.Intervals = append(s.Intervals, Interval{at, at + length, slots})
		at += length
		s.Done[first] = at
		live = slices.Delete(live, next, next+1)
	}
	return s
}

// soonerBy reports whether work a with n slots ends before work b with m slots, by more than rounding explains.
func soonerBy(a float64, n int, b float64, m int) bool {
	return a/float64(n) < b/float64(m)*(1-1e-9)
}

// Allocate returns the slots, by job, of the first interval of an order of some of the jobs: those that are unfinished.
// O(n).
func (p *Problem) Allocate(order []int) []int {
	slots := make([]int, len(p.Jobs))
	slack := p.Slots
	for _, i := range order {
		slots[i] = p.Jobs[i].Min
		slack -= slots[i]
	}
	for _, i := range order {
		if slack <= 0 {
			break
		}
		more := min(slack, p.Jobs[i].Max-p.Jobs[i].Min)
		slots[i] += more
		slack -= more
	}
	return slots
}

// A packer computes when the jobs of a problem complete for one order after the other, in O(n log n) each.
//
// In the schedule of an order, slots beyond the minima only ever move forward: a job is at its minimum, then, when it
// is its turn, it has what is left, and once it has its maximum it keeps it. So each job is in one of three states, a
// job at its minimum ends at an instant that the order does not change, and one pointer walks the order.
type packer struct {
	of    *Problem
	done  []float64
	least []int     // jobs with a minimum, by the instant at which they would end with it alone
	state []uint8   // by job
	full  []endFull // jobs at their maximum, a binary heap by end
}

// An endFull is when a job at its maximum ends.
type endFull struct {
	at  float64
	job int32
}

// The states of a job in a packer.
const (
	atLeast uint8 = iota
	atTurn
	atMost
	ended
)

func newPacker(p *Problem) *packer {
	k := &packer{of: p, done: make([]float64, len(p.Jobs)), state: make([]uint8, len(p.Jobs))}
	for _, i := range sorted(len(p.Jobs), func(i int) (end, arrival float64) { return k.of.endAtLeast(i), 0 }) {
		if p.Jobs[i].Min > 0 {
			k.least = append(k.least, i)
		}
	}
	return k
}

// endAtLeast returns when job i would end if it had its minimum from the beginning.
func (p *Problem) endAtLeast(i int) float64 { return p.Start + p.Jobs[i].Work/float64(p.Jobs[i].Min) }

// finish returns when the jobs complete in an order of all of them, by job; the slice is valid until the next call.
func (k *packer) finish(order []int) []float64 {
	clear(k.state)
	k.full = k.full[:0]
	now, slack := k.of.Start, k.of.Slots
	for i := range k.of.Jobs {
		slack -= k.of.Jobs[i].Min
	}
	turn, next := 0, 0             // positions in order and in least
	left, since := 0.0, k.of.Start // of the job whose turn it is
	begin := func() {              // brings the job whose turn it is up to now
		i := order[turn]
		if k.state[i] == atLeast {
			k.state[i] = atTurn
			left = k.of.Jobs[i].Work - float64(k.of.Jobs[i].Min)*(now-k.of.Start)
		}
		since = now
	}
	for range order {
		for turn < len(order) {
			i := order[turn]
			if k.state[i] == ended {
				turn++
				continue
			}
			begin()
			extra := k.of.Jobs[i].Max - k.of.Jobs[i].Min
			if extra > slack {
				break
			}
			slack -= extra
			k.state[i] = atMost
			k.push(endFull{now + max(0, left)/float64(k.of.Jobs[i].Max), int32(i)})
			turn++
		}
		for next < len(k.least) && k.state[k.least[next]] != atLeast {
			next++
		}
		ends, at := -1, 0.0
		if len(k.full) > 0 {
			ends, at = int(k.full[0].job), k.full[0].at
		}
		rate := 0.0
		if turn < len(order) {
			i := order[turn]
			if rate = float64(k.of.Jobs[i].Min + slack); rate > 0 {
				if end := since + max(0, left)/rate; ends < 0 || end < at {
					ends, at = i, end
				}
			}
		}
		if next < len(k.least) {
			if end := k.of.endAtLeast(k.least[next]); ends < 0 || end < at {
				ends, at = k.least[next], end
			}
		}
		at = max(at, now)
		left -= rate * (at - since)
		since, now = at, at
		switch k.state[ends] {
		case atMost:
			k.pop()
			slack += k.of.Jobs[ends].Max
		default:
			slack += k.of.Jobs[ends].Min
		}
		k.state[ends], k.done[ends] = ended, now
	}
	return k.done
}

// value returns the objective of an order.
func (k *packer) value(order []int) float64 { return k.of.Value(k.finish(order)) }

func (k *packer) push(e endFull) {
	h := append(k.full, e)
	i := len(h) - 1
	for ; i > 0 && e.at < h[(i-1)/2].at; i = (i - 1) / 2 {
		h[i] = h[(i-1)/2]
	}
	h[i] = e
	k.full = h
}

func (k *packer) pop() {
	h := k.full
	last := len(h) - 1
	e := h[last]
	h = h[:last]
	for i := 0; last > 0; {
		c := 2*i + 1
		if c+1 < last && h[c+1].at < h[c].at {
			c++
		}
		if c >= last || h[c].at >= e.at {
			h[i] = e
			break
		}
		h[i] = h[c]
		i = c
	}
	k.full = h
}

// Finish returns when the jobs complete in an order, as Pack does. O(n log n).
func (p *Problem) Finish(order []int) []float64 { return newPacker(p).finish(order) }

package policy

import (
	"math"

	"github.com/sojourn-sched/sojourn/sched"
)

// A virtualCluster is weighted max-min sharing of one divisible cluster among jobs none of which can use more than its cap, computed lazily:
//
//	rate_i = min(cap_i, level × weight_i),  Σ rate_i = min(1, Σ cap_i)
//
// A virtual clock goes at the level. A job that shares is done when the clock reads what it read when the job began to share, plus its size ÷ its
// weight; a full one, which has its cap, is done at an instant of its own. Neither changes while the job stays on its side, so each side keeps
// its jobs in a heap by their ends, and in another one by the level cap ÷ weight at which they change sides (without caps this is the clock of weighted
// fair queueing, and of PSBS). What comes, is done or is resized costs O(log n), and O(log n) more for each job that changes sides by it.
//
// Times are in seconds, sizes in seconds of the whole cluster. Between changes nothing is computed, so that being asked more often changes no digit.
type virtualCluster struct {
	At    float64 // the instant of the last change
	Clock float64 // virtual time at that instant
	Level float64 // speed of the clock; zero while nobody shares
	Jobs  []virtualJob
	Free  []int32        // of Jobs
	Sides [2]virtualSide // sharing, full
	Moves int            // joins and leaves since the sums were last made anew
}

const (
	sharing = 0
	full    = 1
)

// A virtualSide is the jobs of a virtualCluster that share, or those that are full.
type virtualSide struct {
	Jobs  int
	Sum   float64     // of their weights, or of their caps
	Heaps [2]virtuals // those of known size by their ends; those with a cap, the one first that changes sides first
}

// A virtualJob is served at its weight times the level, or, full, at its cap.
type virtualJob struct {
	ID          sched.JobID // zero: free
	Side        uint8
	Open        bool    // of unknown size: it is never done
	Weight, Cap float64 // Cap: the part of the cluster that it can use; zero: any
	Size        float64
	Got, Since  float64  // what it had received when it joined its side, and what the side's clock read then
	Place       [2]int32 // in the side's two heaps
}

// virtuals are jobs by a key, in a binary heap.
type virtuals []virtualKey

// A virtualKey is a job of a heap, found by its slot.
type virtualKey struct {
	Key  float64
	ID   sched.JobID
	Slot int32
}

func (a virtualKey) before(b virtualKey) bool { return a.Key < b.Key || a.Key == b.Key && a.ID < b.ID }

// level returns the level at which the job changes sides.
func (j *virtualJob) level() float64 { return j.Cap / j.Weight }

// pace is how fast the job is served by its side's clock.
func (j *virtualJob) pace() float64 {
	if j.Side == full {
		return j.Cap
	}
	return j.Weight
}

// end is what its side's clock reads when the job is done.
func (j *virtualJob) end() float64 { return j.Since + (j.Size-j.Got)/j.pace() }

// clock is what the clock of a side reads at the instant of the last change.
func (c *virtualCluster) clock(side uint8) float64 {
	if side == full {
		return c.At
	}
	return c.Clock
}

// received returns what a job has received by the instant of the last change.
func (c *virtualCluster) received(j *virtualJob) float64 {
	return j.Got + j.pace()*(c.clock(j.Side)-j.Since)
}

// instant converts what the clock of a side reads.
func (c *virtualCluster) instant(side uint8, reads float64) float64 {
	switch {
	case side == full:
		return reads
	case c.Level <= 0:
		return math.Inf(1)
	}
	return c.At + (reads-c.Clock)/c.Level
}

// next returns the instant at which the next job is done, and its side; +Inf: none is.
func (c *virtualCluster) next() (at float64, of uint8) {
	at = math.Inf(1)
	for s := range c.Sides {
		if ends := c.Sides[s].Heaps[byEnd]; len(ends) > 0 {
			if t := c.instant(uint8(s), ends[0].Key); t < at {
				at, of = t, uint8(s)
			}
		}
	}
	return at, of
}

// done removes and returns a job that is done by an instant, the first one first; zero: there is none. It settles.
func (c *virtualCluster) done(now float64, moved func(sched.JobID)) sched.JobID {
	at, of := c.next()
	if at > now {
		return 0
	}
	e := c.Sides[of].Heaps[byEnd][0]
	c.serve(max(at, c.At))
	if of == sharing {
		c.Clock = e.Key
	}
	c.remove(e.Slot)
	c.settle(moved)
	return e.ID
}

// serve brings the cluster to an instant by which no job is done.
func (c *virtualCluster) serve(now float64) {
	c.Clock += c.Level * (now - c.At)
	c.At = now
}

// add has a job join, now, and returns its slot. The caller settles then.
func (c *virtualCluster) add(j virtualJob) (slot int32) {
	if n := len(c.Free); n > 0 {
		slot = c.Free[n-1]
		c.Free = c.Free[:n-1]
	} else {
		slot = int32(len(c.Jobs))
		c.Jobs = append(c.Jobs, virtualJob{})
	}
	j.Side = sharing
	if j.Cap > 0 && (c.Level == 0 || j.level() <= c.Level) {
		j.Side = full
	}
	c.Jobs[slot] = j
	c.join(slot)
	return slot
}

// remove has a job leave. The caller settles then.
func (c *virtualCluster) remove(slot int32) {
	c.leave(slot)
	c.Jobs[slot] = virtualJob{}
	c.Free = append(c.Free, slot)
}

// settle finds the level, and calls moved for each job that changes sides by that. Each change raises the level: the full ones that have more than
// the level gives them leave first, and then those join to whom it gives all they can use.
func (c *virtualCluster) settle(moved func(sched.JobID)) {
	if c.Moves > len(c.Jobs) {
		c.sumAnew()
	}
	c.findLevel()
	for caps := c.Sides[full].Heaps[byCap]; len(caps) > 0 && -caps[0].Key > c.most(); caps = c.Sides[full].Heaps[byCap] {
		c.change(caps[0], moved)
	}
	for caps := c.Sides[sharing].Heaps[byCap]; len(caps) > 0 && caps[0].Key <= c.Level; caps = c.Sides[sharing].Heaps[byCap] {
		c.change(caps[0], moved)
	}
}

// most is the highest level up to which jobs are full.
func (c *virtualCluster) most() float64 {
	if c.Sides[sharing].Jobs == 0 && c.Sides[full].Sum <= 1 {
		return math.Inf(1)
	}
	return c.Level
}

func (c *virtualCluster) findLevel() {
	c.Level = 0
	if c.Sides[sharing].Jobs > 0 {
		c.Level = max(0, 1-c.Sides[full].Sum) / c.Sides[sharing].Sum
	}
}

// change has a job change sides.
func (c *virtualCluster) change(k virtualKey, moved func(sched.JobID)) {
	j := &c.Jobs[k.Slot]
	c.leave(k.Slot)
	j.Side = 1 - j.Side
	c.join(k.Slot)
	c.findLevel()
	moved(k.ID)
}

// sumAnew drops what rounding has left in the sums.
func (c *virtualCluster) sumAnew() {
	c.Moves = 0
	c.Sides[sharing].Sum, c.Sides[full].Sum = 0, 0
	for i := range c.Jobs {
		if j := &c.Jobs[i]; j.ID != 0 {
			c.Sides[j.Side].Sum += j.pace()
		}
	}
}

// The heaps of a side.
const (
	byEnd = iota
	byCap
)

func (c *virtualCluster) join(slot int32) {
	j := &c.Jobs[slot]
	s := &c.Sides[j.Side]
	j.Since = c.clock(j.Side)
	s.Jobs++
	s.Sum += j.pace()
	c.Moves++
	if !j.Open {
		c.push(&s.Heaps[byEnd], byEnd, virtualKey{j.end(), j.ID, slot})
	}
	if j.Cap > 0 {
		level := j.level()
		if j.Side == full {
			level = -level // the highest first
		}
		c.push(&s.Heaps[byCap], byCap, virtualKey{level, j.ID, slot})
	}
}

func (c *virtualCluster) leave(slot int32) {
	j := &c.Jobs[slot]
	j.Got = c.received(j)
	s := &c.Sides[j.Side]
	s.Jobs--
	s.Sum -= j.pace()
	c.Moves++
	if s.Jobs == 0 {
		s.Sum = 0 // not a rounding error
	}
	if !j.Open {
		c.drop(&s.Heaps[byEnd], byEnd, j.Place[byEnd])
	}
	if j.Cap > 0 {
		c.drop(&s.Heaps[byCap], byCap, j.Place[byCap])
	}
}

// push puts a job into a heap.
func (c *virtualCluster) push(h *virtuals, which int, k virtualKey) {
	*h = append(*h, k)
	c.up(*h, which, len(*h)-1)
}

// drop takes out the job at a place of a heap.
func (c *virtualCluster) drop(h *virtuals, which int, at int32) {
	last := len(*h) - 1
	moved := (*h)[last]
	*h = (*h)[:last]
	if int(at) == last {
		return
	}
	(*h)[at] = moved
	c.up(*h, which, int(at))
	c.down(*h, which, int(c.Jobs[moved.Slot].Place[which]))
}

func (c *virtualCluster) up(h virtuals, which, i int) {
	k := h[i]
	for ; i > 0 && k.before(h[(i-1)/2]); i = (i - 1) / 2 {
		h[i] = h[(i-1)/2]
		c.Jobs[h[i].Slot].Place[which] = int32(i)
	}
	h[i] = k
	c.Jobs[k.Slot].Place[which] = int32(i)
}

func (c *virtualCluster) down(h virtuals, which, i int) {
	k := h[i]
	for {
		least := 2*i + 1
		if least+1 < len(h) && h[least+1].before(h[least]) {
			least++
		}
		if least >= len(h) || !h[least].before(k) {
			break
		}
		h[i] = h[least]
		c.Jobs[h[i].Slot].Place[which] = int32(i)
		i = least
	}
	h[i] = k
	c.Jobs[k.Slot].Place[which] = int32(i)
}

// instant returns the first Time that is not before a number of seconds; the last that there is, 292 years, where none is.
func instant(s float64) sched.Time {
	if s*1e9 >= math.MaxInt64 {
		return math.MaxInt64
	}
	t := sched.Time(math.Ceil(s * 1e9))
	for t.Seconds() < s { // the product was rounded down
		t++
	}
	return t
}

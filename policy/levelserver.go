package policy

import (
	"math"

	"github.com/sojourn-sched/sojourn/internal/priority"
	"github.com/sojourn-sched/sojourn/sched"
)

// A levelServer is the virtual cluster of hfsp, fsp, psbs and gittins: one divisible server, shared by weighted max-min
// fairness among jobs that can use at most their caps. (The virtual cluster of fspy has two resources and shares
// otherwise: it is a theory.VirtualCluster.)
//
//	rate_i = min(cap_i, level × weight_i),  Σ rate_i = min(1, Σ cap_i)
//
// A job is full while its rate is its cap, and else it shares. A virtual clock goes at the level, as in weighted fair
// queueing and PSBS. A job that shares is done when this clock has advanced by its size ÷ its weight. A full job is
// done when real time has advanced by its size ÷ its cap. Neither end changes while the job stays on its side. So each
// side keeps its jobs in a heap by their ends, and in another heap by cap ÷ weight, the level at which a job changes
// sides. The arrival, the end or a new size of a job costs O(log n), and O(log n) more for each job that changes sides
// because of it.
//
// Times are in seconds, sizes in seconds of the whole server. All is computed at changes only, so that a policy that
// asks more often gets the same digits.
type levelServer struct {
	At    float64 // the instant of the last change
	Clock float64 // virtual time at that instant
	Level float64 // speed of the clock; zero while no job shares
	Jobs  []levelJob
	Free  []int32      // of Jobs
	Sides [2]levelSide // sharing, full
	Moves int          // joins and leaves since the sums were last made anew

	Places [2][]int32 // by slot: the job's places in the two heaps of its side
}

// The sides of a levelServer.
const (
	sharing = 0
	full    = 1
)

// A levelSide has the jobs of a levelServer that share, or the jobs that are full.
type levelSide struct {
	Jobs int     // how many
	Sum  float64 // of their clockRates: weights, or caps
	// Jobs of known size by their ends; jobs with a cap by the level, the job first that changes sides first.
	Heaps [2]priority.Indexed[levelKey]
}

// A levelJob is served at its weight times the level if it shares, and at its cap if it is full.
type levelJob struct {
	ID          sched.JobID // zero: free
	Side        uint8
	Open        bool    // its size is not known: it is never done
	Weight, Cap float64 // Cap: the part of the server that it can use; zero: all
	Size        float64
	Got, Since  float64 // the service that it had received when it joined its side, and the side's clock then
}

// A levelKey is the place of a job in a heap, where it is found by its slot.
type levelKey struct {
	Value float64
	Job   sched.JobID
}

// Before compares values, and for equal ones which job came first.
func (a levelKey) Before(b levelKey) bool {
	return a.Value < b.Value || a.Value == b.Value && a.Job < b.Job
}

// level returns the level at which the job changes sides.
func (j *levelJob) level() float64 { return j.Cap / j.Weight }

// clockRate returns the service that the job receives while its side's clock advances by one.
func (j *levelJob) clockRate() float64 {
	if j.Side == full {
		return j.Cap
	}
	return j.Weight
}

// end returns the reading of its side's clock at which the job is done.
func (j *levelJob) end() float64 { return j.Since + (j.Size-j.Got)/j.clockRate() }

// clock returns the reading of a side's clock at the instant of the last change. The clock of full jobs is real time.
func (l *levelServer) clock(side uint8) float64 {
	if side == full {
		return l.At
	}
	return l.Clock
}

// received returns the service that job j has received by the instant of the last change.
func (l *levelServer) received(j *levelJob) float64 {
	return j.Got + j.clockRate()*(l.clock(j.Side)-j.Since)
}

// instant returns the instant at which the clock of a side reads so much, unless something changes before.
func (l *levelServer) instant(side uint8, reads float64) float64 {
	switch {
	case side == full:
		return reads
	case l.Level <= 0:
		return math.Inf(1)
	}
	return l.At + (reads-l.Clock)/l.Level
}

// next returns the instant at which the next job is done, and its side; +Inf: none is.
func (l *levelServer) next() (at float64, of uint8) {
	at = math.Inf(1)
	for s := range l.Sides {
		if ends := l.Sides[s].Heaps[byEnd]; len(ends) > 0 {
			if t := l.instant(uint8(s), ends[0].Key.Value); t < at {
				at, of = t, uint8(s)
			}
		}
	}
	return at, of
}

// done removes and returns the job that is done first, if it is done by now; zero: no job is. It calls settle.
func (l *levelServer) done(now float64, moved func(sched.JobID)) sched.JobID {
	at, of := l.next()
	if at > now {
		return 0
	}
	e := l.Sides[of].Heaps[byEnd][0]
	l.serve(max(at, l.At))
	if of == sharing {
		l.Clock = e.Key.Value
	}
	l.remove(e.ID)
	l.settle(moved)
	return e.Key.Job
}

// serve advances the server to now. The caller has made sure, by done, that no job is done before.
func (l *levelServer) serve(now float64) {
	l.Clock += l.Level * (now - l.At)
	l.At = now
}

// add adds a job at the instant of the last serve, and returns its slot. The caller must call settle afterwards.
func (l *levelServer) add(j levelJob) (slot int32) {
	if n := len(l.Free); n > 0 {
		slot = l.Free[n-1]
		l.Free = l.Free[:n-1]
	} else {
		slot = int32(len(l.Jobs))
		l.Jobs = append(l.Jobs, levelJob{})
		for i := range l.Places {
			l.Places[i] = append(l.Places[i], 0)
		}
	}
	j.Side = sharing
	if j.Cap > 0 && (l.Level == 0 || j.level() <= l.Level) {
		j.Side = full
	}
	l.Jobs[slot] = j
	l.join(slot)
	return slot
}

// remove removes the job in a slot. The caller must call settle afterwards.
func (l *levelServer) remove(slot int32) {
	l.leave(slot)
	l.Jobs[slot] = levelJob{}
	l.Free = append(l.Free, slot)
}

// scale multiplies the size of the job in a slot, and what the job has received, and gives it another cap. The caller
// has called serve, and must call settle afterwards.
func (l *levelServer) scale(slot int32, by, limit float64) {
	l.leave(slot)
	j := &l.Jobs[slot]
	j.Got, j.Size, j.Cap = by*j.Got, by*j.Size, limit
	l.join(slot)
}

// settle computes the level, and calls moved for each job that changes sides because of it. Each change raises the
// level. First the full jobs leave whose caps are above what the level gives them; then the jobs become full to which
// the level gives their caps.
func (l *levelServer) settle(moved func(sched.JobID)) {
	if l.Moves > len(l.Jobs) {
		l.sumAnew()
	}
	l.findLevel()
	for caps := &l.Sides[full].Heaps[byCap]; len(*caps) > 0 && -(*caps)[0].Key.Value > l.most(); {
		l.change((*caps)[0].ID, moved)
	}
	for caps := &l.Sides[sharing].Heaps[byCap]; len(*caps) > 0 && (*caps)[0].Key.Value <= l.Level; {
		l.change((*caps)[0].ID, moved)
	}
}

// most returns the highest level at which a job with a cap is full. There is no limit while all caps fit the server.
func (l *levelServer) most() float64 {
	if l.Sides[sharing].Jobs == 0 && l.Sides[full].Sum <= 1 {
		return math.Inf(1)
	}
	return l.Level
}

// findLevel computes the level for the present sides.
func (l *levelServer) findLevel() {
	l.Level = 0
	if l.Sides[sharing].Jobs > 0 {
		l.Level = max(0, 1-l.Sides[full].Sum) / l.Sides[sharing].Sum
	}
}

// change moves a job to the other side.
func (l *levelServer) change(slot int32, moved func(sched.JobID)) {
	j := &l.Jobs[slot]
	l.leave(slot)
	j.Side = 1 - j.Side
	l.join(slot)
	l.findLevel()
	moved(j.ID)
}

// sumAnew computes the sums anew, and so drops the rounding errors that have gathered.
func (l *levelServer) sumAnew() {
	l.Moves = 0
	l.Sides[sharing].Sum, l.Sides[full].Sum = 0, 0
	for i := range l.Jobs {
		if j := &l.Jobs[i]; j.ID != 0 {
			l.Sides[j.Side].Sum += j.clockRate()
		}
	}
}

// The heaps of a side.
const (
	byEnd = iota
	byCap
)

// join puts the job in a slot into the sums and the heaps of its side.
func (l *levelServer) join(slot int32) {
	j := &l.Jobs[slot]
	s := &l.Sides[j.Side]
	j.Since = l.clock(j.Side)
	s.Jobs++
	s.Sum += j.clockRate()
	l.Moves++
	if !j.Open {
		l.put(byEnd, slot, j.end())
	}
	if j.Cap > 0 {
		level := j.level()
		if j.Side == full {
			level = -level // the highest first
		}
		l.put(byCap, slot, level)
	}
}

// leave takes the job in a slot out of the sums and the heaps of its side, and notes the service that it has received.
func (l *levelServer) leave(slot int32) {
	j := &l.Jobs[slot]
	j.Got = l.received(j)
	s := &l.Sides[j.Side]
	s.Jobs--
	s.Sum -= j.clockRate()
	l.Moves++
	if s.Jobs == 0 {
		s.Sum = 0 // not a rounding error
	}
	if !j.Open {
		s.Heaps[byEnd].Remove(l.Places[byEnd], slot)
	}
	if j.Cap > 0 {
		s.Heaps[byCap].Remove(l.Places[byCap], slot)
	}
}

// put puts a job into one of the heaps of its side.
func (l *levelServer) put(heap int, slot int32, value float64) {
	j := &l.Jobs[slot]
	l.Sides[j.Side].Heaps[heap].Put(l.Places[heap],
		priority.Entry[levelKey]{Key: levelKey{value, j.ID}, ID: slot})
}

// instant returns the first Time that is not before s seconds, or the last possible Time (292 years) if there is none.
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

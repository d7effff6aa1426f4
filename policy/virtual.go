package policy

import (
	"math"
	"slices"

	"github.com/sojourn-sched/sojourn/sched"
)

// A virtualServer is processor sharing of one divisible server, by weight, computed lazily: a job that enters at virtual time v with a
// size s and a weight w is done there when the virtual clock reads v + s/w, which never changes. It costs O(log n) for each job
// that comes or is done. Times are in seconds, sizes in seconds of the whole server.
//
// Between the instants at which jobs come or are done nothing is computed, so that being asked more often changes no digit.
type virtualServer struct {
	Clock  float64 // virtual time at the instant At
	At     float64
	Weight float64 // of those sharing
	Ends   []virtualEnd
	Open   int // sharing jobs of which nobody knows the size, and which are not among Ends
}

// A virtualEnd is a job and the virtual time at which it is done.
type virtualEnd struct {
	Tag    float64
	Weight float64
	Job    sched.JobID
}

func (e virtualEnd) before(o virtualEnd) bool {
	return e.Tag < o.Tag || e.Tag == o.Tag && e.Job < o.Job
}

// next returns the instant at which the next job is done; +Inf: none.
func (s *virtualServer) next() float64 {
	if len(s.Ends) == 0 {
		return math.Inf(1)
	}
	return s.At + (s.Ends[0].Tag-s.Clock)*s.Weight
}

// done removes and returns a job that is done by an instant, the first one first; zero: none.
func (s *virtualServer) done(now float64) sched.JobID {
	at := s.next()
	if at > now {
		return 0
	}
	e := s.Ends[0]
	s.Clock, s.At = e.Tag, at
	s.remove(0)
	s.leave(e.Weight)
	return e.Job
}

// clock brings the virtual clock to an instant by which no job is done, and returns it.
func (s *virtualServer) clock(now float64) float64 {
	if s.Weight > 0 {
		s.Clock += (now - s.At) / s.Weight
	}
	s.At = now
	return s.Clock
}

// add has a job share that will be done at a virtual time, which is not before the clock.
func (s *virtualServer) add(e virtualEnd) {
	s.Weight += e.Weight
	s.Ends = append(s.Ends, e)
	s.up(len(s.Ends) - 1)
}

// open has a job share of which nobody knows when it will be done.
func (s *virtualServer) open(weight float64) {
	s.Weight += weight
	s.Open++
}

// drop ends what open began.
func (s *virtualServer) drop(weight float64) {
	s.Open--
	s.leave(weight)
}

func (s *virtualServer) leave(weight float64) {
	if s.Weight -= weight; len(s.Ends)+s.Open == 0 {
		s.Weight = 0 // not a rounding error
	}
}

// find returns where a job is among Ends; -1: it is not.
func (s *virtualServer) find(j sched.JobID) int {
	return slices.IndexFunc(s.Ends, func(e virtualEnd) bool { return e.Job == j })
}

// remove takes the i-th of Ends out of the heap.
func (s *virtualServer) remove(i int) {
	last := len(s.Ends) - 1
	s.Ends[i] = s.Ends[last]
	s.Ends = s.Ends[:last]
	if i < last {
		s.down(i)
		s.up(i)
	}
}

func (s *virtualServer) up(i int) {
	for ; i > 0 && s.Ends[i].before(s.Ends[(i-1)/2]); i = (i - 1) / 2 {
		s.Ends[i], s.Ends[(i-1)/2] = s.Ends[(i-1)/2], s.Ends[i]
	}
}

func (s *virtualServer) down(i int) {
	for {
		least := i
		for c := 2*i + 1; c <= 2*i+2 && c < len(s.Ends); c++ {
			if s.Ends[c].before(s.Ends[least]) {
				least = c
			}
		}
		if least == i {
			return
		}
		s.Ends[i], s.Ends[least] = s.Ends[least], s.Ends[i]
		i = least
	}
}

// instant returns the first Time that is not before a number of seconds.
func instant(s float64) sched.Time {
	t := sched.Time(math.Ceil(s * 1e9))
	for t.Seconds() < s { // the product was rounded down
		t++
	}
	return t
}

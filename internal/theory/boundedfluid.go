package theory

import (
	"math"
	"slices"
)

// A BoundedJob is a job of a divisible server that may use no more than a part of it.
type BoundedJob struct {
	Release, Size float64 // >= 0; Size in units of work
	Bound         float64 // most of the capacity that it uses at once, > 0
}

// An orderedServer is a divisible server that serves by what a virtual cluster says: what FSPY would do with tasks of
// no length.
type orderedServer struct {
	capacity float64
	jobs     []BoundedJob
	ranked   bool

	// By job:
	came          []bool
	left, end     []float64 // work that it lacks; when it was done, +Inf: it is not
	has           []float64 // the capacity that it gets now
	vleft, vrates []float64 // in the virtual cluster: work left, and the capacity that it gets
	depleted      []float64 // when it had nothing left in the virtual cluster; +Inf: it has

	virtual VirtualCluster
}

// BoundedFluid returns when each job is done when a divisible server gives each job the share that one-pass sharing
// gives (see onePass). Or, ranked, it serves the job first that has least left under that sharing, each up to its bound
// (FSPY). Where bounds are at least the capacity, no job is done later when ranked (Friedman and Henderson, SIGMETRICS
// 2003); where they are less, some are. O(n²) an event.
func BoundedFluid(capacity float64, jobs []BoundedJob, ranked bool) []float64 {
	n := len(jobs)
	s := orderedServer{
		capacity: capacity,
		jobs:     jobs,
		ranked:   ranked,
		came:     make([]bool, n),
		left:     make([]float64, n),
		end:      make([]float64, n),
		depleted: make([]float64, n),
	}
	for i, j := range jobs {
		s.left[i], s.end[i], s.depleted[i] = j.Size, math.Inf(1), math.Inf(1)
	}
	for now := 0.0; !math.IsInf(now, 1); {
		s.arrive(now)
		s.share()
		next := s.next(now)
		s.serve(now, next)
		now = next
	}
	return s.end
}

// done is the amount of work that is taken for none, of rounding.
const done = 1e-9

// arrive takes in the jobs that have come.
func (s *orderedServer) arrive(now float64) {
	for i, j := range s.jobs {
		if !s.came[i] && j.Release <= now {
			s.came[i] = true
			s.virtual.Jobs = append(s.virtual.Jobs, VirtualJob{ID: int64(i), Bound: Pair{j.Bound}, Size: Pair{j.Size}})
		}
	}
	slices.SortFunc(s.virtual.Jobs, func(a, b VirtualJob) int { return int(a.ID - b.ID) })
}

// share divides the capacity among the jobs that have come: it sets vrates in the virtual cluster, and has really.
func (s *orderedServer) share() {
	n := len(s.jobs)
	s.virtual.Share(Pair{s.capacity}, false)
	s.has, s.vleft, s.vrates = make([]float64, n), make([]float64, n), make([]float64, n)
	for _, j := range s.virtual.Jobs {
		s.vleft[j.ID], s.vrates[j.ID] = j.Left()[0], j.Rate[0]
	}
	var order []int
	for i := range s.jobs {
		if s.came[i] && s.left[i] > done {
			order = append(order, i)
		}
	}
	key := func(i int) [2]float64 {
		if !math.IsInf(s.depleted[i], 1) {
			return [2]float64{0, s.depleted[i]}
		}
		return [2]float64{1, s.vleft[i]}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := key(a), key(b)
		return slices.Compare(x[:], y[:])
	})
	rest := s.capacity
	for _, i := range order {
		s.has[i] = min(rest, s.jobs[i].Bound)
		if !s.ranked {
			s.has[i] = s.vrates[i]
		}
		rest -= s.has[i]
	}
}

// next returns the first instant after now at which shares or ranks change: a job comes, is done, or has nothing left
// in the virtual cluster, or, ranked, overtakes another one there. +Inf: there is none.
func (s *orderedServer) next(now float64) float64 {
	next := math.Inf(1)
	for i, j := range s.jobs {
		if !s.came[i] {
			next = min(next, j.Release)
		}
		if s.has[i] > 0 && s.left[i] > done {
			next = min(next, now+s.left[i]/s.has[i])
		}
		if s.vrates[i] > 0 {
			next = min(next, now+s.vleft[i]/s.vrates[i])
		}
		for k := range s.jobs {
			if d := s.vrates[i] - s.vrates[k]; s.ranked && d > 0 && s.vleft[i] > s.vleft[k]+done {
				next = min(next, now+(s.vleft[i]-s.vleft[k])/d)
			}
		}
	}
	return next
}

// serve moves the server, and the virtual cluster, from now to next. It takes the work that jobs get in that time off
// what they lack, and notes the jobs that are done at next. Shares must not change between the two instants. An
// infinite next does nothing.
func (s *orderedServer) serve(now, next float64) {
	if math.IsInf(next, 1) {
		return
	}
	for i := range s.jobs {
		if s.has[i] > 0 && s.left[i] > done {
			if s.left[i] -= s.has[i] * (next - now); s.left[i] <= done {
				s.end[i] = next
			}
		}
	}
	for _, j := range s.virtual.Serve(next) {
		s.depleted[j.ID] = next
	}
}

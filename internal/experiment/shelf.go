package experiment

import (
	"cmp"
	"sync"

	"github.com/sojourn-sched/sojourn/internal/workload"
)

// A shelf keeps workloads in memory from the first run that needs them to the last, so that a workload is read once for
// each cluster and not once a run. All that it keeps takes at most workload.MostKept bytes. Each run reads for itself
// what does not fit, and what cannot be read.
type shelf struct {
	mu    sync.Mutex // held while a workload is read: what is kept stays within its bound
	room  int64      // bytes
	users map[place]int
	books map[place]*book
}

// A place on a shelf is of the jobs that a workload becomes on a cluster.
type place struct {
	workload, cluster string
	seed              uint64 // of jobs whose times are drawn from it; zero: the jobs are the same for all seeds
}

// A book is an opened workload, and those of its jobs that are simulated.
type book struct {
	file  *workload.File
	jobs  workload.Source // nil: each run opens the workload itself
	bytes int64           // that the jobs take, if they are kept
}

// newShelf returns an empty shelf for runs.
func newShelf(runs []Run) *shelf {
	s := &shelf{room: workload.MostKept, users: map[place]int{}, books: map[place]*book{}}
	for i := range runs {
		for _, p := range placesOf(&runs[i]) {
			s.users[p]++
		}
	}
	return s
}

// placesOf returns where the jobs of a run may be: with those of its seed alone, or of all seeds.
func placesOf(r *Run) [2]place {
	return [2]place{{r.Workload, r.Cluster, r.Seed}, {r.Workload, r.Cluster, 0}}
}

// get returns the workload of a run, by calling open where it is not kept. A nil shelf keeps nothing.
func (s *shelf) get(r *Run, open func() (*book, error)) (*book, error) {
	if s == nil {
		return open()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	places := placesOf(r)
	b := cmp.Or(s.books[places[0]], s.books[places[1]])
	if b != nil && b.jobs != nil {
		return b, nil
	}
	opened, err := open()
	if err != nil || b != nil || s.users[places[1]] < 2 {
		return opened, err
	}
	kept := workload.Keep(opened.jobs, s.room)
	switch {
	case kept == nil:
		s.books[places[1]] = &book{}
		return opened, nil
	case kept.Drawn:
		s.put(places[0], opened, kept)
	default:
		s.put(places[1], opened, kept)
	}
	return opened, nil
}

// put keeps a workload at a place.
func (s *shelf) put(p place, b *book, kept *workload.Kept) {
	b.jobs, b.bytes = kept.Jobs, kept.Bytes
	s.room -= b.bytes
	s.books[p] = b
}

// release notes that a run has ended. What no other run needs is dropped.
func (s *shelf) release(r *Run) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range placesOf(r) {
		if s.users[p]--; s.users[p] > 0 {
			continue
		}
		if b := s.books[p]; b != nil {
			s.room += b.bytes
			delete(s.books, p)
		}
	}
}

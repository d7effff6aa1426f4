package experiment

import (
	"errors"
	"testing"

	"github.com/sojourn-sched/sojourn/internal/workload"
	"github.com/sojourn-sched/sojourn/sched"
)

// shelfRuns are runs of two workloads on two clusters, with two policies and three seeds each.
func shelfRuns() (runs []Run) {
	for _, w := range []string{"a", "b"} {
		for _, c := range []string{"small", "large"} {
			for _, p := range []string{"fifo", "fair"} {
				for seed := range uint64(3) {
					runs = append(runs, Run{Policy: p, Workload: w, Cluster: c, Seed: seed + 1})
				}
			}
		}
	}
	return runs
}

// A workload is read once for each cluster; where times are drawn from the seed, once for each seed as well. What does
// not fit is read by each run, once in vain. After the last run nothing is kept.
func TestShelf(t *testing.T) {
	for name, c := range map[string]struct {
		truth  workload.StageTruth
		room   int64
		passes int
	}{
		"the same for all seeds": {workload.StageTruth{Tasks: 1, Base: 1}, workload.MostKept, 4},
		"drawn from the seed":    {workload.StageTruth{Tasks: 1, Base: 1, Sigma: 1}, workload.MostKept, 4 * 3},
		"too large":              {workload.StageTruth{Tasks: 1, Base: 1}, 10, 24 + 4},
	} {
		runs := shelfRuns()
		s := newShelf(runs)
		s.room = c.room
		passes := 0
		for i := range runs {
			r := &runs[i]
			b, err := s.get(r, func() (*book, error) {
				jobs := func(yield func(*sched.JobSpec, error) bool) {
					passes++
					yield(&sched.JobSpec{Name: r.Workload + r.Cluster, Payload: &workload.Truth{Seed: r.Seed,
						Stages: []workload.StageTruth{c.truth}}}, nil)
				}
				return &book{jobs: jobs, file: &workload.File{Path: r.Workload}}, nil
			})
			if err != nil {
				t.Fatal(err)
			}
			for j, err := range b.jobs {
				seed := j.Payload.(*workload.Truth).Seed
				if err != nil || j.Name != r.Workload+r.Cluster || b.file.Path != r.Workload ||
					c.truth.Sigma > 0 && seed != r.Seed {
					t.Errorf("%s: run %+v has job %s of seed %d of %s", name, r, j.Name, seed, b.file.Path)
				}
			}
			s.release(r)
		}
		if passes != c.passes || s.room != c.room || len(s.books) > 0 {
			t.Errorf("%s: %d passes, want %d; %d bytes of %d are free, %d workloads kept", name, passes, c.passes,
				s.room, c.room, len(s.books))
		}
	}
}

// What cannot be opened is an error of each run, and what a single run needs is not kept.
func TestShelfKeepsNothing(t *testing.T) {
	runs := shelfRuns()
	s, broken := newShelf(runs), errors.New("it is gone")
	for range 2 {
		if _, err := s.get(&runs[0], func() (*book, error) { return nil, broken }); !errors.Is(err, broken) {
			t.Errorf("error %v, want %v", err, broken)
		}
	}
	s = newShelf(runs[:1])
	if b, err := s.get(&runs[0], func() (*book, error) { return &book{jobs: workload.Of()}, nil }); err != nil ||
		b.bytes > 0 || len(s.books) > 0 {
		t.Errorf("%+v, %v; %d workloads kept", b, err, len(s.books))
	}
}

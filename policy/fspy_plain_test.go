package policy

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"github.com/sojourn-sched/sojourn/internal/theory"
	"github.com/sojourn-sched/sojourn/sched"
)

// PlainFSPY is fspy as it is defined: at every change the virtual cluster is divided from nothing, and at every
// decision all jobs are sorted by what they have left at that instant. It is what the policy must agree with.
var PlainFSPY = Entry{fspyCard, func(a Args) sched.Policy { return &plainFSPY{newFSPY(a).(*fspy)} }}

type plainFSPY struct{ *fspy }

func (f *plainFSPY) Decide(p *sched.Plan) {
	f.Virtual.changed = false
	for f.Virtual.Next != 0 && f.Virtual.Next <= float64(p.Now) {
		for _, v := range f.Virtual.Cluster.Deplete(f.Virtual.Next) {
			f.Virtual.depleted(p, v)
		}
		f.share()
	}
	if f.Virtual.Total != p.Capacity {
		f.Virtual.resize(p)
	}
	for i := range p.Events {
		f.Virtual.happen(p, &p.Events[i])
	}
	if f.Virtual.changed {
		f.share()
	}
	f.rank(p)
	if f.Virtual.age && f.Virtual.Next != 0 {
		p.Wake(sched.Time(math.Ceil(f.Virtual.Next)))
	}
	for q := probeQueue; q <= sizedQueue; q++ {
		f.queues[q].Sync(p)
	}
	for f.start(p) {
	}
}

func (f *plainFSPY) share() {
	f.Virtual.Cluster = theory.VirtualCluster{At: f.Virtual.Cluster.At, Jobs: f.Virtual.Cluster.Jobs}
	f.Virtual.Cluster.Share(f.Virtual.capacity(), f.Virtual.drf)
	f.Virtual.Target = 0
	for _, v := range f.Virtual.Cluster.Jobs {
		if v.Open {
			f.Virtual.Target += v.Has[0]
		}
	}
	if f.Virtual.Next = f.Virtual.Cluster.Next(); math.IsInf(f.Virtual.Next, 1) {
		f.Virtual.Next = 0
	}
}

func (f *plainFSPY) rank(p *sched.Plan) {
	var ranked []rankedJob
	for _, v := range f.Virtual.Cluster.Jobs {
		switch j := p.Job(sched.JobID(v.ID)); {
		case v.Open || j == nil || j.Ended:
		case f.Virtual.byFinish:
			ranked = append(ranked, rankedJob{v.ID, f.Virtual.Cluster.At + v.End(), 0})
		default:
			ranked = append(ranked, rankedJob{v.ID, v.Left()[0], v.Rate[0]})
		}
	}
	since := float64(p.Now) - f.Virtual.Cluster.At
	slices.SortFunc(ranked, func(a, b rankedJob) int { return a.compare(b, since) })
	for i, r := range ranked {
		j := p.Job(sched.JobID(r.id))
		*f.Virtual.ranks.Of(j) = float64(i)
		p.TouchJob(j)
	}
}

// A rankedJob is a job of known size: left virtually at the instant of the last share, and served since then at a rate.
type rankedJob struct {
	id         int64
	left, rate float64
}

// meets returns after how long two jobs of different rates have the same left.
func (a rankedJob) meets(b rankedJob) float64 { return (b.left - a.left) / (b.rate - a.rate) }

// compare orders two jobs by what they have left after a time, of equals the older first. It goes by the instant at
// which they meet, so that two looks between which none meet agree to the last digit.
func (a rankedJob) compare(b rankedJob, after float64) int {
	order := cmp.Or(cmp.Compare(a.left, b.left), cmp.Compare(b.rate, a.rate), cmp.Compare(a.id, b.id))
	if first, second := a, b; a.left != b.left {
		if order > 0 {
			first, second = b, a
		}
		if second.rate > first.rate {
			switch meets := first.meets(second); {
			case after > meets:
				return -order
			case after == meets:
				return cmp.Compare(a.id, b.id)
			}
		}
	}
	return order
}

// Ranks cross where they must: of two jobs the one that is served faster comes to the front when both have the same
// left, the older one at that very instant.
func TestRankedJobCompare(t *testing.T) {
	a, b := rankedJob{1, 10, 1}, rankedJob{2, 14, 3} // they meet after 2
	for _, c := range []struct {
		after float64
		want  int
	}{{0, -1}, {1.9, -1}, {2, -1}, {2.1, 1}} {
		if got, back := a.compare(b, c.after), b.compare(a, c.after); got != c.want || back != -c.want {
			t.Errorf("after %v: %d and %d, want %d and %d", c.after, got, back, c.want, -c.want)
		}
	}
	if same := (rankedJob{3, 10, 1}); a.compare(same, 5) != -1 || same.compare(a, 5) != 1 {
		t.Error("of equal jobs the older is not first")
	}
	if fast := (rankedJob{3, 10, 2}); a.compare(fast, 0) != 1 {
		t.Error("of equal jobs of different rate the faster one is not first")
	}
}

// RankedByFSPY returns the jobs of known size that are not late, in the order in which fspy, or its plain form, has
// them.
func RankedByFSPY(p *sched.Plan, policy sched.Policy) (ids []sched.JobID) {
	f, ok := policy.(*fspy)
	if !ok {
		f = policy.(*plainFSPY).fspy
	}
	for j := range p.Jobs() {
		if m := f.Virtual.Jobs.Of(j); m.Queue == sizedQueue && !m.Late && !j.Ended {
			ids = append(ids, j.ID)
		}
	}
	slices.SortFunc(
		ids,
		func(a, b sched.JobID) int {
			return cmp.Compare(*f.Virtual.ranks.Of(p.Job(a)), *f.Virtual.ranks.Of(p.Job(b)))
		},
	)
	return ids
}

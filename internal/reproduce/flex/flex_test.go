package flex

import (
	"math"
	"testing"

	"github.com/sojourn-sched/sojourn/internal/reproduce/paper"
	"github.com/sojourn-sched/sojourn/internal/theory/malleable"
)

// The jobs of the simulation are what the paper says: a fixed amount of work, minima that leave slack, valid problems.
func TestFlexDraw(t *testing.T) {
	for seed := range uint64(50) {
		for _, slack := range slacks {
			p, facts := (drawCase{8, slack}).draw(seed)
			if err := p.Check(); err != nil {
				t.Fatalf("seed %d, slack %v: %v", seed, slack, err)
			}
			work := 0.0
			for i := range p.Jobs {
				work += p.Jobs[i].Work
				if p.Jobs[i].Min < 1 || facts[i].Deadline < 0 || facts[i].Deadline > drawnTasks/drawnSlots {
					t.Fatalf("seed %d: job %+v, facts %+v", seed, p.Jobs[i], facts[i])
				}
			}
			if math.Abs(work-drawnTasks) > 1e-6 {
				t.Fatalf("seed %d: %v work, want %d", seed, work, drawnTasks)
			}
		}
	}
}

// In the base case FLEX is at the best order, FAIR half above it and FIFO further.
func TestFlexBaseCase(t *testing.T) {
	sum := map[string]float64{}
	const runs = 20
	for run := range uint64(runs) {
		p, facts := baseCase.draw(run)
		for i := range p.Jobs {
			p.Jobs[i].Penalty = malleable.Metrics["avg-response"].Penalty(facts[i])
		}
		_, best, _ := p.Best(100_000)
		sum["FIFO"] += p.Value(malleable.FIFO(p).Done) / best / runs
		sum["FAIR"] += p.Value(malleable.Fair(p, false).Done) / best / runs
		sum["FLEX"] += p.Solve(malleable.Attempt{Search: malleable.Moves}).Value / best / runs
	}
	if sum["FLEX"] > 1.001 || sum["FAIR"] < 1.45 || sum["FAIR"] > 1.6 || sum["FIFO"] < 1.6 {
		t.Errorf("averages over the best order: %v", sum)
	}
}

// On the cluster FLEX's mean response is well below FAIR's when all jobs arrive at once.
func TestFlexOnCluster(t *testing.T) {
	s, l := paper.Sample{}, usualLoad
	l.jobs = 6
	if err := l.gain(t.Context(), s, "x", 1); err != nil {
		t.Fatal(err)
	}
	if g := s.Of("x"); g < 20 || g > 60 {
		t.Errorf("mean response %v %% below FAIR's: flex %v s, fair %v s", g, s.Of("x flex"), s.Of("x fair"))
	}
}

// Where the largest job comes first, its reduces keep the others waiting under FLEX as under FAIR, unless the schedule
// says when they start.
func TestFlexHoarding(t *testing.T) {
	l := usualLoad
	l.spread, l.first, l.apart = 4, true, 30
	mean := map[string]float64{}
	for _, policy := range holders {
		r, err := l.setting(1).Under(t.Context(), policy)
		if err != nil {
			t.Fatal(err)
		}
		mean[policy] = r.Sojourn.Mean
	}
	for _, early := range []string{prototype, "flex"} {
		late := early + ",reduces=late"
		if early == "flex" {
			late = "flex:reduces=late"
		}
		if mean[early] < 0.8*mean["fair"] || mean[late] > 0.5*mean[early] {
			t.Errorf("mean responses %v: %s is to be near fair, and %s at less than half of it", mean, early, late)
		}
	}
}

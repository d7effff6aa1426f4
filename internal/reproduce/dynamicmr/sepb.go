package dynamicmr

import (
	"context"
	"fmt"
	"math"

	"github.com/sojourn-sched/sojourn/internal/chart"
	"github.com/sojourn-sched/sojourn/internal/reproduce/paper"
	"github.com/sojourn-sched/sojourn/internal/sim"
	"github.com/sojourn-sched/sojourn/sched"
)

// eager are LATE's parameters where it makes second attempts sooner, and as many as there are slots for.
const eager = ",min-run=10s,cap=1"

func sepbPart() paper.Part {
	sizes := []int{5, 10, 20}
	p := paper.Part{
		Title: "Waiting tasks before second attempts", Trials: 8,
		How: `Batches of 5, 10 and 20 jobs. Time of the batch with all three techniques, looking at 80 % of the jobs for
waiting tasks before a second attempt, over looking at none, as LATE does. First as LATE's authors have it: second
attempts of tasks that have run for a minute, on a tenth of the slots; one attempt in ten takes three times as long.
Then with second attempts as soon as a task has run for 10 s, on any number of slots, where a fifth of the nodes are
three times as slow.`,
		Reading: "A second attempt helps one job and costs the batch a slot; while others wait, it is better not " +
			"made. What that saves is what second attempts would cost: most of these tasks end before LATE looks at " +
			"them, and where it looks sooner it saves more.",
	}
	why := "how many stragglers there are, and how slow, was not published. Second attempts are made of tasks of " +
		"jobs that have nothing left to start, which are few at any time in a batch, so that there is " +
		"little to be saved"
	for _, manner := range []string{"", "eager "} {
		for _, n := range sizes {
			p.Claims = append(
				p.Claims,
				paper.Claim{
					Where: "Fig. 4.12",
					Says: fmt.Sprintf("%d jobs%s", n,
						map[string]string{"eager ": ", second attempts sooner, slow nodes"}[manner]),
					Published: paper.Between(
						3,
						10,
					),
					Unit:   "%",
					Figure: fmt.Sprint(manner, "gain ", n),
					Agrees: paper.Above(0),
					Why:    why,
				},
			)
		}
	}
	p.Trial = func(ctx context.Context, _ paper.Lab, seed uint64) (paper.Sample, error) {
		s := paper.Sample{}
		for manner, chance := range map[string]sim.Variation{
			"":       {Sigma: 0.2, Stragglers: 0.1, Slowdown: 3},
			"eager ": {Sigma: 0.2, SlowNodes: 0.2, Slowdown: 3},
		} {
			spec := complete
			if manner != "" {
				spec += eager
			}
			for _, n := range sizes {
				set := hadoop(batch(n, seed, false), setUp, seed)
				set.Costs.Chance = chance
				late, err := set.Under(ctx, spec+",checked=0")
				if err != nil {
					return nil, err
				}
				sepb, err := set.Under(ctx, spec)
				if err != nil {
					return nil, err
				}
				s.Set(fmt.Sprint(manner, "gain ", n), paper.Gain(late.Makespan, sepb.Makespan))
			}
		}
		return s, nil
	}
	return p
}

// checkedParts are the parts of the jobs that are looked at for waiting tasks.
var checkedParts = []float64{0, 0.2, 0.4, 0.6, 0.8, 1}

// hindering is contention between tasks of a node: on a full one a task takes twice as long as alone.
var hindering = sim.Contention{Slope: 1, Power: 1}

// checkedPart sweeps the part of the jobs that is looked at, where tasks of a node hinder each other.
func checkedPart() paper.Part {
	sizes := []struct {
		jobs int
		best float64 // published
	}{{5, 80}, {10, 100}}
	p := paper.Part{
		Title: "How many jobs are looked at", Trials: 16,
		How: `Batches of 5 and 10 jobs with all three techniques, looking at none to all of the jobs for waiting tasks
before a second attempt, over looking at none. Here tasks of a node hinder each other: each uses a twelfth of the node's
disk, and on a full node takes twice as long as alone (ours; the thesis says nothing of it), so that a second attempt
costs more than its slot. Slow nodes, and second attempts made soon, as in the section above. The best part is that of
the greatest mean gain over all trials.`,
		Charts: []paper.Picture{{
			File:    "dynamicmr-checked",
			Caption: "Gain of a batch over looking at none, by the part of the jobs that is looked at",
			Draw: func(samples []paper.Sample) chart.Chart {
				c := chart.Chart{X: chart.Axis{Label: "jobs looked at (%)"}, Y: chart.Axis{Label: "gain (%)"}}
				for _, n := range sizes {
					l := chart.Line{Name: fmt.Sprint(n.jobs, " jobs"), Manner: chart.Joined}
					for _, part := range checkedParts {
						l.Points = append(l.Points,
							paper.PointOf(samples, 100*part, fmt.Sprintf("checked %d %v", n.jobs,
								part)))
					}
					c.Lines = append(c.Lines, l)
				}
				return c
			},
		}},
		Over: func(samples []paper.Sample) paper.Sample {
			s := paper.Sample{}
			for _, n := range sizes {
				best, most := 0.0, math.Inf(-1)
				for _, part := range checkedParts {
					var gains []float64
					for _, one := range samples {
						gains = append(gains, one.Of(fmt.Sprintf("checked %d %v", n.jobs, part)))
					}
					if g := paper.Mean(gains); g > most {
						best, most = part, g
					}
				}
				s.Set(fmt.Sprint("best ", n.jobs), 100*best)
				s.Set(fmt.Sprint("most ", n.jobs), most)
			}
			return s
		},
	}
	for i, n := range sizes {
		where := "Fig. 4.12" + string(rune('a'+i))
		why := "batches by chance differ by more than the parts do: what a second attempt costs the others is small " +
			"beside what the order of jobs does"
		p.Claims = append(p.Claims,
			paper.Claim{Where: where, Says: fmt.Sprintf("%d jobs: the best part of the jobs to look at", n.jobs),
				Unit:      "%",
				Published: paper.Exactly(n.best), Figure: fmt.Sprint("best ", n.jobs),
				Agrees: paper.Between(n.best-25, n.best+
					25),
				Why: why},
			paper.Claim{Where: where, Says: fmt.Sprintf("%d jobs: mean gain at the best part", n.jobs), Unit: "%",
				Published: paper.Between(3, 10), Figure: fmt.Sprint("most ", n.jobs), Agrees: paper.Above(1), Why: why})
		for _, part := range checkedParts[1:] {
			p.Claims = append(p.Claims, paper.Claim{Where: "ours", Says: fmt.Sprintf("%d jobs: gain at %.0f %%", n.jobs,
				100*part),
				Unit: "%", Figure: fmt.Sprintf("checked %d %v", n.jobs, part), Own: true})
		}
	}
	p.Trial = func(ctx context.Context, _ paper.Lab, seed uint64) (paper.Sample, error) {
		s := paper.Sample{}
		for _, n := range sizes {
			none := 0.0
			for _, part := range checkedParts {
				set := hadoop(profiled(batch(n.jobs, seed, false)), setUp, seed)
				set.Costs.Chance = sim.Variation{Sigma: 0.2, SlowNodes: 0.2, Slowdown: 3}
				set.Costs.Contention = hindering
				o, err := set.Under(ctx, fmt.Sprintf("%s%s,checked=%v", complete, eager, part))
				if err != nil {
					return nil, err
				}
				if part == 0 {
					none = o.Makespan
				}
				s.Set(fmt.Sprintf("checked %d %v", n.jobs, part), paper.Gain(none, o.Makespan))
			}
		}
		return s, nil
	}
	return p
}

// profiled returns jobs each of whose tasks uses its slot's part of a node's disk.
func profiled(jobs []*sched.JobSpec) []*sched.JobSpec {
	var use sched.Profile
	for ph := range use.Phases {
		use.Phases[ph][sched.DiskIO] = 1_000_000 / perNode
	}
	for _, j := range jobs {
		j.Profile = &use
	}
	return jobs
}

// straggling are attempts that are slow, from the thesis's soft stragglers to its hard ones, which do not end.
var straggling = []struct {
	name, says string
	chance     sim.Variation
}{
	{"soft", "one attempt in ten takes 3 times as long", sim.Variation{Sigma: 0.2, Stragglers: 0.1, Slowdown: 3}},
	{"nodes", "a fifth of the nodes takes 3 times as long", sim.Variation{Sigma: 0.2, SlowNodes: 0.2, Slowdown: 3}},
	{"slow", "one attempt in twenty takes 10 times as long", sim.Variation{Sigma: 0.2, Stragglers: 0.05, Slowdown: 10}},
	{
		"hard",
		"one attempt in a hundred takes 1000 times as long",
		sim.Variation{Sigma: 0.2, Stragglers: 0.01, Slowdown: 1000},
	},
}

// overdueRules are what is ended when: stragglers after the thesis's multiple of the mean and after our default's, and
// every task as printed.
var overdueRules = []struct{ name, says, spec string }{
	{"2", "stragglers ended after 2 times the mean", overdueBy("kill", 2)},
	{"4", "stragglers ended after 4 times the mean", overdueBy("kill", 4)},
	{"every", "every task ended after 2 times the mean, as printed", overdueBy("every", 2)},
}

// overdueBy is all three techniques with a rule for what is overdue.
func overdueBy(rule string, after int) string {
	return fmt.Sprintf("dynamicmr:overdue=%s,overdue-after=%d,delay=3s", rule, after)
}

func overduePart() paper.Part {
	p := paper.Part{
		Title: "Ending what is overdue", Trials: 10,
		How: `Batches of 10 jobs with all three techniques, over waiting for what is slow. A straggler without a second
attempt is ended when it has run 2 times as long as its stage's finished tasks, or 4 times, as is our default. As
printed, every task is ended after 2 times the mean, also of jobs that have others waiting, where LATE sees no
straggler. The thesis has soft stragglers, which end late, and hard ones, which never do; a thousand times as long
stands for
these.`,
		Reading: `What has run twice as long as others is more often nearly done than stuck: ending it costs what it has
done, and the next attempt is no sooner there. What has run four times as long is worth ending. Where attempts hang it
is not a matter of percent: a second attempt may hang as well, and a batch that ends nothing waits for both. The rule as
printed ends more, and sooner; what that is worth depends on what makes tasks slow in the same way.`,
	}
	for _, c := range straggling {
		for _, rule := range overdueRules {
			p.Claims = append(p.Claims, paper.Claim{Where: "ours", Says: c.says + ": " + rule.says, Unit: "%",
				Figure: c.name + " " + rule.name, Own: true})
		}
	}
	p.Trial = func(ctx context.Context, _ paper.Lab, seed uint64) (paper.Sample, error) {
		s := paper.Sample{}
		for _, c := range straggling {
			set := hadoop(batch(10, seed, false), setUp, seed)
			set.Costs.Chance = c.chance
			wait, err := set.Under(ctx, complete)
			if err != nil {
				return nil, err
			}
			for _, rule := range overdueRules {
				kill, err := set.Under(ctx, rule.spec)
				if err != nil {
					return nil, err
				}
				s.Set(c.name+" "+rule.name, paper.Gain(wait.Makespan, kill.Makespan))
			}
		}
		return s, nil
	}
	return p
}

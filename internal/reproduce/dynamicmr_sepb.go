package reproduce

import (
	"context"
	"fmt"

	"github.com/sojourn-sched/sojourn/internal/sim"
)

// eager are LATE's parameters where it makes second attempts sooner, and as many as there are slots for.
const eager = ",min-run=10s,cap=1"

func dynamicmrSEPB() Part {
	sizes := []int{5, 10, 20}
	p := Part{
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
				Claim{
					Where: "Fig. 4.12",
					Says: fmt.Sprintf("%d jobs%s", n,
						map[string]string{"eager ": ", second attempts sooner, slow nodes"}[manner]),
					Published: Range{
						3,
						10,
					},
					Unit:   "%",
					Figure: fmt.Sprint(manner, "gain ", n),
					Agrees: above(0),
					Why:    why,
				},
			)
		}
	}
	p.Trial = func(ctx context.Context, _ Lab, seed uint64) (Sample, error) {
		s := Sample{}
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
				set.costs.Chance = chance
				late, err := set.under(ctx, spec+",checked=0")
				if err != nil {
					return nil, err
				}
				sepb, err := set.under(ctx, spec)
				if err != nil {
					return nil, err
				}
				s.set(fmt.Sprint(manner, "gain ", n), gain(late.Makespan, sepb.Makespan))
			}
		}
		return s, nil
	}
	return p
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

// overdueAfter are the multiples of the mean after which a straggler is ended: the thesis's, and our default.
var overdueAfter = []int{2, 4}

func dynamicmrOverdue() Part {
	p := Part{
		Title: "Ending what is overdue", Trials: 10,
		How: `Batches of 10 jobs with all three techniques: a straggler without a second attempt is ended when it has
run 2 times as long as its stage's finished tasks, as the thesis has it, or 4 times, as is our default, over waiting for
it. The thesis has soft stragglers, which end late, and hard ones, which never do; a thousand times as long stands for
these.`,
		Reading: `What has run twice as long as others is more often nearly done than stuck: ending it costs what it has
done, and the next attempt is no sooner there. What has run four times as long is worth ending. Where attempts hang it
is not a matter of percent: a second attempt may hang as well, and a batch that ends nothing waits for both.`,
	}
	for _, c := range straggling {
		for _, after := range overdueAfter {
			p.Claims = append(
				p.Claims,
				Claim{
					Where:  "ours",
					Says:   fmt.Sprintf("%s: ended after %d times the mean, over not", c.says, after),
					Unit:   "%",
					Figure: fmt.Sprint(c.name, " ", after),
					Own:    true,
				},
			)
		}
	}
	p.Trial = func(ctx context.Context, _ Lab, seed uint64) (Sample, error) {
		s := Sample{}
		for _, c := range straggling {
			set := hadoop(batch(10, seed, false), setUp, seed)
			set.costs.Chance = c.chance
			wait, err := set.under(ctx, complete)
			if err != nil {
				return nil, err
			}
			for _, after := range overdueAfter {
				kill, err := set.under(ctx, fmt.Sprintf("%s,overdue-after=%d", ending, after))
				if err != nil {
					return nil, err
				}
				s.set(fmt.Sprint(c.name, " ", after), gain(wait.Makespan, kill.Makespan))
			}
		}
		return s, nil
	}
	return p
}

// Package ltyarn runs the experiments with LTYARN again: fair sharing that remembers what queues had.
//
//	ltyarn.go     two users by hand, and users who ask for too much
//	workloads.go  four workloads in four queues, and quanta that adapt
//	draws.go      the same with what is not published drawn at random
//	letter.go     the engine as it is printed, beside ours
//	office.go     weeks of an office
package ltyarn

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/sojourn-sched/sojourn/internal/chart"
	"github.com/sojourn-sched/sojourn/internal/reproduce/paper"
	"github.com/sojourn-sched/sojourn/internal/theory"
)

// The policies of the evaluation.
const (
	memoryless = "fair"
	remembers  = "longterm:guaranteed=0,round=0s,cap=0s"
	byCredits  = "longterm:credit=karma,guaranteed=0.1,round=0s,cap=0s"
)

// Paper makes the evaluation of LTYARN.
func Paper() *paper.Paper {
	return &paper.Paper{
		Name: "ltyarn", Title: "LTYARN, fairness that remembers",
		Source: "S. Tang, PhD thesis, chapters 1 and 5 (LTYARN); Vuppalapati et al., Karma: Resource Allocation for " +
			"Dynamic Demands, OSDI 2023; [docs/spec/ltyarn.md](../spec/ltyarn.md) has what the policy `longterm` " +
			"computes.",
		About: "Memoryless fairness makes equal what queues hold now. Long-term resource fairness (LTRF) makes " +
			"equal what they have used so far: " +
			"a share that is left to others is a loan that is paid back later. Karma does so by credits.\n\n" +
			"β is what a queue got by sharing over what a partition of its own would have given. Ψ sums what is " +
			"above 1 of all β, Ω what is below. " +
			"The thesis claims that LTRF brings Ω to 0 for good, where memoryless fairness keeps a loss, and " +
			"that sharing makes workloads faster than partitions.",
		Parts: []paper.Part{
			twoUsersPart(), workloadsPart(), drawsPart(), letterPart(), quantumPart(), officePart(),
			gamesPart(),
		},
		Left: []paper.Left{
			{
				Where: "Fig. 5.4",
				Says:  "allocations and accumulated resources of the first 260 s, by the second",
				Why:   "they depend on the submission times and task times of that run, which were not published",
			},
		},
	}
}

func twoUsersPart() paper.Part {
	p := paper.Part{
		Title: "Two users", Trials: 1, Worked: true,
		How: "Table 5.1: 200 units, equal weights, four steps of time. New demand of A is 40, 80, 160, 120 and of B " +
			"200, 120, 100, 100; what is not served waits. Under LTRF each unit goes to the user that has been " +
			"counted for least, without a memory to the one that holds least.",
		Reading: "The table comes out to the unit. A lends 80 units in the first two steps. Memoryless fairness " +
			"never gives them back; LTRF does in the last two.",
		Trial: func(context.Context, paper.Lab, uint64) (paper.Sample, error) {
			s := paper.Sample{}
			for name, rule := range map[string]theory.LongTermRule{
				"mlrf": {Capacity: 200, Memoryless: true},
				"ltrf": {Capacity: 200, Discount: theory.WholeShare},
				"half": {Capacity: 200, Discount: theory.WholeShare / 2},
			} {
				steps := rule.LongTermSteps([]int64{1, 1}, [][]int64{{40, 200}, {80, 120}, {160, 100}, {120, 100}}, 0)
				for i, user := range []string{"A", "B"} {
					for t, step := range steps {
						s.Set(fmt.Sprintf("%s %s t%d", name, user, t+1), float64(step.Got[i]))
					}
					s.Set(name+" "+user, float64(steps[3].Total[i]))
					s.Set(name+" "+user+" counted", float64(steps[3].Counted[i])/theory.WholeShare)
				}
				s.Set(name+" omega", theory.SharingLoss(steps[3].Benefit))
				s.Set(name+" psi", theory.SharingBenefit(steps[3].Benefit))
			}
			return s, nil
		},
	}
	claim := func(where, says, figure string, value float64) {
		p.Claims = append(p.Claims, paper.Claim{Where: where, Says: says, Published: paper.Exactly(value),
			Figure: figure,
			Agrees: paper.Exactly(value)})
	}
	for _, r := range []struct {
		where, says, figure string
		steps               [4]float64
	}{
		{"Table 5.1(a)", "memoryless, A", "mlrf A", [4]float64{40, 80, 100, 100}},
		{"Table 5.1(a)", "memoryless, B", "mlrf B", [4]float64{160, 120, 100, 100}},
		{"Table 5.1(b)", "LTRF, A", "ltrf A", [4]float64{40, 80, 160, 120}},
		{"Table 5.1(b)", "LTRF, B", "ltrf B", [4]float64{160, 120, 40, 80}},
	} {
		sum := 0.0
		for t, v := range r.steps {
			claim(r.where, fmt.Sprintf("%s, step %d", r.says, t+1), fmt.Sprintf("%s t%d", r.figure, t+1), v)
			sum += v
		}
		claim(r.where, r.says+", in all", r.figure, sum)
	}
	claim("Table 5.1(c)", "LTRF at a discount of 50 %, A is counted for", "half A counted", 360)
	claim("Table 5.1(c)", "the same, B", "half B counted", 360)
	return p
}

// gameUsers and gameQuanta are the size of the games, and gameShare the slices of one user.
const (
	gameUsers  = 8
	gameQuanta = 600
	gameShare  = 10
)

// gameRules are the ways to divide in the games.
var gameRules = []struct {
	name, says string
	play       func(demands [][]int64) [][]int64
}{
	{"mlrf", "memoryless", func(d [][]int64) [][]int64 {
		return theory.LongTermRule{Capacity: gameUsers * gameShare, Memoryless: true}.PlayLongTerm(ones(), d)
	}},
	{"ltrf", "LTRF", func(d [][]int64) [][]int64 {
		return theory.LongTermRule{Capacity: gameUsers * gameShare, Discount: theory.WholeShare}.PlayLongTerm(ones(), d)
	}},
	{"karma", "Karma, half guaranteed", func(d [][]int64) [][]int64 {
		shares := make([]int64, gameUsers)
		for i := range shares {
			shares[i] = gameShare
		}
		return theory.Karma{Guaranteed: theory.WholeShare / 2, Strict: true}.Play(shares, gameQuanta*gameShare, d)
	}},
}

func ones() []int64 {
	w := make([]int64, gameUsers)
	for i := range w {
		w[i] = 1
	}
	return w
}

// bursty are demands of users that ask for nothing, for less than their share, or for several times of it.
func bursty(seed uint64) [][]int64 {
	chance := rand.New(rand.NewPCG(seed, 51))
	busy := make([]bool, gameUsers)
	rows := make([][]int64, gameQuanta)
	for t := range rows {
		rows[t] = make([]int64, gameUsers)
		for i := range rows[t] {
			if chance.IntN(8) == 0 {
				busy[i] = !busy[i]
			}
			if rows[t][i] = chance.Int64N(gameShare); busy[i] {
				rows[t][i] += gameShare + chance.Int64N(2*gameShare)
			}
		}
	}
	return rows
}

func gamesPart() paper.Part {
	p := paper.Part{
		Title: "Who games", Trials: 20,
		How: fmt.Sprintf("%d users with a share of %d slices each, %d quanta. A user is quiet (less than its "+
			"share) or busy (one to four times of it) for 8 quanta on average. "+
			"What is not served in a quantum is lost. First all are honest. Then the first user *inflates*: it "+
			"asks for three times what it can use. "+
			"Then it *keeps busy*: it always asks for its share at least, used or not. Last it *leaves in debt*: "+
			"it wants twice its share from the start, and is gone after a third of the time. "+
			"Useful is what a user got of what it could use.", gameUsers, gameShare, gameQuanta),
		Reading: "Asking for too much gains nothing under any of the three. Without a memory it costs the user " +
			"nothing either, and the others lose; with one, all that the user was given counts, of use or not, so " +
			"that it gets less later. The same holds for keeping a share busy: that is the waste that LTRF is about. " +
			"A user that leaves in debt takes most with it where nothing is remembered. With a memory it pays what " +
			"it borrows from quiet users when these are busy.",
		Trial: func(_ context.Context, _ paper.Lab, seed uint64) (paper.Sample, error) {
			s, real := paper.Sample{}, bursty(seed)
			inflated, busy, leaves := likeFirst(real, func(_ int, d int64) int64 { return 3 * d }),
				likeFirst(real, func(_ int, d int64) int64 { return max(d, gameShare) }),
				likeFirst(real, func(t int, _ int64) int64 {
					if t < gameQuanta/3 {
						return 2 * gameShare
					}
					return 0
				})
			for _, r := range gameRules {
				honest := theory.Useful(r.play(real), real)
				s.Set(r.name+" jain", theory.JainIndex(floats(honest)))
				s.Set(r.name+" least", least(honest)/(gameQuanta*gameShare))
				for name, asked := range map[string][][]int64{"inflate": inflated, "busy": busy} {
					gamed := theory.Useful(r.play(asked), real)
					s.Set(r.name+" "+name, 100*(float64(gamed[0])/float64(honest[0])-1))
					s.Set(r.name+" "+name+" others", 100*(float64(total(gamed[1:]))/float64(total(honest[1:]))-1))
				}
				left := r.play(leaves)
				got := theory.Useful(left, leaves)
				s.Set(r.name+" debt", 100*(float64(got[0])/(gameQuanta/3*gameShare)-1))
			}
			return s, nil
		},
	}
	for _, r := range gameRules {
		own := func(says, figure, unit string, agrees paper.Range) {
			p.Claims = append(p.Claims, paper.Claim{Where: r.says, Says: says, Unit: unit,
				Figure: r.name + " " + figure,
				Agrees: agrees, Own: true})
		}
		even, inflates, busy, debt := paper.AtLeast(0.995), paper.AtMost(-5), paper.AtMost(-5), paper.AtMost(10)
		if r.name == "mlrf" {
			even, inflates, busy, debt = paper.Range{}, paper.Range{}, paper.Range{}, paper.AtLeast(25)
		}
		own("honest: Jain's index of what was of use", "jain", "", even)
		own("honest: who got least, of its share", "least", "×", paper.Range{})
		own("inflates: what it gains", "inflate", "%", inflates)
		own("inflates: what the others gain", "inflate others", "%", paper.Range{})
		own("keeps busy: what it gains", "busy", "%", busy)
		own("keeps busy: what the others gain", "busy others", "%", paper.Range{})
		own("leaves in debt: what it had above its share until then", "debt", "%", debt)
	}
	return tableOf52(p)
}

// tableOf52 adds what table 5.2 of the thesis says of truthfulness and of useless work, as far as the games measure it.
func tableOf52(p paper.Part) paper.Part {
	const why = "max-min in each quantum gives a user the smaller of what it asks for and a level. Asking for more " +
		"changes what it gets beyond its use only, so that it wins nothing that is of use to it. What the thesis has " +
		"in mind is that it costs nothing: the rows of the others say what they lose by it"
	for _, c := range []paper.Claim{
		{Says: "memoryless: not truthful: who inflates gains", Figure: "mlrf inflate", Agrees: paper.Above(1e-9),
			Why: why},
		{Says: "memoryless: useless work costs its user nothing", Figure: "mlrf busy", Agrees: paper.AtLeast(-1e-9)},
		{Says: "LTRF: truthful: who inflates does not gain", Figure: "ltrf inflate", Agrees: paper.AtMost(0)},
		{Says: "LTRF: useless work costs its user", Figure: "ltrf busy", Agrees: paper.Below(0)},
	} {
		c.Where, c.Unit = "Table 5.2", "%"
		p.Claims = append(p.Claims, c)
	}
	return p
}

// likeFirst is demands with those of the first user changed.
func likeFirst(demands [][]int64, change func(t int, d int64) int64) [][]int64 {
	rows := make([][]int64, len(demands))
	for t := range demands {
		rows[t] = append([]int64{change(t, demands[t][0])}, demands[t][1:]...)
	}
	return rows
}

func floats(list []int64) (out []float64) {
	for _, x := range list {
		out = append(out, float64(x))
	}
	return out
}

func total(list []int64) (sum int64) {
	for _, x := range list {
		sum += x
	}
	return sum
}

func least(list []int64) float64 {
	low := list[0]
	for _, x := range list {
		low = min(low, x)
	}
	return float64(low)
}

// curve draws a figure's series over time of the first trial.
func curve(samples []paper.Sample, name, figure string, step float64) chart.Line {
	line := chart.Line{Name: name}
	if len(samples) > 0 {
		for i, y := range samples[0][figure] {
			line.Points = append(line.Points, chart.Point{X: float64(i) * step, Y: y, Low: y, High: y})
		}
	}
	return line
}

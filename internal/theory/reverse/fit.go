package reverse

import (
	"cmp"
	"math"
	"slices"
)

// Kinds is the number of kinds of resources.
const Kinds = 8

// An Amount is resources of each kind, or resource-seconds.
type Amount [Kinds]float64

// A Job is maps that are to be completed by a goal.
type Job struct {
	Pending int     // maps that are not completed, running ones included
	Goal    float64 // instant; +Inf: none
	Mean    float64 // time of a map; zero: unknown
	Map     Amount  // what a map uses
	Window  float64 // maps that are placed now hold their room for so long at least; see Window
	ID      int64   // of jobs with equal goals the one with the lower ID is fitted first
}

// Window returns how long the placement that is being decided lasts for a job: a cycle, or a map if that takes longer,
// as a map that starts now keeps its room until it ends. Literal is the source's: a cycle.
func Window(cycle, mean float64, literal bool) float64 {
	if literal {
		return cycle
	}
	return max(cycle, mean)
}

// A Plan is what is needed to fit jobs into the time that is left.
type Plan struct {
	Now float64
	// Area returns the resource-seconds that are expected to be available between two instants. The first instant is
	// not after the second.
	Area func(from, to float64) Amount
	// Fractions fits parts of maps, too. Else only whole maps fit between two goals, which is too strict where there
	// are hundreds of jobs and short intervals.
	Fractions bool
}

// Fit returns for each job how many of its maps must be placed now, so that its goal stays within reach (algorithm 2).
// Time is cut at the goals. From the latest goal back to now, each interval is filled with maps of jobs whose goal is
// at its end or later, the latest goals first. What is left when now is reached is the result. Jobs without a goal,
// with a goal that has passed, or with an unknown mean are not fitted: all their maps are left.
//
// It costs O(n log n) for n jobs, and O(1) areas for each job that an interval is filled with. An interval ends when it
// has no room for the smallest map, so that O(n) such steps are the rule; O(n²) are the bound.
func (p *Plan) Fit(jobs []Job) []float64 {
	left := make([]float64, len(jobs))
	var order []int // jobs to be fitted, by falling goal
	for i := range jobs {
		j := &jobs[i]
		left[i] = float64(j.Pending)
		if j.Goal > p.Now && !math.IsInf(j.Goal, 1) && j.Mean > 0 && j.Pending > 0 {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(jobs[b].Goal, jobs[a].Goal), cmp.Compare(jobs[a].ID, jobs[b].ID))
	})
	least, window := smallest(jobs, order), math.Inf(1)
	for _, i := range order {
		window = min(window, jobs[i].Window)
	}
	var open []int // jobs with maps left whose goal is at the end of the interval or later
	for at, i := range order {
		to, from := jobs[i].Goal, p.Now
		if at+1 < len(order) {
			from = jobs[order[at+1]].Goal
		}
		open = append(open, i)
		if from == to {
			continue
		}
		open = p.fill(jobs, left, open, interval{from, to, least, window})
	}
	return left
}

// An interval is the time between two goals.
type interval struct {
	from, to float64
	least    Amount  // what every job uses at least for a map, in resource-seconds
	window   float64 // the shortest of all jobs
}

// smallest returns what each of the jobs uses at least for a map, in resource-seconds.
func smallest(jobs []Job, of []int) Amount {
	var least Amount
	for k := range least {
		least[k] = math.Inf(1)
		for _, i := range of {
			least[k] = min(least[k], jobs[i].Mean*jobs[i].Map[k])
		}
	}
	return least
}

// fill fits maps of the open jobs into an interval and returns those that have maps left.
func (p *Plan) fill(jobs []Job, left []float64, open []int, t interval) []int {
	var used Amount
	whole := p.area(t.from, t.to, t.window)
	still := open[:0]
	for at, i := range open {
		if p.isFull(&whole, &used, &t.least) {
			return append(still, open[at:]...)
		}
		j := &jobs[i]
		area := whole
		if j.Window > t.window {
			area = p.area(t.from, t.to, j.Window)
		}
		n := math.Inf(1)
		for k, each := range j.Map {
			if each > 0 {
				n = min(n, (area[k]-used[k])/(j.Mean*each))
			}
		}
		if !p.Fractions {
			n = math.Floor(n + 1e-9)
		}
		n = max(0, min(left[i], n))
		left[i] -= n
		for k, each := range j.Map {
			used[k] += n * j.Mean * each
		}
		if left[i] > 0 {
			still = append(still, i)
		}
	}
	return still
}

// isFull reports whether no map of any job fits any more.
func (p *Plan) isFull(whole, used, least *Amount) bool {
	for k, each := range least {
		room := whole[k] - used[k]
		if each > 0 && (room <= 1e-9*each || !p.Fractions && room < each*(1-1e-9)) {
			return true
		}
	}
	return false
}

// area returns what is available in an interval, without the window of what is placed now.
func (p *Plan) area(from, to, window float64) Amount {
	from = max(from, p.Now+window)
	if from >= to {
		return Amount{}
	}
	return p.Area(from, to)
}

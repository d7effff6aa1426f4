package web

import (
	"cmp"
	"slices"

	"github.com/sojourn-sched/sojourn/internal/chart"
	"github.com/sojourn-sched/sojourn/sched"
)

// mostPlotted bounds the nodes of a Gantt chart, and mostCurves the queues of a chart of shares. More cannot be told
// apart by eye.
const (
	mostPlotted = 60
	mostCurves  = 7
)

// PlotUtilisation draws how much of each kind of resource was used over time.
func (b *Board) PlotUtilisation() *chart.Chart {
	s := b.latest()
	c := overTime("Utilisation under "+s.about.Policy, "part of the cluster")
	for _, k := range s.clusterAnswer().Kinds {
		l := chart.Line{Name: k.Kind, Manner: chart.Steps}
		for i, used := range k.UsedOver {
			if k.Over[i] > 0 {
				l.Points = append(l.Points, chart.Point{X: float64(i) * s.cluster.width, Y: used / k.Over[i]})
			}
		}
		c.Lines = append(c.Lines, s.until(l))
	}
	return c
}

// PlotShares draws the dominant share of the cluster that each queue without others below it used over time: of the
// queues that used most.
func (b *Board) PlotShares() *chart.Chart {
	s := b.latest()
	c := overTime("Shares of queues under "+s.about.Policy, "dominant share")
	list := slices.DeleteFunc(s.queuesAnswer(s.now).Queues, func(q Queue) bool { return !q.Leaf })
	sum := func(q Queue) (all float64) {
		for _, u := range q.Uses {
			all += u
		}
		return all
	}
	slices.SortStableFunc(list, func(a, b Queue) int { return cmp.Compare(sum(b), sum(a)) })
	for _, q := range list[:min(len(list), mostCurves)] {
		l := chart.Line{Name: q.Path, Manner: chart.Steps}
		for i, used := range q.Uses {
			l.Points = append(l.Points, chart.Point{X: float64(i) * s.owed.width, Y: used})
		}
		c.Lines = append(c.Lines, s.until(l))
	}
	return c
}

// overTime returns an empty chart of parts, from 0 to 1, over time.
func overTime(title, what string) *chart.Chart {
	return &chart.Chart{Title: title, X: chart.Axis{Label: "time", Clock: true}, Y: chart.Axis{Label: what, Most: 1},
		Low: true}
}

// until draws the last value of a line to the end of the run.
func (s *boardCopy) until(l chart.Line) chart.Line {
	if n := len(l.Points); n > 0 {
		l.Points = append(l.Points, chart.Point{X: s.now.Seconds(), Y: l.Points[n-1].Y})
	}
	return l
}

// The kinds of bars of a Gantt chart.
const (
	barMap = iota
	barReduce
	barOther
	barBad
	numBars
)

// PlotGantt draws the attempts of the first nodes, each as a bar from its start to its end.
func (b *Board) PlotGantt() *chart.Chart {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := &chart.Chart{Title: "Attempts under " + b.about.Policy, X: chart.Axis{Label: "time", Clock: true}, Low: true}
	lines := [numBars]chart.Line{{Name: "maps"}, {Name: "reduces"}, {Name: "other"}, {Name: "without success"}}
	shown := min(len(b.nodes), mostPlotted)
	slots := 0
	for i := range shown { // from the top down
		var list []*attempt
		b.log.chain(b.nodes[i].tail, true, func(a *attempt) bool {
			list = append(list, a)
			return true
		})
		slices.Reverse(list)
		tracks := trackOf(list, b.now)
		wide := 1 + slices.Max(append([]int{0}, tracks...))
		slots += wide
		c.Y.Names = append(c.Y.Names, b.nodes[shown-1-i].name)
		for k, a := range list {
			end := a.end
			if end < 0 {
				end = b.now
			}
			kind := barOther
			switch {
			case a.end >= 0 && a.outcome != sched.OK:
				kind = barBad
			case a.kind == sched.Map:
				kind = barMap
			case a.kind == sched.Reduce:
				kind = barReduce
			}
			at := float64(shown-1-i) + (float64(tracks[k])+0.5)/float64(wide) - 0.5
			bar := chart.Point{Y: at, X: 1 / float64(wide), Low: a.start.Seconds(), High: end.Seconds()}
			lines[kind].Points = append(lines[kind].Points, bar)
		}
	}
	for _, l := range lines {
		l.Manner = chart.Bars
		c.Lines = append(c.Lines, l)
	}
	c.High = max(2, min(8, 1+float64(slots)/12))
	return c
}

// trackOf distributes the attempts of a node, which list has in order of start, over the tracks of the node's lane, so
// that no two bars of a track overlap. It returns the track of each attempt: the lowest, from 0, that is free when the
// attempt starts. An attempt that has not ended holds its track until now, and one without duration for a nanosecond.
// It costs O(attempts × tracks).
func trackOf(list []*attempt, now sched.Time) []int {
	tracks := make([]int, len(list))
	var free []sched.Time // when each track is free again
	for i, a := range list {
		end := a.end
		if end < 0 {
			end = now
		}
		k := slices.IndexFunc(free, func(t sched.Time) bool { return t <= a.start })
		if k < 0 {
			k, free = len(free), append(free, 0)
		}
		free[k], tracks[i] = max(end, a.start+1), k
	}
	return tracks
}

package theory

import (
	"math"
	"slices"
	"sort"
)

// A Racer has Left to go when a heat starts, and goes at Rate >= 0 from then on. It may be infinitely far away at rate
// 0.
type Racer struct {
	ID         int64
	Left, Rate float64
}

// before is the order at the start of a heat.
func (a *Racer) before(b *Racer) bool {
	switch {
	case a.Left != b.Left:
		return a.Left < b.Left
	case a.Rate != b.Rate:
		return a.Rate > b.Rate
	}
	return a.ID < b.ID
}

// overtaken returns when b, which starts behind a, comes before a, as a time since the start of the heat; +Inf: never.
// If b has the smaller ID, that is when both have the same left, else right after it.
func (a *Racer) overtaken(b *Racer) float64 {
	if b.Rate <= a.Rate {
		return math.Inf(1)
	}
	meet := (b.Left - a.Left) / (b.Rate - a.Rate)
	if a.ID < b.ID {
		return math.Nextafter(meet, math.Inf(1))
	}
	return meet
}

// A Race keeps racers in the order of what each has left while all of them go. The racer that has least comes first; of
// equals the one with the smaller ID, at the start the one that goes faster. It is a kinetic list (Basch, Guibas and
// Hershberger, Data Structures for Mobile Data, SODA 1997): for each two neighbours it knows from when on the one
// behind is in front.
//
// A race is run in heats. Start begins one, with other racers, amounts and rates: O(n) for n racers, and O(m log m) for
// the m of them whose places are not what they were. In a heat each overtaking costs O(log n). Which racer is before
// another depends on the heat and on how much time of it has passed, and not on the heats before or on how often one
// has looked.
//
// Each racer has a rank, a number that rises from the first to the last. The functions moved are called with each racer
// that has another rank than before.
type Race struct {
	lineup
	overtakes tournament // by spot: from when on the next one is before the one there
}

// Start begins a heat with racers, by rising ID, and calls moved for each that has another rank than at the end of the
// heat before, or is new. It keeps the slice until the next heat.
func (r *Race) Start(racers []Racer, moved func(id int64, rank float64)) {
	r.enter(racers)
	r.rank(moved)
	r.overtakes.reset(len(r.spots))
	if !slices.ContainsFunc(racers, func(n Racer) bool { return n.Rate != 0 }) {
		return // all stand still
	}
	for at := range len(r.spots) - 1 {
		r.overtakes.leaf(at, r.overtaken(at))
	}
	r.overtakes.build()
}

// Advance moves the racers until so much time after the start of the heat has passed, not less than before, and calls
// moved for each that has another rank than before, perhaps more than once.
func (r *Race) Advance(after float64, moved func(id int64, rank float64)) {
	for r.Next() <= after {
		at := r.overtakes.first()
		a, b := &r.spots[at], &r.spots[at+1]
		a.who, b.who = b.who, a.who
		moved(r.racers[a.who].ID, a.rank)
		moved(r.racers[b.who].ID, b.rank)
		for i := max(0, at-1); i <= min(at+1, len(r.spots)-2); i++ {
			r.overtakes.set(i, r.overtaken(i))
		}
	}
}

// Next returns how long after the start of the heat the next racer overtakes another; +Inf: none does.
func (r *Race) Next() float64 { return r.overtakes.least() }

// Place returns how many racers are before the one with a rank: O(log n). It depends on the order alone, and not, as a
// rank does, on the heats before.
func (r *Race) Place(rank float64) int {
	return sort.Search(len(r.spots), func(i int) bool { return r.spots[i].rank >= rank })
}

// overtaken returns when the racer behind spot at overtakes the racer there, as a time since the start of the heat;
// +Inf: never.
func (r *Race) overtaken(at int) float64 {
	return r.racers[r.spots[at].who].overtaken(&r.racers[r.spots[at+1].who])
}

// rank gives ranks to the spots that have none, evenly between those of the next ones that have, and calls moved for
// the racers there. Where numbers do not lie close enough for that, all spots are ranked anew.
func (r *Race) rank(moved func(id int64, rank float64)) {
	for from := 0; from < len(r.spots); from++ {
		if !math.IsNaN(r.spots[from].rank) {
			continue
		}
		to := from + 1
		for to < len(r.spots) && math.IsNaN(r.spots[to].rank) {
			to++
		}
		before, step := r.gap(from, to)
		if step == 0 {
			r.number(moved)
			return
		}
		for i := range r.spots[from:to] {
			s := &r.spots[from+i]
			s.rank = before + step*float64(i+1)
			moved(r.racers[s.who].ID, s.rank)
		}
		from = to
	}
}

// gap returns the rank after which those of some spots begin, and how far apart they are; zero: there are not so many
// numbers between their neighbours.
func (r *Race) gap(from, to int) (before, step float64) {
	switch {
	case to == len(r.spots) && from == 0:
		return -1, 1
	case to == len(r.spots):
		return r.spots[from-1].rank, 1
	case from == 0:
		return r.spots[to].rank - float64(to+1), 1
	}
	before, after := r.spots[from-1].rank, r.spots[to].rank
	if step = (after - before) / float64(to-from+1); step <= finest*max(math.Abs(before), math.Abs(after)) {
		return 0, 0
	}
	return before, step
}

// finest is how close to each other ranks may be, as a part of them: a few times the precision of a float64.
const finest = 1e-15

// number gives the spots the ranks 0, 1, 2, ...
func (r *Race) number(moved func(id int64, rank float64)) {
	for i := range r.spots {
		if s := &r.spots[i]; s.rank != float64(i) {
			s.rank = float64(i)
			moved(r.racers[s.who].ID, s.rank)
		}
	}
}

package theory

import (
	"cmp"
	"math"
	"slices"
)

// A Racer has Left to go when a race starts, and goes at Rate >= 0 from then on. It may start below zero, and be infinitely far away at rate 0.
type Racer struct {
	ID         int64
	Left, Rate float64
}

// A Race keeps racers in the order of what each has left while all of them go: first who has least, of equals who goes faster, then the smaller ID. It is a
// kinetic list (Basch, Guibas and Hershberger, Data Structures for Mobile Data, SODA 1997): for each two neighbours it knows the instant from which the
// one behind is in front.
//
// A race is run in heats. Start begins one with other amounts and rates: O(n) for n racers, and O(m log m) for the m of them whose places are not what
// they were. In a heat each overtaking costs O(log n). Which order there is depends on the racers and on how much time has passed, not on how often one has looked.
//
// Each racer has a rank, a number that rises from the first to the last. Who keeps the place between its neighbours keeps its rank.
type Race struct {
	racers    []standing // by rising ID
	order     []int32    // of racers
	overtakes tournament // by place: from when on the next one is before the one there
	spare     lineup     // of the heat before
}

// A standing is a racer and its rank.
type standing struct {
	Racer
	rank   float64
	ranked bool
}

// A lineup is what Start needs room for.
type lineup struct {
	racers []standing
	loose  []int32
	place  []int32
}

// Start begins a heat with the racers given, by rising ID, and calls moved for each that has another rank than at the end of the heat before, or is new.
func (r *Race) Start(racers []Racer, moved func(id int64, rank float64)) {
	r.enter(racers)
	r.settle()
	r.rank(moved)
	r.overtakes.reset(len(r.order))
	if slices.ContainsFunc(racers, func(n Racer) bool { return n.Rate != 0 }) {
		for place := range len(r.order) - 1 {
			r.overtakes.leaf(place, r.overtaken(place))
		}
		r.overtakes.build()
	}
}

// Advance has the racers go until so much time after the start of the heat has passed, not less than before, and calls moved for each that has another
// rank than before, perhaps more than once.
func (r *Race) Advance(after float64, moved func(id int64, rank float64)) {
	for r.Next() <= after {
		place := r.overtakes.first()
		a, b := &r.racers[r.order[place]], &r.racers[r.order[place+1]]
		r.order[place], r.order[place+1] = r.order[place+1], r.order[place]
		a.rank, b.rank = b.rank, a.rank
		moved(a.ID, a.rank)
		moved(b.ID, b.rank)
		for at := max(0, place-1); at <= min(place+1, len(r.order)-2); at++ {
			r.overtakes.set(at, r.overtaken(at))
		}
	}
}

// Next returns how long after the start of the heat the next racer overtakes another; +Inf: none does.
func (r *Race) Next() float64 { return r.overtakes.least() }

// overtaken returns from when on the racer behind a place is before the one there: from the instant at which both have the same left if it is the older one,
// else right after it.
func (r *Race) overtaken(place int) float64 {
	a, b := &r.racers[r.order[place]], &r.racers[r.order[place+1]]
	switch {
	case b.Rate <= a.Rate:
		return math.Inf(1)
	case a.ID < b.ID:
		return math.Nextafter(a.meets(b.Racer), math.Inf(1))
	}
	return a.meets(b.Racer)
}

// meets returns after how long two racers of different rates have the same left.
func (a Racer) meets(b Racer) float64 { return (b.Left - a.Left) / (b.Rate - a.Rate) }

// compare is the order at the start of a heat.
func (a Racer) compare(b Racer) int {
	return cmp.Or(cmp.Compare(a.Left, b.Left), cmp.Compare(b.Rate, a.Rate), cmp.Compare(a.ID, b.ID))
}

// enter takes in the racers of a heat: those who were there before keep their order, the others are loose.
func (r *Race) enter(racers []Racer) {
	was := r.racers
	r.racers, r.spare.racers = r.spare.racers[:0], was
	r.spare.loose = r.spare.loose[:0]
	r.spare.place = slices.Grow(r.spare.place[:0], len(was))[:len(was)] // in racers of one in was; less than zero: it is not there
	old := 0
	for i, n := range racers {
		for ; old < len(was) && was[old].ID < n.ID; old++ {
			r.spare.place[old] = -1
		}
		if old < len(was) && was[old].ID == n.ID {
			r.spare.place[old] = int32(i)
			r.racers = append(r.racers, standing{n, was[old].rank, true})
			old++
			continue
		}
		r.racers = append(r.racers, standing{Racer: n})
		r.spare.loose = append(r.spare.loose, int32(i))
	}
	for ; old < len(was); old++ {
		r.spare.place[old] = -1
	}
	kept := r.order[:0]
	for _, i := range r.order {
		if at := r.spare.place[i]; at >= 0 {
			kept = append(kept, at)
		}
	}
	r.order = kept
}

// settle puts the racers in order. Of two neighbours who are out of order it takes out both, so that at most twice as many are loose as must be, sorts
// these, and puts them between the others (Cook and Kim, Best Sorting Algorithm for Nearly Sorted Lists, CACM 23(11), 1980).
func (r *Race) settle() {
	kept := r.order[:0]
	for _, i := range r.order {
		if last := len(kept) - 1; last >= 0 && r.racers[i].compare(r.racers[kept[last]].Racer) < 0 {
			r.loosen(kept[last])
			r.loosen(i)
			kept = kept[:last]
			continue
		}
		kept = append(kept, i)
	}
	loose := r.spare.loose
	slices.SortFunc(loose, func(a, b int32) int { return r.racers[a].compare(r.racers[b].Racer) })
	next := len(kept) - 1
	r.order = slices.Grow(kept, len(loose))[:len(kept)+len(loose)]
	for at := len(r.order) - 1; len(loose) > 0; at-- {
		if last := loose[len(loose)-1]; next < 0 || r.racers[kept[next]].compare(r.racers[last].Racer) < 0 {
			r.order[at] = last
			loose = loose[:len(loose)-1]
		} else {
			r.order[at] = kept[next]
			next--
		}
	}
}

func (r *Race) loosen(i int32) {
	r.racers[i].ranked = false
	r.spare.loose = append(r.spare.loose, i)
}

// rank gives ranks to those who have none, evenly between those of their neighbours who have; to all where numbers do not lie close enough for that.
func (r *Race) rank(moved func(id int64, rank float64)) {
	for from := 0; from < len(r.order); from++ {
		if r.racers[r.order[from]].ranked {
			continue
		}
		to := from + 1
		for to < len(r.order) && !r.racers[r.order[to]].ranked {
			to++
		}
		if !r.spread(from, to, moved) {
			r.number(moved)
			return
		}
		from = to
	}
}

// spread gives ranks to those at some places, and reports whether there are numbers for that.
func (r *Race) spread(from, to int, moved func(id int64, rank float64)) bool {
	before, step := -1.0, 1.0
	switch {
	case from > 0 && to < len(r.order):
		after := r.racers[r.order[to]].rank
		before = r.racers[r.order[from-1]].rank
		step = (after - before) / float64(to-from+1)
		if step <= finest*max(math.Abs(before), math.Abs(after)) {
			return false
		}
	case from > 0:
		before = r.racers[r.order[from-1]].rank
	case to < len(r.order):
		before = r.racers[r.order[to]].rank - float64(to+1)
	}
	for place := from; place < to; place++ {
		s := &r.racers[r.order[place]]
		s.rank, s.ranked = before+step*float64(place-from+1), true
		moved(s.ID, s.rank)
	}
	return true
}

// finest is how close to each other ranks may be, as a part of them: several times the precision of a float64.
const finest = 1e-15

// number gives all racers the ranks 0, 1, 2, ...
func (r *Race) number(moved func(id int64, rank float64)) {
	for place, i := range r.order {
		if s := &r.racers[i]; !s.ranked || s.rank != float64(place) {
			s.rank, s.ranked = float64(place), true
			moved(s.ID, s.rank)
		}
	}
}

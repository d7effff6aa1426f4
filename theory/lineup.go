package theory

import (
	"math"
	"slices"
)

// A lineup keeps racers in order from one time to the next, when most of them are still there and in the order in which they were: O(n), and
// O(m log m) for the m whose places are not what they were.
//
// Each spot of the order has a rank, a number that rises from the first to the last. Who is where it was between its neighbours keeps its rank.
type lineup struct {
	racers []Racer // by rising ID
	spots  []spot  // in order
	ids    []int64 // of racers, for the next time
	place  []int32 // where a racer is that was in ids; less than zero: nowhere
	loose  []int32 // the racers who have no spot yet
}

// A spot is a place of the order, and who is there.
type spot struct {
	who  int32 // of racers
	rank float64
}

// unranked is the rank of a spot that has none yet.
var unranked = math.NaN()

// enter takes racers in, by rising ID, puts them in order, and keeps the slice.
func (l *lineup) enter(racers []Racer) {
	l.racers = racers
	l.follow()
	l.mend()
}

// follow finds out who is still there, in the order in which they were, and who is new, and loose.
func (l *lineup) follow() {
	l.place = slices.Grow(l.place[:0], len(l.ids))[:len(l.ids)]
	l.loose = l.loose[:0]
	old := 0
	for i := range l.racers {
		id := l.racers[i].ID
		for ; old < len(l.ids) && l.ids[old] < id; old++ {
			l.place[old] = -1
		}
		if old < len(l.ids) && l.ids[old] == id {
			l.place[old] = int32(i)
			old++
			continue
		}
		l.loose = append(l.loose, int32(i))
	}
	for ; old < len(l.ids); old++ {
		l.place[old] = -1
	}
	kept := l.spots[:0]
	for _, s := range l.spots {
		if s.who = l.place[s.who]; s.who >= 0 {
			kept = append(kept, s)
		}
	}
	l.spots = kept
	l.ids = l.ids[:0]
	for i := range l.racers {
		l.ids = append(l.ids, l.racers[i].ID)
	}
}

// mend puts all in order. Of two neighbours who are out of order it takes out both, so that at most twice as many are loose as must be, sorts the
// loose, and puts them between the others (Cook and Kim, Best Sorting Algorithm for Nearly Sorted Lists, CACM 23(11), 1980).
func (l *lineup) mend() {
	kept := l.spots[:0]
	for _, s := range l.spots {
		if last := len(kept) - 1; last >= 0 && l.before(s.who, kept[last].who) {
			l.loose = append(l.loose, kept[last].who, s.who)
			kept = kept[:last]
			continue
		}
		kept = append(kept, s)
	}
	slices.SortFunc(l.loose, func(a, b int32) int {
		if l.before(a, b) {
			return -1
		}
		return 1
	})
	next := len(kept) - 1
	l.spots = slices.Grow(kept, len(l.loose))[:len(kept)+len(l.loose)]
	for at := len(l.spots) - 1; len(l.loose) > 0; at-- {
		last := l.loose[len(l.loose)-1]
		if next >= 0 && l.before(last, kept[next].who) {
			l.spots[at] = kept[next]
			next--
			continue
		}
		l.spots[at] = spot{last, unranked}
		l.loose = l.loose[:len(l.loose)-1]
	}
}

func (l *lineup) before(a, b int32) bool { return l.racers[a].before(&l.racers[b]) }

// rank gives ranks to the spots that have none, evenly between those of the next ones that have, and calls moved for who is there. Where numbers
// do not lie close enough for that, all spots are ranked anew.
func (l *lineup) rank(moved func(id int64, rank float64)) {
	for from := 0; from < len(l.spots); from++ {
		if !math.IsNaN(l.spots[from].rank) {
			continue
		}
		to := from + 1
		for to < len(l.spots) && math.IsNaN(l.spots[to].rank) {
			to++
		}
		before, step := l.gap(from, to)
		if step == 0 {
			l.number(moved)
			return
		}
		for i := range l.spots[from:to] {
			s := &l.spots[from+i]
			s.rank = before + step*float64(i+1)
			moved(l.racers[s.who].ID, s.rank)
		}
		from = to
	}
}

// gap returns the rank after which those of some spots begin, and how far apart they are; zero: there are not so many numbers between their neighbours.
func (l *lineup) gap(from, to int) (before, step float64) {
	switch {
	case to == len(l.spots) && from == 0:
		return -1, 1
	case to == len(l.spots):
		return l.spots[from-1].rank, 1
	case from == 0:
		return l.spots[to].rank - float64(to+1), 1
	}
	before, after := l.spots[from-1].rank, l.spots[to].rank
	if step = (after - before) / float64(to-from+1); step <= finest*max(math.Abs(before), math.Abs(after)) {
		return 0, 0
	}
	return before, step
}

// finest is how close to each other ranks may be, as a part of them: a few times the precision of a float64.
const finest = 1e-15

// number gives the spots the ranks 0, 1, 2, ...
func (l *lineup) number(moved func(id int64, rank float64)) {
	for i := range l.spots {
		if s := &l.spots[i]; s.rank != float64(i) {
			s.rank = float64(i)
			moved(l.racers[s.who].ID, s.rank)
		}
	}
}

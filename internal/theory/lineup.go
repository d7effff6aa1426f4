package theory

import (
	"math"
	"slices"
)

// A lineup keeps racers in order from one time to the next, when most of them are still there and in the order in which
// they were: O(n), and O(m log m) for the m whose places are not what they were.
//
// A racer that is where it was between its neighbours keeps its spot. Each other one gets a new spot, unranked. Only a
// Race gives ranks.
type lineup struct {
	racers []Racer // by rising ID
	spots  []spot  // in order
	ids    []int64 // of racers, for the next time
	place  []int32 // where a racer is that was in ids; less than zero: nowhere
	loose  []int32 // racers that have no spot yet
}

// A spot is a place of the order, and the racer that is there.
type spot struct {
	who  int32   // index of racers
	rank float64 // of a Race
}

// unranked is the rank of a spot that has none yet.
var unranked = math.NaN()

// enter takes racers in, by rising ID, puts them in order, and keeps the slice.
func (l *lineup) enter(racers []Racer) {
	l.racers = racers
	l.follow()
	l.mend()
}

// follow keeps the spots of the racers that are still there, in their order, and notes the new racers as loose.
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

// mend puts all in order. Of two neighbours that are out of order it takes out both, so that at most twice as many are
// loose as must be, sorts the loose, and puts them between the others (Cook and Kim, Best Sorting Algorithm for Nearly
// Sorted Lists, CACM 23(11), 1980).
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

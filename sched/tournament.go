package sched

import "math"

// Never is later than any instant of a run.
const Never = Time(math.MaxInt64)

// A Tournament finds the first of members whose keys change with time, each at a rate of its own: queues that are owed,
// jobs that come near their deadlines. It is a kinetic tournament (Basch, Guibas and Hershberger, Data Structures for
// Mobile Data, SODA 1997). Each match of the tree keeps its winner and the instant at which it must be played again. So
// when time passes, only the matches whose instant has come are played.
//
// A Tournament is a cache: First depends on Order and on the members, not on what was asked before. The zero value with
// Order set is ready to use.
type Tournament struct {
	// Order compares members a and b at an instant: whether a is before b, and the instant, after at, up to which
	// (excluded) the answer stays the same. Of two members exactly one is before the other at each instant.
	Order func(a, b int32, at Time) (before bool, until Time)

	matches []match // matches[i] is between the winners of 2i and 2i+1; leaf k is matches[leaves+k]
	leaves  int
	members []int32 // by leaf
	leaf    []int32 // by member: its leaf + 1; 0: no member
}

// A match is a node of the tree, with the winner of all leaves below it.
type match struct {
	winner int32 // -1: none
	until  Time  // the winner stands before this instant; zero: it must be found
}

// Set adds a member, a small number from 0, or says that its key has changed. It costs O(log n).
func (t *Tournament) Set(member int32) {
	for len(t.leaf) <= int(member) {
		t.leaf = append(t.leaf, 0)
	}
	if t.leaf[member] == 0 {
		t.members = append(t.members, member)
		t.leaf[member] = int32(len(t.members))
		if len(t.members) > t.leaves {
			t.grow()
			return
		}
	}
	t.enter(int(t.leaf[member])-1, member)
}

// Remove takes a member out, if it is one. It costs O(log n).
func (t *Tournament) Remove(member int32) {
	if int(member) >= len(t.leaf) || t.leaf[member] == 0 {
		return
	}
	place, last := t.leaf[member]-1, int32(len(t.members)-1)
	moved := t.members[last]
	t.members[place], t.leaf[moved] = moved, place+1
	t.members, t.leaf[member] = t.members[:last], 0
	t.enter(int(last), -1)
	if place < last {
		t.enter(int(place), moved)
	}
}

// Len returns the number of members.
func (t *Tournament) Len() int { return len(t.members) }

// First returns the member that is before all others at an instant, which is not before that of the last call; false:
// there is no member. It costs O(log n) for each Set, each Remove and each match whose instant has come since the last
// call; O(1) if there was none.
func (t *Tournament) First(at Time) (member int32, ok bool) {
	if len(t.members) == 0 {
		return 0, false
	}
	t.play(1, at)
	return t.matches[1].winner, true
}

// grow doubles the leaves. All matches must be played again: O(n), once for each doubling.
func (t *Tournament) grow() {
	t.leaves = max(1, 2*t.leaves)
	t.matches = make([]match, 2*t.leaves)
	for k := range t.leaves {
		t.matches[t.leaves+k] = match{-1, Never}
	}
	for k, member := range t.members {
		t.matches[t.leaves+k].winner = member
	}
}

// enter puts a member (-1: none) at a leaf, and opens the matches on its way to the root.
func (t *Tournament) enter(leaf int, member int32) {
	i := t.leaves + leaf
	t.matches[i].winner = member
	for i /= 2; i > 0 && t.matches[i].until != 0; i /= 2 {
		t.matches[i].until = 0
	}
}

// play brings match i up to date. The matches above an open one are open, so that a match that still stands ends the
// way down.
func (t *Tournament) play(i int, at Time) {
	m := &t.matches[i]
	if m.until > at {
		return
	}
	t.play(2*i, at)
	t.play(2*i+1, at)
	a, b := &t.matches[2*i], &t.matches[2*i+1]
	m.winner, m.until = a.winner, min(a.until, b.until)
	switch {
	case b.winner < 0:
	case a.winner < 0:
		m.winner = b.winner
	default:
		before, until := t.Order(a.winner, b.winner, at)
		if !before {
			m.winner = b.winner
		}
		m.until = min(m.until, max(until, at+1))
	}
}

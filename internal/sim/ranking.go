package sim

import "github.com/sojourn-sched/sojourn/internal/priority"

// A ranking is a heap of fetches, or of nodes, by the bytes that a reduce has got when they are due.
type ranking = priority.Indexed[rankKey]

// A rankKey is an amount of bytes, and the number of the heap's member, by which equal amounts are ordered.
type rankKey struct {
	bytes float64
	id    int32
}

// Before reports whether a comes before b: by bytes, then by the members' numbers.
func (a rankKey) Before(b rankKey) bool {
	return a.bytes < b.bytes || a.bytes == b.bytes && a.id < b.id
}

// ranked makes an entry of a ranking.
func ranked(bytes float64, id int32) priority.Entry[rankKey] {
	return priority.Entry[rankKey]{Key: rankKey{bytes, id}, ID: id}
}

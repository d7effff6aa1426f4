package sim

import "github.com/sojourn-sched/sojourn/internal/priority"

// A ranking is what is due in the order of the bytes that a reduce has got by then.
type ranking = priority.Indexed[rankKey]

// A rankKey is an amount of bytes, and what equal ones go by.
type rankKey struct {
	bytes float64
	id    int32
}

// Before compares bytes, and for equal ones the members' numbers.
func (a rankKey) Before(b rankKey) bool {
	return a.bytes < b.bytes || a.bytes == b.bytes && a.id < b.id
}

// ranked makes an entry of a ranking.
func ranked(bytes float64, id int32) priority.Entry[rankKey] {
	return priority.Entry[rankKey]{Key: rankKey{bytes, id}, ID: id}
}

// Package priority keeps values in order of priority, in binary heaps: Queue where only the first value is asked for,
// Indexed where a value is changed or removed by its number. Both are deterministic: which of two equal values comes
// first depends on nothing but the calls before, and orders that have no equal values are independent of those too.
package priority

// Ordered is a value that reports whether it comes before another one. Of two equal values neither does.
type Ordered[T any] interface{ Before(T) bool }

// A Queue is a binary heap: its first element comes before all others. The zero value is empty. Callers may read the
// elements, and call Init after they have changed some.
type Queue[T Ordered[T]] []T

// Push adds x. O(log n).
func (q *Queue[T]) Push(x T) {
	h := append(*q, x)
	*q = h
	i := len(h) - 1
	for ; i > 0 && x.Before(h[(i-1)/2]); i = (i - 1) / 2 {
		h[i] = h[(i-1)/2]
	}
	h[i] = x
}

// Pop removes and returns the first element. It panics if there is none. O(log n).
func (q *Queue[T]) Pop() T {
	h := *q
	first, last := h[0], len(h)-1
	h[0] = h[last]
	*q = h[:last]
	if last > 0 {
		q.FixFirst()
	}
	return first
}

// Init puts elements in order that the caller has appended or changed. O(n).
func (q Queue[T]) Init() {
	for i := len(q)/2 - 1; i >= 0; i-- {
		q.down(i)
	}
}

// FixFirst puts the first element in its place after the caller has changed it. There must be one. O(log n).
func (q Queue[T]) FixFirst() { q.down(0) }

func (q Queue[T]) down(i int) {
	x := q[i]
	for {
		least := 2*i + 1
		if least+1 < len(q) && q[least+1].Before(q[least]) {
			least++
		}
		if least >= len(q) || !q[least].Before(x) {
			break
		}
		q[i] = q[least]
		i = least
	}
	q[i] = x
}

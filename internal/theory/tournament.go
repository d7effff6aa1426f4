package theory

import "math"

// A tournament keeps a number for each of n places, and finds the place with the least number (the first of equals). It
// is a binary tree: each inner node has the lesser number of its two children. Setting one place costs O(log n),
// setting all costs O(n).
type tournament struct {
	tree   []float64 // the leaves from leaves on; 2i and 2i+1 are below i
	leaves int
}

// reset gives the tournament n places, and sets each to +Inf.
func (t *tournament) reset(n int) {
	for t.leaves = 1; t.leaves < n; {
		t.leaves *= 2
	}
	if cap(t.tree) < 2*t.leaves {
		t.tree = make([]float64, 2*t.leaves)
	}
	t.tree = t.tree[:2*t.leaves]
	for i := range t.tree {
		t.tree[i] = math.Inf(1)
	}
}

// leaf sets a place; build must follow.
func (t *tournament) leaf(place int, x float64) { t.tree[t.leaves+place] = x }

func (t *tournament) build() {
	for i := t.leaves - 1; i > 0; i-- {
		t.tree[i] = min(t.tree[2*i], t.tree[2*i+1])
	}
}

// set sets a place.
func (t *tournament) set(place int, x float64) {
	i := t.leaves + place
	for t.tree[i] = x; i > 1; {
		i /= 2
		t.tree[i] = min(t.tree[2*i], t.tree[2*i+1])
	}
}

// least returns the least; +Inf where there are no places.
func (t *tournament) least() float64 {
	if len(t.tree) == 0 {
		return math.Inf(1)
	}
	return t.tree[1]
}

// first returns the index of the place with the least number, the lowest index of equals. O(log n).
func (t *tournament) first() int {
	i := 1
	for i < t.leaves {
		if i *= 2; t.tree[i+1] < t.tree[i] {
			i++
		}
	}
	return i - t.leaves
}

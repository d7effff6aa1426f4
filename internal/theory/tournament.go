package theory

import "math"

// A tournament keeps a number for each of n places and finds the least, the first place of equals: a tree of the least
// of each two. Setting one costs O(log n), all O(n).
type tournament struct {
	tree   []float64 // the leaves from leaves on; 2i and 2i+1 are below i
	leaves int
}

// reset has n places at +Inf.
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

// first returns the place of the least.
func (t *tournament) first() int {
	i := 1
	for i < t.leaves {
		if i *= 2; t.tree[i+1] < t.tree[i] {
			i++
		}
	}
	return i - t.leaves
}

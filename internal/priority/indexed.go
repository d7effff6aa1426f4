package priority

// An Entry is a member of an Indexed heap: its key, and its number, a small one from 0.
type Entry[K Ordered[K]] struct {
	Key K
	ID  int32
}

// An Indexed is a binary heap whose members are found by their numbers: its first entry has the least key. The zero
// value is empty. Callers may read the entries.
//
// The caller owns the places, by number: where in the heap the member is, from 1; zero for a number that is not in it.
// So heaps that never have a member in common can share one slice of places. A slice has room for all numbers in use.
type Indexed[K Ordered[K]] []Entry[K]

// Put adds a member, or gives the one that has this number another key. O(log n).
func (h *Indexed[K]) Put(places []int32, e Entry[K]) {
	if at := places[e.ID]; at != 0 {
		h.fix(places, int(at-1), e)
		return
	}
	*h = append(*h, e)
	h.up(places, len(*h)-1, e)
}

// Remove takes a member out, which must be there. O(log n).
func (h *Indexed[K]) Remove(places []int32, id int32) {
	at, last := int(places[id]-1), len(*h)-1
	places[id] = 0
	moved := (*h)[last]
	*h = (*h)[:last]
	if at < last {
		h.fix(places, at, moved)
	}
}

// fix puts e in its place, beginning at position i, whose entry it replaces.
func (h Indexed[K]) fix(places []int32, i int, e Entry[K]) {
	if i > 0 && e.Key.Before(h[(i-1)/2].Key) {
		h.up(places, i, e)
	} else {
		h.down(places, i, e)
	}
}

func (h Indexed[K]) up(places []int32, i int, e Entry[K]) {
	for ; i > 0 && e.Key.Before(h[(i-1)/2].Key); i = (i - 1) / 2 {
		h[i] = h[(i-1)/2]
		places[h[i].ID] = int32(i + 1)
	}
	h[i] = e
	places[e.ID] = int32(i + 1)
}

func (h Indexed[K]) down(places []int32, i int, e Entry[K]) {
	for {
		least := 2*i + 1
		if least+1 < len(h) && h[least+1].Key.Before(h[least].Key) {
			least++
		}
		if least >= len(h) || !h[least].Key.Before(e.Key) {
			break
		}
		h[i] = h[least]
		places[h[i].ID] = int32(i + 1)
		i = least
	}
	h[i] = e
	places[e.ID] = int32(i + 1)
}

package theory

// entry is a job waiting under a key; seq is its place in order of arrival and breaks ties, so that an order never
// depends on the history of the heap.
type entry struct {
	key float64
	seq int32
}

func (a entry) before(b entry) bool { return a.key < b.key || (a.key == b.key && a.seq < b.seq) }

// queue is a binary min-heap of entries. Lowering the key of the first entry in place keeps it valid.
type queue []entry

// push adds an entry. O(log n).
func (q *queue) push(e entry) {
	h := append(*q, e)
	i := len(h) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if !e.before(h[parent]) {
			break
		}
		h[i] = h[parent]
		i = parent
	}
	h[i] = e
	*q = h
}

// pop removes and returns the first entry. There must be one. O(log n).
func (q *queue) pop() entry {
	h := *q
	first, last := h[0], h[len(h)-1]
	h = h[:len(h)-1]
	*q = h
	if len(h) == 0 {
		return first
	}
	i := 0
	for {
		child := 2*i + 1
		if child >= len(h) {
			break
		}
		if child+1 < len(h) && h[child+1].before(h[child]) {
			child++
		}
		if !h[child].before(last) {
			break
		}
		h[i] = h[child]
		i = child
	}
	h[i] = last
	return first
}

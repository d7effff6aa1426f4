package sim

// A ranking is a binary heap by key, in which a member is found by its id: pos[id] is its place.
type ranking []ranked

type ranked struct {
	key float64
	id  int32
}

func (a ranked) before(b ranked) bool { return a.key < b.key || a.key == b.key && a.id < b.id }

func (h *ranking) push(pos []int32, r ranked) {
	*h = append(*h, r)
	h.up(pos, int32(len(*h)-1), r)
}

func (h *ranking) remove(pos []int32, i int32) {
	a := *h
	n := int32(len(a) - 1)
	r := a[n]
	*h = a[:n]
	if i == n {
		return
	}
	if i > 0 && r.before(a[(i-1)/2]) {
		h.up(pos, i, r)
	} else {
		h.down(pos, i, r)
	}
}

func (h *ranking) up(pos []int32, i int32, r ranked) {
	a := *h
	for ; i > 0 && r.before(a[(i-1)/2]); i = (i - 1) / 2 {
		a[i] = a[(i-1)/2]
		pos[a[i].id] = i
	}
	a[i] = r
	pos[r.id] = i
}

func (h *ranking) down(pos []int32, i int32, r ranked) {
	a := *h
	n := int32(len(a))
	for {
		k := 2*i + 1
		if k >= n {
			break
		}
		if k+1 < n && a[k+1].before(a[k]) {
			k++
		}
		if !a[k].before(r) {
			break
		}
		a[i] = a[k]
		pos[a[i].id] = i
		i = k
	}
	a[i] = r
	pos[r.id] = i
}

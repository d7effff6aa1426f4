package yarn

import (
	"iter"
	"slices"

	"github.com/sojourn-sched/sojourn/sched"
)

func (t *leaseTable) at(id sched.AttemptID) *container {
	if i := id.Row(); int(i) < len(t.slots) && t.slots[i] != nil && t.slots[i].lease == id {
		return t.slots[i]
	}
	return nil
}

func (t *leaseTable) put(c *container) {
	i := int(c.lease.Row())
	for i >= len(t.slots) {
		t.slots = append(t.slots, nil)
	}
	t.slots[i] = c
	t.count++
}

func (t *leaseTable) remove(c *container) {
	if t.at(c.lease) == c {
		t.slots[c.lease.Row()] = nil
		t.count--
	}
}

func (t *containerTable) at(id int64) *container {
	if p := t.pages[id>>pageBits]; p != nil {
		return p.at[id&(1<<pageBits-1)]
	}
	return nil
}

func (t *containerTable) put(c *container) {
	no := c.id.ID >> pageBits
	p := t.pages[no]
	if p == nil {
		if t.pages == nil {
			t.pages = map[int64]*containerPage{}
		}
		p = &containerPage{}
		t.pages[no] = p
	}
	p.at[c.id.ID&(1<<pageBits-1)] = c
	p.used++
	t.count++
}

// remove reports whether the container was there.
func (t *containerTable) remove(c *container) bool {
	no := c.id.ID >> pageBits
	p := t.pages[no]
	if p == nil || p.at[c.id.ID&(1<<pageBits-1)] != c {
		return false
	}
	p.at[c.id.ID&(1<<pageBits-1)] = nil
	if p.used--; p.used == 0 {
		delete(t.pages, no)
	}
	t.count--
	return true
}

// sorted returns the containers in order of their ids, which is that of allocation.
func (t *containerTable) sorted() []*container {
	return slices.AppendSeq(make([]*container, 0, t.count), t.from(0))
}

// from yields the containers from an id on, in order. The caller must not change the table meanwhile.
func (t *containerTable) from(id int64) iter.Seq[*container] {
	return func(yield func(*container) bool) {
		var pages []int64
		for no := range t.pages {
			if no >= id>>pageBits {
				pages = append(pages, no)
			}
		}
		slices.Sort(pages)
		for _, no := range pages {
			for _, c := range t.pages[no].at {
				if c != nil && c.id.ID >= id && !yield(c) {
					return
				}
			}
		}
	}
}

// add puts a container at the end. O(1) amortized.
func (l *grantList) add(c *container) {
	if l.first > len(l.slots)/2 {
		l.pack()
	}
	c.due = int32(len(l.slots))
	l.slots = append(l.slots, c)
	l.count++
}

// pack moves the containers to the front of slots.
func (l *grantList) pack() {
	kept := l.slots[:0]
	for _, c := range l.slots[l.first:] {
		if c != nil {
			c.due = int32(len(kept))
			kept = append(kept, c)
		}
	}
	clear(l.slots[len(kept):])
	l.slots, l.first = kept, 0
}

// remove removes a container that is in the list. O(1).
func (l *grantList) remove(c *container) {
	l.slots[c.due] = nil
	if l.count--; l.count == 0 {
		l.slots, l.first = l.slots[:0], 0
	}
}

// next removes the first container and returns it; nil: the list is empty.
func (l *grantList) next() *container {
	for ; l.first < len(l.slots); l.first++ {
		if c := l.slots[l.first]; c != nil {
			l.remove(c)
			return c
		}
	}
	return nil
}

// all yields the containers in order. The caller may remove those that it was given.
func (l *grantList) all() iter.Seq[*container] {
	return func(yield func(*container) bool) {
		for i := l.first; i < len(l.slots); i++ {
			if c := l.slots[i]; c != nil && !yield(c) {
				return
			}
		}
	}
}

func (s idSet) has(id int32) bool { return int(id>>6) < len(s) && s[id>>6]>>(id&63)&1 == 1 }

func (s *idSet) add(id int32) {
	for int(id>>6) >= len(*s) {
		*s = append(*s, 0)
	}
	(*s)[id>>6] |= 1 << (id & 63)
}

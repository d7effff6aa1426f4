package yarn

import (
	"maps"
	"slices"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
	"github.com/sojourn-sched/sojourn/sched"
)

// container finds a container; nil: it is not known, or its node has been told to forget it.
func (m *manager) container(id wire.ContainerID) *container {
	a := m.attempt(id.Attempt)
	if a == nil {
		return nil
	}
	return a.containers.at(id.ID)
}

// A leaseTable finds containers by the core's attempts, in whose slots they are.
type leaseTable struct {
	slots []*container
	count int
}

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

// A containerTable finds an attempt's containers by their ids, which count up: most that live are neighbours, so they
// are kept a page of neighbours at a time. A page goes when the last on it does.
type containerTable struct {
	pages map[int64]*containerPage
	count int
}

const pageBits = 6

type containerPage struct {
	at   [1 << pageBits]*container
	used int
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
	list := make([]*container, 0, t.count)
	for _, no := range slices.Sorted(maps.Keys(t.pages)) {
		for _, c := range t.pages[no].at {
			if c != nil {
				list = append(list, c)
			}
		}
	}
	return list
}

// An idSet is a set of numbers that count up, a bit each.
type idSet []uint64

func (s idSet) has(id int32) bool { return int(id>>6) < len(s) && s[id>>6]>>(id&63)&1 == 1 }

func (s *idSet) add(id int32) {
	for int(id>>6) >= len(*s) {
		*s = append(*s, 0)
	}
	(*s)[id>>6] |= 1 << (id & 63)
}

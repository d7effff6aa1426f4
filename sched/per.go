package sched

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
)

// A Per keeps a T for each job, stage or queue, by the slot of the row. It forgets the value when the slot gets a new
// owner. In JSON it is a list by ID, and so survives a restart, after which rows have other slots.
type Per[T any] struct {
	slots    []owned[T]
	restored map[int64]T // read from JSON, and not asked for yet
}

// An owned value is in a slot of a Per.
type owned[T any] struct {
	id  int64 // of the row that the value is for; -1: none yet
	val T
}

// Of returns the value of row r, at first the zero T. The pointer is valid until the next call.
func (m *Per[T]) Of(r row) *T {
	slot, id := r.row()
	if int(slot) >= len(m.slots) {
		grown := make([]owned[T], max(int(slot)+1, 2*len(m.slots)))
		copy(grown, m.slots)
		for i := len(m.slots); i < len(grown); i++ {
			grown[i].id = -1
		}
		m.slots = grown
	}
	o := &m.slots[slot]
	if o.id != id {
		o.id, o.val = id, m.restored[id]
		delete(m.restored, id)
	}
	return &o.val
}

// Has returns the value of row r, and whether Of was called for r before.
func (m *Per[T]) Has(r row) (*T, bool) {
	slot, id := r.row()
	if _, ok := m.restored[id]; ok {
		return m.Of(r), true
	}
	if int(slot) >= len(m.slots) || m.slots[slot].id != id {
		return nil, false
	}
	return &m.slots[slot].val, true
}

// A perEntry is a value of a Per in JSON.
type perEntry[T any] struct {
	ID  int64
	Val T
}

// MarshalJSON writes the values by ID.
func (m Per[T]) MarshalJSON() ([]byte, error) {
	list := []perEntry[T]{}
	for _, o := range m.slots {
		if o.id >= 0 {
			list = append(list, perEntry[T]{o.id, o.val})
		}
	}
	for id, v := range m.restored {
		list = append(list, perEntry[T]{id, v})
	}
	slices.SortFunc(list, func(a, b perEntry[T]) int { return cmp.Compare(a.ID, b.ID) })
	return json.Marshal(list)
}

// UnmarshalJSON replaces all values.
func (m *Per[T]) UnmarshalJSON(b []byte) error {
	var list []perEntry[T]
	if err := json.Unmarshal(b, &list); err != nil {
		return fmt.Errorf("read values by ID: %w", err)
	}
	*m = Per[T]{restored: make(map[int64]T, len(list))}
	for _, e := range list {
		m.restored[e.ID] = e.Val
	}
	return nil
}

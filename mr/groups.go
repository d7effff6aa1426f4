package mr

import "iter"

// Groups are the pairs of one part, in order of their keys, cut where SameGroup says. Use:
// for in.Next() { … in.Key() …; for in.NextValue() { … in.Value() … } }.
type Groups struct{}

// Next moves to the next group, past what was not read of this one, and reports whether there is one. It waits while the attempt
// is suspended, and is false when it was killed or reading failed: the function then just returns.
func (g *Groups) Next() bool { return false }

// Key is the key of the value that is read, of the first before that: keys of a group may differ where SameGroup says so. Lent
// until Next or NextValue.
func (g *Groups) Key() []byte { return nil }

// NextValue moves to the next value of the group, the first at first, and reports whether there is one.
func (g *Groups) NextValue() bool { return false }

// Value is the value. Lent until Next or NextValue.
func (g *Groups) Value() []byte { return nil }

// Values yields the rest of the group's values, each lent until the next.
func (g *Groups) Values() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for g.NextValue() && yield(g.Value()) {
		}
	}
}

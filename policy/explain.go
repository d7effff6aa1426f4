package policy

import "github.com/sojourn-sched/sojourn/sched"

// A ranker is a policy that can tell the place of a stage in its order. The command explain asks it; see
// [Order.Position].
type ranker interface {
	Position(*sched.View, *sched.Stage) (sched.Key, bool)
}

// A withholder is a policy that can tell why it does not let a stage start.
type withholder interface {
	Withheld(*sched.View, *sched.Stage) string
}

// A reasoner is a policy that can tell what it wants for a stage, and why.
type reasoner interface {
	Why(*sched.View, *sched.Stage) string
}

// positionIn returns the place of st in the order of policy p. It returns false if st has no place, or if p cannot
// tell.
func positionIn(p sched.Policy, v *sched.View, st *sched.Stage) (sched.Key, bool) {
	if r, ok := p.(ranker); ok {
		return r.Position(v, st)
	}
	return sched.Key{}, false
}

// withheldIn returns the reason for which policy p does not let st start, in words. It returns "" if st may start, or
// if p cannot tell.
func withheldIn(p sched.Policy, v *sched.View, st *sched.Stage) string {
	if w, ok := p.(withholder); ok {
		return w.Withheld(v, st)
	}
	return ""
}

// whyIn returns what policy p wants for st, in words. It returns "" if p cannot tell.
func whyIn(p sched.Policy, v *sched.View, st *sched.Stage) string {
	if r, ok := p.(reasoner); ok {
		return r.Why(v, st)
	}
	return ""
}

// A wrapper has the inner policy of a policy that wraps another one, and passes questions on to it.
type wrapper struct{ Inner sched.Policy }

// Position returns the key of st in the order of the inner policy.
func (w *wrapper) Position(v *sched.View, st *sched.Stage) (sched.Key, bool) {
	return positionIn(w.Inner, v, st)
}

// InWords returns what key k of the inner policy stands for.
func (w *wrapper) InWords(v *sched.View, st *sched.Stage, k sched.Key) string {
	return wordsIn(w.Inner, v, st, k)
}

// Withheld returns why the inner policy does not let st start.
func (w *wrapper) Withheld(v *sched.View, st *sched.Stage) string { return withheldIn(w.Inner, v, st) }

// Why returns what the inner policy plans for st.
func (w *wrapper) Why(v *sched.View, st *sched.Stage) string { return whyIn(w.Inner, v, st) }

// Notes implements Noter: it returns the notes of the inner policy.
func (w *wrapper) Notes() []string { return notesIn(w.Inner) }

// A Noter is a policy that has notes for the user, such as that goals cannot be met. Notes have no effect on decisions.
type Noter interface {
	// Notes returns the notes of the last Decide, a sentence each.
	Notes() []string
}

// notesIn returns the notes of policy p; none if it makes none.
func notesIn(p sched.Policy) []string {
	if n, ok := p.(Noter); ok {
		return n.Notes()
	}
	return nil
}

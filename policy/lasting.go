package policy

// A Lasting policy remembers something beyond the end of a run: debts between queues, say. An engine that is started
// again gives it back before the first decision. Jobs and attempts of the new run have nothing to do with those of the
// old one, although their IDs may be the same: a policy keeps nothing about them.
type Lasting interface {
	// Outlasting returns a pointer to what outlasts a run. It is written as JSON between decisions, and read back in a
	// new policy of the same name.
	Outlasting() any
	// Resume makes what was read the beginning of another run, whose time starts at 0.
	Resume()
}

package predict

// forkJoin returns the time of a tree by the fork/join estimator, and the part of it that chance stretches (spec 9.1).
// A parallel node of k children takes the time of its longest child, and c·(H_k − 1) times the largest random part of a
// child. c is the coefficient of variation of tasks: 1 is the thesis, 0 gives the span of the timeline.
func (n *node) forkJoin(response []float64, c float64) (total, random float64) {
	switch n.kind {
	case leaf:
		return response[n.task], response[n.task]
	case delay:
		return n.delay, 0
	case series:
		for _, child := range n.children {
			t, b := child.forkJoin(response, c)
			total += t
			random += b
		}
		return total, random
	}
	harmonic := 0.0
	for k, child := range n.children {
		t, b := child.forkJoin(response, c)
		total, random = max(total, t), max(random, b)
		harmonic += 1 / float64(k+1)
	}
	f := c * (harmonic - 1)
	return total + f*random, (1 + f) * random
}

// moments returns mean and variance of a binary tree's time by Tripathi's estimator (spec 9.2). Times of a series add
// up. Of two parallel children, each is fitted to a law, and the larger of two such times counts. cv is the coefficient
// of variation of a task. The moments of inner nodes go to known, unless that is nil.
func (n *node) moments(response []float64, cv float64, known map[*node]Moments) (m Moments) {
	switch n.kind {
	case leaf:
		r := response[n.task]
		m = Moments{r, cv * r * cv * r}
	case delay:
		m.Mean = n.delay
	case series:
		for _, child := range n.children {
			m = m.plus(child.moments(response, cv, known))
		}
	case parallel:
		m = larger(n.children[0].moments(response, cv, known), n.children[1].moments(response, cv, known))
	}
	if known != nil {
		known[n] = m
	}
	return m
}

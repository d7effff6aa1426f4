package reference

// A Quantum is the assumed run time of tasks below one element of a tree of queues and applications: LTYARN's quantum
// updater. An element that is new assumes what the one above it does. As soon as a task of an application has ended,
// the application assumes the mean of its finished tasks, and each element above it the mean of those right below it
// that know anything. What knows nothing keeps what it assumed.
//
// Source: S. Tang's thesis on LTYARN, 5.4, the quantum updater. Times are in seconds.
type Quantum struct {
	Assumed float64

	above *Quantum
	below []*Quantum
	sum   float64 // of finished tasks of an application
	n     int
	known bool
}

// NewQuantum returns the root of a tree, which assumes so many seconds.
func NewQuantum(assumed float64) *Quantum { return &Quantum{Assumed: assumed} }

// Below adds an element below q.
func (q *Quantum) Below() *Quantum {
	b := &Quantum{Assumed: q.Assumed, above: q}
	q.below = append(q.below, b)
	return b
}

// Finished tells an application that a task of it has ended after some seconds, and adjusts all above it. O(elements
// right below each).
func (q *Quantum) Finished(seconds float64) {
	q.sum += seconds
	q.n++
	q.Assumed, q.known = q.sum/float64(q.n), true
	for up := q.above; up != nil; up = up.above {
		sum, n := 0.0, 0
		for _, b := range up.below {
			if b.known {
				sum += b.Assumed
				n++
			}
		}
		up.Assumed, up.known = sum/float64(n), true
	}
}

// Gone removes an application that has ended. What is above keeps what it assumes until the next task ends.
func (q *Quantum) Gone() {
	for i, b := range q.above.below {
		if b == q {
			q.above.below = append(q.above.below[:i:i], q.above.below[i+1:]...)
			return
		}
	}
}

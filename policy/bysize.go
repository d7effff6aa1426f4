package policy

import "github.com/sojourn-sched/sojourn/sched"

// bySize serves the job of the least work: of all its tasks (spt), or of those that are not finished (srpt).
type bySize struct {
	Order
	DelayPlacer
	sizes
	what string                           // the size that of returns, in words
	of   func(*sizes, *sched.Job) float64 // the size that jobs are served by, in seconds of the whole cluster
}

func newBySize(a Args, what string, of func(*sizes, *sched.Job) float64) *bySize {
	s := &bySize{DelayPlacer: NewDelayPlacer(a), sizes: newSizes(a), what: what, of: of}
	in := onePart(s.rank)
	in.steady = s.known // else a key says how many tasks have been tried
	s.initParts(a, s.rank, in)
	return s
}

// rank returns the key of st: by the size of its job, once the size of its tasks is known.
func (s *bySize) rank(_ *sched.View, st *sched.Stage, more int32) sched.Key {
	if !s.known(st) {
		return s.unknown(st, s.attempts(st, more))
	}
	return sched.Key{Class: ranked, Value: s.of(&s.sizes, st.Job)}
}

// InWords says the size that a stage is ranked by.
func (s *bySize) InWords(_ *sched.View, _ *sched.Stage, k sched.Key) string {
	return sizedInWords(k, func(size float64) string { return s.what + " " + work(size) })
}

// Decide starts tasks where there is room.
func (s *bySize) Decide(p *sched.Plan) {
	s.learn(p)
	s.Fill(p, &s.DelayPlacer)
}

package policy

import "github.com/sojourn-sched/sojourn/sched"

// bySize serves the job of the least work: of all its tasks (spt), or of those that are not finished (srpt).
type bySize struct {
	Order
	DelayPlacer
	sizes
	of func(*sizes, *sched.Job) float64
}

func newBySize(a Args, of func(*sizes, *sched.Job) float64) *bySize {
	s := &bySize{DelayPlacer: NewDelayPlacer(a), sizes: newSizes(a), of: of}
	s.Init(a, s.rank)
	return s
}

func (s *bySize) rank(_ *sched.View, st *sched.Stage, more int32) sched.Key {
	if !s.known(st) {
		return s.unknown(st, s.attempts(st, more))
	}
	return sched.Key{Class: ranked, Value: s.of(&s.sizes, st.Job)}
}

// Decide starts tasks where there is room.
func (s *bySize) Decide(p *sched.Plan) {
	s.learn(p)
	s.Fill(p, &s.DelayPlacer)
}

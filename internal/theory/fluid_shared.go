package theory

import "math"

// shared is a line served by generalised processor sharing. Its level rises at rate 1 ÷ (sum of weights). So a job that
// joins at level V with size s and weight w is done at level V + s/w, whatever happens in between. One heap of fixed
// tags replaces the update of every job at every event (the virtual time of Parekh and Gallager, 1993).
type shared struct {
	queue
	weights []float64 // by seq
	weight  float64   // of all present
	level   float64
}

func newShared(n int) shared { return shared{weights: make([]float64, n)} }

// startAnew sets the level and the weight to zero if no job is left, so that the rounding errors of one busy period do
// not reach the next one.
func (s *shared) startAnew() {
	if len(s.queue) == 0 {
		s.level, s.weight = 0, 0
	}
}

// add lets a job in and returns its tag, the level at which it finishes.
func (s *shared) add(seq int32, size, weight float64) float64 {
	tag := s.level + size/weight
	s.weights[seq] = weight
	s.weight += weight
	s.push(entry{tag, seq})
	return tag
}

func (s *shared) left() float64 {
	if len(s.queue) == 0 {
		return math.Inf(1)
	}
	return max(0, (s.queue[0].key-s.level)*s.weight)
}

func (s *shared) serve(dt float64) {
	if len(s.queue) > 0 {
		s.level += dt / s.weight
	}
}

func (s *shared) finish() int32 {
	e := s.pop()
	s.level = e.key
	s.weight -= s.weights[e.seq]
	return e.seq
}

// sharedServer serves PS.
type sharedServer struct{ line shared }

func (s *sharedServer) add(seq int32, j FluidJob) {
	s.line.startAnew()
	s.line.add(seq, j.Size, j.Weight)
}

func (s *sharedServer) step(now, until float64) (float64, int32) {
	return stepLine(&s.line, now, until)
}

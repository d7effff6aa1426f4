package theory

// fairSojourn serves FSP. The virtual server shares among the estimates; the real one serves the smallest virtual tag,
// which never changes once a job is in. Late jobs need no care: their tags lie below the level and hence below those of
// all others, in the order in which they finished virtually.
type fairSojourn struct {
	virtual shared
	real    ranked
}

func (s *fairSojourn) add(seq int32, j FluidJob) {
	if len(s.real.queue) == 0 { // while a late job waits, new tags must lie above its own
		s.virtual.startAnew()
	}
	s.real.add(entry{s.virtual.add(seq, j.Estimate, 1), seq}, j.Size)
}

func (s *fairSojourn) step(now, until float64) (float64, int32) {
	t, event := earliest(now, until, s.real.left(), s.virtual.left())
	s.real.serve(t - now)
	s.virtual.serve(t - now)
	switch event {
	case realEvent:
		return t, s.real.finish()
	case virtualEvent:
		s.virtual.finish()
		return t, nobody
	}
	return t, quiet
}

// practical serves PSBS: FSP by weight, but jobs that are late share the server among themselves.
type practical struct {
	virtual shared // what processor sharing would do with the estimates
	real    ranked // unfinished jobs that are not late, by virtual tag
	late    shared // unfinished jobs that have finished virtually, by what truly remains
}

func (s *practical) add(seq int32, j FluidJob) {
	s.virtual.startAnew()
	s.real.add(entry{s.virtual.add(seq, j.Estimate, j.Weight), seq}, j.Size)
}

func (s *practical) step(now, until float64) (float64, int32) {
	var serving line = &s.real
	if len(s.late.queue) > 0 {
		serving = &s.late
	}
	t, event := earliest(now, until, serving.left(), s.virtual.left())
	serving.serve(t - now)
	s.virtual.serve(t - now)
	switch event {
	case realEvent:
		return t, serving.finish()
	case virtualEvent:
		// The least tag of the virtual line is the first of the real one, unless that job is done already.
		seq := s.virtual.finish()
		if len(s.real.queue) > 0 && s.real.queue[0].seq == seq {
			s.real.finish()
			s.late.startAnew()
			s.late.add(seq, max(0, s.real.remaining[seq]), s.virtual.weights[seq])
		}
		return t, nobody
	}
	return t, quiet
}

// A fluidEvent says what happens next to two servers, the real one and the virtual one.
type fluidEvent uint8

const (
	noEvent      fluidEvent = iota // until came first
	realEvent                      // a job is done
	virtualEvent                   // a job would be done under processor sharing
)

// earliest chooses the next event after now; a job that is done at the instant at which it would be late is not late.
func earliest(now, until, left, virtualLeft float64) (float64, fluidEvent) {
	t, event := until, noEvent
	if v := now + virtualLeft; due(v, t) {
		t, event = min(v, t), virtualEvent
	}
	if r := now + left; due(r, t) {
		t, event = min(r, t), realEvent
	}
	return t, event
}

package theory

import "math"

// ranked is a line in which the job with the smallest key has the whole server.
type ranked struct {
	queue
	remaining []float64 // true remaining size, by seq
	ageing    bool      // the key of the job in service falls as it is served
}

func newRanked(n int) ranked { return ranked{remaining: make([]float64, n)} }

func (r *ranked) add(e entry, size float64) {
	r.remaining[e.seq] = size
	r.push(e)
}

func (r *ranked) left() float64 {
	if len(r.queue) == 0 {
		return math.Inf(1)
	}
	return max(0, r.remaining[r.queue[0].seq])
}

func (r *ranked) serve(dt float64) {
	if len(r.queue) == 0 {
		return
	}
	first := &r.queue[0]
	r.remaining[first.seq] -= dt
	if r.ageing {
		first.key -= dt
	}
}

func (r *ranked) finish() int32 { return r.pop().seq }

// rankedServer serves FIFO, SPT and SRPT, which differ only in the key.
type rankedServer struct {
	rank func(FluidJob) float64
	line ranked
}

func (s *rankedServer) add(seq int32, j FluidJob) { s.line.add(entry{s.rank(j), seq}, j.Size) }

func (s *rankedServer) step(now, until float64) (float64, int32) {
	return stepLine(&s.line, now, until)
}

func estimateOf(j FluidJob) float64 { return j.Estimate }

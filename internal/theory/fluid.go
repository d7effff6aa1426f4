package theory

import (
	"fmt"
	"math"
	"slices"
)

// FluidJob is one job of the divisible server.
type FluidJob struct {
	Arrival  float64 // s
	Size     float64 // the true service it needs: s of the whole server, >= 0
	Estimate float64 // what the discipline believes Size to be, >= 0; equal to Size means no error
	Weight   float64 // its share under PS and PSBS, > 0; zero stands for 1
}

// Discipline is the rule by which the divisible server chooses which job to serve.
type Discipline string

const (
	// FIFO serves jobs one at a time in order of arrival.
	FIFO Discipline = "fifo"
	// PS (processor sharing) serves all jobs at once, each at a rate proportional to its weight.
	// With weights that differ this is the discriminatory processor sharing of Kleinrock (1967).
	PS Discipline = "ps"
	// LAS (least attained service, also foreground-background) shares the server equally among the jobs that have
	// received the least service so far. It needs no sizes.
	LAS Discipline = "las"
	// SRPT serves the job with the least estimated remaining size, preempting. A job served beyond its estimate has a
	// remaining size below zero and therefore stays first until it is done.
	SRPT Discipline = "srpt"
	// SPT serves the job with the least estimated original size, preempting.
	SPT Discipline = "spt"
	// FSP (fair sojourn protocol; Friedman and Henderson, SIGMETRICS 2003) serves the job that would finish first under
	// processor sharing. Jobs that finished there but not here (late, possible only when an estimate is wrong) come
	// first, one at a time in the order in which they finished there. Weights are ignored.
	FSP Discipline = "fsp"
	// PSBS (Dell'Amico, Carra and Michiardi, IEEE ToC 2016) is FSP with weights in which the late jobs share the server
	// by weight. With exact sizes and equal weights it is FSP.
	PSBS Discipline = "psbs"
	// GITTINS serves the job with the smallest Gittins rank of what its size may be: by its estimate, the error that
	// estimates of finished jobs had, the sizes that those had, and its age. Without errors it is SRPT, without any
	// worth of estimates close to LAS.
	GITTINS Discipline = "gittins"
)

// Disciplines returns every discipline that Fluid knows.
func Disciplines() []Discipline { return []Discipline{FIFO, PS, LAS, SRPT, SPT, FSP, PSBS, GITTINS} }

// server is one discipline at work. Jobs are known to it by seq, their place in order of arrival.
type server interface {
	add(seq int32, j FluidJob)
	// step serves from now to its next event, if that comes no later than until: a job finishes, or (no job does) the
	// rule changes what it does. Otherwise it serves to until and returns it with quiet.
	step(now, until float64) (t float64, finished int32)
}

const (
	nobody int32 = -1
	quiet  int32 = -2
)

// Fluid serves the jobs on one divisible server of rate 1 and returns the instant at which each is done, in the order
// of jobs. It goes from event to event in float64 without time steps, O(log n) an event. Jobs of the same arrival keep
// their order, a tie between jobs goes to the earlier one, and what ends at an instant ends before anyone arrives at
// it. A job of size zero is done as soon as it is first in line: at once under every discipline but FIFO, unless a late
// job goes first.
//
// The error names the first job, counted from zero, whose fields are out of range, or the unknown discipline.
func Fluid(d Discipline, jobs []FluidJob) ([]float64, error) {
	for i, j := range jobs {
		if err := j.check(); err != nil {
			return nil, fmt.Errorf("serve job %d: %w", i, err)
		}
	}
	s, err := newServer(d, len(jobs))
	if err != nil {
		return nil, err
	}
	return serveAll(s, jobs), nil
}

// serveAll serves the jobs to their end by s, and returns when each is done, in the order of jobs.
func serveAll(s server, jobs []FluidJob) []float64 {
	order := make([]int32, len(jobs))
	for i := range order {
		order[i] = int32(i)
	}
	byArrival := func(a, b int32) int {
		switch {
		case jobs[a].Arrival < jobs[b].Arrival:
			return -1
		case jobs[a].Arrival > jobs[b].Arrival:
			return 1
		}
		return int(a - b)
	}
	if !slices.IsSortedFunc(order, byArrival) {
		slices.SortFunc(order, byArrival)
	}
	done := make([]float64, len(jobs))
	left := len(jobs)
	var now float64
	if left > 0 {
		now = jobs[order[0]].Arrival
	}
	serve := func(until float64) {
		for finished := nobody; finished != quiet && left > 0; {
			if now, finished = s.step(now, until); finished >= 0 {
				done[order[finished]] = now
				left--
			}
		}
	}
	for seq, i := range order {
		j := jobs[i]
		if j.Weight == 0 {
			j.Weight = 1
		}
		serve(j.Arrival)
		now = j.Arrival
		s.add(int32(seq), j)
	}
	serve(math.Inf(1))
	return done
}

// fluidMax bounds what Fluid accepts, so that no sum or quotient of it leaves float64.
const fluidMax = 1e100

// check returns an error that names the field of j that is out of range.
func (j FluidJob) check() error {
	in := func(x, low float64) bool { return x >= low && x <= fluidMax } // false for NaN
	switch {
	case !in(j.Arrival, -fluidMax):
		return fmt.Errorf("arrival %v: want a number between -%g and %g", j.Arrival, fluidMax, fluidMax)
	case !in(j.Size, 0):
		return fmt.Errorf("size %v: want a number from 0 to %g", j.Size, fluidMax)
	case !in(j.Estimate, 0):
		return fmt.Errorf("estimate %v: want a number from 0 to %g", j.Estimate, fluidMax)
	case j.Weight != 0 && !in(j.Weight, 1/fluidMax):
		return fmt.Errorf("weight %v: want a number from %g to %g, or 0 for 1", j.Weight, 1/fluidMax, fluidMax)
	}
	return nil
}

// due reports whether t comes no later than until. Shares of a third do not add up in float64: instants closer than
// rounding can have brought them are the same, lest a job that ends as another arrives be served after it.
func due(t, until float64) bool { return t <= until+1e-13*math.Abs(until) }

// newServer returns a server of discipline d for n jobs.
func newServer(d Discipline, n int) (server, error) {
	switch d {
	case FIFO:
		return &rankedServer{rank: func(FluidJob) float64 { return 0 }, line: newRanked(n)}, nil
	case SPT:
		return &rankedServer{rank: estimateOf, line: newRanked(n)}, nil
	case SRPT:
		s := &rankedServer{rank: estimateOf, line: newRanked(n)}
		s.line.ageing = true
		return s, nil
	case PS:
		return &sharedServer{line: newShared(n)}, nil
	case LAS:
		return newAttained(n), nil
	case FSP:
		return &fairSojourn{virtual: newShared(n), real: newRanked(n)}, nil
	case PSBS:
		return &practical{virtual: newShared(n), real: newRanked(n), late: newShared(n)}, nil
	case GITTINS:
		return newUncertain(n, SizeBelief{}), nil
	}
	return nil, fmt.Errorf("choose discipline %q: want one of %v", string(d), Disciplines())
}

// line is a set of jobs; some are in service: left is the time until the first of them finishes if served
// without a break (+Inf for none), serve passes at most that time, and finish takes that job out.
type line interface {
	left() float64
	serve(dt float64)
	finish() int32
}

// stepLine is server.step where one line has the whole server.
func stepLine(l line, now, until float64) (float64, int32) {
	t := now + l.left()
	if math.IsInf(t, 1) || !due(t, until) {
		l.serve(until - now)
		return until, quiet
	}
	t = min(t, until)
	l.serve(t - now)
	return t, l.finish()
}

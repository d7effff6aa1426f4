package policy

import "github.com/sojourn-sched/sojourn/sched"

var srptCard = Card{
	Title: "the job with the least work left first",
	Source: "Schrage, A Proof of the Optimality of the Shortest Remaining Processing Time Discipline, Operations " +
		"Research 16(3), 1968",
	Spec:   "docs/spec/policies.md#srpt",
	Params: sptCard.Params,
	Memory: append([]string{
		"by job: what its tasks that are not finished have done, when one of them last ended or was suspended " +
			"(with preempt)",
	}, sizedMemory...),
	Claims: []Claim{WorkConserving, NonPreemptive, TimeInvariant},
}

// srpt serves the job with the least work left, and takes back what jobs with more work hold.
//
// What is left of a job falls while its tasks run, for each job at a rate of its own. Where a job is about to start a
// task, its work counts as it was when a task of it last ended or was suspended: so its place changes with its own
// events, at O(log n) a change. Where a task is about to be taken from a job, its work counts as it is now. A job that
// waits never gains on one that runs without an event, so it does not matter how often the policy is asked.
type srpt struct {
	Order
	DelayPlacer
	sizes
	// by job: seconds of the whole cluster that its unfinished tasks had done at their last event
	Done sched.Per[float64]
}

func newSRPT(a Args) sched.Policy {
	if a.Choice("preempt") == optOff.Name {
		// whole tasks: those that run are not compared with any other
		return newBySize(a, "remaining size", (*sizes).remaining)
	}
	s := &srpt{DelayPlacer: NewDelayPlacer(a), sizes: newSizes(a)}
	in := onePart(s.rank)
	in.falls = true
	s.initParts(a, s.rank, in)
	return s
}

// rank returns the place of st: by what was left at the last event of its job, or, to take a task back, by what is left
// now.
func (s *srpt) rank(v *sched.View, st *sched.Stage, more int32) sched.Key {
	if !s.known(st) {
		return s.unknown(st, s.attempts(st, more))
	}
	done := *s.Done.Of(st.Job)
	if more == 0 {
		done = s.done(st.Job, v.Now)
	}
	return sched.Key{Class: ranked, Value: max(0, s.remaining(st.Job)-done)}
}

// InWords says the work that is left of a stage's job.
func (s *srpt) InWords(_ *sched.View, _ *sched.Stage, k sched.Key) string {
	return sizedInWords(k, func(left float64) string { return "remaining size " + work(left) })
}

// done returns the work that the running and the suspended tasks of a job have done by now, in seconds of the whole
// cluster. The attempts of a stage count for no more than their tasks take by the estimate.
func (s *srpt) done(j *sched.Job, now sched.Time) (sum float64) {
	for _, st := range j.Stages {
		if u := s.Units.Of(st); u.Time > 0 {
			ran := min(st.Elapsed(now)+st.Paused(), sched.Time(st.Running+st.Suspended)*u.Time)
			sum += u.Seconds * ran.Seconds() / u.Time.Seconds()
		}
	}
	return sum
}

// Decide starts tasks where there is room, and takes back room for jobs with less work left.
func (s *srpt) Decide(p *sched.Plan) {
	s.learn(p)
	if s.Of.ratio > 0 {
		for j := range p.Jobs() {
			*s.Done.Of(j) *= s.Of.ratioOf(j)
		}
	}
	for i := range p.Events {
		switch e := &p.Events[i]; e.Kind {
		case sched.AttemptDone, sched.AttemptSuspended:
			if a := p.Attempt(e.Attempt); a != nil {
				*s.Done.Of(a.Stage.Job) = s.done(a.Stage.Job, p.Now)
				p.TouchJob(a.Stage.Job)
			}
		}
	}
	s.Fill(p, &s.DelayPlacer)
}

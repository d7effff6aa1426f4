package policy

import "github.com/sojourn-sched/sojourn/sched"

// sizing appends the parameters of every policy that goes by sizes.
func sizing(own ...Param) []Param {
	return append(own, Param{Name: "sample", Kind: Integer, Default: "5", Min: 1,
		Meaning: "how many tasks of a stage of unknown size start before those of other jobs, so that its size " +
			"becomes known"})
}

// sizedMemory is what every policy that goes by sizes remembers.
var sizedMemory = []string{
	"by stage: the size of a task, as the estimator last said, and the capacity that all sizes are of",
	PlacingMemory,
	MasterMemory,
	PreemptMemory,
}

// sizes is what a policy knows of task times, in seconds of the whole cluster. The estimator is asked when a stage
// arrives and each time the number of its finished tasks has doubled, and when a probe of the job is through, so that
// learning costs O(log n) questions for n tasks.
//
// All sizes are of one capacity (measure), so that they can be compared.
//
// A stage without an estimate is sampled: a few of its tasks go before everything else, the rest after it
// (HFSP 3.2.1 trains with 5 tasks).
type sizes struct {
	Units sched.Per[unit] // by stage
	Of    measure         `json:",omitzero"`

	sample int32
	news   []*sched.Job // whose task times the estimator has told anew at this instant
}

// A unit is the size of one task of a stage.
type unit struct {
	Seconds float64    // of the whole cluster
	Time    sched.Time // of the task
	answer
}

// An answer is what is remembered of the estimator's last answer on a stage, to know when to ask again.
type answer struct {
	Asked int32 // finished tasks at that time
	Known bool  // it told the time of a task
}

// askOn calls ask for the stages on which the estimator is to be asked because of event e: the stage whose finished
// tasks have doubled since the last answer, and the stages of unknown task times of a job that is new or has asked for
// other tasks.
func askOn(p *sched.Plan, e *sched.Event, last func(*sched.Stage) answer, ask func(*sched.Plan, *sched.Stage)) {
	switch e.Kind {
	case sched.AttemptDone:
		a := p.Attempt(e.Attempt)
		if a != nil && a.Stage.Done > 0 && a.Stage.Done >= 2*last(a.Stage).Asked {
			ask(p, a.Stage)
		}
	case sched.JobSubmitted, sched.AsksChanged:
		if j := p.Job(e.Job); j != nil {
			for _, st := range j.Stages {
				if !last(st).Known {
					ask(p, st)
				}
			}
		}
	}
}

// The classes of an order by size, in that order.
const (
	sampled  = iota // few tasks of each stage of unknown size
	overdue         // for policies that treat jobs specially that should have ended
	ranked          // by size
	unranked        // the other tasks of stages of unknown size
)

func newSizes(a Args) sizes { return sizes{sample: int32(a.Int("sample"))} }

// learn brings sizes up to date with what happened at this instant.
func (s *sizes) learn(p *sched.Plan) {
	s.news = s.news[:0]
	if s.Of.ratio = 0; s.Of.outdated(p) {
		s.Of.change(p, s)
	}
	s.Of.begin(p)
	last := func(st *sched.Stage) answer { return s.Units.Of(st).answer }
	for i := range p.Events {
		e := &p.Events[i]
		askOn(p, e, last, s.ask)
		if e.Kind != sched.JobEnded || e.Outcome != sched.OK {
			continue
		}
		if probe := p.Job(e.Job); probe != nil && probe.Spec.Probes != 0 {
			if j := p.Job(probe.Spec.Probes); j != nil && !j.Ended {
				for _, st := range j.Stages {
					s.ask(p, st)
				}
			}
		}
	}
}

// ask asks the estimator for the time of a task of st.
func (s *sizes) ask(p *sched.Plan, st *sched.Stage) {
	e, of := p.Estimate(st, 0), s.Of.capacity(p.View)
	u := unit{
		taskSize(st, e.Mean, of),
		e.Mean,
		answer{st.Done, e.Known() && of != (sched.Resources{})},
	}
	was := s.Units.Of(st)
	if u.Seconds != was.Seconds || u.Known != was.Known {
		s.news = append(s.news, st.Job)
		p.TouchJob(st.Job)
	}
	*was = u
}

// taskSize returns the size of a task of st that takes a time, in seconds of a cluster of a capacity.
func taskSize(st *sched.Stage, takes sched.Time, capacity sched.Resources) float64 {
	var w sched.Work
	w.Add(st.Spec.PerTask, takes)
	return w.Seconds(capacity)
}

// remaining returns the seconds of the whole cluster that the unfinished tasks of a job take.
func (s *sizes) remaining(j *sched.Job) (left float64) {
	for _, st := range j.Stages {
		if counts(st) {
			left += float64(unfinished(st)) * s.Units.Of(st).Seconds
		}
	}
	return left
}

// counts reports whether a stage counts to the size of its job. A master does while the job has asked for nothing, as
// before its master has started, or after the end of a master that is to start again: then its estimate stands for the
// tasks. Else it lasts as long as they do, whatever is decided. O(stages of the job) for a master.
func counts(st *sched.Stage) bool {
	if st.Kind != sched.Master {
		return true
	}
	for _, o := range st.Job.Stages {
		if o != st && (unfinished(o) > 0 || o.Done > 0 && st.Pending == 0) {
			return false
		}
	}
	return true
}

// byRemaining returns the key of st in the order of the work that is left of jobs. attempts is the number of attempts
// that st has, which counts if the size of its tasks is not known.
func (s *sizes) byRemaining(st *sched.Stage, attempts int32) sched.Key {
	if !s.known(st) {
		return s.unknown(st, attempts)
	}
	return sched.Key{Class: ranked, Value: s.remaining(st.Job)}
}

// size returns the seconds of the whole cluster that all tasks of a job take.
func (s *sizes) size(j *sched.Job) (all float64) {
	for _, st := range j.Stages {
		if counts(st) {
			all += float64(tasksOf(st)) * s.Units.Of(st).Seconds
		}
	}
	return all
}

// tasksOf returns how many tasks st has, or, if the application may ask for more, how many are known so far.
func tasksOf(st *sched.Stage) int32 {
	if st.Total >= 0 {
		return st.Total
	}
	return st.Pending + st.Running + st.Suspended + st.Done
}

// unfinished returns how many of these tasks are not done.
func unfinished(st *sched.Stage) int32 { return tasksOf(st) - st.Done }

// known reports whether the time of a task of st is known.
func (s *sizes) known(st *sched.Stage) bool { return s.Units.Of(st).Known }

// unknown returns the key of a stage without a known task time: its class depends on how many attempts it has.
func (s *sizes) unknown(st *sched.Stage, attempts int32) sched.Key {
	if attempts <= s.sample && begun(st) {
		return sched.Key{Class: sampled}
	}
	return sched.Key{Class: unranked}
}

// begun reports whether a sample of st would tell anything yet: not while it waits for what earlier stages still have
// to make.
func begun(st *sched.Stage) bool {
	for _, d := range st.Spec.After {
		if before := st.Job.Stages[d.Stage]; before.Done < before.Total {
			return false
		}
	}
	return true
}

// starves reports whether st waits for a stage of its job that competes for the same resource and has tasks that wait.
// A task of st that started now would only hold room that this stage lacks. Engines end such tasks after a while, as
// ApplicationMasters do (ramp-down); were they started again at once, the job might never end.
func starves(st *sched.Stage) bool {
	for _, dep := range st.Spec.After {
		before := st.Job.Stages[dep.Stage]
		if before.Pending > 0 && kindOf(before) == kindOf(st) {
			return true
		}
	}
	return false
}

// runnable reports whether st has tasks that may run, or do.
func runnable(st *sched.Stage) bool {
	return st.Kind != sched.Master && st.Pending+st.Running+st.Suspended > 0 && !st.Job.Ended
}

// mayGrow reports whether the job of st allows one more task of it at once.
func mayGrow(st *sched.Stage) bool {
	most := &st.Job.Spec.Max
	for k, each := range &st.Spec.PerTask {
		if most[k] > 0 && each > 0 && int64(st.Running) >= max(1, most[k]/each) {
			return false
		}
	}
	return true
}

// An average is the mean of N times, in nanoseconds.
type average struct {
	N    int64
	Mean float64
}

// add takes a time into account.
func (m *average) add(t sched.Time) {
	m.N++
	m.Mean += (float64(t) - m.Mean) / float64(m.N)
}

package policy

import (
	"math"

	"github.com/sojourn-sched/sojourn/internal/theory/goals"
	"github.com/sojourn-sched/sojourn/sched"
)

var minedfCard = Card{
	Title: "the earliest deadline first, each job with the fewest slots that meet it; slots left over go in the " +
		"same order",
	Source: "Verma, Cherkasova, Campbell, ARIA: Automatic Resource Inference and Allocation for MapReduce " +
		"Environments, ICAC 2011; work-conserving as MinEDF-WC",
	Spec:   "docs/spec/policies.md#minedf",
	Params: PlacingParams(MasterParams()...),
	Memory: deadlineMemory,
	Claims: []Claim{WorkConserving, NonPreemptive, TimeInvariant},
}

// deadlineMemory is what policies remember that entitle jobs to the slots that they need for their deadlines.
var deadlineMemory = []string{
	"by stage: the slots that it is entitled to, and how many tasks had finished when they were computed",
	PlacingMemory,
	MasterMemory,
}

// minedf entitles each stage to the fewest slots with which its job meets its deadline, by the estimator's times of the
// job's tasks. Stages with fewer slots are served first, by deadline; then all other stages by deadline; then the
// stages of jobs without a deadline.
//
// The entitlement is computed when the job arrives or changes, when a stage is done, and when the number of finished
// tasks of a stage has doubled: O(stages of the job).
type minedf struct {
	Order
	DelayPlacer
	Entitled sched.Per[entitlement] // by stage

	confidence float64 // the probability with which the entitlement should suffice; 0: by mean times
	least      float64 // a job is hopeless if the whole cluster meets its deadline with a smaller probability
}

// An entitlement says how many slots a stage should hold.
type entitlement struct {
	Slots    int32 // tasks at once
	Asked    int32 // how many tasks had finished when it was computed
	Hopeless bool
}

func newMinEDF(a Args) sched.Policy { return newMinEDFOf(a, 0, 0) }

// newMinEDFOf makes minedf with the fields confidence and least as given; both 0: by mean times.
func newMinEDFOf(a Args, confidence, least float64) sched.Policy {
	m := &minedf{DelayPlacer: NewDelayPlacer(a), confidence: confidence, least: least}
	m.Init(a, m.rank)
	return m
}

// rank returns the key of st: by the deadline of its job, in the class that follows from what st is entitled to.
func (m *minedf) rank(v *sched.View, st *sched.Stage, more int32) sched.Key {
	key := byDeadline(v, st, more)
	if key.Class == undue {
		return key
	}
	switch e := m.Entitled.Of(st); {
	case st.Kind == sched.Master:
		key.Class = dueEntitled
	case e.Hopeless:
		key.Class = hopeless
	case st.Running+more <= e.Slots:
		key.Class = dueEntitled
	}
	return key
}

// InWords returns in words the deadline of a stage's job, and whether the stage holds the slots that it needs.
func (m *minedf) InWords(_ *sched.View, _ *sched.Stage, k sched.Key) string { return dueInWords(k) }

// Decide starts tasks where there is room.
func (m *minedf) Decide(p *sched.Plan) {
	for i := range p.Events {
		switch e := &p.Events[i]; e.Kind {
		case sched.JobSubmitted, sched.AsksChanged, sched.SpecChanged:
			if j := p.Job(e.Job); j != nil {
				m.entitle(p, j)
			}
		case sched.AttemptDone:
			if a := p.Attempt(e.Attempt); a != nil && !a.Stage.Job.Ended {
				if st := a.Stage; unfinished(st) == 0 || st.Done > 0 && st.Done >= 2*m.Entitled.Of(st).Asked {
					m.entitle(p, st.Job)
				}
			}
		}
	}
	m.Fill(p, &m.DelayPlacer)
}

// entitle computes the entitlements of the stages of a job. A stage whose task length is not known is entitled to all
// slots that it can use, so that its job is served by its deadline.
//
// Few users give a deadline that cannot be met. If an estimate says that the job had no chance even when it came, the
// estimate is taken to be too long and the job is not hopeless, until one of its tasks has finished or the deadline is
// over (3Sigma, handling of over-estimates). Otherwise it would come last, and nothing would be learned of it.
func (m *minedf) entitle(p *sched.Plan, j *sched.Job) {
	if j.Spec.Deadline <= 0 {
		return
	}
	left := (j.Submitted + j.Spec.Deadline - p.Now).Seconds()
	parts := make([]goals.Part, len(j.Stages))
	legs := make([]goals.Leg, len(j.Stages))
	known, begun := true, false
	for i, st := range j.Stages {
		legs[i].Slots = 1
		if st.Kind == sched.Master {
			continue
		}
		begun = begun || st.Done > 0
		e, n := p.Estimate(st, 0), int(unfinished(st))
		law := goals.Law{Mean: e.Mean.Seconds(), StdDev: e.StdDev.Seconds(), Samples: e.Samples}
		known = known && (n == 0 || e.Mean > 0)
		most := max(1, slotsFor(p.View, st))
		if st.Running+st.Suspended < unfinished(st) { // a task is to start, and takes its time on any number of slots
			most = min(most, int64(n))
		}
		legs[i] = goals.Leg{Law: law, Tasks: n, Slots: float64(most)}
		if parts[i] = (goals.Part{Tasks: n, Mean: law.Mean, Longest: law.Mean + 2*law.StdDev}); m.confidence > 0 {
			parts[i] = law.Quantile(n, m.confidence)
		}
	}
	slots := goals.MinimumSlots(parts, left)
	hopeless := m.least > 0 && left <= 0
	if m.least > 0 && known && goals.Chance(legs, left) < m.least {
		possible := goals.Chance(legs, j.Spec.Deadline.Seconds()) >= m.least // when the job came
		hopeless = hopeless || begun || possible
	}
	for i, st := range j.Stages {
		e := entitlement{Slots: math.MaxInt32, Asked: st.Done, Hopeless: hopeless}
		if s := math.Ceil(slots[i] - 1e-9); known && s < math.MaxInt32 {
			e.Slots = int32(s)
		}
		*m.Entitled.Of(st) = e
	}
	p.TouchJob(j)
}

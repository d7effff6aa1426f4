package sim

import (
	"math"

	"github.com/sojourn-sched/sojourn/internal/workload"
	"github.com/sojourn-sched/sojourn/sched"
)

// An attempt is what the simulator knows of an attempt.
type attempt struct {
	id      sched.AttemptID // zero: the row is free
	core    *sched.Attempt
	job     *job
	due     sched.Time // the end, while it computes; else how long it has yet to compute
	whole   sched.Time // how long it computes in all, if it does not fail
	beyond  sched.Time // what it would have yet to compute where it fails
	item    int32      // its end in the queue
	fetch   int32      // what it fetches, in network.fetches; zero: nothing, or nothing any more
	state   state
	outcome sched.Outcome // that it comes to, unless it is killed
}

type state uint8

const (
	computing state = iota
	fetching        // bytes flow
	waiting         // for outputs of maps
	frozen          // suspended, computing or not
	serving         // a master that has started, until its job is done
	over            // ended; the core is told with the next heartbeat
)

// A job is what the simulator knows of a job.
type job struct {
	id       sched.JobID
	truth    *workload.Truth
	chance   workload.Chance
	probe    bool
	led      bool             // it has a master that asks for its tasks
	probedBy sched.JobID      // its last probe
	master   sched.AttemptID  // its master that runs; zero: none
	orphan   bool             // its master was lost, and no other has started yet
	looked   bool             // it is in masters.looks
	again    map[taskID]int32 // attempts of a task that ended without success
	found    int              // rounds of truth.Later
	supply
}

type taskID struct{ stage, task int32 }

// What a draw is for. Draws for different purposes do not depend on each other.
const (
	forTaskTime = iota + 1
	forStraggler
	forFailure
	forPlace
	forSlowNode
	forLoss
	forProbe
)

// admit makes the row of a job. A job's chance comes from its place in the source, which no policy changes; a probe's
// from the job it is of.
func (e *engine) admit(id sched.JobID, spec *sched.JobSpec) {
	e.total.Jobs++
	e.total.MostJobs = max(e.total.MostJobs, e.core.LiveJobs())
	j := &job{id: id, truth: spec.Payload.(*workload.Truth)}
	if j.probe = spec.Probes != 0; j.probe {
		j.chance = e.chance.With(forProbe).With(uint64(spec.Probes))
	} else {
		e.feed.admitted++
		j.chance = e.chance.With(uint64(e.feed.admitted))
	}
	*e.jobs.Of(e.core.Job(id)) = j
	j.led = mustAsk(spec)
	e.sequel.some = e.sequel.some || j.led || spec.Open
}

// find returns the row of an attempt; nil: the core has been told of its end.
func (e *engine) find(id sched.AttemptID) *attempt {
	if slot := int(id.Row()); slot < len(e.rows) && e.rows[slot].id == id {
		return &e.rows[slot]
	}
	return nil
}

// launch starts an attempt.
func (e *engine) launch(a *sched.Attempt) {
	slot := int(a.ID.Row())
	if slot >= len(e.rows) {
		grown := make([]attempt, max(slot+1, 2*len(e.rows)))
		copy(grown, e.rows)
		e.rows = grown
	}
	r, st := &e.rows[slot], a.Stage
	*r = attempt{id: a.ID, core: a, job: *e.jobs.Of(st.Job)}
	e.alive++
	e.total.Launches++
	e.idle.futile++
	if r.job.led && e.masters.launched(r) {
		return
	}
	if st.Spec.Copies == 0 && len(st.Spec.After) == 0 { // of its task nothing but the time matters
		r.whole = e.stretch(r, r.job.truth.Time(st.ID.Index, a.Task))
		e.begin(r)
		e.compute(r)
		return
	}
	t := r.job.truth.Task(st.ID.Index, a.Task)
	r.whole = e.stretch(r, t.Compute)
	if !e.net.on {
		r.whole += t.Fetch
	}
	if t.Input > 0 && st.Spec.Copies > 0 {
		r.whole += e.config.Costs.Reading.penalty(t.Input, e.feed.layout.level(a))
	}
	e.begin(r)
	if len(st.Spec.After) > 0 {
		if done, total := outputs(st); done < total || e.net.on && t.Shuffle > 0 {
			e.net.start(r, &t)
			return
		}
	}
	e.compute(r)
}

// begin settles how long an attempt has to compute.
func (e *engine) begin(r *attempt) {
	r.due = r.whole
	if e.config.Costs.Faults.Attempts > 0 {
		e.maybeFail(r)
	}
}

// stretch returns how long it takes in an attempt to compute what takes d.
func (e *engine) stretch(r *attempt, d sched.Time) sched.Time {
	c, j, a := &e.config.Costs.Chance, r.job, r.core
	f := e.nodes.slow[a.Node-1]
	if c.Sigma > 0 {
		f *= j.draw(a, forTaskTime).Factor(c.Sigma)
	}
	if c.Stragglers > 0 && e.drawAgain(j, a, forStraggler).Uniform() < c.Stragglers {
		f *= max(1, c.Slowdown)
	}
	if f == 1 {
		return d
	}
	return sched.Time(min(math.Round(float64(d)*f), workload.MaxTime))
}

// draw is the chance of a task.
func (j *job) draw(a *sched.Attempt, purpose uint64) workload.Chance {
	return j.chance.With(purpose).With(uint64(a.Stage.ID.Index)).With(uint64(a.Task))
}

// drawAgain is the chance of an attempt: of the k-th of its task.
func (e *engine) drawAgain(j *job, a *sched.Attempt, purpose uint64) workload.Chance {
	k := int(j.again[taskID{a.Stage.ID.Index, a.Task}]) + e.core.Twins(a)
	return j.draw(a, purpose).With(uint64(k))
}

// maybeFail decides whether an attempt fails, and after which part of its time.
func (e *engine) maybeFail(r *attempt) {
	c := e.drawAgain(r.job, r.core, forFailure)
	if c.Uniform() < e.config.Costs.Faults.Attempts {
		r.outcome = sched.Failed
		r.due = sched.Time(float64(r.whole) * c.With(1).Uniform())
		r.beyond = r.whole - r.due
	}
}

// compute has an attempt go on for the time that it has left.
func (e *engine) compute(r *attempt) {
	r.state = computing
	r.due += e.now
	r.item = e.queue.push(r.due, endOf|uint64(r.id))
	e.pending++
}

// halt stops an attempt where it is.
func (e *engine) halt(r *attempt) {
	switch r.state {
	case computing:
		e.queue.drop(r.item)
		e.pending--
		r.due -= e.now
	case fetching:
		e.net.leave(r.fetch)
	}
	if r.state != over {
		r.state = frozen
	}
}

// end says that an attempt has come to its end.
func (e *engine) end(r *attempt) {
	r.state = over
	if r.outcome == sched.OK {
		e.idle.succeed()
	}
	ev := e.tell(r)
	ev.Kind, ev.Outcome, ev.Attempt = sched.AttemptDone, r.outcome, r.id
	if r.job.probe {
		if k := e.counted(r); k != nil {
			ev.Body = k
		}
	}
	if !e.beats.reports {
		e.forget(r)
	}
}

// forget frees the row of an attempt of whose end the core is told.
func (e *engine) forget(r *attempt) {
	if r.outcome != sched.OK && (e.config.Costs.Faults.Attempts > 0 || e.config.Costs.Chance.Stragglers > 0) {
		if r.job.again == nil {
			r.job.again = map[taskID]int32{}
		}
		r.job.again[taskID{r.core.Stage.ID.Index, r.core.Task}]++
	}
	if r.fetch != 0 {
		e.net.drop(r)
	}
	if len(r.job.fetches) > 0 {
		e.net.note(r.job)
	}
	r.id = 0
	e.alive--
}

// kill ends an attempt after a warning.
func (e *engine) kill(id sched.AttemptID, grace sched.Time) {
	r := e.find(id)
	switch {
	case r == nil || r.state == over:
	case grace > 0:
		e.queue.push(e.now+min(grace, workload.MaxTime), graceOf|uint64(id))
		e.pending++
	default:
		e.halt(r)
		r.outcome = sched.Killed
		e.end(r)
	}
}

// suspend freezes an attempt.
func (e *engine) suspend(id sched.AttemptID) {
	r := e.find(id)
	if r == nil || r.state == over {
		return
	}
	e.halt(r)
	ev := e.tell(r)
	ev.Kind, ev.Attempt = sched.AttemptSuspended, id
}

// resume has a suspended attempt go on.
func (e *engine) resume(id sched.AttemptID) {
	r := e.find(id)
	switch {
	case r == nil || r.state != frozen:
	case r.fetch != 0:
		e.net.more(r)
	default:
		e.compute(r)
	}
}

// tell returns an event to be filled, by which the core learns something of an attempt: now, or with the next heartbeat
// of its node. It is filled where it stands, since what is copied right after it was written waits for the writes.
func (e *engine) tell(r *attempt) *sched.Event {
	list := &e.evs
	if e.beats.reports {
		list = &e.nodes.list[r.core.Node-1].news
	}
	*list = append(*list, sched.Event{})
	return &(*list)[len(*list)-1]
}

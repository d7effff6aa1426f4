package sim

import (
	"math"

	"github.com/sojourn-sched/sojourn/internal/workload"
	"github.com/sojourn-sched/sojourn/sched"
)

// An attempt is the simulator's row of an attempt.
type attempt struct {
	id      sched.AttemptID // zero: the row is free
	core    *sched.Attempt
	job     *job
	due     sched.Time // while it computes, the instant of its end; else how long it still has to compute
	whole   sched.Time // how long it computes in all, if it does not fail
	beyond  sched.Time // how much of whole is left when it fails; zero: it does not fail
	item    int32      // its end in the queue
	fetch   int32      // index of its fetch in network.fetches; zero: it fetches nothing, or has fetched all
	state   state
	outcome sched.Outcome // how it will end, unless it is killed
}

// A state says what an attempt does.
type state uint8

const (
	computing state = iota
	fetching        // a reduce to which bytes flow
	waiting         // a reduce that needs outputs of maps which are not done
	frozen          // suspended, computing or not
	serving         // a master that has started, until its job is done
	over            // ended; the core is told with the next heartbeat
)

// A job is the simulator's row of a job.
type job struct {
	id         sched.JobID
	truth      *workload.Truth
	chance     workload.Chance
	probe      bool
	masterAsks bool             // it has a master that asks for its tasks
	probedBy   sched.JobID      // its last probe
	master     sched.AttemptID  // its running master; zero: none
	closing    bool             // its master commits the output and ends: all tasks are done
	orphan     bool             // its master was lost, and no other has started yet
	looked     bool             // it is in masters.looks
	again      map[taskID]int32 // attempts of a task that ended without success
	found      int              // how many rounds of truth.Later it has asked for
	alike      alike
	supply
}

// A taskID names a task in its job: the index of its stage, from 0, and its number there, from 1.
type taskID struct{ stage, task int32 }

// An alike says that the first tasks of a stage all take the same time.
type alike struct {
	stage, tasks int32
	time         sched.Time
}

// time returns the true time of a task that does not read input from other nodes. Most tasks of a wave take the same
// time, which is computed once.
func (j *job) time(stage, task int32) sched.Time {
	if j.alike.stage == stage && task <= j.alike.tasks {
		return j.alike.time
	}
	d := j.truth.Time(stage, task)
	if task == 1 {
		j.alike = alike{stage, j.truth.Alike(stage), d}
	}
	return d
}

// attempts are the running attempts, and their jobs.
type attempts struct {
	view     *sched.View
	chance   workload.Chance
	rows     []attempt // by slot of AttemptID
	alive    int       // attempts whose end the core has not been told
	jobs     sched.Per[*job]
	newest   sched.JobID // the last job that was submitted, probes included
	admitted int64       // how many jobs of the source were submitted
}

// nextJob returns the ID of the next job to be submitted.
func (t *attempts) nextJob() sched.JobID {
	t.newest++
	return t.newest
}

// of returns the row of a job of the core.
func (t *attempts) of(row *sched.Job) *job { return *t.jobs.Of(row) }

// admit makes the row of job id, which was submitted. The random numbers of a job depend on its place in the source,
// which no policy changes; those of a probe depend on the job that it probes.
func (t *attempts) admit(id sched.JobID, spec *sched.JobSpec) *job {
	j := &job{id: id, truth: spec.Payload.(*workload.Truth)}
	if j.probe = spec.Probes != 0; j.probe {
		j.chance = t.chance.With(forProbe).With(uint64(spec.Probes))
	} else {
		t.admitted++
		j.chance = t.chance.With(uint64(t.admitted))
	}
	*t.jobs.Of(t.view.Job(id)) = j
	j.masterAsks = mustAsk(spec)
	return j
}

// find returns the row of an attempt; nil: the core has been told of its end.
func (t *attempts) find(id sched.AttemptID) *attempt {
	if slot := int(id.Row()); slot < len(t.rows) && t.rows[slot].id == id {
		return &t.rows[slot]
	}
	return nil
}

// add makes the row of attempt a, which is launched. The pointer is valid until the next add, which may move all rows.
func (t *attempts) add(a *sched.Attempt) *attempt {
	slot := int(a.ID.Row())
	if slot >= len(t.rows) {
		grown := make([]attempt, max(slot+1, 2*len(t.rows)))
		copy(grown, t.rows)
		t.rows = grown
	}
	r := &t.rows[slot]
	*r = attempt{id: a.ID, core: a, job: t.of(a.Stage.Job)}
	t.alive++
	return r
}

// tasks carry out attempts: how long each takes, when it ends, and what the core learns of it.
type tasks struct {
	*agenda
	*attempts
	costs      *Costs
	nodes      *machines
	net        network
	contention contention
	throttle   throttle
	probes     *probes
	idle       *idleness
}

// start begins an attempt that is not a master.
func (t *tasks) start(r *attempt) {
	a := r.core
	st := a.Stage
	t.throttle.touch(r)
	if st.Spec.Copies == 0 && len(st.Spec.After) == 0 { // only the time of the task matters
		r.whole = t.stretch(r, r.job.time(st.ID.Index, a.Task))
		t.begin(r)
		t.compute(r)
		return
	}
	truth := r.job.truth.Task(st.ID.Index, a.Task)
	r.whole = t.stretch(r, truth.Compute)
	if !t.net.model.On {
		r.whole += truth.Fetch
	}
	if truth.Input > 0 && st.Spec.Copies > 0 {
		r.whole += t.costs.Reading.penalty(truth.Input, t.nodes.layout.level(a))
	}
	t.begin(r)
	if len(st.Spec.After) > 0 {
		if done, total := outputs(st); done < total || t.net.model.On && truth.Shuffle > 0 {
			t.net.start(r, &truth)
			t.fetch(r)
			return
		}
	}
	t.compute(r)
}

// begin sets how long an attempt computes: all of its time, or until it fails.
func (t *tasks) begin(r *attempt) {
	r.due = r.whole
	if t.costs.Faults.Attempts > 0 {
		t.maybeFail(r)
	}
}

// stretch returns how long attempt r takes for a computation that takes d in truth: by the speed of its node, chance,
// and whether it is a straggler.
func (t *tasks) stretch(r *attempt, d sched.Time) sched.Time {
	c, j, a := &t.costs.Chance, r.job, r.core
	f := t.nodes.slow[a.Node-1]
	if st := &j.truth.Stages[a.Stage.ID.Index]; st.Speeds != nil {
		f /= t.speedOf(st, a)
	}
	if c.Sigma > 0 {
		f *= j.draw(a, forTaskTime).Factor(c.Sigma)
	}
	if c.Stragglers > 0 && t.drawAgain(j, a, forStraggler).Uniform() < c.Stragglers {
		f *= max(1, c.Slowdown)
	}
	return prolonged(d, f)
}

// prolonged returns f·d, at most ten years.
func prolonged(d sched.Time, f float64) sched.Time {
	if f == 1 {
		return d
	}
	return sched.Time(min(math.Round(float64(d)*f), workload.MaxTime))
}

// speedOf returns how much faster an attempt runs than the class of its node says, because its code uses the hardware
// there. Where the devices of a class are counted, an attempt that holds none runs at the class's speed.
func (t *tasks) speedOf(st *workload.StageTruth, a *sched.Attempt) float64 {
	class := &t.nodes.cluster.Classes[t.nodes.list[a.Node-1].class]
	if class.Resources[sched.Accelerators] > 0 && t.view.Amount(a.Holds)[sched.Accelerators] == 0 {
		return 1
	}
	return st.SpeedOn(class.Name)
}

// draw returns the source of the random numbers of a's task for a purpose: the same for all attempts of the task.
func (j *job) draw(a *sched.Attempt, purpose uint64) workload.Chance {
	return j.chance.With(purpose).With(uint64(a.Stage.ID.Index)).With(uint64(a.Task))
}

// drawAgain returns the source of the random numbers of attempt a for a purpose: another for each attempt of a task.
func (t *tasks) drawAgain(j *job, a *sched.Attempt, purpose uint64) workload.Chance {
	k := int(j.again[taskID{a.Stage.ID.Index, a.Task}]) + t.view.Twins(a)
	return j.draw(a, purpose).With(uint64(k))
}

// maybeFail decides whether an attempt fails, and after which part of its time.
func (t *tasks) maybeFail(r *attempt) {
	c := t.drawAgain(r.job, r.core, forFailure)
	if c.Uniform() < t.costs.Faults.Attempts {
		r.outcome = sched.Failed
		r.due = sched.Time(float64(r.whole) * c.With(1).Uniform())
		r.beyond = r.whole - r.due
	}
}

// compute lets an attempt compute for the time r.due, which it has left, and turns r.due into the instant of its end.
func (t *tasks) compute(r *attempt) {
	r.state = computing
	if t.contention.on() {
		r.due = prolonged(r.due, t.contention.enter(r))
	}
	r.due += t.now
	r.item = t.await(r.due, endOf|uint64(r.id))
	t.throttle.begin(r)
}

// fetch lets a reduce fetch what there is of its input, wait if there is nothing new, or compute if it has all. While a
// reduce fetches it hinders the tasks that compute on its node.
func (t *tasks) fetch(r *attempt) {
	t.fetches(r, t.contention.leave)
	if t.net.more(r) {
		t.compute(r)
		return
	}
	t.fetches(r, t.contention.enter)
}

// fetches calls count, which is enter or leave of contention, for an attempt that fetches.
func (t *tasks) fetches(r *attempt, count func(*attempt) float64) {
	if r.state == fetching && t.contention.on() {
		count(r)
	}
}

// fetched continues the reduces of a rack that have fetched what they were fetching.
func (t *tasks) fetched(id sched.RackID) {
	for _, f := range t.net.fetched(id) {
		t.fetch(t.find(t.net.fetches[f].id))
	}
}

// goOn continues the waiting reduces of a job for which enough maps are done.
func (t *tasks) goOn(j *job) {
	for _, id := range t.net.ready(j) {
		t.fetch(t.find(id))
	}
}

// refetch is called when outputs of maps of a job were lost. It limits the reduces that fetch to the outputs that are
// left; they keep what they have fetched.
func (t *tasks) refetch(j *job) {
	for _, id := range append([]int32(nil), j.fetches...) {
		if r := t.find(t.net.fetches[id].id); r != nil && r.state == fetching {
			t.net.leave(id)
			t.fetch(r)
		}
	}
	t.net.note(j)
}

// halt stops an attempt at the point that it has reached, and freezes it.
func (t *tasks) halt(r *attempt) {
	t.throttle.touch(r)
	switch r.state {
	case computing:
		t.unqueue(r)
		if t.contention.on() {
			r.due = prolonged(r.due, 1/t.contention.leave(r))
		}
	case fetching:
		t.net.leave(r.fetch)
		t.fetches(r, t.contention.leave)
	}
	if r.state != over {
		r.state = frozen
	}
}

// end ends an attempt with its outcome, and tells the core.
func (t *tasks) end(r *attempt) {
	if r.state == computing && t.contention.on() {
		t.contention.leave(r)
	}
	t.throttle.touch(r)
	r.state = over
	if r.outcome == sched.OK {
		t.idle.succeed()
	}
	ev := t.tell(r)
	ev.Kind, ev.Outcome, ev.Attempt = sched.AttemptDone, r.outcome, r.id
	if r.job.probe {
		if k := t.probes.counted(r); k != nil {
			ev.Body = k
		}
	}
	if !t.nodes.held {
		t.forget(r)
	}
}

// forget frees the row of an attempt when the core is told of its end.
func (t *tasks) forget(r *attempt) {
	if r.outcome != sched.OK && (t.costs.Faults.Attempts > 0 || t.costs.Chance.Stragglers > 0) {
		if r.job.again == nil {
			r.job.again = map[taskID]int32{}
		}
		r.job.again[taskID{r.core.Stage.ID.Index, r.core.Task}]++
	}
	if r.fetch != 0 {
		t.net.drop(r)
	}
	if len(r.job.fetches) > 0 {
		t.net.note(r.job)
	}
	r.id = 0
	t.alive--
}

// kill ends an attempt when grace is over.
func (t *tasks) kill(id sched.AttemptID, grace sched.Time) {
	r := t.find(id)
	switch {
	case r == nil || r.state == over:
	case grace > 0:
		t.await(t.now+min(grace, workload.MaxTime), graceOf|uint64(id))
	default:
		t.halt(r)
		r.outcome = sched.Killed
		t.end(r)
	}
}

// suspend freezes an attempt.
func (t *tasks) suspend(id sched.AttemptID) {
	r := t.find(id)
	if r == nil || r.state == over {
		return
	}
	t.halt(r)
	ev := t.tell(r)
	ev.Kind, ev.Attempt = sched.AttemptSuspended, id
}

// resume continues a suspended attempt.
func (t *tasks) resume(id sched.AttemptID) {
	r := t.find(id)
	switch {
	case r == nil || r.state != frozen:
	case r.fetch != 0:
		t.throttle.touch(r)
		t.fetch(r)
	default:
		t.compute(r)
	}
}

// tell returns a new event about an attempt, which the caller must fill. The core learns of it in the next Step or,
// under heartbeats, when the attempt's node reports. The event is filled in place, because a copy of bytes that were
// just written would wait for the writes.
func (t *tasks) tell(r *attempt) *sched.Event {
	list := t.nodes.news(&t.nodes.list[r.core.Node-1])
	*list = append(*list, sched.Event{})
	return &(*list)[len(*list)-1]
}

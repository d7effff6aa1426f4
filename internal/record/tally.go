package record

import (
	"github.com/sojourn-sched/sojourn/sched"
)

// TallyOptions are what a tally is told from outside. All may be zero.
type TallyOptions struct {
	Policy string
	// Truth returns a job's size in seconds of the whole cluster, and a lower bound of its sojourn time alone on the
	// cluster (zero: none, as of a job of size zero, which has no slowdown). Without it the size is the service that
	// the job received.
	Truth func(*sched.Job) (size float64, alone sched.Time)
	// Measured lets slowdowns go by the times that a job's tasks took, where there is no Truth. Without both there are
	// no slowdowns.
	Measured bool
	Row      func(*JobRow) // what became of each job, as it ends; the row is lent
}

// A Tally computes the figures of a run as it goes: a few words a job, nothing an event.
type Tally struct {
	options TallyOptions
	view    *sched.View
	result  Result // its counts of jobs, tasks and events, as they stand

	submitted int // jobs that are no probes
	first     sched.Time
	last      sched.Time // end of a job
	began     bool
	launches  sched.Per[firstLaunch]
	alone     aloneTimes
	use       usage

	sojourns, waits []sched.Time
	slowdowns       []float64
	locality        [3]int64
	attempts        attemptTally
	deadlines       Deadlines
	tardiness       total
	dated           int // jobs with a deadline that succeeded
	costs           costs
}

type firstLaunch struct {
	at    sched.Time
	known bool
}

// attemptTally counts what becomes of attempts other than plain success.
type attemptTally struct {
	preempted   Preempted
	speculative Speculative
	second      map[sched.AttemptID]struct{} // running second attempts
	lost        total
}

// usage integrates capacity over time, and remembers what was used at the last end of a job.
type usage struct {
	capacity sched.Resources
	since    sched.Time
	offered  sched.Work
	used     sched.Work // at the last end of a job, as whole
	whole    sched.Work
}

// NewTally returns a tally, to be the Recorder of a core or in a Tee with others.
func NewTally(o TallyOptions) *Tally {
	return &Tally{
		options:  o,
		result:   Result{Policy: o.Policy},
		attempts: attemptTally{second: map[sched.AttemptID]struct{}{}},
	}
}

// Attach implements Follower.
func (t *Tally) Attach(v *sched.View) { t.view = v }

// Now returns the instant of the last Step, one that a policy is deciding in included. There must have been an Attach.
func (t *Tally) Now() sched.Time { return t.view.Now }

// Record implements sched.Recorder.
func (t *Tally) Record(now sched.Time, events []sched.Event, actions []sched.Action) {
	for i := range events {
		e := &events[i]
		if !e.Derived {
			t.result.Events++
		}
		switch e.Kind {
		case sched.AttemptDone:
			if e.Outcome == sched.OK && t.options.Measured {
				t.alone.note(t.view, e)
			}
			if e.Outcome != sched.OK || len(t.attempts.second) > 0 {
				t.attempts.done(t.view, events, i)
			}
		case sched.NodeJoined, sched.NodeReported, sched.NodeLost:
			t.use.offer(now, t.view.Capacity)
		case sched.JobSubmitted:
			t.submit(now, e.Body.(*sched.JobSpec))
		case sched.JobEnded:
			if ends(events, i) {
				t.end(e)
			}
		}
	}
	for i := range actions {
		switch a := &actions[i]; a.Kind {
		case sched.Launch:
			t.launch(a)
		case sched.Kill:
			if preempts(t.view, events, a) {
				t.attempts.preempted.Killed++
			}
		case sched.Suspend:
			t.attempts.preempted.Suspended++
		}
	}
}

func (t *Tally) submit(now sched.Time, spec *sched.JobSpec) {
	if spec.Probes == 0 {
		t.submitted++
	}
	if t.began {
		return
	}
	t.began, t.first, t.last = true, now, now
	t.use = usage{capacity: t.view.Capacity, since: now}
}

func (t *Tally) launch(a *sched.Action) {
	at := t.view.Attempt(a.Attempt)
	st := at.Stage
	if st.Done == 0 { // else there were launches before
		if l := t.launches.Of(st.Job); !l.known {
			*l = firstLaunch{t.view.Now, true}
		}
	}
	if st.Spec.Copies > 0 {
		t.locality[LocalityOf(t.view, at)]++
	}
	if t.view.Twins(at) > 1 {
		t.attempts.speculative.Launched++
		t.attempts.second[a.Attempt] = struct{}{}
	}
}

// end takes stock of a job that has ended.
func (t *Tally) end(e *sched.Event) {
	j := t.view.Job(e.Job)
	if j == nil || j.Spec.Probes != 0 {
		return
	}
	now := t.view.Now
	t.last = now
	t.use.offer(now, t.view.Capacity)
	t.use.used, t.use.whole = t.view.QueueService(t.view.Queues[0], now), t.use.offered
	for _, st := range j.Stages {
		if st.Total >= 0 {
			t.result.Tasks += int64(st.Total)
		} else {
			t.result.Tasks += int64(st.Done)
		}
	}
	row := JobRow{
		Policy:      t.options.Policy,
		ID:          j.ID,
		Name:        j.Spec.Name,
		User:        j.Spec.User,
		Queue:       t.view.Path(t.view.Queues[j.Queue]),
		Submit:      j.Submitted,
		FirstLaunch: -1,
		Finish:      now,
		Outcome:     e.Outcome,
	}
	if l := t.launches.Of(j); l.known {
		row.FirstLaunch = l.at
	}
	alone := sched.Time(0)
	if t.options.Truth != nil {
		row.Size, alone = t.options.Truth(j)
	} else {
		row.Size = t.view.Service(j, now).Seconds(t.view.Capacity)
		if t.options.Measured {
			alone = t.alone.of(t.view, j)
		}
	}
	if alone > 0 {
		row.Slowdown = float64(row.Sojourn()) / float64(alone)
	}
	t.count(&row, j.Spec.Deadline)
	if row.Outcome == sched.OK {
		t.costs.count(&row, j)
	}
	if t.options.Row != nil {
		t.options.Row(&row)
	}
}

// count adds the row of a job that has ended, and its deadline (zero: none), to the figures.
func (t *Tally) count(row *JobRow, deadline sched.Time) {
	t.result.Jobs++
	switch {
	case deadline == 0:
	case row.Outcome == sched.OK && row.Sojourn() <= deadline:
		t.deadlines.Met++
	default:
		t.deadlines.Missed++
	}
	switch row.Outcome {
	case sched.OK:
	case sched.Failed:
		t.result.Failed++
		return
	default:
		t.result.Killed++
		return
	}
	t.sojourns = append(t.sojourns, row.Sojourn())
	if row.FirstLaunch >= 0 {
		t.waits = append(t.waits, row.FirstLaunch-row.Submit)
	}
	if row.Slowdown > 0 {
		t.slowdowns = append(t.slowdowns, row.Slowdown)
	}
	if deadline > 0 {
		t.dated++
		t.tardiness.add(max(0, row.Sojourn()-deadline))
	}
}

// Sojourns returns the sojourn times of the jobs that succeeded, in no particular order; lent until the next Step.
func (t *Tally) Sojourns() []sched.Time { return t.sojourns }

// Result returns the figures so far.
func (t *Tally) Result() Result {
	r := t.result
	r.Unfinished = t.submitted - r.Jobs
	r.Makespan = (t.last - t.first).Seconds()
	r.Sojourn, r.Wait, r.Slowdown = distribution(t.sojourns), distribution(t.waits), ratios(t.slowdowns)
	r.Fairness = jain(t.slowdowns)
	r.Utilization = t.utilization(r.Unfinished > 0)
	if n := t.locality[0] + t.locality[1] + t.locality[2]; n > 0 {
		part := func(l sched.Locality) float64 { return float64(t.locality[l]) / float64(n) }
		r.Locality = &Localities{part(sched.NodeLocal), part(sched.RackLocal), part(sched.OffSwitch)}
	}
	if p := t.attempts.preempted; p != (Preempted{}) {
		r.Preempted = &p
	}
	if s := t.attempts.speculative; s != (Speculative{}) {
		r.Speculative = &s
	}
	r.Lost = t.attempts.lost.seconds()
	r.Costs = t.costs.byMetric()
	if d := t.deadlines; d != (Deadlines{}) {
		d.Tardiness = t.tardiness.seconds() / float64(max(1, t.dated))
		r.Deadlines = &d
	}
	return r
}

// utilization returns used ÷ capacity by kind of resource, from the first submission to the last end of a job, or to
// now if jobs are unfinished.
func (t *Tally) utilization(unfinished bool) map[string]float64 {
	if !t.began {
		return nil
	}
	used, whole := t.use.used, t.use.whole
	if unfinished {
		t.use.offer(t.view.Now, t.view.Capacity)
		used, whole = t.view.QueueService(t.view.Queues[0], t.view.Now), t.use.offered
	}
	parts := map[string]float64{}
	for k, w := range whole {
		if w > 0 {
			parts[sched.ResourceKind(k).Key()] = used[k] / w
		}
	}
	return parts
}

// offer says what the capacity is from now on.
func (u *usage) offer(now sched.Time, capacity sched.Resources) {
	u.offered.Add(u.capacity, now-u.since)
	u.since, u.capacity = now, capacity
}

// done takes stock of an attempt that ended by event i.
func (t *attemptTally) done(v *sched.View, events []sched.Event, i int) {
	e := &events[i]
	a := ended(v, events, i)
	if a == nil {
		return
	}
	_, second := t.second[a.ID]
	delete(t.second, a.ID)
	switch e.Outcome {
	case sched.OK:
		if second && won(v, events, i) {
			t.speculative.Won++
		}
	case sched.Failed, sched.Killed, sched.Lost:
		t.lost.add(v.Ran(a, v.Now))
	}
}

// ended returns the attempt that really ended by event i; nil: none, because it had ended before or went with its node
// at this very instant, which an event of its own says.
func ended(v *sched.View, events []sched.Event, i int) *sched.Attempt {
	e := &events[i]
	a := v.Attempt(e.Attempt)
	if a == nil || !e.Derived && v.Node(a.Node).Lost ||
		i > 0 && events[i-1].Kind == e.Kind && events[i-1].Attempt == e.Attempt {
		return nil
	}
	return a
}

// won reports whether the attempt that succeeded by event i was the first of its task in this Step.
func won(v *sched.View, events []sched.Event, i int) bool {
	return !beaten(v, events[:i], v.Attempt(events[i].Attempt))
}

// beaten reports whether one of events is the success of another attempt of a's task.
func beaten(v *sched.View, events []sched.Event, a *sched.Attempt) bool {
	for i := range events {
		if e := &events[i]; e.Kind == sched.AttemptDone && e.Outcome == sched.OK && e.Attempt != a.ID {
			if b := v.Attempt(e.Attempt); b != nil && b.Stage == a.Stage && b.Task == a.Task {
				return true
			}
		}
	}
	return false
}

// preempts reports whether a Kill was the policy's wish: the core itself kills what is left of a job that has ended,
// and the other attempts of a task that one has done.
func preempts(v *sched.View, events []sched.Event, kill *sched.Action) bool {
	a := v.Attempt(kill.Attempt)
	return !a.Stage.Job.Ended && (a.Task == 0 || !beaten(v, events, a))
}

// ends reports whether event i is what ended its job. Where the engine says at the very instant that a job is over
// which was just done by its tasks, the event that the core derived counts.
func ends(events []sched.Event, i int) bool {
	if events[i].Derived {
		return true
	}
	for k := range events {
		if e := &events[k]; e.Kind == sched.JobEnded && e.Job == events[i].Job && (e.Derived || k < i) {
			return false
		}
	}
	return true
}

// LocalityOf returns how near its input an attempt of a stage with places runs.
func LocalityOf(v *sched.View, a *sched.Attempt) sched.Locality {
	spec := a.Stage.Spec
	if a.Task == 0 {
		return sched.NodeLocal
	}
	l, rack := sched.OffSwitch, v.Node(a.Node).Rack
	for _, n := range spec.Places[(a.Task-1)*spec.Copies : a.Task*spec.Copies] {
		switch {
		case n == a.Node:
			return sched.NodeLocal
		case n != 0 && int(n) <= len(v.Nodes) && v.Node(n).Rack == rack:
			l = sched.RackLocal
		}
	}
	return l
}

// ResultOf returns the figures of jobs from their rows alone, as on a cluster whose scheduler is not ours. deadlines
// are those of the jobs, from their submission, zero: none; there are as many as rows.
func ResultOf(policy string, rows []JobRow, deadlines []sched.Time) Result {
	t := NewTally(TallyOptions{Policy: policy})
	for i := range rows {
		row := &rows[i]
		if t.submitted++; i == 0 || row.Submit < t.first {
			t.first = row.Submit
		}
		t.last = max(t.last, row.Finish)
		t.count(row, deadlines[i])
	}
	return t.Result()
}

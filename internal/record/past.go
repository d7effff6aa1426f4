package record

import (
	"cmp"
	"iter"
	"math"
	"slices"

	"github.com/sojourn-sched/sojourn/internal/workload"
	"github.com/sojourn-sched/sojourn/sched"
)

// PastJobs yields the jobs of a record in order of submission, probes left out; its decisions do not matter. An error
// is the last thing that it yields: an ErrCut after the jobs of what is whole.
//
// A task takes as long as the attempt of it that succeeded ran, suspension left out, times the speed of its node's
// class (nil: all are 1): its time on a node of speed 1. An attempt that starts before the stages that its stage is
// after are done waits for them, as a reduce waits for maps; its time counts from the instant at which they were done.
// A task without a success takes the median of its stage, and, where the stage has none, what its spec says.
//
// Where the engine did not know a stage's tasks (yarn) its tasks are the attempts that succeeded, in order of launch,
// and it starts when as much of the stage before is done as was when it was first asked for. An attempt that ended
// otherwise counts as a success if the job asked for nothing in its place: its master had what it wanted of it, and
// stopped its container. So does one that still runs when its job, or the record, ends. A simulation of the job starts
// its failed and killed tasks again, as the master did.
//
// A master that asked for the tasks of all other stages asks for them when it has started, holds its container until
// they are done (Past.MasterAsks), and some time longer (Past.Closing). One that did these tasks itself does so again
// (Past.Uber).
//
// A job is yielded when it and all before it have ended, so that memory holds the jobs that were there at one time.
func PastJobs(r *Reader, speed func(class string) float64) iter.Seq2[*workload.Past, error] {
	return func(yield func(*workload.Past, error) bool) {
		if speed == nil {
			speed = func(string) float64 { return 1 }
		}
		past := &past{speed: speed, byID: map[sched.JobID]*pastJob{}, pauses: pastPauses{}}
		for _, err := range play(r, past).steps() {
			if err != nil {
				if past.yield(yield, true) {
					yield(nil, err)
				}
				return
			}
			if !past.yield(yield, false) {
				return
			}
		}
		past.yield(yield, true)
	}
}

// past follows a run and keeps the jobs that are not yielded yet.
type past struct {
	view   *sched.View
	speed  func(string) float64
	jobs   []*pastJob // in order of submission
	byID   map[sched.JobID]*pastJob
	pauses pastPauses
	step   int // of the record, from 1
}

// A pastJob is what is known of a job so far.
type pastJob struct {
	id     sched.JobID
	spec   *sched.JobSpec
	at     sched.Time // of its submission
	ended  bool
	took   sched.Time // from its submission to its success; -1: it has not succeeded
	stages []pastStage
	master pastMaster
	failed []pastEnd // attempts of stages with unknown tasks that had no success, and were not asked for again so far
	probe  pastProbe
}

// A pastMaster is what masters of a job did.
type pastMaster struct {
	launched sched.Time // the first one that asked for tasks; -1: there was none
	took     sched.Time // until that one asked, on a node of speed 1; -1: none did
	asked    sched.Time // when it did, or when a later one asked for what was left
	closed   sched.Time // when the last one ended
}

// A pastSpan is a time; until is -1 while it goes on.
type pastSpan struct{ from, until sched.Time }

// has reports whether an instant is in the span.
func (s pastSpan) has(at sched.Time) bool { return at >= s.from && (at < s.until || s.until < 0) }

// pastPauses are when attempts that have not ended were suspended.
type pastPauses map[sched.AttemptID][]pastSpan

// begin notes that an engine has suspended an attempt, unless the attempt has ended or has resumed before that report
// came.
func (p pastPauses) begin(v *sched.View, id sched.AttemptID) {
	if a := v.Attempt(id); a != nil && (a.State == sched.Suspended || a.State == sched.Leaving) {
		p[id] = append(p[id], pastSpan{v.Now, -1})
	}
}

// end notes that an attempt is resumed.
func (p pastPauses) end(id sched.AttemptID, now sched.Time) {
	if list := p[id]; len(list) > 0 && list[len(list)-1].until < 0 {
		list[len(list)-1].until = now
	}
}

// forget returns the spans in which an attempt, which ends now, was suspended.
func (p pastPauses) forget(id sched.AttemptID, now sched.Time) []pastSpan {
	p.end(id, now)
	list := p[id]
	delete(p, id)
	return list
}

// A pastEnd is an attempt that ended.
type pastEnd struct {
	stage  int32
	serial uint64     // of its AttemptID
	took   sched.Time // on a node of speed 1
	at     sched.Time // when it ended
}

// A pastProbe is what a probe of a job did, by stage; each stage has one task.
type pastProbe struct {
	times  []sched.Time // -1: the task has not succeeded
	counts []sched.Counters
}

// reset begins a new probe with a number of tasks.
func (p *pastProbe) reset(tasks int) {
	p.times, p.counts = slices.Repeat([]sched.Time{-1}, tasks), make([]sched.Counters, tasks)
}

// A pastStage is what is known of a stage so far.
type pastStage struct {
	spec  *sched.StageSpec
	times []sched.Time // by task − 1, −1: none; of a stage with unknown tasks, as they ended
	order []uint64     // of such a stage: serials of the launches
	round int32        // workload.Past.Rounds
	found int          // the Step in which it was asked for; zero: it came with the job
	waits int32        // tasks of a stage with unknown tasks that were asked for and not launched
	asked sched.Time   // when it was asked for; zero: with the job
	after int32        // of such a stage: tasks of the stage before that had ended when it was asked for
	last  sched.Time   // when the last of its attempts that succeeded so far ended
	ready []pastSpan   // when the stages that it is after were done
}

func (p *past) Attach(v *sched.View) { p.view = v }

// Record implements sched.Recorder. It notes what a Step says of the jobs that are kept. The view is that after the
// Step, in which the attempts that ended are still there.
func (p *past) Record(now sched.Time, events []sched.Event, actions []sched.Action) {
	p.step++
	for i := range events {
		switch e := &events[i]; e.Kind {
		case sched.JobSubmitted:
			p.submit(now, e)
		case sched.AsksChanged:
			p.ask(e)
		case sched.AttemptSuspended:
			p.pauses.begin(p.view, e.Attempt)
		case sched.AttemptDone:
			if a := ended(p.view, events, i); a != nil {
				p.done(a, e)
			}
		case sched.NodeLost: // outputs are lost with it, which no event says
			for _, j := range p.jobs {
				p.look(j)
			}
		case sched.JobEnded:
			if j := p.byID[e.Job]; j != nil {
				if j.ended = true; e.Outcome == sched.OK {
					j.took = now - j.at
					j.master.closed = max(j.master.closed, now) // its container may end later
				}
				p.stop(j)
				delete(p.byID, e.Job)
			}
		}
	}
	for i := range actions {
		switch a := &actions[i]; a.Kind {
		case sched.Resume:
			p.pauses.end(a.Attempt, now)
		case sched.Launch:
			j := p.byID[a.Stage.Job]
			if j == nil {
				continue
			}
			st := &j.stages[a.Stage.Index]
			if st.waits--; st.spec.Kind == sched.Master && j.master.took < 0 {
				j.master.launched = now
			}
		}
	}
}

// submit begins to keep a job. A probe is not kept as a job: what it does goes to the job that it probes.
func (p *past) submit(now sched.Time, e *sched.Event) {
	spec := e.Body.(*sched.JobSpec)
	if spec.Probes != 0 {
		if j := p.byID[spec.Probes]; j != nil {
			j.probe.reset(len(spec.Stages))
		}
		return
	}
	j := &pastJob{id: e.Job, spec: spec, at: now, took: -1, master: pastMaster{launched: -1, took: -1}}
	for i := range spec.Stages {
		j.stages = append(j.stages, pastStage{spec: &spec.Stages[i]})
	}
	p.jobs = append(p.jobs, j)
	p.byID[e.Job] = j
	p.look(j)
}

// look notes of each stage whether the stages that it is after are done now.
func (p *past) look(j *pastJob) {
	row := p.view.Job(j.id)
	if row == nil || j.ended {
		return
	}
	for i := range j.stages {
		st := &j.stages[i]
		if len(st.spec.After) == 0 || st.spec.Tasks < 0 {
			continue
		}
		done := !slices.ContainsFunc(st.spec.After, func(d sched.Dep) bool {
			before := row.Stages[d.Stage]
			return before.Done < before.Total
		})
		switch n := len(st.ready); {
		case done == (n > 0 && st.ready[n-1].until < 0):
		case done:
			st.ready = append(st.ready, pastSpan{p.view.Now, -1})
		default:
			st.ready[n-1].until = p.view.Now
		}
	}
}

// ask remembers a stage that an application has found, and how far the one before was. Tasks that it asks for beyond
// those that wait take the place of attempts that failed.
func (p *past) ask(e *sched.Event) {
	j, asks := p.byID[e.Job], e.Body.(*sched.Asks)
	if j == nil {
		return
	}
	p.askedBy(j, asks)
	if int(asks.Stage) < len(j.stages) {
		st := &j.stages[asks.Stage]
		j.again(st.spec.Kind, asks.Pending-st.waits)
		st.waits = asks.Pending
		return
	}
	if asks.Spec == nil {
		return
	}
	j.again(asks.Spec.Kind, asks.Pending)
	st := pastStage{spec: asks.Spec, waits: asks.Pending, asked: p.view.Now, found: p.step}
	if k := len(j.stages); k > 0 {
		st.after = p.view.Job(e.Job).Stages[k-1].Done
		for _, end := range j.failed {
			if int(end.stage) == k-1 {
				st.after++
			}
		}
		if st.round = j.stages[k-1].round; st.spec.Tasks >= 0 && st.found != j.stages[k-1].found {
			st.round++
		}
	}
	j.stages = append(j.stages, st)
	p.look(j)
}

// askedBy notes that the master of a job asks. One that asks for no tasks may have been launched when all were done; or
// the engine takes back what a lost master had asked for, while the next one starts.
func (p *past) askedBy(j *pastJob, asks *sched.Asks) {
	m, row, at := &j.master, p.view.Job(j.id), j.masterStage()
	if m.launched < 0 || row == nil || at < 0 {
		return
	}
	some := asks.Pending > 0 || asks.Spec != nil
	took := p.view.Now - m.launched // if it is gone by now
	for a := range p.view.Attempts(row.Stages[at]) {
		took = p.took(a, a.Start, p.pauses[a.ID])
	}
	switch {
	case some && m.took < 0:
		m.took, m.asked = took, p.view.Now
	case asks.Spec == nil && (some || took >= m.took-1 && m.took >= 0) && j.stages[asks.Stage].spec.Asked:
		m.asked = p.view.Now // took may be rounded
	}
}

// masterStage returns the index of the stage of the job's master; -1: there is none.
func (j *pastJob) masterStage() int {
	return slices.IndexFunc(j.stages, func(st pastStage) bool { return st.spec.Kind == sched.Master })
}

// done notes that attempt a has ended.
func (p *past) done(a *sched.Attempt, e *sched.Event) {
	paused := p.pauses.forget(a.ID, p.view.Now)
	of, at := a.Stage.Job.Spec.Probes, a.Stage.ID.Index
	j := p.byID[cmp.Or(of, a.Stage.ID.Job)]
	switch {
	case j == nil:
	case of != 0:
		if e.Outcome == sched.OK && int(at) < len(j.probe.times) { // a probe has its stages from the start
			j.probe.times[at] = p.took(a, a.Start, paused)
			if k, ok := e.Body.(*sched.Counters); ok {
				j.probe.counts[at] = *k
			}
		}
	case e.Outcome == sched.OK || a.Task == 0 && e.Outcome != sched.Released:
		end := pastEnd{at, a.ID.Serial(), p.took(a, j.ready(int(at), a.Start, paused), paused), p.view.Now}
		st := &j.stages[at]
		master := st.spec.Kind == sched.Master
		if master {
			j.master.closed = end.at
		}
		switch {
		case a.Task != 0:
			st.succeed(a.Task, end)
		case e.Outcome == sched.OK:
			st.end(end)
		case !master:
			j.failed = append(j.failed, end)
		}
		p.look(j)
	default:
		p.look(j)
	}
}

// took returns for how long attempt a, which began to work at an instant, has worked until now on a node of speed 1.
func (p *past) took(a *sched.Attempt, began sched.Time, paused []pastSpan) sched.Time {
	speed := p.speed(p.view.Classes[p.view.Node(a.Node).Class-1].Name)
	worked := p.view.Now - began
	for _, s := range paused {
		until := s.until
		if until < 0 {
			until = p.view.Now
		}
		worked -= max(0, until-max(s.from, began))
	}
	return sched.Time(math.Round(float64(max(0, worked)) * speed))
}

// end adds a task to a stage with unknown tasks.
func (st *pastStage) end(e pastEnd) {
	st.times, st.order, st.last = append(st.times, e.took), append(st.order, e.serial), max(st.last, e.at)
}

// succeed notes the time of a task that the engine knew.
func (st *pastStage) succeed(task int32, e pastEnd) {
	if st.times == nil {
		st.times = slices.Repeat([]sched.Time{-1}, int(st.spec.Tasks))
	}
	st.times[task-1], st.last = e.took, e.at
}

// again notes that a job asks for n more tasks of a kind than before. They take the place of attempts of such tasks
// that have failed, the earliest first.
func (j *pastJob) again(kind sched.StageKind, n int32) {
	j.failed = slices.DeleteFunc(j.failed, func(e pastEnd) bool {
		replaced := n > 0 && j.stages[e.stage].spec.Kind == kind
		if replaced {
			n--
		}
		return replaced
	})
}

// stop is called for a job that has ended, or at the end of the record. In stages with unknown tasks, it counts as
// tasks the attempts that still run, and the failed attempts whose place no further task has taken.
func (p *past) stop(j *pastJob) {
	for _, e := range j.failed {
		j.stages[e.stage].end(e)
	}
	for i, st := range p.view.Job(j.id).Stages {
		for a := range p.view.Attempts(st) {
			if a.Task == 0 && st.Kind != sched.Master {
				paused := p.pauses.forget(a.ID, p.view.Now)
				took := p.took(a, j.ready(i, a.Start, paused), paused)
				j.stages[i].end(pastEnd{int32(i), a.ID.Serial(), took, p.view.Now})
			}
		}
	}
}

// ready returns the instant from which an attempt of stage i that started at began could work: when the stages that it
// is after were done while it was not suspended, as far as is known by now.
func (j *pastJob) ready(i int, began sched.Time, paused []pastSpan) sched.Time {
	for _, s := range j.stages[i].ready {
		at := max(began, s.from)
		for _, pause := range paused {
			if pause.has(at) {
				at = pause.until
			}
		}
		if s.has(at) {
			return at
		}
	}
	for _, d := range j.stages[i].spec.After {
		began = max(began, j.stages[d.Stage].last)
	}
	if k := i - 1; j.stages[i].spec.Tasks < 0 && k >= 0 && j.stages[k].spec.Kind != sched.Master {
		began = max(began, j.stages[k].last)
	}
	return began
}

// masterAsks reports whether a master asked for all stages but its own. uber says that it did their tasks itself.
func (j *pastJob) masterAsks() (asks, uber bool) {
	at := j.masterStage()
	if at < 0 {
		return false, false
	}
	for i := range j.stages {
		if st := j.stages[i].spec; i != at && st.Tasks >= 0 && !st.Asked {
			return false, false
		}
	}
	if j.master.took >= 0 {
		return true, false
	}
	uber = len(j.stages) > 1 && j.took >= 0 && j.stages[at].times != nil
	for i := range j.stages {
		uber = uber && (i == at || j.stages[i].spec.Tasks >= 0 && j.stages[i].times == nil)
	}
	return uber, uber
}

// yield yields the jobs at the front that have ended; all when the run is over.
func (p *past) yield(yield func(*workload.Past, error) bool, all bool) bool {
	n := 0
	for n < len(p.jobs) && (all || p.jobs[n].ended) {
		if !p.jobs[n].ended {
			p.stop(p.jobs[n])
		}
		if !yield(p.jobs[n].finish(), nil) {
			return false
		}
		n++
	}
	p.jobs = slices.Delete(p.jobs, 0, n)
	return true
}

// finish makes the result of a job that is over, and fills in what is not known: the times of tasks without a
// success, and, of stages with unknown tasks, how many there are and what they start after. It must be called only
// once.
func (j *pastJob) finish() *workload.Past {
	spec := *j.spec
	spec.Submit, spec.Open, spec.Payload, spec.Stages = j.at, false, nil, make([]sched.StageSpec, len(j.stages))
	out := &workload.Past{ID: j.id, Sojourn: j.took, Ended: j.ended, Spec: &spec}
	if len(j.probe.times) > 0 && !slices.Contains(j.probe.times, -1) {
		out.ProbeTimes, out.ProbeCounts = j.probe.times, j.probe.counts
	}
	if out.MasterAsks, out.Uber = j.masterAsks(); out.MasterAsks && !out.Uber {
		at := j.masterStage()
		last := j.master.asked // a master that was launched late may find nothing to do
		for i, st := range j.stages {
			if i != at {
				last = max(last, st.last)
			}
		}
		j.stages[at].times, j.stages[at].order = []sched.Time{j.master.took}, []uint64{0}
		out.Closing = max(0, j.master.closed-last)
	}
	for i := range j.stages {
		st := &j.stages[i]
		spec.Stages[i] = *st.spec
		if st.spec.Tasks < 0 {
			st.inOrder()
			spec.Stages[i].Tasks = int32(len(st.times))
			if spec.Stages[i].MaxAttempts == 0 { // its master started again what failed, which the core does now
				spec.Stages[i].MaxAttempts = sched.DefaultMaxAttempts
			}
			if i > 0 && spec.Stages[i-1].Kind != sched.Master { // no stage waits for a master's output
				spec.Stages[i].After = []sched.Dep{
					{Stage: int32(i - 1), Part: min(1, float64(st.after)/float64(max(1, spec.Stages[i-1].Tasks)))},
				}
			}
		}
		out.Rounds = append(out.Rounds, st.round)
		out.Times = append(out.Times, st.complete(spec.Stages[i].Tasks))
	}
	if out.Uber {
		j.parted(out.Times)
	}
	return out
}

// parted parts the time of a master that did the tasks of its job: they take what their stages' specs say, which
// complete has set, and the master the rest; if that is less than nothing, the tasks take no time.
func (j *pastJob) parted(times [][]sched.Time) {
	at, sum := j.masterStage(), sched.Time(0)
	for i := range times {
		for _, t := range times[i] {
			sum += t
		}
	}
	master := &times[at][0]
	if sum -= *master; sum <= *master {
		*master -= sum
		return
	}
	for i := range times {
		if i != at {
			clear(times[i])
		}
	}
}

// inOrder sorts the times of a stage with unknown tasks, which are in order of end, by launch: so the first task is the
// one that was launched first. It leaves st.order as it is, so it must be called only once.
func (st *pastStage) inOrder() {
	type launch struct {
		serial uint64
		took   sched.Time
	}
	list := make([]launch, len(st.times))
	for i := range list {
		list[i] = launch{st.order[i], st.times[i]}
	}
	slices.SortFunc(list, func(a, b launch) int { return cmp.Compare(a.serial, b.serial) })
	for i := range list {
		st.times[i] = list[i].took
	}
}

// complete returns a time for each of n tasks.
func (st *pastStage) complete(n int32) []sched.Time {
	times := st.times
	if times == nil {
		times = slices.Repeat([]sched.Time{-1}, int(n))
	}
	known := slices.DeleteFunc(slices.Clone(times), func(t sched.Time) bool { return t < 0 })
	usual := st.spec.Prior
	if len(known) > 0 {
		slices.Sort(known)
		usual = known[rank(len(known), 50)]
	}
	for i := range times {
		if times[i] < 0 {
			times[i] = usual
		}
	}
	return times
}

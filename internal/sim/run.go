package sim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"

	"github.com/sojourn-sched/sojourn/internal/workload"
	"github.com/sojourn-sched/sojourn/sched"
)

// never is an instant that does not come.
const never = sched.Time(math.MaxInt64)

// lookEvery is how many steps pass between looks at the context and calls of Progress.
const lookEvery = 1 << 14

// Powers are what the simulator can do.
const Powers = sched.CanKill | sched.CanSuspend | sched.CanResize | sched.CanNameTasks | sched.CanProbe

// clockMax is the latest instant of a run: a hundred years. An event is scheduled at most a hundred years and a few tasks
// ahead, so that no instant overflows 64 bits.
const clockMax = 10 * sched.Time(workload.MaxTime)

// ErrLimit is returned when a run has had Config.MostEvents events and wakes.
var ErrLimit = errors.New("the limit of events is reached")

// ErrClock is returned when a run goes on beyond a hundred years of simulated time.
var ErrClock = errors.New("the simulated clock passes a hundred years")

// An engine is one run.
type engine struct {
	core    *sched.Core
	config  *Config
	now     sched.Time
	chance  workload.Chance
	queue   *calendar
	due     []uint64 // scratch: what was taken from it
	pending int      // items in queue that bring some job on, or let one go on that waits

	rows    []attempt // by slot of AttemptID
	alive   int       // attempts of which the core has not been told the end
	jobs    sched.Per[*job]
	nodes   machines
	net     network
	masters masters
	sequel  sequel
	beats   beats
	feed    feed

	evs   []sched.Event // of the next Step
	wake  sched.Time
	idle  idleness
	total Result
}

// Run simulates config.Jobs on config.Cluster under config.Core.Policy until all jobs have ended. It returns an error,
// and what the run came to until then, when the source has one, when ctx is done, when a limit is reached, and when
// jobs are left that nothing will ever bring on (ErrStuck).
func Run(ctx context.Context, config Config) (Result, error) {
	e, err := newEngine(&config)
	if err != nil {
		return Result{}, fmt.Errorf("simulate: %w", err)
	}
	defer e.feed.stop()
	err = e.run(ctx)
	e.total.End, e.total.Refused, e.total.Refusal = e.core.Now, e.core.Refused(), e.core.FirstRefusal()
	if err != nil {
		return e.total, fmt.Errorf("simulate: at %v: %w", e.now, err)
	}
	return e.total, nil
}

func newEngine(config *Config) (*engine, error) {
	if err := config.Cluster.Validate(); err != nil {
		return nil, fmt.Errorf("cluster: %w", err)
	}
	if err := config.Costs.Validate(); err != nil {
		return nil, err
	}
	e := &engine{config: config, chance: workload.NewChance(config.Seed), queue: newCalendar(), wake: never}
	core := config.Core
	if core.Can == 0 {
		core.Can = Powers
	}
	core.Can &= Powers
	core.Heartbeats = config.Costs.Reporting.Heartbeat > 0
	e.core = sched.New(core)
	if err := e.nodes.timetables.init(e); err != nil {
		return nil, err
	}
	e.nodes.join(e)
	e.net.init(e)
	e.masters.e, e.sequel.e = e, e
	e.beats.init(e)
	if err := e.nodes.plan(config.Script); err != nil {
		return nil, err
	}
	e.feed.init(e)
	return e, nil
}

// run goes from instant to instant.
func (e *engine) run(ctx context.Context) error {
	for n := int64(1); ; n++ {
		at, err := e.next()
		if err != nil {
			return err
		}
		if until := e.config.Until; until > 0 && at > until || at == never {
			return nil
		}
		if at > clockMax {
			return e.late()
		}
		e.instant(at)
		if most := e.config.MostEvents; most > 0 && e.total.Events+e.idle.wakes >= most {
			return fmt.Errorf("%w: %d", ErrLimit, most)
		}
		if n%lookEvery == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			if e.idle.inVain(e) {
				return fmt.Errorf(
					"%w: %d attempts were launched since a job last got further: are nodes lost faster than tasks end?",
					ErrStuck,
					e.idle.futile,
				)
			}
			e.report()
		}
	}
}

// instant does what is to be done at an instant; there may be more at the same one.
func (e *engine) instant(at sched.Time) {
	e.now = at
	if e.gather() {
		e.step()
	}
	if len(e.evs) == 0 && len(e.net.changed) > 0 { // else the core learns first
		e.net.lookAll()
	}
	if len(e.net.dirty) > 0 {
		e.net.settle()
	}
}

func (e *engine) report() {
	if e.config.Progress != nil {
		t := &e.total
		e.config.Progress(Status{e.now, t.Events, t.Jobs, t.Jobs - int64(e.core.LiveJobs())})
	}
}

// next returns the instant at which something happens next; never: the run is over.
func (e *engine) next() (sched.Time, error) {
	if e.feed.err != nil {
		return 0, e.feed.err
	}
	if len(e.evs) > 0 {
		return e.now, nil
	}
	at := e.feed.at()
	if e.alive == 0 && e.core.LiveJobs() == 0 {
		if at == never {
			return never, nil
		}
		e.beats.sleep()
	} else {
		at = min(at, max(e.wake, e.now), e.beats.next(e))
	}
	at = min(at, e.queue.next())
	if at == never || e.idle.tooLong(e, at) {
		return 0, e.stuck()
	}
	return at, nil
}

// gather puts together what happens now, and reports whether the core is to be asked.
func (e *engine) gather() bool {
	for e.queue.next() <= e.now {
		e.due = e.queue.take(e.due[:0])
		for _, what := range e.due {
			e.happen(what)
		}
	}
	for e.feed.at() <= e.now {
		e.feed.submit()
	}
	if e.feed.err != nil { // what has been read of this instant is not all of it
		return false
	}
	e.beats.gather(e)
	woken := e.wake <= e.now
	if woken {
		e.wake = never
	}
	return woken || len(e.evs) > 0
}

// step tells the core what happened, and does what it says.
func (e *engine) step() {
	if e.sequel.some {
		e.sequel.before()
	}
	given := len(e.evs)
	acts := e.core.Step(e.now, e.evs)
	e.total.Steps++
	e.total.Events += int64(given)
	moved := false
	for i := range e.evs {
		switch ev := &e.evs[i]; ev.Kind {
		case sched.AttemptDone:
			moved = true
		case sched.JobSubmitted:
			moved = true
			e.admit(ev.Job, ev.Body.(*sched.JobSpec))
		}
	}
	e.evs = e.evs[:0]
	if e.sequel.some {
		e.sequel.after()
	}
	if len(e.core.Events) > given {
		for i := range e.core.Events[given:] {
			e.follow(&e.core.Events[given+i])
		}
	}
	for i := range acts {
		moved = e.act(&acts[i]) || moved
	}
	e.idle.note(e.now, moved)
	if given == 0 {
		e.idle.wakes++
	}
}

// follow keeps up with what the core derived.
func (e *engine) follow(ev *sched.Event) {
	switch ev.Kind {
	case sched.AttemptDone: // lost with its node
		if r := e.find(ev.Attempt); r != nil {
			e.halt(r)
			e.masters.lost(r)
			e.forget(r)
		}
	case sched.TaskUndone:
		e.idle.done -= int64(len(ev.Body.(*sched.Undone).Tasks))
		e.net.lost(*e.jobs.Of(e.core.Job(ev.Job)))
	case sched.JobEnded:
		if ev.Outcome != sched.OK {
			e.total.Failed++
		}
		row := e.core.Job(ev.Job)
		e.feed.ended(row.Spec)
		e.endProbe(row)
	}
}

// act does one thing that the core wants, and reports whether it brings a job on.
func (e *engine) act(a *sched.Action) bool {
	switch a.Kind {
	case sched.Launch:
		e.launch(e.core.Attempt(a.Attempt))
		return true
	case sched.Kill:
		e.kill(a.Attempt, a.At)
	case sched.Suspend:
		e.suspend(a.Attempt)
	case sched.Resume:
		e.resume(a.Attempt)
		return true
	case sched.Resize:
		e.evs = append(e.evs, sched.Event{Kind: sched.AttemptResized, Attempt: a.Attempt})
	case sched.Probe:
		e.probe(e.core.Job(a.Stage.Job))
	case sched.Wake:
		if e.wake = a.At; a.At == 0 {
			e.wake = never
		}
	}
	return false
}

// What an item of the queue is about, in the upper three bits; the rest is an ID.
const (
	endOf      = uint64(iota) << kindShift // attempt: it ends
	graceOf                                // attempt: the warning before a Kill is over
	fetchOf                                // rack: one of its reduces has fetched what it was fetching
	lossOf                                 // node: is lost by chance
	returnOf                               // node: returns after that
	comeOf                                 // node: returns, one nanosecond late
	incidentOf                             // index of Script + 1; above its length: place of a class whose timetable changes
	masterOf                               // job: its master looks
	kindShift  = 61
	idMask     = 1<<kindShift - 1
)

// happen does what is due.
func (e *engine) happen(what uint64) {
	id := what & idMask
	switch what &^ idMask {
	case endOf:
		e.pending--
		if r := e.find(sched.AttemptID(id)); r.leads() {
			e.masters.due(r)
		} else {
			e.end(r)
		}
	case graceOf:
		e.pending--
		e.kill(sched.AttemptID(id), 0)
	case fetchOf:
		e.pending--
		e.net.fetched(sched.RackID(id))
	case lossOf:
		e.nodes.lossDue(sched.NodeID(id))
	case returnOf:
		e.nodes.returnDue(sched.NodeID(id))
	case comeOf:
		e.nodes.restore(sched.NodeID(id))
	case incidentOf:
		e.nodes.incident(int(id))
	case masterOf:
		e.net.ramp.look(sched.JobID(id))
	}
}

// A feed takes jobs from the source, one ahead of time.
type feed struct {
	e        *engine
	pull     func() (*sched.JobSpec, error, bool)
	stop     func()
	head     *sched.JobSpec // the next one; nil: none is left
	err      error
	taken    int64       // from the source
	admitted int64       // of them, those that the core knows
	tasks    int64       // of the jobs taken that have not ended
	newest   sched.JobID // submitted, probes included
	layout   layout
}

func (f *feed) init(e *engine) {
	f.e, f.layout = e, newLayout(e.nodes.list)
	f.pull, f.stop = iter.Pull2(e.config.Jobs)
	f.advance()
}

func (f *feed) advance() {
	last := f.e.now
	if f.head != nil {
		last = f.head.Submit
	}
	spec, err, ok := f.pull()
	f.head = nil
	if !ok || err != nil {
		f.err = err
		return
	}
	f.taken++
	if f.err = f.check(spec); f.err != nil {
		f.err = fmt.Errorf("job %d (%s): %w", f.taken, spec.Name, f.err)
	} else if spec.Submit < last {
		f.err = fmt.Errorf("job %d (%s): submitted at %v, before the job before it (%v)", f.taken, spec.Name, spec.Submit, last)
	} else if f.err = f.fits(spec); f.err == nil {
		f.head = f.place(spec, f.taken)
	}
}

// fits counts the tasks of a job, and reports whether the run would keep too much in memory with it.
func (f *feed) fits(spec *sched.JobSpec) error {
	f.tasks += tasksOf(spec)
	jobs, mostJobs := int64(f.e.core.LiveJobs())+f.taken-f.admitted, int64(cmp.Or(f.e.config.MostJobs, DefaultMostJobs))
	switch mostTasks := cmp.Or(f.e.config.MostTasks, DefaultMostTasks); {
	case jobs > mostJobs:
		return fmt.Errorf("job %d (%s): more than %d jobs are unfinished: the cluster is too small for the workload, "+
			"or the limit too low (--max-jobs)", f.taken, spec.Name, mostJobs)
	case f.tasks > mostTasks:
		return fmt.Errorf("job %d (%s): the unfinished jobs have more than %d tasks: the cluster is too small for the "+
			"workload", f.taken, spec.Name, mostTasks)
	}
	return nil
}

// ended takes the tasks of a job that has ended off the count. Probes are not counted.
func (f *feed) ended(spec *sched.JobSpec) {
	if spec.Probes == 0 {
		f.tasks -= tasksOf(spec)
	}
}

// tasksOf returns how many tasks a job has when it is submitted. O(stages).
func tasksOf(spec *sched.JobSpec) (n int64) {
	for i := range spec.Stages {
		n += int64(spec.Stages[i].Tasks)
	}
	return n
}

// check reports what the simulator needs of a job and does not find.
func (f *feed) check(spec *sched.JobSpec) error {
	t, ok := spec.Payload.(*workload.Truth)
	if !ok {
		return fmt.Errorf(
			"payload is a %T, and the simulator needs the true times of tasks (*workload.Truth)",
			spec.Payload,
		)
	}
	if len(t.Later) > 0 {
		if !spec.Open {
			return errors.New("it finds stages later and is not open")
		}
		all := *spec
		all.Stages = t.All(spec)
		spec = &all
	}
	if err := spec.Validate(); err != nil {
		return err
	}
	if len(t.Stages) != len(spec.Stages) {
		return fmt.Errorf("its truth has %d stages, its spec %d", len(t.Stages), len(spec.Stages))
	}
	for i := range t.Stages {
		if s := &t.Stages[i]; s.Tasks != spec.Stages[i].Tasks || s.List != nil && len(s.List) < int(s.Tasks) {
			return fmt.Errorf(
				"its truth has %d tasks in stage %d (%d of them listed), its spec %d",
				s.Tasks,
				i,
				len(s.List),
				spec.Stages[i].Tasks,
			)
		}
	}
	return nil
}

// at returns the submission of the next job; never: there is none.
func (f *feed) at() sched.Time {
	if f.head == nil {
		return never
	}
	return f.head.Submit
}

// submit gives the next job to the core.
func (f *feed) submit() {
	f.newest++
	f.e.evs = append(f.e.evs, sched.Event{Kind: sched.JobSubmitted, Job: f.newest, Body: f.head})
	f.advance()
}

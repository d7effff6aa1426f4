package sim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/sojourn-sched/sojourn/internal/workload"
	"github.com/sojourn-sched/sojourn/sched"
)

// lookEvery is how many instants pass between looks at the context, which are also when Progress is called.
const lookEvery = 1 << 14

// Powers are what the simulator can do.
const Powers = sched.CanKill | sched.CanSuspend | sched.CanResize | sched.CanNameTasks | sched.CanProbe

// clockMax is the latest instant of a run: a hundred years. An event is at most a hundred years and a few tasks ahead,
// so that no instant overflows 64 bits.
const clockMax = 10 * sched.Time(workload.MaxTime)

// ErrLimit is returned when a run has had Config.MostEvents events and wakes.
var ErrLimit = errors.New("the limit of events is reached")

// ErrClock is returned when a run goes on beyond a hundred years of simulated time.
var ErrClock = errors.New("the simulated clock passes a hundred years")

// An engine is one run: it joins the parts, and each part gets the others that it needs.
type engine struct {
	agenda
	core     *sched.Core
	config   *Config
	dispatch sched.Dispatcher
	due      []uint64 // scratch: what was taken from the queue

	attempts attempts
	nodes    machines
	tasks    tasks
	masters  masters
	ramp     rampDown
	sequel   sequel
	probes   probes
	beats    beats
	feed     feed

	wake  sched.Time // when the core wants a Step; sched.Never: it does not
	moved bool       // in this Step an attempt was launched, resumed or ended, or a job was submitted
	idle  idleness
	total Result
}

// Run simulates config.Jobs on config.Cluster under config.Core.Policy until all jobs have ended. It returns an error,
// and the totals until then, if the source has one, if ctx is done, if a limit is reached, or if jobs are left that
// will never make progress (ErrStuck).
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

// newEngine makes the engine of a run: the nodes join, and their losses and timetables are planned. It pulls the first
// job from the source, so the caller must call feed.stop at the end. An error is one of the configuration.
func newEngine(config *Config) (*engine, error) {
	if err := config.Cluster.Validate(); err != nil {
		return nil, fmt.Errorf("cluster: %w", err)
	}
	if err := config.Costs.Validate(); err != nil {
		return nil, err
	}
	core := config.Core
	if core.Can == 0 {
		core.Can = Powers
	}
	core.Can &= Powers
	core.Heartbeats = config.Costs.Reporting.Heartbeat > 0
	e := &engine{config: config, core: sched.New(core), wake: sched.Never}
	e.join()
	if err := e.nodes.timetables.init(config.Cluster.Classes, config.Timetables); err != nil {
		return nil, err
	}
	for i := range config.Cluster.Classes {
		e.nodes.planChange(i)
	}
	e.nodes.join()
	if err := e.throttle(); err != nil {
		return nil, err
	}
	e.tasks.net.init(config, e.nodes.list)
	e.beats.init(&config.Costs.Reporting)
	if err := e.nodes.plan(); err != nil {
		return nil, err
	}
	e.feed.pull, e.feed.stop = iter.Pull2(config.Jobs) // not before the last error: a refused run has nothing to stop
	e.feed.advance()
	return e, nil
}

// throttle begins to slow what runs on nodes that offer less, if the configuration says so.
func (e *engine) throttle() error {
	c := e.config
	if c.Throttle == nil {
		return nil
	}
	if len(c.Timetables) == 0 {
		return errors.New("throttle: no class has a timetable")
	}
	e.tasks.throttle.init(c.Throttle, len(e.nodes.list), incidentOf|uint64(len(c.Script)+1+len(c.Cluster.Classes)))
	e.tasks.rethrottle()
	return nil
}

// join makes the parts, and gives each of them the other parts that it needs.
func (e *engine) join() {
	c := e.config
	chance := workload.NewChance(c.Seed)
	e.queue = newCalendar()
	e.attempts.view, e.attempts.chance = &e.core.View, chance
	e.dispatch = sched.Dispatcher{Launch: e.launch, Kill: e.kill, Suspend: e.tasks.suspend, Resume: e.resume,
		Resize: e.resize, Probe: e.probe, Wake: e.wakeAt}
	e.nodes = machines{agenda: &e.agenda, cluster: c.Cluster, costs: &c.Costs, chance: chance, script: c.Script,
		held: c.Costs.Reporting.Heartbeat > 0}
	e.tasks = tasks{agenda: &e.agenda, attempts: &e.attempts, costs: &c.Costs, nodes: &e.nodes, probes: &e.probes,
		idle: &e.idle, net: network{agenda: &e.agenda, attempts: &e.attempts},
		contention: contention{model: c.Costs.Contention}}
	e.probes = probes{agenda: &e.agenda, attempts: &e.attempts, costs: &c.Costs}
	e.masters = masters{agenda: &e.agenda, tasks: &e.tasks}
	e.ramp = rampDown{tasks: &e.tasks}
	e.sequel = sequel{agenda: &e.agenda, attempts: &e.attempts, masters: &e.masters, probes: &e.probes}
	e.beats = beats{agenda: &e.agenda, tasks: &e.tasks, nodes: &e.nodes}
	e.feed = feed{agenda: &e.agenda, jobs: &e.attempts, layout: &e.nodes.layout, copies: c.Costs.Reading.Copies,
		most: limits{int64(cmp.Or(c.MostJobs, DefaultMostJobs)), cmp.Or(c.MostTasks, DefaultMostTasks)}}
}

// run simulates one instant after the other until the run is over.
func (e *engine) run(ctx context.Context) error {
	for n := int64(1); ; n++ {
		at, err := e.next()
		if err != nil {
			return err
		}
		if until := e.config.Until; until > 0 && at > until || at == sched.Never {
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
			if e.idle.inVain(e.attempts.alive) {
				return fmt.Errorf("%w: %s launched since a job last got further: are nodes lost faster "+
					"than tasks end?", ErrStuck, launched(e.idle.futile))
			}
			e.report()
		}
	}
}

// instant carries out what is due at an instant. It may be called several times for the same instant.
func (e *engine) instant(at sched.Time) {
	e.now = at
	if e.gather() {
		e.step()
	}
	net := &e.tasks.net
	if len(e.evs) == 0 && len(net.changed) > 0 { // with events, the core must learn these first
		e.lookAll()
	}
	if len(net.dirty) > 0 {
		net.settle()
	}
	if len(e.tasks.contention.dirty) > 0 {
		e.tasks.settle()
	}
	if len(e.tasks.throttle.dirty) > 0 {
		e.tasks.settlePaces()
	}
}

// lookAll continues reduces that waited for what this instant has brought, and starts the ramp-down of jobs whose maps
// starve.
func (e *engine) lookAll() {
	net := &e.tasks.net
	for i := 0; i < len(net.changed); i++ { // a look may ask for another
		j := net.changed[i]
		e.tasks.goOn(j)
		e.ramp.watch(j)
	}
	net.changed = net.changed[:0]
}

// report tells Config.Progress how far the run has come.
func (e *engine) report() {
	if e.config.Progress != nil {
		t := &e.total
		e.config.Progress(Status{e.now, t.Events, t.Jobs, t.Jobs - int64(e.core.LiveJobs())})
	}
}

// next returns the instant at which something happens next: an item of the queue, an arrival, the wake that the core
// asked for, or a beat; now, if there are events that the core was not given yet. sched.Never: the run is over, as all
// jobs have ended and the source has no more. It returns the source's error, and ErrStuck if jobs are left that will
// never make progress. While there are no jobs and no attempts, next puts the beats to sleep and ignores the wake.
func (e *engine) next() (sched.Time, error) {
	if e.feed.err != nil {
		return 0, e.feed.err
	}
	if len(e.evs) > 0 {
		return e.now, nil
	}
	at := e.feed.at()
	if e.attempts.alive == 0 && e.core.LiveJobs() == 0 {
		if at == sched.Never {
			return sched.Never, nil
		}
		e.beats.sleep()
	} else {
		at = min(at, max(e.wake, e.now), e.beats.next())
	}
	at = min(at, e.queue.next())
	if at == sched.Never || e.stalled(at) {
		return 0, e.stuck()
	}
	return at, nil
}

// gather collects the events of this instant, and reports whether the core must be called.
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
	if e.feed.err != nil { // the source may have more jobs for this instant, so there is no Step
		return false
	}
	e.beats.gather()
	woken := e.wake <= e.now
	if woken {
		e.wake = sched.Never
	}
	return woken || len(e.evs) > 0
}

// step gives the events to the core, and carries out the actions that the core returns.
func (e *engine) step() {
	if e.sequel.some {
		e.sequel.before()
	}
	given := len(e.evs)
	acts := e.core.Step(e.now, e.evs)
	e.total.Steps++
	e.total.Events += int64(given)
	e.moved = false
	for i := range e.evs {
		switch ev := &e.evs[i]; ev.Kind {
		case sched.AttemptDone:
			e.moved = true
		case sched.JobSubmitted:
			e.moved = true
			e.admit(ev.Job, ev.Body.(*sched.JobSpec))
		case sched.AttemptResized:
			if r := e.attempts.find(ev.Attempt); r != nil {
				e.tasks.throttle.touch(r)
			}
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
	e.dispatch.Do(acts)
	e.idle.note(e.now, e.moved)
	if given == 0 {
		e.idle.wakes++
	}
}

// admit makes the row of a job that was submitted.
func (e *engine) admit(id sched.JobID, spec *sched.JobSpec) {
	e.total.Jobs++
	e.total.MostJobs = max(e.total.MostJobs, e.core.LiveJobs())
	j := e.attempts.admit(id, spec)
	e.sequel.some = e.sequel.some || j.masterAsks || spec.Open
}

// follow updates the simulator's rows by an event that the core derived.
func (e *engine) follow(ev *sched.Event) {
	switch ev.Kind {
	case sched.AttemptDone: // lost with its node
		if r := e.attempts.find(ev.Attempt); r != nil {
			e.tasks.halt(r)
			e.masters.lost(r)
			e.tasks.forget(r)
		}
	case sched.TaskUndone:
		e.idle.done -= int64(len(ev.Body.(*sched.Undone).Tasks))
		e.tasks.refetch(e.attempts.of(e.core.Job(ev.Job)))
	case sched.JobEnded:
		if ev.Outcome != sched.OK {
			e.total.Failed++
		}
		row := e.core.Job(ev.Job)
		e.feed.ended(row.Spec)
		e.probes.end(row)
	}
}

// launch starts an attempt.
func (e *engine) launch(a *sched.Action) {
	e.moved = true
	e.total.Launches++
	e.idle.futile++
	r := e.attempts.add(e.core.Attempt(a.Attempt))
	if r.job.masterAsks && e.masters.launched(r) {
		return
	}
	e.tasks.start(r)
}

// kill ends an attempt when grace is over. If the attempt is a master, the tasks of its job end too.
func (e *engine) kill(id sched.AttemptID, grace sched.Time) {
	r := e.tasks.find(id)
	if r == nil || r.state == over {
		return
	}
	if e.tasks.kill(id, grace); r.state == over {
		e.masters.lost(r)
	}
}

func (e *engine) resume(id sched.AttemptID) {
	e.moved = true
	e.tasks.resume(id)
}

// resize reports at once that an attempt holds another shape.
func (e *engine) resize(id sched.AttemptID, _ sched.ShapeID) {
	e.evs = append(e.evs, sched.Event{Kind: sched.AttemptResized, Attempt: id})
}

func (e *engine) probe(job sched.JobID) { e.probes.submit(e.core.Job(job)) }

// wakeAt notes when the core wants a Step; zero: it does not need one.
func (e *engine) wakeAt(at sched.Time) {
	if e.wake = at; at == 0 {
		e.wake = sched.Never
	}
}

// happen carries out an item of the queue.
func (e *engine) happen(what uint64) {
	id := what & idMask
	switch what &^ idMask {
	case endOf:
		e.pending--
		if r := e.attempts.find(sched.AttemptID(id)); r.asks() {
			e.masters.due(r)
		} else {
			e.tasks.end(r)
		}
	case graceOf:
		e.pending--
		e.kill(sched.AttemptID(id), 0)
	case fetchOf:
		e.pending--
		e.tasks.fetched(sched.RackID(id))
	case lossOf:
		e.nodes.lossDue(sched.NodeID(id))
	case returnOf:
		e.nodes.returnDue(sched.NodeID(id))
	case comeOf:
		e.nodes.restore(sched.NodeID(id))
	case incidentOf:
		if what == e.tasks.throttle.item {
			e.tasks.rethrottle()
			return
		}
		e.nodes.incident(int(id))
	case masterOf:
		e.ramp.look(sched.JobID(id))
	}
}

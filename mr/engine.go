package mr

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sojourn-sched/sojourn/sched"
)

// Work is what a job does. The engine decides when and where attempts run; Work runs them. If a method panics, the call
// ends with a *PanicError: other jobs go on.
type Work interface {
	// Stages returns the next stages: the first ones when the job arrives, and further ones whenever all stages so far
	// are done. No stages means that the job is over and its output in place; after an error the job has no output.
	// Only a job that is Open may have further stages: else they fail it. MaxAttempts of a stage is 4 if it is zero. A
	// call may take long: other jobs go on meanwhile. When ctx is done it returns soon, with an error if the output is
	// not in place.
	Stages(ctx context.Context) ([]sched.StageSpec, error)
	// Run runs an attempt to its end, on a goroutine of its own. It returns ErrCommitted if another attempt of the task
	// was faster.
	Run(l *Launch) error
	// Close is called once, when no attempt of the job runs any more. If the job did not succeed (ok), it removes
	// output that was not committed. An error does not change the outcome of the job (Result.NotClosed).
	Close(ok bool) error
}

// A Launch is an attempt that the engine starts.
type Launch struct {
	Stage   int // index of all the stages that the job was given
	Task    int // in the stage, from 0
	Attempt *Attempt

	id     sched.AttemptID
	job    *jobLife
	cancel context.CancelCauseFunc
	signs  int64     // Attempt.Signs when the engine last looked
	alive  time.Time // when signs last changed
	hung   bool
	// beaten: another attempt has done the task, and its output was lost since. The core takes no account of this one.
	beaten bool
	// misled: an output of the task was lost while this attempt ran. If it found the task committed, it may have found
	// that output.
	misled bool

	holds    sched.Resources // what the core has asked it to hold
	resizing bool            // it holds more memory than that, and has not said yet that it does not
}

// hold changes what the attempt is to hold, and reports whether it has to free or to take memory for that.
func (l *Launch) hold(amount sched.Resources) bool {
	l.holds = amount
	return l.Attempt.ration.hold(amount[sched.Memory])
}

// A Submission is a job, and when it arrives.
type Submission struct {
	Spec *sched.JobSpec // Submit is the arrival; Work makes Stages; Open says that Work has more than its first stages
	Work Work
	// Late says that other jobs of the run may write what this one reads. It is planned when it arrives, although its
	// input may exist before: the output of an earlier run, which is about to be replaced.
	Late bool
	// Timeout is how long attempts of this job may show no sign of life; zero: as Config.Timeout says, negative: for
	// ever.
	Timeout time.Duration
}

// A Result says how a job ended.
type Result struct {
	Index   int // among the submissions
	Job     sched.JobID
	Outcome sched.Outcome
	Err     error   // why the job failed: the failure that ended it
	Failed  []error // why attempts failed, at most 20, also if the job succeeded
	// Slowed is the sum of the times in which attempts were throttled, because their nodes offered less than they held.
	Slowed time.Duration
	// Probed says that a sample of the job was submitted as a job of its own, and NotProbed why one could not be made.
	Probed    bool
	NotProbed error
	// NotClosed is the error of Work.Close: temporary files may be left behind. It does not change Outcome.
	NotClosed error
}

// mostFailures bounds Result.Failed.
const mostFailures = 20

// Config is the configuration of an engine.
type Config struct {
	Core  sched.Config // Can says which of Powers are used; zero: all
	Nodes []sched.NodeSpec
	Chaos Chaos
	// Seed is the seed of the random parts of a job's input that a probe reads.
	Seed uint64
	// Timeout ends an attempt that shows no sign of life for so long; zero: never. Hadoop's mapreduce.task.timeout is
	// 10 minutes. A Submission may have its own.
	Timeout time.Duration
	// Report is the interval at which the core is told of progress; zero: never.
	Report time.Duration
	// Offers calls tell whenever a node offers another amount, at most its capacity, until ctx is done: for nodes
	// beside a service that takes more or less of the machine. It runs on a goroutine of its own. nil: nodes always
	// offer all. Attempts stay on a node that comes to offer less, unless the policy takes them back, and are
	// throttled: together they get part of the node's capacity, which is exact, whereas offers has whole units only.
	Offers func(ctx context.Context, tell func(node sched.NodeID, offers sched.Resources, part float64))
	// Watch is called after every Step, on the engine's goroutine; nil: never. It may read the core, and must not
	// block.
	Watch func(*sched.Core)
	// Settle is for tests under a fake clock: it returns when everything that happens at this instant has happened.
	Settle func()
}

// Powers are what this engine can do beyond launching.
const Powers = sched.CanKill | sched.CanSuspend | sched.CanResize | sched.CanNameTasks | sched.CanProbe

// ErrHung is the error of an attempt that has shown no sign of life for Config.Timeout, or its job's own.
var ErrHung = errors.New("no sign of life within the time limit")

// A permanentError is an error that every attempt of the task would have.
type permanentError struct{ error }

func (p permanentError) Unwrap() error { return p.error }

// Permanent marks err as an error that every attempt of the task would have. Such an error fails the job at once.
func Permanent(err error) error { return permanentError{err} }

const (
	lookInterval = time.Second      // the interval at which the engine looks for attempts that hang
	patience     = 10 * time.Second // how long an attempt may take to end when it is told to, before it is given up
)

// An engine runs jobs on the nodes of one process. One goroutine owns it. Attempts, and other work that takes time, run
// on goroutines of their own, which send their results to the mailbox.
type engine struct {
	config   Config
	core     *sched.Core
	actions  sched.Dispatcher
	start    time.Time
	mail     mailbox
	arriving []arrival    // in order
	planning map[int]Work // by index: jobs that have arrived, and that the core was not told of yet
	planned  []plannedJob // jobs that the core is told of in the next Step
	jobs     map[sched.JobID]*jobLife
	attempts map[sched.AttemptID]*Launch
	newest   sched.JobID
	wake     sched.Time
	looked   time.Time
	reported time.Time
	limited  bool // the attempts of a job may not be silent for ever
	events   []sched.Event
	closing  int
	results  []Result

	throttling throttling
}

// Serve runs jobs to their end and returns their results, in the order of jobs. It closes the Work of each. When ctx is
// done it ends all attempts and returns the error of ctx. Jobs that are not over then, or have not arrived, are
// sched.Killed, and have no output. A job that had failed before keeps its error. A job whose output is being published
// then is not killed: Serve waits for it, and returns no error if all jobs have succeeded. A job whose first stages are
// still being planned although ctx is done has no result, and is closed when its planning ends.
func Serve(ctx context.Context, config Config, jobs []Submission) ([]Result, error) {
	if config.Core.Can &= Powers; config.Core.Can == 0 {
		config.Core.Can = Powers
	}
	e := &engine{config: config, core: sched.New(config.Core), start: time.Now(), mail: newMailbox(),
		planning: map[int]Work{}, jobs: map[sched.JobID]*jobLife{}, attempts: map[sched.AttemptID]*Launch{},
		throttling: throttling{nodes: config.Nodes}}
	e.actions = e.dispatcher(ctx)
	for i, sub := range jobs {
		e.limited = e.limited || e.limit(&sub) > 0
		e.arriving = append(e.arriving, arrival{index: i, sub: sub})
	}
	e.planAhead(ctx)
	e.start = time.Now()
	slices.SortStableFunc(e.arriving, func(a, b arrival) int {
		return cmp.Compare(a.sub.Spec.Submit, b.sub.Spec.Submit)
	})
	for i := range config.Nodes {
		e.events = append(e.events, sched.Event{Kind: sched.NodeJoined, Node: sched.NodeID(i + 1),
			Body: &config.Nodes[i]})
	}
	e.step(0)
	defer e.follow(ctx)()
	for e.busy() && ctx.Err() == nil {
		e.wait(ctx)
		e.turn(ctx)
	}
	var err error
	if ctx.Err() != nil {
		e.stop(ctx)
		unsuccessful := func(r Result) bool { return r.Outcome != sched.OK }
		if len(e.results) < len(jobs) || slices.ContainsFunc(e.results, unsuccessful) {
			err = context.Cause(ctx)
		}
	}
	slices.SortFunc(e.results, func(a, b Result) int { return cmp.Compare(a.Index, b.Index) })
	return e.results, err
}

// follow starts Config.Offers. The returned function ends it, and returns when it has ended.
func (e *engine) follow(ctx context.Context) (end func()) {
	if e.config.Offers == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		e.config.Offers(ctx, func(id sched.NodeID, offers sched.Resources, part float64) {
			e.mail.send(func(e *engine, _ context.Context) {
				e.throttling.offered(id, part)
				if e.core.Node(id).Capacity == offers {
					return
				}
				spec := e.config.Nodes[id-1]
				spec.Capacity = offers
				e.events = append(e.events, sched.Event{Kind: sched.NodeReported, Node: id, Body: &spec})
			})
		})
	}()
	return func() { cancel(); <-done }
}

// busy reports whether a job is yet to arrive, to be planned, to end or to be closed.
func (e *engine) busy() bool {
	return len(e.arriving) > 0 || len(e.planning) > 0 || len(e.jobs) > 0 || e.closing > 0
}

// now returns the time since the clock of the run started.
func (e *engine) now() sched.Time { return time.Since(e.start) }

// turn collects what has happened since the last turn as events, and calls step for this instant.
func (e *engine) turn(ctx context.Context) {
	now := e.now()
	e.arrive(ctx, now)
	for e.read(ctx) && e.config.Settle != nil { // mail may lead to more mail at this instant
	}
	e.submit(ctx)
	e.lookAfter(now)
	e.step(now)
}

// read runs the items of the mailbox, and reports whether there were any.
func (e *engine) read(ctx context.Context) bool {
	if e.config.Settle != nil {
		e.config.Settle()
	}
	list := e.mail.take()
	for _, m := range list {
		m(e, ctx)
	}
	return len(list) > 0
}

// step gives the collected events to the core and carries out its actions, until these cause no event at the same
// instant.
func (e *engine) step(now sched.Time) {
	for {
		events := e.events
		e.events = nil
		e.actions.Do(e.core.Step(now, events))
		for i := range e.core.Events {
			if v := &e.core.Events[i]; v.Kind == sched.JobEnded {
				e.jobEnded(v)
			}
		}
		if e.config.Watch != nil {
			e.config.Watch(e.core)
		}
		if len(e.events) == 0 {
			e.throttling.apply(e.core, e.attempts)
			return
		}
	}
}

// dispatcher returns the functions that carry out actions. Attempts that they launch end when ctx is done.
func (e *engine) dispatcher(ctx context.Context) sched.Dispatcher {
	return sched.Dispatcher{
		Launch: func(a *sched.Action) { e.launch(ctx, a) },
		Kill: func(id sched.AttemptID, grace sched.Time) {
			if l := e.attempts[id]; l != nil && grace > 0 {
				time.AfterFunc(grace, func() { l.cancel(errKilled) })
			} else if l != nil {
				l.cancel(errKilled)
			}
		},
		Suspend: func(id sched.AttemptID) {
			if l := e.attempts[id]; l != nil {
				l.Attempt.Suspend()
				e.events = append(e.events, sched.Event{Kind: sched.AttemptSuspended, Attempt: id})
			}
		},
		Resume: func(id sched.AttemptID) {
			if l := e.attempts[id]; l != nil {
				l.alive = time.Now()
				l.Attempt.Resume()
			}
		},
		Resize: func(id sched.AttemptID, shape sched.ShapeID) {
			if l := e.attempts[id]; l == nil {
				e.resizeHeld(id)
			} else if l.resizing = l.hold(e.core.Amount(shape)); !l.resizing {
				e.events = append(e.events, sched.Event{Kind: sched.AttemptResized, Attempt: id})
			}
		},
		Probe: func(job sched.JobID) {
			if j := e.jobs[job]; j != nil {
				e.probe(j)
			}
		},
		Wake: func(at sched.Time) { e.wake = at },
	}
}

var (
	errKilled = errors.New("killed")
	errNotYet = errors.New("its input is being made again")
	// errGone is the error of a map that has ended well, but whose output a reduce has found lost already.
	errGone = errors.New("its output was lost as it ended")
	// errNotOpen is the error of a job that the core ends with its first stages, and that has more.
	errNotOpen = errors.New("the job has more stages than its first ones: its JobSpec must be Open")
)

// launch starts attempt a.Attempt on a goroutine of its own.
func (e *engine) launch(ctx context.Context, a *sched.Action) {
	j := e.jobs[a.Stage.Job]
	stage, task := int(a.Stage.Index), int(a.Task)-1
	attempt := NewAttempt(ctx, task, j.number(stage, task))
	l := &Launch{Stage: stage, Task: task, id: a.Attempt, job: j, cancel: attempt.end, alive: time.Now(),
		Attempt: attempt}
	l.Attempt.job, l.Attempt.hardware = j.id, j.mayUse(hardwareOf(e.core, a), stage, task)
	l.holds = e.core.Amount(a.Shape)
	l.Attempt.ration.asks = e.core.Stage(a.Stage).Spec.PerTask[sched.Memory]
	l.Attempt.ration.holds.Store(l.holds[sched.Memory])
	l.Attempt.ration.tell = func(again bool) {
		e.mail.send(func(e *engine, _ context.Context) { e.resized(l, again) })
	}
	e.attempts[a.Attempt] = l
	j.running++
	fate := e.config.Chaos.fate(a.Stage, a.Task, l.Attempt.Number)
	l.Attempt.loseAt = fate.loseAt
	go func() {
		err := runOf(j.work, l)
		l.cancel(nil)
		if fate.loseOutput && err == nil {
			err = loseOutput(j.work, l) // before the engine hears of the end, which may end the round
		}
		e.sendEnd(l, err)
	}()
}

// sendEnd sends that attempt l has ended with err. A failure is read after all other mail of the turn: if another
// attempt at the task has ended well in that turn, the task is done and the failure does not count.
func (e *engine) sendEnd(l *Launch, err error) {
	send := e.mail.send
	if err != nil {
		send = e.mail.sendLast
	}
	send(func(e *engine, ctx context.Context) { e.attemptEnded(ctx, l, err) })
}

// resized handles ration.tell of attempt l. An attempt that has taken memory back holds that, whatever the core has
// asked for meanwhile, and the core learns it.
func (e *engine) resized(l *Launch, again bool) {
	if e.attempts[l.id] == nil || !again && l.Attempt.ration.due() {
		return
	}
	e.gaveUp(l)
	if again {
		amount := l.holds
		amount[sched.Memory] = l.Attempt.ration.asks
		l.hold(amount)
		e.events = append(e.events, sched.Event{Kind: sched.ResizeAsked, Attempt: l.id, Body: &amount})
	}
}

// gaveUp tells the core, if that waits for it, that attempt l holds no more memory than the core asked for.
func (e *engine) gaveUp(l *Launch) {
	if l.resizing {
		l.resizing = false
		e.events = append(e.events, sched.Event{Kind: sched.AttemptResized, Attempt: l.id})
	}
}

// resizeHeld notes that an attempt was resized whose end is held back. The core hears of both together: a policy that
// resizes again and again would keep it busy if it heard at once.
func (e *engine) resizeHeld(id sched.AttemptID) {
	a := e.core.Attempt(id)
	if a == nil {
		return
	}
	resized := sched.Event{Kind: sched.AttemptResized, Attempt: id}
	if j := e.jobs[a.Stage.Job.ID]; j != nil && len(j.held) > 0 && !slices.Contains(j.held, resized) {
		j.held = append(j.held, resized)
	}
}

// hardwareOf returns the class of nodes whose hardware an attempt may use; "": none. If the devices of the class are
// counted, only an attempt that holds one may.
func hardwareOf(c *sched.Core, a *sched.Action) string {
	class := c.Classes[c.Node(a.Node).Class-1]
	if class.Capacity[sched.Accelerators] > 0 && c.Amount(a.Shape)[sched.Accelerators] == 0 {
		return ""
	}
	return class.Name
}

// attemptEnded adds the event that attempt l has ended. The event for a job's last attempt is held back until Work has
// returned the next stages.
func (e *engine) attemptEnded(ctx context.Context, l *Launch, err error) {
	j := l.job
	lost := e.undone(l, err)
	if err == nil && j.outputGone(l) {
		err = errGone
	}
	if err == nil && l.beaten { // its output stays: the next attempt, which the core starts, finds it
		err = errKilled
	}
	if e.attempts[l.id] == nil {
		return // given up before
	}
	e.gaveUp(l)
	delete(e.attempts, l.id)
	j.running--
	j.slowed += l.Attempt.Slowed()
	done := sched.Event{Kind: sched.AttemptDone, Attempt: l.id}
	if errors.Is(err, ErrCommitted) && !l.misled && e.orphaned(l) {
		err = nil
	}
	switch {
	case err == nil:
		j.used(l, false)
		done.Body = l.Attempt.counters()
		all := j.taskDone(l)
		e.endSpare(j, l.Stage-1)
		if all && !j.ended {
			e.ask(ctx, j)
			if !j.open {
				j.held = append(j.held, done)
				return
			}
		}
	case errors.Is(err, errKilled), errors.Is(err, ErrCommitted), interrupted(ctx, err),
		j.stages[l.Stage].done[l.Task]:
		done.Outcome = sched.Killed // if another attempt has done the task, no failure counts any more
	case lost, errors.Is(err, errChaos), errors.Is(err, errNotYet), errors.Is(err, errGone):
		done.Outcome = sched.Lost
	default:
		done.Outcome = sched.Failed
		j.used(l, true)
		j.attemptFailed(l, err)
		if errors.As(err, new(permanentError)) {
			e.fail(j, err)
		}
	}
	e.events = append(e.events, done)
	e.endSpare(j, l.Stage)
	e.closeIfOver(j)
}

// endSpare ends the attempts of a stage that has spare tasks, and adds the event that no task of it waits any more. An
// attempt that ends so makes its task wait again, as far as the core knows, so endSpare is called then, too.
func (e *engine) endSpare(j *jobLife, stage int) {
	if j.ended || stage < 0 || len(j.stages[stage].spare) == 0 {
		return
	}
	for _, l := range e.attempts {
		if l.job == j && l.Stage == stage {
			l.cancel(errKilled)
		}
	}
	e.events = append(e.events, sched.Event{Kind: sched.AsksChanged, Job: j.id, Body: &sched.Asks{Stage: int32(stage)}})
}

// orphaned reports whether the task of l, which another attempt has committed, would wait for ever: that attempt was
// given up, so that the core was told it failed, and committed afterwards, or it was beaten. O(attempts).
func (e *engine) orphaned(l *Launch) bool {
	if l.job.stages[l.Stage].done[l.Task] {
		return false
	}
	for range e.attemptsAt(l.job, l.Stage, l.Task) {
		return false
	}
	return true
}

// attemptsAt yields the attempts at a task that run. O(attempts).
func (e *engine) attemptsAt(j *jobLife, stage, task int) iter.Seq[*Launch] {
	return func(yield func(*Launch) bool) {
		for _, l := range e.attempts {
			if l.job == j && l.Stage == stage && l.Task == task && !yield(l) {
				return
			}
		}
	}
}

// undone reports whether attempt l ended because it found that a map output is lost. It adds the event that lets the
// map run again, even if the attempt was killed meanwhile, because Work has forgotten the output. If the stage before
// has no such map, nothing is lost, and l has failed.
func (e *engine) undone(l *Launch, err error) bool {
	lost := new(LostOutput)
	if !errors.As(err, &lost) || l.Stage == 0 || !lost.among(len(l.job.stages[l.Stage-1].done)) {
		return false
	}
	if l.job.ended || l.job.stages[l.Stage].left == 0 { // no task needs the output of a map of this round any more
		return true
	}
	stage := l.Stage - 1
	var tasks []int32
	for _, task := range append([]int{lost.Map}, lost.Others...) {
		done := l.job.undo(stage, task)
		if done {
			tasks = append(tasks, int32(task)+1)
		}
		for other := range e.attemptsAt(l.job, stage, task) {
			other.misled, other.beaten = true, other.beaten || done
		}
	}
	if len(tasks) == 0 {
		return true
	}
	slices.Sort(tasks)
	e.events = append(e.events, sched.Event{
		Kind: sched.TaskUndone,
		Job:  l.job.id,
		Body: &sched.Undone{Stage: int32(stage), Tasks: tasks},
	})
	for before := stage - 1; before >= 0 && l.job.stages[before].unspare(); before-- {
		e.events = append(e.events, sched.Event{Kind: sched.AsksChanged, Job: l.job.id,
			Body: &sched.Asks{Stage: int32(before), Pending: sched.AskAll}})
	}
	if !errors.Is(lost.Err, ErrReleased) && l.job.stages[stage].damage(lost.Map) == mostDamaged {
		e.fail(l.job, fmt.Errorf("the output of map %d could not be read %d times: is the disk sound, and does no "+
			"program remove its files? %w", lost.Map, mostDamaged, err))
	}
	return true
}

// ask asks the work of job j for its next stages, on a goroutine of its own. The answer arrives as mail. If ctx is done
// it does not ask, because the work might publish the output of a job that is about to be killed.
func (e *engine) ask(ctx context.Context, j *jobLife) {
	if ctx.Err() != nil {
		return
	}
	j.asked = true
	go func() {
		stages, err := stagesOf(ctx, j.work)
		e.mail.send(func(e *engine, ctx context.Context) { e.answered(ctx, j, stages, err) })
	}()
}

// answered adds the next stages of job j, whose stages so far are all done. The job ends if there are none. It fails on
// an error, if a stage cannot run, and if the job was not to have more stages. If ctx is done, a job that does not end,
// and had not failed before, is left as it is, to be killed.
func (e *engine) answered(ctx context.Context, j *jobLife, stages []sched.StageSpec, err error) {
	j.asked = false
	if interrupted(ctx, err) || ctx.Err() != nil && len(stages) > 0 {
		return
	}
	e.events = append(e.events, j.held...)
	j.held = nil
	if j.ended {
		return
	}
	if err == nil {
		err = e.cannotRun(stages, int32(len(j.stages)))
	}
	if err == nil && len(stages) > 0 && !j.sub.Spec.Open {
		err = errNotOpen
	}
	switch {
	case err != nil:
		for i := range e.events { // the attempt did not bring the job to its end
			if v := &e.events[i]; v.Kind == sched.AttemptDone && v.Outcome == sched.OK &&
				e.core.Attempt(v.Attempt) != nil &&
				e.core.Attempt(v.Attempt).Stage.ID.Job == j.id {
				v.Outcome, v.Body = sched.Killed, nil
			}
		}
		e.fail(j, err)
	case len(stages) == 0:
		j.outcome = sched.OK
		if j.open || j.hasSpare() { // else the core ends it with its last task
			e.events = append(e.events, sched.Event{Kind: sched.JobEnded, Job: j.id})
		}
	default:
		for i := range stages {
			at := int32(len(j.stages))
			j.addStage(&stages[i])
			e.events = append(
				e.events,
				sched.Event{
					Kind: sched.AsksChanged,
					Job:  j.id,
					Body: &sched.Asks{Stage: at, Spec: &stages[i], Pending: stages[i].Tasks},
				},
			)
		}
		if j.allDone() { // the new stages have no tasks
			e.ask(ctx, j)
		}
	}
}

// fail adds the event that job j has failed with err. It does nothing if the job has ended, or has failed in this turn.
func (e *engine) fail(j *jobLife, err error) {
	if j.ended || j.outcome == sched.Failed {
		return
	}
	j.outcome, j.err = sched.Failed, err
	e.events = append(e.events, sched.Event{Kind: sched.JobEnded, Outcome: sched.Failed, Job: j.id})
}

// arrive starts to plan the jobs whose submission time has come.
func (e *engine) arrive(ctx context.Context, now sched.Time) {
	for len(e.arriving) > 0 && e.arriving[0].sub.Spec.Submit <= now {
		p := plannedJob{arrival: e.arriving[0]}
		e.arriving = e.arriving[1:]
		e.planning[p.index] = p.sub.Work
		if p.ahead {
			e.planned = append(e.planned, p)
			continue
		}
		go func() {
			p.stages, p.err = stagesOf(ctx, p.sub.Work)
			e.mail.send(func(e *engine, _ context.Context) { e.planned = append(e.planned, p) })
		}()
	}
}

// An arrival is a submission and its index among them.
type arrival struct {
	index  int
	sub    Submission
	ahead  bool              // its first stages were planned before the clock started
	stages []sched.StageSpec // the first ones, once they are planned
}

// planAhead gets the first stages of jobs before the clock starts, as Hadoop's client cuts splits before it submits: so
// that time does not count. It takes all jobs but those marked Late, one a processor at a time, and returns when all
// are done. An error is dropped: arrive asks the job for its stages again, and reports the error if it is still there.
func (e *engine) planAhead(ctx context.Context) {
	var wg sync.WaitGroup
	workers := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i := range e.arriving {
		a := &e.arriving[i]
		if a.sub.Late {
			continue
		}
		wg.Go(func() {
			workers <- struct{}{}
			if stages, err := stagesOf(ctx, a.sub.Work); err == nil {
				a.ahead, a.stages = true, stages
			}
			<-workers
		})
	}
	wg.Wait()
}

// cannotRun returns an error for the first stage that the core would refuse, or whose tasks no node could ever hold.
// The stages are those of a job from index first on.
func (e *engine) cannotRun(stages []sched.StageSpec, first int32) error {
	for i := range stages {
		st, at := &stages[i], first+int32(i)
		if st.Tasks < 0 {
			return fmt.Errorf("stage %d (%v): tasks: %d, must not be negative", at, st.Kind, st.Tasks)
		}
		if err := (&sched.Asks{Stage: at, Spec: st}).Validate(); err != nil {
			return err
		}
		fits := func(n sched.NodeSpec) bool { return st.PerTask.FitsIn(n.Capacity) }
		if st.Tasks > 0 && !slices.ContainsFunc(e.config.Nodes, fits) {
			var asks []string
			for kind, amount := range st.PerTask {
				if amount > 0 {
					asks = append(asks, fmt.Sprintf("%d %v", amount, sched.ResourceKind(kind)))
				}
			}
			return fmt.Errorf("a %v task asks for %s, more than any node has", st.Kind, strings.Join(asks, ", "))
		}
	}
	return nil
}

// A plannedJob has arrived and knows its first stages.
type plannedJob struct {
	arrival
	err error
}

// submit submits to the core the jobs that have been planned, in order of arrival.
func (e *engine) submit(ctx context.Context) {
	slices.SortFunc(e.planned, func(a, b plannedJob) int {
		return cmp.Or(cmp.Compare(a.sub.Spec.Submit, b.sub.Spec.Submit), cmp.Compare(a.index, b.index))
	})
	for _, p := range e.planned {
		e.submitJob(ctx, p)
	}
	e.planned = e.planned[:0]
}

// submitJob adds the event that submits job p under the next ID. If the job cannot run, because planning failed or no
// node holds its tasks, it uses up an ID, and is closed as failed. A job whose first stages have no tasks is asked at
// once for what comes next. It is submitted as Open: the core would end it before its output is in place.
func (e *engine) submitJob(ctx context.Context, p plannedJob) {
	delete(e.planning, p.index)
	e.newest++
	spec := *p.sub.Spec
	spec.Stages = p.stages
	if p.err == nil {
		p.err = cmp.Or(spec.Validate(), e.cannotRun(p.stages, 0))
	}
	j := &jobLife{id: e.newest, index: p.index, sub: p.sub, work: p.sub.Work, outcome: sched.Killed, err: p.err}
	if p.err != nil { // the core never hears of it
		if !interrupted(ctx, p.err) {
			j.outcome = sched.Failed
		}
		e.close(j)
		return
	}
	for i := range p.stages {
		j.addStage(&p.stages[i])
	}
	if j.allDone() {
		spec.Open = true
		e.ask(ctx, j)
	}
	j.open = spec.Open
	e.jobs[j.id] = j
	e.events = append(e.events, sched.Event{Kind: sched.JobSubmitted, Job: j.id, Body: &spec})
}

// jobEnded notes that the core has ended a job, with success or not, and closes the job if nothing of it runs any more.
// A Step may say twice that a job has failed: by this engine's event, and because a task has failed too often.
func (e *engine) jobEnded(v *sched.Event) {
	j := e.jobs[v.Job]
	if j == nil || j.ended {
		return
	}
	j.ended, j.outcome = true, v.Outcome
	e.endProbe(j)
	e.closeIfOver(j)
}

// closeIfOver closes a job that has ended once nothing of it runs, its probes included: their files lie among its own.
func (e *engine) closeIfOver(j *jobLife) {
	if !j.ended || j.running > 0 || j.probes > 0 || e.jobs[j.id] == nil {
		return
	}
	delete(e.jobs, j.id)
	e.close(j)
}

// close closes the work of a job, and notes its result.
func (e *engine) close(j *jobLife) {
	e.closing++
	if j.index != noResult {
		r := Result{j.index, j.id, j.outcome, nil, j.failed, j.slowed, j.probe != nil, j.notProbed, nil}
		if j.outcome == sched.Failed {
			r.Err = j.err
		}
		e.results = append(e.results, r)
	}
	at, ok := len(e.results)-1, j.outcome == sched.OK
	go func() {
		err := closeOf(j.work, ok)
		e.mail.send(func(e *engine, _ context.Context) {
			e.closing--
			if j.index == noResult { // what a probe could not remove its job removes, or says why not
				j.of.probes--
				e.closeIfOver(j.of)
				return
			}
			e.results[at].NotClosed = err
		})
	}()
}

// lookAfter ends attempts that hang, and reports progress to the core.
func (e *engine) lookAfter(now sched.Time) {
	t := e.start.Add(now)
	if e.config.Report > 0 && t.Sub(e.reported) >= e.config.Report {
		e.reported = t
		for id, l := range e.attempts {
			e.events = append(e.events, sched.Event{Kind: sched.AttemptProgress, Attempt: id,
				Progress: l.Attempt.Progress()})
		}
	}
	if !e.limited || t.Sub(e.looked) < lookInterval {
		return
	}
	e.looked = t
	for _, id := range slices.Sorted(maps.Keys(e.attempts)) { // given up in one order in every run
		l := e.attempts[id]
		signs, limit := l.Attempt.Signs(), e.limit(&l.job.sub)
		switch {
		case limit == 0:
		case signs != l.signs || l.Attempt.halted():
			l.signs, l.alive = signs, t
		case l.hung && t.Sub(l.alive) > limit+patience:
			err := fmt.Errorf("task %d: %w of %v, and does not end when asked: given up", l.Task, ErrHung, limit)
			e.sendEnd(l, err)
		case !l.hung && t.Sub(l.alive) > limit:
			l.hung = true
			l.cancel(fmt.Errorf("task %d: %w of %v", l.Task, ErrHung, limit))
		}
	}
}

// limit returns how long the attempts of a job may show no sign of life; zero: for ever.
func (e *engine) limit(sub *Submission) time.Duration {
	if sub.Timeout != 0 {
		return max(0, sub.Timeout)
	}
	return e.config.Timeout
}

// wait returns when there is mail, when something is due, or when ctx ends.
func (e *engine) wait(ctx context.Context) {
	due := sched.Time(-1)
	earlier := func(at sched.Time) {
		if due < 0 || at < due {
			due = at
		}
	}
	if len(e.arriving) > 0 {
		earlier(max(0, e.arriving[0].sub.Spec.Submit))
	}
	if e.wake > 0 {
		earlier(e.wake)
	}
	if len(e.attempts) > 0 {
		if e.limited {
			earlier(e.looked.Sub(e.start) + lookInterval)
		}
		if e.config.Report > 0 {
			earlier(e.reported.Sub(e.start) + e.config.Report)
		}
	}
	var timer <-chan time.Time
	if due >= 0 {
		t := time.NewTimer(max(0, due-e.now()))
		defer t.Stop()
		timer = t.C
	}
	select {
	case <-e.mail.ready:
	case <-timer:
	case <-ctx.Done():
	}
	if e.wake > 0 && e.now() >= e.wake {
		e.wake = 0
	}
}

// stop waits for all attempts and plans, whose context ctx has ended. It leaves behind what does not end within
// patience. The time is counted in parts: while the whole process stands still, one part passes at most.
//
// For jobs that have been asked for their next stages it waits as long as that takes, because their output may be
// published at any instant until they answer. If that was the end of the last job, the core learns it. Otherwise the
// core is not called any more, because it would start attempts of other jobs.
func (e *engine) stop(ctx context.Context) {
	parts := 10
	tick := time.NewTicker(patience / time.Duration(parts))
	defer tick.Stop()
	for (len(e.attempts) > 0 || len(e.planning) > len(e.planned)) && parts > 0 {
		select {
		case <-e.mail.ready:
		case <-tick.C:
			parts--
		}
		e.read(ctx)
	}
	asked := func(j *jobLife) bool { return j.asked }
	for e.anyJob(asked) {
		<-e.mail.ready
		e.read(ctx)
	}
	killed := func(j *jobLife) bool { return j.index != noResult && j.outcome == sched.Killed }
	if len(e.arriving) == 0 && len(e.planning) == 0 && !e.anyJob(killed) {
		for _, j := range e.jobs {
			e.endProbe(j)
		}
		e.step(e.now())
		e.awaitClosed(ctx) // a job is closed after its probe
	}
	e.closeAll(ctx)
}

// awaitClosed returns when all jobs that are being closed are closed.
func (e *engine) awaitClosed(ctx context.Context) {
	for e.closing > 0 {
		<-e.mail.ready
		e.read(ctx)
	}
}

// anyJob reports whether is holds for a job that the core was told of, and that is not closed.
func (e *engine) anyJob(is func(*jobLife) bool) bool {
	for _, j := range e.jobs {
		if is(j) {
			return true
		}
	}
	return false
}

// closeAll closes the jobs that are left, also those that the core was never told of, and waits until they are closed.
// It does not wait for a job whose first stages are still being planned: its Close may wait until the plan is made.
func (e *engine) closeAll(ctx context.Context) {
	for id, j := range e.jobs {
		delete(e.jobs, id)
		e.close(j)
	}
	for _, p := range e.planned {
		delete(e.planning, p.index)
		if p.err != nil && !interrupted(ctx, p.err) {
			e.close(&jobLife{index: p.index, work: p.sub.Work, outcome: sched.Failed, err: p.err})
			continue
		}
		e.arriving = append(e.arriving, p.arrival)
	}
	for _, a := range e.arriving {
		e.close(&jobLife{index: a.index, work: a.sub.Work, outcome: sched.Killed})
	}
	for _, w := range e.planning {
		go func() { _ = closeOf(w, false) }()
	}
	e.awaitClosed(ctx)
}

// counters returns an attempt's counts as estimators and records have them.
func (a *Attempt) counters() *sched.Counters {
	r := a.Report()
	c := &sched.Counters{InputRecords: r.Counters.Of[MapInputRecords] + r.Counters.Of[ReduceInputRecords],
		OutputRecords: r.Counters.Of[MapOutputRecords] + r.Counters.Of[ReduceOutputRecords],
		InputBytes:    r.Counters.Of[BytesRead] + r.Counters.Of[ReduceShuffleBytes],
		OutputBytes:   r.Counters.Of[BytesWritten],
		CPU:           r.CPU}
	if c.OutputBytes == 0 { // a map of whose output no part is made
		c.OutputBytes = r.Counters.Of[MapOutputBytes]
	}
	c.LocalBytes, c.SpilledRecords = c.InputBytes, r.Counters.Of[SpilledRecords] // all nodes are this machine
	for p := range NumPhases {
		c.Phases[schedPhase[p]] = r.Phases[p]
	}
	return c
}

var schedPhase = [NumPhases]sched.Phase{
	Read:    sched.PhaseRead,
	Map:     sched.PhaseMap,
	Sort:    sched.PhaseSort,
	Spill:   sched.PhaseSpill,
	Shuffle: sched.PhaseShuffle,
	Merge:   sched.PhaseMerge,
	Reduce:  sched.PhaseReduce,
	Write:   sched.PhaseWrite,
}

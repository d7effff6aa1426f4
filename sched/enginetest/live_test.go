package enginetest_test

import (
	"context"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/sched"
	"github.com/sojourn-sched/sojourn/sched/enginetest"
)

// A live is a small engine whose tasks run in real time: each attempt is a goroutine, which ends when it ends. It can
// kill and suspend. Read it from serve down.
//
// The goroutine that calls serve owns the core and all fields. An attempt sends to facts what has happened to it, and
// waits until the owner takes the fact. The owner never waits for an attempt, so there is no deadlock.
type live struct {
	core  *sched.Core
	hands sched.Dispatcher
	begun time.Time                   // sched.Time counts from this instant
	wake  sched.Time                  // when the core asked to be woken; zero: not
	runs  map[sched.AttemptID]*worker // attempts whose end the owner does not know
	facts chan sched.Event
}

// A worker is how the owner controls an attempt. Its channels have room for one message, so the owner never waits: the
// core stops an attempt again only after it has learned that the attempt stopped, and has resumed it.
type worker struct {
	stop, resume chan struct{}
	ctx          context.Context // ends when the attempt is to end
	end          context.CancelFunc
}

// serve runs jobs on nodes until all have ended. One turn of the loop is one Step. The clock is read after the facts
// are collected, so that no fact is later than its Step. time.Since is monotonic, so that no Step is before the last
// one.
func serve(config sched.Config, nodes []sched.NodeSpec, jobs []*sched.JobSpec) *sched.Core {
	e := &live{begun: time.Now(), runs: map[sched.AttemptID]*worker{}, facts: make(chan sched.Event)}
	e.hands = sched.Dispatcher{
		Launch: func(a *sched.Action) {
			w := &worker{stop: make(chan struct{}, 1), resume: make(chan struct{}, 1)}
			w.ctx, w.end = context.WithCancel(context.Background())
			e.runs[a.Attempt] = w
			go e.work(a.Attempt, w, e.core.Stage(a.Stage).Spec.Prior) // evaluated here: a is lent
		},
		Kill:    func(id sched.AttemptID, grace sched.Time) { time.AfterFunc(grace, e.runs[id].end) },
		Suspend: func(id sched.AttemptID) { e.runs[id].stop <- struct{}{} },
		Resume:  func(id sched.AttemptID) { e.runs[id].resume <- struct{}{} },
		Wake:    func(at sched.Time) { e.wake = at },
	}
	config.Can = e.hands.Powers() | sched.CanNameTasks
	e.core = sched.New(config)
	var events []sched.Event
	for i := range nodes {
		events = append(events, sched.Event{Kind: sched.NodeJoined, Node: sched.NodeID(i + 1), Body: &nodes[i]})
	}
	for i, spec := range jobs { // a job that comes later would be a fact, too
		events = append(events, sched.Event{Kind: sched.JobSubmitted, Job: sched.JobID(i + 1), Body: spec})
	}
	for {
		now := time.Since(e.begun)
		if now >= e.wake {
			e.wake = 0
		}
		e.hands.Do(e.core.Step(now, events))
		if e.core.LiveJobs() == 0 && len(e.runs) == 0 {
			return e.core
		}
		events = e.gather()
	}
}

// gather waits for a fact, or for the instant at which the core wants to be woken, and returns all facts that are there
// now. They may be stale: an attempt may have been through when it was told to stop or to end. It says what has
// happened, and the core goes by that.
func (e *live) gather() (events []sched.Event) {
	var woken <-chan time.Time
	if e.wake > 0 {
		woken = time.After(e.wake - time.Since(e.begun))
	}
	select {
	case fact := <-e.facts:
		events = append(events, e.learn(fact))
	case <-woken:
	}
	for {
		select {
		case fact := <-e.facts:
			events = append(events, e.learn(fact))
		default:
			return events
		}
	}
}

// learn forgets an attempt that has ended. The core learns the same in the next Step, and asks nothing of it any more.
func (e *live) learn(fact sched.Event) sched.Event {
	if fact.Kind == sched.AttemptDone {
		e.runs[fact.Attempt].end() // frees its context
		delete(e.runs, fact.Attempt)
	}
	return fact
}

// work is an attempt with so much work left. After each piece it looks whether it is to stop or to end, and says so
// only when it has done so: room that the core takes for free is free. (A task that is a program would be stopped and
// ended by signals, and its goroutine would wait for the program.)
func (e *live) work(id sched.AttemptID, w *worker, left time.Duration) {
	const piece = time.Millisecond
	for ; left > 0; left -= piece {
		time.Sleep(piece) // your task does a part of its work here; if it cannot, it ends as sched.Failed
		select {
		case <-w.stop:
			e.facts <- sched.Event{Kind: sched.AttemptSuspended, Attempt: id}
			select {
			case <-w.resume:
			case <-w.ctx.Done():
			}
		default:
		}
		if w.ctx.Err() != nil {
			e.facts <- sched.Event{Kind: sched.AttemptDone, Outcome: sched.Killed, Attempt: id}
			return
		}
	}
	e.facts <- sched.Event{Kind: sched.AttemptDone, Attempt: id}
}

// brief is the load of the toy with tasks of 20 ms.
func brief() ([]sched.NodeSpec, []*sched.JobSpec) {
	nodes, jobs := load()
	jobs[0].Stages[0].Prior = 20 * time.Millisecond // both jobs are this one
	return nodes, jobs
}

func TestLive(t *testing.T) {
	enginetest.Check(t, enginetest.Kit{Late: time.Minute, Run: func(_ *testing.T, config sched.Config) {
		nodes, jobs := brief()
		serve(config, nodes, jobs)
	}})
}

// Six at a time of twenty tasks of 20 ms: four waves. How much longer they take depends on the machine.
func TestLiveTakesItsTime(t *testing.T) {
	nodes, jobs := brief()
	if c := serve(sched.Config{Policy: launchAll{}}, nodes, jobs); c.Now < 80*time.Millisecond || c.LiveJobs() != 0 {
		t.Errorf("ends at %v with %d jobs left, want 80ms or later and none", c.Now, c.LiveJobs())
	}
}

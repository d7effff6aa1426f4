package mr

import (
	"context"
	"sync"
	"time"

	"github.com/sojourn-sched/sojourn/sched"
)

// A jobLife is what the engine keeps of a job from its submission until it is closed.
type jobLife struct {
	id      sched.JobID
	index   int // among the submissions; noResult: a probe
	sub     Submission
	work    Work
	running int // attempts
	ended   bool
	outcome sched.Outcome
	err     error         // the last that an attempt ended with
	failed  []error       // those that attempts failed with, the first mostFailures
	held    []sched.Event // the end of the last attempts, until the work has said what comes next
	stages  []*stageLife
	slowed  time.Duration // sum over its attempts that have ended

	of     *jobLife // the job that it is a probe of; nil: it is none
	probe  *jobLife // its newest probe; nil: none
	probes int      // of it that are not closed
}

// noResult is the index of a job that no caller submitted: a probe.
const noResult = -1

type stageLife struct {
	starts []int32 // by task: attempts so far
	done   []bool
	left   int // tasks not done
}

func (j *jobLife) addStage(tasks int32) {
	j.stages = append(j.stages, &stageLife{make([]int32, tasks), make([]bool, tasks), int(tasks)})
}

// number returns the ordinal of a new attempt at a task, from 0.
func (j *jobLife) number(stage, task int) int {
	s := j.stages[stage]
	s.starts[task]++
	return int(s.starts[task]) - 1
}

// taskDone notes a task as done, and reports whether that was the last of all stages.
func (j *jobLife) taskDone(l *Launch) bool {
	s := j.stages[l.Stage]
	if s.done[l.Task] {
		return false
	}
	s.done[l.Task] = true
	s.left--
	for _, s := range j.stages {
		if s.left > 0 {
			return false
		}
	}
	return true
}

// undo notes that the output of a map was lost, found by a task of a stage, and returns the map's stage, the one
// before; false: known already.
func (j *jobLife) undo(stage, task int) (maps int, news bool) {
	maps = stage - 1
	s := j.stages[maps]
	if !s.done[task] {
		return maps, false
	}
	s.done[task] = false
	s.left++
	return maps, true
}

// A mailbox holds what other goroutines want done on the engine's. Sending never blocks.
type mailbox struct {
	ready chan struct{} // has one when there is mail
	box   *mailSlice
}

type mailItem = func(*engine, context.Context)

type mailSlice struct {
	sync.Mutex
	list []mailItem
}

func newMailbox() mailbox { return mailbox{make(chan struct{}, 1), new(mailSlice)} }

func (m mailbox) send(item mailItem) {
	m.box.Lock()
	m.box.list = append(m.box.list, item)
	m.box.Unlock()
	select {
	case m.ready <- struct{}{}:
	default:
	}
}

func (m mailbox) take() []mailItem {
	m.box.Lock()
	defer m.box.Unlock()
	list := m.box.list
	m.box.list = nil
	return list
}

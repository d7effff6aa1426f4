package mr

import (
	"maps"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn/sched"
)

// A jobLife is what the engine keeps of a job from its submission until it is closed.
type jobLife struct {
	id      sched.JobID
	index   int // among the submissions; noResult: a probe
	sub     Submission
	work    Work
	running int           // attempts
	open    bool          // the core does not end it with its stages: the engine does, once its output is in place
	asked   bool          // work has been asked for the stages after those that are done, and has not answered
	ended   bool          // the core has said so
	outcome sched.Outcome // Killed until the job has failed or its output is in place: what an interruption makes of it
	err     error         // what has failed it; until then the last that an attempt ended with
	failed  []error       // those that attempts failed with, the first mostFailures
	held    []sched.Event // the end of the last attempts, until the work has said what comes next
	stages  []*stageLife
	slowed  time.Duration // sum over its attempts that have ended

	// broken has by class of nodes how many attempts in a row have failed that might use its hardware.
	broken map[string]int

	of     *jobLife // the job that it is a probe of; nil: it is none
	probe  *jobLife // its newest probe; nil: none
	probes int      // of it that are not closed
	// notProbed is why its last probe could not be made; nil: it was, or there can be none.
	notProbed error
}

// noResult is the index of a job that no caller submitted: a probe.
const noResult = -1

// A stageLife is what the engine keeps of a stage.
type stageLife struct {
	starts []int32 // by task: attempts so far
	done   []bool  // by task
	plain  []bool  // by task: an attempt that might use special hardware has failed; nil: none has
	left   int     // tasks not done
	most   int32   // how often a task may fail before the job fails; 0: as often as it does
	// failures has by task how many attempts have failed that the core takes account of. nil: none.
	failures map[int]int32
	// again has the tasks that are not done because their output was lost. nil: none.
	again map[int]bool
	// spare has the tasks which were to run again and count as done, because nothing needs their output, although the
	// core knows them as not done. nil: none.
	spare map[int]bool
	// gone has by task how many outputs reduces have found lost although the end of the map that made it had not been
	// heard of. nil: none.
	gone map[int]int
	// damaged has by task how many outputs could not be read. Outputs that were given up on purpose do not count.
	damaged map[int]int
}

// mostDamaged is how many outputs of a map may be unreadable before its job fails. Hadoop counts a map whose output
// cannot be fetched as failed, and gives a task four attempts.
const mostDamaged = sched.DefaultMaxAttempts

// damage counts an output of a task that could not be read, and returns how many there have been.
func (s *stageLife) damage(task int) int {
	if s.damaged == nil {
		s.damaged = map[int]int{}
	}
	s.damaged[task]++
	return s.damaged[task]
}

func (j *jobLife) addStage(spec *sched.StageSpec) {
	n := spec.Tasks
	j.stages = append(j.stages, &stageLife{starts: make([]int32, n), done: make([]bool, n), left: int(n),
		most: spec.MaxAttempts})
}

// attemptFailed notes that attempt l has failed with err. With the last failure that its task may have, the job has
// failed: the core ends it in the next Step, whatever other attempts end with until then.
func (j *jobLife) attemptFailed(l *Launch, err error) {
	if len(j.failed) < mostFailures {
		j.failed = append(j.failed, err)
	}
	if j.ended || j.outcome == sched.Failed {
		return
	}
	j.err = err
	if l.beaten {
		return
	}
	s := j.stages[l.Stage]
	if s.failures == nil {
		s.failures = map[int]int32{}
	}
	if s.failures[l.Task]++; s.failures[l.Task] == s.most {
		j.outcome = sched.Failed
	}
}

// mostBroken is how many attempts in a row that might use the hardware of a class may fail before the job does without.
const mostBroken = 2

// mayUse returns the class of nodes whose hardware an attempt at a task may use, which runs on a node of that class.
// "": none, because attempts with it have failed.
func (j *jobLife) mayUse(class string, stage, task int) string {
	if plain := j.stages[stage].plain; plain != nil && plain[task] || j.broken[class] >= mostBroken {
		return ""
	}
	return class
}

// used notes that an attempt ended which might use the hardware of a class of nodes.
func (j *jobLife) used(l *Launch, failed bool) {
	class := l.Attempt.hardware
	if class == "" {
		return
	}
	if !failed {
		delete(j.broken, class)
		return
	}
	if j.broken == nil {
		j.broken = map[string]int{}
	}
	j.broken[class]++
	s := j.stages[l.Stage]
	if s.plain == nil {
		s.plain = make([]bool, len(s.done))
	}
	s.plain[l.Task] = true
}

// number returns the ordinal of a new attempt at a task, from 0.
func (j *jobLife) number(stage, task int) int {
	s := j.stages[stage]
	s.starts[task]++
	return int(s.starts[task]) - 1
}

// taskDone notes a task as done, and reports whether that was the last of all stages. With the last reduce of a round,
// maps that were to run again are spare. As in Hadoop, the job does not wait for them.
func (j *jobLife) taskDone(l *Launch) bool {
	s := j.stages[l.Stage]
	if s.done[l.Task] {
		return false
	}
	s.done[l.Task] = true
	s.left--
	delete(s.again, l.Task)
	if s.left == 0 && l.Stage > 0 {
		j.stages[l.Stage-1].spareAgain()
	}
	return j.allDone()
}

// spareAgain notes the tasks that were to run again as done.
func (s *stageLife) spareAgain() {
	for task := range s.again {
		s.done[task] = true
		s.left--
	}
	if s.spare == nil {
		s.spare = s.again
	} else {
		maps.Copy(s.spare, s.again)
	}
	s.again = nil
}

// unspare notes the spare tasks as not done: what reads them must run again. It reports whether there are any.
func (s *stageLife) unspare() bool {
	if len(s.spare) == 0 {
		return false
	}
	for task := range s.spare {
		s.done[task] = false
		s.left++
	}
	s.again, s.spare = s.spare, nil // while there are spare tasks, no others are to run again
	return true
}

// hasSpare reports whether a stage has tasks that count as done, and that the core knows as not done.
func (j *jobLife) hasSpare() bool {
	return slices.ContainsFunc(j.stages, func(s *stageLife) bool { return len(s.spare) > 0 })
}

// allDone reports whether all tasks of the job's stages so far are done.
func (j *jobLife) allDone() bool {
	return !slices.ContainsFunc(j.stages, func(s *stageLife) bool { return s.left > 0 })
}

// undo notes that the output of a task of a map stage was lost. It returns false if the task is not done: a reduce can
// read the output of a map before the engine hears that the map has ended (outputGone).
func (j *jobLife) undo(stage, task int) bool {
	s := j.stages[stage]
	if s.again == nil {
		s.again = map[int]bool{}
	}
	s.again[task] = true
	if !s.done[task] {
		if s.gone == nil {
			s.gone = map[int]int{}
		}
		s.gone[task]++
		return false
	}
	s.done[task] = false
	s.left++
	return true
}

// outputGone reports whether a reduce has found the output of attempt l lost before l was heard to end well.
func (j *jobLife) outputGone(l *Launch) bool {
	s := j.stages[l.Stage]
	if s.done[l.Task] || s.gone[l.Task] == 0 {
		return false
	}
	s.gone[l.Task]--
	return true
}

package workload

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/sojourn-sched/sojourn/internal/spelling"
	"github.com/sojourn-sched/sojourn/sched"
)

// Losses counts what a format cannot hold of the jobs that are written in it, so that a conversion does not change
// results in silence. The zero Losses is ready.
//
// YAML holds all fields that a trace can give. The others hold of JobSpec, StageSpec and StageTruth:
//
//   - SWIM: Name, Submit, and of all stages together Input, Shuffle and Output. Tasks, Base, Start, Rate, Block and
//     PerTask are held where they are what its reader makes of these bytes by the options given to Watch.
//   - SLS: Name, User, Queue, Type, Submit, and of each stage Kind, Tasks, the memory and vcores of PerTask, and the
//     times of tasks, which List, Base, Rate and Sigma make, in whole milliseconds.
type Losses struct {
	format  Format
	options Options // with which what is written is read again
	jobs    int64
	counts  [numLosses]int64 // jobs, by what they lose
}

// A loss is something that a job may have and a format may not hold.
type loss int

const (
	lostBytes loss = iota
	lostTimes
	lostParts
	lostFetch
	lostResources
	lostRank
	lostOwner
	lostTerms
	lostCounts
	lostNeeds
	lostSpeeds
	lostDelays
	lostStarts
	numLosses
)

var lossNames = [numLosses]string{
	lostBytes:     "bytes of tasks: reading and shuffling take no time there",
	lostTimes:     "task times: they are computed anew from bytes",
	lostParts:     "parts of a millisecond of times",
	lostFetch:     "fetch times apart from the rest of a reduce",
	lostResources: "resources of tasks other than memory and vcores",
	lostNeeds:     "resources of tasks",
	lostRank:      "weight, priority or deadline",
	lostOwner:     "user, queue or type",
	lostTerms:     "goal, minimum, maximum or profile",
	lostCounts:    "numbers of tasks: they are computed anew from bytes",
	lostSpeeds:    "speeds on classes of nodes",
	lostDelays:    "delays",
	lostStarts:    "starts of containers apart from the rest of a task, for jobs in their masters",
}

// Watch yields the jobs of s, and counts what format f cannot hold of them. What is written is read again with options
// o, those of a cluster or Defaults. Their SizeScale does not matter: s has scaled its sizes already.
func (l *Losses) Watch(f Format, o Options, s Source) Source {
	l.format, l.options = f, o
	return func(yield func(*sched.JobSpec, error) bool) {
		for job, err := range s {
			if err == nil {
				l.count(job)
			}
			if !yield(job, err) {
				return
			}
		}
	}
}

// count takes in a job. O(tasks that its truth lists).
func (l *Losses) count(job *sched.JobSpec) {
	t, ok := job.Payload.(*Truth)
	if !ok || l.format != SWIM && l.format != SLS {
		return
	}
	l.jobs++
	var has [numLosses]bool
	has[lostRank] = job.Weight != 0 && job.Weight != 1 || job.Priority != 0 || job.Deadline != 0
	has[lostTerms] = job.Goal != nil || job.Profile != nil || job.Min != (sched.Resources{}) ||
		job.Max != (sched.Resources{})
	has[lostParts] = job.Submit%time.Millisecond != 0 && l.format == SLS
	if l.format == SWIM {
		l.swimLosses(&has, job, t)
		has[lostOwner] = job.User != "" || job.Queue != "" || job.Type != mapReduce
	}
	has[lostDelays] = job.Delays != 0
	for i := range t.Stages {
		st, needs := &t.Stages[i], job.Stages[i].PerTask
		has[lostSpeeds] = has[lostSpeeds] || len(st.Speeds) > 0
		if l.format == SWIM {
			continue
		}
		has[lostBytes] = has[lostBytes] || st.Input+st.Shuffle+st.Output > 0
		has[lostStarts] = has[lostStarts] || st.Start > 0
		for k, n := range needs {
			switch sched.ResourceKind(k) {
			case sched.Memory, sched.VCores:
			case sched.MapSlots, sched.ReduceSlots: // a reader gives each task one
				has[lostResources] = has[lostResources] || n > 1
			default:
				has[lostResources] = has[lostResources] || n > 0
			}
		}
		has[lostParts] = has[lostParts] || st.List == nil && (st.Sigma > 0 || t.Time(int32(i), 1)%time.Millisecond != 0)
		for _, task := range st.List {
			has[lostFetch] = has[lostFetch] || task.Fetch > 0
			has[lostParts] = has[lostParts] || task.Time()%time.Millisecond != 0 || task.Time() == 0
		}
	}
	for what := range has {
		if has[what] {
			l.counts[what]++
		}
	}
}

// swimLosses notes in has what of the stages of a job, whose Payload is t, differs from what the reader of SWIM makes
// of the job's bytes. Without a cluster, tasks may hold what the reader gives them on a cluster with or without slots.
func (l *Losses) swimLosses(has *[numLosses]bool, job *sched.JobSpec, t *Truth) {
	in, shuffle, out := t.Bytes()
	o := l.options
	o.SizeScale = 1
	clustered := o.Nodes > 0
	again, err := o.fromBytes(sched.JobSpec{}, 1, traffic{in, shuffle, out})
	if err != nil {
		has[lostCounts], has[lostTimes] = true, true
		return
	}
	read := again.Payload.(*Truth)
	has[lostCounts] = len(read.Stages) != len(t.Stages)
	for i := range t.Stages {
		st, needs := t.Stages[i], job.Stages[i].PerTask
		slots := again.Stages[min(i, len(again.Stages)-1)].PerTask
		has[lostNeeds] = has[lostNeeds] || needs != slots && (clustered || !needsContainer(needs))
		if i >= len(read.Stages) {
			has[lostTimes] = has[lostTimes] || st.List != nil || st.Rate != o.ReduceRate
			continue
		}
		has[lostCounts] = has[lostCounts] || st.Tasks != read.Stages[i].Tasks
		start := st.Start
		st.Tasks, st.Speeds, st.Start = read.Stages[i].Tasks, nil, read.Stages[i].Start
		same := reflect.DeepEqual(st, read.Stages[i])
		has[lostTimes] = has[lostTimes] || !same
		has[lostStarts] = has[lostStarts] || same && start != st.Start
	}
}

// needsContainer reports whether a task holds what readers give it by default on a cluster without slots. The cluster
// may have memory alone.
func needsContainer(needs sched.Resources) bool {
	for k, n := range needs {
		if n != 0 && n != container[k] {
			return false
		}
	}
	return needs != sched.Resources{}
}

// String says what is lost, and of how many jobs; "" where nothing is.
func (l *Losses) String() string {
	var parts []string
	for what, n := range l.counts {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("of %d of %s %s", n, spelling.Count(l.jobs, "job"), lossNames[what]))
		}
	}
	if parts == nil {
		return ""
	}
	return fmt.Sprintf("%s does not hold, and results may change by it: %s", l.format, strings.Join(parts, "; "))
}

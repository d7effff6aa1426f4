package sim

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sojourn-sched/sojourn/internal/spelling"
	"github.com/sojourn-sched/sojourn/sched"
)

// ErrStuck is returned when jobs are left and none of them will ever make progress. The message names the jobs and what
// they wait for.
var ErrStuck = errors.New("jobs are left, and nothing will bring them on")

// An idleness says for how long nothing has been launched, ended or submitted, and how many attempts have been launched
// in vain.
type idleness struct {
	since    sched.Time // when something was last launched, ended or submitted
	steps    int64      // Steps since then
	done     int64      // tasks that are done, also of ended jobs; a task whose output is lost counts no more
	frontier int64      // the largest done so far
	futile   int64      // attempts launched since frontier grew
	wakes    int64      // Steps without events, in all
}

// succeed counts an attempt that succeeded. To do again what was lost is no progress.
func (x *idleness) succeed() {
	if x.done++; x.done > x.frontier {
		x.frontier, x.futile = x.done, 0
	}
}

// A run in which no job makes progress need not end: nodes may go on reporting, and policies waking. It is stuck when
// nothing runs and no job is to come, for patienceSteps Steps; or, if all nodes have reported at least twice, for
// patience and as long as the timetables take to have all their changes.
const (
	patienceSteps = 1_000_000
	// mostFutile is how many attempts may be launched in vain for each that runs. Jobs with Hadoop's 4 attempts a task
	// fail long before. Only losses of nodes, which do not count as failures, lead to so many.
	mostFutile = 100
	patience   = 24 * time.Hour
)

// note notes whether a Step, at now, has launched, ended or submitted something.
func (x *idleness) note(now sched.Time, moved bool) {
	if moved {
		x.since, x.steps = now, 0
		return
	}
	x.steps++
}

// stalled reports whether no job will ever make progress, if nothing happens before at.
func (e *engine) stalled(at sched.Time) bool {
	x := &e.idle
	if x.steps == 0 || e.pending > 0 || e.feed.at() != sched.Never {
		return false
	}
	return x.steps > patienceSteps || x.steps > int64(2*len(e.nodes.list)+1000) &&
		at-x.since > patience+e.nodes.timetables.longest
}

// inVain reports whether attempts are launched again and again while no job makes progress, as happens if nodes are
// lost faster than tasks end. alive is how many attempts run.
func (x *idleness) inVain(alive int) bool {
	return x.futile > patienceSteps && x.futile > mostFutile*int64(alive)
}

// late returns the error of a run whose clock passes clockMax.
func (e *engine) late() error {
	return fmt.Errorf("%w: %s left, and %s launched since one of them last got "+
		"further: are tasks too long for the cluster, or nodes lost faster than tasks end?", ErrClock,
		spelling.Count(e.core.LiveJobs(), "job is", "jobs are"), launched(e.idle.futile))
}

func launched(n int64) string { return spelling.Count(n, "attempt was", "attempts were") }

// stuck returns the error that names the first few jobs that are left, and what they wait for.
func (e *engine) stuck() error {
	const most = 5
	var lines []string
	for j := range e.core.Jobs() {
		if len(lines) == most {
			lines = append(lines, fmt.Sprintf("and %d more", e.core.LiveJobs()-most))
			break
		}
		lines = append(lines, fmt.Sprintf("job %d (%s): %s", j.ID, j.Spec.Name, e.why(j)))
	}
	if len(lines) == 0 {
		lines = append(lines, "no job, but "+
			spelling.Count(e.attempts.alive, "attempt that was asked to end", "attempts that were asked to end"))
	}
	return fmt.Errorf("%w: %s", ErrStuck, strings.Join(lines, "; "))
}

// why returns in words what job j waits for.
func (e *engine) why(j *sched.Job) string {
	for _, st := range j.Stages {
		who := fmt.Sprintf("stage %d (%v)", st.ID.Index, st.Kind)
		wait := spelling.Count(st.Pending, "task waits", "tasks wait")
		switch {
		case st.Suspended > 0:
			return fmt.Sprintf("%s: %s suspended, and the policy resumes none", who,
				spelling.Count(st.Suspended, "attempt is", "attempts are"))
		case st.Running > 0 && e.tasks.throttle.halts():
			return fmt.Sprintf("%s: %s nothing any more", who, spelling.Count(st.Running,
				"attempt stands still, because its node offers", "attempts stand still, because their nodes offer"))
		case st.Pending > 0 && !e.nodes.everFit(st):
			return fmt.Sprintf("%s: a task asks for %s, more than any node has (%s)", who, amounts(st.Spec.PerTask),
				amounts(e.nodes.largest()))
		case st.Pending > 0 && e.core.First(st) != nil:
			return fmt.Sprintf("%s: %s, node %d has room, and the policy starts none", who, wait,
				e.core.First(st).ID)
		case st.Pending > 0 && j.Running > 0:
			return fmt.Sprintf("%s: %s for room, while %s room and %s for them", who, wait,
				spelling.Count(j.Running, "attempt of the job itself holds", "attempts of the job itself hold"),
				map[bool]string{true: "waits", false: "wait"}[j.Running == 1])
		case st.Pending > 0:
			return fmt.Sprintf("%s: %s, and no node that is there, open to it and within its queue's "+
				"maximum has room", who, wait)
		case st.Running > 0:
			return fmt.Sprintf("%s: %s for what other stages make", who,
				spelling.Count(st.Running, "attempt runs and waits", "attempts run and wait"))
		}
	}
	return "waits for nothing that could be named"
}

// everFit reports whether some node could hold a task of st if it were empty.
func (m *machines) everFit(st *sched.Stage) bool {
	for i := range m.list {
		if st.Spec.PerTask.FitsIn(m.list[i].spec.Capacity) {
			return true
		}
	}
	return false
}

// largest returns, for each kind of resource, the most that a node has.
func (m *machines) largest() (r sched.Resources) {
	for i := range m.list {
		for k, a := range m.list[i].spec.Capacity {
			r[k] = max(r[k], a)
		}
	}
	return r
}

// amounts returns the amounts of r that are not zero, as text.
func amounts(r sched.Resources) string {
	var parts []string
	for k, a := range r {
		if a > 0 {
			parts = append(parts, fmt.Sprintf("%v %d", sched.ResourceKind(k), a))
		}
	}
	return strings.Join(parts, ", ")
}

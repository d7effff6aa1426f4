package record

import "github.com/sojourn-sched/sojourn/sched"

// aloneTimes finds the time that a job which has ended would have taken alone on the cluster, from the times that its
// tasks took beside others. It is for engines that do not know the true times, and whose tasks do not wait for others
// while they run.
type aloneTimes struct{ tasks sched.Per[taskTimes] } // by stage

// taskTimes are the times of a stage's attempts that succeeded.
type taskTimes struct {
	n            int64
	sum, longest sched.Time
}

// note takes in an attempt that has succeeded.
func (t *aloneTimes) note(v *sched.View, e *sched.Event) {
	if a := v.Attempt(e.Attempt); a != nil {
		ran, of := v.Ran(a, v.Now), t.tasks.Of(a.Stage)
		of.n, of.sum, of.longest = of.n+1, of.sum+ran, max(of.longest, ran)
	}
}

// of returns the longest path through the stages of j. A stage takes the larger of waves × mean task time and the
// longest task; waves are its tasks ÷ the tasks that the cluster's capacity holds at once, rounded up.
func (t *aloneTimes) of(v *sched.View, j *sched.Job) (longest sched.Time) {
	ends := make([]sched.Time, len(j.Stages))
	for i, st := range j.Stages {
		for _, dep := range st.Spec.After {
			ends[i] = max(ends[i], ends[dep.Stage])
		}
		if of := t.tasks.Of(st); of.n > 0 {
			at := int64(-1)
			for k, each := range &st.Spec.PerTask {
				if each > 0 && (at < 0 || v.Capacity[k]/each < at) {
					at = v.Capacity[k] / each
				}
			}
			at = max(1, at)
			waves := (int64(st.Done) + at - 1) / at
			ends[i] += max(of.sum/sched.Time(of.n)*sched.Time(waves), of.longest)
		}
		longest = max(longest, ends[i])
	}
	return longest
}

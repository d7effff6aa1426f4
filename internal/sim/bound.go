package sim

import (
	"github.com/sojourn-sched/sojourn/internal/workload"
	"github.com/sojourn-sched/sojourn/sched"
)

// Alone returns a function that gives the time which a job would take alone on the empty cluster, as a yardstick for
// its slowdown: the sum over its stages of the larger of waves × mean task time and the longest task, with true times
// on the fastest nodes. Waves are the stage's tasks ÷ the tasks that the cluster holds at once, rounded up. A master
// counts with its start, and an uber job's tasks one by one. Locality, shuffle and accidents are left out. It is zero
// for a job without tasks, and for one that the cluster cannot hold.
func Alone(c *workload.Cluster) func(*sched.JobSpec) sched.Time {
	fastest := func(st *workload.StageTruth) (speed float64) {
		for i := range c.Classes {
			speed = max(speed, c.Classes[i].Speed*st.SpeedOn(c.Classes[i].Name))
		}
		return speed
	}
	rooms := map[sched.Resources]int64{}
	room := func(needs sched.Resources) int64 {
		n, ok := rooms[needs]
		if !ok {
			for i := range c.Classes {
				n += holds(c.Classes[i].Resources, needs) * int64(c.Classes[i].Count)
			}
			rooms[needs] = n
		}
		return n
	}
	return func(j *sched.JobSpec) (d sched.Time) {
		t, ok := j.Payload.(*workload.Truth)
		if !ok {
			return 0
		}
		for i, st := range t.All(j) {
			speed := fastest(&t.Stages[i])
			if mean, _ := t.Times(int32(i)); t.Uber {
				d = later(d, float64(mean)*float64(t.Stages[i].Tasks)/speed)
				continue
			}
			n := room(st.PerTask)
			if n == 0 {
				return 0
			}
			mean, longest := t.Times(int32(i))
			waves := (int64(t.Stages[i].Tasks) + n - 1) / n
			d = later(d, max(float64(mean)*float64(waves), float64(longest))/speed)
		}
		return d
	}
}

// later returns d and ns nanoseconds more, at most clockMax.
func later(d sched.Time, ns float64) sched.Time {
	return min(d+sched.Time(min(ns, float64(clockMax))), clockMax)
}

// holds returns how many tasks with needs fit on a node.
func holds(capacity, needs sched.Resources) int64 {
	n := int64(-1)
	for k, a := range needs {
		if a > 0 && (n < 0 || capacity[k]/a < n) {
			n = capacity[k] / a
		}
	}
	return max(n, 0)
}

package sim

import (
	"github.com/sojourn-sched/sojourn/internal/workload"
	"github.com/sojourn-sched/sojourn/sched"
)

// Alone returns a function that estimates the time of a job alone on the empty cluster, by which slowdown is computed.
// It is the longest path through the job's stages:
//
//   - A stage takes the larger of waves × mean task time and the longest task, with true times on the fastest nodes.
//     Waves are the stage's tasks ÷ the tasks that the cluster holds at once, rounded up.
//   - A stage begins when the stages that it depends on are done, however early its tasks may start: a reduce that has
//     started waits for the last map.
//   - Stages that do not depend on each other run side by side, as if each had the cluster to itself.
//   - The start of a master comes before the stages that it asks for, and its closing after all stages.
//   - The stages of a later round begin when all stages of the rounds before are done.
//   - The tasks of an uber job run one after the other.
//
// Locality, shuffle and accidents are left out. The time is zero for a job without tasks, and for a job that the
// cluster cannot hold. Only one goroutine at a time may call the function.
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
	var ends []sched.Time // by stage
	return func(j *sched.JobSpec) (d sched.Time) {
		t, ok := j.Payload.(*workload.Truth)
		if !ok {
			return 0
		}
		ends = ends[:0]
		stages := t.All(j)
		var asked, found sched.Time // when the stages may begin that a master asks for; those of the present round
		for i := range stages {
			if stages[i].Kind == sched.Master {
				mean, _ := t.Times(int32(i))
				asked = later(0, float64(mean)/fastest(&t.Stages[i]))
			}
		}
		rounds, next := t.Later, len(j.Stages)
		for i, st := range stages {
			if i == next {
				found, next, rounds = d, next+len(rounds[0]), rounds[1:]
			}
			begins := found
			if st.Asked {
				begins = max(begins, asked)
			}
			for _, dep := range st.After {
				begins = max(begins, ends[dep.Stage])
			}
			speed := fastest(&t.Stages[i])
			mean, longest := t.Times(int32(i))
			takes := float64(mean) * float64(t.Stages[i].Tasks)
			if t.Uber {
				begins = d
			} else {
				n := room(st.PerTask)
				if n == 0 {
					return 0
				}
				waves := (int64(t.Stages[i].Tasks) + n - 1) / n
				takes = max(float64(mean)*float64(waves), float64(longest))
			}
			ends = append(ends, later(begins, takes/speed))
			d = max(d, ends[i])
		}
		return later(d, float64(t.Closing))
	}
}

// later returns d + ns nanoseconds, at most clockMax.
func later(d sched.Time, ns float64) sched.Time {
	return min(d+sched.Time(min(ns, float64(clockMax))), clockMax)
}

// holds returns how many tasks that need needs a node of a capacity holds at once.
func holds(capacity, needs sched.Resources) int64 {
	n := int64(-1)
	for k, a := range needs {
		if a > 0 && (n < 0 || capacity[k]/a < n) {
			n = capacity[k] / a
		}
	}
	return max(n, 0)
}

package sim

import (
	"github.com/sojourn-sched/sojourn/internal/workload"
	"github.com/sojourn-sched/sojourn/sched"
)

// Alone returns a function that gives the time which a job would take alone on the empty cluster, as a yardstick for
// its slowdown: the longest path through its stages. A stage takes the larger of waves × mean task time and the
// longest task, with true times on the fastest nodes. Waves are the stage's tasks ÷ the tasks that the cluster holds
// at once, rounded up. A stage begins when those that it depends on are done, however early its tasks may start: a
// reduce that has started waits for the last map. Stages that do not depend on each other go side by side, as if each
// had the cluster to itself. A master's start comes before the stages that it asks for, and its closing after all;
// stages that the job finds later come after all others, and an uber job's tasks run one by one. Locality, shuffle and
// accidents are left out. It is zero for a job without tasks, and for one that the cluster cannot hold.
//
// The function may be used by one goroutine at a time.
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
		var asked, found sched.Time // when stages that a master asks for may begin, and those of this round
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

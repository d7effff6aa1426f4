package sched

// A changeLog lists the slots of stages in the order in which they changed, so that an index can pay for what changed
// since it last looked. It keeps about as much as building an index anew would cost.
type changeLog struct {
	slots []int32
	base  int64 // entries dropped so far
	read  int64 // the furthest that an index has read
}

const leastLog = 1024

func (l *changeLog) trim(stages int) {
	keep := max(leastLog, 2*stages)
	if len(l.slots) > 2*keep {
		cut := len(l.slots) - keep
		l.base += int64(cut)
		l.slots = l.slots[:copy(l.slots, l.slots[cut:])]
	}
}

func (l *changeLog) end() int64 { return l.base + int64(len(l.slots)) }

// touch has every index order st anew.
func (l *changeLog) touch(st *Stage) {
	if n := len(l.slots); n > 0 && l.slots[n-1] == st.slot && l.read < l.base+int64(n) {
		return // said, and nobody has heard it yet
	}
	l.slots = append(l.slots, st.slot)
}

// touchJob marks all stages of a job as changed: their keys may read the job's row, and each other's. While no index has
// read the log since, the stages are in it already, and a job of many stages that all change costs no square of them.
func (l *changeLog) touchJob(j *Job) {
	if len(j.Stages) == 1 {
		l.touch(j.Stages[0])
		return
	}
	if l.read < j.touched {
		return
	}
	for _, st := range j.Stages {
		if st.Pending|st.Running|st.Suspended != 0 { // else it has no place in any order, or was touched when it lost it
			l.touch(st)
		}
	}
	j.touched = l.end()
}

package sched

// A changeLog lists the slots of stages in the order in which they changed. An index reads it from where it left off,
// so that it pays for what changed since. The log keeps about as many entries as it costs to build an index anew.
type changeLog struct {
	slots []int32
	base  int64 // entries dropped so far
	read  int64 // the furthest that an index has read
}

// leastLog is how many entries the log keeps at least, so that indexes are seldom built anew while there are few
// stages.
const leastLog = 1024

// trim drops the oldest entries if the log has become much longer than the number of stages. An index that has not read
// them is built anew.
func (l *changeLog) trim(stages int) {
	keep := max(leastLog, 2*stages)
	if len(l.slots) > 2*keep {
		cut := len(l.slots) - keep
		l.base += int64(cut)
		l.slots = l.slots[:copy(l.slots, l.slots[cut:])]
	}
}

// end returns how many entries the log has had so far.
func (l *changeLog) end() int64 { return l.base + int64(len(l.slots)) }

// touch marks st as changed, so that every index sorts it again.
func (l *changeLog) touch(st *Stage) {
	if n := len(l.slots); n > 0 && l.slots[n-1] == st.slot && l.read < l.base+int64(n) {
		return // it is the last entry, which no index has read
	}
	l.slots = append(l.slots, st.slot)
}

// touchJob marks the stages of job j as changed: their keys may read the row of the job, and the rows of each other. It
// returns at once while no index has read the log since the last call for j: then the stages are in the log already. So
// a change of all of many stages does not cost their square.
func (l *changeLog) touchJob(j *Job) {
	if len(j.Stages) == 1 {
		l.touch(j.Stages[0])
		return
	}
	if l.read < j.touched {
		return
	}
	for _, st := range j.Stages {
		if st.Pending|st.Running|st.Suspended != 0 { // else no order has it, or it was touched when it left
			l.touch(st)
		}
	}
	j.touched = l.end()
}

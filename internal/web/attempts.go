package web

import "github.com/sojourn-sched/sojourn/sched"

// mostAttempts bounds the attempts that a board remembers: the oldest are forgotten first. A million take 64 MB.
const mostAttempts = 1 << 20

// none stands for the number of an attempt where there is none.
const none = int64(-1)

// An attempt is one execution of a task, as the log of a board keeps it.
type attempt struct {
	serial     uint64     // of its ID in the core
	start, end sched.Time // end: -1 while it runs
	job        sched.JobID
	task       int32
	node       sched.NodeID
	before     uint32 // how many numbers before this one the last attempt of the same job is; 0: there is none
	beforeHere uint32 // the same for the last attempt on the same node
	stage      uint16
	kind       sched.StageKind
	outcome    sched.Outcome
	locality   int8 // of sched.Locality; -1: its stage has no places
	second     bool // another attempt of its task ran when it was launched
	paused     bool // suspended now
}

// An attemptLog holds the last attempts of a run in order of launch, and finds those of a job or a node without
// looking at others. Attempts are numbered from 0 in that order.
type attemptLog struct {
	list []attempt // attempt n is at n mod most
	next int64     // number of the next attempt
	most int64     // how many attempts are remembered
	slot []int64   // by slot of the core: number of the attempt that had it last
}

// newAttemptLog returns an empty log that remembers most attempts.
func newAttemptLog(most int) *attemptLog { return &attemptLog{most: int64(most)} }

// oldest returns the number of the oldest attempt that is remembered.
func (l *attemptLog) oldest() int64 { return max(0, l.next-l.most) }

// at returns an attempt by number; nil: it is forgotten, or never was.
func (l *attemptLog) at(n int64) *attempt {
	if n < l.oldest() || n >= l.next {
		return nil
	}
	return &l.list[n%l.most]
}

// add appends an attempt and returns its number. ofJob and ofNode are the numbers of the last attempts of its job and
// on its node.
func (l *attemptLog) add(a attempt, ofJob, ofNode int64) int64 {
	a.before, a.beforeHere = l.distance(ofJob), l.distance(ofNode)
	if int64(len(l.list)) < l.most {
		l.list = append(l.list, a)
	} else {
		l.list[l.next%l.most] = a
	}
	l.next++
	return l.next - 1
}

// distance returns how many numbers attempt n is before the next attempt; 0: n is not remembered.
func (l *attemptLog) distance(n int64) uint32 {
	if n < l.oldest() {
		return 0
	}
	return uint32(l.next - n)
}

// hold notes that attempt n holds a slot of the core.
func (l *attemptLog) hold(id sched.AttemptID, n int64) {
	row := int(id.Row())
	for len(l.slot) <= row {
		l.slot = append(l.slot, none)
	}
	l.slot[row] = n
}

// find returns the attempt with an ID of the core; nil: it is forgotten.
func (l *attemptLog) find(id sched.AttemptID) *attempt {
	if row := int(id.Row()); row < len(l.slot) {
		if a := l.at(l.slot[row]); a != nil && a.serial == id.Serial() {
			return a
		}
	}
	return nil
}

// chain calls f with attempts from number n backwards: those of the same job, or of the same node. It ends when f
// returns false, or where attempts are forgotten.
func (l *attemptLog) chain(n int64, ofNode bool, f func(*attempt) bool) {
	for {
		a := l.at(n)
		if a == nil || !f(a) {
			return
		}
		back := a.before
		if ofNode {
			back = a.beforeHere
		}
		if back == 0 {
			return
		}
		n -= int64(back)
	}
}

package sched

// jobTable holds the unfinished jobs in order of submission, in slots that are used again.
type jobTable struct {
	rows        []*Job
	free        []int32
	first, last int32 // slots; -1: none
	byID        map[JobID]*Job
	newest      JobID
	live        int
	ended       []*Job // to be forgotten in the next Step, once nothing of them runs
}

// get returns the row of a new job, zero but for its slot. The caller links it.
func (t *jobTable) get() *Job {
	if k := len(t.free); k > 0 {
		j := t.rows[t.free[k-1]]
		t.free = t.free[:k-1]
		*j = Job{slot: j.slot, Stages: j.Stages[:0]}
		return j
	}
	j := &Job{slot: int32(len(t.rows))}
	t.rows = append(t.rows, j)
	return j
}

// link puts j at the end of the order of submission.
func (t *jobTable) link(j *Job) {
	j.next, j.prev = -1, t.last
	if t.last >= 0 {
		t.rows[t.last].next = j.slot
	} else {
		t.first = j.slot
	}
	t.last = j.slot
	t.byID[j.ID] = j
	t.live++
}

// unlink takes j out of the order of submission. It can still be found by its ID.
func (t *jobTable) unlink(j *Job) {
	if j.prev >= 0 {
		t.rows[j.prev].next = j.next
	} else {
		t.first = j.next
	}
	if j.next >= 0 {
		t.rows[j.next].prev = j.prev
	} else {
		t.last = j.prev
	}
	t.live--
}

// stageTable holds the stages of unfinished jobs in slots that are used again.
type stageTable struct {
	rows []*Stage
	free []int32
}

// get returns the row of a new stage, zero but for its slot and the memory of its lists.
func (t *stageTable) get() *Stage {
	if k := len(t.free); k > 0 {
		st := t.rows[t.free[k-1]]
		t.free = t.free[:k-1]
		*st = Stage{
			slot:     st.slot,
			reserved: st.reserved[:0],
			attempts: attemptList{slots: st.attempts.slots[:0]},
			tasks:    taskSet{again: st.tasks.again[:0], near: st.tasks.near},
		}
		if st.tasks.near != nil {
			st.tasks.near.layout = 0
		}
		return st
	}
	st := &Stage{slot: int32(len(t.rows))}
	t.rows = append(t.rows, st)
	return st
}

// attemptTable holds attempts at fixed addresses, in slots that are used again.
type attemptTable struct {
	chunks []*[1 << chunkBits]Attempt
	n      int32
	free   []int32
	ended  []int32 // slots that are readable until the next Step
	serial uint64
	pauses map[AttemptID]pause // of the attempts that were ever suspended, until they are recycled
}

// A pause says how long an attempt has been suspended.
type pause struct {
	since Time // start of the last suspension
	total Time // length of the suspensions that are over
}

// pause notes that attempt a is suspended from now on.
func (t *attemptTable) pause(a *Attempt, now Time) {
	if t.pauses == nil {
		t.pauses = map[AttemptID]pause{}
	}
	t.pauses[a.ID] = pause{now, t.pauses[a.ID].total}
}

// resume notes that the suspended attempt a runs again from now on.
func (t *attemptTable) resume(a *Attempt, now Time) {
	p := t.pauses[a.ID]
	p.total += now - p.since
	t.pauses[a.ID] = p
}

// shiftedStart returns the instant at which attempt a would have started if it had run without its pauses.
func (t *attemptTable) shiftedStart(a *Attempt) Time {
	if len(t.pauses) == 0 {
		return a.Start
	}
	return a.Start + t.pauses[a.ID].total
}

// chunkBits is the number of bits of a slot that say where in its chunk it is.
const chunkBits = 10

// at returns the row in a slot.
func (t *attemptTable) at(slot int32) *Attempt {
	return &t.chunks[slot>>chunkBits][slot&(1<<chunkBits-1)]
}

// get returns a row with a new ID. The caller sets all other fields.
func (t *attemptTable) get() *Attempt {
	var slot int32
	if k := len(t.free); k > 0 {
		slot = t.free[k-1]
		t.free = t.free[:k-1]
	} else {
		if int(t.n)>>chunkBits == len(t.chunks) {
			t.chunks = append(t.chunks, new([1 << chunkBits]Attempt))
		}
		slot = t.n
		t.n++
	}
	t.serial++
	a := t.at(slot)
	a.ID = NewAttemptID(t.serial, slot)
	return a
}

// find returns the row of an attempt; nil: it was recycled, or there was never one.
func (t *attemptTable) find(id AttemptID) *Attempt {
	slot := id.Row()
	if slot >= t.n {
		return nil
	}
	if a := t.at(slot); a.ID == id {
		return a
	}
	return nil
}

// add puts an attempt at the end of the list.
func (l *attemptList) add(a *Attempt) {
	a.index = int32(len(l.slots))
	l.slots = append(l.slots, a.ID.Row())
}

// leastGaps is how many gaps a list has at least before remove closes them.
const leastGaps = 32

// remove takes attempt a out. It closes the gaps when they are most of the list: O(1) amortised.
func (l *attemptList) remove(a *Attempt, t *attemptTable) {
	l.slots[a.index] = -1
	if l.gaps++; l.gaps < leastGaps || 2*l.gaps < len(l.slots) {
		return
	}
	kept := l.slots[:0]
	for _, slot := range l.slots {
		if slot >= 0 {
			t.at(slot).index = int32(len(kept))
			kept = append(kept, slot)
		}
	}
	l.slots, l.gaps = kept, 0
}

// recycle frees the slots of the attempts that ended before this Step.
func (t *attemptTable) recycle() {
	for _, slot := range t.ended {
		if len(t.pauses) > 0 {
			delete(t.pauses, t.at(slot).ID)
		}
		t.at(slot).ID = 0
		t.free = append(t.free, slot)
	}
	t.ended = t.ended[:0]
}

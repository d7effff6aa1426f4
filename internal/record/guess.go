package record

import "github.com/sojourn-sched/sojourn/sched"

// A slotTable remembers the running attempts by the slot of their AttemptID, and guesses which slot the next launch
// uses: the core takes the slot that became free last, but none that became free in the same Step.
type slotTable struct {
	all   []slotMemory
	freed []int32          // slots of attempts that ended in this Step
	free  []int32          // slots of attempts that ended before: the last one is used next
	find  map[uint64]int32 // slot of a running attempt by serial; for the reader, which is told no slots; else nil
}

// A slotMemory is the attempt that a slot has, or had last.
type slotMemory struct {
	serial  uint64
	stage   sched.StageID
	node    sched.NodeID
	running bool
}

// beginStep makes the slots that became free in the last Step available to guess. Wrong guesses leave entries in the
// list of free slots, so a list that has grown far beyond the number of slots is dropped.
func (s *slotTable) beginStep() {
	s.free = append(s.free, s.freed...)
	s.freed = s.freed[:0]
	if len(s.free) > 2*len(s.all)+64 {
		s.free = s.free[:0] // entries that were guessed wrongly have piled up
	}
}

// tag returns t, and sets the flag notRunning if the attempt is not known to run.
func (s *slotTable) tag(t tag, id sched.AttemptID) tag {
	slot := id.Row()
	if int(slot) < len(s.all) && s.all[slot].running && s.all[slot].serial == id.Serial() {
		return t
	}
	return t | notRunning
}

// guess returns the slot that the core would most likely use next.
func (s *slotTable) guess() int32 {
	for k := len(s.free); k > 0; k = len(s.free) {
		if slot := s.free[k-1]; !s.all[slot].running {
			return slot
		}
		s.free = s.free[:k-1]
	}
	return int32(len(s.all))
}

// launched remembers the attempt of a launch.
func (s *slotTable) launched(a *sched.Action) {
	slot, serial := a.Attempt.Row(), a.Attempt.Serial()
	if k := len(s.free); k > 0 && s.free[k-1] == slot {
		s.free = s.free[:k-1]
	}
	for int(slot) >= len(s.all) {
		s.all = append(s.all, slotMemory{})
	}
	if s.find != nil {
		delete(s.find, s.all[slot].serial)
		s.find[serial] = slot
	}
	s.all[slot] = slotMemory{serial, a.Stage, a.Node, true}
}

// ended forgets the attempt id, which must be running, and returns its node.
func (s *slotTable) ended(id sched.AttemptID) sched.NodeID {
	slot := id.Row()
	at := &s.all[slot]
	at.running = false
	s.freed = append(s.freed, slot)
	if s.find != nil {
		delete(s.find, at.serial)
	}
	return at.node
}

// stages remember the last launch of each stage, by a hash of the StageID. A stage may lose its place to another.
type stages []stageMemory

// A stageMemory is the last launch of a stage.
type stageMemory struct {
	id    sched.StageID
	task  int32 // launched last
	shape sched.ShapeID
}

const stageBits = 12 // of the hash of a StageID

// of returns the place of a stage, empty where another stage took it.
func (s stages) of(id sched.StageID) *stageMemory {
	h := uint32(id.Job)*2654435761 ^ uint32(id.Index)*40503
	at := &s[h>>(32-stageBits)]
	if at.id != id {
		*at = stageMemory{id: id}
	}
	return at
}

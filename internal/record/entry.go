package record

import (
	"errors"
	"fmt"

	"github.com/sojourn-sched/sojourn/sched"
)

// A tag is the first byte of an entry: a kind, and three flags that mean something else for each kind.
type tag = byte

const (
	tagStep   tag = 0
	tagShape  tag = 1  // what a ShapeID stands for, before the first action that has it
	tagEvent  tag = 2  // + EventKind
	tagAction tag = 16 // + ActionKind
	tagFound  tag = 24 // AttemptFound, for which there is no place among the other events
	tagKinds  tag = 31

	flag1 tag = 1 << 5
	flag2 tag = 1 << 6
	flag3 tag = 1 << 7

	lastEvent  = tagEvent + tag(sched.SpecChanged)
	lastAction = tagAction + tag(sched.Wake)
)

// Flags of the entries that are many.
const (
	notRunning = flag1 // events and actions of an attempt: it is given in full, because it is not one that runs
	notOK      = flag2 // AttemptDone, JobEnded: an outcome follows
	withBody   = flag3 // AttemptDone, NodeReported
	withNear   = flag3 // AsksChanged
	ofQueues   = flag3 // SpecChanged: of the queues, not of a job
	ofMasters  = flag2 // SpecChanged, of the queues: some say what masters may hold, which follows for all
	ofSpared   = flag1 // SpecChanged, of the queues: some are spared, which follows for all
	sameStage  = flag1 // Launch: of the stage of the last launch
	sameNode   = flag2 // Launch: on the node that was guessed
	unusual    = flag3 // Launch: a byte of the bits below follows
	noWake     = flag1 // Wake: at zero
	withPlace  = flag2 // actions on an attempt: node and stage follow, because they are not those of its launch
)

const (
	otherTask   = 1 << iota // not the one after the stage's last
	otherShape              // not that of the stage's last launch
	otherSlot               // of the AttemptID: not the one guessed
	otherSerial             // of the AttemptID: not one more than the last
)

// A memory is what the writer and the reader of a record remember of the entries so far, so that entries can be
// shorter. It depends on the entries alone: the reader, which sees no derived events, has the same memory. A wrong
// guess costs bytes, nothing more.
type memory struct {
	coder
	tags     []byte        // of the entries, apart from the rest: they repeat, so that together they compress to little
	now      sched.Time    // of the last Step
	serial   uint64        // of the last launch
	referred uint64        // serial of the attempt that was last named
	stage    sched.StageID // of the last launch
	node     sched.NodeID  // guessed for the next launch
	reported sched.NodeID  // reported last
	job      sched.JobID   // last submitted
	nodes    sched.NodeID  // how many have joined

	stages stages
	slots  slotTable
	shapes map[int32]namedShape // by ShapeID.Row: the last one that was written or read
}

// A namedShape is what the ID of a shape stands for.
type namedShape struct {
	id     sched.ShapeID
	amount sched.Resources
}

func newMemory(reading bool, payload Payload) *memory {
	m := &memory{stages: make(stages, 1<<stageBits), shapes: map[int32]namedShape{}}
	m.reading, m.payload = reading, payload
	if reading {
		m.slots.find = map[uint64]int32{}
	}
	return m
}

// beginStep opens a Step; its tag is written or read already.
func (m *memory) beginStep(now sched.Time) {
	d := m.uvarint(uint64(now - m.now))
	if m.reading {
		now = m.now + sched.Time(d)
		if now < m.now {
			m.fail(errors.New("an instant is beyond all time"))
			return
		}
	}
	m.now = now
	m.slots.beginStep()
}

// attempt codes the ID of an attempt: one that runs by how much later or earlier it was launched than the last one
// named.
func (m *memory) attempt(t tag, id sched.AttemptID) sched.AttemptID {
	if t&notRunning != 0 {
		return sched.AttemptID(m.uvarint(uint64(id)))
	}
	serial := m.referred + uint64(m.varint(int64(id.Serial()-m.referred)))
	m.referred = serial
	if !m.reading {
		return id
	}
	slot, ok := m.slots.find[serial]
	if !ok {
		m.fail(fmt.Errorf("attempt %d does not run", serial))
		return 0
	}
	return sched.NewAttemptID(serial, slot)
}

// launched remembers a launch.
func (m *memory) launched(a *sched.Action) {
	m.serial = a.Attempt.Serial()
	m.slots.launched(a)
	m.stage, m.node = a.Stage, a.Node
	memo := m.stages.of(a.Stage)
	memo.task, memo.shape = a.Task, a.Shape
}

// Writing.

// writeEvent writes an event: its tag, with flags for what follows, and its fields.
func (m *memory) writeEvent(e *sched.Event) {
	t := tagEvent + tag(e.Kind)
	if e.Kind == sched.AttemptFound {
		t = tagFound
	}
	switch e.Kind {
	case sched.AttemptDone, sched.AttemptSuspended, sched.AttemptResized, sched.AttemptProgress, sched.ResizeAsked:
		t = m.slots.tag(t, e.Attempt)
	}
	if e.Outcome != sched.OK && (e.Kind == sched.AttemptDone || e.Kind == sched.JobEnded) {
		t |= notOK
	}
	if e.Kind == sched.AttemptDone || e.Kind == sched.NodeReported {
		switch body := e.Body.(type) {
		case *sched.Counters:
			if body != nil {
				t |= withBody
			}
		case *sched.NodeSpec:
			if body != nil {
				t |= withBody
			}
		}
	}
	switch body := e.Body.(type) {
	case *sched.Asks:
		if len(body.Near) > 0 {
			t |= withNear
		}
	case *sched.Queues:
		if t |= ofQueues; sayMasters(body.List) {
			t |= ofMasters
		}
		if saySpared(body.List) {
			t |= ofSpared
		}
	}
	m.tags = append(m.tags, t)
	m.event(t, e)
}

func (m *memory) writeAction(a *sched.Action) {
	t := tagAction + tag(a.Kind)
	switch a.Kind {
	case sched.Launch:
		m.writeLaunch(t, a)
		return
	case sched.Kill, sched.Suspend, sched.Resume, sched.Resize:
		t = m.slots.tag(t, a.Attempt)
		if t&notRunning != 0 {
			t |= withPlace
		} else if s := m.slots.all[a.Attempt.Row()]; s.node != a.Node || s.stage != a.Stage {
			t |= withPlace
		}
	}
	if a.Kind == sched.Wake && a.At == 0 {
		t |= noWake
	}
	m.tags = append(m.tags, t)
	m.action(t, a)
}

// writeLaunch writes a launch. Flags say what was guessed right, and so is left out.
func (m *memory) writeLaunch(t tag, a *sched.Action) {
	more := byte(0)
	if a.Stage == m.stage {
		t |= sameStage
	}
	if a.Node == m.node {
		t |= sameNode
	}
	memo := m.stages.of(a.Stage)
	if a.Task != memo.task+1 {
		more |= otherTask
	}
	if a.Shape != memo.shape {
		more |= otherShape
	}
	if a.Attempt.Row() != m.slots.guess() {
		more |= otherSlot
	}
	if a.Attempt.Serial() != m.serial+1 {
		more |= otherSerial
	}
	if more != 0 {
		t |= unusual
	}
	m.tags = append(m.tags, t)
	if more != 0 {
		m.tags = append(m.tags, more)
	}
	m.launch(t, more, a)
}

// Both ways.

func (m *memory) shape(s *namedShape) {
	number(&m.coder, &s.id)
	m.resources(&s.amount)
	m.shapes[s.id.Row()] = *s
}

// event codes the fields of an event that its kind has.
func (m *memory) event(t tag, e *sched.Event) {
	c := &m.coder
	switch e.Kind {
	case sched.NodeJoined:
		number(c, &e.Node)
		if e.Node == m.nodes+1 {
			m.nodes++
		}
		m.known(e.Node)
		body(c, e, c.nodeSpec)
	case sched.NodeReported:
		e.Node = m.reported + 1 + sched.NodeID(m.varint(int64(e.Node-m.reported-1)))
		m.known(e.Node)
		m.reported, m.node = e.Node, e.Node
		if t&withBody != 0 {
			body(c, e, c.nodeSpec)
		}
	case sched.NodeLost:
		number(c, &e.Node)
		m.known(e.Node)
	case sched.AttemptDone:
		e.Attempt = m.attempt(t, e.Attempt)
		if t&notOK != 0 {
			m.outcome(e)
		}
		if t&withBody != 0 {
			body(c, e, c.counters)
		}
		if t&notRunning == 0 && m.err == nil {
			m.node = m.slots.ended(e.Attempt)
		}
	case sched.AttemptSuspended, sched.AttemptResized:
		e.Attempt = m.attempt(t, e.Attempt)
	case sched.AttemptProgress:
		e.Attempt = m.attempt(t, e.Attempt)
		e.Progress = m.float32(e.Progress)
		if e.Phase = sched.Phase(m.byte(byte(e.Phase))); e.Phase >= sched.NumPhases {
			m.fail(fmt.Errorf("there is no phase %d", e.Phase))
		}
	case sched.TaskUndone:
		number(c, &e.Job)
		body(c, e, c.undone)
		stageIndex(c, e.Body.(*sched.Undone).Stage)
	case sched.ResizeAsked:
		e.Attempt = m.attempt(t, e.Attempt)
		body(c, e, func(r *sched.Resources) { nonNegative(c, r) })
	case sched.JobEnded:
		number(c, &e.Job)
		if t&notOK != 0 {
			m.outcome(e)
		}
	case sched.AsksChanged:
		number(c, &e.Job)
		body(c, e, c.asks)
		if t&withNear != 0 {
			list(c, &e.Body.(*sched.Asks).Near, c.near)
		}
		if c.reading && c.err == nil {
			asks := e.Body.(*sched.Asks)
			asks.Pending = max(0, asks.Pending) // sim counted a done task with an attempt twice: records say -1 there
			if err := asks.Validate(); err != nil {
				c.fail(fmt.Errorf("asks: %w", err))
			}
		}
	case sched.JobSubmitted:
		e.Job = m.job + sched.JobID(m.varint(int64(e.Job-m.job)))
		body(c, e, c.jobSpec)
		m.submitted(e)
	case sched.AttemptFound:
		number(c, &e.Job)
		e.Node = sched.NodeID(m.varint(int64(e.Node)))
		m.known(e.Node)
		e.Attempt = sched.AttemptID(m.uvarint(uint64(e.Attempt)))
		body(c, e, func(f *sched.Found) {
			number(c, &f.Stage)
			stageIndex(c, f.Stage)
			number(c, &f.Ran)
		})
	case sched.SpecChanged:
		if t&ofQueues != 0 {
			body(c, e, func(q *sched.Queues) {
				list(c, &q.List, c.queue)
				if t&ofMasters != 0 {
					c.masters(q.List)
				}
				if t&ofSpared != 0 {
					c.spared(q.List)
				}
			})
			return
		}
		number(c, &e.Job)
		body(c, e, c.jobSpec)
		if m.reading && m.err == nil {
			if err := e.Body.(*sched.JobSpec).Validate(); err != nil {
				m.fail(fmt.Errorf("job %d: %w", e.Job, err))
			}
		}
	}
}

// submitted remembers a job. While reading, it rejects jobs that the core would not accept.
func (m *memory) submitted(e *sched.Event) {
	if m.reading && m.err == nil {
		if e.Job <= m.job {
			m.fail(fmt.Errorf("job %d is submitted after job %d", e.Job, m.job))
		} else if err := e.Body.(*sched.JobSpec).Validate(); err != nil {
			m.fail(fmt.Errorf("job %d: %w", e.Job, err))
		}
	}
	m.job = e.Job
}

// known rejects, while reading, a node that has not joined.
func (m *memory) known(n sched.NodeID) {
	if m.reading && (n < 1 || n > m.nodes) {
		m.fail(fmt.Errorf("node %d: %d have joined", n, m.nodes))
	}
}

func (m *memory) outcome(e *sched.Event) {
	if e.Outcome = sched.Outcome(m.byte(byte(e.Outcome))); e.Outcome > sched.Released {
		m.fail(fmt.Errorf("there is no outcome %d", e.Outcome))
	}
}

// stageID codes a stage. The number of its job is coded as the difference to the job of the last launch.
func (m *memory) stageID(id *sched.StageID) {
	id.Job = m.stage.Job + sched.JobID(m.varint(int64(id.Job-m.stage.Job)))
	number(&m.coder, &id.Index)
	stageIndex(&m.coder, id.Index)
}

// stageIndex rejects, while reading, an index of a stage that no job has.
func stageIndex(c *coder, i int32) {
	if c.reading && i < 0 {
		c.fail(fmt.Errorf("there is no stage %d", i))
	}
}

// body codes what an event points to.
func body[T any](c *coder, e *sched.Event, each func(*T)) {
	if c.reading {
		e.Body = new(T)
	}
	each(e.Body.(*T))
}

// action codes the fields of an action other than Launch that its kind has.
func (m *memory) action(t tag, a *sched.Action) {
	c := &m.coder
	switch a.Kind {
	case sched.Kill, sched.Suspend, sched.Resume, sched.Resize:
		a.Attempt = m.attempt(t, a.Attempt)
		if t&withPlace != 0 {
			number(c, &a.Node)
			m.known(a.Node)
			m.stageID(&a.Stage)
		} else if s := a.Attempt.Row(); m.reading && m.err == nil && int(s) < len(m.slots.all) {
			a.Node, a.Stage = m.slots.all[s].node, m.slots.all[s].stage
		}
		switch a.Kind {
		case sched.Kill:
			number(c, &a.At)
		case sched.Resize:
			number(c, &a.Shape)
		}
	case sched.Reserve:
		m.stageID(&a.Stage)
		number(c, &a.Node)
		m.known(a.Node)
	case sched.Probe:
		number(c, &a.Stage.Job)
	case sched.Wake:
		if t&noWake == 0 {
			a.At = m.now + sched.Time(m.uvarint(uint64(a.At-m.now)))
		}
	}
}

// launch codes a launch; more says what was guessed wrongly.
func (m *memory) launch(t tag, more byte, a *sched.Action) {
	if t&sameStage == 0 {
		m.stageID(&a.Stage)
	} else {
		a.Stage = m.stage
	}
	if t&sameNode == 0 {
		a.Node = m.node + sched.NodeID(m.varint(int64(a.Node-m.node)))
	} else {
		a.Node = m.node
	}
	m.known(a.Node)
	memo := m.stages.of(a.Stage)
	task, shape, slot, serial := memo.task+1, memo.shape, m.slots.guess(), m.serial+1
	if more&otherTask != 0 {
		task += int32(m.varint(int64(a.Task - task)))
	}
	if more&otherShape != 0 {
		shape = sched.ShapeID(m.uvarint(uint64(a.Shape)))
	}
	if more&otherSlot != 0 {
		slot = int32(m.uvarint(uint64(a.Attempt.Row())))
	}
	if more&otherSerial != 0 {
		serial = m.uvarint(a.Attempt.Serial())
	}
	if m.reading {
		// The core uses slots densely, which bounds what a damaged record makes a reader remember.
		if slot < 0 || int(slot) > len(m.slots.all) {
			m.fail(fmt.Errorf("attempt %d is launched in slot %d of %d", serial, slot, len(m.slots.all)))
			return
		}
		a.Task, a.Shape, a.Attempt = task, shape, sched.NewAttemptID(serial, slot)
	}
	m.launched(a)
}

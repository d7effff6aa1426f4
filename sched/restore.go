package sched

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// Restore returns a core with a state, which takes over what s holds. Its policy and its estimator are told nothing:
// the caller gives them the memory that they had at that instant. The configuration need not be that of the core which
// the state was taken from; its queues are ignored. A state that no core can have is an error.
func Restore(config Config, s *State) (c *Core, err error) {
	config.Queues = nil
	c = New(config)
	r := &restorer{c: &c.state, s: s}
	defer func() {
		if r.broken != nil { // other panics are defects of this package, and go on
			recover()
			c, err = nil, fmt.Errorf("sched: no core has such a state: %w", r.broken)
		}
	}()
	r.all()
	return c, nil
}

// A restorer fills a new cluster with a state. It checks the state before it relies on it: what refers to a row must
// refer to one that is there. It does not check sums.
type restorer struct {
	c      *cluster
	s      *State
	broken error // why no core can have the state; set before a panic
}

// all fills the cluster with the state. Rows come before what refers to them: nodes, queues, jobs, stages, attempts.
// Last come the lists that link rows, and the sets of nodes with room. If no core can have the state, all panics by
// fail, and Restore returns the error.
func (r *restorer) all() {
	c, s := r.c, r.s
	v := c.view
	v.Now, v.QueueChanges = s.Now, s.QueueChanges
	c.ledger.kinds, c.started, c.layouts = s.Kinds, s.Started, 1
	c.plan.out.wake, c.plan.out.told = s.Wake, s.Told
	r.require(s.Started == 0 || r.hasNode(s.Started), "the last launch was on a node that is not there")
	for _, k := range s.Kinds {
		r.require(k < NumResources, "there is no such kind of resource")
	}
	r.require(len(s.Shapes) <= MaxShapes, "there are too many shapes")
	r.require(c.ledger.shapes.restore(s.Shapes), "a shape stands twice")
	r.nodes()
	r.queues()
	r.makeRows()
	for i := range s.Jobs {
		r.job(&s.Jobs[i])
	}
	for i := range s.Stages {
		r.stage(&s.Stages[i])
	}
	for i := range s.Attempts {
		r.attempt(&s.Attempts[i])
	}
	r.lists()
	for _, n := range v.Nodes {
		c.ledger.shapes.note(n)
	}
}

// require panics, and says what is broken in the state, unless ok.
func (r *restorer) require(ok bool, broken string) {
	if !ok {
		r.fail(errors.New(broken))
	}
}

// fail notes why no core can have the state, and panics.
func (r *restorer) fail(err error) {
	r.broken = err
	panic(err)
}

// slots requires that each of the slots from 0 is in one of the lists, once.
func (r *restorer) slots(what string, lists ...[]int32) {
	n := 0
	for _, list := range lists {
		n += len(list)
	}
	seen := make([]bool, n)
	for _, list := range lists {
		for _, slot := range list {
			r.require(slot >= 0 && int(slot) < n && !seen[slot], "the slots of "+what+" are not each used once")
			seen[slot] = true
		}
	}
}

// hasNode reports whether a node is there.
func (r *restorer) hasNode(n NodeID) bool { return n > 0 && int(n) <= len(r.s.Nodes) }

// nodes makes the nodes, and sums them up.
func (r *restorer) nodes() {
	c, s := r.c, r.s
	for _, name := range s.Classes {
		c.view.Classes = append(c.view.Classes, &Class{ID: ClassID(len(c.view.Classes) + 1), Name: name})
	}
	for i := range s.Nodes {
		from := &s.Nodes[i]
		r.require(from.Class > 0 && int(from.Class) <= len(s.Classes), "a node has no class")
		n := &Node{
			ID: NodeID(i + 1), Class: from.Class, Rack: from.Spec.Rack, Open: !from.Lost && !c.config.Heartbeats,
			Lost: from.Lost, Reserved: from.Reserved, class: c.view.Classes[from.Class-1], slots: from.Slots,
			Capacity: from.Spec.Capacity, Used: from.Used, Leaving: from.Leaving, Name: from.Spec.Name,
		}
		c.view.Nodes = append(c.view.Nodes, n)
		if !n.Lost {
			n.class.add(n.ID)
		}
		n.class.Capacity, n.class.Used = n.class.Capacity.Add(n.Capacity), n.class.Used.Add(n.Used)
		c.view.Capacity = c.view.Capacity.Add(n.Capacity)
		if n.Reserved != (StageID{}) {
			c.ledger.shapes.kept++
		}
	}
}

// queues makes the queues. The root, which a new core has, is replaced as the others are made.
func (r *restorer) queues() {
	c, t := r.c, &r.c.queues
	r.require(len(r.s.Queues) > 0, "there is no root")
	c.view.Queues = c.view.Queues[:0]
	for i := range r.s.Queues {
		from := &r.s.Queues[i]
		q := &Queue{
			ID: QueueID(i), Parent: from.Parent, User: from.User, Children: from.Children, Jobs: from.Jobs,
			Used: from.Used, Masters: from.Masters, Leaving: from.Leaving, Demand: from.Demand, Count: from.Count,
			Spec: &from.Spec, served: from.Served, since: from.Since, uses: from.Uses, retired: from.Retired,
			gone: i > 0,
		}
		r.require(i == 0 && q.Parent == 0 || q.Parent >= 0 && int(q.Parent) < i, "a queue comes before the one above")
		if i > 0 {
			q.above = c.view.Queues[q.Parent]
		}
		c.view.Queues = append(c.view.Queues, q)
		if from.Path != "" {
			_, two := t.byPath[from.Path]
			r.require(!two, "two queues have one path")
			t.byPath[from.Path] = q.ID
		}
	}
	below := func(q *Queue, id QueueID) bool {
		return id > 0 && int(id) < len(c.view.Queues) && c.view.Queues[id].Parent == q.ID
	}
	for _, q := range c.view.Queues {
		for _, id := range r.s.Queues[q.ID].Spare {
			r.require(below(q, id), "a queue that has gone is not below its queue")
			at := spareOf{q.ID, c.view.Queues[id].User}
			t.spare[at] = append(t.spare[at], id)
		}
		for _, id := range q.Children {
			r.require(below(q, id), "a queue is not below its queue")
			c.view.Queues[id].gone = false
			if below := c.view.Queues[id]; below.User {
				t.users[userOf{q.ID, below.Spec.Name}] = id
			}
		}
	}
	t.setLimits()
}

// makeRows makes the rows of jobs, stages and attempts, so that they can refer to each other.
func (r *restorer) makeRows() {
	c, s := r.c, r.s
	var jobs, stages, attempts []int32
	for i := range s.Jobs {
		jobs = append(jobs, s.Jobs[i].Slot)
	}
	for i := range s.Stages {
		stages = append(stages, s.Stages[i].Slot)
	}
	for i := range s.Attempts {
		attempts = append(attempts, s.Attempts[i].ID.Row())
	}
	r.slots("jobs", jobs, s.FreeJobs)
	r.slots("stages", stages, s.FreeStages)
	r.slots("attempts", attempts, s.FreeAttempts, s.EndedAttempts)
	for i := range len(s.Jobs) + len(s.FreeJobs) {
		c.jobs.rows = append(c.jobs.rows, &Job{slot: int32(i), next: -1, prev: -1})
	}
	for i := range len(s.Stages) + len(s.FreeStages) {
		c.stages.rows = append(c.stages.rows, &Stage{slot: int32(i)})
	}
	n := len(s.Attempts) + len(s.FreeAttempts) + len(s.EndedAttempts)
	for len(c.attempts.chunks)<<chunkBits < n {
		c.attempts.chunks = append(c.attempts.chunks, new([1 << chunkBits]Attempt))
	}
	c.attempts.n, c.attempts.serial = int32(n), s.Serial
	c.jobs.free, c.stages.free, c.attempts.free = s.FreeJobs, s.FreeStages, s.FreeAttempts
	c.attempts.ended, c.jobs.newest = s.EndedAttempts, s.Newest
	for _, slot := range slices.Concat(s.FreeAttempts, s.EndedAttempts) {
		c.attempts.at(slot).State = gone
	}
}

// job fills the row of a job, and names it in the rows of its stages.
func (r *restorer) job(from *SavedJob) {
	c := r.c
	j := c.jobs.rows[from.Slot]
	r.require(from.ID > 0 && from.ID <= c.jobs.newest, "a job was never submitted")
	r.require(from.Spec != nil, "a job has no spec")
	if err := from.Spec.Validate(); err != nil {
		r.fail(fmt.Errorf("job %d: %w", from.ID, err))
	}
	r.require(from.Leaf >= 0 && int(from.Leaf) < len(c.view.Queues), "a job has no queue")
	*j = Job{
		ID: from.ID, Queue: from.Leaf, Weight: weightOr1(from.Spec.Weight), Submitted: from.Submitted,
		Running: from.Running, Ended: from.Ended, Used: from.Used, Spec: from.Spec, leaf: c.view.Queues[from.Leaf],
		slot: j.slot, next: -1, prev: -1, open: from.Open, chained: from.Chained, attempts: from.Attempts,
		served: from.Served, since: from.Since,
	}
	for i, slot := range from.Stages {
		r.require(slot >= 0 && int(slot) < len(c.stages.rows), "a job has a stage that is not there")
		st := c.stages.rows[slot]
		r.require(st.Job == nil, "a stage has two jobs")
		st.ID, st.Job, st.alive, st.cap = StageID{j.ID, int32(i)}, j, !j.Ended, j.leaf.cap
		j.Stages = append(j.Stages, st)
	}
	for _, f := range from.Failures {
		if j.failures == nil {
			j.failures = map[NodeID]int32{}
		}
		j.failures[NodeID(f.ID)] = f.Count
	}
	r.require(slices.IsSorted(from.Banned), "the nodes that a job avoids are not in order")
	j.banned = from.Banned
	if !from.Gone {
		r.require(c.jobs.byID[j.ID] == nil, "two jobs have one ID")
		c.jobs.byID[j.ID] = j
	}
}

// stage fills the row of a stage, whose job is there, and counts its shape and its outputs if the job has not ended.
func (r *restorer) stage(from *SavedStage) {
	c := r.c
	st := c.stages.rows[from.Slot]
	r.require(st.Job != nil, "a stage has no job")
	if st.Spec = from.Spec; st.Spec == nil {
		r.require(int(st.ID.Index) < len(st.Job.Spec.Stages), "a stage has no spec")
		st.Spec = &st.Job.Spec.Stages[st.ID.Index]
	}
	r.require(st.Spec.Kind < NumKinds, "there is no such kind of stage")
	for _, d := range st.Spec.After {
		r.require(d.Stage >= 0 && d.Stage < st.ID.Index, "a stage waits for one that does not come before it")
	}
	st.Kind, st.Shape = st.Spec.Kind, c.ledger.shapes.intern(st.Spec.PerTask)
	st.Total, st.Pending, st.Running, st.Suspended = from.Total, from.Pending, from.Running, from.Suspended
	st.Done, st.Leaving, st.waiting, st.ready = from.Done, from.Leaving, from.Waiting, from.Ready
	st.reserved, st.only = from.Reserved, from.Only
	st.attempts = attemptList{slots: from.Attempts, starts: from.Starts, paused: from.Paused}
	st.tasks = taskSet{next: from.Next, again: from.Again, taken: from.Taken, ran: from.Ran}
	t := &st.tasks
	tasks := max(0, st.Total)
	r.require(len(t.ran) == 0 || len(t.ran) == int(tasks), "a stage has outputs of other tasks")
	r.require(len(t.taken) == 0 || len(t.taken) == int(st.Total)>>6+1, "a stage has started other tasks")
	r.require(st.Total < 0 || st.Pending <= st.Total, "more tasks wait than there are")
	r.require(t.next >= 0 && t.next <= tasks, "a stage has started tasks that it does not have")
	for _, task := range t.again {
		r.require(task > 0 && task <= tasks, "a stage runs tasks again that it does not have")
	}
	copies := st.Spec.Copies
	r.require(copies >= 0 && len(st.Spec.Places) >= int(copies)*int(tasks), "a stage lacks places of its input")
	for _, n := range st.reserved {
		r.require(r.hasNode(n), "a node that is kept for a stage is not there")
	}
	for _, n := range t.ran {
		r.require(n == 0 || r.hasNode(n), "an output is on a node that is not there")
	}
	for _, f := range from.Failures {
		if t.failures == nil {
			t.failures = map[int32]int32{}
		}
		t.failures[f.ID] = f.Count
	}
	if w := from.Wishes; w != nil {
		t.wishes = &wishes{listed: w.Listed}
		for _, one := range w.Nodes {
			r.require(one.ID > 0, "a stage wishes for a node that cannot be")
			t.wishes.nodes = append(t.wishes.nodes, wish{one.ID, one.Count})
		}
		for _, one := range w.Racks {
			t.wishes.racks = append(t.wishes.racks, wish{one.ID, one.Count})
		}
	}
	if !st.alive {
		return
	}
	c.ledger.shapes.use(st.Shape, 1)
	for i, n := range t.ran {
		if n != 0 {
			c.view.Node(n).outputs.add(n, st, int32(i+1))
		}
	}
}

// attempt fills the row of an attempt, whose stage is there.
func (r *restorer) attempt(from *SavedAttempt) {
	c := r.c
	a := c.attempts.at(from.ID.Row())
	r.require(from.Stage >= 0 && int(from.Stage) < len(c.stages.rows), "an attempt is of a stage that is not there")
	st := c.stages.rows[from.Stage]
	r.require(st.Job != nil, "an attempt has no stage")
	r.require(from.Class > 0 && int(from.Class) <= len(c.view.Classes), "an attempt has no class")
	r.require(r.hasNode(from.Node), "an attempt has no node")
	r.require(from.Phase < NumPhases, "an attempt is in no phase")
	holds, wants := ShapeID(from.Holds), ShapeID(from.Wants) // a restored core has had one vector in each row
	known := c.ledger.shapes.find(holds) != nil && c.ledger.shapes.find(wants) != nil
	r.require(known, "an attempt has no shape")
	r.require(from.State < gone, "an attempt that runs has ended")
	r.require(from.Task >= 0 && from.Task <= max(0, st.Total), "an attempt is of a task that is not there")
	*a = Attempt{
		ID: from.ID, Stage: st, Start: from.Start, Node: from.Node, Task: from.Task,
		Progress: from.Progress, Holds: holds, Class: from.Class, Phase: from.Phase, State: from.State,
		parked: from.Parked, moot: from.Moot, wants: wants,
	}
	if from.Twin >= 0 {
		r.require(from.Twin < c.attempts.n, "an attempt has a twin that is not there")
		a.twin = c.attempts.at(from.Twin)
	}
	if from.Suspensions {
		if c.attempts.pauses == nil {
			c.attempts.pauses = map[AttemptID]pause{}
		}
		c.attempts.pauses[a.ID] = pause{from.PausedSince, from.PausedFor}
	}
}

// lists puts the jobs into their order, and checks that rows which lists refer to are there.
func (r *restorer) lists() {
	c := r.c
	var open []*Job
	for _, j := range c.jobs.rows {
		if j.ID != 0 && !j.Ended {
			open = append(open, j)
		}
	}
	slices.SortFunc(open, func(a, b *Job) int { return cmp.Compare(a.ID, b.ID) })
	for _, j := range open {
		c.jobs.link(j)
	}
	for _, slot := range r.s.EndedJobs {
		r.require(slot >= 0 && int(slot) < len(c.jobs.rows) && c.jobs.rows[slot].Ended, "a job that ended is not there")
		c.jobs.ended = append(c.jobs.ended, c.jobs.rows[slot])
	}
	for _, st := range c.stages.rows {
		for i, slot := range st.attempts.slots {
			a := r.attemptAt(slot)
			r.require(a.Stage == st, "a stage has an attempt of another")
			a.index = int32(i)
			b := a.twin
			for n := len(st.attempts.slots); b != nil && b != a; b = b.twin {
				n--
				r.require(n > 0 && b.Stage == st, "the attempts of a task are no ring")
			}
		}
	}
	for _, n := range c.view.Nodes {
		for _, slot := range n.slots {
			a := r.attemptAt(slot)
			r.require(a.Stage != nil && a.Node == n.ID, "a node has no such attempt")
		}
	}
}

// attemptAt returns the row of an attempt.
func (r *restorer) attemptAt(slot int32) *Attempt {
	r.require(slot >= 0 && slot < r.c.attempts.n, "an attempt is not there")
	return r.c.attempts.at(slot)
}

package sched

import (
	"cmp"
	"fmt"
	"slices"
)

// Restore returns a core with a state, which takes over what s holds. Its policy and its estimator are told nothing:
// the caller gives them the memory that they had at that instant. The configuration need not be that of the core which
// the state was taken from; its queues are ignored. A state that no core can have is an error.
func Restore(config Config, s *State) (c *Core, err error) {
	defer func() { // an index out of range, most likely
		if broken := recover(); broken != nil {
			c, err = nil, fmt.Errorf("sched: no core has such a state: %v", broken)
		}
	}()
	config.Queues = nil
	c = New(config)
	(&restorer{c: &c.state, s: s}).all()
	return c, nil
}

// A restorer fills a new cluster with a state. It panics if no core can have that state; Restore makes an error of it.
type restorer struct {
	c *cluster
	s *State
}

// all fills the cluster. Rows come before what refers to them: nodes, queues, rows of jobs and stages, attempts, lists.
func (r *restorer) all() {
	c, s := r.c, r.s
	v := c.view
	v.Now, v.QueueChanges = s.Now, s.QueueChanges
	c.ledger.kinds, c.started, c.layouts = s.Kinds, s.Started, 1
	c.plan.out.wake, c.plan.out.told = s.Wake, s.Told
	for i, amount := range s.Shapes {
		require(c.ledger.shapes.intern(amount) == ShapeID(i), "a shape stands twice")
	}
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

// require panics with what is broken in a state unless ok.
func require(ok bool, broken string) {
	if !ok {
		panic(broken)
	}
}

// nodes makes the nodes, and sums them up.
func (r *restorer) nodes() {
	c, s := r.c, r.s
	for _, name := range s.Classes {
		c.view.Classes = append(c.view.Classes, &Class{ID: ClassID(len(c.view.Classes) + 1), Name: name})
	}
	for i := range s.Nodes {
		from := &s.Nodes[i]
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
	require(len(r.s.Queues) > 0, "there is no root")
	c.view.Queues = c.view.Queues[:0]
	for i := range r.s.Queues {
		from := &r.s.Queues[i]
		q := &Queue{
			ID: QueueID(i), Parent: from.Parent, User: from.User, Children: from.Children, Jobs: from.Jobs,
			Used: from.Used, Masters: from.Masters, Leaving: from.Leaving, Demand: from.Demand, Count: from.Count,
			Spec: &from.Spec, served: from.Served, since: from.Since, uses: from.Uses,
		}
		require(i == 0 && q.Parent == 0 || int(q.Parent) < i, "a queue comes before the one above")
		if i > 0 {
			q.above = c.view.Queues[q.Parent]
		}
		c.view.Queues = append(c.view.Queues, q)
		if from.Path != "" {
			t.byPath[from.Path] = q.ID
		}
		if len(from.Spare) > 0 {
			t.spare[q.ID] = from.Spare
		}
	}
	for _, q := range c.view.Queues {
		for _, id := range q.Children {
			require(c.view.Queues[id].Parent == q.ID, "a queue is below two others")
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
	require(j.ID == 0 && from.ID > 0, "two jobs have one slot")
	if err := from.Spec.Validate(); err != nil {
		panic(err)
	}
	*j = Job{
		ID: from.ID, Queue: from.Leaf, Weight: weightOr1(from.Spec.Weight), Submitted: from.Submitted,
		Running: from.Running, Ended: from.Ended, Used: from.Used, Spec: from.Spec, leaf: c.view.Queues[from.Leaf],
		slot: j.slot, next: -1, prev: -1, open: from.Open, chained: from.Chained, attempts: from.Attempts,
		served: from.Served, since: from.Since,
	}
	for i, slot := range from.Stages {
		st := c.stages.rows[slot]
		require(st.Job == nil, "a stage has two jobs")
		st.ID, st.Job, st.alive, st.cap = StageID{j.ID, int32(i)}, j, !j.Ended, j.leaf.cap
		j.Stages = append(j.Stages, st)
	}
	for _, f := range from.Failures {
		if j.failures == nil {
			j.failures = map[NodeID]int32{}
		}
		j.failures[NodeID(f.ID)] = f.Count
	}
	require(slices.IsSorted(from.Banned), "the nodes that a job avoids are not in order")
	j.banned = from.Banned
	if !from.Gone {
		c.jobs.byID[j.ID] = j
	}
}

// stage fills the row of a stage, whose job is there, and counts its shape and its outputs if the job has not ended.
func (r *restorer) stage(from *SavedStage) {
	c := r.c
	st := c.stages.rows[from.Slot]
	require(st.Job != nil && st.Spec == nil, "a stage has no job")
	if st.Spec = from.Spec; st.Spec == nil {
		st.Spec = &st.Job.Spec.Stages[st.ID.Index]
	}
	st.Kind, st.Shape = st.Spec.Kind, c.ledger.shapes.intern(st.Spec.PerTask)
	st.Total, st.Pending, st.Running, st.Suspended = from.Total, from.Pending, from.Running, from.Suspended
	st.Done, st.Leaving, st.waiting, st.ready = from.Done, from.Leaving, from.Waiting, from.Ready
	st.reserved, st.only = from.Reserved, from.Only
	st.attempts = attemptList{slots: from.Attempts, starts: from.Starts, paused: from.Paused}
	st.tasks = taskSet{next: from.Next, again: from.Again, taken: from.Taken, ran: from.Ran}
	t := &st.tasks
	require(len(t.ran) == 0 || len(t.ran) == int(st.Total), "a stage has outputs of other tasks")
	require(len(t.taken) == 0 || len(t.taken) == int(st.Total)>>6+1, "a stage has started other tasks")
	require(st.Total < 0 || st.Pending <= st.Total, "more tasks wait than there are")
	for _, f := range from.Failures {
		if t.failures == nil {
			t.failures = map[int32]int32{}
		}
		t.failures[f.ID] = f.Count
	}
	if w := from.Wishes; w != nil {
		t.wishes = &wishes{listed: w.Listed}
		for _, one := range w.Nodes {
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
	require(a.Stage == nil && from.ID.Row() < c.attempts.n, "two attempts have one slot")
	require(a.State != gone, "an attempt that runs has a free slot")
	st := c.stages.rows[from.Stage]
	require(st.Job != nil && from.Class > 0 && int(from.Class) <= len(c.view.Classes), "an attempt has no stage")
	shapes := ShapeID(len(c.ledger.shapes.list))
	require(min(from.Holds, from.Wants) >= 0 && max(from.Holds, from.Wants) < shapes, "an attempt has no shape")
	require(from.State < gone, "an attempt that runs has ended")
	*a = Attempt{
		ID: from.ID, Stage: st, Start: from.Start, Node: c.view.Node(from.Node).ID, Task: from.Task,
		Progress: from.Progress, Holds: from.Holds, Class: from.Class, Phase: from.Phase, State: from.State,
		parked: from.Parked, moot: from.Moot, wants: from.Wants,
	}
	if from.Twin >= 0 {
		require(from.Twin < c.attempts.n, "an attempt has a twin that is not there")
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
		c.jobs.ended = append(c.jobs.ended, c.jobs.rows[slot])
	}
	for _, st := range c.stages.rows {
		for place, slot := range st.attempts.slots {
			a := c.attempts.at(slot)
			require(a.Stage == st, "a stage has an attempt of another")
			a.place = int32(place)
			b := a.twin
			for n := len(st.attempts.slots); b != nil && b != a; b = b.twin {
				n--
				require(n > 0 && b.Stage == st, "the attempts of a task are no ring")
			}
		}
	}
	for _, n := range c.view.Nodes {
		for _, slot := range n.slots {
			a := c.attempts.at(slot)
			require(a.Stage != nil && a.Node == n.ID, "a node has no such attempt")
		}
	}
}

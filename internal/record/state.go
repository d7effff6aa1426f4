package record

import (
	"fmt"

	"github.com/sojourn-sched/sojourn/sched"
)

// state codes the state of a core.
func state(c *coder, s *sched.State) {
	number(c, &s.Now)
	list(c, &s.Kinds, func(k *sched.ResourceKind) {
		if number(c, k); *k >= sched.NumResources {
			c.fail(fmt.Errorf("there is no resource %d", *k))
		}
	})
	atMost(c, sched.MaxShapes, &s.Shapes, c.resources)
	list(c, &s.Classes, c.string)
	atMost(c, 1<<18, &s.Nodes, func(n *sched.SavedNode) { savedNode(c, n) })
	changes := int64(s.QueueChanges)
	number(c, &changes)
	s.QueueChanges = int(changes)
	atMost(c, 1<<18, &s.Queues, func(q *sched.SavedQueue) { savedQueue(c, q) })
	atMost(c, 1<<18, &s.Jobs, func(j *sched.SavedJob) { savedJob(c, j) })
	atMost(c, 1<<19, &s.Stages, func(st *sched.SavedStage) { savedStage(c, st) })
	atMost(c, mostEntries, &s.Attempts, func(a *sched.SavedAttempt) { savedAttempt(c, a) })
	for _, p := range []*[]int32{&s.FreeJobs, &s.FreeStages, &s.FreeAttempts, &s.EndedJobs, &s.EndedAttempts} {
		numbers(c, p)
	}
	number(c, &s.Newest)
	s.Serial = c.uvarint(s.Serial)
	number(c, &s.Started)
	number(c, &s.Wake)
	number(c, &s.Told)
}

// savedNode codes a row of the core, as the functions below do.
func savedNode(c *coder, n *sched.SavedNode) {
	c.nodeSpec(&n.Spec)
	number(c, &n.Class)
	n.Lost = c.present(n.Lost)
	stageID(c, &n.Reserved)
	c.resources(&n.Used)
	c.resources(&n.Leaving)
	numbers(c, &n.Slots)
}

// The kinds of queues in a snapshot: a byte each.
const (
	configuredQueue = iota
	userQueue
	retiredQueue
)

func savedQueue(c *coder, q *sched.SavedQueue) {
	spec := &q.Spec
	c.queue(&spec)
	c.float(&spec.Masters)
	spec.Spared = c.present(spec.Spared)
	q.Spec = *spec
	c.string(&q.Path)
	number(c, &q.Parent)
	number(c, &q.Uses)
	kind := byte(configuredQueue)
	switch {
	case q.User:
		kind = userQueue
	case q.Retired:
		kind = retiredQueue
	}
	kind = c.byte(kind)
	q.User, q.Retired = kind == userQueue, kind == retiredQueue
	numbers(c, &q.Children)
	numbers(c, &q.Spare)
	number(c, &q.Jobs)
	for _, r := range []*sched.Resources{&q.Used, &q.Masters, &q.Leaving, &q.Demand} {
		c.resources(r)
	}
	for i := range q.Count {
		number(c, &q.Count[i].Pending)
		number(c, &q.Count[i].Running)
		number(c, &q.Count[i].Away)
	}
	c.work(&q.Served)
	number(c, &q.Since)
}

func savedJob(c *coder, j *sched.SavedJob) {
	number(c, &j.Slot)
	number(c, &j.ID)
	if c.reading {
		j.Spec = &sched.JobSpec{}
	}
	c.jobSpec(j.Spec)
	number(c, &j.Leaf)
	number(c, &j.Submitted)
	j.Ended, j.Gone, j.Chained = c.present(j.Ended), c.present(j.Gone), c.present(j.Chained)
	number(c, &j.Running)
	number(c, &j.Attempts)
	number(c, &j.Open)
	c.resources(&j.Used)
	c.work(&j.Served)
	number(c, &j.Since)
	counts(c, &j.Failures)
	numbers(c, &j.Banned)
	numbers(c, &j.Stages)
}

func savedStage(c *coder, st *sched.SavedStage) {
	pointer(c, &st.Spec, c.stageSpec)
	for _, n := range []*int32{&st.Slot, &st.Total, &st.Pending, &st.Running, &st.Suspended, &st.Done, &st.Leaving,
		&st.Waiting, &st.Next} {
		number(c, n)
	}
	st.Ready = c.present(st.Ready)
	numbers(c, &st.Attempts)
	number(c, &st.Starts)
	number(c, &st.Paused)
	numbers(c, &st.Reserved)
	numbers(c, &st.Only)
	numbers(c, &st.Again)
	list(c, &st.Taken, func(w *uint64) { *w = c.uvarint(*w) })
	counts(c, &st.Failures)
	numbers(c, &st.Ran)
	pointer(c, &st.Wishes, func(w *sched.SavedWishes) {
		counts(c, &w.Nodes)
		counts(c, &w.Racks)
		number(c, &w.Listed)
	})
}

func savedAttempt(c *coder, a *sched.SavedAttempt) {
	a.ID = sched.AttemptID(c.uvarint(uint64(a.ID)))
	number(c, &a.Stage)
	number(c, &a.Twin)
	number(c, &a.Node)
	number(c, &a.Class)
	number(c, &a.Task)
	number(c, &a.Start)
	a.Progress = c.float32(a.Progress)
	number(c, &a.Phase)
	number(c, &a.State)
	number(c, &a.Holds)
	number(c, &a.Wants)
	a.Parked, a.Moot, a.Suspensions = c.present(a.Parked), c.present(a.Moot), c.present(a.Suspensions)
	if a.Suspensions {
		number(c, &a.PausedSince)
		number(c, &a.PausedFor)
	}
}

// numbers codes a list of numbers.
func numbers[T ~int32](c *coder, p *[]T) { list(c, p, func(n *T) { number(c, n) }) }

// counts codes counts of something at tasks, nodes or racks.
func counts(c *coder, p *[]sched.SavedCount) {
	list(c, p, func(n *sched.SavedCount) {
		number(c, &n.ID)
		number(c, &n.Count)
	})
}

func stageID(c *coder, id *sched.StageID) {
	number(c, &id.Job)
	number(c, &id.Index)
}

// atMost codes a list of at most most elements, so that a damaged record cannot make a reader allocate more.
func atMost[T any](c *coder, most int, p *[]T, each func(*T)) {
	list(c, p, func(v *T) {
		if len(*p) > most {
			c.fail(fmt.Errorf("a list of more than %d elements", most))
			return
		}
		each(v)
	})
}

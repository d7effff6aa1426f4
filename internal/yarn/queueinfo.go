package yarn

import (
	"strings"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
	"github.com/sojourn-sched/sojourn/sched"
)

// answerQueue answers request q about a queue. The queues of users below it are left out, because Hadoop has none. apps
// is queueDescriber.apps.
func answerQueue(m *manager, q *wire.QueueRequest, apps map[string][]wire.ApplicationReport) *wire.QueueResponse {
	queue, ok := m.core.Queues[0], q.Name == "root" || q.Name == ""
	if !ok {
		queue, ok = m.core.QueueNamed(q.Name)
	}
	if !ok {
		return &wire.QueueResponse{} // an exception would have clients try again
	}
	return &wire.QueueResponse{Queue: describeQueue(m, queue, q, apps)}
}

// queueWithApps describes a queue and the applications in it for a user. It is called outside of turns, because there
// may be thousands.
func queueWithApps(f *front, user string, q *wire.QueueRequest) (r *wire.QueueResponse) {
	apps := map[string][]wire.ApplicationReport{}
	f.list(func(app *application) bool {
		if !app.over {
			r := app.seen(user)
			apps[""], apps[app.queue] = append(apps[""], r), append(apps[app.queue], r)
		}
		return true
	})
	f.look(func(m *manager) { r = answerQueue(m, q, apps) })
	return r
}

// queueNamed reports whether there is a queue of a name or a path; "root" is one.
func (m *manager) queueNamed(name string) bool {
	_, ok := m.core.QueueNamed(strings.TrimPrefix(name, "root."))
	_, leaf := m.queues.leaves.find(name)
	return ok || leaf || name == "root"
}

// A capacities is what a queue is guaranteed and what it may use at most: as parts of what its parent has (own, most),
// and as parts of the cluster (absolute, absoluteMost).
type capacities struct{ own, most, absolute, absoluteMost float32 }

// capacities returns the capacities of a queue. A part that its file names is returned as it is, whatever the cluster
// has.
func (m *manager) capacities(q *sched.Queue) capacities {
	if q.ID == 0 {
		return capacities{1, 1, 1, 1}
	}
	above := m.capacities(m.core.Queues[q.Parent])
	c := capacities{own: float32(q.Spec.Min.Part), most: float32(q.Spec.Max.Part)}
	if c.own == 0 && above.absolute > 0 {
		c.own = min(1, m.share(q.Min)/above.absolute)
	}
	if c.most == 0 {
		if c.most = 1; q.Spec.Max.Amount != (sched.Resources{}) && above.absoluteMost > 0 {
			c.most = min(1, m.share(q.Max)/above.absoluteMost)
		}
	}
	c.absolute, c.absoluteMost = above.absolute*c.own, above.absoluteMost*c.most
	return c
}

// share returns the dominant share of an amount, in [0, 1].
func (m *manager) share(r sched.Resources) float32 {
	return float32(min(1, max(0, r.DominantShare(m.core.Capacity))))
}

// A queueDescriber describes queues to a user. It has looked at the applications once.
type queueDescriber struct {
	m      *manager
	counts map[string]*tally                   // of appTable.tallies
	apps   map[string][]wire.ApplicationReport // that live, by the path of their queue; "" has all. nil: not asked for
}

// describeQueue describes a queue, and the queues below it as far as q asks for them. apps is queueDescriber.apps.
func describeQueue(
	m *manager, queue *sched.Queue, q *wire.QueueRequest, apps map[string][]wire.ApplicationReport,
) *wire.QueueInfo {
	t := &queueDescriber{m, m.apps.tallies(), apps}
	return t.describe(queue, q)
}

// describe describes a queue, and the queues below it as far as q asks for them.
func (t *queueDescriber) describe(queue *sched.Queue, q *wire.QueueRequest) *wire.QueueInfo {
	m := t.m
	path, below := "root", ""
	if queue.ID != 0 {
		below = m.core.Path(queue)
		path += "." + below
	}
	whole := m.core.Capacity
	most := queue.Max
	for k := range most {
		most[k] = min(most[k], whole[k])
	}
	c := m.capacities(queue)
	info := &wire.QueueInfo{
		Name:               queue.Spec.Name,
		Path:               path,
		Capacity:           c.own,
		Max:                c.most,
		State:              wire.QueueRunning,
		PreemptionDisabled: true,
		Scheduler:          "CapacityScheduler",
		Apps:               t.apps[below],
		Shares: wire.QueueShares{
			Capacity:    c.own,
			Absolute:    c.absolute,
			Max:         c.most,
			AbsoluteMax: c.absoluteMost,
			MasterPart:  1,
			Min:         m.config.Sizes.size(queue.Min),
			MaxAmount:   m.config.Sizes.size(most),
		},
	}
	if queue.ID == 0 {
		info.Name = "root"
	}
	if c.absolute > 0 {
		info.Current = m.share(queue.Used) / c.absolute
	}
	s := &info.Statistics
	if counted := t.counts[below]; counted != nil {
		s.Submitted, s.Pending, s.Running = counted.submitted, counted.pending, counted.running
		s.Completed, s.Failed, s.Killed = counted.completed, counted.failed, counted.killed
	}
	if m.queues.stopped(below) {
		if info.State = wire.QueueStopped; s.Pending+s.Running > 0 {
			info.State = wire.QueueDraining
		}
	}
	free, waits := most.Sub(queue.Used), queue.Demand.Sub(queue.Used)
	s.FreeMemory, s.FreeVCores = max(0, free[sched.Memory]), max(0, free[sched.VCores])
	info.Used = m.config.Sizes.size(queue.Used)
	s.UsedMemory, s.UsedVCores = queue.Used[sched.Memory], queue.Used[sched.VCores]
	s.PendingMemory, s.PendingVCores = waits[sched.Memory], waits[sched.VCores]
	s.RunningContainers, s.PendingContainers = int64(queue.Running()), int64(queue.Pending())
	for _, id := range queue.Children {
		child := m.core.Queues[id]
		switch {
		case child == nil:
		case child.User:
			s.Users++
		case q.Children || q.Recursive:
			deeper := *q
			deeper.Children = q.Recursive
			info.Children = append(info.Children, *t.describe(child, &deeper))
		}
	}
	return info
}

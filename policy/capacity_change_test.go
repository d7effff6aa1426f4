package policy

import (
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/sched"
)

// A node that joins makes a policy look again only at jobs whose keys depend on the capacity. There are 300 jobs, and
// ten nodes of one slot each join one after another. Under drf a job that holds something has another share with each
// node: there are as many of these jobs as there are slots, 1 to 10. Under adaptive a job with a goal does not depend
// on the number of slots; a job of two tasks without a goal does while there is one slot; and a job of 50 tasks does
// always here.
func TestJobsLookedAtWhenNodesJoin(t *testing.T) {
	const nodes, jobs = 10, 300
	drfQueue := []*sched.QueueSpec{{Name: "default", Policy: "drf"}}
	for _, c := range []struct {
		spec     string
		queues   []*sched.QueueSpec
		tasks    int32
		deadline sched.Time
		most     int
	}{
		{"fair", nil, 2, 0, nodes},
		{"capacity", nil, 2, 0, nodes},
		{"longterm", nil, 2, 0, nodes},
		{"fair", drfQueue, 2, 0, nodes + nodes*(nodes+1)/2},
		{"drf", nil, 2, 0, nodes + nodes*(nodes+1)/2},
		{"adaptive", nil, 2, time.Hour, 4 * nodes},
		{"adaptive", nil, 2, 0, 4*nodes + jobs},
		{"adaptive", nil, 50, 0, 4*nodes + nodes*jobs},
	} {
		p, _, err := Parse(c.spec)
		if err != nil {
			t.Fatal(err)
		}
		looks := 0
		hear := func(*sched.Stage) { looks++ }
		switch p := p.(type) {
		case *fair:
			p.hear = hear
		case *capacity:
			p.hear = hear
		case *longterm:
			p.hear = hear
		case *drf:
			p.hear = hear
		case *adaptive:
			key := p.Order.waits.Key
			p.Order.waits.Key = func(v *sched.View, st *sched.Stage, at sched.Time) (sched.Key, bool) {
				looks++
				return key(v, st, at)
			}
		}
		core := sched.New(sched.Config{Policy: p, Queues: c.queues})
		events := []sched.Event{slotNode(1, 1)}
		for id := sched.JobID(1); id <= jobs; id++ {
			e := secondsJob(id, c.tasks)
			e.Body.(*sched.JobSpec).Deadline = c.deadline
			events = append(events, e)
		}
		core.Step(0, events)
		looks = 0
		for id := sched.NodeID(2); id <= nodes+1; id++ {
			core.Step(sched.Time(id), []sched.Event{slotNode(id, 1)})
		}
		if looks > c.most || looks == 0 {
			t.Errorf("%s, jobs of %d tasks: %d looks at jobs while %d nodes join, want 1 to %d", c.spec, c.tasks, looks,
				nodes, c.most)
		}
	}
}

package sim

import (
	"fmt"
	"slices"

	"github.com/sojourn-sched/sojourn/internal/workload"
	"github.com/sojourn-sched/sojourn/sched"
)

// timetables make the nodes of some classes follow a forecast of what they offer, as where a service runs beside them.
// For each such class one item of the queue is the instant of its next change.
type timetables struct {
	e       *engine
	byClass []*sched.Forecast // by place of the class in the cluster; nil: its nodes offer all that they have
	longest sched.Time        // a bound on the time between two changes of a class
}

// init takes in the timetables of Config, by names of classes.
func (t *timetables) init(e *engine) error {
	classes := e.config.Cluster.Classes
	t.e, t.byClass = e, make([]*sched.Forecast, len(classes))
	for name, f := range e.config.Timetables {
		i := slices.IndexFunc(classes, func(c workload.Class) bool { return c.Name == name })
		if i < 0 {
			return fmt.Errorf("timetable of class %q: the cluster has no such class", name)
		}
		steps, period := f.Steps()
		for _, s := range steps {
			if !s.Capacity.FitsIn(classes[i].Resources) {
				return fmt.Errorf("timetable of class %q: from %v it offers more than a node has", name, s.From)
			}
		}
		t.byClass[i], t.longest = f, max(t.longest, period, steps[len(steps)-1].From)
	}
	for i := range classes {
		t.plan(i)
	}
	return nil
}

// plan puts the next change of the nodes of a class into the queue, as an incident beyond those of the script.
func (t *timetables) plan(class int) {
	if f := t.byClass[class]; f != nil {
		if next := f.Next(t.e.now); next != sched.Never {
			t.e.queue.push(next, incidentOf|uint64(len(t.e.config.Script)+1+class))
		}
	}
}

// offered returns what a node of a class, whose own capacity is given, offers now.
func (t *timetables) offered(class int, own sched.Resources) sched.Resources {
	if f := t.byClass[class]; f != nil {
		return f.At(t.e.now)
	}
	return own
}

// change makes the nodes of a class offer what the timetable says now. It costs O(nodes of all classes).
func (t *timetables) change(class int) {
	for i := range t.e.nodes.list {
		n := &t.e.nodes.list[i]
		if n.class != class || n.lost {
			continue
		}
		spec := *n.spec
		spec.Capacity = t.offered(class, spec.Capacity)
		news := &t.e.evs
		if t.e.beats.reports {
			news = &n.news
		}
		*news = append(*news, sched.Event{Kind: sched.NodeReported, Node: sched.NodeID(i + 1), Body: &spec})
	}
	t.plan(class)
}

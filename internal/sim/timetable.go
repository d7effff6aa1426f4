package sim

import (
	"fmt"
	"slices"

	"github.com/sojourn-sched/sojourn/internal/workload"
	"github.com/sojourn-sched/sojourn/sched"
)

// timetables say for some classes how much their nodes offer when, as if a service ran on the same machines. Each such
// class has one item in the queue: the instant of its next change.
type timetables struct {
	byClass []*sched.Forecast // by place of the class in the cluster; nil: its nodes offer all that they have
	longest sched.Time        // a bound on the time between two changes of a class
}

// init sets the timetables, which are given by the names of classes, and checks them.
func (t *timetables) init(classes []workload.Class, by map[string]*sched.Forecast) error {
	t.byClass = make([]*sched.Forecast, len(classes))
	for name, f := range by {
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
	return nil
}

// offered returns how much a node of a class, whose capacity is own, offers at now.
func (t *timetables) offered(now sched.Time, class int, own sched.Resources) sched.Resources {
	if f := t.byClass[class]; f != nil {
		return f.At(now)
	}
	return own
}

// planChange adds the next change of a class to the queue, as an incident with an index above those of the script.
func (m *machines) planChange(class int) {
	if f := m.timetables.byClass[class]; f != nil {
		if next := f.Next(m.now); next != sched.Never {
			m.queue.push(next, incidentOf|uint64(len(m.script)+1+class))
		}
	}
}

// change tells the core how much the nodes of a class offer from now on. O(nodes of all classes).
func (m *machines) change(class int) {
	for i := range m.list {
		if m.list[i].class == class {
			m.tell(sched.NodeID(i + 1))
		}
	}
	m.planChange(class)
}

// Expected returns how much all nodes of a cluster together offer when, if each follows the timetable of its class. It
// is the sched.Config.Forecast for policies that plan ahead. All timetables must repeat after the same time. The result
// is nil if there are none.
func Expected(c *workload.Cluster, tables map[string]*sched.Forecast) (*sched.Forecast, error) {
	var period sched.Time
	var starts []sched.Time
	first := ""
	for i := range c.Classes {
		f := tables[c.Classes[i].Name]
		if f == nil {
			continue
		}
		steps, p := f.Steps()
		if first != "" && p != period {
			return nil, fmt.Errorf("timetables of classes %q and %q: must repeat after the same time", first,
				c.Classes[i].Name)
		}
		first, period = c.Classes[i].Name, p
		for _, s := range steps {
			starts = append(starts, s.From)
		}
	}
	if first == "" {
		return nil, nil
	}
	slices.Sort(starts)
	var sum []sched.Supply
	for _, at := range slices.Compact(starts) {
		s := sched.Supply{From: at}
		for i := range c.Classes {
			each := c.Classes[i].Resources
			if f := tables[c.Classes[i].Name]; f != nil {
				each = f.At(at)
			}
			s.Capacity = s.Capacity.Add(each.Times(int64(c.Classes[i].Count)))
		}
		sum = append(sum, s)
	}
	return sched.NewForecast(period, sum...)
}

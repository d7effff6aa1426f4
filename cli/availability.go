package cli

import (
	"context"
	"time"

	"github.com/sojourn-sched/sojourn/internal/availability"
	"github.com/sojourn-sched/sojourn/internal/run"
	"github.com/sojourn-sched/sojourn/internal/sim"
	"github.com/sojourn-sched/sojourn/internal/workload"
	"github.com/sojourn-sched/sojourn/internal/yarn"
	"github.com/sojourn-sched/sojourn/mr"
	"github.com/sojourn-sched/sojourn/sched"
)

// measured is the value of --availability that measures this machine.
const measured = "measured"

// follow makes the nodes of a simulation offer what a timetable says; throttled: what runs there is slowed to it.
func follow(file string, throttled bool, c *sim.Config) error {
	switch {
	case file == "" && throttled:
		return usagef("--throttle needs --availability")
	case file == "":
		return nil
	}
	t, err := availability.Read(file)
	if err != nil {
		return usageError{err}
	}
	if c.Timetables, err = t.Classes(c.Cluster); err != nil {
		return usageError{err}
	}
	if throttled {
		c.Throttle = t.Part
	}
	return nil
}

// roomBy returns what --availability says of the machines of NodeManagers. The instants of a file count from the
// midnight before start, in its zone; those of the forecast, which a file gives, from start.
func roomBy(says string, start time.Time) (r yarn.Room, ahead *sched.Forecast, err error) {
	switch says {
	case "":
		return r, nil, nil
	case measured:
		return yarn.Room{Measured: true}, nil, nil
	}
	t, err := availability.Read(says)
	if err != nil {
		return r, nil, usageError{err}
	}
	year, month, day := start.Date()
	midnight := time.Date(year, month, day, 0, 0, 0, 0, start.Location())
	if ahead, err = t.InParts(start.Sub(midnight)); err != nil {
		return r, nil, usageError{err}
	}
	r.Since = start
	r.Part = func(at time.Time) (float64, time.Time) {
		part, until := t.Part(at.Sub(midnight))
		if until == sched.Never {
			return part, time.Time{}
		}
		return part, midnight.Add(until)
	}
	return r, ahead, nil
}

// offer makes the nodes of a run on this machine offer what --availability says: a file, or measured. The policy is
// told what a file says beforehand.
func offer(says string, cluster *workload.Cluster, setup *run.Setup, config *mr.Config) error {
	nodes := cluster.List()
	switch says {
	case "":
		return nil
	case measured:
		m, err := availability.NewMeter()
		if err != nil {
			return usageError{err}
		}
		config.Offers = func(ctx context.Context, tell func(sched.NodeID, sched.Resources, float64)) {
			m.Measure(ctx, nodes, tell)
		}
		return nil
	}
	t, err := availability.Read(says)
	if err != nil {
		return usageError{err}
	}
	if err := t.Starved(nodes); err != nil {
		return usageError{err}
	}
	tables, err := t.Classes(cluster)
	if err != nil {
		return usageError{err}
	}
	if setup.Forecast, err = sim.Expected(cluster, tables); err != nil {
		return usageError{err}
	}
	config.Offers = func(ctx context.Context, tell func(sched.NodeID, sched.Resources, float64)) {
		t.Follow(ctx, nodes, tell)
	}
	return nil
}

package run

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/sojourn-sched/sojourn/internal/record"
	"github.com/sojourn-sched/sojourn/internal/sim"
	"github.com/sojourn-sched/sojourn/internal/workload"
	"github.com/sojourn-sched/sojourn/model"
	"github.com/sojourn-sched/sojourn/sched"
)

// Truth tells an oracle what really happens in a simulated job.
func Truth(j *sched.JobSpec) (model.JobTruth, bool) {
	t, ok := j.Payload.(*workload.Truth)
	return t, ok
}

// Payload keeps the truth of simulated jobs in a record, so that a replay can ask the same oracle.
var Payload = record.Payload{
	Name: "truth",
	Append: func(b []byte, payload any) ([]byte, error) {
		text, err := json.Marshal(payload)
		return append(b, text...), err
	},
	Parse: func(b []byte) (any, error) {
		t := &workload.Truth{}
		return t, json.Unmarshal(b, t)
	},
}

// measure returns what a tally asks about a simulated job on a cluster: its size in seconds of the whole cluster, and
// its time alone there.
func measure(c *workload.Cluster) func(*sched.Job) (float64, sched.Time) {
	alone, capacity := sim.Alone(c), c.Capacity()
	return func(j *sched.Job) (float64, sched.Time) {
		t, ok := j.Spec.Payload.(*workload.Truth)
		if !ok {
			return 0, 0
		}
		return t.Size(j.Spec).Seconds(capacity), alone(j.Spec)
	}
}

// Recorded returns what a tally is to know of the jobs of a recorded run, so that its figures are those of the run. It
// returns record.ErrFormat if it cannot read the cluster in the header.
func Recorded(h *record.Header) (o record.TallyOptions, err error) {
	o.Measured = h.Engine == Embedded.Name
	if h.Engine != Simulator.Name || h.Payload != Payload.Name {
		return o, nil
	}
	c, err := clusterOf(h)
	if err == nil && len(c.Classes) > 0 {
		o.Truth = measure(c)
	}
	return o, err
}

// clusterOf returns the cluster that the header of a record has; an empty one if it has none.
func clusterOf(h *record.Header) (*workload.Cluster, error) {
	c := &workload.Cluster{}
	if len(h.Cluster) == 0 {
		return c, nil
	}
	if err := json.Unmarshal(h.Cluster, c); err != nil {
		return nil, fmt.Errorf("%w: header, cluster: %w", record.ErrFormat, err)
	}
	return c, nil
}

// speedsOf returns the speeds of the classes of nodes of a recorded run; 1 where the record does not tell.
func speedsOf(h *record.Header) (func(class string) float64, error) {
	c, err := clusterOf(h)
	if err != nil {
		return nil, err
	}
	speeds := map[string]float64{}
	for _, class := range c.Classes {
		speeds[class.Name] = class.Speed
	}
	return func(class string) float64 {
		if s := speeds[class]; s > 0 {
			return s
		}
		return 1
	}, nil
}

// Again makes a simulation on the cluster of a recorded run go as the run went: nodes are lost, return, offer less and
// report as they did. It changes no interval of reports that c has.
func Again(past *record.PastCluster, c *sim.Config) {
	c.Core.Spread, c.Core.Forecast = past.Spread, past.Forecast
	for _, x := range past.Changes {
		if x.Offers == nil || len(c.Timetables) == 0 { // which the user has put in their place
			c.Script = append(c.Script, sim.Incident{At: x.At, Node: x.Node, Returns: x.Joins, Offers: x.Offers})
		}
	}
	c.Costs.Reporting.Heartbeat = cmp.Or(c.Costs.Reporting.Heartbeat, past.Heartbeat)
}

// PastJobs makes a workload of a record: arrivals and task times of its jobs, to be simulated on c. ids are as in
// workload.Past.On. The file is read anew on each pass. mend turns a record that ends early into an error, or into
// none.
func PastJobs(
	path string, c *workload.Cluster, ids []sched.NodeID, mend func(error) error,
) (workload.Source, error) {
	r, err := record.Open(path, Payload)
	if err != nil {
		return nil, err
	}
	speed, err := speedsOf(r.Header)
	if err = errors.Join(err, r.Close()); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return func(yield func(*sched.JobSpec, error) bool) {
		r, err := record.Open(path, Payload)
		if err != nil {
			yield(nil, err)
			return
		}
		defer r.Close()
		for past, err := range record.PastJobs(r, speed) {
			if err != nil {
				if err = mend(err); err != nil {
					yield(nil, err)
				}
				return
			}
			if !yield(past.On(c, ids), nil) {
				return
			}
		}
	}, nil
}

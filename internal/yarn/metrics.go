package yarn

import (
	"net/http"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
	"github.com/sojourn-sched/sojourn/sched"
)

// A collector has the metrics of the cluster for Prometheus. Its numbers are read together, between two turns.
type collector struct{ f *front }

// describe makes the description of a metric.
func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("sojourn_rm_"+name, help, labels, nil)
}

// described are the metrics that a collector has.
type described struct {
	nodes, apps, resources, containers, waits, queues, granted, ended, refused *prometheus.Desc
}

// describeAll returns the descriptions of all metrics.
func describeAll() described {
	return described{
		nodes: describe("nodes", "NodeManagers by state.", "state"),
		apps:  describe("applications", "Applications that are remembered, by state.", "state"),
		resources: describe(
			"resources",
			"Resources of the cluster: what there is, what is used, and what is asked for beyond that; memory in MiB.",
			"resource",
			"what",
		),
		containers: describe("containers_running", "Containers that hold room."),
		waits:      describe("containers_pending", "Containers that are asked for and have none."),
		queues: describe(
			"queue_resources",
			"Resources of queues and all below them: used, asked for beyond that, guaranteed; memory in MiB.",
			"queue",
			"resource",
			"what",
		),
		granted: describe("containers_granted_total", "Containers granted since the start."),
		ended: describe(
			"containers_ended_total",
			"Containers that have ended since the start, by how: ok, failed, killed, lost, released.",
			"outcome",
		),
		refused: describe("policy_refused_total", "Invalid actions that the policy asked for since the start."),
	}
}

// Describe sends nothing: what there is depends on queues, which may change.
func (c *collector) Describe(chan<- *prometheus.Desc) {}

// Collect sends the numbers of now. They are taken in the owner's turn and made metrics after it.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	d := describeAll()
	var list []sample
	c.f.look(func(m *manager) { list = collect(m, &d) })
	for _, s := range list {
		one, err := prometheus.NewConstMetric(s.what, s.kind, s.value, s.labels...)
		if err != nil {
			one = prometheus.NewInvalidMetric(s.what, err)
		}
		out <- one
	}
}

// A sample is a number, and the metric and the labels that it is of.
type sample struct {
	what   *prometheus.Desc
	kind   prometheus.ValueType
	value  float64
	labels []string
}

// collect returns the samples of all metrics. O(nodes + applications + queues).
func collect(m *manager, d *described) (list []sample) {
	add := func(kind prometheus.ValueType, desc *prometheus.Desc, value float64, labels ...string) {
		list = append(list, sample{desc, kind, value, labels})
	}
	gauge := func(desc *prometheus.Desc, value float64, labels ...string) {
		add(prometheus.GaugeValue, desc, value, labels...)
	}
	nodes := map[wire.NodeState]int{}
	for _, n := range m.nodes.list {
		nodes[n.state]++
	}
	for state, name := range nodeStates {
		gauge(d.nodes, float64(nodes[state]), strings.ToLower(name))
	}
	apps := map[wire.AppState]int{}
	for _, app := range m.apps.list {
		apps[app.state]++
	}
	for state := wire.AppAccepted; state <= wire.AppKilled; state++ {
		gauge(d.apps, float64(apps[state]), strings.ToLower(state.String()))
	}
	for q := range m.standing() {
		name, waits := "root", q.Demand.Sub(q.Used)
		if q.ID != 0 {
			name += "." + m.core.Path(q)
		}
		for _, k := range []sched.ResourceKind{sched.Memory, sched.VCores} {
			gauge(d.queues, float64(q.Used[k]), name, k.String(), "used")
			gauge(d.queues, float64(waits[k]), name, k.String(), "pending")
			gauge(d.queues, float64(q.Min[k]), name, k.String(), "guaranteed")
			if q.ID == 0 {
				gauge(d.resources, float64(m.core.Capacity[k]), k.String(), "total")
				gauge(d.resources, float64(q.Used[k]), k.String(), "used")
				gauge(d.resources, float64(waits[k]), k.String(), "pending")
			}
		}
	}
	gauge(d.containers, float64(m.leases.count))
	gauge(d.waits, float64(m.core.Queues[0].Pending()))
	add(prometheus.CounterValue, d.granted, float64(m.count.granted))
	for outcome, n := range m.count.ended {
		add(prometheus.CounterValue, d.ended, float64(n), sched.Outcome(outcome).String())
	}
	add(prometheus.CounterValue, d.refused, float64(m.count.refused))
	return list
}

// metricsHandler serves what Prometheus scrapes.
func metricsHandler(f *front) http.Handler {
	r := prometheus.NewRegistry()
	r.MustRegister(&collector{f})
	return promhttp.HandlerFor(r, promhttp.HandlerOpts{})
}

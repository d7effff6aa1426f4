package yarn

import (
	"errors"
	"fmt"
	"math"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/proto"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
	"github.com/sojourn-sched/sojourn/sched"
)

// ReadClasses reads the classes of hosts from a file: a host and a class on each line. # begins a remark.
func ReadClasses(path string) (map[string]string, error) {
	text, err := readBounded(path)
	if err != nil {
		return nil, fmt.Errorf("classes: %w", err)
	}
	return parseClasses(path, text)
}

// parseClasses reads text, the content of file, for ReadClasses.
func parseClasses(file string, text []byte) (map[string]string, error) {
	classes := map[string]string{}
	err := eachLine(file, text, func(f []string) error {
		if len(f) != 2 || !wellNamed(f[1]) {
			return errors.New("must be a host and a class, like: node7 gpu")
		}
		if class := classes[f[0]]; class != "" && class != f[1] {
			return fmt.Errorf("host %s is of class %s already", f[0], class)
		}
		classes[f[0]] = f[1]
		return nil
	})
	if err != nil {
		return nil, err
	}
	return classes, nil
}

// offerAll notes for the core what all nodes offer, now and whenever the part that the service leaves changes.
func offerAll(m *manager) {
	part, until := m.config.Room.Part(m.now)
	m.part = part
	for _, n := range m.nodes.list {
		n.offer()
	}
	m.apps.retry(m)
	if !until.IsZero() {
		m.live.at(until, func() { offerAll(m) })
	}
}

// left returns how much of r, the node's resources, a service leaves. If vcores are measured, at least one is left.
func (n *node) left(r sched.Resources) sched.Resources {
	if n.m.config.Room.Part != nil {
		for k := range r {
			r[k] = int64(float64(r[k])*n.m.part + 1e-9)
		}
	}
	if cores := r[sched.VCores]; cores > 0 {
		r[sched.VCores] = max(1, cores-int64(math.Round(n.doing.others)))
	}
	return r
}

// measure updates how much of the node's processors other processes than containers use, by the last heartbeat. It does
// nothing if the NodeManager does not report that.
func (n *node) measure() {
	var machine, containers wire.Use
	if !n.m.config.Room.Measured || len(n.doing.machine) == 0 || proto.Decode(n.doing.machine, &machine) != nil ||
		proto.Decode(n.doing.utilization, &containers) != nil {
		return
	}
	others := float64(machine.Cores) - float64(containers.Cores)
	if !(others >= 0) { // negative or NaN
		others = 0
	}
	was := n.left(n.m.config.Sizes.amount(n.capacity))
	n.doing.others = (n.doing.others + min(others, float64(n.capacity.VCores))) / 2
	if n.fresh() && n.left(n.m.config.Sizes.amount(n.capacity)) != was {
		n.offer()
	}
}

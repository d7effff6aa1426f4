package yarn

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/proto"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
	"github.com/sojourn-sched/sojourn/sched"
)

// Room is what nodes offer, where a service beside NodeManagers leaves a part of their machines, and in which order it
// is given away. What runs is not taken back: nodes get no container until what runs there fits.
type Room struct {
	// Pack fills one node before the next, in the order in which they have come. Otherwise containers go round the
	// nodes with room, as under Hadoop's schedulers.
	Pack bool
	// Part returns the part of each node that is left at an instant, and when that changes; zero: never. nil: all is
	// left.
	Part func(at time.Time) (part float64, until time.Time)
	// Measured lets nodes offer fewer vcores where their heartbeats say that processes other than containers use the
	// processors: what the machine uses less what containers use, where the newest report counts for a half.
	Measured bool
	// Since is when the clock of the core starts, which a forecast of Part counts from; zero: when the ResourceManager
	// does.
	Since time.Time
	// Classes names the classes of hosts with other hardware, for policies that tell nodes apart. Nodes of other hosts
	// are of a class by their size.
	Classes map[string]string
}

// ReadClasses reads the classes of hosts from a file: a host and a class a line, what follows # is a remark.
func ReadClasses(path string) (map[string]string, error) {
	text, err := readBounded(path)
	if err != nil {
		return nil, fmt.Errorf("classes: %w", err)
	}
	return parseClasses(path, text)
}

func parseClasses(file string, text []byte) (map[string]string, error) {
	classes := map[string]string{}
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		line, _, _ = strings.Cut(line, "#")
		switch f := strings.Fields(line); {
		case len(f) == 0:
		case len(f) != 2 || !wellNamed(f[1]):
			return nil, fmt.Errorf("%s:%d: must be a host and a class, like: node7 gpu", file, n)
		case classes[f[0]] != "" && classes[f[0]] != f[1]:
			return nil, fmt.Errorf("%s:%d: host %s is of class %s already", file, n, f[0], classes[f[0]])
		default:
			classes[f[0]] = f[1]
		}
	}
	return classes, nil
}

// offerAll offers all nodes anew, from now on and whenever the part that is left changes.
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

// left returns what a service leaves of what the node has; of vcores that are measured, at least one.
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

// measure takes in what a heartbeat says of the processors that processes other than containers use. It changes nothing
// where a NodeManager does not say it.
func (n *node) measure() {
	var machine, containers wire.Use
	if !n.m.config.Room.Measured || len(n.doing.machine) == 0 || proto.Decode(n.doing.machine, &machine) != nil ||
		proto.Decode(n.doing.utilization, &containers) != nil {
		return
	}
	others := float64(machine.Cores) - float64(containers.Cores)
	if !(others >= 0) { // nor NaN
		others = 0
	}
	was := n.left(n.m.config.Sizes.amount(n.capacity))
	n.doing.others = (n.doing.others + min(others, float64(n.capacity.VCores))) / 2
	if n.fresh() && n.left(n.m.config.Sizes.amount(n.capacity)) != was {
		n.offer()
	}
}

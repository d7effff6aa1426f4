package workload

import (
	"fmt"
	"iter"
	"math"
	"strconv"
	"strings"

	"github.com/sojourn-sched/sojourn/sched"
)

// MaxNodes is the largest cluster.
const MaxNodes = 1 << 20

// A Cluster is what jobs run on.
type Cluster struct {
	Classes []Class            `json:"classes"`
	Network Network            `json:"network"`
	Queues  []*sched.QueueSpec `json:"queues,omitempty"` // below the root; nil: the workload's own, or none
}

// A Class is a group of equal nodes.
type Class struct {
	Name  string `json:"name"`
	Count int32  `json:"count"` // nodes, 1 to MaxNodes in all classes together
	// Racks is how many racks the nodes are spread over evenly, 1 to Count. All classes number their racks from 1, and
	// share the racks of equal numbers.
	Racks int32 `json:"racks"`
	// Speed divides the times of tasks. It is positive; 1 is the speed of the nodes on which a trace was taken.
	Speed     float64         `json:"speed"`
	Resources sched.Resources `json:"resources"`
}

// A Network says how fast bytes go, in bytes a second.
type Network struct {
	Node int64 `json:"node"` // into or out of one node; default 1 Gbit/s
	Rack int64 `json:"rack"` // into or out of one rack; default 10 Gbit/s
}

// DefaultNetwork is one gigabit Ethernet port a node and one of ten gigabits a rack: the network where nothing is said.
var DefaultNetwork = Network{Node: 1e9 / 8, Rack: 10e9 / 8}

// Nodes yields the nodes with their classes in the order of their IDs: the k-th is node k.
func (c *Cluster) Nodes() iter.Seq2[*sched.NodeSpec, *Class] {
	return func(yield func(*sched.NodeSpec, *Class) bool) {
		for i := range c.Classes {
			cl := &c.Classes[i]
			for k := range cl.Count {
				n := &sched.NodeSpec{Name: cl.Name + "-" + strconv.Itoa(int(k)+1), Class: cl.Name,
					Rack: sched.RackID(int64(k)*int64(cl.Racks)/int64(cl.Count) + 1), Capacity: cl.Resources}
				if !yield(n, cl) {
					return
				}
			}
		}
	}
}

// Count returns the number of nodes.
func (c *Cluster) Count() int32 {
	n := int32(0)
	for i := range c.Classes {
		n += c.Classes[i].Count
	}
	return n
}

// List returns all nodes.
func (c *Cluster) List() []sched.NodeSpec {
	nodes := make([]sched.NodeSpec, 0, c.Count())
	for n := range c.Nodes() {
		nodes = append(nodes, *n)
	}
	return nodes
}

// Capacity returns the resources of all nodes.
func (c *Cluster) Capacity() sched.Resources {
	var r sched.Resources
	for i := range c.Classes {
		r = r.Add(c.Classes[i].Resources.Times(int64(c.Classes[i].Count)))
	}
	return r
}

// room returns how many tasks with needs fit on the empty cluster, where a node has room for MaxTasks at most.
func (c *Cluster) room(needs sched.Resources) int64 {
	total := int64(0)
	for i := range c.Classes {
		n := int64(MaxTasks)
		for k, a := range needs {
			if a > 0 {
				n = min(n, c.Classes[i].Resources[k]/a)
			}
		}
		total += n * int64(c.Classes[i].Count)
	}
	return total
}

// container is what a task holds where a cluster has memory instead of slots: Hadoop's mapreduce.map.memory.mb and
// mapreduce.map.cpu.vcores, and the same of reduces.
var container = sched.Resources{sched.Memory: 1024, sched.VCores: 1}

// Options returns the default options for jobs that run on c: slots or containers, at most as many reduces a job as the
// cluster runs at once, hosts laid onto its nodes. Where it has slots but none for reduces, jobs known by their bytes
// get none (MaxReduces -1).
func (c *Cluster) Options() Options {
	o := Defaults()
	capacity := c.Capacity()
	if capacity[sched.MapSlots] == 0 && capacity[sched.ReduceSlots] == 0 {
		needs := container
		for _, k := range [...]sched.ResourceKind{sched.Memory, sched.VCores} {
			if capacity[k] == 0 {
				needs[k] = 0 // a cluster that does not say does not limit
			}
		}
		o.MapTask, o.ReduceTask = needs, needs
	}
	o.MaxReduces, o.Nodes = int32(min(c.room(o.ReduceTask), MaxTasks)), c.Count()
	if o.MaxReduces == 0 {
		o.MaxReduces = -1
	}
	for i := range c.Classes {
		o.Classes = append(o.Classes, c.Classes[i].Name)
	}
	return o
}

// ParseCluster reads the shorthand nodes=20,map-slots=3,reduce-slots=1,racks=2: one class of nodes. Keys are nodes,
// racks, speed, the names of resources (memory=8GiB, vcores=4), and node-bandwidth and rack-bandwidth (1Gbit).
func ParseCluster(text string) (*Cluster, error) {
	c := &Cluster{Classes: []Class{{Name: "node", Count: 1, Racks: 1, Speed: 1}}, Network: DefaultNetwork}
	seen := map[string]bool{}
	for item := range strings.SplitSeq(text, ",") {
		key, value, ok := strings.Cut(item, "=")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		if !ok {
			return nil, fmt.Errorf("cluster %q: %q must be key=value, as in nodes=20,map-slots=3,reduce-slots=1", text,
				item)
		}
		if seen[key] {
			return nil, fmt.Errorf("cluster %q: %s is given twice", text, key)
		}
		seen[key] = true
		if err := c.set(key, value); err != nil {
			return nil, fmt.Errorf("cluster %q: %s: %w", text, key, err)
		}
	}
	if err := c.validateGiven(); err != nil {
		return nil, fmt.Errorf("cluster %q: %w", text, err)
	}
	return c, nil
}

// set sets one key of the shorthand.
func (c *Cluster) set(key, value string) (err error) {
	cl := &c.Classes[0]
	switch key {
	case "nodes":
		cl.Count, err = parseCount(value, MaxNodes)
	case "racks":
		cl.Racks, err = parseCount(value, MaxNodes)
	case "speed":
		cl.Speed, err = parseNumber(value)
	case "node-bandwidth":
		c.Network.Node, err = ParseRate(value)
	case "rack-bandwidth":
		c.Network.Rack, err = ParseRate(value)
	default:
		k, ok := sched.ResourceNamed(key)
		if !ok {
			return fmt.Errorf("unknown; known are nodes, racks, speed, node-bandwidth, rack-bandwidth and %s",
				resourceNames())
		}
		cl.Resources[k], err = ParseAmount(k, value)
	}
	return err
}

// resourceNames returns the names of all kinds of resources with commas between them, for messages.
func resourceNames() string {
	var b strings.Builder
	for k := range sched.ResourceKind(sched.NumResources) {
		if k > 0 {
			b.WriteString(", ")
		}
		b.WriteString(k.String())
	}
	return b.String()
}

// validateGiven reports what is wrong with a cluster that a user has described: what Validate says, or that its nodes
// have none of the resources that tasks hold whose job names none (Options). Such a cluster is refused whatever the
// trace is, also if each of its tasks names other resources.
func (c *Cluster) validateGiven() error {
	if err := c.Validate(); err != nil {
		return err
	}
	capacity := c.Capacity()
	for _, k := range [...]sched.ResourceKind{sched.Memory, sched.VCores, sched.MapSlots, sched.ReduceSlots} {
		if capacity[k] > 0 {
			return nil
		}
	}
	return fmt.Errorf("classes: no class has memory, vcores, map-slots or reduce-slots: give it one, as in " +
		"memory=8GiB; tasks of jobs that name no resources need it")
}

// Validate reports what is wrong with c: the field, and what it should be.
func (c *Cluster) Validate() error {
	if len(c.Classes) == 0 {
		return fmt.Errorf("classes: there must be at least one")
	}
	names, total := map[string]bool{}, int64(0)
	for i := range c.Classes {
		cl := &c.Classes[i]
		if names[cl.Name] || cl.Name == "" {
			return fmt.Errorf("classes: name %q: must be there, and different from the others'", cl.Name)
		}
		names[cl.Name] = true
		total += int64(cl.Count)
		switch {
		case cl.Count < 1 || total > MaxNodes:
			return fmt.Errorf("class %s: count %d: must be from 1 to %d in all", cl.Name, cl.Count, MaxNodes)
		case cl.Racks < 1 || cl.Racks > cl.Count:
			return fmt.Errorf("class %s: racks %d: must be from 1 to the number of nodes, %d", cl.Name,
				cl.Racks, cl.Count)
		case !(cl.Speed > 0) || math.IsInf(cl.Speed, 0):
			return fmt.Errorf("class %s: speed %v: must be positive", cl.Name, cl.Speed)
		case cl.Resources == sched.Resources{}:
			return fmt.Errorf("class %s: no resources: give map-slots and reduce-slots, or memory and vcores", cl.Name)
		}
	}
	if c.Network.Node <= 0 || c.Network.Rack <= 0 {
		return fmt.Errorf("network: bandwidths must be positive")
	}
	return nil
}

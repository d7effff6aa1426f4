package predict

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/sojourn-sched/sojourn/internal/workload"
	"github.com/sojourn-sched/sojourn/sched"
)

// A Profile is what a user says of a job to be predicted, in YAML.
type Profile struct {
	Name      string    `yaml:"name"`
	Maps      int       `yaml:"maps"`
	Reduces   int       `yaml:"reduces"`
	Container Container `yaml:"container"`
	Demands   struct {
		Map     Service `yaml:"map"`
		Shuffle Service `yaml:"shuffle"` // of one map's output by one reduce
		Merge   Service `yaml:"merge"`
	} `yaml:"demands"`
	Setup     Seconds        `yaml:"setup"`     // from submission until tasks are asked for, whatever else runs
	Master    Service        `yaml:"master"`    // what the start of a master needs beside that
	Commit    Seconds        `yaml:"commit"`    // from the end of the last task to the job's
	Variation float64        `yaml:"variation"` // coefficient of variation of task times; 0: they do not vary
	Static    *StaticProfile `yaml:"static"`    // data and costs to compute the demands from; nil: Demands holds them

	lenient bool // resources of containers that the cluster does not have are passed over
}

// A StaticProfile is what Herodotou's static cost model computes the demands from, with Hadoop's defaults.
type StaticProfile struct {
	Data  DataProfile `yaml:"data"`
	Costs CostFactors `yaml:"costs"`
}

// A Container says what the containers of a job's tasks hold: amounts by kind of resource, as in cluster files. Without
// it a task holds one vcore, or one slot of its kind, and none of any other resource.
type Container struct {
	Map    map[string]string `yaml:"map"`
	Reduce map[string]string `yaml:"reduce"`
}

// Service is the time that a subtask needs at each resource, if it never waits.
type Service struct {
	CPU     Seconds `yaml:"cpu"`
	Disk    Seconds `yaml:"disk"`
	Network Seconds `yaml:"network"`
	Wait    Seconds `yaml:"wait"` // for nothing that other tasks use: heartbeats, the start of a process
}

// cost returns the service as the model has it.
func (s Service) cost() Cost {
	return Cost{float64(s.CPU), float64(s.Disk), float64(s.Network), float64(s.Wait)}
}

// Seconds is a time that YAML gives with a unit, as 90s or 1.5m.
type Seconds float64

// UnmarshalYAML reads a time with a unit.
func (s *Seconds) UnmarshalYAML(n *yaml.Node) error {
	t, err := workload.ParseTime(n.Value)
	if err != nil {
		return fmt.Errorf("line %d: %w", n.Line, err)
	}
	*s = Seconds(t.Seconds())
	return nil
}

const (
	mostProfile = 1 << 20 // bytes of a profile
	mostTasks   = 1 << 20 // subtasks of a job: the timeline holds each
)

// ReadProfile reads a profile. Errors name the file and, where the text is malformed, line and column.
func ReadProfile(name string, r io.Reader) (*Profile, error) {
	text, err := io.ReadAll(io.LimitReader(r, mostProfile+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", name, err)
	case len(text) > mostProfile:
		return nil, fmt.Errorf("%s is longer than %d bytes: a profile describes one job", name, mostProfile)
	}
	p := &Profile{}
	if err := decode(text, p); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if err := p.Check(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return p, nil
}

// decode reads the YAML of a profile.
func decode(text []byte, p *Profile) error {
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	err := d.Decode(p)
	var wrong *yaml.TypeError
	switch {
	case errors.Is(err, io.EOF):
		return errors.New("is empty: a profile gives maps, reduces and demands")
	case errors.As(err, &wrong):
		list := slices.Clone(wrong.Errors)
		for i, text := range list {
			list[i], _, _ = strings.Cut(text, " in type ") // the names of our types say nothing to a user
		}
		return errors.New(strings.Join(list, "; "))
	}
	return err
}

// Check reports what of a profile is missing or out of range.
func (p *Profile) Check() error {
	switch {
	case p.Maps < 0 || p.Reduces < 0:
		return fmt.Errorf("maps is %d and reduces is %d: neither may be negative", p.Maps, p.Reduces)
	case p.Maps == 0 && p.Reduces == 0:
		return errors.New("maps and reduces are missing: how many tasks has the job?")
	case float64(p.Maps)+float64(p.Reduces)*(float64(p.Maps)+1) > mostTasks:
		return fmt.Errorf("%d maps and %d reduces: maps + reduces × (maps + 1) must be at most %d", p.Maps,
			p.Reduces, mostTasks)
	case !(p.Setup >= 0) || !(p.Commit >= 0):
		return fmt.Errorf("setup is %v and commit %v: neither may be negative", p.Setup, p.Commit)
	case !(p.Variation >= 0) || p.Variation > 10:
		return fmt.Errorf("variation is %v: it must be from 0 to 10", p.Variation)
	case p.Static != nil:
		return nil // its numbers are checked where they are used
	case p.Maps > 0 && p.Demands.Map == Service{}:
		return errors.New("demands.map is missing: give cpu, disk and network seconds of one map; " +
			"counters of one run have them (CPU milliseconds ÷ 1000, bytes ÷ rate)")
	case p.Reduces > 0 && p.Demands.Merge == Service{}:
		return errors.New("demands.merge is missing: give cpu, disk and network seconds of one reduce, its " +
			"shuffle left out")
	}
	for _, s := range []Service{p.Master, p.Demands.Map, p.Demands.Shuffle, p.Demands.Merge} {
		if s.CPU < 0 || s.Disk < 0 || s.Network < 0 || s.Wait < 0 {
			return errors.New("demands must not be negative")
		}
	}
	return nil
}

// demands returns the service times of a subtask of each kind, and the times to begin with.
func (p *Profile) demands() (d [kinds]Cost, first [kinds]float64, err error) {
	if p.Static == nil {
		return [kinds]Cost{p.Demands.Map.cost(), p.Demands.Shuffle.cost(), p.Demands.Merge.cost()}, first, nil
	}
	t := TaskProfile{
		Maps:    p.Maps,
		Reduces: p.Reduces,
		Data:    p.Static.Data,
		Hadoop:  DefaultSettings(),
		Costs:   p.Static.Costs,
	}
	t.Data.setDefaults()
	if t.Costs.RemotePart == 0 {
		t.Costs.RemotePart = 1
	}
	if err := t.Check(); err != nil {
		return d, first, fmt.Errorf("static: %w", err)
	}
	d, first = t.Demands()
	return d, first, nil
}

// On returns the job of a profile, and the cluster's nodes, in the model's terms: the dimensions of capacity are those
// resources that the cluster has. disks is the number of disks of each node; a core is a processor.
func (p *Profile) On(c *workload.Cluster, disks int) (Cluster, Job, error) {
	j := Job{
		Maps: p.Maps, Reduces: p.Reduces, CV: p.Variation, Commit: float64(p.Commit),
		Master: Master{Demand: p.Master.cost().plus(Cost{Wait: float64(p.Setup)})},
	}
	var has []sched.ResourceKind
	for k, x := range c.Capacity() {
		if x > 0 {
			has = append(has, sched.ResourceKind(k))
		}
	}
	if p.lenient {
		p.Container.limit(has)
	}
	var err error
	if j.Demands, j.Initial, err = p.demands(); err != nil {
		return Cluster{}, j, err
	}
	if j.MapSize, err = size(p.Container.Map, "container.map", sched.MapSlots, has); err != nil {
		return Cluster{}, j, err
	}
	if j.ReduceSize, err = size(p.Container.Reduce, "container.reduce", sched.ReduceSlots, has); err != nil {
		return Cluster{}, j, err
	}
	to := Cluster{}
	for spec := range c.Nodes() {
		n := Node{Disks: disks, Rack: int(spec.Rack)}
		for _, k := range has {
			n.Capacity = append(n.Capacity, float64(spec.Capacity[k]))
		}
		n.CPUs = processors(spec)
		to.Nodes = append(to.Nodes, n)
	}
	return to, j, nil
}

// processors returns those of a node: a vcore is one, or else a slot.
func processors(n *sched.NodeSpec) int {
	return int(max(n.Capacity[sched.VCores], n.Capacity[sched.MapSlots]+n.Capacity[sched.ReduceSlots], 1))
}

// Cores returns the processors of the first node of a cluster.
func Cores(c *workload.Cluster) int {
	for n := range c.Nodes() {
		return processors(n)
	}
	return 1
}

// limit drops resources that the cluster does not have; an empty container is the default one.
func (c *Container) limit(has []sched.ResourceKind) {
	for _, amounts := range []*map[string]string{&c.Map, &c.Reduce} {
		maps.DeleteFunc(*amounts, func(name, _ string) bool {
			k, _ := sched.ResourceNamed(name)
			return !slices.Contains(has, k)
		})
		if len(*amounts) == 0 {
			*amounts = nil
		}
	}
}

// size returns a container in the dimensions of the cluster.
func size(amounts map[string]string, field string, slot sched.ResourceKind,
	has []sched.ResourceKind) ([]float64, error) {
	list := make([]float64, len(has))
	if amounts == nil {
		for i, k := range has {
			if k == slot || k == sched.VCores {
				list[i] = 1
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(amounts)) {
		text := amounts[name]
		k, known := sched.ResourceNamed(name)
		at := slices.Index(has, k)
		if !known || at < 0 {
			return nil, fmt.Errorf("%s: the cluster has no %q", field, name)
		}
		x, err := workload.ParseAmount(k, text)
		if err != nil {
			return nil, fmt.Errorf("%s.%s: %w", field, name, err)
		}
		list[at] = float64(x)
	}
	if slices.Max(list) <= 0 {
		return nil, fmt.Errorf("%s is missing: give what a task holds of the cluster, such as memory: 1GiB", field)
	}
	return list, nil
}

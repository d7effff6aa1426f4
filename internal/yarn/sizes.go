package yarn

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"regexp"
	"slices"
	"strings"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
	"github.com/sojourn-sched/sojourn/sched"
)

// A Kind is a kind of resource beyond memory and cores that nodes have and containers hold, such as yarn.io/gpu.
type Kind struct {
	Name, Units string
	Min         int64              // the least that a container holds, and the step in which it gets more; zero: none
	Max         int64              // the most that a container may hold; zero: the kind has no limit
	at          sched.ResourceKind // the core's kind that counts it
}

// Sizes say how much a container may ask for, and override the sizes of nodes.
type Sizes struct {
	MinMemory, MaxMemory int64 // MiB (yarn.scheduler.minimum- and maximum-allocation-mb): 1024 and 8192
	MinVCores, MaxVCores int32 // yarn.scheduler.minimum- and maximum-allocation-vcores: 1 and 4
	// Kinds are kinds of resources beyond memory and cores (yarn.resource-types), at most four.
	Kinds []Kind
	// NodesAreTold says that the ResourceManager tells nodes of containers that grow, as it always does of containers
	// that shrink (yarn.resourcemanager.auto-update.containers). Else their ApplicationMasters tell the nodes.
	NodesAreTold bool
	// Nodes has sizes of nodes by host:port, which override the nodes' own (dynamic-resources.xml).
	Nodes map[string]wire.Resource
}

// gpuKind and fpgaKind are kinds that Hadoop knows by name. They count devices and have no units.
const gpuKind, fpgaKind = "yarn.io/gpu", "yarn.io/fpga"

// kindsAt are the kinds of the core that count YARN's kinds beyond memory and cores. Slots are not among them: policies
// that find slots on nodes go by slots alone.
var kindsAt = [...]sched.ResourceKind{sched.Accelerators, sched.SlotWeight, sched.NetworkIO, sched.DiskIO}

// mostOfKind bounds amounts of one kind, so that sums over nodes and containers do not overflow.
const mostOfKind = 1 << 36

// placed returns a copy of kinds in which each has its kind of the core (Kind.at). GPUs count as accelerators; without
// GPUs the first kind does. Kinds beyond the fourth are dropped: readKinds has reported them as an error.
func placed(kinds []Kind) []Kind {
	kinds = slices.Clone(kinds[:min(len(kinds), len(kindsAt))])
	next := 0
	if slices.ContainsFunc(kinds, func(k Kind) bool { return k.Name == gpuKind }) {
		next = 1
	}
	for i := range kinds {
		k := &kinds[i]
		if k.Max == 0 {
			k.Max = math.MaxInt64
		}
		if k.Name == gpuKind {
			k.at = kindsAt[0]
			continue
		}
		k.at = kindsAt[next]
		next++
	}
	return kinds
}

// kind returns the kind of that name; nil: there is none.
func (s Sizes) kind(name string) *Kind {
	for i := range s.Kinds {
		if s.Kinds[i].Name == name {
			return &s.Kinds[i]
		}
	}
	return nil
}

// others sets, in to, the amounts of o in the units of the configured kinds. It returns the names of the kinds that it
// cannot set: unknown ones, and those whose units are unknown or whose amount does not fit.
func (s Sizes) others(to *sched.Resources, o wire.Others) (odd []string) {
	if len(o) > wire.MostOthers {
		return []string{"more kinds than there may be"}
	}
	for a := range o.All() {
		k := s.kind(a.Kind)
		n, ok := int64(0), false
		if k != nil {
			n, ok = convert(a.Value, a.Units, k.Units)
		}
		if !ok {
			odd = append(odd, a.Kind)
			continue
		}
		to[k.at] = n
	}
	return odd
}

// amount returns a size as the core counts it. Unknown kinds are left out.
func (s Sizes) amount(r wire.Resource) sched.Resources {
	a := sched.Resources{sched.Memory: r.Memory, sched.VCores: int64(r.VCores)}
	if r.Others != "" {
		s.others(&a, r.Others)
	}
	return a
}

// size returns an amount of the core in the form of YARN's messages.
func (s Sizes) size(a sched.Resources) wire.Resource {
	r := wire.Resource{Memory: a[sched.Memory], VCores: int32(a[sched.VCores])}
	for i := range s.Kinds {
		if k := &s.Kinds[i]; a[k.at] != 0 {
			r.Others = r.Others.Plus(wire.Amount{Kind: k.Name, Units: k.Units, Value: a[k.at]})
		}
	}
	return r
}

// seconds returns how much of the kinds beyond memory and cores was used, in their units × seconds.
func (s Sizes) seconds(w sched.Work) wire.Others {
	if len(s.Kinds) == 0 {
		return ""
	}
	var a sched.Resources
	for _, k := range s.Kinds {
		a[k.at] = int64(w[k.at])
	}
	return s.size(a).Others
}

// normal returns what a container that asks for r gets: at least the minimum, in whole steps of it. What is added to r
// for that ends at the maximum, which need not be whole steps.
func (s Sizes) normal(r wire.Resource) wire.Resource {
	n := wire.Resource{Memory: roundUp(r.Memory, s.MinMemory, s.MaxMemory),
		VCores: roundUp(r.VCores, s.MinVCores, s.MaxVCores)}
	if len(s.Kinds) == 0 {
		return n
	}
	a := s.amount(r)
	for i := range s.Kinds {
		if k := &s.Kinds[i]; k.Min > 0 {
			a[k.at] = roundUp(a[k.at], k.Min, k.Max)
		}
	}
	n.Others = s.size(a).Others
	return n
}

// roundUp returns a rounded up to a multiple of step, at least step; at most, if that is less. It is never less than a:
// containers of an earlier configuration keep their sizes.
func roundUp[T int64 | int32](a, step, most T) T {
	return max(a, min(most, max(step, (a+step-1)/step*step)))
}

// most returns the largest size that the configuration lets a container ask for.
func (s Sizes) most() wire.Resource {
	r := wire.Resource{Memory: s.MaxMemory, VCores: s.MaxVCores}
	for _, k := range s.Kinds {
		r.Others = r.Others.Plus(wire.Amount{Kind: k.Name, Units: k.Units, Value: k.Max})
	}
	return r
}

// check returns an error in Hadoop's words if no container may have the size r, where most is the largest one. Unknown
// kinds are refused.
func (s Sizes) check(r, most wire.Resource) error {
	a := sched.Resources{sched.Memory: r.Memory, sched.VCores: int64(r.VCores)}
	if odd := s.others(&a, r.Others); len(odd) > 0 {
		return s.refuses(odd[0], r, most)
	}
	limit := s.amount(most)
	switch {
	case r.Memory < 0 || r.Memory > most.Memory:
		return s.refuses(wire.MemoryKind, r, most)
	case r.VCores < 0 || r.VCores > most.VCores:
		return s.refuses(wire.CoresKind, r, most)
	}
	for _, k := range s.Kinds {
		if n := a[k.at]; n < 0 || n > min(limit[k.at], mostOfKind) {
			return s.refuses(k.Name, r, most)
		}
	}
	return nil
}

// refuses returns the error for an ask r that is above most, or below zero, in a kind.
func (s Sizes) refuses(kind string, r, most wire.Resource) error {
	why := "greater than maximum allowed allocation."
	if r.Memory < 0 && kind == wire.MemoryKind || r.VCores < 0 && kind == wire.CoresKind || below(r.Others, kind) {
		why = "less than 0!"
	}
	// Hadoop's words begin with a capital, as no error of our own does.
	text := fmt.Sprintf("Cannot allocate containers as requested resource is %s Requested resource type=[%.100s], "+
		"Requested resource=%.300s, maximum allowed allocation=%s, please note that maximum allowed allocation is "+
		"calculated by scheduler based on maximum resource of registered NodeManagers, which might be less than "+
		"configured maximum allocation=%s", why, kind, inWords(r), inWords(most), inWords(s.most()))
	return errors.New(text)
}

// below reports whether the amount of a kind is negative.
func below(o wire.Others, kind string) bool {
	for a := range o.All() {
		if a.Kind == kind && a.Value < 0 {
			return true
		}
	}
	return false
}

// inWords returns an amount as Hadoop writes it.
func inWords(r wire.Resource) string {
	text := fmt.Sprintf("<memory:%d, vCores:%d", r.Memory, r.VCores)
	if len(r.Others) <= wire.MostOthers {
		for a := range r.Others.All() {
			text += fmt.Sprintf(", %.100s: %d%.10s", a.Kind, a.Value, a.Units)
		}
	}
	return text + ">"
}

// checkKinds checks a node's amounts of other kinds, so that sums over nodes do not overflow. It returns what is wrong;
// "": nothing.
func (s Sizes) checkKinds(r wire.Resource) string {
	a := s.amount(r)
	for _, k := range s.Kinds {
		if n := a[k.at]; n < 0 || n > mostOfKind {
			return fmt.Sprintf("has %d%s of %s: must be up to %d and not below zero; larger units may be set by %s",
				n, k.Units, k.Name, int64(mostOfKind), kindsName+"."+k.Name+".units")
		}
	}
	return ""
}

// device returns the class of a node that has r: gpu for one with yarn.io/gpu. "": the node has no such device.
func (s Sizes) device(r wire.Resource) string {
	if r.Others == "" {
		return ""
	}
	a := s.amount(r)
	for _, k := range s.Kinds {
		if name, ok := strings.CutPrefix(k.Name, "yarn.io/"); ok && a[k.at] > 0 {
			return name
		}
	}
	return ""
}

// A scale is the value of a unit: over ÷ below.
type scale struct{ over, below int64 }

// scales are Hadoop's units of resources.
var scales = map[string]scale{
	"p": {1, 1e12}, "n": {1, 1e9}, "u": {1, 1e6}, "m": {1, 1e3}, "": {1, 1},
	"k": {1e3, 1}, "M": {1e6, 1}, "G": {1e9, 1}, "T": {1e12, 1}, "P": {1e15, 1},
	"Ki": {1 << 10, 1}, "Mi": {1 << 20, 1}, "Gi": {1 << 30, 1}, "Ti": {1 << 40, 1}, "Pi": {1 << 50, 1},
}

// convert returns an amount in other units, rounded towards zero. It returns false if a unit is unknown or the result
// does not fit into 64 bits.
func convert(amount int64, from, to string) (int64, bool) {
	if from == to {
		return amount, true
	}
	f, known := scales[from]
	t, there := scales[to]
	if !known || !there {
		return 0, false
	}
	n := big.NewInt(amount)
	n.Mul(n, big.NewInt(f.over)).Mul(n, big.NewInt(t.below))
	n.Quo(n, new(big.Int).Mul(big.NewInt(f.below), big.NewInt(t.over)))
	return n.Int64(), n.IsInt64()
}

// types returns the kinds of resources as clients and ApplicationMasters are told them.
func (s Sizes) types() []wire.ResourceType {
	list := []wire.ResourceType{{Name: wire.MemoryKind, Units: "Mi"}, {Name: wire.CoresKind}}
	for _, k := range s.Kinds {
		list = append(list, wire.ResourceType{Name: k.Name, Units: k.Units})
	}
	return list
}

// kindsFile is Hadoop's file of kinds of resources beyond memory and cores, and kindsName the property in it that lists
// them:
//
//	yarn.resource-types = yarn.io/gpu,disk
//	yarn.resource-types.disk.units = Gi
//	yarn.resource-types.disk.minimum-allocation = 10
//	yarn.resource-types.disk.maximum-allocation = 1000
const kindsFile, kindsName = "resource-types.xml", "yarn.resource-types"

// Ends of the names of a kind's properties.
const leastOf, mostOf = ".minimum-allocation", ".maximum-allocation"

// kindName is what a kind may be called, as in Hadoop.
var kindName = regexp.MustCompile(`^((([A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?\.)*` +
	`[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)/)?[A-Za-z][\w.-]*$`)

// kindsOf reads the kinds of resources beyond memory and cores.
func kindsOf(p *properties) []Kind {
	if p.other == nil {
		list := placed(readKinds(p))
		p.other = &list
	}
	return *p.other
}

// readKinds reads the kinds from the properties, in their order, and notes errors.
func readKinds(p *properties) (list []Kind) {
	for name := range strings.SplitSeq(p.text(kindsName, ""), ",") {
		name = strings.TrimSpace(name)
		prefix := kindsName + "." + name
		units := p.text(prefix+".units", "")
		_, known := scales[units]
		switch {
		case name == "":
			continue
		case name == "memory" || !kindName.MatchString(name):
			p.fail(kindsName, fmt.Sprintf("names such as %s, separated by commas, not %q", gpuKind, name))
			continue
		case slices.ContainsFunc(list, func(k Kind) bool { return k.Name == name }):
			p.fail(kindsName, fmt.Sprintf("names that differ: %s is there twice", name))
			continue
		case name == wire.MemoryKind && units != "Mi" && units != "", name == wire.CoresKind && units != "",
			(name == gpuKind || name == fpgaKind) && units != "":
			p.fail(prefix+".units", "left out, as "+name+" has units of its own")
		case !known || len(units) > 2:
			p.fail(prefix+".units", "nothing, or one of p, n, u, m, k, M, G, T, P, Ki, Mi, Gi, Ti, Pi")
		}
		if p.text(prefix+".type", "COUNTABLE") != "COUNTABLE" {
			p.fail(prefix+".type", "COUNTABLE")
		}
		p.text(prefix+".tags", "") // labels for programs
		p.text(prefix+".attributes", "")
		if name == wire.MemoryKind || name == wire.CoresKind {
			continue
		}
		k := Kind{Name: name, Units: units}
		k.Min, _ = p.number(prefix+leastOf, span{0, mostOfKind})
		k.Max, _ = p.number(prefix+mostOf, span{1, math.MaxInt64})
		if k.Max > 0 {
			p.ordered(prefix+leastOf, prefix+mostOf, k.Min, k.Max)
		}
		list = append(list, k)
	}
	if len(list) > len(kindsAt) {
		p.fail(kindsName, fmt.Sprintf("at most %d kinds beyond memory and cores, and has %d", len(kindsAt), len(list)))
	}
	return list
}

package sim

import (
	"math"
	"slices"

	"github.com/sojourn-sched/sojourn/internal/workload"
	"github.com/sojourn-sched/sojourn/sched"
)

// A layout says which nodes are in which rack.
type layout struct {
	byRack [][]sched.NodeID // racks that have nodes
	rackOf []int32          // by NodeID-1: index of byRack
}

func newLayout(nodes []node) layout {
	l := layout{rackOf: make([]int32, len(nodes))}
	index := map[sched.RackID]int32{}
	for i := range nodes {
		r, ok := index[nodes[i].spec.Rack]
		if !ok {
			r = int32(len(l.byRack))
			index[nodes[i].spec.Rack] = r
			l.byRack = append(l.byRack, nil)
		}
		l.rackOf[i] = r
		l.byRack[r] = append(l.byRack[r], sched.NodeID(i+1))
	}
	return l
}

// place returns the spec with random places for the input of stages that read input and do not say where it is. The
// input of a task is one block. ordinal is the job's number in the source. O(copies) for each task. A spec that needs
// places is copied.
func (f *feed) place(spec *sched.JobSpec, ordinal int64) *sched.JobSpec {
	copies := min(f.copies, int32(len(f.layout.rackOf)))
	truth := spec.Payload.(*workload.Truth)
	var own *sched.JobSpec
	for i := range spec.Stages {
		st, t := &spec.Stages[i], &truth.Stages[i]
		if copies == 0 || st.Copies > 0 || st.Tasks <= 0 || !reads(t) {
			continue
		}
		if own == nil {
			c := *spec
			own = &c
			own.Stages = append([]sched.StageSpec(nil), spec.Stages...)
		}
		places := make([]sched.NodeID, int(st.Tasks)*int(copies))
		chance := f.jobs.chance.With(forPlace).With(uint64(ordinal)).With(uint64(i))
		for task := range st.Tasks {
			f.layout.block(chance.With(uint64(task+1)), places[task*copies:(task+1)*copies])
		}
		own.Stages[i].Copies, own.Stages[i].Places = copies, places
	}
	if own == nil {
		return spec
	}
	return own
}

// reads reports whether a task of a stage is known to read input. O(tasks) if the tasks are listed.
func reads(t *workload.StageTruth) bool {
	return t.Input > 0 || slices.ContainsFunc(t.List, func(task workload.Task) bool { return task.Input > 0 })
}

// block fills copies with the nodes of a block's copies, as HDFS's BlockPlacementPolicyDefault places them for a writer
// outside the cluster: the first on any node, the second in another rack, the third in the second's rack, more
// anywhere; all on different nodes. If a rack has no node left, any node is taken.
func (l *layout) block(c workload.Chance, copies []sched.NodeID) {
	for k := range copies {
		var within []sched.NodeID
		not := int32(-1)
		switch {
		case k == 1 && len(l.byRack) > 1:
			not = l.rackOf[copies[0]-1]
		case k == 2 && len(l.byRack) > 1:
			if r := l.byRack[l.rackOf[copies[1]-1]]; len(r) > 1 {
				within = r
			}
		}
		copies[k] = l.pick(c.With(uint64(k)), copies[:k], within, not)
	}
}

// pick returns a random node of within (nil: of all nodes) that is neither in taken nor in rack not. It tries a few
// times, which suffices because copies are few. If all tries fail, it returns the next node in order that is not taken.
func (l *layout) pick(c workload.Chance, taken, within []sched.NodeID, not int32) sched.NodeID {
	n := len(l.rackOf)
	if within != nil {
		n = len(within)
	}
	at := func(i int) sched.NodeID {
		if within != nil {
			return within[i]
		}
		return sched.NodeID(i + 1)
	}
	const tries = 32
	first := 0
	for t := range uint64(tries) {
		i := c.With(t).Below(n)
		if t == 0 {
			first = i
		}
		if id := at(i); l.rackOf[id-1] != not && !slices.Contains(taken, id) {
			return id
		}
	}
	for i := range n {
		if id := at((first + i) % n); !slices.Contains(taken, id) {
			return id
		}
	}
	return at(first)
}

// level returns how near its input an attempt runs.
func (l *layout) level(a *sched.Attempt) sched.Locality {
	spec := a.Stage.Spec
	near := sched.OffSwitch
	for _, p := range spec.Places[(a.Task-1)*spec.Copies : a.Task*spec.Copies] {
		switch {
		case p == a.Node:
			return sched.NodeLocal
		case p > 0 && int(p) <= len(l.rackOf) && l.rackOf[p-1] == l.rackOf[a.Node-1]:
			near = sched.RackLocal
		}
	}
	return near
}

// penalty returns how much longer it takes to read bytes at locality l than locally.
func (r *Reading) penalty(bytes int64, l sched.Locality) sched.Time {
	if l == sched.NodeLocal || r.Rates[l] == 0 {
		return 0
	}
	s := float64(bytes) / r.Rates[l]
	if local := r.Rates[sched.NodeLocal]; local > 0 {
		s -= float64(bytes) / local
	}
	return sched.Time(min(math.Round(max(0, s)*1e9), workload.MaxTime))
}

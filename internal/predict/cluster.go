package predict

import (
	"errors"
	"fmt"
	"math"
)

// A Resource is a kind of centre at which tasks queue.
type Resource uint8

// The kinds of centres. Memory is none: it only limits how many containers a node holds.
const (
	CPU Resource = iota
	Disk
	Net  // one centre for the cluster; the others are one for each node
	Wait // time for which a task holds its container and uses nothing; no task waits for another one's
	resources
)

func (z Resource) String() string { return [resources]string{"cpu", "disk", "network", "wait"}[z] }

// A Kind is a type of subtask (spec 2.2): a map is one; a reduce is one shuffle-sort for each map, and one merge.
type Kind uint8

// The kinds of subtasks.
const (
	MapTask Kind = iota
	ShuffleTask
	MergeTask
	kinds
)

func (k Kind) String() string { return [kinds]string{"map", "shuffle", "merge"}[k] }

// A Cluster is what jobs run on.
type Cluster struct {
	Nodes      []Node
	NetServers int // servers of the network; 0 means 1

	// The nodes are parts of one machine, whose processors and disks are those of the first node.
	OneMachine bool
	// What each task beyond the processors of a machine costs all of them in speed, as a part: caches and switching.
	Interference float64
}

// A Node is a machine.
type Node struct {
	// what containers share, in any dimensions, the same for all nodes: memory, or memory and cores
	Capacity    []float64
	CPUs, Disks int // servers
	Rack        int // 0: not known
}

// A Job is what is to be predicted.
type Job struct {
	Submit        float64 // seconds
	Master        Master
	Ask           float64 // seconds from when containers may be asked for until they are: those of maps and of reduces
	Commit        float64 // seconds from the end of the last task to the job's
	Maps, Reduces int
	MapSize       []float64      // of a map's container, in the dimensions of Node.Capacity
	ReduceSize    []float64      // of a reduce's container
	Prefer        [][]int        // nodes with the input of each map; nil: none
	Demands       [kinds]Cost    // service time of each kind of subtask at each kind of centre, without any queueing
	Initial       [kinds]float64 // response times to begin with, as from history; 0: the sum of the demands
	CV            float64        // coefficient of variation of the tasks' times, for the range of the prediction
}

// A Master is a job's own process, which asks for its containers once it has started.
type Master struct {
	Size    []float64 // of its container, in the dimensions of Node.Capacity; nil: it takes no room
	Demand  Cost      // of its start
	Threads float64   // processors that its start uses at once, where they are free; 0 means 1
}

// tasks returns the number of subtasks: maps, then for each reduce a shuffle-sort a map, then a merge for each reduce.
func (j *Job) tasks() int { return j.Maps + j.Reduces*(j.Maps+1) }

// kind returns what subtask i is.
func (j *Job) kind(i int) Kind {
	switch {
	case i < j.Maps:
		return MapTask
	case i < j.Maps+j.Reduces*j.Maps:
		return ShuffleTask
	}
	return MergeTask
}

// shuffle returns the subtask in which a reduce fetches and sorts the output of map q.
func (j *Job) shuffle(reduce, q int) int { return j.Maps + reduce*j.Maps + q }

// merge returns the subtask in which a reduce merges, reduces and writes.
func (j *Job) merge(reduce int) int { return j.Maps + j.Reduces*j.Maps + reduce }

// ErrUnschedulable says that no node is large enough for a container.
var ErrUnschedulable = errors.New("a container is larger than every node")

// check reports what of a cluster and jobs makes a prediction impossible.
func check(c *Cluster, jobs []Job) error {
	if len(c.Nodes) == 0 {
		return errors.New("the cluster has no nodes")
	}
	if len(jobs) == 0 {
		return errors.New("there are no jobs to predict")
	}
	dimensions := len(c.Nodes[0].Capacity)
	for i, n := range c.Nodes {
		if len(n.Capacity) != dimensions {
			return fmt.Errorf("node %d has %d dimensions of capacity, others have %d", i+1, len(n.Capacity), dimensions)
		}
		if n.CPUs < 1 || n.Disks < 1 {
			return fmt.Errorf("node %d has %d cores and %d disks: each must be at least 1", i+1, n.CPUs, n.Disks)
		}
	}
	for i := range jobs {
		if err := jobs[i].check(c, dimensions); err != nil {
			return fmt.Errorf("job %d: %w", i+1, err)
		}
	}
	return nil
}

// check reports what of a job makes a prediction on c impossible.
func (j *Job) check(c *Cluster, dimensions int) error {
	if j.Maps < 0 || j.Reduces < 0 {
		return fmt.Errorf("%d maps and %d reduces: neither may be negative", j.Maps, j.Reduces)
	}
	bad := func(x float64) bool { return !(x >= 0) || math.IsInf(x, 0) }
	if bad(j.Submit) || bad(j.Master.Demand.Total()) || bad(j.CV) || bad(j.Ask) || bad(j.Commit) {
		return fmt.Errorf("submission at %v s, start of the master %v s, variation %v, asking %v s, commit %v s: "+
			"all must be finite and not negative", j.Submit, j.Master.Demand.Total(), j.CV, j.Ask, j.Commit)
	}
	for k := range j.Demands {
		for z, d := range j.Demands[k] {
			if bad(d) {
				return fmt.Errorf("the %v demand of a %v is %v s: it must be finite and not negative",
					Resource(z), Kind(k), d)
			}
		}
		if bad(j.Initial[k]) {
			return fmt.Errorf("the first time of a %v is %v s: it must be finite and not negative",
				Kind(k), j.Initial[k])
		}
	}
	for _, container := range []struct {
		what  string
		tasks int
		size  []float64
	}{{"map", j.Maps, j.MapSize}, {"reduce", j.Reduces, j.ReduceSize}} {
		if container.tasks == 0 {
			continue
		}
		if len(container.size) != dimensions {
			return fmt.Errorf("a %s's container has %d dimensions, nodes have %d", container.what,
				len(container.size), dimensions)
		}
		fits := false
		for d, x := range container.size {
			if bad(x) {
				return fmt.Errorf("a %s's container has size %v in dimension %d: it must be finite and not negative",
					container.what, x, d+1)
			}
		}
		for i := range c.Nodes {
			fits = fits || within(container.size, c.Nodes[i].Capacity)
		}
		if !fits {
			return fmt.Errorf("%s of size %v: %w", container.what, container.size, ErrUnschedulable)
		}
	}
	if j.Prefer != nil && len(j.Prefer) != j.Maps {
		return fmt.Errorf("preferred nodes are given for %d maps of %d", len(j.Prefer), j.Maps)
	}
	for q, nodes := range j.Prefer {
		for _, n := range nodes {
			if n < 0 || n >= len(c.Nodes) {
				return fmt.Errorf("map %d prefers node %d: nodes are numbered from 0 to %d", q+1, n, len(c.Nodes)-1)
			}
		}
	}
	return nil
}

// within reports whether a container fits into a room, in each dimension.
func within(size, room []float64) bool {
	for d, x := range size {
		if x > room[d]+tolerance {
			return false
		}
	}
	return true
}

// tolerance is the difference, in seconds or units of capacity, below which two values are the same.
const tolerance = 1e-9

// name returns the name of subtask i as the thesis writes it: m1, ss1 or, of several reduces, ss2.1, mg.
func (j *Job) name(i int) string {
	switch j.kind(i) {
	case MapTask:
		return fmt.Sprintf("m%d", i+1)
	case ShuffleTask:
		r, q := (i-j.Maps)/j.Maps, (i-j.Maps)%j.Maps
		if j.Reduces == 1 {
			return fmt.Sprintf("ss%d", q+1)
		}
		return fmt.Sprintf("ss%d.%d", r+1, q+1)
	}
	if j.Reduces == 1 {
		return "mg"
	}
	return fmt.Sprintf("mg%d", i-j.merge(0)+1)
}

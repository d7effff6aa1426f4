package sched

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Time is an instant, in nanoseconds since the run began, or the length of an interval.
type Time = time.Duration

// IDs count from 1; zero means none, or any, or, for a queue, the root.
type (
	JobID     int32 // chosen by the engine, in order of submission
	NodeID    int32 // dense: the k-th node to join is k
	RackID    int32
	ClassID   int32
	QueueID   int32
	ShapeID   int32  // an interned vector of Resources: Row has the layout, View.Shape says how long it is valid
	AttemptID uint64 // unique in a run, in order of launch, found without a map: NewAttemptID has the layout
)

// rowBits is how many bits of an AttemptID are its row: at most 16.7 million attempts exist at once.
const rowBits = 24

// NewAttemptID returns the ID of the attempt with a serial number from 1 that is kept in a row from 0.
func NewAttemptID(serial uint64, row int32) AttemptID {
	return AttemptID(serial<<rowBits | uint64(row))
}

// Serial returns the ordinal of an attempt's launch in its run, from 1.
func (id AttemptID) Serial() uint64 { return uint64(id) >> rowBits }

// Row returns where the attempt is kept, from 0. Rows are dense, and an attempt that starts after the end of another
// may get the row of that one.
func (id AttemptID) Row() int32 { return int32(id & (1<<rowBits - 1)) }

// shapeBits is how many bits of a ShapeID are its row: at most 1,048,576 vectors are known at once. The other 11 bits
// count the vectors that had the row before. Of 2,048 vectors of a row, each has another ID.
const shapeBits = 20

// MaxShapes is how many vectors of resources a core knows at most at once, and so how many rows State.Shapes has.
const MaxShapes = 1 << shapeBits

// Row returns where the vector is kept, from 0. Rows are dense, and no two vectors have the same one at once: a vector
// gets the row of one that was forgotten. So a row is a small number that stands for the shape of stages and attempts.
func (id ShapeID) Row() int32 { return int32(id & (1<<shapeBits - 1)) }

// A StageID names a stage: its job and its place in JobSpec.Stages, from 0. The zero StageID names none.
type StageID struct {
	Job   JobID `json:"job"`   // number of the job, from 1
	Index int32 `json:"index"` // number of the stage in the job, from 0
}

// A ResourceKind is an index into Resources and Work.
type ResourceKind uint8

// The kinds of resources. Amounts are whole numbers in the unit named here.
const (
	Memory       ResourceKind = iota // MiB
	VCores                           // cores
	MapSlots                         // slots
	ReduceSlots                      // slots
	Accelerators                     // devices
	SlotWeight                       // budget of weighted slots, in ppm of a slot (DynamicMR 2.1)
	DiskIO                           // ppm of a node's disk bandwidth (RAS)
	NetworkIO                        // ppm of a node's network bandwidth (RAS)
	NumResources = 8
)

var resourceNames = [NumResources]string{
	"memory",
	"vcores",
	"map-slots",
	"reduce-slots",
	"accelerators",
	"slot-weight",
	"disk-io",
	"network-io",
}

// String returns the name that files and the command line use.
func (k ResourceKind) String() string { return resourceNames[k] }

// ResourceNamed returns the kind with a name, and whether there is one.
func ResourceNamed(name string) (ResourceKind, bool) {
	for k, n := range resourceNames {
		if n == name {
			return ResourceKind(k), true
		}
	}
	return 0, false
}

// Unlimited is the amount in Queue.Max of a kind without a maximum. It is far from overflowing when added to.
const Unlimited = int64(1) << 60

// Resources is a vector of amounts, one for each kind.
type Resources [NumResources]int64

// Add returns r + o.
func (r Resources) Add(o Resources) Resources {
	for k := range r {
		r[k] += o[k]
	}
	return r
}

// Sub returns r − o; components may be negative.
func (r Resources) Sub(o Resources) Resources {
	for k := range r {
		r[k] -= o[k]
	}
	return r
}

// Times returns n·r.
func (r Resources) Times(n int64) Resources {
	for k := range r {
		r[k] *= n
	}
	return r
}

// FitsIn reports whether r is at most room in each kind that r has.
func (r Resources) FitsIn(room Resources) bool {
	for k, a := range r {
		if a > 0 && a > room[k] {
			return false
		}
	}
	return true
}

// DominantShare returns the largest of r ÷ capacity over the kinds that capacity has any of: in [0, 1] while r fits
// (Ghodsi et al., Dominant Resource Fairness, NSDI 2011). Map and reduce slots are one resource for it.
func (r Resources) DominantShare(capacity Resources) float64 {
	share := 0.0
	for k := range r {
		if kind := ResourceKind(k); kind == MapSlots || kind == ReduceSlots {
			continue
		}
		if capacity[k] > 0 {
			share = max(share, float64(r[k])/float64(capacity[k]))
		}
	}
	if slots := capacity[MapSlots] + capacity[ReduceSlots]; slots > 0 {
		share = max(share, float64(r[MapSlots]+r[ReduceSlots])/float64(slots))
	}
	return share
}

// Pace returns the pace of a task that holds r on a node with a capacity: the part of the time in which it works. All
// tasks on the node hold used together, and get a part (from 0 to 1) of the capacity. They share each kind in
// proportion to what they hold of it. The pace is the smallest such share over the kinds of r, at most 1. Memory does
// not count, because tasks cannot take turns at it.
func (r Resources) Pace(used, capacity Resources, part float64) float64 {
	least := 1.0
	for k := range r {
		if k != int(Memory) && r[k] > 0 {
			least = min(least, part*float64(capacity[k])/float64(used[k]))
		}
	}
	return least
}

// Work is service or size: resource-seconds of each kind.
type Work [NumResources]float64

// Add adds amount, held for a time, to w.
func (w *Work) Add(amount Resources, held Time) {
	s := held.Seconds()
	for k, a := range amount {
		if a != 0 {
			w[k] += float64(a) * s
		}
	}
}

// Seconds returns w as seconds of the whole cluster: the largest of w ÷ capacity over the kinds of resources, map and
// reduce slots counting as one. It is what orders by size compare.
func (w Work) Seconds(capacity Resources) float64 {
	s := 0.0
	for k := range w {
		if kind := ResourceKind(k); kind == MapSlots || kind == ReduceSlots {
			continue
		}
		if capacity[k] > 0 {
			s = max(s, w[k]/float64(capacity[k]))
		}
	}
	if slots := capacity[MapSlots] + capacity[ReduceSlots]; slots > 0 {
		s = max(s, (w[MapSlots]+w[ReduceSlots])/float64(slots))
	}
	return s
}

// A StageKind says what the tasks of a stage are.
type StageKind uint8

// The kinds of stages.
const (
	Map StageKind = iota
	Reduce
	Master // a YARN ApplicationMaster, a Spark driver
	Other
	NumKinds = 4
)

func (k StageKind) String() string { return [NumKinds]string{"map", "reduce", "master", "other"}[k] }

// A Phase is a part inside a task.
type Phase uint8

// The phases of a task, in their order. A task goes through some of them.
const (
	NoPhase Phase = iota
	PhaseRead
	PhaseMap
	PhaseSort
	PhaseSpill
	PhaseShuffle
	PhaseMerge
	PhaseReduce
	PhaseWrite
	NumPhases
)

func (p Phase) String() string {
	return [NumPhases]string{"", "read", "map", "sort", "spill", "shuffle", "merge", "reduce", "write"}[p]
}

// Locality says how near its input a task runs.
type Locality uint8

// Nearest first.
const (
	NodeLocal Locality = iota
	RackLocal
	OffSwitch
)

func (l Locality) String() string { return [...]string{"node-local", "rack-local", "off-switch"}[l] }

// Powers are what an engine can do beyond launching: a policy looks before it asks, and verbs without power return
// false.
type Powers uint8

// The powers.
const (
	CanKill Powers = 1 << iota
	CanSuspend
	CanResize
	CanNameTasks // the engine runs the task that it is told to: needed to speculate
	CanProbe

	numPowers = iota
	AllPowers = Powers(1<<numPowers - 1)
)

// powerNames are the names of the powers, in the order of their bits. Records have them: a name never changes.
var powerNames = [numPowers]string{"kill", "suspend", "resize", "name-tasks", "probe"}

// Names returns the names of p's powers, in the order of the constants. Bits beyond AllPowers have no names.
func (p Powers) Names() (names []string) {
	for i, name := range powerNames {
		if p>>i&1 != 0 {
			names = append(names, name)
		}
	}
	return names
}

// PowersNamed returns the powers that have the names. The error names the first one that is not known.
func PowersNamed(names []string) (p Powers, err error) {
	for _, name := range names {
		i := slices.Index(powerNames[:], name)
		if i < 0 {
			return 0, fmt.Errorf("power %q: must be one of %s", name, strings.Join(powerNames[:], ", "))
		}
		p |= 1 << i
	}
	return p, nil
}

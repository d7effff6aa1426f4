package sim

import (
	"fmt"
	"time"

	"github.com/sojourn-sched/sojourn/internal/workload"
	"github.com/sojourn-sched/sojourn/sched"
)

// Config is what Run needs.
type Config struct {
	Cluster *workload.Cluster
	Jobs    workload.Source // Payload of each job is a *workload.Truth
	Core    sched.Config    // Can says which of Powers are used, none: all; Heartbeats is set by the simulator
	Seed    uint64
	Costs   Costs
	Script  []Incident // besides what Costs.Faults draws

	// Timetables say by the name of a class what each of its nodes offers when, at most its resources; nil: all of
	// them. Tasks that run when a node comes to offer less stay, and nothing starts there until there is room again.
	Timetables map[string]*sched.Forecast

	MostEvents int64        // end the run with an error after so many events and wakes; zero: no limit
	MostJobs   int          // end the run with an error when more are unfinished at once; zero: DefaultMostJobs
	MostTasks  int64        // the same for the tasks of unfinished jobs; zero: DefaultMostTasks
	Until      sched.Time   // end the run at this instant, whatever is unfinished; zero: when all jobs are
	Progress   func(Status) // called now and then; nil: never

	// Fetched is told of the bytes that reduces of a rack fetched between two instants, at a rate that did not change
	// meanwhile. What a rack's reduces fetch comes in order of time; nil: not told.
	Fetched func(from, to sched.Time, bytes float64)
}

// DefaultMostJobs is how many jobs may be unfinished at once where Config does not say. They take about 150 MB. Hadoop
// and Slurm refuse more than 10,000 (yarn.scheduler.capacity.maximum-applications, MaxJobCount).
const DefaultMostJobs = 100_000

// DefaultMostTasks is how many tasks unfinished jobs may have at once where Config does not say. A task takes up to 100
// bytes where its input has places, else next to nothing.
const DefaultMostTasks = 1 << 24

// Costs are what happens to tasks besides the time they truly take. The zero value of each adds nothing.
type Costs struct {
	Chance     Variation
	Reading    Reading
	Faults     Faults
	Shuffle    Shuffle
	Contention Contention
	Reporting  Reporting
	Master     Master
	Probing    Probing
}

// Variation is chance in task times.
type Variation struct {
	// a task's time is multiplied by exp(Sigma·N − Sigma²/2), N standard normal: lognormal with mean 1
	Sigma      float64
	Stragglers float64 // probability that an attempt is a straggler; in [0, 1]
	SlowNodes  float64 // part of the nodes on which every attempt is a straggler; in [0, 1]
	Slowdown   float64 // what a straggler's time is multiplied by; at least 1, zero is 1
}

// Reading is what it costs to read input that is not on the node.
type Reading struct {
	// Copies of each block are placed for stages that read input and do not say where it is: the first on any node, the
	// second in another rack, the third in the second's rack (HDFS). Zero: such input is local everywhere.
	Copies int32
	// Rates are bytes a second at which a task reads input by locality. A task's time includes a local read; at level l
	// it takes Input ÷ Rates[l] − Input ÷ Rates[NodeLocal] longer. A rate of zero costs nothing.
	Rates [3]float64
}

// Faults are attempts that fail and nodes that are lost.
type Faults struct {
	Attempts float64    // probability that an attempt fails, after a uniform part of its time; in [0, 1]
	MTBF     sched.Time // mean time, exponential, that a node stays; zero: for ever
	MTTR     sched.Time // mean time, exponential, that a lost node is away
}

// Shuffle is how reduces fetch the output of maps. docs/spec/simulator.md states the model.
type Shuffle struct {
	On bool // bytes go over the cluster's Network; else a reduce's measured Fetch time passes, or none
	// Batch is the part of its input that a reduce which has fetched all there is waits for before it fetches again; in
	// (0, 1].
	Batch float64
	// Interference is the part of a node's bandwidth that each fetching reduce beyond the first takes from all:
	// k of them together get Node ÷ (1 + Interference·(k−1)).
	Interference float64
}

// Reporting is when the scheduler learns of things.
type Reporting struct {
	// nodes report, and can be launched on, at this interval, evenly staggered; zero: at once and always
	Heartbeat sched.Time
	// running attempts report progress at this interval (with each heartbeat, where there are any); zero: never
	Progress sched.Time
}

// Master is what a simulated MapReduce ApplicationMaster does on a cluster where maps and reduces compete for the same
// room: it ends reduces that wait for maps which find none (RMContainerAllocator.preemptReducesIfNeeded). That it holds
// a container itself is the job's to say (workload.Master).
type Master struct {
	Every    sched.Time // interval at which it looks; zero: there is no master, and such a job is stuck
	Part     float64    // of what the job can get, that one look may free; in [0, 1]
	Patience sched.Time // after which it ends reduces although room seems to be there; zero: never
}

// Probing is what a sample of a job costs besides its share of the job's own times (FSPY 2.3).
type Probing struct {
	Base sched.Time // time to start the probe's map, and to start its reduce
}

// Defaults returns costs as a cluster of Hadoop has them, without accidents: no stragglers, no failures, no lost nodes.
func Defaults() Costs {
	return Costs{
		Chance:  Variation{Slowdown: 3},
		Reading: Reading{Copies: 3, Rates: [3]float64{50e6, 50e6 / 1.5, 50e6 / 3}},
		Faults:  Faults{MTTR: 10 * time.Minute},
		Shuffle: Shuffle{On: true, Batch: 0.05},
		Master:  Master{Every: time.Second, Part: 0.5, Patience: 300 * time.Second},
		Probing: Probing{Base: time.Second},
	}
}

// An Incident is a node that is lost or returns at an instant.
type Incident struct {
	At      sched.Time
	Node    sched.NodeID
	Returns bool // else it is lost
}

// A Status says how far a run is.
type Status struct {
	Now            sched.Time
	Events         int64 // given to Core.Step
	Jobs, Finished int64 // submitted, and ended in whatever way
}

// A Result is what a run came to. What became of the jobs is the recorder's to tell.
type Result struct {
	End      sched.Time    // instant of the last event
	Steps    int64         // calls of Core.Step
	Events   int64         // facts given to it
	Launches int64         // attempts
	Jobs     int64         // submitted; probes included
	Failed   int64         // of them, those that ended otherwise than well
	MostJobs int           // unfinished at once
	Refused  int           // actions that were invalid
	Refusal  sched.Refusal // the first of them
}

// leastInterval is the shortest time at which things happen again and again: what is shorter would keep a run from
// getting on.
const leastInterval = sched.Time(time.Millisecond)

// Validate reports what is wrong with costs: the field, and what it should be.
func (c *Costs) Validate() error {
	for _, p := range [...]struct {
		name  string
		value float64
	}{
		{"stragglers", c.Chance.Stragglers}, {"slow nodes", c.Chance.SlowNodes}, {"failures", c.Faults.Attempts},
		{"shuffle batch", c.Shuffle.Batch}, {"master's part", c.Master.Part},
	} {
		if !(p.value >= 0 && p.value <= 1) {
			return fmt.Errorf("%s %v: must be from 0 to 1", p.name, p.value)
		}
	}
	for _, p := range [...]struct {
		name  string
		value float64
	}{{"sigma", c.Chance.Sigma}, {"interference", c.Shuffle.Interference}, {"contention", c.Contention.Slope},
		{"power of contention", c.Contention.Power}} {
		if !(p.value >= 0 && p.value <= 10) {
			return fmt.Errorf("%s %v: must be from 0 to 10", p.name, p.value)
		}
	}
	for _, p := range [...]struct {
		name  string
		value sched.Time
	}{
		{"heartbeat", c.Reporting.Heartbeat}, {"progress", c.Reporting.Progress},
		{"time between failures", c.Faults.MTBF},
		{"time to repair", c.Faults.MTTR}, {"master's interval", c.Master.Every},
		{"master's patience", c.Master.Patience}, {"probe's base", c.Probing.Base},
	} {
		if p.value < 0 || p.value > workload.MaxTime {
			return fmt.Errorf("%s %v: must be from 0 to ten years", p.name, p.value)
		}
	}
	for _, p := range [...]struct {
		name  string
		value sched.Time
	}{{"heartbeat", c.Reporting.Heartbeat}, {"progress", c.Reporting.Progress}, {"master's interval", c.Master.Every},
		{"time between failures", c.Faults.MTBF}} {
		if p.value != 0 && p.value < leastInterval {
			return fmt.Errorf("%s %v: must be 0, or %v or more", p.name, p.value, leastInterval)
		}
	}
	if s := c.Chance.Slowdown; s != 0 && !(s >= 1 && s <= 1e6) {
		return fmt.Errorf("slowdown %v: must be from 1 to 1e6", s)
	}
	if c.Reading.Copies < 0 || c.Reading.Copies > 16 {
		return fmt.Errorf("copies %d: must be from 0 to 16", c.Reading.Copies)
	}
	for l, r := range c.Reading.Rates {
		if r != 0 && !(r >= 1 && r <= 1e15) {
			return fmt.Errorf("%v reading rate %v: must be 0, which costs nothing, or from 1 to 1e15 bytes a second",
				sched.Locality(l), r)
		}
	}
	return nil
}

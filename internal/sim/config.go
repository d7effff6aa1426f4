package sim

import (
	"fmt"
	"time"

	"github.com/sojourn-sched/sojourn/internal/workload"
	"github.com/sojourn-sched/sojourn/sched"
)

// Config says what Run simulates.
type Config struct {
	Cluster *workload.Cluster
	Jobs    workload.Source // Payload of each job is a *workload.Truth
	Core    sched.Config    // Can says which of Powers are used (zero: all); the simulator sets Heartbeats
	Seed    uint64
	Costs   Costs
	Script  []Incident // what happens to nodes, besides what Costs.Faults draws and Timetables say

	// Timetables say, by the name of a class, how much each of its nodes offers when, at most its resources. Nodes of
	// other classes offer all. When a node comes to offer less, its tasks stay, and no task starts there until there is
	// room again.
	Timetables map[string]*sched.Forecast
	// Throttle tells which part of its capacity, in [0, 1], each node offers at an instant, and when another part holds
	// (sched.Never: not any more). Tasks that run when their node comes to offer less than they hold are slowed:
	// together they get that part, which the whole units of Timetables only approach. Nil: they run at full speed. It
	// needs Timetables, and changes when they do.
	Throttle func(at sched.Time) (part float64, until sched.Time)

	MostEvents int64        // end the run with an error after so many events and wakes; zero: no limit
	MostJobs   int          // end the run with an error when more are unfinished at once; zero: DefaultMostJobs
	MostTasks  int64        // the same for the tasks of unfinished jobs; zero: DefaultMostTasks
	Until      sched.Time   // end the run at this instant, whatever is unfinished; zero: when all jobs have ended
	Progress   func(Status) // called every lookEvery instants; nil: never

	// Fetched is called with the bytes that the reduces of a rack fetched between two instants, at a constant rate.
	// Calls for one rack come in order of time. nil: there are no calls.
	Fetched func(from, to sched.Time, bytes float64)
}

// DefaultMostJobs is how many jobs may be unfinished at once, unless Config says otherwise. They take about 150 MB.
// Hadoop and Slurm refuse more than 10,000 (yarn.scheduler.capacity.maximum-applications, MaxJobCount).
const DefaultMostJobs = 100_000

// DefaultMostTasks is how many tasks unfinished jobs may have at once, unless Config says otherwise. A task takes up to
// 100 bytes if it is known where its input is, else next to nothing.
const DefaultMostTasks = 1 << 24

// Costs describe what happens to tasks besides the time that they take in truth. The zero value of each field adds
// nothing.
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
	// Sigma: a task's time is multiplied by exp(Sigma·N − Sigma²/2), N standard normal: lognormal with mean 1.
	Sigma      float64
	Stragglers float64 // probability that an attempt is a straggler; in [0, 1]
	SlowNodes  float64 // part of the nodes on which every attempt is a straggler; in [0, 1]
	Slowdown   float64 // what a straggler's time is multiplied by; at least 1, zero is 1
}

// Reading says how much longer it takes to read input that is not on the node.
type Reading struct {
	// Copies of each block are placed for stages that read input and do not say where it is: the first on any node, the
	// second in another rack, the third in the second's rack (HDFS). Zero: such input is local everywhere.
	Copies int32
	// Rates are bytes a second at which a task reads input by locality. A task's time includes a local read; at level l
	// it takes Input ÷ Rates[l] − Input ÷ Rates[NodeLocal] longer. A rate of zero costs nothing.
	Rates [3]float64
}

// Faults say how often attempts fail and nodes are lost.
type Faults struct {
	Attempts float64    // probability that an attempt fails, after a uniform part of its time; in [0, 1]
	MTBF     sched.Time // mean time, exponential, that a node stays; zero: for ever
	MTTR     sched.Time // mean time, exponential, that a lost node is away
}

// Shuffle is how reduces fetch the output of maps. docs/spec/simulator.md states the model.
type Shuffle struct {
	On bool // bytes go over the cluster's Network; else a reduce's measured Fetch time passes, or none
	// Batch is the part of the maps that must end before a reduce, which has fetched all there is, fetches again; in
	// (0, 1].
	Batch float64
	// Interference is the part of a node's bandwidth that each fetching reduce beyond the first takes from all:
	// k of them together get Node ÷ (1 + Interference·(k−1)).
	Interference float64
}

// Reporting says when the scheduler learns what happens on nodes.
type Reporting struct {
	// Heartbeat is the interval at which a node reports; only then can tasks be launched there. The nodes' reports are
	// spread evenly over the interval. Zero: the scheduler learns everything at once, and can always launch.
	Heartbeat sched.Time
	// Progress is the interval at which running attempts report their progress; zero: never. With a
	// Heartbeat they report with each report of their node, unless this is zero.
	Progress sched.Time
}

// Master describes the ramp-down of a MapReduce ApplicationMaster: where maps and reduces compete for the same room, it
// ends reduces that wait for maps which find no room (RMContainerAllocator.preemptReducesIfNeeded). Whether the
// ApplicationMaster holds a container itself, the job says (workload.Master).
type Master struct {
	Every    sched.Time // interval at which it looks for such maps; zero: never, so that such a job is stuck
	Part     float64    // the part of what the job can get that one look may free at most; in [0, 1]
	Patience sched.Time // after which it ends reduces although there seems to be room; zero: it does not
}

// Probing says what a probe of a job costs besides its part of the job's own times (FSPY 2.3).
type Probing struct {
	Base sched.Time // time to start the probe's map, and to start its reduce
}

// Defaults returns the costs of a Hadoop cluster without accidents: no stragglers, no failures, no lost nodes.
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

// An Incident is the loss or the return of a node at an instant, or a change of what it offers.
type Incident struct {
	At      sched.Time
	Node    sched.NodeID
	Returns bool             // else the node is lost, unless Offers is set
	Offers  *sched.Resources // what it offers from now on, whatever its timetable says; nil: it comes or goes
}

// A Status says how far a run has come.
type Status struct {
	Now            sched.Time
	Events         int64 // given to Core.Step
	Jobs, Finished int64 // submitted, and ended in whatever way
}

// A Result has the totals of a run. What became of its jobs, the core's recorder (Config.Core) knows.
type Result struct {
	End      sched.Time    // instant of the last event
	Steps    int64         // calls of Core.Step
	Events   int64         // given to these calls
	Launches int64         // attempts
	Jobs     int64         // submitted; probes included
	Failed   int64         // jobs that failed or were killed
	MostJobs int           // the most that were unfinished at once
	Refused  int           // actions that were invalid
	Refusal  sched.Refusal // the first of them
}

// leastInterval is the shortest interval at which something may happen again and again. With a shorter one a run would
// need too many Steps.
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

package policy

import (
	"fmt"
	"slices"

	"github.com/sojourn-sched/sojourn/internal/spelling"
	"github.com/sojourn-sched/sojourn/sched"
)

var fspyCard = Card{
	Title: "first the job that would have the least left under fair sharing; jobs of unknown size share equally " +
		"while they are probed",
	Source: "High-Responsive Scheduling with MapReduce Performance Prediction on Hadoop YARN (FSPY)",
	Spec:   "docs/spec/fspy.md#parameters",
	Params: PlacingParams(
		Param{
			Name:    "probing",
			Kind:    Number,
			Default: "0.1",
			Max:     1,
			Meaning: "part of the cluster that is kept for probes",
		},
		Param{
			Name:    "vra",
			Kind:    Choice,
			Default: "one-pass",
			Choices: []Option{{Name: "one-pass"}, {Name: "drf"}},
			Meaning: "how the virtual cluster is shared: in one pass as in the paper, or by dominant resource fairness",
		},
		Param{
			Name:    "rank",
			Kind:    Choice,
			Default: "left",
			Choices: []Option{{Name: "left"}, {Name: "finish"}},
			Meaning: "order of jobs: by the size left in the virtual cluster, or by when the job will end there at " +
				"the present shares",
		},
		Param{
			Name:    "late",
			Kind:    Choice,
			Default: "share",
			Choices: []Option{{Name: "order"}, {Name: "share"}, {Name: "age"}},
			Meaning: "jobs that have ended in the virtual cluster only: order, they come first, in the order in " +
				"which they ended there; share, they share equally; age, they get a new size from their unfinished " +
				"tasks",
		},
		Param{
			Name:    "virtual",
			Kind:    Choice,
			Default: "whole",
			Choices: []Option{{Name: "whole"}, {Name: "production"}},
			Meaning: "capacity of the virtual cluster: all of it, or all but the part kept for probes",
		},
		Param{
			Name:    "waves",
			Kind:    Choice,
			Default: "ratio",
			Choices: []Option{{Name: "ratio"}, {Name: "whole"}},
			Meaning: "how the time of a job alone is bounded: by amounts of resources, or by how many whole " +
				"containers fit",
		},
		Param{
			Name:    "bound",
			Kind:    Choice,
			Default: "with-master",
			Choices: []Option{{Name: "with-master"}, {Name: "printed"}},
			Meaning: "whether that bound leaves room for the ApplicationMaster, or is as printed in the paper",
		},
		Param{
			Name:    "probe-timeout",
			Kind:    Duration,
			Default: "120s",
			Meaning: "how long a probe may take; after that the job runs as one of unknown size",
		},
		Param{
			Name:    "uber-maps",
			Kind:    Integer,
			Default: "9",
			Meaning: "a job is not probed if it has at most so many maps, one reduce and one block of input; 0: " +
				"all jobs are probed",
		},
		Param{
			Name:    "uber-block",
			Kind:    Integer,
			Default: "128",
			Min:     1,
			Max:     1 << 20,
			Meaning: "MiB of a block of input, for uber-maps: the block size of the cluster",
		},
		Param{
			Name:    "uber-task",
			Kind:    Duration,
			Default: "10s",
			Min:     0.001,
			Meaning: "time of a task of a job that is not probed, until one has ended",
		},
		mastersParam("0.5", "the cluster"),
		keepingFor(keptForNone),
	),
	Probes: true,
	Memory: []string{
		"the virtual cluster, and the capacity that its shares are of",
		"by job: its queue, what it held when last counted, its probe",
		"by stage: how many tasks were done when its size was asked last",
		"mean times of the tasks of jobs too small to be probed",
		PlacingMemory,
		MasterMemory,
	},
	Claims: []Claim{WorkConserving, NonPreemptive, TimeInvariant},
}

// fspy keeps a virtual cluster of the real one's capacity that all jobs share fairly, and serves first the job that has
// least left there. Jobs whose size is not known share the real cluster fairly with each other until probes have told
// their sizes. Together they get what they have in the virtual cluster.
//
// A job event costs O(n) for n jobs, since it changes the shares of all. A task event costs O(log n), and O(log n) more
// for each two jobs whose ranks have crossed since the last event. Times are in nanoseconds, sizes in nanoseconds times
// the unit of the resource.
type fspy struct {
	DelayPlacer
	Keep    keeper
	Virtual fspyCluster

	masters masterLimit
	queues  [sizedQueue + 1]sched.Index
}

func newFSPY(a Args) sched.Policy {
	f := &fspy{DelayPlacer: NewDelayPlacer(a)}
	f.Keep.init(a)
	f.Virtual = newFSPYCluster(a)
	f.masters = masterLimit{a.Number("masters"), ofAll}
	for q := probeQueue; q <= sizedQueue; q++ {
		f.queues[q].Group = func(st *sched.Stage) int {
			if f.masters.bounds(st) {
				return mastersOf(0)
			}
			return 0
		}
		f.queues[q].Key = func(_ *sched.View, st *sched.Stage, _ sched.Time) (sched.Key, bool) {
			m := f.Virtual.Jobs.Of(st.Job)
			if m.Queue != q || st.Pending == 0 {
				return sched.Key{}, false
			}
			return f.key(st.Job, m), true
		}
	}
	return f
}

// The classes of the stages of a queue, in that order. The fair queue has only the first one.
const (
	firstClass  = iota // of known size: late jobs; of probes: those whose jobs go on
	secondClass        // of known size: all other jobs; of probes: those whose jobs are over
)

// key returns the place of job j, whose memory is m, in its queue.
func (f *fspy) key(j *sched.Job, m *fspyJob) sched.Key {
	switch {
	case m.Queue == fairQueue:
		return sched.Key{Value: f.Virtual.amount(j.Used)[0]}
	case m.Queue == probeQueue && m.Orphan:
		return sched.Key{Class: secondClass}
	case m.Queue == probeQueue:
		return sched.Key{}
	case !m.Late:
		return sched.Key{Class: secondClass, Value: *f.Virtual.ranks.Of(j)}
	case f.Virtual.lateShare:
		return sched.Key{Class: firstClass, Value: f.Virtual.amount(j.Used)[0]}
	}
	return sched.Key{Class: firstClass, Value: m.Finish}
}

// Decide starts tasks where there is room.
func (f *fspy) Decide(p *sched.Plan) {
	f.Virtual.advance(p)
	f.Keep.settle(p)
	chosen := len(p.Actions())
	for again := true; again; again = f.Keep.settle(p) {
		f.sync(p)
		for f.start(p) {
		}
	}
	if f.Keep.on && len(p.Actions()) > chosen {
		f.sync(p)
		f.Keep.keep(p, f.head(p), p.Actions()[chosen:])
	}
}

// sync brings the orders of the three queues up to date.
func (f *fspy) sync(p *sched.Plan) {
	for q := probeQueue; q <= sizedQueue; q++ {
		f.queues[q].Sync(p)
	}
}

// head returns the stage whose turn it is, room or not; nil: nothing waits.
func (f *fspy) head(p *sched.Plan) *sched.Stage {
	for _, q := range f.turn() {
		x := &f.queues[q]
		if st := f.masters.first(p.View, x, x.Head(0), x.Head(mastersOf(0))); st != nil {
			return st
		}
	}
	return nil
}

// start starts one task of the queue whose turn it is, or of the next that has one which fits, and reports whether it
// did.
func (f *fspy) start(p *sched.Plan) bool {
	for _, q := range f.turn() {
		x := &f.queues[q]
		for {
			st := f.masters.first(p.View, x, x.FirstOf(0, 0), x.FirstOf(mastersOf(0), 0))
			if st == nil {
				break
			}
			if f.Place(p, st) {
				f.Virtual.count(p, st.Job)
				return true
			}
			x.Skip(st)
		}
	}
	return false
}

// turn returns the queues in the order in which room is offered to them. The queue of probes comes first while its part
// of what all queues hold is below the parameter for probes, else last. Of the other two, the fair queue comes first
// while it holds less than in the virtual cluster.
func (f *fspy) turn() [3]fspyQueue {
	first, second := sizedQueue, fairQueue
	if float64(f.Virtual.Held[fairQueue]) < f.Virtual.Target {
		first, second = second, first
	}
	probes, others := f.Virtual.Held[probeQueue], f.Virtual.Held[first]+f.Virtual.Held[second]
	if float64(probes)*(1-f.Virtual.probing) < float64(others)*f.Virtual.probing {
		return [3]fspyQueue{probeQueue, first, second}
	}
	return [3]fspyQueue{first, second, probeQueue}
}

// Position returns the place of st for explanations: the place of its queue by turn, and its place there. For a job of
// known size that is not late, the second is its number in the virtual cluster: unlike the rank, that number stays the
// same when the policy's memory goes through JSON.
func (f *fspy) Position(v *sched.View, st *sched.Stage) (sched.Key, bool) {
	m := f.Virtual.Jobs.Of(st.Job)
	if m.Queue == noQueue || f.Withheld(v, st) != "" {
		return sched.Key{}, false
	}
	key, ok := f.queues[m.Queue].Position(st)
	if ok && m.Queue == sizedQueue && !m.Late {
		key.Value = float64(f.Virtual.race.Place(key.Value) + 1)
	}
	turns := f.turn()
	key.Class += int32(slices.Index(turns[:], m.Queue)) * (secondClass + 1)
	return key, ok
}

// InWords returns in words which queue a stage's job is in, how many of the other queues come before it now, and its
// place there.
func (f *fspy) InWords(_ *sched.View, st *sched.Stage, k sched.Key) string {
	m := f.Virtual.Jobs.Of(st.Job)
	turn := spelling.Count(k.Class/(secondClass+1), "of the three queues comes first, ",
		"of the three queues come first, ")
	first := k.Class%(secondClass+1) == firstClass
	switch {
	case m.Queue == fairQueue:
		return turn + fmt.Sprintf("its size is unknown, and it holds %.6g slots", k.Value)
	case m.Queue == probeQueue && first:
		return turn + "a probe"
	case m.Queue == probeQueue:
		return turn + "a probe whose job has ended"
	case !first:
		return turn + fmt.Sprintf("number %g of the virtual cluster", k.Value)
	case f.Virtual.lateShare:
		return turn + fmt.Sprintf("late, and it holds %.6g slots", k.Value)
	}
	return turn + "late, done in the virtual cluster at " + span(k.Value)
}

// Withheld says in words why a master may not start: masters hold all that they may of the cluster; "": it may.
func (f *fspy) Withheld(v *sched.View, st *sched.Stage) string {
	return f.masters.withheld(v, st)
}

package policy

import (
	"slices"

	"github.com/sojourn-sched/sojourn/internal/theory"
	"github.com/sojourn-sched/sojourn/sched"
)

var fspyCard = Card{
	Title:  "by what each job would have left under fair sharing; jobs of unknown size share fairly while a probe of them runs",
	Source: "High-Responsive Scheduling with MapReduce Performance Prediction on Hadoop YARN (FSPY)",
	Spec:   "docs/spec/fspy.md#parameters",
	Params: PlacingParams(
		Param{
			Name:    "probing",
			Kind:    Number,
			Default: "0.1",
			Max:     1,
			Meaning: "the part of the cluster that probes have before all others",
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
			Meaning: "by the virtual size left, or by when it will be served at the present shares",
		},
		Param{
			Name:    "late",
			Kind:    Choice,
			Default: "share",
			Choices: []Option{{Name: "order"}, {Name: "share"}, {Name: "age"}},
			Meaning: "jobs that are done virtually and not really: first in the order in which they were, sharing equally, or given the size that their unfinished tasks now say",
		},
		Param{
			Name:    "virtual",
			Kind:    Choice,
			Default: "whole",
			Choices: []Option{{Name: "whole"}, {Name: "production"}},
			Meaning: "whether the virtual cluster has the part for probes as well",
		},
		Param{
			Name:    "waves",
			Kind:    Choice,
			Default: "ratio",
			Choices: []Option{{Name: "ratio"}, {Name: "whole"}},
			Meaning: "whether the bound of a job is by amounts or by containers that fit whole",
		},
		Param{
			Name:    "bound",
			Kind:    Choice,
			Default: "with-master",
			Choices: []Option{{Name: "with-master"}, {Name: "printed"}},
			Meaning: "whether the bound of a job of known size has room for its master, or is as printed",
		},
		Param{
			Name:    "probe-timeout",
			Kind:    Duration,
			Default: "120s",
			Meaning: "after which a probe that is not through is not waited for: the job stays of unknown size",
		},
		Param{
			Name:    "uber-maps",
			Kind:    Integer,
			Default: "9",
			Meaning: "jobs of at most so many maps, one reduce and one block of input are not probed; 0: all are",
		},
		Param{
			Name:    "uber-task",
			Kind:    Duration,
			Default: "10s",
			Min:     0.001,
			Meaning: "what a task of such a job takes, until one is seen",
		},
		leading("0.5", "the cluster"),
		keeping,
	),
	Probes: true,
	Memory: []string{
		"the virtual cluster, and the capacity that its shares are of",
		"by job: its queue, what it held when last counted, its probe",
		"by stage: how many tasks were done when its size was asked last",
		"mean times of the tasks of jobs too small to be probed",
		"by stage: since when it waits for a node near its input (with a delay)",
		"nodes kept for big tasks (with big=kept)",
	},
	Claims: []Claim{WorkConserving, NonPreemptive, TimeInvariant},
}

// fspy keeps a virtual cluster of the real one's capacity that all jobs share fairly, and serves first the job that has
// least left there. A job whose size is not known shares the real cluster fairly with others like it, which together
// get what they have in the virtual one, until a probe has told its size.
//
// A job event costs O(n) for n jobs, since it changes the shares of all; a task event O(log n), and O(log n) for each
// two jobs whose ranks have crossed by then. Times are in nanoseconds, sizes in nanoseconds times the unit of the
// resource.
type fspy struct {
	DelayPlacer
	fspySizes
	keeper
	Cluster theory.VirtualCluster
	Jobs    sched.Per[fspyJob] // by job
	Asked   sched.Per[int32]   // by stage: finished tasks when the size was asked last
	Held    [sizedQueue + 1]int64
	Target  float64 // what the fair queue has in the virtual cluster
	Next    float64 // when the next job has nothing left there; zero: none has, ever

	fspyOptions
	leads   leads
	queues  [sizedQueue + 1]sched.Index
	changed bool // the virtual cluster, at this instant

	// What follows from the virtual cluster and the time.
	race    theory.Race        // of jobs of known size that are not late, to having nothing left
	started bool               // since the last share
	ranks   sched.Per[float64] // by job: in the race
	racers  []theory.Racer
}

// fspyOptions are the parameters that are about the order of jobs.
type fspyOptions struct {
	drf, byFinish, lateShare, age bool
	keepsNodes                    bool
	probeTimeout                  sched.Time
}

// A fspyQueue is where a job is.
type fspyQueue uint8

const (
	noQueue fspyQueue = iota // it has ended
	probeQueue
	fairQueue  // size unknown
	sizedQueue // size known
)

// fspyJob is what is remembered of a job.
type fspyJob struct {
	Queue  fspyQueue
	Late   bool        // done in the virtual cluster
	Orphan bool        // a probe of a job that is over
	Tries  int8        // probes asked for
	Aged   int8        // how often it was given a new size
	Held   int64       // when last counted
	Since  sched.Time  // when its probe was asked for last
	Probe  sched.JobID // its probe
	Finish float64     // in the virtual cluster: of a late job
}

// mostProbes is how often a job is probed: once more if the first probe fails.
const mostProbes = 2

func newFSPY(a Args) sched.Policy {
	f := &fspy{DelayPlacer: NewDelayPlacer(a)}
	f.fspySizes = fspySizes{
		probing: a.Number(
			"probing",
		), production: a.Choice("virtual") == "production", whole: a.Choice("waves") == "whole",
		printed: a.Choice("bound") == "printed", uberTask: a.Time("uber-task"), uberMaps: int32(a.Int("uber-maps")),
	}
	f.fspyOptions = fspyOptions{
		drf: a.Choice(
			"vra",
		) == "drf", byFinish: a.Choice("rank") == "finish", lateShare: a.Choice("late") == "share", age: a.Choice("late") == "age",
		keepsNodes:   a.Choice(keeping.Name) == "kept",
		probeTimeout: a.Time("probe-timeout"),
	}
	f.leads = leads{a.Number("masters"), ofAll}
	for q := probeQueue; q <= sizedQueue; q++ {
		f.queues[q].Group = func(st *sched.Stage) int {
			if f.leads.limit(st) {
				return mastersOf(0)
			}
			return 0
		}
		f.queues[q].Key = func(_ *sched.View, st *sched.Stage, _ sched.Time) (sched.Key, bool) {
			m := f.Jobs.Of(st.Job)
			if m.Queue != q || st.Pending == 0 {
				return sched.Key{}, false
			}
			return f.key(st.Job, m), true
		}
	}
	return f
}

// The classes of the queue of known sizes; orphans are the second class of the queue of probes.
const (
	firstClass = iota
	secondClass
)

// key is a job's place in its queue.
func (f *fspy) key(j *sched.Job, m *fspyJob) sched.Key {
	switch {
	case m.Queue == fairQueue:
		return sched.Key{Value: f.amount(j.Used)[0]}
	case m.Queue == probeQueue && m.Orphan:
		return sched.Key{Class: secondClass}
	case m.Queue == probeQueue:
		return sched.Key{}
	case !m.Late:
		return sched.Key{Class: secondClass, Value: *f.ranks.Of(j)}
	case f.lateShare:
		return sched.Key{Class: firstClass, Value: f.amount(j.Used)[0]}
	}
	return sched.Key{Class: firstClass, Value: m.Finish}
}

// Decide starts tasks where there is room.
func (f *fspy) Decide(p *sched.Plan) {
	f.advance(p)
	f.keeper.settle(p)
	chosen := len(p.Actions())
	for again := true; again; again = f.keeper.settle(p) {
		f.sync(p)
		for f.grant(p) {
		}
	}
	if f.keepsNodes && len(p.Actions()) > chosen {
		f.sync(p)
		f.keep(p, f.head(p), p.Actions()[chosen:])
	}
}

func (f *fspy) sync(p *sched.Plan) {
	for q := probeQueue; q <= sizedQueue; q++ {
		f.queues[q].Sync(p)
	}
}

// head returns the stage whose turn it is, room or not; nil: nothing waits.
func (f *fspy) head(p *sched.Plan) *sched.Stage {
	for _, q := range f.turn() {
		x := &f.queues[q]
		if st := f.leads.first(p.View, x, x.Head(0), x.Head(mastersOf(0))); st != nil {
			return st
		}
	}
	return nil
}

// grant starts one task of the queue whose turn it is, or of the next that has one which fits, and reports whether it
// did.
func (f *fspy) grant(p *sched.Plan) bool {
	for _, q := range f.turn() {
		x := &f.queues[q]
		for {
			st := f.leads.first(p.View, x, x.FirstOf(0, 0), x.FirstOf(mastersOf(0), 0))
			if st == nil {
				break
			}
			if f.Place(p, st) {
				f.count(p, st.Job)
				return true
			}
			x.Skip(st)
		}
	}
	return false
}

// turn returns the queues in the order in which room is offered to them: probes while they have less of their part than
// the others of theirs; of these, the fair queue while it holds less than in the virtual cluster.
func (f *fspy) turn() [3]fspyQueue {
	first, second := sizedQueue, fairQueue
	if float64(f.Held[fairQueue]) < f.Target {
		first, second = second, first
	}
	if float64(f.Held[probeQueue])*(1-f.probing) < float64(f.Held[first]+f.Held[second])*f.probing {
		return [3]fspyQueue{probeQueue, first, second}
	}
	return [3]fspyQueue{first, second, probeQueue}
}

// Position tells a stage's place for explanations: which of the queues has its turn as things stand, and the place
// there.
func (f *fspy) Position(v *sched.View, st *sched.Stage) (sched.Key, bool) {
	m := f.Jobs.Of(st.Job)
	if m.Queue == noQueue || f.Withheld(v, st) != "" {
		return sched.Key{}, false
	}
	key, ok := f.queues[m.Queue].Position(st)
	turns := f.turn()
	key.Class += int32(slices.Index(turns[:], m.Queue)) * (secondClass + 1)
	return key, ok
}

// Withheld says in words why a master may not start: masters hold all that they may of the cluster; "": it may.
func (f *fspy) Withheld(v *sched.View, st *sched.Stage) string {
	if q := v.Queues[0]; f.leads.limit(st) && !f.leads.allow(v, q, st) {
		return f.leads.refusal(v, q, st)
	}
	return ""
}

// count brings up to date what the queue of a job holds.
func (f *fspy) count(p *sched.Plan, j *sched.Job) {
	m := f.Jobs.Of(j)
	now := int64(f.amount(j.Used)[0])
	if m.Queue == noQueue {
		now = 0
	}
	f.Held[m.Queue] += now - m.Held
	m.Held = now
	if len(j.Stages) > 1 {
		p.TouchJob(j)
	}
}

// move puts a job into another queue.
func (f *fspy) move(p *sched.Plan, j *sched.Job, to fspyQueue) {
	m := f.Jobs.Of(j)
	f.Held[m.Queue] -= m.Held
	m.Held, m.Queue = 0, to
	f.count(p, j)
	p.TouchJob(j)
}

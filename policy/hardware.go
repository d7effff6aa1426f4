package policy

import (
	"fmt"
	"math"
	"slices"

	"github.com/sojourn-sched/sojourn/sched"
)

var hardwareCard = Card{
	Title:  "meets deadlines, and gives accelerated nodes to the jobs that run faster on them",
	Source: "Polo, Multi-constraint scheduling of MapReduce workloads, PhD thesis, UPC 2014, 3.4.3 and 3.4.4",
	Spec:   "docs/spec/hardware.md",
	Params: PlacingParams(
		Param{
			Name:    "speedup",
			Kind:    Number,
			Default: "1.5",
			Max:     1e6,
			Meaning: "how many times as fast tasks must run on accelerated nodes, for their job to be accelerable",
		},
		Param{
			Name:    "epoch",
			Kind:    Duration,
			Default: "1s",
			Meaning: "least time between two divisions of the slots, except for jobs whose speedup is being " +
				"measured; 0s: they are divided whenever a task ends or a job comes",
		},
		Param{
			Name:    "calibrate",
			Kind:    Choice,
			Default: "only",
			Choices: []Option{{Name: "only"}, {Name: "also"}},
			Meaning: "until its speedup is known a job runs one task in each pool of nodes (only), or other tasks " +
				"as a regular job, too (also)",
		},
		Param{
			Name:    "reclassify",
			Kind:    Choice,
			Default: "off",
			Choices: []Option{{Name: "off"}, {Name: "on"}},
			Meaning: "whether the speedup is computed anew as tasks finish",
		},
		Param{
			Name:    "provisional",
			Kind:    Choice,
			Default: "off",
			Choices: []Option{{Name: "off"}, {Name: "on"}},
			Meaning: "whether the regular task that measures the speedup counts before it ends, once it has run " +
				"for a quarter of the time left",
		},
		Param{
			Name:    "spare",
			Kind:    Choice,
			Default: "off",
			Choices: []Option{{Name: "off"}, {Name: "on"}},
			Meaning: "whether accelerable jobs that hold what they need get idle regular slots, too",
		},
		Param{
			Name:    "outlast",
			Kind:    Choice,
			Default: "due",
			Choices: []Option{{Name: "due"}, {Name: "none"}, {Name: "any"}},
			Meaning: "which accelerable jobs may start tasks on regular nodes although the job would end earlier " +
				"on its accelerated slots alone: those with a deadline, none, or any",
		},
		Param{
			Name:    "spill",
			Kind:    Choice,
			Default: "need",
			Choices: []Option{{Name: "need"}, {Name: "speedup"}},
			Meaning: "which accelerable job moves to regular slots when accelerated ones are short: the one served " +
				"last, or the one with the least speedup",
		},
		Param{
			Name:    "reduces",
			Kind:    Choice,
			Default: "regular",
			Choices: []Option{{Name: "regular"}, {Name: "calibrated"}},
			Meaning: "regular: only maps may be accelerable; calibrated: each stage may be, by its own measured " +
				"speedup",
		},
		Param{
			Name:    "reduce-cost",
			Kind:    Number,
			Default: "1",
			Max:     1e6,
			Meaning: "how many times as long as a map a reduce is taken to be, until one has finished",
		},
		Param{
			Name:    "no-goal",
			Kind:    Choice,
			Default: "asap",
			Choices: []Option{{Name: "asap"}, {Name: "background"}},
			Meaning: "jobs without a deadline: asap, they want all slots; background, they get those that no other " +
				"job needs",
		},
		Param{
			Name:    "failures",
			Kind:    Integer,
			Default: "2",
			Min:     1,
			Meaning: "after so many failed attempts in a row in a pool of accelerated nodes, a job does without " +
				"that pool",
		},
		mastersParam("0.5", "the cluster"),
	),
	Memory: []string{
		"names of accelerators that jobs have asked for, and the pools that follow from them",
		mastersMemory,
		"by stage and pool: tasks that finished and their time, tasks that run, slots granted, the speedup",
		"by stage: whether it is accelerable, and what it needs beyond its grants",
		"by job: failed attempts in a row on each accelerated pool",
		"whether slots are to be divided anew, and when at the earliest",
		PlacingMemory,
	},
	Limits: []Limit{{Verb: "rm", Text: "policy hardware knows accelerated machines by --classes, and the " +
		"applications that can use them by the tag sojourn.accelerators: others are regular; devices are not counted"}},
	Claims: []Claim{NonPreemptive, TimeInvariant},
}

// hardware keeps completion goals on a cluster whose nodes differ. For each job that can use accelerators it runs one
// task in each pool, to measure how much faster the job is there. A planner (package theory/hardware) divides the slots
// of all pools among the jobs, by how many each needs to meet its goal. Between two plans, tasks start as the grants of
// the last plan say. No slot is taken back from a running task.
//
// Pool 0 has the slots without an accelerator. Each class of nodes that a job has named as an accelerator is a pool of
// its own. If the devices of the class are counted, that pool has only as many slots as devices, an accelerated task
// holds one device, and the other slots of these nodes belong to pool 0.
//
// A plan costs O(S log n) for S slots and n jobs. There is at most one an epoch, and a few more for each job that names
// accelerators. Between plans the start or the end of a task costs O(log n) for each pool.
type hardware struct {
	DelayPlacer
	Stages   sched.Per[*hardwareStage] // by stage; a pointer, because a plan holds many of them at once
	Failures sched.Per[[]int32]        // by job and pool: attempts that have failed since the last success
	Pools    []hardwarePool            // from pool 1 on
	Classes  int                       // how many classes of nodes there were when Pools was made
	Dirty    bool                      // something has changed since the last plan
	Next     sched.Time                // the earliest instant of the next plan
	Masters  masters

	hardwareOptions
	indexes []*sched.Index // by pool
}

// hardwareOptions are the parameters of hardware.
type hardwareOptions struct {
	speedup, reduceCost float64
	epoch               sched.Time
	only                bool // calibrate=only
	again               bool // reclassify=on
	provisional, spare  bool
	spread              bool // spill=speedup
	allKinds            bool // reduces=calibrated
	waiting             bool // no-goal=background
	failures            int32
	outlast             string
}

// A hardwarePool is a class of nodes with accelerators.
type hardwarePool struct {
	Class   sched.ClassID
	Devices bool // its accelerators are counted: a task holds one
}

// A hardwareStage is the policy's memory of a stage.
type hardwareStage struct {
	Kind    hardwareKind
	Rest    float64          // slots of its first pool that it needs beyond its grants, by the last plan
	Planned bool             // a plan has included it
	In      []hardwareInPool // by pool
}

// A hardwareKind says how a stage is served.
type hardwareKind uint8

// The kinds of stages. Names are in hardwareKinds.
const (
	hardwareUndecided hardwareKind = iota
	hardwareRegular
	hardwareCalibrating
	hardwareAccelerable
)

var hardwareKinds = [...]string{"undecided", "regular", "calibrating", "accelerable"}

// A hardwareInPool is the policy's memory of a stage in a pool.
type hardwareInPool struct {
	N       int64      // tasks that finished
	Sum     sched.Time // of their times
	Running int32      // attempts
	Granted int32      // how many tasks may run there by the last plan
	Wish    bool       // one task should run there, to measure the speedup
	Speedup float64    // over regular nodes; zero: the stage does not use the pool as accelerated
}

func newHardware(a Args) sched.Policy {
	h := &hardware{DelayPlacer: NewDelayPlacer(a), hardwareOptions: hardwareOptions{
		speedup:     a.Number("speedup"),
		reduceCost:  a.Number("reduce-cost"),
		epoch:       a.Time("epoch"),
		only:        a.Choice("calibrate") == "only",
		again:       a.Choice("reclassify") == "on",
		provisional: a.Choice("provisional") == "on",
		spare:       a.Choice("spare") == "on",
		spread:      a.Choice("spill") == "speedup",
		allKinds:    a.Choice("reduces") == "calibrated",
		waiting:     a.Choice("no-goal") == "background",
		failures:    int32(a.Int("failures")),
		outlast:     a.Choice("outlast"),
	}}
	h.Masters.init(a)
	return h
}

// Decide makes a new plan if something has changed, and starts tasks.
func (h *hardware) Decide(p *sched.Plan) {
	h.notice(p)
	if h.Dirty && p.Now >= h.Next {
		h.planAll(p)
		h.Dirty = false
		if h.epoch > 0 {
			h.Next = (p.Now/h.epoch + 1) * h.epoch
		}
	}
	if h.Dirty {
		p.Wake(h.Next)
	}
	h.fill(p)
	h.Masters.keep(p)
}

// notice updates the policy's memory by the events of this instant.
func (h *hardware) notice(p *sched.Plan) {
	var names []string
	for i := range p.Events {
		switch e := &p.Events[i]; e.Kind {
		case sched.AttemptDone:
			if a := p.Attempt(e.Attempt); a != nil {
				h.done(p, a, e.Outcome)
				if h.urgent(a.Stage) {
					h.Next = p.Now
				}
			}
			h.Dirty = true
		case sched.JobSubmitted, sched.SpecChanged:
			if j := p.Job(e.Job); j != nil && j.Spec.Profile != nil {
				names = append(names, j.Spec.Profile.Accelerators...)
				h.Next = p.Now
			}
			h.Dirty = true
		case sched.NodeJoined, sched.NodeReported, sched.NodeLost, sched.JobEnded, sched.AsksChanged, sched.TaskUndone,
			sched.AttemptFound:
			h.Dirty = h.Dirty || e.Kind != sched.NodeReported || e.Body != nil
		}
	}
	if h.Classes != len(p.Classes) { // a few times: classes are never dropped
		h.Classes = len(p.Classes)
		for j := range p.Jobs() {
			if j.Spec.Profile != nil {
				names = append(names, j.Spec.Profile.Accelerators...)
			}
		}
	}
	if len(names) > 0 {
		h.findPools(p, names)
	}
}

// urgent reports whether the end of an attempt of st calls for a plan at once, because tasks of a job that names
// accelerators wait for it: st calibrates, or its end lets another stage begin. This happens a few times in the life of
// a job.
func (h *hardware) urgent(st *sched.Stage) bool {
	if st.Job.Spec.Profile == nil || st.Kind == sched.Master {
		return false
	}
	return h.of(st).Kind == hardwareCalibrating || unfinished(st) == 0
}

// findPools makes pools of the classes with the names that jobs give their accelerators. Pools are never dropped.
func (h *hardware) findPools(p *sched.Plan, names []string) {
	for _, c := range p.Classes {
		if slices.Contains(names, c.Name) && h.poolOf(c.ID) == 0 {
			h.Pools = append(h.Pools, hardwarePool{Class: c.ID})
		}
	}
}

// poolOf returns the pool of the accelerated tasks on nodes of class c; 0: the class has none.
func (h *hardware) poolOf(c sched.ClassID) int {
	return 1 + slices.IndexFunc(h.Pools, func(q hardwarePool) bool { return q.Class == c })
}

// poolFor returns the pool in which attempt a runs.
func (h *hardware) poolFor(v *sched.View, a *sched.Attempt) int {
	q := h.poolOf(a.Class)
	if q > 0 && h.Pools[q-1].Devices && v.Amount(a.Holds)[sched.Accelerators] == 0 {
		return 0
	}
	return q
}

// of returns the memory of stage st, with a row for each pool.
func (h *hardware) of(st *sched.Stage) *hardwareStage {
	row := h.Stages.Of(st)
	if *row == nil {
		*row = &hardwareStage{}
	}
	s := *row
	for len(s.In) <= len(h.Pools) {
		s.In = append(s.In, hardwareInPool{})
	}
	return s
}

// failuresOf returns, by pool, how many attempts of job j have failed in a row.
func (h *hardware) failuresOf(j *sched.Job) []int32 {
	f := h.Failures.Of(j)
	for len(*f) <= len(h.Pools) {
		*f = append(*f, 0)
	}
	return *f
}

// done updates the policy's memory by the end of attempt a.
func (h *hardware) done(p *sched.Plan, a *sched.Attempt, out sched.Outcome) {
	q := h.poolFor(p.View, a)
	s, failures := h.of(a.Stage), h.failuresOf(a.Stage.Job)
	in := &s.In[q]
	in.Running = max(0, in.Running-1)
	switch out {
	case sched.OK:
		in.N++
		in.Sum += p.Ran(a, p.Now)
		failures[q] = 0
	case sched.Failed:
		failures[q]++
	}
	p.Touch(a.Stage)
}

// The classes of stages in the order of a pool (Key.Class).
const (
	hardwareMaster  = iota - 1 // masters, which Masters starts, in order of submission
	hardwareWish               // a task there measures the speedup
	hardwareGranted            // fewer tasks run there than the plan grants
	hardwareFits               // the pool is meant for the stage's job
	hardwareAny                // all others
)

// index returns the order of the stages in a pool.
func (h *hardware) index(pool int) *sched.Index {
	for len(h.indexes) <= pool {
		q := len(h.indexes)
		h.indexes = append(h.indexes, &sched.Index{
			Key:   func(_ *sched.View, st *sched.Stage, _ sched.Time) (sched.Key, bool) { return h.key(q, st) },
			Group: func(st *sched.Stage) int { return int(kindOf(st)) },
		})
	}
	return h.indexes[pool]
}

// key returns the key of stage st in the order of a pool; false: the stage gets no slot there. The order is
// (docs/spec/hardware.md, 2.5):
//
//   - tasks that calibrate,
//   - stages that no plan has included yet; if their job has a profile, they wait for the plan instead,
//   - stages that run fewer tasks there than granted, the one that lacks most first,
//   - stages for which the pool is meant, the one first that needs most beyond its grants,
//   - the other stages, the one first that needs most beyond its grants. A stage whose tasks would wait for earlier
//     stages of its job is among these, as one that needs nothing: it would take the room of the tasks it waits for.
//
// An accelerable stage that runs a task gets no regular slot beyond its grant, unless spare is on: its slow tasks would
// become stragglers. It gets none at all, granted or not, while a regular task would outlast the rest of the stage
// (outlasts). A stage that calibrates gets other slots only while none of its tasks runs (calibrate=only). A pool of
// counted devices is for stages that use the device, or are to try it.
func (h *hardware) key(pool int, st *sched.Stage) (sched.Key, bool) {
	switch {
	case st.Pending == 0 || st.Kind == sched.Master || !mayGrow(st):
		return sched.Key{}, false
	}
	s := h.of(st)
	in := &s.In[pool]
	rest := s.Rest
	for q := range s.In {
		rest -= float64(max(0, s.In[q].Running-s.In[q].Granted))
	}
	waits := st.Running > 0 // if the pool is not meant for the stage, it gets no further slot there
	device := pool > 0 && h.Pools[pool-1].Devices
	switch {
	case device && in.Speedup == 0 && !in.Wish:
		return sched.Key{}, false
	case !begun(st):
		return sched.Key{Class: hardwareAny}, true
	case !s.Planned:
		held := s.Kind != hardwareRegular && st.Job.Spec.Profile != nil
		return sched.Key{Class: hardwareGranted, Value: -math.MaxFloat64}, !held
	case in.Wish:
		return sched.Key{Class: hardwareWish}, true
	case pool == 0 && h.outlasts(st, s):
		return sched.Key{}, false
	case in.Running < in.Granted:
		return sched.Key{Class: hardwareGranted, Value: float64(in.Running - in.Granted)}, true
	case s.Kind == hardwareCalibrating && h.only:
		return sched.Key{Class: hardwareAny, Value: -rest}, !waits
	case pool > 0 && in.Speedup > 0, pool == 0 && s.Kind != hardwareAccelerable:
		return sched.Key{Class: hardwareFits, Value: -rest}, true
	case pool == 0:
		return sched.Key{Class: hardwareAny, Value: -rest}, h.spare || !waits
	}
	return sched.Key{Class: hardwareAny, Value: -rest}, true
}

// outlasts reports whether a regular task of accelerable stage st would end after all other tasks of the stage, if
// these run on the accelerated slots that the stage holds. In the time of one regular task, an accelerated slot
// completes as many tasks as the speedup says.
func (h *hardware) outlasts(st *sched.Stage, s *hardwareStage) bool {
	switch {
	case s.Kind != hardwareAccelerable, h.outlast == "any", h.outlast == "due" && st.Job.Spec.Deadline > 0:
		return false
	}
	left, meanwhile := float64(st.Pending), 0.0
	for q := range s.In {
		if in := &s.In[q]; in.Speedup > 0 {
			left += float64(in.Running)
			meanwhile += float64(in.Running) * in.Speedup
		}
	}
	return meanwhile >= left
}

// Withheld returns in words why master st may not start; "": it may.
func (h *hardware) Withheld(v *sched.View, st *sched.Stage) string { return h.Masters.withheld(v, st) }

// Position returns the place of st in the order of the first pool where it has one. Masters come before all others.
func (h *hardware) Position(v *sched.View, st *sched.Stage) (sched.Key, bool) {
	if st.Kind == sched.Master {
		return sched.Key{Class: hardwareMaster}, st.Pending > 0 && h.Withheld(v, st) == ""
	}
	for q := range len(h.Pools) + 1 {
		if k, ok := h.key(q, st); ok {
			return k, true
		}
	}
	return sched.Key{}, false
}

// InWords returns in words why a stage has its place in a pool, and how many slots it lacks there.
func (h *hardware) InWords(_ *sched.View, _ *sched.Stage, k sched.Key) string {
	switch k.Class {
	case hardwareMaster:
		return "an ApplicationMaster"
	case hardwareWish:
		return "a task is to tell how much faster it is there"
	case hardwareGranted:
		if k.Value == -math.MaxFloat64 {
			return "nothing is planned for it yet"
		}
		return fmt.Sprintf("it lacks %g of its slots there", -k.Value)
	case hardwareFits:
		return fmt.Sprintf("the nodes are meant for it, and it needs %.6g slots more", -k.Value)
	}
	return fmt.Sprintf("other jobs come first there; it needs %.6g slots more", -k.Value)
}

// fill starts waiting tasks. A stage that waits for nodes near its input, and has started a task, begins to wait again:
// then fill offers it all nodes once more.
func (h *hardware) fill(p *sched.Plan) {
	h.sync(p)
	h.Masters.start(p, h)
	for h.fillPools(p) {
		h.sync(p)
	}
}

// sync brings the orders of all pools up to date.
func (h *hardware) sync(p *sched.Plan) {
	for q := range len(h.Pools) + 1 {
		h.index(q).Sync(p)
	}
}

// fillPools starts waiting tasks, first in the accelerated pools. It reports whether a stage began to wait again.
func (h *hardware) fillPools(p *sched.Plan) (anew bool) {
	for q := len(h.Pools); q > 0; q-- {
		anew = h.fillPool(p, q, h.Pools[q-1].Class) || anew
	}
	if len(h.Pools) == 0 {
		h.fillPool(p, 0, 0)
		return false
	}
	for _, devices := range [...]bool{false, true} { // nodes whose devices such a task would leave idle come last
		for _, c := range p.Classes {
			if q := h.poolOf(c.ID); devices == (q > 0) && (q == 0 || h.Pools[q-1].Devices) {
				anew = h.fillPool(p, 0, c.ID) || anew
			}
		}
	}
	return anew
}

// fillPool starts waiting tasks in a pool on nodes of a class (zero: of any). It reports whether a stage that started a
// task begins to wait again for a node near its input.
func (h *hardware) fillPool(p *sched.Plan, pool int, class sched.ClassID) (anew bool) {
	x := h.index(pool)
	for k := range sched.ResourceKind(sched.NumResources) {
		for st := x.FirstIn(int(k), class); st != nil; st = x.FirstIn(int(k), class) {
			if pool > 0 && h.Pools[pool-1].Devices && freeDevices(p.View, class) <= 0 {
				break
			}
			if h.start(p, st, pool, class) {
				anew = anew || h.near(st) && h.by.waits()
			} else {
				x.Skip(st)
			}
		}
	}
	return anew
}

// freeDevices returns how many accelerators of a class are not used.
func freeDevices(v *sched.View, class sched.ClassID) int64 {
	c := v.Classes[class-1]
	return c.Capacity[sched.Accelerators] - c.Used[sched.Accelerators]
}

// start starts one task of st in a pool, and reports whether it did.
func (h *hardware) start(p *sched.Plan, st *sched.Stage, pool int, class sched.ClassID) bool {
	where := sched.Where{Class: class}
	switch {
	case pool > 0 && h.Pools[pool-1].Devices:
		where.Shape = p.Shape(withDevice(st.Spec.PerTask))
	case pool == 0 && class != 0 && st.Placed(): // any regular node near the input is as good
		where = sched.Where{Ok: func(n *sched.Node) bool {
			q := h.poolOf(n.Class)
			return q == 0 || h.Pools[q-1].Devices
		}}
	}
	if !h.placeWhere(p, st, where) {
		return false
	}
	in := &h.of(st).In[pool]
	in.Running++
	in.Wish = false
	p.Touch(st)
	return true
}

// withDevice returns the resources that a task which asks for r holds if it uses an accelerator.
func withDevice(r sched.Resources) sched.Resources {
	r[sched.Accelerators] = max(1, r[sched.Accelerators])
	return r
}

// Why returns in words what the policy knows of stage st and plans for it, for the command explain.
func (h *hardware) Why(v *sched.View, st *sched.Stage) string {
	s := h.of(st)
	if !s.Planned {
		return ""
	}
	text := "hardware: " + hardwareKinds[s.Kind]
	for q := range s.In {
		in, name := &s.In[q], "regular nodes"
		if q > 0 {
			name = v.Classes[h.Pools[q-1].Class-1].Name
			if in.Speedup > 0 {
				name = fmt.Sprintf("%s (%.3g times as fast)", name, in.Speedup)
			}
		}
		if in.Granted+in.Running > 0 || in.Wish {
			text += fmt.Sprintf("; on %s %d granted, %d run", name, in.Granted, in.Running)
		}
		if in.Wish {
			text += ", one to calibrate"
		}
	}
	if st.Pending > 0 && h.outlasts(st, s) {
		text += "; a task on a regular node would end after the rest of the job"
	}
	return text
}

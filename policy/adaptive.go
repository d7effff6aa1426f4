package policy

import (
	"fmt"
	"math"

	"github.com/sojourn-sched/sojourn/internal/spelling"
	"github.com/sojourn-sched/sojourn/internal/theory/goals"
	"github.com/sojourn-sched/sojourn/sched"
)

var adaptiveCard = Card{
	Title: "first the job that lacks the most slots to meet its deadline",
	Source: "J. Polo, Multi-constraint scheduling of MapReduce workloads, PhD thesis, UPC 2014, chapter 3 (Adaptive " +
		"Scheduler)",
	Spec: "docs/spec/adaptive.md#3-parameters",
	Params: PlacingParams(
		Param{
			Name:    "lengths",
			Kind:    Choice,
			Default: "measured",
			Choices: []Option{{Name: "measured"}, {Name: "estimated"}},
			Meaning: "how long a task is expected to take: as the mean of its stage's finished tasks, or as the " +
				"estimator says",
		},
		Param{
			Name:    "split",
			Kind:    Choice,
			Default: "proportional",
			Choices: []Option{{Name: "proportional"}, {Name: "waves"}},
			Meaning: "how the time to a deadline is divided among stages: in proportion to their work, or so that " +
				"later stages have time for their waves of tasks",
		},
		Param{
			Name:    "reduce-cost",
			Kind:    Number,
			Default: "1",
			Min:     0.001,
			Max:     1e6,
			Meaning: "how many times as long as a map a reduce is taken to be, until one has finished; a job's " +
				"profile may say it instead",
		},
		Param{
			Name:    "need",
			Kind:    Choice,
			Default: "fluid",
			Choices: []Option{{Name: "fluid"}, {Name: "waves"}},
			Meaning: "how many slots a stage needs: its work divided by the time left, or as many as let whole " +
				"waves of tasks end in time",
		},
		Param{
			Name:    "no-goal",
			Kind:    Choice,
			Default: "asap",
			Choices: []Option{{Name: "asap"}, {Name: "background"}},
			Meaning: "jobs without a deadline: asap, they want all slots; background, they get what the others leave",
		},
		Param{
			Name:    "probe-slots",
			Kind:    Integer,
			Default: "0",
			Meaning: "how many tasks of a stage may start before those of planned stages, until one has finished " +
				"and its length is known; 0: any number",
		},
		Param{
			Name:    "late-cap",
			Kind:    Number,
			Default: "1",
			Max:     1,
			Meaning: "part of all slots that stages past their goal may take before all others",
		},
		Param{
			Name:    "shortage",
			Kind:    Choice,
			Default: "shared",
			Choices: []Option{{Name: "shared"}, {Name: "fewest"}},
			Meaning: "when slots are short: shared, all jobs lack equally many; fewest, some goals are given up so " +
				"that the fewest are missed",
		},
		Param{
			Name:    "delays",
			Kind:    Integer,
			Default: "0",
			Max:     1e6,
			Meaning: "how many times a task may decline a node without its input while its job holds enough slots " +
				"(D_max)",
			Voids: []Claim{WorkConserving},
		},
		Param{
			Name:    "fallback",
			Kind:    Choice,
			Default: "off",
			Choices: []Option{{Name: "off"}, {Name: "on"}},
			Meaning: "whether a slot that all jobs decline is used nevertheless (with delays)",
		},
		Param{
			Name:    "beat",
			Kind:    Duration,
			Default: "3s",
			Min:     0.1,
			Meaning: "how often a declined slot is offered again on engines without heartbeats",
		},
		Param{
			Name:    "warn",
			Kind:    Choice,
			Default: "on",
			Choices: []Option{{Name: "on"}, {Name: "off"}},
			Meaning: "whether warnings say which goals cannot all be met, and how they could be",
		},
		mastersParam("0.5", "the cluster"),
	),
	Memory: []string{
		"by stage: number, mean and variance of the lengths of its finished tasks",
		"by stage: the length of a task as the estimator last said (with lengths=estimated)",
		"by stage: how often waiting tasks have passed over a node (with delays)",
		PlacingMemory,
		"by job: whether its goal is given up (with shortage=fewest)",
		mastersMemory,
		"by job: whether it was said that its goal cannot be met, and how many of its tasks were known at most",
		"how many events since the last look at goals may have added work, and what there was of resources then",
	},
	Claims: []Claim{WorkConserving, NonPreemptive, TimeInvariant},
	Limits: []Limit{
		{Verb: "rm", Text: "policy adaptive learns of a job's reduces when its ApplicationMaster asks for them: " +
			"until then the deadline of the job (tag sojourn.deadline) is the goal of its maps"},
		{Verb: "rm", Param: "delays", Text: "policy adaptive counts delays for the tasks of a stage together, " +
			"because the ApplicationMaster chooses among them"},
		{Verb: "run", Param: "delays", Text: "policy adaptive passes over no node because of delays: all input is on " +
			"this machine"},
	},
}

// adaptive serves the stage that lacks most slots to meet its goal (package goals): s_req, the slots that it needs
// beyond those that it holds, from the lengths of its finished tasks. Stages past their goal come first, then those
// without a finished task, then the others by s_req. Nothing is taken back.
//
// s_req changes while time passes, at a rate of its own for each stage. The lineup keeps the order as a kinetic
// tournament: a task that starts or ends costs O(log n) for n stages, and so does a task that outlives the mean of its
// stage.
type adaptive struct {
	Order lineup
	DelayPlacer
	Deferred sched.Per[[]deferral] // by stage
	Beat     ticker
	Warnings warnings
	Masters  masters

	most     int32 // delays of a task, where its job says nothing of its own
	fallback bool
	beat     sched.Time
	offered  map[sched.NodeID]bool // in this Step
	all      bool                  // every node with room is offered in this Step
}

// A deferral is how often a waiting task has passed over a node.
type deferral struct{ Task, Times int32 }

func newAdaptive(a Args) sched.Policy {
	p := &adaptive{
		DelayPlacer: NewDelayPlacer(a),
		most:        int32(a.Int("delays")),
		fallback:    a.Choice("fallback") == "on",
		beat:        a.Time("beat"),
	}
	p.Order.init(a)
	p.Masters.init(a)
	if p.Order.fewest {
		p.Masters.key = p.Order.masterKey
	}
	p.Warnings.on = a.Choice("warn") == "on"
	return p
}

// Decide starts tasks where there is room.
func (a *adaptive) Decide(p *sched.Plan) {
	a.Order.begin(p)
	a.Warnings.follow(p, &a.Order)
	a.offer(p)
	if a.Order.fewest {
		a.Masters.begin(p)
		a.yield(p)
	} else {
		a.Masters.start(p, a)
	}
	var passed []*sched.Stage // stages that passed over nodes, in their order
	for st := a.first(p); st != nil; st = a.first(p) {
		switch {
		case st.Kind == sched.Master:
			a.Masters.try(p, a, st)
		case a.place(p, st):
			a.started(p, st)
		default:
			a.Order.pass(st)
			if a.fallback && a.defers(p, st) {
				passed = append(passed, st)
			}
		}
	}
	for _, st := range passed {
		for st.Pending > 0 && a.Place(p, st) {
			a.started(p, st)
		}
	}
	if a.Order.fewest {
		a.keep(p)
	} else {
		a.Masters.keep(p)
	}
}

// first returns the stage whose turn it is among those that have room; nil: none has. With shortage=fewest masters take
// their turns by the goals of their jobs; else Masters has started those that may start.
func (a *adaptive) first(p *sched.Plan) *sched.Stage {
	st := a.Order.first(p)
	if !a.Order.fewest {
		return st
	}
	master := a.Masters.first(p)
	if master == nil || st != nil && a.Order.precedes(p.View, st, master) {
		return st
	}
	return master
}

// yield gives up the nodes that are kept for masters other than the one that is first by now, with shortage=fewest. It
// waits for an event, so that a call while nothing happens changes nothing.
func (a *adaptive) yield(p *sched.Plan) {
	if len(a.Masters.Keep.Kept) > 0 && len(p.Events) > 0 {
		a.Masters.Keep.only(p, a.urgent(p))
	}
}

// urgent returns the first master that waits and may start, with room or without, if the goal of its job is not given
// up; nil: there is none.
func (a *adaptive) urgent(p *sched.Plan) *sched.Stage {
	if st := a.Masters.head(p); st != nil && !*a.Order.GivenUp.Of(st.Job) {
		return st
	}
	return nil
}

// keep keeps a node for the urgent master, with shortage=fewest, if smaller tasks that come after it in the order were
// started now.
func (a *adaptive) keep(p *sched.Plan) {
	master := a.urgent(p)
	if master == nil {
		return
	}
	var after []sched.Action
	for _, act := range p.Actions() {
		if st := p.Stage(act.Stage); act.Kind == sched.Launch && !a.Order.precedes(p.View, st, master) {
			after = append(after, act)
		}
	}
	a.Masters.Keep.keep(p, master, after)
}

// Position returns the place of st in the order, for the command explain.
func (a *adaptive) Position(v *sched.View, st *sched.Stage) (sched.Key, bool) {
	if st.Kind == sched.Master && st.Pending > 0 && a.Order.fewest && a.Withheld(v, st) == "" {
		return a.Order.key(v, st), true
	}
	return a.Order.Position(v, st)
}

// InWords says how a stage stands to its goal.
func (a *adaptive) InWords(_ *sched.View, _ *sched.Stage, k sched.Key) string {
	return a.Order.inWords(k)
}

// Notes implements Noter.
func (a *adaptive) Notes() []string { return a.Warnings.Notes() }

// Withheld says in words why a master may not start; "": it may.
func (a *adaptive) Withheld(v *sched.View, st *sched.Stage) string {
	return a.Masters.withheld(v, st)
}

// started notes that a task of st was started by the last action.
func (a *adaptive) started(p *sched.Plan, st *sched.Stage) {
	a.Order.launched(p, st)
	if list, ok := a.Deferred.Has(st); ok && len(*list) > 0 {
		acts := p.Actions()
		*list = drop(*list, acts[len(acts)-1].Task)
	}
}

// drop returns the list without a task.
func drop(list []deferral, task int32) []deferral {
	for i := range list {
		if list[i].Task == task {
			return append(list[:i], list[i+1:]...)
		}
	}
	return list
}

// offer finds out which nodes are offered in this Step: those in Plan.Offers (under heartbeats, the nodes that have
// reported), and at each beat all nodes with room.
func (a *adaptive) offer(p *sched.Plan) {
	if a.most == 0 {
		return
	}
	a.all = a.Beat.due(p, a.beat)
	clear(a.offered)
	if a.offered == nil {
		a.offered = map[sched.NodeID]bool{}
	}
	for _, id := range p.Offers {
		a.offered[id] = true
	}
}

// defers reports whether tasks of st may pass over nodes without their input: its stage holds enough slots for its
// goal by what is known of its tasks (docs/spec/adaptive.md, 2.6).
func (a *adaptive) defers(p *sched.Plan, st *sched.Stage) bool {
	return a.passes(st.Job) > 0 && a.near(st) && a.Order.enough(p.Now, st)
}

// passes returns how often a task of j may pass over a node without its input.
func (a *adaptive) passes(j *sched.Job) int32 {
	switch n := j.Spec.Delays; {
	case a.most == 0 || n == 0:
		return a.most
	default:
		return max(0, n)
	}
}

// place starts a task of st, near its input if a node there has room. A stage that holds enough slots takes another
// node only after its next task has passed over D_max of those that were offered.
func (a *adaptive) place(p *sched.Plan, st *sched.Stage) bool {
	if !a.defers(p, st) {
		return a.Place(p, st)
	}
	if n := p.FirstWhere(st, sched.Where{Level: sched.NodeLocal}); n != nil {
		return p.Launch(st, n)
	}
	where := sched.Where{Level: sched.OffSwitch, Ok: func(n *sched.Node) bool { return a.all || a.offered[n.ID] }}
	list := a.Deferred.Of(st)
	for n := p.FirstWhere(st, where); n != nil; n = p.FirstWhere(st, where) {
		d := deferralOf(list, p.NextTask(st, n))
		if d.Times >= a.passes(st.Job) {
			return p.Launch(st, n)
		}
		d.Times++
		where.After = n.ID
	}
	if until := a.Order.enoughUntil(p.Now, st); until != sched.Never {
		p.Wake(until)
	}
	return false
}

// deferralOf returns the entry of a task, a new one where there is none.
func deferralOf(list *[]deferral, task int32) *deferral {
	for i := range *list {
		if (*list)[i].Task == task {
			return &(*list)[i]
		}
	}
	*list = append(*list, deferral{Task: task})
	return &(*list)[len(*list)-1]
}

// Why says what adaptive knows of a stage, for the command explain; "": nothing.
func (a *adaptive) Why(v *sched.View, st *sched.Stage) string {
	if st.Kind == sched.Master {
		return ""
	}
	f := a.Order.facts(v, st)
	var run runs
	run.set(v, st)
	left, _ := f.at(v.Now, &run)
	text := fmt.Sprintf("adaptive: %s left of %.3g s, %d run", spelling.Count(left.Unstarted, "task"), left.Mean,
		left.Running)
	switch {
	case !left.Known:
		return fmt.Sprintf("adaptive: no task has finished, %d wait, %d run", left.Unstarted, left.Running)
	case math.IsInf(left.Goal, 1):
		return text + "; no deadline"
	case *a.Order.GivenUp.Of(st.Job):
		return text + fmt.Sprintf("; goal %v, which cannot be met together with those of other jobs", f.goal)
	case left.Goal <= 0:
		return text + fmt.Sprintf("; past its goal %v by %.3g s", f.goal, -left.Goal)
	}
	text += fmt.Sprintf("; goal %v, for which it needs %.3g slots more (s_req)", f.goal, left.Required(0))
	frame := (f.goal - f.submitted).Seconds()
	more, possible := goals.Factor(int(100*left.Goal/frame), max(1, int(100*left.Mean/frame)))
	if !possible {
		return text + "; not one more wave of tasks fits before it"
	}
	return text + fmt.Sprintf("; had it no slots until now, it would need %.3g times those of the plan", more)
}

package policy

import "github.com/sojourn-sched/sojourn/sched"

var dynamicmrCard = Card{
	Title: "lends idle slots of one kind to tasks of the other; waiting tasks before second attempts; idle slots " +
		"for tasks whose input is there",
	Source: "Tang, PhD thesis on job scheduling and resource allocation for MapReduce, chapter 4 (DynamicMR: DHSA, " +
		"SEPB, Slot PreScheduling), over Hadoop 1's Fair Scheduler",
	Spec:     "docs/spec/dynamicmr.md#7-parameters",
	Needs:    sched.CanNameTasks,
	Slots:    true,
	Progress: true,
	Params: sizing(PlacingParams(speculating(
		Param{
			Name:    "base",
			Kind:    Choice,
			Default: "fair",
			Choices: []Option{{Name: "fair"}, {Name: "fifo"}, {Name: "srpt"}},
			Meaning: "the order of jobs: fair, queues and the jobs in them by what they run; fifo, by priority and " +
				"age; srpt, by the work left",
		},
		Param{Name: "dhsa", Kind: Choice, Default: "pi", Choices: []Option{{Name: "pi"}, {Name: "pd"}, {Name: "off"}},
			Meaning: "how idle slots are lent: pi, between all jobs, after maps and reduces have each been served " +
				"from their own kind; pd, within each queue first, with both kinds shared as one; off, not at all"},
		Param{
			Name:    "lend-maps",
			Kind:    Number,
			Default: "1",
			Max:     1,
			Meaning: "part of the map slots that reduces may hold (Pec_M)",
		},
		Param{
			Name:    "lend-reduces",
			Kind:    Number,
			Default: "1",
			Max:     1,
			Meaning: "part of the reduce slots that maps may hold (Pec_R)",
		},
		Param{
			Name:    "sepb",
			Kind:    Choice,
			Default: "cluster",
			Choices: []Option{{Name: "cluster"}, {Name: "queue"}, {Name: "off"}},
			Meaning: "which waiting tasks go before second attempts: those of the whole cluster, or of the same " +
				"queue; off: there are no second attempts",
		},
		Param{
			Name:    "checked",
			Kind:    Number,
			Default: "0.8",
			Max:     1,
			Meaning: "part of the jobs, from the straggler's job on, whose waiting tasks go before its second " +
				"attempt; 0: a job's second attempts come right after its own tasks, as in Hadoop 1",
		},
		Param{
			Name:    "overdue",
			Kind:    Choice,
			Default: "kill",
			Choices: []Option{{Name: "kill", Needs: sched.CanKill}, {Name: "every", Needs: sched.CanKill},
				{Name: "wait"}},
			Meaning: "what happens to a task that has run much longer than its stage's finished tasks: kill, it is " +
				"killed if it is a straggler without a second attempt; every, as in the source, it is always " +
				"killed; wait, it runs on",
		},
		Param{
			Name:    "overdue-after",
			Kind:    Number,
			Default: "4",
			Min:     1,
			Max:     1e6,
			Meaning: "how much longer, as a multiple of the mean time of the finished tasks (with overdue)",
		},
		Param{Name: "prescheduling", Kind: Choice, Default: "on", Choices: []Option{{Name: "on"}, {Name: "off"}},
			Meaning: "whether a map may take a slot near its input that load balancing or a lending limit " +
				"would leave idle"},
		Param{
			Name:    "most-borrowed",
			Kind:    Integer,
			Default: "100000",
			Meaning: "how many reduce slots maps may hold at once through prescheduling",
		},
	)...)...),
	Memory: []string{
		"slow tasks, slow nodes and the order of jobs as of the last check",
		"second attempts that run; by node: how many tasks were finished there",
		"by stage: how long its finished tasks took, which were killed; stages that are to start such a task again",
		"maps that hold a reduce slot near their input, and how many such slots reduces have not had back",
		"what a map and a reduce weigh, where slots have weights",
		PlacingMemory,
		"by stage: the size of a task, as the estimator last said (with base=srpt)",
	},
	Claims: []Claim{TimeInvariant},
}

// dynamicmr serves maps on map slots and reduces on reduce slots in the order of its base (parameter base), and then
// lends slots of each kind that are idle to tasks of the other kind. Tasks that do not ask for slots are served by the
// base alone.
//
// A decision costs a few times as much as one of the base: O(log n) for n jobs, or siblings in the queue tree. A look
// for stragglers costs O(stragglers), and O(n log n) more if there are any while tasks wait.
type dynamicmr struct {
	Queues  slotQueues    // the base: which stage is served next
	Lending lender        // how many slots of one kind tasks of the other kind may hold
	Second  sepb          // second attempts of stragglers
	Overdue overdueKiller // kills stragglers

	serve func(*sched.Plan) // starts tasks on idle slots: by PI-DHSA or PD-DHSA
}

func newDynamicMR(a Args) sched.Policy {
	d := &dynamicmr{Lending: newLender(a)}
	d.Queues.init(a, &d.Lending, d.Second.Order.note)
	d.Second.init(a, &d.Queues, &d.Lending)
	d.Overdue = newOverdue(a, &d.Queues.Tree, &d.Lending)
	place := slotPlacer{&d.Queues, &d.Lending, &d.Second}
	if d.Queues.pooled {
		d.serve = (&queueServer{place, map[sched.JobID]bool{}}).serve
	} else {
		d.serve = (&phaseServer{place}).serve
	}
	return d
}

// Decide starts tasks and second attempts where there is room, and now and then looks for stragglers.
func (d *dynamicmr) Decide(p *sched.Plan) {
	d.Lending.repaid(p)
	d.Lending.weigh(p)
	looks := d.Second.learn(p)
	d.Overdue.learn(p)
	if d.Queues.bySize {
		d.Queues.Sizes.learn(p)
	}
	d.Queues.Tree.begin(p)
	d.Second.suspects.skipped = false
	if looks {
		d.Second.lookAround(p)
	}
	for again := true; again && d.Lending.idle(p); {
		seconds := len(d.Second.Late.Second)
		d.Lending.measure(p)
		d.Overdue.startAgain(p)
		d.serve(p)
		d.Second.start(p)
		// A second attempt took a slot that was meant for a waiting task. Now a slot may be lent to that task.
		again = len(d.Second.Late.Second) > seconds
	}
	d.Queues.fillOthers(p)
	if looks {
		d.Overdue.kill(p, &d.Second)
	}
}

// Position returns the key of st in the order of the base.
func (d *dynamicmr) Position(v *sched.View, st *sched.Stage) (sched.Key, bool) {
	return d.Queues.Tree.Position(v, st)
}

// InWords returns in words how many queues come before that of st, and what decides within the queue.
func (d *dynamicmr) InWords(v *sched.View, st *sched.Stage, k sched.Key) string {
	return d.Queues.inWords(v, st, k)
}

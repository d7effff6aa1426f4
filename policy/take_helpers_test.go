package policy

import (
	"fmt"
	"testing"

	"github.com/sojourn-sched/sojourn/sched"
)

// newVainCore returns a core of nodes of 10 GiB that are full of tasks of 1 GiB, of as many jobs, and a job before them
// that no single victim helps: its task needs 2 GiB. The only running task of 2 GiB is of a queue that is spared.
// Another job of 1 GiB comes last.
func newVainCore(p sched.Policy, jobs int) *sched.Core {
	gib := func(n int64) sched.Resources { return sched.Resources{sched.Memory: 1024 * n} }
	c := sched.New(sched.Config{Policy: p, Can: sched.CanKill | sched.CanSuspend,
		Queues: []*sched.QueueSpec{{Name: "q"}, {Name: "spared", Spared: true}}})
	events := []sched.Event{{Kind: sched.NodeJoined, Node: 1, Body: &sched.NodeSpec{Class: "c", Capacity: gib(2)}}}
	for i := range (jobs + 9) / 10 {
		events = append(events, sched.Event{Kind: sched.NodeJoined, Node: sched.NodeID(i + 2),
			Body: &sched.NodeSpec{Class: "c", Capacity: gib(10)}})
	}
	submit := func(id int, queue string, seconds sched.Time, each sched.Resources) {
		e := jobOf(sched.JobID(id), queue, 1, each)
		e.Body.(*sched.JobSpec).Stages[0].Prior = seconds * 1e9
		events = append(events, e)
	}
	for i := range jobs {
		submit(i+1, "q", sched.Time(1000+i), gib(1)) // no two alike
	}
	submit(jobs+1, "spared", 999, gib(2))
	c.Step(0, events)
	events = events[:0]
	submit(jobs+2, "q", 1, gib(2))
	submit(jobs+3, "q", 1e6, gib(1))
	if acts := c.Step(1, events); len(acts) > 2 {
		panic(fmt.Sprint("want at most 2 actions: ", acts))
	}
	return c
}

// BenchmarkTakeInVain is the cost of an event that changes nothing, while the first stage that waits needs more room
// than one victim has.
func BenchmarkTakeInVain(b *testing.B) {
	for _, spec := range []string{"hfsp", "srpt:preempt=kill", "srpt:preempt=suspend", "fsp:preempt=kill"} {
		for _, n := range []int{1000, 10000} {
			b.Run(fmt.Sprintf("%s/jobs=%d", spec, n), func(b *testing.B) {
				p, _, err := Parse(spec)
				if err != nil {
					b.Fatal(err)
				}
				c := newVainCore(p, n)
				var id sched.AttemptID
				for a := range c.Attempts(c.Job(1).Stages[0]) {
					id = a.ID
				}
				events := []sched.Event{{Kind: sched.AttemptProgress, Attempt: id, Progress: 0.5}}
				now := sched.Time(1)
				start := cpu()
				for b.Loop() {
					now++
					c.Step(now, events)
				}
				b.ReportMetric(float64(cpu()-start)/float64(b.N), "cpu-ns/op")
			})
		}
	}
}

// While no attempt helps the first stage that waits, a decision computes as many keys beside few running tasks as
// beside many.
func TestStageBeyondHelpCostsNoLookAtAll(t *testing.T) {
	counted := func(mode string, jobs int) int {
		r := &rankedByPrior{}
		c := newVainCore(r.parsed(t, mode), jobs)
		c.Step(2, nil)
		r.ranked = 0
		c.Step(3, nil)
		return r.ranked
	}
	for _, mode := range []string{"kill", "suspend"} {
		if few, many := counted(mode, 100), counted(mode, 1000); few != many || few == 0 {
			t.Errorf("%s: %d keys beside 100 tasks and %d beside 1000, want as many", mode, few, many)
		}
	}
}

// So it does when the first of two stages that wait for tasks of one size ends.
func TestNextOfOneSizeCostsNoLook(t *testing.T) {
	counted := func(jobs int) int {
		r := &rankedByPrior{}
		c := newVainCore(r.parsed(t, "kill"), jobs)
		e := jobOf(sched.JobID(jobs+4), "q", 1, sched.Resources{sched.Memory: 2048})
		e.Body.(*sched.JobSpec).Stages[0].Prior = 2e9
		c.Step(2, []sched.Event{e})
		c.Step(3, nil)
		r.ranked = 0
		c.Step(4, []sched.Event{{Kind: sched.JobEnded, Job: sched.JobID(jobs + 2), Outcome: sched.Killed}})
		return r.ranked
	}
	if few, many := counted(100), counted(1000); few != many || few == 0 {
		t.Errorf("%d keys beside 100 tasks and %d beside 1000, want as many", few, many)
	}
}

// What helpers remember ends with the wait of the stage for which it was found, so that later events cost no look at
// nodes.
func TestHelpersForgetWhenNoTaskWaits(t *testing.T) {
	r := &rankedByPrior{}
	c := newVainCore(r.parsed(t, "kill"), 100)
	o := &r.Taking.helpers.of[sched.Memory]
	if c.Step(2, nil); o.need[sched.Memory] != 2048 || len(o.nodes) == 0 {
		t.Errorf("a task of %v waits and %d nodes are remembered, want one of 2 GiB, and some", o.need, len(o.nodes))
	}
	c.Step(3, []sched.Event{{Kind: sched.JobEnded, Job: 102, Outcome: sched.Killed},
		{Kind: sched.JobEnded, Job: 103, Outcome: sched.Killed}})
	if o.need != (sched.Resources{}) || len(o.nodes) != 0 {
		t.Errorf("%v and %d nodes are remembered when no task waits, want none", o.need, len(o.nodes))
	}
}

// A stage that a barred node would help costs no look at the stages that run either.
func TestBarredNodeIsNoHelp(t *testing.T) {
	counted := func(jobs int) int {
		r := &rankedByPrior{}
		c := newVainCore(r.parsed(t, "kill"), jobs)
		first, last := sched.JobID(jobs+2), sched.JobID(jobs+3)
		r.Taking.Barred = []bar{{sched.StageID{Job: first}, 2}}
		more := &sched.NodeSpec{Class: "c", Capacity: sched.Resources{sched.Memory: 11 * 1024}}
		c.Step(2, []sched.Event{{Kind: sched.JobEnded, Job: last, Outcome: sched.Killed},
			{Kind: sched.NodeReported, Node: 2, Body: more}})
		r.ranked = 0
		if acts := c.Step(3, nil); len(acts) > 0 {
			t.Errorf("%v, want no actions", acts)
		}
		return r.ranked
	}
	if few, many := counted(100), counted(1000); few != many || few == 0 {
		t.Errorf("%d keys beside 100 tasks and %d beside 1000, want as many", few, many)
	}
}

// A Step looks at 32 stages in vain before helpers answer that no stage helps. If one does, they answer again after 64
// looks. The ten first of 100 jobs run on node 2, which comes to offer room: 90 jobs that come after them are looked at
// in vain.
func TestHelpersAnswerAfter32LooksAndAfterTwiceAsMany(t *testing.T) {
	r := &rankedByPrior{}
	c := newVainCore(r.parsed(t, "kill"), 100)
	o := &r.Taking.helpers.of[sched.Memory]
	if c.Step(2, nil); o.looks != 32 {
		t.Errorf("%d looks where no stage helps, want 32", o.looks)
	}
	more := &sched.NodeSpec{Class: "c", Capacity: sched.Resources{sched.Memory: 11 * 1024}}
	acts := c.Step(3, []sched.Event{{Kind: sched.JobEnded, Job: 103, Outcome: sched.Killed},
		{Kind: sched.NodeReported, Node: 2, Body: more}})
	if len(acts) == 0 || acts[0].Kind != sched.Kill || acts[0].Node != 2 {
		t.Errorf("%v, want that a task on node 2 is killed", acts)
	}
	if o.looks != 91 || o.next != 128 {
		t.Errorf("%d looks, and the next answer after %d, want 91 and 128", o.looks, o.next)
	}
}

// The helpers on a node are counted anew at each look. Both tasks on a node of two slots help a task that needs one. A
// task that is leaving does not help, and the other one neither once both slots are promised.
func TestLookCountsHelpersAnew(t *testing.T) {
	slot := sched.Resources{sched.MapSlots: 1}
	c := sched.New(sched.Config{Can: sched.CanKill, Policy: deciding(func(p *sched.Plan) {
		st, n := p.Job(1).Stages[0], p.Node(1)
		for p.Launch(st, n) {
		}
		k := taker{mode: kill}
		k.count(p, nil)
		h := helpersOf{need: slot}
		check := func(when string, want int32) {
			if h.look(p, &k, 1); h.stages.Of(st).attempts != want {
				t.Errorf("%s: %d attempts help, want %d", when, h.stages.Of(st).attempts, want)
			}
		}
		check("both run", 2)
		for a := range p.Attempts(st) {
			p.Kill(a, 0)
			break
		}
		check("one is leaving", 1)
		k.nodes[1].promises = 2
		check("two are promised", 0)
	})})
	c.Step(0, []sched.Event{nodeOf(2), jobOf(1, "", 2, slot)})
}

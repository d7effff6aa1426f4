package policy

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/sched"
)

// sizedPolicies are the policies that serve jobs by sizes in seconds of the whole cluster.
var sizedPolicies = []string{
	"srpt", "srpt:preempt=kill", "spt", "fsp", "psbs", "hfsp:preempt=wait", "gittins", "dynamicmr:base=srpt",
}

// slotNode is a node that joins, with so many map slots.
func slotNode(id sched.NodeID, slots int64) sched.Event {
	return sched.Event{
		Kind: sched.NodeJoined,
		Node: id,
		Body: &sched.NodeSpec{Name: fmt.Sprint("n", id), Capacity: sched.Resources{sched.MapSlots: slots}},
	}
}

// secondsJob is a job of so many maps of ten seconds each.
func secondsJob(id sched.JobID, tasks int32) sched.Event {
	e := jobOf(id, "", tasks, sched.Resources{sched.MapSlots: 1})
	e.Body.(*sched.JobSpec).Stages[0].Prior = 10 * time.Second
	return e
}

// launchesOf counts the launches of each job.
func launchesOf(acts []sched.Action) map[sched.JobID]int {
	n := map[sched.JobID]int{}
	for _, a := range acts {
		if a.Kind == sched.Launch {
			n[a.Stage.Job]++
		}
	}
	return n
}

// sizedCore is a core under a policy of sizedPolicies.
func sizedCore(t *testing.T, spec string) (*sched.Core, sched.Policy) {
	t.Helper()
	p, _, err := Parse(spec)
	if err != nil {
		t.Fatal(err)
	}
	return sched.New(sched.Config{Policy: p, Can: sched.CanKill}), p
}

// Sizes are compared as of one capacity. Job 2 has 100 s of work, and comes while there is one slot; job 3 has 500 s,
// and comes with nine more. Measured when each came, these are 100 s and 50 s of the whole cluster.
func TestSizesOfOneCapacity(t *testing.T) {
	for _, spec := range sizedPolicies {
		c, _ := sizedCore(t, spec)
		c.Step(0, []sched.Event{slotNode(1, 1), secondsJob(1, 1)})
		c.Step(time.Second, []sched.Event{secondsJob(2, 10)})
		var events []sched.Event
		for id := sched.NodeID(2); id <= 10; id++ {
			events = append(events, slotNode(id, 1))
		}
		if n := launchesOf(c.Step(2*time.Second, append(events, secondsJob(3, 50)))); n[2] != 9 || n[3] != 0 {
			t.Errorf("%s: %d tasks of the job of 100 s start and %d of that of 500 s, want 9 and 0", spec, n[2], n[3])
		}
	}
}

// A size that was told while there was no node is known when one comes: the job of 30 s goes before that of 50,000 s,
// which came first.
func TestSizesToldBeforeNodes(t *testing.T) {
	for _, spec := range sizedPolicies {
		for _, at := range []sched.Time{0, time.Second} { // of the node: also at the same instant, a Step later
			c, _ := sizedCore(t, spec)
			c.Step(0, []sched.Event{secondsJob(1, 5000), secondsJob(2, 3)})
			if n := launchesOf(c.Step(at, []sched.Event{slotNode(1, 4)})); n[1] != 1 || n[2] != 3 {
				t.Errorf("%s, node at %v: %d tasks of the large job start and %d of the small one, want 1 and 3", spec,
					at, n[1], n[2])
			}
		}
	}
}

// Where 1,000 nodes register one after another, sizes are measured anew each time that there are a quarter more nodes,
// and not for each of them: 1.25^31 is above 1,000, and the first few nodes are a quarter each.
func TestSizesAreMeasuredSeldom(t *testing.T) {
	c, p := sizedCore(t, "srpt")
	s := &p.(*bySize).sizes
	c.Step(0, []sched.Event{slotNode(1, 1), secondsJob(1, 1e6)})
	times, was := 0, s.Of.Capacity
	for id := sched.NodeID(2); id <= 1000; id++ {
		c.Step(sched.Time(id), []sched.Event{slotNode(id, 1)})
		if s.Of.Capacity != was {
			times, was = times+1, s.Of.Capacity
		}
	}
	if times < 20 || times > 31 {
		t.Errorf("sizes were measured anew %d times while 1,000 nodes came, want 20 to 31", times)
	}
	if now := c.Capacity[sched.MapSlots]; float64(now) > 1.25*float64(s.Of.Capacity[sched.MapSlots]) {
		t.Errorf("sizes are of %d slots, and there are %d", s.Of.Capacity[sched.MapSlots], now)
	}
}

// In the virtual cluster a job has received the same part of its size after sizes have been measured anew. Of four
// slots, what is left of a job takes a quarter of the time that it takes of one.
func TestVirtualClusterOfAnotherCapacity(t *testing.T) {
	for _, spec := range []string{"fsp", "psbs", "hfsp:preempt=wait", "gittins:aging=1"} {
		c, p := sizedCore(t, spec)
		var shares *levelShares
		switch p := p.(type) {
		case *fsp:
			shares = &p.levelShares
		case *hfsp:
			shares = &p.levelShares
		case *gittins:
			shares = &p.levelShares
		}
		left := func(id sched.JobID) float64 {
			shares.Server.serve(c.Now.Seconds())
			v := &shares.Server.Jobs[shares.Shares.Of(c.Job(id)).Slot-1]
			return v.Size - shares.Server.received(v)
		}
		c.Step(0, []sched.Event{slotNode(1, 1), secondsJob(1, 10), secondsJob(2, 30)})
		c.Step(40*time.Second, nil)
		one, two := left(1), left(2)
		c.Step(40*time.Second, []sched.Event{slotNode(2, 3)})
		for id, was := range map[sched.JobID]float64{1: one, 2: two} {
			if got := left(id); math.Abs(got-was/4) > 1e-9 {
				t.Errorf("%s: %.9f s are left of job %d in the virtual cluster, want %.9f", spec, got, id, was/4)
			}
		}
	}
}

// What gittins learned is of the capacity of new jobs, whether the cluster grew while there was a job or not. 40 jobs
// of one task, which took 2 to 50 s where 10 s were expected, are over when nine nodes join the first one.
func TestLearnedSizesFollowTheCapacity(t *testing.T) {
	var goals [2]float64
	for i, busy := range []bool{false, true} {
		c, p := sizedCore(t, "gittins")
		now, id := sched.Time(0), sched.JobID(0)
		c.Step(now, []sched.Event{slotNode(1, 1)})
		for k := range 40 {
			now, id = now+time.Second, id+1
			acts := c.Step(now, []sched.Event{secondsJob(id, 1)})
			now += []time.Duration{2, 50, 10, 5, 20}[k%5] * time.Second
			c.Step(now, ended(acts))
		}
		if busy {
			id++
			c.Step(now+time.Second, []sched.Event{secondsJob(id, 1)})
		}
		c.Step(now+2*time.Second, []sched.Event{slotNode(2, 9)})
		id++
		c.Step(now+3*time.Second, []sched.Event{secondsJob(id, 1)})
		c.Step(now+4*time.Second, nil)
		b := p.(*gittins).Bets.Of(c.Job(id))
		goals[i] = b.Goal / b.Estimate
	}
	if math.Abs(goals[0]-goals[1]) > 1e-9 || goals[0] == 1 {
		t.Errorf("a job is expected to take %v and %v times its estimate, want the same, and not 1", goals[0], goals[1])
	}
}

// A job that takes as long as was expected teaches gittins no error, also where nodes join as it ends.
func TestSizesOfAJobThatEndsAsNodesJoin(t *testing.T) {
	c, p := sizedCore(t, "gittins")
	c.Step(0, []sched.Event{slotNode(1, 1)})
	acts := c.Step(time.Second, []sched.Event{secondsJob(1, 1), secondsJob(2, 1)})
	c.Step(11*time.Second, append(ended(acts), slotNode(2, 99)))
	if l := p.(*gittins).Learned; l.N != 1 || math.Abs(l.Mean) > 1e-9 {
		t.Errorf("%d errors with mean %v are learned, want one of 0", l.N, l.Mean)
	}
}

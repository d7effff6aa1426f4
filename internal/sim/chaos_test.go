package sim

import (
	"context"
	"math"
	"testing"

	"github.com/sojourn-sched/sojourn/internal/workload"
	"github.com/sojourn-sched/sojourn/sched"
)

// chaos starts what it can, and now and then does something senseless to a random attempt.
type chaos struct {
	inOrder
	chance workload.Chance
	n      uint64
}

func (c *chaos) Decide(p *sched.Plan) {
	c.n++
	for node := range p.Nodes {
		dice := c.chance.With(c.n).With(uint64(node))
		if dice.Uniform() > 0.05 {
			continue
		}
		for a := range p.AttemptsOn(p.Nodes[node]) {
			switch dice.With(1).Below(6) {
			case 0:
				p.Kill(a, sched.Time(dice.With(2).Below(3))*sec)
			case 1:
				p.Suspend(a)
			case 2, 3:
				p.Resume(a)
			case 4:
				if a.State == sched.Running && p.Twins(a) < 3 {
					p.Speculate(a, p.Nodes[dice.With(3).Below(len(p.Nodes))], 0)
				}
			case 5:
				if j := a.Stage.Job; j.Spec.Probes == 0 && !j.Ended && dice.With(4).Uniform() < 0.02 {
					p.Probe(j)
				}
			}
			break
		}
	}
	for j := range p.Jobs() { // what is suspended goes on sooner or later
		for _, st := range j.Stages {
			if st.Suspended == 0 || c.chance.With(c.n).With(uint64(j.ID)).Uniform() > 0.5 {
				continue
			}
			for a := range p.Attempts(st) {
				if a.State == sched.Suspended {
					p.Resume(a)
				}
			}
		}
	}
	c.inOrder.Decide(p)
	if p.LiveJobs() > 0 {
		p.Wake(p.Now + sec)
	}
}

// Whatever a policy does, with all accidents on: every job ends, no attempt is left over, nothing flows on any link,
// nothing waits in the queue that would bring a job on, and after every step all that the network keeps agrees with
// what it is kept from.
func TestChaos(t *testing.T) {
	for seed := range uint64(30) {
		for _, heartbeat := range []sched.Time{0, sec} {
			c := everything(seed)
			c.Costs.Reporting.Heartbeat = heartbeat
			c.Costs.Faults.Attempts = 0.005
			c.Core.Policy = &chaos{chance: workload.NewChance(seed)}
			l := newLog()
			c.Core.Recorder = l
			c.MostEvents = 3_000_000
			e, err := newEngine(&c)
			if err != nil {
				t.Fatal(err)
			}
			var broken string
			steps := 0
			c.Progress = nil
			for broken == "" {
				at, err := e.next()
				if err != nil {
					t.Fatalf("seed %d, heartbeat %v: %v", seed, heartbeat, err)
				}
				if at == sched.Never {
					break
				}
				e.instant(at)
				if steps++; steps%16 == 0 {
					broken = e.disagrees()
				}
				if steps > 2_000_000 {
					t.Fatalf("seed %d, heartbeat %v: the run does not end", seed, heartbeat)
				}
			}
			e.feed.stop()
			if broken == "" {
				broken = e.disagrees()
			}
			if broken != "" {
				t.Fatalf("seed %d, heartbeat %v, at %v: %s", seed, heartbeat, e.now, broken)
			}
			for i := range e.attempts.rows {
				if e.attempts.rows[i].id != 0 {
					t.Errorf("seed %d: attempt %+v is left over", seed, e.attempts.rows[i])
				}
			}
			if len(l.ended) != int(e.total.Jobs) || e.attempts.alive != 0 {
				t.Errorf("seed %d: %d of %d jobs ended, %d attempts are left", seed, len(l.ended),
					e.total.Jobs, e.attempts.alive)
			}
			for i := range e.tasks.net.racks {
				if r := &e.tasks.net.racks[i]; r.active != 0 || r.item != 0 {
					t.Errorf("seed %d: rack %d: %d fetches flow", seed, i, r.active)
				}
			}
		}
	}
	if _, err := Run(context.Background(), Config{Cluster: &workload.Cluster{}, Jobs: source()}); err == nil {
		t.Error("an empty cluster is simulated")
	}
}

// disagrees recomputes what the network keeps, and says what is not so.
func (e *engine) disagrees() string {
	n := &e.tasks.net
	flowing := map[int32]bool{}
	alive, ending := 0, 0
	for i := range e.attempts.rows {
		r := &e.attempts.rows[i]
		if r.id == 0 {
			continue
		}
		alive++
		switch {
		case r.state == computing && e.tasks.throttle.pace(r) == 0: // it stands still
		case r.state == computing:
			ending++
			if e.queue.items[r.item].what != endOf|uint64(r.id) || e.queue.items[r.item].at != r.due {
				return "an attempt that computes has no end in the queue"
			}
		case r.state == fetching:
			flowing[r.fetch] = true
		}
		if r.fetch != 0 && (n.fetches[r.fetch].id != r.id || r.job.fetches[n.fetches[r.fetch].at] != r.fetch) {
			return "a fetch is not its attempt's, or not in its job's list"
		}
	}
	if alive != e.attempts.alive {
		return "attempts alive are miscounted"
	}
	for i := range n.racks {
		r := &n.racks[i]
		active, nodes := 0, 0
		for k := range r.groups {
			for at, x := range r.groups[k].nodes {
				l := &n.links[x.ID]
				nodes++
				active += len(l.flows)
				if len(l.flows) != k || int(l.rack) != i || n.nodePos[x.ID] != int32(at+1) ||
					math.Abs(l.flows[0].Key.bytes-l.offset-x.Key.bytes) > 1e-3 {
					return "a node is in the wrong group, or with the wrong key"
				}
			}
		}
		if active != r.active {
			return "the fetches of a rack are miscounted"
		}
		if (r.item != 0) != (active > 0) {
			return "a rack's next fetch is not in the queue"
		}
		if r.item != 0 {
			ending++
		}
		for node := range n.links {
			if l := &n.links[node]; int(l.rack) == i {
				for at, f := range l.flows {
					if !flowing[f.ID] || n.flowPos[f.ID] != int32(at+1) || int(n.fetches[f.ID].node) != node {
						return "a fetch is on the wrong link"
					}
					delete(flowing, f.ID)
				}
			}
		}
	}
	if len(flowing) != 0 {
		return "a fetch that flows is on no link"
	}
	if e.pending < ending {
		return "items that bring jobs on are miscounted"
	}
	return ""
}

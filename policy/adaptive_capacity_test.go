package policy

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/sched"
)

// After nodes have come and gone, what adaptive keeps of a stage that waits is what it would compute anew. That holds
// for a job of two stages, too, where the second one may not start yet.
func TestGoalsFollowTheSlots(t *testing.T) {
	specs := []string{"adaptive", "adaptive:need=waves", "adaptive:shortage=fewest", "adaptive:split=waves"}
	for _, spec := range specs {
		looked := 0
		for seed := range uint64(20) {
			p, _, err := Parse(spec)
			if err != nil {
				t.Fatal(err)
			}
			r := rand.New(rand.NewPCG(seed, 7))
			c := sched.New(sched.Config{Policy: p, Can: sched.CanKill})
			jobs, nodes := sched.JobID(0), sched.NodeID(0)
			for now := time.Second; now < 80*time.Second; now += time.Second {
				switch r.IntN(5) {
				case 0:
					nodes++
					c.Step(now, []sched.Event{slotNode(nodes, 1+r.Int64N(6))})
				case 1, 2:
					jobs++
					e := secondsJob(jobs, 1+r.Int32N(12))
					s := e.Body.(*sched.JobSpec)
					s.Deadline = time.Duration(r.IntN(2)*(20+r.IntN(300))) * time.Second
					if r.IntN(2) == 0 {
						second := s.Stages[0]
						second.Tasks, second.After = 1+r.Int32N(9), []sched.Dep{{Stage: 0, Part: 1}}
						s.Stages = append(s.Stages, second)
					}
					c.Step(now, []sched.Event{e})
				case 3:
					c.Step(now, someEnded(c, r))
				case 4:
					if n := 1 + sched.NodeID(r.IntN(int(nodes)+1)); n <= nodes && !c.Node(n).Lost {
						c.Step(now, []sched.Event{{Kind: sched.NodeLost, Node: n}})
					}
				}
				c.Step(now, nil)
				order := &p.(*adaptive).Order
				for i := range order.rows {
					row := &order.rows[i]
					if row.id == (sched.StageID{}) || row.stage.Pending == 0 {
						continue
					}
					looked++
					if now := order.facts(&c.View, row.stage); now != row.facts {
						t.Fatalf("%s, seed %d, %v: stage %v: %+v is kept, want %+v", spec, seed, c.Now, row.id,
							row.facts, now)
					}
				}
			}
		}
		if looked < 1000 {
			t.Errorf("%s: %d stages waited: little was tested", spec, looked)
		}
	}
}

// someEnded are the ends of about a third of the attempts that run.
func someEnded(c *sched.Core, r *rand.Rand) (events []sched.Event) {
	for j := range c.Jobs() {
		for _, st := range j.Stages {
			for a := range c.Attempts(st) {
				if r.IntN(3) == 0 {
					events = append(events, sched.Event{Kind: sched.AttemptDone, Attempt: a.ID})
				}
			}
		}
	}
	return events
}

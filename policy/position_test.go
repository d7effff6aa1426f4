package policy

import (
	"testing"

	"github.com/sojourn-sched/sojourn/sched"
)

// Where queues take turns, a stage's place is told as they stand: 4 slots, jobs 1 and 2 in queue a, 3 in b, which has
// twice the weight. With two slots each it is b's turn (2 ÷ 2 before 2 ÷ 1), and in a that of the older job; under
// capacity, whose queues are guaranteed one slot and two by weight and the last slot not at all, the user of b is at
// his limit.
func TestTreesTellPositions(t *testing.T) {
	for _, name := range []string{"fair", "drf", "capacity"} {
		p, _, err := Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		c := sched.New(sched.Config{Policy: p, Queues: []*sched.QueueSpec{{Name: "a"}, {Name: "b", Weight: 2}}})
		events := []sched.Event{
			{
				Kind: sched.NodeJoined,
				Node: 1,
				Body: &sched.NodeSpec{Class: "c", Capacity: sched.Resources{sched.MapSlots: 4}},
			},
		}
		for i, q := range []string{"a", "a", "b"} {
			events = append(
				events,
				sched.Event{Kind: sched.JobSubmitted, Job: sched.JobID(i + 1), Body: &sched.JobSpec{Queue: q,
					Stages: []sched.StageSpec{
						{PerTask: sched.Resources{sched.MapSlots: 1}, Tasks: 9, MaxAttempts: 4},
					}}},
			)
		}
		c.Step(0, events)
		place := func(id sched.JobID) (sched.Key, bool) {
			return p.(interface {
				Position(*sched.View, *sched.Stage) (sched.Key, bool)
			}).Position(&c.View, c.Job(id).Stages[0])
		}
		var keys [3]sched.Key
		var has [3]bool
		for i := range keys {
			keys[i], has[i] = place(sched.JobID(i + 1))
		}
		if name == "capacity" {
			if has[2] || c.Job(3).Used[sched.MapSlots] < 2 {
				t.Errorf("capacity: the job of a user at his limit has a place (%v), with %d slots", has[2],
					c.Job(3).Used[sched.MapSlots])
			}
			continue
		}
		if !has[0] || !has[1] || !has[2] || keys[2].Class >= keys[0].Class || keys[0].Class != keys[1].Class {
			t.Errorf("%s: places %v %v, want job 3 before jobs 1 and 2, which are in one queue", name, keys, has)
		}
	}
}

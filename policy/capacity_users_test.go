package policy

import (
	"fmt"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/sched"
)

// userJob is a job of a user in a queue, of so many maps.
func userJob(id sched.JobID, queue, user string, tasks int32) sched.Event {
	e := jobOf(id, queue, tasks, sched.Resources{sched.MapSlots: 1})
	e.Body.(*sched.JobSpec).User = user
	return e
}

// ended are the events by which the tasks that acts start are done.
func ended(acts []sched.Action) (events []sched.Event) {
	for _, a := range acts {
		if a.Kind == sched.Launch {
			events = append(events, sched.Event{Kind: sched.AttemptDone, Attempt: a.Attempt})
		}
	}
	return events
}

// However many users a queue has, a task that starts costs a look at the stages of a few of them: of the user whose
// task has ended, of the one who is next, and of those who come to a limit or from it.
func TestCapacityLooksAtFewUsers(t *testing.T) {
	for _, spec := range []string{"capacity:user-factor=1000", "capacity:user-min=0.01", "capacity:user-factor=0.05"} {
		for _, users := range []int{20, 2000} {
			p, _, err := Parse(spec)
			if err != nil {
				t.Fatal(err)
			}
			looks := 0
			c, rank := p.(*capacity), p.(*capacity).rank
			c.rank = func(v *sched.View, st *sched.Stage, more int32) sched.Key {
				looks++
				return rank(v, st, more)
			}
			core := sched.New(sched.Config{Policy: p})
			events := []sched.Event{slotNode(1, 40)}
			for i := range users {
				events = append(events, userJob(sched.JobID(i+1), "", fmt.Sprint("u", i), 1000))
			}
			acts := core.Step(0, events)
			looks = 0
			tasks := 0
			for now := range sched.Time(50) {
				acts = core.Step((now+1)*time.Second, ended(acts)[:1])
				tasks += len(ended(acts))
				if len(ended(acts)) == 0 {
					t.Fatalf("%s, %d users: no task starts at %v", spec, users, core.Now)
				}
			}
			if looks > 10*tasks {
				t.Errorf("%s, %d users: %d looks at stages for %d tasks", spec, users, looks, tasks)
			}
		}
	}
}

// A job that moves to another queue leaves the users that want more of its old one. Users 1 and 2 wait in queue a,
// which is guaranteed nine slots of ten. Then the job of user 1 moves to queue b, in which one slot is used. When nine
// slots become free all are for user 2, and not half of them.
func TestCapacityForgetsUsersWhoMove(t *testing.T) {
	for _, how := range []func(sched.Policy) sched.Policy{SiblingsInOrder, OneByOne} {
		p, _, err := Parse("capacity:user-min=0.1,user-factor=10")
		if err != nil {
			t.Fatal(err)
		}
		c := sched.New(sched.Config{Policy: how(p), Queues: []*sched.QueueSpec{
			{Name: "a", Min: sched.Share{Part: 0.9}}, {Name: "b", Min: sched.Share{Part: 0.1}},
		}})
		acts := c.Step(0, []sched.Event{slotNode(1, 10), userJob(1, "a", "u0", 10)})
		done := ended(acts)
		first := userJob(2, "a", "u1", 10)
		events := append(done[:1:1], first, userJob(3, "a", "u2", 10))
		events = append(events, userJob(4, "b", "u3", 1), userJob(5, "b", "u1", 1))
		c.Step(time.Second, events)
		moved := *first.Body.(*sched.JobSpec)
		moved.Queue = "b"
		c.Step(2*time.Second, []sched.Event{{Kind: sched.SpecChanged, Job: 2, Body: &moved}})
		if n := launchesOf(c.Step(3*time.Second, done[1:])); n[3] != 9 {
			t.Errorf("%d tasks of user 2 start, want 9", n[3])
		}
	}
}

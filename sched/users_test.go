package sched

import "testing"

// Users whose queues take the place of one that has gone get one each, also when several jobs of the one that has gone
// ended at once.
func TestUsersAfterSeveralEndedAtOnce(t *testing.T) {
	c := New(Config{})
	job := func(id JobID, user string) Event {
		return Event{
			Kind: JobSubmitted,
			Job:  id,
			Body: &JobSpec{User: user, Stages: []StageSpec{{Kind: Map, Tasks: 1, PerTask: slots(1, 0), Prior: sec}}},
		}
	}
	c.Step(0, []Event{job(1, "ana"), job(2, "ana"), job(3, "ana")})
	c.Step(sec, []Event{{Kind: JobEnded, Job: 1}, {Kind: JobEnded, Job: 2}, {Kind: JobEnded, Job: 3}})
	c.Step(2*sec, []Event{job(4, "bo"), job(5, "cy"), job(6, "dee")})
	parent := c.Queues[c.Queues[c.Job(4).Queue].Parent]
	if len(parent.Children) != 3 {
		t.Errorf("queues of users: %v, want three", parent.Children)
	}
	for id, user := range map[JobID]string{4: "bo", 5: "cy", 6: "dee"} {
		if q := c.Queues[c.Job(id).Queue]; q.Spec.Name != user || q.Jobs != 1 {
			t.Errorf("job %d of %s is in the queue of %s, which has %d jobs", id, user, q.Spec.Name, q.Jobs)
		}
	}
}

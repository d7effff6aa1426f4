package enginetest

import (
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/sched"
)

// Each breach of the contract is found: facts and actions of one run, and what is said of them.
func TestWatchFindsBreaches(t *testing.T) {
	const sec = time.Second
	id := sched.NewAttemptID(1, 0)
	launch := []sched.Action{{Kind: sched.Launch, Attempt: id}}
	done := sched.Event{Kind: sched.AttemptDone, Attempt: id}
	type step struct {
		events  []sched.Event
		actions []sched.Action
	}
	for want, steps := range map[string][]step{
		"attempt 1 has not ended":  {{nil, launch}},
		"which was never launched": {{[]sched.Event{done}, nil}},
		"the core did not ask for it": {{nil, launch},
			{[]sched.Event{{Kind: sched.AttemptSuspended, Attempt: id}}, nil}},
		"has said that it was resized": {{nil, launch},
			{nil, []sched.Action{{Kind: sched.Resize, Attempt: id}}}, {[]sched.Event{done}, nil}},
		"progress 2 of attempt 1": {{nil, launch},
			{[]sched.Event{{Kind: sched.AttemptProgress, Attempt: id, Progress: 2}}, nil}},
		"attempt 1 comes to hold nothing": {{nil, launch},
			{[]sched.Event{{Kind: sched.ResizeAsked, Attempt: id, Body: &sched.Resources{}}}, nil}},
		"asked to be woken at 1ns": {{nil, []sched.Action{{Kind: sched.Wake, At: 1}}}, {nil, nil}},
		"job 1 is submitted after job 2": {{[]sched.Event{{Kind: sched.JobSubmitted, Job: 2},
			{Kind: sched.JobSubmitted, Job: 1}}, nil}},
		"job 3 ends twice, or was never":       {{[]sched.Event{{Kind: sched.JobEnded, Job: 3}}, nil}},
		"job 4 has not ended":                  {{[]sched.Event{{Kind: sched.JobSubmitted, Job: 4}}, nil}},
		"0 nodes, 0 jobs, 0 attempts: want at": {{nil, nil}},
	} {
		w := &watch{view: &sched.View{}, attempts: map[sched.AttemptID]*life{}, jobs: map[sched.JobID]bool{}}
		for i, s := range steps {
			w.Record(sched.Time(i)*sec, s.events, s.actions)
		}
		w.end()
		if all := strings.Join(w.wrong, "\n"); !strings.Contains(all, want) {
			t.Errorf("said\n%s\nwant ... %s", all, want)
		}
	}
}

// What is said of an attempt that is over breaches nothing: facts may be stale.
func TestWatchAllowsStaleFacts(t *testing.T) {
	id := sched.NewAttemptID(1, 0)
	w := &watch{view: &sched.View{}, attempts: map[sched.AttemptID]*life{}, jobs: map[sched.JobID]bool{}}
	w.Record(0, nil, []sched.Action{{Kind: sched.Launch, Attempt: id}, {Kind: sched.Kill, Attempt: id}})
	w.Record(1, []sched.Event{{Kind: sched.AttemptDone, Attempt: id, Outcome: sched.Killed}}, nil)
	w.Record(2, []sched.Event{
		{Kind: sched.AttemptSuspended, Attempt: id},
		{Kind: sched.AttemptResized, Attempt: id},
		{Kind: sched.AttemptProgress, Attempt: id, Progress: 0.5},
		{Kind: sched.ResizeAsked, Attempt: id, Body: &sched.Resources{}},
		{Kind: sched.AttemptDone, Attempt: id},
	}, nil)
	other := sched.NewAttemptID(2, 0)
	w.Record(3, nil, []sched.Action{{Kind: sched.Launch, Attempt: other}, {Kind: sched.Resize, Attempt: other}})
	w.Record(4, []sched.Event{{Kind: sched.AttemptDone, Attempt: other}, {Kind: sched.AttemptResized, Attempt: other}},
		nil)
	if len(w.wrong) > 0 {
		t.Errorf("said %q", w.wrong)
	}
}

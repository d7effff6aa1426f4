package web

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn/sched"
)

// TestUsers sums over the jobs of three users on a node of two vcores and 100 MiB. Tasks of ana and ben take one vcore
// and 10 MiB. Jobs 1 (ana) and 2 (ben) run from the beginning, and job 3 (ana) waits from 10 s on for the end of the
// first at 20 s. Job 2 ends at 30 s. Job 4 (carl) comes at 30 s and waits for both vcores. Job 5, of no user, comes
// at 35 s and is killed at 40 s, which is now.
func TestUsers(t *testing.T) {
	b := NewBoard(About{})
	core := sched.New(sched.Config{Policy: fifo(t), Recorder: b})
	submit := func(id sched.JobID, user string, vcores int64) sched.Event {
		task := sched.Resources{sched.VCores: vcores, sched.Memory: 10}
		return sched.Event{Kind: sched.JobSubmitted, Job: id, Body: &sched.JobSpec{User: user,
			Stages: []sched.StageSpec{{Tasks: 1, PerTask: task}}}}
	}
	room := sched.Resources{sched.VCores: 2, sched.Memory: 100}
	first := core.Step(0, []sched.Event{{Kind: sched.NodeJoined, Node: 1, Body: &sched.NodeSpec{Capacity: room}},
		submit(1, "ana", 1), submit(2, "ben", 1)})
	attempts := []sched.AttemptID{first[0].Attempt, first[1].Attempt}
	core.Step(10e9, []sched.Event{submit(3, "ana", 1)})
	core.Step(20e9, []sched.Event{{Kind: sched.AttemptDone, Attempt: attempts[0]}})
	core.Step(30e9, []sched.Event{{Kind: sched.AttemptDone, Attempt: attempts[1]}, submit(4, "carl", 2)})
	core.Step(35e9, []sched.Event{submit(5, "", 2)})
	core.Step(40e9, []sched.Event{{Kind: sched.JobEnded, Job: 5, Outcome: sched.Killed}})
	site := NewSite(&owner{hidden: 2})
	site.Add(b)
	ask := func(query string) (list Users) {
		t.Helper()
		w := httptest.NewRecorder()
		site.Handler().ServeHTTP(w, httptest.NewRequest("GET", prefix+"/runs/0/users?"+query, nil))
		if err := json.Unmarshal(w.Body.Bytes(), &list); err != nil || w.Code != 200 {
			t.Fatalf("%s: status %d, %v: %s", query, w.Code, err, w.Body)
		}
		return list
	}
	type row struct {
		user                                                        string
		hidden                                                      bool
		jobs, unfinished, waiting, failed, running                  int32
		pending                                                     int64
		vcores, memory                                              int64
		vcoreSeconds, memorySeconds, service, meanSojourn, meanWait float64
	}
	want := []row{
		{user: "", jobs: 1, failed: 1, meanSojourn: -1, meanWait: -1},
		{"ana", false, 2, 1, 0, 0, 1, 0, 1, 10, 40, 400, 20, 20, 5},
		{"ben", false, 1, 0, 0, 0, 0, 0, 0, 0, 30, 300, 15, 30, 0},
		{user: "carl", jobs: 1, unfinished: 1, waiting: 1, pending: 1, meanSojourn: -1, meanWait: -1},
	}
	check := func(query string, want ...row) {
		t.Helper()
		list := ask(query)
		if len(list.Rows) != len(want) || math.Abs(list.Service-35) > 1e-6 {
			t.Fatalf("%s: %d rows, must be %d; %g s of the cluster, must be 35", query, len(list.Rows), len(want),
				list.Service)
		}
		for i := range want {
			u := &list.Rows[i]
			got := row{u.Name, u.Hidden, u.Jobs, u.Unfinished, u.Waiting, u.Failed, u.Running, u.Pending,
				u.Used["vcores"], u.Used["memory"], u.Received["vcores"], u.Received["memory"], u.Service,
				u.Sojourn.mean(), u.Wait.mean()}
			if fmt.Sprintf("%.6v", got) != fmt.Sprintf("%.6v", want[i]) {
				t.Errorf("%s: row %d is %+v, must be %+v", query, i, got, want[i])
			}
		}
	}
	check("user.name=ana", want...)
	hidden := want[2]
	hidden.user, hidden.hidden = "", true
	check("user.name=guest", want[0], hidden, want[1], want[3])
	check("user.name=ana&q=A", want[1], want[3])
	check("user.name=ana&sort=-sojourn&limit=2", want[2], want[1])
	check("user.name=ana&sort=-received.memory&limit=1", want[1])
	check("user.name=ana&sort=-used&limit=1&offset=1", want[0])
	check("user.name=ana&sort=-pending&limit=1", want[3])
	for sort, says := range map[string]string{"colour": "one of failed, jobs", "received.x": "there are memory"} {
		w := httptest.NewRecorder()
		site.Handler().ServeHTTP(w, httptest.NewRequest("GET", prefix+"/runs/0/users?sort="+sort, nil))
		if w.Code != 400 || !strings.Contains(w.Body.String(), says) {
			t.Errorf("sort=%s: status %d: %s; must be 400 and %q", sort, w.Code, w.Body, says)
		}
	}
}

// TestShortAttemptIsSeen draws a lane in which one attempt ran for a thousandth of a column, and nothing else.
func TestShortAttemptIsSeen(t *testing.T) {
	b := NewBoard(About{})
	core := sched.New(sched.Config{Policy: fifo(t), Recorder: b})
	slot := sched.Resources{sched.VCores: 1}
	core.Step(0, []sched.Event{{Kind: sched.NodeJoined, Node: 1, Body: &sched.NodeSpec{Capacity: slot}}})
	ran := core.Step(25e9, []sched.Event{{Kind: sched.JobSubmitted, Job: 1, Body: &sched.JobSpec{
		Stages: []sched.StageSpec{{Tasks: 1, PerTask: slot}}}}})[0]
	core.Step(25.01e9, []sched.Event{{Kind: sched.AttemptDone, Attempt: ran.Attempt}})
	core.Step(100e9, nil)
	l := &Lanes{Lanes: []Lane{{"node", 1, 1}}}
	b.busy(l, window{until: 100e9, columns: 10})
	if got := fmt.Sprint(l.Busy); got != "[[0 0 1 0 0 0 0 0 0 0]]" {
		t.Errorf("ten columns have %s hundredths of an attempt; only the third must have one", got)
	}
}

package submit

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/sched"
)

// An application is found by its tag at the ResourceManager that answers, and followed by its number from then on. A
// sample is no part of its job's progress. The clocks' difference is the least that was seen.
func TestFollow(t *testing.T) {
	var asked []string
	now := time.Now().UnixMilli()
	body := func(state string, progress int, ahead int64) string {
		return fmt.Sprintf(`{"id":"application_1_0007","state":"%s","finalStatus":"UNDEFINED","progress":%d,`+
			`"startedTime":%d,"elapsedTime":1000}`, state, progress, now-1000+ahead)
	}
	app := `null`
	active := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.RequestURI())
		switch {
		case r.URL.Path == "/ws/v1/cluster/apps" && app == "null":
			fmt.Fprint(w, `{"apps":null}`)
		case r.URL.Path == "/ws/v1/cluster/apps":
			fmt.Fprintf(w, `{"apps":{"app":[%s]}}`, app)
		default:
			fmt.Fprintf(w, `{"app":%s}`, app)
		}
	}))
	defer active.Close()
	standby := httptest.NewServer(http.NotFoundHandler())
	defer standby.Close()

	var seen []string
	var notes []string
	s := &Submitter{
		Cluster: &Cluster{Addresses: []string{standby.URL, active.URL}},
		Watch: func(job int, part float64, says string) {
			seen = append(seen, fmt.Sprintf("%d %.2f %s", job, part, says))
		},
		Notes: func(_, remark string) { notes = append(notes, remark) },
	}
	f := &following{s: s, w: &work{index: 3, job: &Job{Spec: &sched.JobSpec{Name: "J"}}}, tag: "sojourn-x",
		shift: unknownShift}
	f.ask(context.Background())
	app = body("ACCEPTED", 0, 5000)
	f.ask(context.Background())
	f.line("26/11/25 INFO mapreduce.Job:  map 40% reduce 0%")
	app = body("RUNNING", 20, 3_600_000)
	f.ask(context.Background())
	f.sample = true
	f.ask(context.Background())
	want := []string{"3 0.00 accepted", "3 0.20 map 40 %, reduce 0 %", "3 0.00 sample: map 40 %, reduce 0 %"}
	if !slices.Equal(seen, want) {
		t.Errorf("%q, want %q", seen, want)
	}
	const pages = "/ws/v1/cluster/apps"
	if !slices.Equal(asked, []string{pages + "?applicationTags=sojourn-x", pages + "?applicationTags=sojourn-x",
		pages + "/application_1_0007", pages + "/application_1_0007"}) {
		t.Errorf("%q", asked)
	}
	if s.Cluster.Addresses[0] != active.URL || len(notes) > 0 {
		t.Errorf("%q, notes %q", s.Cluster.Addresses, notes)
	}
	if shift := f.shift + time.Hour; shift < 0 || shift > time.Minute {
		t.Errorf("the clocks differ by %v, want about an hour", f.shift)
	}
	active.Close()
	f.ask(context.Background())
	f.ask(context.Background())
	if len(notes) != 1 {
		t.Errorf("a ResourceManager that does not answer: %q", notes)
	}
}

// What the client writes tells the application, its progress and its counters.
func TestClientOutput(t *testing.T) {
	f := &following{counters: map[string]int64{}}
	for _, line := range []string{
		"26/11/25 INFO impl.YarnClientImpl: Submitted application application_1700000000000_0012",
		"26/11/25 INFO mapreduce.Job: Running job: job_1700000000000_0099",
		"26/11/25 INFO mapreduce.Job:  map 50% reduce 17%",
		"\tJob Counters ", "\t\tLaunched map tasks=3", "\t\tTotal time spent by all map tasks (ms)=4711",
		"\t\tnot=a number", "a=5",
	} {
		f.line(line)
	}
	if f.id != "application_1700000000000_0012" || f.tasks != "map 50 %, reduce 17 %" || len(f.counters) != 2 ||
		f.counters[countMaps] != 3 || f.counters[countMapTime] != 4711 {
		t.Errorf("%s, %s, %v", f.id, f.tasks, f.counters)
	}
}

func TestOutcomes(t *testing.T) {
	for _, c := range []struct {
		app  App
		over bool
		want sched.Outcome
	}{
		{App{State: "FINISHED", FinalStatus: "SUCCEEDED"}, true, sched.OK},
		{App{State: "FINISHED", FinalStatus: "FAILED"}, true, sched.Failed},
		{App{State: "FAILED", FinalStatus: "FAILED"}, true, sched.Failed},
		{App{State: "KILLED", FinalStatus: "KILLED"}, true, sched.Killed},
		{App{State: "RUNNING", FinalStatus: "UNDEFINED"}, false, sched.Failed},
	} {
		if c.app.over() != c.over || c.app.outcome() != c.want {
			t.Errorf("%+v: %v, %v", c.app, c.app.over(), c.app.outcome())
		}
	}
}

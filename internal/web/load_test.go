package web

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sojourn-sched/sojourn/internal/record"
	"github.com/sojourn-sched/sojourn/model"
	"github.com/sojourn-sched/sojourn/policy"
	"github.com/sojourn-sched/sojourn/sched"
)

// A herd is a policy that launches each stage's tasks on nodes in turn.
type herd struct{ next int }

func (h *herd) Decide(p *sched.Plan) {
	for i := range p.Events {
		if p.Events[i].Kind != sched.JobSubmitted {
			continue
		}
		for _, st := range p.Job(p.Events[i].Job).Stages {
			for st.Pending > 0 {
				h.next++
				p.Launch(st, p.Nodes[h.next%len(p.Nodes)])
			}
		}
	}
}

// BenchmarkStep measures what a board costs the engine that it watches: Steps of a cluster of 10,000 nodes in which a
// job of ten tasks arrives, or those of one end, by the side of the same Steps without a board. The board takes the
// difference.
func BenchmarkStep(b *testing.B) {
	for _, watched := range []bool{false, true} {
		b.Run(fmt.Sprintf("board=%v", watched), func(b *testing.B) {
			config := sched.Config{Policy: &herd{}, Can: sched.CanNameTasks}
			if watched {
				config.Recorder = record.Tee{NewBoard(About{Name: "watched"})}
			}
			core := sched.New(config)
			room := sched.Resources{sched.VCores: 1 << 40}
			var events []sched.Event
			for n := range 10_000 {
				events = append(events, sched.Event{Kind: sched.NodeJoined, Node: sched.NodeID(n + 1),
					Body: &sched.NodeSpec{Name: fmt.Sprintf("node-%d", n+1), Capacity: room}})
			}
			core.Step(0, events)
			per := sched.Resources{sched.VCores: 1}
			b.ResetTimer()
			before := processorTime(b)
			for i := range b.N {
				now := sched.Time(i+1) * 1e8
				spec := &sched.JobSpec{Name: "job", Queue: fmt.Sprintf("queue-%d", i%40), Submit: now,
					Stages: []sched.StageSpec{{Kind: sched.Map, PerTask: per, Tasks: 10, MaxAttempts: 4}}}
				done := events[:0]
				submit := sched.Event{Kind: sched.JobSubmitted, Job: sched.JobID(i + 1), Body: spec}
				for _, a := range core.Step(now, []sched.Event{submit}) {
					if a.Kind == sched.Launch {
						done = append(done, sched.Event{Kind: sched.AttemptDone, Attempt: a.Attempt})
					}
				}
				core.Step(now+5e7, done)
			}
			b.ReportMetric(float64(processorTime(b)-before)/float64(2*b.N), "cpu-ns/Step")
		})
	}
}

// processorTime returns the nanoseconds of processor time that this process has used, which other programs of a busy
// machine do not lengthen.
func processorTime(b *testing.B) int64 {
	var used unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return used.Utime.Nano() + used.Stime.Nano()
}

// large returns a site with one run of so many nodes and jobs of ten tasks each. One job in ten is unfinished.
func large(b *testing.B, nodes, jobs int) http.Handler {
	board := NewBoard(About{Name: "large", Engine: "test", Policy: "herd"})
	core := sched.New(sched.Config{Policy: &herd{}, Recorder: record.Tee{board}, Can: sched.CanNameTasks})
	var room sched.Resources
	room[sched.VCores] = 1 << 40
	var events []sched.Event
	for n := range nodes {
		events = append(events, sched.Event{Kind: sched.NodeJoined, Node: sched.NodeID(n + 1),
			Body: &sched.NodeSpec{Name: fmt.Sprintf("node-%d", n+1), Capacity: room}})
	}
	core.Step(0, events)
	var per sched.Resources
	per[sched.VCores] = 1
	for j := range jobs {
		now := sched.Time(j+1) * 1e8
		spec := &sched.JobSpec{Name: fmt.Sprintf("job-%d", j*7919%jobs), User: fmt.Sprintf("user-%d", j%300),
			Queue: fmt.Sprintf("queue-%d", j%40), Submit: now,
			Stages: []sched.StageSpec{{Kind: sched.Map, PerTask: per, Tasks: 10, MaxAttempts: 4}}}
		done := events[:0]
		submit := sched.Event{Kind: sched.JobSubmitted, Job: sched.JobID(j + 1), Body: spec}
		for _, a := range core.Step(now, []sched.Event{submit}) {
			if a.Kind == sched.Launch && j%10 > 0 {
				done = append(done, sched.Event{Kind: sched.AttemptDone, Attempt: a.Attempt})
			}
		}
		core.Step(now+sched.Time(j%977)*1e4, done)
	}
	board.Finish("")
	site := NewSite(nil)
	site.Add(board)
	return site.Handler()
}

// laid returns a board of so many unfinished jobs of ten tasks each, when what is left of them has been laid out. One
// task of each has ended.
func laid(t testing.TB, jobs int) *Board {
	order, _, err := policy.All.Parse("fifo")
	if err != nil {
		t.Fatal(err)
	}
	board := NewBoard(About{Name: "laid", Engine: "test", Policy: "fifo"})
	board.Rank(order)
	core := sched.New(sched.Config{Policy: order, Recorder: record.Tee{board}, Estimator: &model.Mean{},
		Can: sched.CanNameTasks})
	slot := sched.Resources{sched.VCores: 1}
	node := &sched.NodeSpec{Capacity: sched.Resources{sched.VCores: int64(10 * jobs)}}
	events := []sched.Event{{Kind: sched.NodeJoined, Node: 1, Body: node}}
	for j := range jobs {
		stages := []sched.StageSpec{{Kind: sched.Map, PerTask: slot, Tasks: 10}}
		spec := &sched.JobSpec{Name: fmt.Sprintf("job-%d", j), Stages: stages}
		events = append(events, sched.Event{Kind: sched.JobSubmitted, Job: sched.JobID(j + 1), Body: spec})
	}
	var done []sched.Event
	for i, a := range core.Step(0, events) {
		if i%10 == 0 {
			done = append(done, sched.Event{Kind: sched.AttemptDone, Attempt: a.Attempt})
		}
	}
	board.latest() // a page asks
	core.Step(1e10, done)
	for {
		board.mu.Lock()
		laying := board.ends.laying
		board.last = nil // or an answer of a moment ago would do
		board.mu.Unlock()
		if !laying {
			return board
		}
		runtime.Gosched()
	}
}

// TestManyExpectedEnds lists jobs with 2,700 tasks left: they are laid out beside the page, which then has the ends of
// all rows.
func TestManyExpectedEnds(t *testing.T) {
	board := laid(t, 300)
	list := board.latest().jobsAnswer(jobFilter{}, page{column: "job", limit: 100})
	for _, j := range list.Rows {
		if j.Expected.End == nil || *j.Expected.End <= 10 {
			t.Fatalf("job %d is not expected to end: %+v", j.ID, j.Expected)
		}
	}
}

// BenchmarkExpected measures the list of jobs when what is left of them has been laid out.
func BenchmarkExpected(b *testing.B) {
	board := laid(b, 2_000)
	b.ResetTimer()
	for range b.N {
		board.latest().jobsAnswer(jobFilter{}, page{column: "job", limit: 100})
	}
}

// BenchmarkPages measures answers about 10,000 nodes, 100,000 jobs and a million attempts. The first answer sorts; the
// others are those that a page asks for while a user looks around.
func BenchmarkPages(b *testing.B) {
	h := large(b, 10_000, 100_000)
	for _, path := range []string{
		"/runs", "/runs/0/cluster", "/runs/0/queues", "/runs/0/jobs", "/runs/0/jobs?sort=-sojourn&offset=50000",
		"/runs/0/users?sort=-sojourn",
		"/runs/0/jobs?q=job-777", "/runs/0/jobs?state=unfinished&queue=queue-3", "/runs/0/jobs/50000",
		"/runs/0/nodes?sort=-busy", "/runs/0/nodes?at=5000", "/runs/0/queues?at=5000",
		"/runs/0/lanes?lanes=60&columns=320", "/runs/0/lanes?offset=100&nodes=50",
		"/compare",
	} {
		b.Run(path, func(b *testing.B) {
			for range b.N {
				w := httptest.NewRecorder()
				h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, prefix+path, nil))
				if w.Code != http.StatusOK {
					b.Fatalf("%s: status %d: %s", path, w.Code, w.Body)
				}
			}
		})
	}
}

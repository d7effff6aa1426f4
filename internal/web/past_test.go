package web

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http/httptest"
	"testing"

	"github.com/sojourn-sched/sojourn/sched"
)

// TestSumOwed lets queue b lend to its sibling a: the queues x and y of b have lent 5 and got 2, which is 3 together,
// and nothing is left for the root.
func TestSumOwed(t *testing.T) {
	curve := func(v ...float64) []float64 { return v }
	rows := []Queue{
		{Path: "", Debts: curve(0, 0)},
		{Path: "a", Depth: 1, Leaf: true, Owed: -3, Debts: curve(-1, -3)},
		{Path: "b", Depth: 1, Debts: curve(0, 0)},
		{Path: "b.x", Depth: 2, Leaf: true, Owed: 5, Debts: curve(1, 5)},
		{Path: "b.y", Depth: 2, Leaf: true, Owed: -2, Debts: curve(0, -2)},
	}
	shared := []*float64{&rows[0].Debts[1], &rows[2].Debts[1]}
	sumOwed(rows)
	for i, want := range []float64{0, -3, 3, 5, -2} {
		if r := &rows[i]; r.Owed != want || r.Debts[1] != want {
			t.Errorf("%q is owed %g, by its curve %g; want %g", r.Path, r.Owed, r.Debts[1], want)
		}
	}
	for _, v := range shared {
		if *v != 0 {
			t.Errorf("a curve of the copy was changed to %g", *v)
		}
	}
}

// TestQueuesBeyondThoseShown makes one queue more than a board keeps, beside the root.
func TestQueuesBeyondThoseShown(t *testing.T) {
	b := NewBoard(About{})
	var queues []*sched.QueueSpec
	for i := range mostQueues {
		queues = append(queues, &sched.QueueSpec{Name: fmt.Sprintf("q%d", i)})
	}
	core := sched.New(sched.Config{Policy: fifo(t), Recorder: b, Queues: queues})
	core.Step(0, nil)
	core.Step(1e9, []sched.Event{{Kind: sched.NodeJoined, Node: 1, Body: &sched.NodeSpec{Name: "n1",
		Capacity: sched.Resources{sched.VCores: 1}}}})
	if q := b.latest().queuesAnswer(1e9); len(q.Queues) != mostQueues || q.Left != 1 {
		t.Errorf("%d queues are shown and %d are not; want %d and 1", len(q.Queues), q.Left, mostQueues)
	}
}

// TestIdleTimeOfAJob runs a job of two tasks on one node that another job holds until 10 s: the tasks run from 10 to
// 20 s and, because a third job comes first, from 50 to 60 s. Nothing of it runs for 10 + 30 s.
func TestIdleTimeOfAJob(t *testing.T) {
	b := NewBoard(About{})
	core := sched.New(sched.Config{Policy: fifo(t), Recorder: b})
	slot := sched.Resources{sched.VCores: 1}
	job := func(priority int32, tasks int32) *sched.JobSpec {
		return &sched.JobSpec{Priority: priority, Stages: []sched.StageSpec{{Tasks: tasks, PerTask: slot}}}
	}
	idle := func(at sched.Time) sched.Time { return b.row(2).idled(at) }
	running := core.Step(0, []sched.Event{
		{Kind: sched.NodeJoined, Node: 1, Body: &sched.NodeSpec{Name: "n1", Capacity: slot}},
		{Kind: sched.JobSubmitted, Job: 1, Body: job(1, 1)}, {Kind: sched.JobSubmitted, Job: 2, Body: job(0, 2)},
	})[0].Attempt
	if got := idle(5e9); got != 5e9 {
		t.Errorf("after 5 s nothing has run for %v", got)
	}
	ends := func(at sched.Time, more ...sched.Event) {
		events := append(more, sched.Event{Kind: sched.AttemptDone, Attempt: running})
		for _, a := range core.Step(at, events) {
			running = a.Attempt
		}
	}
	ends(10e9)
	ends(20e9, sched.Event{Kind: sched.JobSubmitted, Job: 3, Body: job(1, 1)})
	if got := idle(20e9); got != 10e9 {
		t.Errorf("after 20 s nothing has run for %v, must be 10s", got)
	}
	ends(50e9)
	ends(60e9)
	if got := idle(100e9); got != 40e9 || b.row(2).end != 60e9 {
		t.Errorf("nothing has run for %v, must be 40s; the job ended at %v", got, b.row(2).end)
	}
}

// TestTablesOfAnInstant asks for queues and nodes of a run that is over: the task of queue a ran from 0 to 40 s, that
// of queue b from 10 to 20 s, each on a node of its own, and the run ended at 100 s.
func TestTablesOfAnInstant(t *testing.T) {
	b := NewBoard(About{})
	core := sched.New(sched.Config{Policy: fifo(t), Recorder: b, Queues: []*sched.QueueSpec{{Name: "a"}, {Name: "b"}}})
	slot := sched.Resources{sched.VCores: 1}
	job := func(queue string) *sched.JobSpec {
		return &sched.JobSpec{Name: queue, Queue: queue, Stages: []sched.StageSpec{{Tasks: 1, PerTask: slot}}}
	}
	first := core.Step(0, []sched.Event{
		{Kind: sched.NodeJoined, Node: 1, Body: &sched.NodeSpec{Name: "n1", Capacity: slot}},
		{Kind: sched.NodeJoined, Node: 2, Body: &sched.NodeSpec{Name: "n2", Capacity: slot}},
		{Kind: sched.JobSubmitted, Job: 1, Body: job("a")},
	})[0]
	second := core.Step(10e9, []sched.Event{{Kind: sched.JobSubmitted, Job: 2, Body: job("b")}})[0]
	core.Step(20e9, []sched.Event{{Kind: sched.AttemptDone, Attempt: second.Attempt}})
	core.Step(40e9, []sched.Event{{Kind: sched.AttemptDone, Attempt: first.Attempt}})
	core.Step(100e9, nil)
	b.Finish("")
	site := NewSite(nil)
	site.Add(b)
	ask := func(path string, to any) {
		t.Helper()
		w := httptest.NewRecorder()
		site.Handler().ServeHTTP(w, httptest.NewRequest("GET", prefix+"/runs/0"+path, nil))
		if err := json.Unmarshal(w.Body.Bytes(), to); err != nil || w.Code != 200 {
			t.Fatalf("%s: status %d, %v: %s", path, w.Code, err, w.Body)
		}
	}
	near := func(x, y float64) bool { return math.Abs(x-y) < 1e-6 }
	for _, c := range []struct {
		at   string
		a, b float64 // used by the queues
		done [2]int32
		is   float64
		jobs int // of queue a
	}{
		{"?at=5", 0.5, 0, [2]int32{0, 0}, 5, 1},
		{"?at=15", 0.5, 0.5, [2]int32{0, 0}, 15, 1},
		{"?at=30", 0.5, 0, [2]int32{0, 1}, 30, 1},
		{"?at=50", 0, 0, [2]int32{1, 1}, 50, 0},
		{"?at=1000", 0, 0, [2]int32{1, 1}, 100, 0},
		{"", 0, 0, [2]int32{1, 1}, 100, 0},
	} {
		var q Queues
		ask("/queues"+c.at, &q)
		root, x, y := q.Queues[0], q.Queues[1], q.Queues[2]
		if !near(q.At, c.is) || !near(x.Used, c.a) || !near(y.Used, c.b) || !near(root.Used, c.a+c.b) ||
			int(x.Jobs) != c.jobs || int(x.Running) != c.jobs || !near(x.Mean, 0.2) || !near(y.Mean, 0.05) {
			t.Errorf("queues%s: at %g root %g, a %+v, b %+v; want %+v", c.at, q.At, root.Used, x, y, c)
		}
		var n Nodes
		ask("/nodes"+c.at, &n)
		one, two := n.Rows[0], n.Rows[1]
		if !near(n.At, c.is) || !near(one.Busy, 2*c.a) || !near(two.Busy, 2*c.b) || one.Done != c.done[0] ||
			two.Done != c.done[1] || one.Used["vcores"] != int64(2*c.a) || two.Running != int32(2*c.b) ||
			!near(one.Mean, 0.4) || !near(two.Mean, 0.1) || !near(one.Idle, 60) || !near(two.Idle, 90) || n.Forgotten {
			t.Errorf("nodes%s: %+v; want %+v", c.at, n, c)
		}
	}
	for sort, want := range map[string]int32{"-mean": 1, "mean": 2, "-idle": 2, "idle": 1} {
		var n Nodes
		if ask("/nodes?limit=1&sort="+sort, &n); len(n.Rows) != 1 || n.Rows[0].ID != want {
			t.Errorf("sort=%s: %+v, want node %d", sort, n.Rows, want)
		}
	}
	var jobs Jobs // that of a runs at once; that of b, too
	if ask("/jobs", &jobs); !near(jobs.Rows[0].Figures.Idle, 0) || !near(jobs.Rows[1].Figures.Idle, 0) {
		t.Errorf("jobs were idle for %+v and %+v, must be 0", jobs.Rows[0].Figures, jobs.Rows[1].Figures)
	}
	b.log = &attemptLog{most: 1, next: 2, list: b.log.list[1:]} // the first attempt is forgotten
	var n Nodes
	if ask("/nodes?at=5", &n); !n.Forgotten {
		t.Errorf("the attempt that ran at 5 s is forgotten, and the answer does not say so: %+v", n)
	}
}

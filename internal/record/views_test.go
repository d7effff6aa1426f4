package record

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn/internal/chart"
	"github.com/sojourn-sched/sojourn/internal/workload"
	"github.com/sojourn-sched/sojourn/sched"
)

// One node with 2 map slots and a reduce slot; job 1 has 2 maps of 4 s and a reduce of 3 s.
func small(w ...Follower) {
	r := newRig(sched.Config{Can: allPowers}, w...)
	r.node(slots(2, 1))
	j := mapReduce(sec, 2, 4*sec, 1, 3*sec)
	j.Name = `the "first"`
	r.submit(1, j)
	r.run()
}

func TestEvents(t *testing.T) {
	b := recorded(t, Options{}, func(w *Writer) { small(w) })
	lines := func(o EventOptions) []string {
		var out bytes.Buffer
		if err := Events(&out, reader(t, b), o); err != nil {
			t.Fatal(err)
		}
		return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	}
	want := []string{
		`0 event node-joined node=1 name=n1 class=c rack=2 capacity=map-slots:2,reduce-slots:1`,
		`1 event job-submitted job=1 name="the \"first\"" user="" queue="" maps=2 reduces=1`,
		`1 action launch job=1 stage=0 of=map task=1 node=1 attempt=1`,
		`1 action launch job=1 stage=0 of=map task=2 node=1 attempt=2`,
		`5 event attempt-done job=1 stage=0 of=map task=1 node=1 attempt=1 outcome=ok`,
		`5 event attempt-done job=1 stage=0 of=map task=2 node=1 attempt=2 outcome=ok`,
		`5 action launch job=1 stage=1 of=reduce task=1 node=1 attempt=3`,
		`8 event attempt-done job=1 stage=1 of=reduce task=1 node=1 attempt=3 outcome=ok`,
		`8 derived job-ended job=1 outcome=ok`,
	}
	if got := lines(EventOptions{}); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if got := lines(EventOptions{Kinds: []string{"launch", "job-ended"}, From: 5 * sec}); !slices.Equal(got,
		[]string{want[6], want[8]}) {
		t.Errorf("filtered by kind and instant: %q", got)
	}
	if got := lines(EventOptions{Node: 1, Until: 5 * sec}); !slices.Equal(got, slices.Concat(want[:1], want[2:7])) {
		t.Errorf("filtered by node and instant: %q", got)
	}
	if got := lines(EventOptions{Job: 2}); len(got) != 1 || got[0] != "" {
		t.Errorf("of a job that is not there: %q", got)
	}
	for i, l := range lines(EventOptions{JSON: true}) {
		var fields map[string]any
		if err := json.Unmarshal([]byte(l), &fields); err != nil {
			t.Fatalf("line %d: %v: %s", i, err, l)
		}
		if is := strings.Fields(want[i]); fields["is"] != is[1] || fields["kind"] != is[2] {
			t.Errorf("line %d: %s, want %s", i, l, want[i])
		}
		if i == 1 && fields["name"] != `the "first"` {
			t.Errorf("line %d: name %v", i, fields["name"])
		}
	}
	if err := Events(io.Discard, reader(t, b), EventOptions{Kinds: []string{"lunch"}}); err == nil ||
		!strings.Contains(err.Error(), "launch") {
		t.Errorf("kind lunch: %v, want what there is", err)
	}
}

// Every line of a chaotic run is JSON whose field names differ.
func TestEventsAreJSON(t *testing.T) {
	for seed := range uint64(6) {
		b := recordedAs(t, seed, func(w *Writer) { chaosRun(t, seed, w) })
		var out bytes.Buffer
		if err := Events(&out, reader(t, b), EventOptions{JSON: true}); err != nil {
			t.Fatal(err)
		}
		for l := range strings.Lines(out.String()) {
			var fields map[string]any
			if err := json.Unmarshal([]byte(l), &fields); err != nil {
				t.Fatalf("%v: %s", err, l)
			}
			if again, _ := json.Marshal(fields); strings.Count(string(again), `":`) != strings.Count(l, `":`) {
				t.Fatalf("a field stands twice: %s", l)
			}
		}
	}
}

func TestExportCSV(t *testing.T) {
	b := recorded(t, Options{}, func(w *Writer) { small(w) })
	var out bytes.Buffer
	if err := Export(&out, reader(t, b), "csv"); err != nil {
		t.Fatal(err)
	}
	const want = `job,name,stage,kind,task,attempt,node,start_s,end_s,outcome,locality
1,"the ""first""",0,map,1,1,n1,1,5,ok,
1,"the ""first""",0,map,2,2,n1,1,5,ok,
1,"the ""first""",1,reduce,1,3,n1,5,8,ok,
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
	if err := Export(io.Discard, reader(t, b), "xml"); err == nil || !strings.Contains(err.Error(), "chrome") {
		t.Errorf("format xml: %v, want what there is", err)
	}
	full := errors.New("disk full")
	if err := Export(failing{full}, reader(t, b), "json"); !errors.Is(err, full) {
		t.Errorf("to a full disk: %v", err)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

// Two maps on slots 1 and 2, and then the reduce on slot 1, the lowest that is free.
func TestChromeSlots(t *testing.T) {
	b := recorded(t, Options{}, func(w *Writer) { small(w) })
	var out bytes.Buffer
	if err := Export(&out, reader(t, b), "chrome"); err != nil {
		t.Fatal(err)
	}
	var got []string
	for l := range strings.Lines(out.String()) {
		if strings.Contains(l, `"ph":"X"`) {
			got = append(got, strings.TrimSpace(l))
		}
	}
	want := []string{
		`{"ph":"X","pid":2,"tid":1,"ts":1000000.000,"dur":4000000.000,"cat":"map","name":"the ` +
			`\"first\"","args":{"outcome":"ok","job":1,"stage":0,"task":1,"attempt":1}},`,
		`{"ph":"X","pid":2,"tid":2,"ts":1000000.000,"dur":4000000.000,"cat":"map","name":"the ` +
			`\"first\"","args":{"outcome":"ok","job":1,"stage":0,"task":2,"attempt":2}},`,
		`{"ph":"X","pid":2,"tid":1,"ts":5000000.000,"dur":3000000.000,"cat":"reduce","name":"the ` +
			`\"first\"","args":{"outcome":"ok","job":1,"stage":1,"task":1,"attempt":3}},`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// In every chaotic run the three formats tell of the same attempts, every launch and every attempt found is in each
// exactly once, and in a
// Chrome trace no two slices of a slot overlap.
func TestExportsAgree(t *testing.T) {
	for seed := range uint64(12) {
		k := &kept{}
		b := recordedAs(t, seed, func(w *Writer) { chaosRun(t, seed, w, k) })
		launches := 0 // and attempts that were found
		for _, s := range k.steps {
			for _, e := range s.Events {
				if e.Kind == sched.AttemptFound && e.Attempt != 0 {
					launches++
				}
			}
			for _, a := range s.Actions {
				if a.Kind == sched.Launch {
					launches++
				}
			}
		}
		out := map[string][]byte{}
		for _, f := range Formats {
			var w bytes.Buffer
			if err := Export(&w, reader(t, b), f); err != nil {
				t.Fatal(err)
			}
			out[f] = w.Bytes()
		}
		table, err := csv.NewReader(bytes.NewReader(out["csv"])).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		var rows []attemptRow
		if err := json.Unmarshal(out["json"], &rows); err != nil {
			t.Fatal(err)
		}
		if len(rows) != launches || len(table) != launches+1 {
			t.Fatalf("seed %d: %d launches, %d rows of JSON, %d lines of CSV", seed, launches, len(rows), len(table))
		}
		for i, r := range rows {
			if line := table[i+1]; line[7] != r.Start.String() || line[8] != r.End.String() || line[9] != r.Outcome ||
				line[6] != r.Node {
				t.Errorf("seed %d row %d: %v, %+v", seed, i, line, r)
			}
		}
		checkChrome(t, out["chrome"], launches)
	}
}

func checkChrome(t *testing.T, doc []byte, launches int) {
	t.Helper()
	var trace struct {
		TraceEvents []struct {
			Ph, Name string
			Pid, Tid int
			Ts, Dur  float64
			Args     struct {
				Attempt int
				Outcome string
			}
		}
	}
	if err := json.Unmarshal(doc, &trace); err != nil {
		t.Fatal(err)
	}
	type lane struct{ pid, tid int }
	type span struct{ from, to float64 }
	busy := map[lane][]span{}
	attempts := map[int]bool{}
	jobs := map[string]int{}
	for _, e := range trace.TraceEvents {
		switch e.Ph {
		case "X":
			busy[lane{e.Pid, e.Tid}] = append(busy[lane{e.Pid, e.Tid}], span{e.Ts, e.Ts + e.Dur})
			attempts[e.Args.Attempt] = true
			if e.Pid < 2 || e.Tid < 1 || e.Name == "" || e.Args.Outcome == "" {
				t.Errorf("slice %+v", e)
			}
		case "b":
			jobs[e.Name]++
		case "e":
			jobs[e.Name]--
		}
	}
	if len(attempts) != launches {
		t.Errorf("slices of %d attempts, %d were launched", len(attempts), launches)
	}
	for l, spans := range busy {
		slices.SortFunc(spans, func(a, b span) int {
			return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to))
		})
		for i := 1; i < len(spans); i++ {
			if spans[i].from < spans[i-1].to-0.002 { // sums of microseconds, rounded to ns
				t.Errorf("slot %v: %v overlaps %v", l, spans[i], spans[i-1])
			}
		}
	}
	for name, n := range jobs {
		if n != 0 {
			t.Errorf("job %s begins %d times more than it ends", name, n)
		}
	}
}

// Two runs of the same jobs, first come first served and last come first served, part at the first launch; a run does
// not part from itself.
func TestDiff(t *testing.T) {
	fifo := recorded(t, Options{}, func(w *Writer) { mrorder41(sched.Config{}, w).run() })
	lifo := recorded(t, Options{}, func(w *Writer) { mrorder41(sched.Config{Policy: &inOrder{last: true}}, w).run() })
	d, err := Diff(reader(t, fifo), reader(t, fifo))
	if err != nil || d.Parts != nil || d.Headers != nil || len(d.Jobs) != 4 {
		t.Errorf("of a run with itself: %+v, %v", d, err)
	}
	if d, err = Diff(reader(t, fifo), reader(t, lifo)); err != nil {
		t.Fatal(err)
	}
	if p := d.Parts; p == nil || p.Step != 1 || p.Entry != 9 || !strings.Contains(p.A, "launch job=1 ") ||
		!strings.Contains(p.B, "launch job=4 ") {
		t.Errorf("they part at %v", p)
	}
	// Under FIFO the jobs end at 16, 8, 26, 44. Last come first served, the 24 maps of job 4 (6 s) run from 0 to 18,
	// then job 3's 2 and job 2's 4 maps with 2 of job 1's; the sojourn times are those of the run itself.
	tally := map[sched.JobID]sched.Time{}
	mrorder41(sched.Config{Policy: &inOrder{last: true}}, NewTally(TallyOptions{Row: func(r *JobRow) {
		tally[r.ID] = r.Sojourn()
	}})).run()
	for i, a := range []sched.Time{16, 8, 26, 44} {
		want := JobDifference{ID: sched.JobID(i + 1), A: a * sec, B: tally[sched.JobID(i+1)]}
		if d.Jobs[i] != want || want.B == 0 {
			t.Errorf("job %d: %+v, want %+v", i+1, d.Jobs[i], want)
		}
	}
	// The same happens a second later: that is a difference, and it begins where the clocks differ.
	at := func(at sched.Time) []byte {
		return recorded(t, Options{}, func(w *Writer) {
			r := newRig(sched.Config{}, w)
			r.node(slots(1, 0))
			r.at(at, sched.Event{Kind: sched.JobSubmitted, Job: 1, Body: mapReduce(0, 1, sec, 0, 0)})
			r.run()
		})
	}
	if d, err = Diff(reader(t, at(3*sec)), reader(t, at(4*sec))); err != nil || d.Parts == nil || d.Parts.Step != 2 ||
		d.Parts.At != 3*sec {
		t.Errorf("a second later: %v, %v", d.Parts, err)
	}
	d, err = Diff(reader(t, fifo), reader(t, fifo[:len(fifo)-9]))
	if !errors.Is(err, ErrCut) || d == nil {
		t.Errorf("with one that was cut off: %v", err)
	}
}

// Launches and resizes that differ only in what their attempts hold read differently, and a line about a resize has the
// amount, not the number of its shape.
func TestAmountsOfActions(t *testing.T) {
	node := sched.Resources{sched.Memory: 9, sched.VCores: 2}
	first := func(memory, then int64) sched.Policy {
		amount := func(p *sched.Plan, memory int64) sched.ShapeID {
			return p.Shape(sched.Resources{sched.Memory: memory, sched.VCores: 1})
		}
		return policyFunc(func(p *sched.Plan) {
			st := p.Job(1).Stages[0]
			p.LaunchAs(st, p.Node(1), sched.As{Shape: amount(p, memory)})
			for a := range p.Attempts(st) {
				p.Resize(a, amount(p, then))
			}
		})
	}
	run := func(memory, then int64) []byte {
		config := sched.Config{Policy: first(memory, then), Can: allPowers}
		return recordedWith(t, Header{Core: CoreConfigOf(config)}, func(w *Writer) {
			config.Recorder = w
			core := sched.New(config)
			job := mapReduce(0, 1, sec, 0, 0)
			job.Stages[0].PerTask = sched.Resources{sched.Memory: 1}
			core.Step(0, []sched.Event{
				{Kind: sched.NodeJoined, Node: 1, Body: &sched.NodeSpec{Class: "c", Rack: 1, Capacity: node}},
				{Kind: sched.JobSubmitted, Job: 1, Body: job},
			})
		})
	}
	launch := "action launch job=1 stage=0 of=map task=1 node=1 attempt=1 holds="
	resize := "action resize job=1 stage=0 of=map task=1 node=1 attempt=1 holds="
	for _, c := range []struct {
		memory, then int64
		a, b         string
	}{
		{3, 5, launch + "memory:2,vcores:1", launch + "memory:3,vcores:1"},
		{2, 4, resize + "memory:5,vcores:1", resize + "memory:4,vcores:1"},
	} {
		a, b := run(2, 5), run(c.memory, c.then)
		d, err := Diff(reader(t, a), reader(t, b))
		if err != nil || d.Parts == nil || d.Parts.A != "0s: "+c.a || d.Parts.B != "0s: "+c.b {
			t.Errorf("diff: %+v, %v, want %s, against %s", d.Parts, err, c.a, c.b)
		}
		replayed, err := Replay(reader(t, a), 0, deciders(func() sched.Policy { return first(c.memory, c.then) }))
		if err != nil || replayed.Differs == nil || replayed.Differs.A != c.a || replayed.Differs.B != c.b {
			t.Errorf("replay: %+v, %v, want %s, against %s", replayed, err, c.a, c.b)
		}
	}
	for doc, want := range map[bool]string{
		false: "0 " + resize + "memory:5,vcores:1\n",
		true: `{"at_s":0,"step":1,"is":"action","kind":"resize","job":1,"stage":0,"of":"map","task":1,"node":1,` +
			`"attempt":1,"holds":{"memory":5,"vcores":1}}` + "\n",
	} {
		var out bytes.Buffer
		err := Events(&out, reader(t, run(2, 5)), EventOptions{Kinds: []string{"resize"}, JSON: doc})
		if err != nil || out.String() != want {
			t.Errorf("event: %s, %v, want %s", out.String(), err, want)
		}
	}
}

func TestPastJobs(t *testing.T) {
	b := recorded(t, Options{}, func(w *Writer) { mrorder41(sched.Config{}, w).run() })
	var got []workload.Past
	from := reader(t, b)
	for j, err := range PastJobs(from, func(class string) float64 {
		if class != "c" {
			t.Errorf("class %q", class)
		}
		return 2
	}) {
		if err != nil {
			t.Fatal(err)
		}
		if want := []sched.Time{16, 16, 26, 44}[len(got)] * sec; from.step.Now != want {
			t.Errorf("job %d comes at %v, want %v: when it and those before it have ended", j.ID, from.step.Now, want)
		}
		got = append(got, *j)
	}
	if len(got) != 4 {
		t.Fatalf("%d jobs, want 4", len(got))
	}
	// On nodes of speed 2 the work is twice the time.
	for i, w := range [][4]int{{10, 8, 2, 16}, {4, 4, 4, 4}, {2, 12, 4, 20}, {24, 12, 6, 16}} {
		want := [][]sched.Time{
			slices.Repeat([]sched.Time{sched.Time(w[1]) * sec}, w[0]),
			slices.Repeat([]sched.Time{sched.Time(w[3]) * sec}, w[2]),
		}
		if !reflect.DeepEqual(got[i].Times, want) || got[i].ID != sched.JobID(i+1) {
			t.Errorf("job %d: %v, want %v", got[i].ID, got[i].Times, want)
		}
	}
	// Jobs come in order although the second ends first, and of what is whole where a record is cut off.
	n := 0
	var last error
	for j, err := range PastJobs(reader(t, b[:len(b)-8]), nil) {
		if last = err; err == nil {
			if n++; j.ID != sched.JobID(n) {
				t.Errorf("job %d comes as number %d", j.ID, n)
			}
		}
	}
	if n != 4 || !errors.Is(last, ErrCut) {
		t.Errorf("without the end mark: %d jobs, %v", n, last)
	}
}

// What an open job finds when its stages are done is another round; two stages that are found at once are of one.
func TestPastJobsOfRounds(t *testing.T) {
	b := recorded(t, Options{}, func(w *Writer) {
		r := newRig(sched.Config{Can: allPowers}, w)
		r.node(slots(2, 1))
		job := mapReduce(0, 2, 5*sec, 0, 0)
		job.Open = true
		r.submit(1, job)
		r.takes = func(*sched.Attempt) sched.Time { return 5 * sec }
		for k, at := range []sched.Time{5 * sec, 5 * sec, 10 * sec} {
			spec := &sched.StageSpec{Kind: sched.Map, PerTask: slots(1, 0), Tasks: 1}
			r.at(
				at,
				sched.Event{
					Kind: sched.AsksChanged,
					Job:  1,
					Body: &sched.Asks{Stage: int32(k + 1), Spec: spec, Pending: 1},
				},
			)
		}
		r.at(15*sec, sched.Event{Kind: sched.JobEnded, Job: 1})
		r.run()
	})
	for j, err := range PastJobs(reader(t, b), nil) {
		if err != nil || !slices.Equal(j.Rounds, []int32{0, 1, 1, 2}) {
			t.Errorf("rounds %v, %v", j.Rounds, err)
		}
	}
}

// A sample's times and counts belong to its job's past: those of the second try where the first failed, and none of one
// that did not come through.
func TestPastJobsOfProbes(t *testing.T) {
	sample := func(of sched.JobID) *sched.JobSpec { s := *mapReduce(0, 1, sec, 1, sec); s.Probes = of; return &s }
	b := recorded(t, Options{}, func(w *Writer) {
		r := newRig(sched.Config{Can: allPowers}, w)
		r.node(slots(9, 9))
		r.submit(1, mapReduce(0, 1, 20*sec, 0, 0))
		r.submit(2, sample(1))
		r.submit(3, mapReduce(0, 1, 5*sec, 0, 0))
		r.submit(4, sample(3))
		r.at(7*sec, sched.Event{Kind: sched.JobSubmitted, Job: 5, Body: sample(1)})
		r.takes = func(a *sched.Attempt) sched.Time {
			switch a.Stage.Job.ID {
			case 4: // its reduce outlives the job
				return 4 * sec
			case 5:
				return []sched.Time{2 * sec, 3 * sec}[a.Stage.ID.Index]
			}
			return sched.Time([]int{20, 1, 5}[a.Stage.Job.ID-1]) * sec
		}
		r.run()
	})
	want := map[sched.JobID][]sched.Time{1: {2 * sec, 3 * sec}, 3: nil}
	for j, err := range PastJobs(reader(t, b), nil) {
		if err != nil {
			t.Fatal(err)
		}
		if times, ok := want[j.ID]; !ok || !slices.Equal(j.ProbeTimes, times) || len(j.ProbeCounts) != len(times) {
			t.Errorf("job %d: its sample took %v, counted %v, want %v", j.ID, j.ProbeTimes, j.ProbeCounts, times)
		}
		delete(want, j.ID)
	}
	if len(want) > 0 {
		t.Errorf("no jobs %v", want)
	}
}

// An application whose tasks the engine does not know: two maps of 5 and 3 s in order of launch, and a reduce asked for
// when one of the maps was done; a task that failed first and took 4 s then; one that never succeeded takes the median.
func TestPastJobsOfAsks(t *testing.T) {
	b := recorded(t, Options{}, func(w *Writer) {
		r := newRig(sched.Config{Can: allPowers}, w)
		r.node(slots(3, 3))
		ask := func(at sched.Time, stage int32, kind sched.StageKind, n int32) {
			r.at(
				at,
				sched.Event{
					Kind: sched.AsksChanged,
					Job:  1,
					Body: &sched.Asks{
						Stage:   stage,
						Pending: n,
						Spec:    &sched.StageSpec{Kind: kind, PerTask: slots(1, 0), Tasks: -1},
					},
				},
			)
		}
		r.submit(1, &sched.JobSpec{Stages: []sched.StageSpec{{Kind: sched.Master, PerTask: slots(0, 1), Tasks: -1}}})
		ask(1, 1, sched.Map, 2)
		ask(4*sec, 2, sched.Reduce, 1)
		r.takes = func(a *sched.Attempt) sched.Time { return []sched.Time{5 * sec, 3 * sec, 2 * sec}[a.ID.Serial()-1] }
		r.at(9*sec, sched.Event{Kind: sched.JobEnded, Job: 1})
		r.run()
	})
	for j, err := range PastJobs(reader(t, b), nil) {
		if err != nil {
			t.Fatal(err)
		}
		// The reduce starts at 4 s and waits for the map that ends at 5 s and 1 ns.
		if want := [][]sched.Time{{}, {5 * sec, 3 * sec}, {sec - 1}}; !reflect.DeepEqual(j.Times, want) {
			t.Errorf("times %v, want %v", j.Times, want)
		}
		if want := []sched.Dep{{Stage: 1, Part: 0.5}}; !slices.Equal(j.Spec.Stages[2].After, want) ||
			j.Spec.Stages[1].Tasks != 2 {
			t.Errorf("stages %+v", j.Spec.Stages)
		}
	}
	// One that was suspended from 2 s to 5 s and done at 13 s took 10 s.
	b = recorded(t, Options{}, func(w *Writer) {
		stage := sched.StageID{Job: 1}
		r := newRig(sched.Config{Can: allPowers, Policy: scripted(map[sched.Time]func(*sched.Plan){
			2 * sec: func(p *sched.Plan) {
				if a := firstAttempt(p, stage); a.State == sched.Running {
					p.Suspend(a)
				}
			},
			5 * sec: func(p *sched.Plan) { p.Resume(firstAttempt(p, stage)) },
		})}, w)
		r.node(slots(1, 0))
		r.submit(1, mapReduce(0, 1, 13*sec, 0, 0))
		r.at(2*sec, sched.Event{Kind: sched.Tick})
		r.at(5*sec, sched.Event{Kind: sched.Tick})
		r.run()
	})
	for j, err := range PastJobs(reader(t, b), nil) {
		if err != nil || j.Times[0][0] != 10*sec {
			t.Errorf("%v, %v", j.Times, err)
		}
	}
	b = recorded(t, Options{}, func(w *Writer) {
		r := newRig(sched.Config{Can: allPowers}, w)
		r.node(slots(5, 0))
		r.submit(1, mapReduce(0, 4, sec, 0, 0))
		r.takes = func(a *sched.Attempt) sched.Time {
			return []sched.Time{7 * sec, 2 * sec, 4 * sec, 60 * sec, 4 * sec}[a.ID.Serial()-1]
		}
		r.step()
		for i := range r.due {
			if r.due[i].ev.Attempt.Serial() == 1 {
				r.due[i].ev.Outcome = sched.Failed
			}
		}
		r.at(20*sec, sched.Event{Kind: sched.JobEnded, Job: 1, Outcome: sched.Killed})
		r.run()
	})
	for j, err := range PastJobs(reader(t, b), nil) {
		if err != nil {
			t.Fatal(err)
		}
		// Task 1 failed at 7 s and took 4 s then; task 4 was killed with the job: the median of 2, 4, 4.
		if want := []sched.Time{4 * sec, 2 * sec, 4 * sec, 4 * sec}; !slices.Equal(j.Times[0], want) {
			t.Errorf("times %v, want %v", j.Times[0], want)
		}
	}
}

func TestPlotSojourns(t *testing.T) {
	var many []sched.Time
	for i := range 10000 {
		many = append(many, sched.Time(i)*sched.Time(i)*sec/1000)
	}
	var out bytes.Buffer
	curves := []Curve{{"fifo <1>", nil, many}, {"srpt", nil, many[:50]}, {Name: "nothing"}}
	if err := PlotSojourns(curves, AutoScale).WriteSVG(&out); err != nil {
		t.Fatal(err)
	}
	if out.Len() > 200<<10 {
		t.Errorf("%d bytes are too many for a page", out.Len())
	}
	d := xml.NewDecoder(bytes.NewReader(out.Bytes()))
	text := ""
	for {
		tok, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if c, ok := tok.(xml.CharData); ok {
			text += strings.ReplaceAll(string(c), "\n", "|") + "|"
		}
	}
	for _, want := range []string{"fifo <1>|", "srpt|", "sojourn time (s)|", "100|"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in the picture", want)
		}
	}
	if strings.Contains(text, "nothing|") {
		t.Error("a curve without jobs is in the legend")
	}
	for _, c := range []*chart.Chart{PlotSojourns(curves[2:], Log), PlotTails(curves[2:]), PlotDifference(curves[1:])} {
		if !c.Empty() {
			t.Errorf("%s: something is drawn of nothing", c.Title)
		}
	}
	zero := []Curve{{"zero", []sched.JobID{1, 2}, []sched.Time{0, 0}}}
	if err := PlotSojourns(zero, AutoScale).WriteSVG(io.Discard); err != nil {
		t.Errorf("jobs of size zero: %v", err)
	}
	if PlotSojourns(curves, Linear).X.Log || !PlotSojourns(curves, AutoScale).X.Log {
		t.Error("the axis is not as it was asked for")
	}
}

// TestPlotDifference compares three jobs of two runs; one succeeded in the first run only.
func TestPlotDifference(t *testing.T) {
	first := Curve{"fifo", []sched.JobID{1, 2, 3}, []sched.Time{4 * sec, 2 * sec, sec}}
	other := Curve{"fair", []sched.JobID{3, 1}, []sched.Time{2 * sec, sec}}
	c := PlotDifference([]Curve{first, other})
	want := []chart.Point{{X: 0, Y: 0.25}, {X: 0.5, Y: 0.25}, {X: 1, Y: 2}}
	if len(c.Lines) != 2 || !slices.Equal(c.Lines[0].Points, want) || c.Lines[1].Name != "fifo" {
		t.Errorf("lines %+v, must be %v and 1 for fifo", c.Lines, want)
	}
}

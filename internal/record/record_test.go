package record

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn/sched"
)

// check reads a record and compares it with what was kept of the run.
func check(t *testing.T, record []byte, want []Step) {
	t.Helper()
	i := 0
	entries := int64(0)
	for s, err := range reader(t, record).Steps() {
		if err != nil {
			t.Fatal(err)
		}
		if i == len(want) {
			t.Fatalf("more than %d steps", i)
		}
		w := want[i]
		if s.Now != w.Now || s.Number != int64(i+1) || s.Entry != entries+1 {
			t.Fatalf("step %d: is number %d at %v, entry %d; want %v, entry %d", i+1, s.Number, s.Now, s.Entry,
				w.Now, entries+1)
		}
		if len(s.Events) != len(w.Events) || len(s.Actions) != len(w.Actions) {
			t.Fatalf("step %d: %d events and %d actions, want %d and %d", i+1, len(s.Events), len(s.Actions),
				len(w.Events), len(w.Actions))
		}
		for k := range w.Events {
			if !reflect.DeepEqual(s.Events[k], w.Events[k]) {
				t.Fatalf("step %d event %d: %+v, want %+v", i+1, k, s.Events[k], w.Events[k])
			}
		}
		for k := range w.Actions {
			if s.Actions[k] != w.Actions[k] {
				t.Fatalf("step %d action %d: %+v, want %+v", i+1, k, s.Actions[k], w.Actions[k])
			}
		}
		entries += int64(len(s.Events) + len(s.Actions))
		i++
	}
	if i != len(want) {
		t.Fatalf("%d steps, want %d", i, len(want))
	}
}

// Whatever happens in a run comes back as it was, deciding again agrees with it, and an equal run leaves equal bytes.
func TestRunsComeBack(t *testing.T) {
	kinds := map[sched.EventKind]bool{}
	verbs := map[sched.ActionKind]bool{}
	for seed := range uint64(30) {
		k := &kept{}
		run := func(w *Writer) { chaosRun(t, seed, w, k) }
		b := recordedAs(t, seed, run)
		for _, s := range k.steps {
			for _, e := range s.Events {
				kinds[e.Kind] = true
			}
			for _, a := range s.Actions {
				verbs[a.Kind] = true
			}
		}
		check(t, b, k.steps)
		if again := recordedAs(t, seed, run); !bytes.Equal(b, again) {
			t.Errorf("seed %d: two equal runs left %d and %d bytes that differ", seed, len(b), len(again))
		}
		done, err := Replay(reader(t, b), 0, deciders(func() sched.Policy {
			return &chaos{r: rand.New(rand.NewPCG(seed, 8))}
		}))
		if err != nil || done.Differs != nil || done.Steps == 0 {
			t.Errorf("seed %d: replayed %+v, %v", seed, done, err)
		}
	}
	if len(kinds) != int(sched.AttemptFound)+1 || len(verbs) != int(sched.Wake)+1 {
		t.Errorf("the runs had %d kinds of events and %d of actions: not all of them", len(kinds), len(verbs))
	}
}

// recordedAs is recorded with the header of a chaos run.
func recordedAs(t testing.TB, seed uint64, run func(*Writer)) []byte {
	var b bytes.Buffer
	w, err := NewWriter(&b, Header{Engine: "test", Seed: seed, Policy: "chaos", Core: CoreConfigOf(chaosConfig(seed))},
		Options{})
	if err != nil {
		t.Fatal(err)
	}
	run(w)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// A record that is cut off anywhere yields every Step of its whole blocks, and says that it was cut; one in which a
// byte changed yields those before the damage, and says where that is.
func TestCutAndDamaged(t *testing.T) {
	k := &kept{}
	b := recorded(t, Options{span: 4 * sec}, func(w *Writer) { mrorder41(sched.Config{}, w, k).run() })
	var ends, steps []int // of the blocks: where in the file, and how many Steps until then
	{
		r := reader(t, b)
		n, block, first := 0, 0, sched.Time(0)
		for s, err := range r.Steps() {
			if err != nil {
				t.Fatal(err)
			}
			if n++; r.block != block {
				block, first = r.block, s.Now
			}
			if s.Now-first >= 4*sec {
				t.Errorf("a block from %v has a step at %v", first, s.Now)
			}
			if len(r.memory.tags) == 0 {
				ends, steps = append(ends, int(r.offset)), append(steps, n)
			}
		}
	}
	if len(ends) < 5 {
		t.Fatalf("%d blocks are too few for this test", len(ends))
	}
	head := bytes.IndexByte(b, '\n') + 1
	whole := func(at int) int {
		n := 0
		for i, end := range ends {
			if end <= at {
				n = steps[i]
			}
		}
		return n
	}
	read := func(b []byte) (n int, err error) {
		r, err := NewReader(bytes.NewReader(b), "test.record", Payload{})
		if err != nil {
			return 0, err
		}
		for s, err := range r.Steps() {
			if err != nil {
				return n, err
			}
			if w := k.steps[n]; s.Now != w.Now || len(s.Actions) != len(w.Actions) {
				return n, errors.New("another step than was recorded")
			}
			n++
		}
		return n, nil
	}
	for cut := range b {
		n, err := read(b[:cut])
		if !errors.Is(err, ErrCut) || n != whole(cut) {
			t.Fatalf("cut to %d of %d bytes: %d steps (%v), want %d", cut, len(b), n, err, whole(cut))
		}
		damaged := bytes.Clone(b)
		damaged[cut] ^= 0x55
		n, err = read(damaged)
		if err == nil || n > whole(cut) || cut >= head && n != whole(cut) {
			t.Fatalf("byte %d of %d changed: %d steps (%v), want %d", cut, len(b), n, err, whole(cut))
		}
		if cut >= head && !strings.Contains(err.Error(), "test.record") {
			t.Fatalf("byte %d changed: %q does not name the file", cut, err)
		}
	}
	if _, err := read(append(bytes.Clone(b), 0)); !errors.Is(err, ErrDamaged) {
		t.Errorf("a byte after the end mark: %v", err)
	}
}

// A reader at the end of a growing record goes on when there is more.
func TestGrowing(t *testing.T) {
	k := &kept{}
	b := recorded(t, Options{}, func(w *Writer) { mrorder41(sched.Config{}, w, k).run() })
	grows := &bytes.Buffer{}
	grows.Write(b[:len(b)/2])
	r, err := NewReader(grows, "test.record", Payload{})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for i := len(b) / 2; ; i++ {
		var last error
		for _, err := range r.Steps() {
			if last = err; err == nil {
				n++
			}
		}
		if i == len(b) {
			if last != nil || n != len(k.steps) {
				t.Fatalf("at the end: %d of %d steps, %v", n, len(k.steps), last)
			}
			return
		}
		if !errors.Is(last, ErrCut) {
			t.Fatalf("with %d of %d bytes: %v", i, len(b), last)
		}
		grows.WriteByte(b[i])
	}
}

// What no core could have taken or given is an error of the record, wherever a reader can know.
func TestReaderRefuses(t *testing.T) {
	node := sched.Event{Kind: sched.NodeJoined, Node: 1, Body: &sched.NodeSpec{Capacity: slots(1, 0)}}
	job := sched.Event{Kind: sched.JobSubmitted, Job: 1, Body: mapReduce(0, 1, sec, 0, 0)}
	bad := mapReduce(0, 1, sec, 0, 0)
	bad.Stages[0].PerTask = sched.Resources{}
	launch := sched.Action{
		Kind:    sched.Launch,
		Stage:   sched.StageID{Job: 1},
		Node:    1,
		Task:    1,
		Shape:   1,
		Attempt: sched.NewAttemptID(1, 0),
	}
	asks := func(stage int32, spec *sched.StageSpec) sched.Event {
		return sched.Event{Kind: sched.AsksChanged, Job: 1, Body: &sched.Asks{Stage: stage, Spec: spec}}
	}
	early := mapReduce(0, 1, sec, 1, sec).Stages[1]
	early.After[0].Stage = 1
	below := sched.Resources{sched.MapSlots: -1}
	noStage := launch
	noStage.Stage.Index = -1
	inSlot7, onNode9 := launch, launch
	inSlot7.Attempt |= 7
	onNode9.Node = 9
	for _, c := range []struct {
		want    string
		events  []sched.Event
		actions []sched.Action
	}{
		{"", []sched.Event{node, job}, []sched.Action{launch}},
		{"node 3: 1 have joined", []sched.Event{node, {Kind: sched.NodeJoined, Node: 3, Body: node.Body}}, nil},
		{"node 2: 1 have joined", []sched.Event{node, {Kind: sched.NodeReported, Node: 2}}, nil},
		{"node 2: 1 have joined", []sched.Event{node, {Kind: sched.NodeLost, Node: 2}}, nil},
		{"job 1 is submitted after job 1", []sched.Event{node, job, job}, nil},
		{"asks for no resources", []sched.Event{node, {Kind: sched.JobSubmitted, Job: 1, Body: bad}}, nil},
		{"launched in slot 7 of 0", []sched.Event{node, job}, []sched.Action{inSlot7}},
		{"node 9: 1 have joined", []sched.Event{node, job}, []sched.Action{onNode9}},
		{"there is no stage -1", []sched.Event{node, job}, []sched.Action{noStage}},
		{"asks: stage -1: must be from 0 to", []sched.Event{job, asks(-1, nil)}, nil},
		{"there is no stage -2", []sched.Event{job, {Kind: sched.TaskUndone, Job: 1,
			Body: &sched.Undone{Stage: -2}}}, nil},
		{"there is no stage -1", []sched.Event{node, job, {Kind: sched.AttemptFound, Job: 1, Node: 1,
			Body: &sched.Found{Stage: -1}}}, nil},
		{"asks: stage 1 (map): a task asks for no resources", []sched.Event{job, asks(1, &bad.Stages[0])}, nil},
		{"asks: stage 1 (reduce): starts after stage 1", []sched.Event{job, asks(1, &early)}, nil},
		{"map-slots: -1, must not be negative", []sched.Event{{Kind: sched.NodeJoined, Node: 1,
			Body: &sched.NodeSpec{Capacity: below}}}, nil},
		{"map-slots: -1, must not be negative", []sched.Event{{Kind: sched.ResizeAsked, Body: &below}}, nil},
	} {
		b := recorded(t, Options{}, func(w *Writer) {
			core := sched.New(sched.Config{})
			core.Shape(slots(1, 0)) // shape 1
			w.Attach(&core.View)
			w.Record(0, c.events, c.actions)
		})
		var err error
		for _, err = range reader(t, b).Steps() {
		}
		if c.want == "" && err != nil ||
			c.want != "" && (!errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
	for _, e := range []sched.Event{{Kind: sched.JobEnded, Outcome: 9}, {Kind: sched.AttemptProgress, Phase: 77}} {
		m := newMemory(true, Payload{})
		m.b = []byte{1, 9, 0, 0, 0, 77} // a job and its outcome; an attempt, four bytes of progress and a phase
		if m.event(notRunning|notOK, &e); m.err == nil {
			t.Errorf("%v is read", e)
		}
	}
	w := coder{}
	if w.places(&[]sched.NodeID{3, -1}); w.err == nil {
		t.Error("a place on node -1 is written")
	}
}

// An earlier version of sim wrote that -1 tasks wait where a done task had an attempt left. That is read as zero.
func TestPendingBelowZeroIsRead(t *testing.T) {
	node := sched.Event{Kind: sched.NodeJoined, Node: 1, Body: &sched.NodeSpec{Capacity: slots(1, 0)}}
	job := sched.Event{Kind: sched.JobSubmitted, Job: 1, Body: mapReduce(0, 2, sec, 0, 0)}
	asks := func(pending int32) []sched.Event {
		return []sched.Event{{Kind: sched.AsksChanged, Job: 1, Body: &sched.Asks{Pending: pending}}}
	}
	b := recorded(t, Options{}, func(w *Writer) {
		w.Attach(&sched.New(sched.Config{}).View)
		w.Record(0, []sched.Event{node, job}, nil)
		w.Record(sec, asks(-1), nil)
		w.Record(2*sec, asks(1), nil)
	})
	var got []int32
	p := play(reader(t, b))
	for s, err := range p.steps() {
		if err != nil {
			t.Fatal(err)
		}
		if body, ok := s.Events[0].Body.(*sched.Asks); ok {
			got = append(got, body.Pending, p.core.Job(1).Stages[0].Pending)
		}
	}
	if want := []int32{0, 0, 1, 1}; !slices.Equal(got, want) {
		t.Errorf("read, and then waiting: %v, want %v", got, want)
	}
}

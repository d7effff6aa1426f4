package run

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/internal/record"
	"github.com/sojourn-sched/sojourn/sched"
)

var errFull = errors.New("no space left")

// A full disk takes the first writes only.
type full struct{ room int }

func (f *full) Write(b []byte) (int, error) {
	if f.room -= len(b); f.room < 0 {
		return 0, errFull
	}
	return len(b), nil
}

// A record that cannot be written any more is reported once, when it happens, and the run ends with a loss.
func TestRecordThatCannotBeWritten(t *testing.T) {
	w, err := record.NewWriter(&full{room: 4096}, record.Header{Engine: "yarn", Policy: "fifo"}, record.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var said []error
	c := &complainer{w, func(err error) { said = append(said, err) }}
	for i := range 100_000 {
		now := sched.Time(i) * sched.Time(time.Second)
		c.Record(now, []sched.Event{{Kind: sched.NodeLost, Node: sched.NodeID(i + 1)}}, nil)
	}
	if len(said) != 1 || !errors.Is(said[0], errFull) {
		t.Errorf("%d complaints, want one: %v", len(said), said)
	}
	o := &Opened{writer: c}
	if err := o.Close(); !errors.As(err, new(Loss)) || !errors.Is(err, errFull) {
		t.Errorf("the run closes with %v, want a loss", err)
	}
}

// A ResourceManager in which nothing happens keeps its record up to the last Step, so that a crash loses nothing of it.
// A disk that is full is reported then, not with the next Step.
func TestRecordOfAnIdleManager(t *testing.T) {
	node := sched.Event{Kind: sched.NodeJoined, Node: 1, Body: &sched.NodeSpec{Name: "n", Class: "c",
		Capacity: sched.Resources{sched.Memory: 4096}}}
	var out bytes.Buffer
	setup := Setup{Engine: Manager, Names: BuiltIn, Choice: Choice{Policy: "fifo", Estimator: "mean"}, RecordTo: &out}
	o, err := setup.Open()
	if err != nil {
		t.Fatal(err)
	}
	sched.New(o.Core).Step(time.Second, []sched.Event{node})
	steps := func() (n int) {
		r, err := record.NewReader(bytes.NewReader(out.Bytes()), "record", Payload)
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range r.Steps() {
			if err == nil {
				n++
			} else if !errors.Is(err, record.ErrCut) {
				t.Fatal(err)
			}
		}
		return n
	}
	if n := steps(); n != 0 {
		t.Fatalf("%d Steps are written at once: this test shows nothing", n)
	}
	o.Keep(5 * time.Second)
	if n := steps(); n != 1 {
		t.Errorf("%d Steps are written five seconds later, want 1", n)
	}
	size := out.Len()
	if o.Keep(10 * time.Second); out.Len() != size {
		t.Errorf("%d bytes more, though nothing has happened", out.Len()-size)
	}
	if err := o.Close(); err != nil {
		t.Error(err)
	}

	var said []error
	setup.RecordTo, setup.Complain = &full{room: size - 1}, func(err error) { said = append(said, err) }
	if o, err = setup.Open(); err != nil {
		t.Fatal(err)
	}
	sched.New(o.Core).Step(time.Second, []sched.Event{node})
	for range 2 {
		o.Keep(5 * time.Second)
	}
	if len(said) != 1 || !errors.Is(said[0], errFull) {
		t.Errorf("%d complaints, want one: %v", len(said), said)
	}
	if err := o.Close(); !errors.Is(err, errFull) {
		t.Errorf("the run closes with %v", err)
	}
}

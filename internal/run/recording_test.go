package run

import (
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
	o := &Opened{writer: w}
	if err := o.Close(); !errors.As(err, new(Loss)) || !errors.Is(err, errFull) {
		t.Errorf("the run closes with %v, want a loss", err)
	}
}

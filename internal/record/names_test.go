package record

import (
	"encoding/json"
	"testing"

	"github.com/sojourn-sched/sojourn/sched"
)

// Times are in seconds in all documents, exact to the nanosecond; a job that did not end has none.
func TestNamesOfTimes(t *testing.T) {
	for _, c := range []struct {
		of   any
		want string
	}{
		{JobDifference{ID: 3, Name: "j", A: 1_500_000_001, B: -1},
			`{"job":3,"name":"j","a":{"sojourn_s":1.500000001},"b":{"sojourn_s":null}}`},
		{&Difference{Step: 1, Entry: 2, At: 60 * sec, A: "x"}, `{"step":1,"entry":2,"at_s":60,"a":"x","b":""}`},
		{Explanation{Job: 1, State: "ended", Submitted: 1, Ended: 2},
			`{"job":1,"at_s":0,"state":"ended","submit_s":1,"end_s":2}`},
	} {
		if got, err := json.Marshal(c.of); err != nil || string(got) != c.want {
			t.Errorf("%s, %v; want %s", got, err, c.want)
		}
	}
	if exactly(sched.Time(-5)) != nil {
		t.Error("a time below zero is known")
	}
}

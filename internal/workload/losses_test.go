package workload

import (
	"io"
	"testing"
)

// TestLosses holds that what a format cannot hold is named, and that nothing is named where all is held.
func TestLosses(t *testing.T) {
	const plain = "jobs:\n- {name: a, submit: 1s, maps: {count: 2, time: 20s}, reduces: {count: 1, time: 5ms}}\n"
	const rich = plain + "- {name: b, submit: 2s, priority: 3, maps: {times: [1s, {time: 1.5ms, fetch: 1s, " +
		"output: 7}]}}\n" +
		"- {name: c, submit: 2s, user: me, maps: {count: 2, time: 1s, rate: 50e6, input: 1GB, resources: " +
		"{map-slots: 2}}}\n"
	for _, c := range []struct {
		text   string
		format Format
		want   string
	}{
		{plain, YAML, ""},
		{rich, YAML, ""},
		{plain, SLS, ""},
		{rich, SLS, "sls does not hold, and results may change by it: " +
			"of 2 of 3 jobs bytes of tasks: reading and shuffling take no time there; " +
			"of 1 of 3 jobs parts of a millisecond of times; " +
			"of 1 of 3 jobs fetch times apart from the rest of a reduce; " +
			"of 1 of 3 jobs resources of tasks other than memory and vcores; " +
			"of 1 of 3 jobs weight, priority or deadline"},
		{"a\t1\t1\t10\t0\t0\n", SWIM, ""},
		{"a\t1\t1\t10\t0\t0\n", SLS, "sls does not hold, and results may change by it: " +
			"of 1 of 1 job bytes of tasks: reading and shuffling take no time there; " +
			"of 1 of 1 job parts of a millisecond of times"},
		{"jobs:\n- {name: a, user: me, maps: {times: [{time: 1s, input: 5}]}}", SWIM,
			"swim does not hold, and results may change by it: of 1 of 1 job task times: they are computed anew " +
				"from bytes; of 1 of 1 job user, queue or type"},
	} {
		var l Losses
		if _, err := Write(io.Discard, c.format,
			l.Watch(c.format, Of(mustRead(t, c.text, Defaults())...))); err != nil {
			t.Errorf("%s to %s: %v", c.text, c.format, err)
		}
		if got := l.String(); got != c.want {
			t.Errorf("%s to %s\n%s\nwant\n%s", c.text, c.format, got, c.want)
		}
	}
}

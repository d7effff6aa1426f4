package workload

import (
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/sched"
)

// A change to any field of a job or a stage that a trace can give is named, in each format that does not hold it. A
// field that is in no list here is new: say there which formats hold it.
func TestLossesOfEachField(t *testing.T) {
	const swim, sls = "swim", "sls"
	lostBy := map[string][]string{
		"User": {swim}, "Queue": {swim}, "Type": {swim}, "Weight": {swim, sls}, "Priority": {swim, sls},
		"Deadline": {swim, sls}, "Min": {swim, sls}, "Max": {swim, sls}, "Goal": {swim, sls},
		"Profile": {swim, sls}, "Delays": {swim, sls}, "Name": {}, "Submit": {},
		"PerTask": {swim, sls},
		"Base":    {swim}, "Rate": {swim, sls}, "Sigma": {swim, sls}, "Block": {swim, sls}, "Speeds": {swim, sls},
		"List": {swim}, "Input": {sls}, "Shuffle": {sls}, "Output": {sls}, "Tasks": {swim}, "Start": {swim, sls},
	}
	// No trace gives these, or they follow from the fields above.
	others := []string{"Stages", "Probes", "Open", "Payload", "Kind", "After", "Asked", "MaxAttempts", "InputBytes",
		"Prior", "Places", "Copies"}
	for _, v := range []any{sched.JobSpec{}, sched.StageSpec{}, StageTruth{}} {
		for i := range reflect.TypeOf(v).NumField() {
			name := reflect.TypeOf(v).Field(i).Name
			if _, spec := v.(sched.StageSpec); spec && name == "Tasks" {
				continue // it is that of StageTruth
			}
			formats, known := lostBy[name]
			if known == slices.Contains(others, name) {
				t.Errorf("%T.%s is in no list, or in both", v, name)
			}
			for _, f := range formats {
				if f == sls && slices.Contains([]string{"Rate", "Block", "Input", "Shuffle", "Output"}, name) {
					continue // of bytes, which TestLosses loses
				}
				o := Defaults()
				job, err := o.fromBytes(sched.JobSpec{Name: "a"}, 1, traffic{})
				if err != nil {
					t.Fatal(err)
				}
				truth := job.Payload.(*Truth)
				if f == sls {
					truth.Stages[0].Start = 0
				}
				l := Losses{format: Format(f), options: o}
				if l.count(job); l.String() != "" {
					t.Fatalf("the plain job loses %s", l.String())
				}
				for _, s := range []any{job, &job.Stages[0], &truth.Stages[0]} {
					if reflect.TypeOf(s).Elem() == reflect.TypeOf(v) {
						other(reflect.ValueOf(s).Elem().Field(i))
					}
				}
				if l.count(job); l.String() == "" {
					t.Errorf("%T.%s: %s does not name it", v, name, f)
				}
			}
		}
	}
}

// other gives v a value that no trace has by default.
func other(v reflect.Value) {
	switch x := v.Addr().Interface().(type) {
	case *string:
		*x = "other"
	case *float64:
		*x = 7
	case *sched.Time:
		*x = 7 * time.Second
	case *sched.Resources:
		x[sched.MapSlots] = 7
	default:
		switch v.Kind() {
		case reflect.Pointer:
			v.Set(reflect.New(v.Type().Elem()))
		case reflect.Slice:
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		default:
			v.SetInt(7)
		}
	}
}

// What SWIM computes anew, and what neither format holds, is named.
func TestLossesOfStages(t *testing.T) {
	const text = "jobs:\n- {name: a, submit: 0s, delays: 3, maps: {count: 4, time: 10s, rate: 5e7, input: 500MB, " +
		"block: 125MB, speeds: {fast: 10}, resources: {memory: 8GiB, vcores: 4}}, reduces: {count: 2, time: 5s, " +
		"rate: 5e7, shuffle: 500MB, resources: {memory: 4GiB}}}\n"
	for f, want := range map[Format][]string{
		SWIM: {"task times", "numbers of tasks", "resources of tasks", "speeds on classes", "delays"},
		SLS:  {"bytes of tasks", "speeds on classes", "delays"},
	} {
		l := Losses{format: f, options: Defaults()}
		l.count(mustRead(t, text, Defaults())[0])
		for _, what := range want {
			if !strings.Contains(l.String(), what) {
				t.Errorf("%s: %q does not name %s", f, l.String(), what)
			}
		}
	}
}

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
			"of 1 of 1 job parts of a millisecond of times; " +
			"of 1 of 1 job starts of containers apart from the rest of a task, for jobs in their masters"},
		{"jobs:\n- {name: a, user: me, maps: {times: [{time: 1s, input: 5}]}}", SWIM,
			"swim does not hold, and results may change by it: of 1 of 1 job task times: they are computed anew " +
				"from bytes; of 1 of 1 job user, queue or type"},
	} {
		var l Losses
		if _, err := Write(io.Discard, c.format,
			l.Watch(c.format, Defaults(), Of(mustRead(t, c.text, Defaults())...))); err != nil {
			t.Errorf("%s to %s: %v", c.text, c.format, err)
		}
		if got := l.String(); got != c.want {
			t.Errorf("%s to %s\n%s\nwant\n%s", c.text, c.format, got, c.want)
		}
	}
}

// SWIM loses nothing of a job where its reader makes the same job again: of numbers and resources of tasks, by the same
// cluster. A cluster bounds the number of reduces, and one with containers gives each task one.
func TestLossesOfACluster(t *testing.T) {
	const numbers, resources = "of 1 of 1 job numbers of tasks", "of 1 of 1 job resources of tasks"
	slots, containers := "nodes=2,map-slots=2,reduce-slots=1", "nodes=1,memory=2GiB,vcores=4"
	const large = "a\t0\t0\t1000\t9000000000\t1000\n" // nine reduces where the number has no bound
	const maps = "jobs:\n- {name: a, submit: 0s, maps: {count: 1, time: 1s, startup: 1s, rate: 50e6, block: 128MiB, " +
		"input: 1000, "
	const listed = maps + "output: 5000000000}, " +
		"reduces: {count: 5, time: 1s, startup: 1s, rate: 25e6, shuffle: 5000000000}}\n"
	const held = maps + "resources: {memory: 1GiB, vcores: 1}}}\n"
	for _, c := range []struct{ text, reads, again, want string }{
		{large, "", "", ""},
		{large, slots, slots, ""},
		{large, containers, containers, ""},
		{large, slots, "", numbers},
		{large, "", slots, numbers},
		{large, slots, containers, resources},
		{listed, "", "", ""},
		{listed, slots, slots, numbers},
		{held, "", "", ""}, // the reader is to know a cluster with containers
		{held, containers, containers, ""},
		{held, slots, slots, resources},
		{held, "", "nodes=1,memory=2GiB", resources},
	} {
		var l Losses
		for _, err := range l.Watch(SWIM, optionsOf(t, c.again), Of(mustRead(t, c.text, optionsOf(t, c.reads))...)) {
			if err != nil {
				t.Fatal(err)
			}
		}
		if got := l.String(); !strings.Contains(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%s, read for %q, and again for %q: %q, want %q", c.text, c.reads, c.again, got, c.want)
		}
	}
}

// Sizes that were scaled are written as they are, and not scaled again.
func TestLossesOfScaledSizes(t *testing.T) {
	o := Defaults()
	o.SizeScale = 10
	var l Losses
	for _, err := range l.Watch(SWIM, o, Of(mustRead(t, "a\t0\t0\t1000000000\t9000000000\t1000\n", o)...)) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if got := l.String(); got != "" {
		t.Errorf("%q, want nothing", got)
	}
}

// optionsOf returns the options of a cluster, or, without one, the default.
func optionsOf(t *testing.T, cluster string) Options {
	t.Helper()
	if cluster == "" {
		return Defaults()
	}
	c, err := ParseCluster(cluster)
	if err != nil {
		t.Fatal(err)
	}
	return c.Options()
}

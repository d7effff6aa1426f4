package workload

import (
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/sched"
)

// A job is given a master behind its other stages; what it is given from is left as it was, and its size stays what its
// tasks are.
func TestMasterLeads(t *testing.T) {
	c, err := ParseCluster("nodes=2,memory=8GiB")
	if err != nil {
		t.Fatal(err)
	}
	o := c.Options()
	plain, err := o.fromBytes(sched.JobSpec{Name: "j"}, 1, traffic{input: 3 * o.Block, shuffle: 100, output: 1})
	if err != nil {
		t.Fatal(err)
	}
	other := *plain
	other.Type = "SPARK"
	m := DefaultMaster()
	m.Uber, m.Block = true, 4*o.Block
	var got []*sched.JobSpec
	for j, err := range m.AddTo(m.AddTo(Of(plain, &other), c), c) { // who has one gets no second
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, j)
	}
	job, truth := got[0], got[0].Payload.(*Truth)
	if len(job.Stages) != 3 || job.Stages[2].Kind != sched.Master ||
		job.Stages[2].PerTask != (sched.Resources{sched.Memory: 1536}) ||
		!job.Stages[0].Asked ||
		!job.Stages[1].Asked {
		t.Errorf(
			"stages %+v; want a map and a reduce that must be asked for, and a master of the 1536 MiB that a cluster "+
				"of memory knows",
			job.Stages,
		)
	}
	if plain.Stages[0].Asked || len(plain.Payload.(*Truth).Stages) != 2 || got[1] != &other {
		t.Error("the job that was given, or one that is no MapReduce, is changed")
	}
	// Three maps and a reduce of an uber job each save the second that a container takes to start, at 1024 MiB.
	was, is := plain.Payload.(*Truth).Size(plain)[sched.Memory], truth.Size(job)[sched.Memory]
	if !truth.Uber || was-is < 4*1024-1 || was-is > 4*1024+1 || truth.Time(2, 1) != 5*time.Second {
		t.Errorf("size %v, without a master %v; it starts in %v", is, was, truth.Time(2, 1))
	}
	if err := job.Validate(); err != nil {
		t.Error(err)
	}
}

// The times of an uber job's tasks are shorter by the start of a container only where they contain it: where a task's
// time is computed from its bytes, or where the trace says so. The time of a trace that gives times is the task's own,
// in whichever form it stands.
func TestUberKeepsGivenTimes(t *testing.T) {
	c, err := ParseCluster("nodes=1,memory=8GiB,vcores=8")
	if err != nil {
		t.Fatal(err)
	}
	m := DefaultMaster()
	m.Uber = true
	o := c.Options()
	o.Startup = 5 * time.Second
	for text, want := range map[string]time.Duration{
		"{count: 3, time: 1s}":              time.Second,
		"{times: [1s, 1s, 1s]}":             time.Second,
		"{count: 3, time: 1s, input: 30MB}": time.Second,
		// One more second is the bytes'.
		"{count: 3, time: 10s, rate: 10e6, input: 30MB}":              11 * time.Second,
		"{count: 3, time: 10s, startup: 3s, rate: 10e6, input: 30MB}": 8 * time.Second,
		"{count: 3, time: 10s, startup: 10s}":                         0,
	} {
		uberTakes(t, m, c, mustRead(t, "jobs:\n- {name: a, submit: 0s, maps: "+text+"}\n", o), want)
	}
	swim := mustRead(t, "a\t0\t0\t50000000\t0\t0\n", o)
	if got := swim[0].Payload.(*Truth).Time(0, 1); got != 6*time.Second {
		t.Errorf("with the start of a container a task of SWIM takes %v, want 6s", got)
	}
	uberTakes(t, m, c, swim, time.Second)
	var yaml strings.Builder
	if _, err := Write(&yaml, YAML, Of(swim...)); err != nil {
		t.Fatal(err)
	}
	uberTakes(t, m, c, mustRead(t, yaml.String(), Defaults()), time.Second)
}

// uberTakes holds that the first task of each job takes so long in the container of master m.
func uberTakes(t *testing.T, m Master, c *Cluster, jobs []*sched.JobSpec, want time.Duration) {
	t.Helper()
	for job, err := range m.AddTo(Of(jobs...), c) {
		if err != nil {
			t.Fatal(err)
		}
		truth := job.Payload.(*Truth)
		if got := truth.Time(0, 1); !truth.Uber || got != want {
			t.Errorf("%+v: a task takes %v (uber: %v), want %v", truth.Stages[0], got, truth.Uber, want)
		}
	}
}

// Hadoop's rule for small jobs: at most 9 maps, one reduce, and one block of input; one more of either is too much.
func TestUberRule(t *testing.T) {
	m := Master{Block: 100}
	for _, c := range []struct {
		maps, reduces int32
		input         int64
		uber          bool
	}{{9, 1, 100, true}, {10, 1, 100, false}, {9, 2, 100, false}, {9, 1, 101, false}, {1, 0, 0, true}} {
		spec := &sched.JobSpec{
			Stages: []sched.StageSpec{
				{Kind: sched.Map, Tasks: c.maps, InputBytes: c.input},
				{Kind: sched.Reduce, Tasks: c.reduces},
			},
		}
		if got := m.isUber(spec); got != c.uber {
			t.Errorf("%d maps, %d reduces, %d bytes: %v", c.maps, c.reduces, c.input, got)
		}
	}
}

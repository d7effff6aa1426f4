package run

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/internal/workload"
	"github.com/sojourn-sched/sojourn/mr"
	"github.com/sojourn-sched/sojourn/sched"
)

// TestInputsOfOtherJobs: an input that another job of the run writes is read where that job writes it, and is found
// when its reader arrives. Other inputs stay as they are.
func TestInputsOfOtherJobs(t *testing.T) {
	m := &Machine{Output: func(dir string) string { return filepath.Join(dir, "fair") }}
	for _, c := range []struct {
		input, want string
		late        bool
	}{
		{"out/words", "out/words/fair", true},
		{"./out/../out/words/", "out/words/fair", true},
		{"out/words/part-r-00000", "out/words/fair/part-r-00000", true},
		{"out/words/part-*", "out/words/fair/part-*", true},
		{"out/words2", "out/words2", false},
		{"out/word", "out/word", false},
		{"in", "in", false},
		{"out/mine", "out/mine", false}, // its own
		{"out/*.txt", "out/*.txt", false},
		{"out/w*", "out/w*", true},
		{"**/*.txt", "**/*.txt", true},
		{"out", "out", true},
		{"-", "-", false},
		{"pebble:out/words", "pebble:out/words", false},
		{"{a,out/words}", "{a,out/words}", true},
	} {
		list := []RealJob{{Program: workload.Program{Input: []string{"first", c.input}, Output: "out/mine"}},
			{Program: workload.Program{Input: []string{"in"}, Output: "out/words"}}}
		if got, late := m.inputs(list, 0); !slices.Equal(got, []string{"first", c.want}) || late != c.late {
			t.Errorf("%s: %q, late %v; want %s, %v", c.input, got, late, c.want, c.late)
		}
	}
	m.Output = func(dir string) string { return dir }
	list := []RealJob{{Program: workload.Program{Input: []string{"./out/words/"}, Output: "out/mine"}},
		{Program: workload.Program{Input: []string{"in"}, Output: "out/words"}}}
	if got, late := m.inputs(list, 0); !slices.Equal(got, []string{"./out/words/"}) || !late {
		t.Errorf("without folders of policies: %q, late %v", got, late)
	}
}

// TestOwnTimeout: how long the tasks of a program may be silent is what its own configuration says, under Hadoop's name
// of today if it has both, else what the run says.
func TestOwnTimeout(t *testing.T) {
	memory, err := mr.NewMemory(64<<20, 2)
	if err != nil {
		t.Fatal(err)
	}
	defer memory.Close()
	dir, site := t.TempDir(), mr.Site{Memory: memory}
	m := &Machine{Cluster: &workload.Cluster{Classes: []workload.Class{{Name: "c", Count: 1,
		Resources: sched.Resources{sched.MapSlots: 1, sched.ReduceSlots: 1}}}}, Output: filepath.Clean}
	for i, c := range []struct {
		conf map[string]string
		want time.Duration
	}{
		{nil, 0},
		{map[string]string{"mapreduce.task.timeout": "7200000"}, 2 * time.Hour},
		{map[string]string{"mapred.task.timeout": "1"}, time.Millisecond},
		{map[string]string{"mapred.task.timeout": "1", "mapreduce.task.timeout": "2000"}, 2 * time.Second},
		{map[string]string{"mapreduce.task.timeout": "0"}, -1},
	} {
		list := []RealJob{{Spec: &sched.JobSpec{Name: "j"}, Program: workload.Program{Mapper: "cat", Conf: c.conf,
			Input: []string{dir}, Output: filepath.Join(dir, strconv.Itoa(i))}}}
		work, err := m.open(list, site, nil, 10*time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if got := work[0].Timeout; got != c.want {
			t.Errorf("%v: %v, want %v", c.conf, got, c.want)
		}
		if err := closeAll(work); err != nil {
			t.Error(err)
		}
	}
	bad := []RealJob{{Spec: &sched.JobSpec{Name: "j"}, Program: workload.Program{Mapper: "cat", Output: dir + "/bad",
		Conf: map[string]string{"mapreduce.task.timeout": "soon"}}}}
	if _, err := m.open(bad, site, nil, time.Minute); err == nil || !strings.Contains(err.Error(), "soon") {
		t.Errorf("error %v, want one that names the value", err)
	}
}

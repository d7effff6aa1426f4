package workload

import (
	"bytes"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn/sched"
)

// Speeds by class of nodes are read, and written again as they were, beside totals and beside a list of times.
func TestYAMLSpeeds(t *testing.T) {
	for _, stage := range []string{
		`{count: 2, time: 2m5s, speeds: {"cell": 25, "gpu": 0.5}}`,
		`{times: [1s, 2s], speeds: {"cell": 25, "gpu": 0.5}}`,
	} {
		text := "jobs:\n  - {name: \"m\", submit: 0s, profile: {accelerators: [\"cell\"]}, maps: " + stage + "}\n"
		jobs := mustRead(t, text, Defaults())
		for _, job := range jobs {
			st := &job.Payload.(*Truth).Stages[0]
			if st.SpeedOn("cell") != 25 || st.SpeedOn("gpu") != 0.5 || st.SpeedOn("plain") != 1 {
				t.Errorf("%s: speeds are %v", stage, st.Speeds)
			}
		}
		var out bytes.Buffer
		source := func(yield func(*sched.JobSpec, error) bool) { yield(jobs[0], nil) }
		_, err := Write(&out, YAML, source)
		if err != nil || !strings.Contains(out.String(), `speeds: {"cell": 25, "gpu": 0.5}`) {
			t.Errorf("written as %s (%v)", &out, err)
		}
	}
}

func TestYAMLSpeedMustBePositive(t *testing.T) {
	text := "jobs:\n  - {maps: {count: 1, time: 1s, speeds: {cell: 0}}}\n"
	f, err := Read("x.yaml", strings.NewReader(text), Defaults())
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range f.Jobs {
		if err == nil || !strings.Contains(err.Error(), "x.yaml:2:48") || !strings.Contains(err.Error(), "above 0") {
			t.Errorf("a speed of 0: %v", err)
		}
	}
}

// A class that the cluster does not have is noted once, with file, line and remedy; the jobs are read all the same.
func TestYAMLSpeedOnUnknownClass(t *testing.T) {
	c, err := ReadCluster("c.yaml", strings.NewReader(
		"classes:\n  - {name: cell, count: 1, resources: {map-slots: 1}}\n"+
			"  - {name: plain, count: 1, resources: {map-slots: 1}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	job := "  - {maps: {count: 1, time: 1s, speeds: {cel: 2, plain: 3}}}\n"
	f, err := Read("x.yaml", strings.NewReader("jobs:\n"+job+job), c.Options())
	if err != nil {
		t.Fatal(err)
	}
	jobs := 0
	for _, err := range f.Jobs {
		if err != nil {
			t.Fatal(err)
		}
		jobs++
	}
	want := "x.yaml:2:47: jobs.maps.speeds.cel: the cluster has no class of that name, so this speed is used " +
		"nowhere: name one of its classes (cell, plain), or leave this out"
	if jobs != 2 || len(f.Report.Notes) != 1 || f.Report.Notes[0] != want {
		t.Errorf("%d jobs, notes %q, want %q", jobs, f.Report.Notes, want)
	}
}

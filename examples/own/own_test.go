package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/cli"
	"github.com/sojourn-sched/sojourn/policy"
	"github.com/sojourn-sched/sojourn/policy/policytest"
	"github.com/sojourn-sched/sojourn/sched"
)

var registry = policy.Registry{"smallest": smallestEntry}

// The policy keeps what its card claims, on clusters and jobs drawn by chance.
func TestConform(t *testing.T) {
	for _, spec := range []string{"smallest", "smallest:delay=3s", "smallest:preempt=suspend"} {
		t.Run(spec, func(t *testing.T) { policytest.Conform(t, registry, spec, 10) })
	}
}

// The instants of testdata/smallest/*.txt come out, which were worked out by hand.
func TestScenarios(t *testing.T) { policytest.RunScenarios(t, registry, "testdata") }

// Tasks of 10 and 20 s have a mean of 15 s and a sample standard deviation of 7.07 s.
func TestCareful(t *testing.T) {
	core := sched.New(sched.Config{})
	core.Step(0, []sched.Event{{Kind: sched.JobSubmitted, Job: 1, Body: &sched.JobSpec{Name: "j",
		Stages: []sched.StageSpec{{Kind: sched.Map, Tasks: 4, PerTask: sched.Resources{sched.MapSlots: 1}}}}}})
	stage := core.Job(1).Stages[0]
	c := &careful{Deviations: 2}
	if _, known := c.Size(stage.Job); known {
		t.Error("a size is known before any task has ended")
	}
	for _, took := range []time.Duration{10 * time.Second, 20 * time.Second} {
		c.Observe(&sched.Attempt{Stage: stage}, took, nil)
	}
	want := 15*time.Second + 2*7071067812*time.Nanosecond
	if got := c.Estimate(stage, 0).Mean; got < want-time.Microsecond || got > want+time.Microsecond {
		t.Errorf("a task is estimated at %v, want %v", got, want)
	}
	if w, known := c.Size(stage.Job); !known || w[sched.MapSlots] < 4*want.Seconds()-1e-3 {
		t.Errorf("size %v, known %v; want 4 × %v", w, known, want)
	}
}

// sojourn runs a command line with the additions.
func sojourn(t *testing.T, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	if status := cli.Run(t.Context(), cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs}, args,
		additions()); status != 0 {
		t.Fatalf("sojourn %s: exit status %d: %s", strings.Join(args, " "), status, &errs)
	}
	return out.String()
}

func TestJob(t *testing.T) {
	dir := t.TempDir()
	in, to := filepath.Join(dir, "in.txt"), filepath.Join(dir, "out")
	if err := os.WriteFile(in, []byte("an apple\nBy a boat\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	sojourn(t, "run", "initials", "--input", in, "--output", to, "--reduces", "1")
	if got, err := os.ReadFile(filepath.Join(to, "part-r-00000")); err != nil || string(got) != "a\t3\nb\t2\n" {
		t.Errorf("%q, %v", got, err)
	}
}

// Policy and estimator work together under the simulator, and a record of the run explains itself.
func TestTogether(t *testing.T) {
	rec := filepath.Join(t.TempDir(), "run.rec")
	out := sojourn(t, "sim", "--trace", "../bursty.tsv", "--jobs", "50", "--policy", "smallest:delay=5s",
		"--estimator", "careful:deviations=2", "--record", rec)
	if !strings.Contains(out, "smallest:delay=5s") {
		t.Error(out)
	}
	if out := sojourn(t, "record", "replay", rec); !strings.Contains(out, "all decided as recorded") {
		t.Error(out)
	}
	if out := sojourn(t, "record", "explain", rec, "5", "--at", "30s"); !strings.Contains(out, "job 5") {
		t.Error(out)
	}
}

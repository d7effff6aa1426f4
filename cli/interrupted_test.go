package cli

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// An interrupted run says how many outputs are in place, and that the next run must replace them.
func TestRunInterrupted(t *testing.T) {
	dir := t.TempDir()
	in := writeFile(t, "in.txt", "b a\n")
	mix := writeFile(t, "mix.yaml", fmt.Sprintf(`
jobs:
  - {name: quick, job: sort, input: [%[1]s], output: %[2]s/quick}
  - {name: slow, mapper: "sh -c 'sleep 1000'", input: [%[1]s], output: %[2]s/slow}
`, in, dir))
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go func() {
		for {
			if _, err := os.Stat(filepath.Join(dir, "quick", "_SUCCESS")); err == nil || ctx.Err() != nil {
				stop()
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
	var errs bytes.Buffer
	args := []string{"run", mix, "--cluster", "nodes=1,map-slots=2,reduce-slots=2", "--progress", "never"}
	if status := Run(ctx, Streams{strings.NewReader(""), &bytes.Buffer{}, &errs}, args); status != statusInterrupted {
		t.Errorf("exit status %d, want 130: %s", status, &errs)
	}
	for _, want := range []string{"1 of 2 outputs are complete, and nothing of another was written",
		"the same command with --overwrite runs all jobs again"} {
		if !strings.Contains(errs.String(), want) {
			t.Errorf("it says %q, want %q", &errs, want)
		}
	}
}

// An interrupted sweep says how many runs it keeps, and goes on there.
func TestExperimentInterrupted(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	trace := generated(t)
	sweep := writeFile(t, "sweep.yaml", fmt.Sprintf("policies: [fifo, fair]\nworkloads: [%s]\nclusters: [%q]\n"+
		"seeds: 2\n", trace, smallCluster))
	folder := filepath.Join(t.TempDir(), "out")
	var errs bytes.Buffer
	status := Run(ctx, Streams{strings.NewReader(""), &bytes.Buffer{}, &errs}, []string{"experiment", sweep, "--output",
		folder, "--progress", "never"})
	kept, err := os.ReadFile(filepath.Join(folder, "runs.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("%d of 4 runs are kept in %s; the same command goes on from there",
		bytes.Count(kept, []byte("\n")), folder)
	if status != statusInterrupted || !strings.Contains(errs.String(), want) {
		t.Errorf("exit status %d: %q, want %q", status, &errs, want)
	}
}

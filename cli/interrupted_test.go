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
	for _, want := range []string{"1 of 2 outputs are complete, and nothing else of outputs was written",
		"the same command with --overwrite runs all jobs again"} {
		if !strings.Contains(errs.String(), want) {
			t.Errorf("it says %q, want %q", &errs, want)
		}
	}
}

// An interrupted sweep says how many runs it keeps, here those of a smaller sweep before it, and goes on from there.
func TestExperimentInterrupted(t *testing.T) {
	trace := generated(t)
	folder := filepath.Join(t.TempDir(), "out")
	of := func(seeds int) []string {
		sweep := writeFile(t, "sweep.yaml", fmt.Sprintf("policies: [fifo, fair]\nworkloads: [%s]\nclusters: [%q]\n"+
			"seeds: %d\n", trace, smallCluster, seeds))
		return []string{"experiment", sweep, "--output", folder, "--progress", "never"}
	}
	must(t, of(2)...)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	var errs bytes.Buffer
	status := Run(ctx, Streams{strings.NewReader(""), &bytes.Buffer{}, &errs}, of(4))
	lines, err := os.ReadFile(filepath.Join(folder, "runs.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	kept := bytes.Count(lines, []byte("\n")) // four, and what ended just before the interruption
	want := fmt.Sprintf("%d of 8 runs are kept in %s; the same command goes on from there", kept, folder)
	if kept < 4 || status != statusInterrupted || !strings.Contains(errs.String(), want) {
		t.Errorf("exit status %d: %q, want %q", status, &errs, want)
	}
	must(t, of(4)...)
}

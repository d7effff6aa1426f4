package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sojourn-sched/sojourn/internal/experiment"
	"github.com/sojourn-sched/sojourn/internal/spelling"
)

func experimentCommand(a *app) *cobra.Command {
	var o output
	var folder string
	c := &cobra.Command{
		Use:   "experiment SWEEP.yaml",
		Short: "Simulate all combinations of policies, loads, clusters and seeds",
		Long: `Simulate all combinations that a file names, as many at once as there are processors. The results are one
table, with a row a run: results.csv and results.parquet, and a picture, sojourn.svg. A sweep that was ended goes on
where it stopped when the same command is given again; runs whose workload or cluster has changed are done again.

  policies: [fifo, "fair:delay={delay}", hfsp]
  parameters: {delay: [0s, 5s, 10s]}
  workloads: [bursty.tsv]
  loads: [0.5, 1, 1.5]
  clusters: ["nodes=20,map-slots=3,reduce-slots=1", cluster.yaml]
  seeds: 10`,
		Example: `  sojourn experiment examples/sweep.yaml --output out/sweep`,
		Args:    exactly(1, "the file of a sweep"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runExperiment(cmd.Context(), a, &o, [2]string{args[0], folder})
		},
	}
	o.register(c)
	c.Flags().StringVar(&folder, "output", "", "folder for the results (default: the name of the file without .yaml)")
	return c
}

// runExperiment runs the sweep of a file; paths are the file and the folder for the results.
func runExperiment(ctx context.Context, a *app, o *output, paths [2]string) error {
	if err := o.check(); err != nil {
		return err
	}
	path, folder := paths[0], paths[1]
	if folder == "" {
		if folder = strings.TrimSuffix(strings.TrimSuffix(path, ".yml"), ".yaml"); folder == path {
			return usagef("--output FOLDER is needed: %s does not end in .yaml", path)
		}
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	sweep, err := experiment.ReadSweep(path, file)
	if err != nil {
		return usageError{err}
	}
	at := experiment.Setup{Names: a.names, Folder: filepath.Dir(path), Output: folder}
	if err := sweep.Check(at); err != nil {
		return usageError{fmt.Errorf("%s: %w", path, err)}
	}
	bar := newBar(o, a.Err, "simulate", int64(len(sweep.Runs())))
	kept := 0
	at.Progress = func(done, all int) {
		kept = done
		bar.set(int64(done), fmt.Sprintf("%d of %s", done, spelling.Count(all, "run")))
	}
	rows, err := sweep.Simulate(ctx, at)
	bar.stop()
	if err != nil {
		return interruption{err, fmt.Sprintf("%d of %s kept in %s; the same command goes on from there", kept,
			spelling.Count(len(sweep.Runs()), "run is", "runs are"), folder)}
	}
	if err := experiment.Write(folder, rows); err != nil {
		return err
	}
	failed := 0
	for i := range rows {
		if rows[i].Error != "" {
			failed++
		}
	}
	if o.json {
		return a.printJSON(rows)
	}
	fmt.Fprintf(a.Out, "%s, %d without a result: %s has results.csv, results.parquet and sojourn.svg\n",
		spelling.Count(len(rows), "run"), failed, folder)
	return nil
}

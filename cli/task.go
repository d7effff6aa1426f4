package cli

import (
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sojourn-sched/sojourn/internal/submit"
	"github.com/sojourn-sched/sojourn/mr"
)

// taskCommand is the mapper and the reducer of a built-in job in a container of Hadoop Streaming. People do not call
// it: 'sojourn submit' makes it the job's programs.
func taskCommand(a *app) *cobra.Command {
	c := parent("task", "Be the mapper or the reducer of a built-in job under Hadoop Streaming",
		taskVerb(a, "map", "Read lines of a split and write pairs, or output where the job has no reduces"),
		taskVerb(a, "reduce", "Read pairs in the order of their keys and write the output of a part"))
	c.Hidden = true
	return c
}

func taskVerb(a *app, verb, short string) *cobra.Command {
	var conf, cuts string
	c := &cobra.Command{
		Use: verb + " JOB", Short: short, Args: cobra.ExactArgs(1), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			w, err := worker(a, args[0], conf)
			if err != nil {
				return err
			}
			w.Cuts = cuts
			if verb == "map" {
				err = w.Map(cmd.Context())
			} else {
				err = w.Reduce(cmd.Context())
			}
			if err != nil {
				return failuref("%w", err)
			}
			return nil
		},
	}
	c.Flags().StringVar(&conf, "conf", "", "the job's configuration, as in the query of an address: key=value&...")
	c.Flags().StringVar(&cuts, "cuts", "", "file of the keys that begin parts, of a job whose parts are in order")
	return c
}

// worker makes the worker of a job in a container, which finds in its environment what Hadoop Streaming tells it.
func worker(a *app, name, query string) (*submit.Worker, error) {
	e, ok := a.jobs[name]
	if !ok {
		return nil, usagef("no job is named %q", name)
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return nil, usagef("--conf %q: %v", query, err)
	}
	conf := mr.Conf{}
	for key := range values {
		conf[key] = values.Get(key)
	}
	w := &submit.Worker{Dir: ".", In: a.In, Out: a.Out, Err: a.Err, File: inputFile()}
	if w.Job, err = e.New(conf); err != nil {
		return nil, err
	}
	number := func(key string, otherwise int64) (int64, error) {
		text := os.Getenv(key)
		if text == "" {
			return otherwise, nil
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("environment: %s=%s: must be a whole number", key, text)
		}
		return n, nil
	}
	parts, err := number("mapreduce_job_reduces", 1)
	if err != nil {
		return nil, err
	}
	w.Parts = int(parts)
	// Of a container's memory a part is for Java's process beside this one.
	mib, err := number("mapreduce_map_memory_mb", 1024)
	if err != nil {
		return nil, err
	}
	w.Memory = min(max(mib/4, 64), 1024) << 20
	return w, nil
}

// inputFile is the path of the file that a mapper's split is of.
func inputFile() string {
	for _, key := range []string{"mapreduce_map_input_file", "map_input_file"} {
		if file := os.Getenv(key); file != "" {
			if u, err := url.Parse(file); err == nil && u.Scheme != "" {
				return u.Path
			}
			return strings.TrimPrefix(file, "file:")
		}
	}
	return "-"
}

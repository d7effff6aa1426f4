// Command bench measures Sojourn beside what else there is on the machine, in one run, so that a figure says something
// although no two machines are alike: what counts is the ratio. Everything is repeated in turns (ours, theirs, ours,
// theirs), and the table has medians.
//
//	go run ./bench -sojourn bin/sojourn                      all parts, 25 minutes and what they wait
//	go run ./bench -sojourn bin/sojourn -only mr,sim -reps 5
//	go run ./bench -sojourn bin/sojourn -markdown docs/performance.md
//
// Peers that are not installed are skipped, with a line that says how to get them. Inputs and outputs are in out/bench;
// inputs are made once.
//
// A part is a table: mapreduce.go (mr, streaming), pairs.go, overhead.go, simulate.go (sim, seeds), decisions.go,
// events.go, replay.go and yarn.go have the parts, peers.go, loop_wordcount.go and heap.go what they are held against.
// They share contest.go (turns), process.go (what a process costs), input.go and result.go (tables).
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/sojourn-sched/sojourn/internal/workload"
	"github.com/sojourn-sched/sojourn/policy"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	if len(os.Args) > 2 && os.Args[1] == "child" {
		err = child(ctx, os.Args[2], os.Args[3:])
	} else {
		err = run(ctx, os.Args[1:])
	}
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// options are what a run of the benchmarks was asked for.
type options struct {
	sojourn  string        // program that is measured
	dir      string        // everything that is made is in here
	size     int64         // bytes of each large input
	reps     int           // most repetitions
	patience time.Duration // contestants that take longer are not repeated
	limit    time.Duration // repetitions are left out near its end, cases after it
	calm     time.Duration // how long each part waits at most for an idle machine
	only     []string      // parts; empty: all
	json     bool
	markdown string   // file whose tables are replaced
	python   string   // with duckdb and pyspark
	cache    string   // jars of Hadoop
	trace    string   // FB-2010
	slow     bool     // measure Hadoop and Spark too
	policies []string // whose decisions are measured; empty: all
}

func parse(args []string) (*options, error) {
	o := &options{}
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.StringVar(&o.sojourn, "sojourn", "bin/sojourn", "program to measure")
	f.StringVar(&o.dir, "dir", "out/bench", "folder for inputs, outputs and temporary files")
	size := f.String("size", "500MB", "size of each large input")
	f.IntVar(&o.reps, "reps", 3, "repetitions, from 1")
	f.DurationVar(&o.patience, "patience", 8*time.Second, "what takes longer is not repeated")
	f.DurationVar(&o.limit, "limit", 30*time.Minute, "time for everything: no repetitions after three quarters of "+
		"it, no further cases after all of it")
	f.DurationVar(&o.calm, "calm", 3*time.Minute, "how long each part waits at most until the load of the machine is "+
		"low, which the part before has raised; 0: not at all")
	only := f.String("only", "", "parts to run, separated by commas: "+strings.Join(partNames(), ","))
	f.BoolVar(&o.json, "json", false, "print one JSON document instead of tables")
	f.StringVar(&o.markdown, "markdown", "", "also replace the tables in this file, between <!-- bench PART --> and "+
		"<!-- end bench PART -->")
	f.StringVar(&o.python, "python", "python3", "Python that has the packages duckdb and pyspark, or one of them")
	f.StringVar(&o.cache, "cache", defaultCache(), "folder with hadoop-*/jars")
	f.StringVar(&o.trace, "trace", "internal/workload/testdata/traces/swim-FB-2010_samples_24_times_1hr_0.tsv.gz",
		"SWIM's FB-2010 trace, for sim")
	f.BoolVar(&o.slow, "slow-peers", true, "measure Hadoop and Spark, where they are found: minutes")
	f.Func("policy", "measure the decisions of this policy only; may be repeated", func(spec string) error {
		_, _, err := policy.Parse(spec)
		o.policies = append(o.policies, spec)
		return err
	})
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	if f.NArg() > 0 {
		return nil, fmt.Errorf("%q: there are flags only", f.Arg(0))
	}
	var err error
	if o.size, err = workload.ParseSize(*size); err != nil {
		return nil, fmt.Errorf("-size: %w", err)
	}
	if o.size < 1e6 {
		return nil, fmt.Errorf("-size %s: must be 1MB or more", *size)
	}
	if o.reps < 1 {
		return nil, fmt.Errorf("-reps %d: must be 1 or more", o.reps)
	}
	if *only != "" {
		o.only = strings.Split(*only, ",")
	}
	for _, name := range o.only {
		if !slices.Contains(partNames(), name) {
			return nil, fmt.Errorf("-only %s: the parts are %s", name, strings.Join(partNames(), ", "))
		}
	}
	if o.sojourn, err = filepath.Abs(o.sojourn); err != nil {
		return nil, err
	}
	if _, err := os.Stat(o.sojourn); err != nil {
		return nil, fmt.Errorf("-sojourn: %w: 'make build' makes it", err)
	}
	return o, nil
}

func defaultCache() string {
	if dir := os.Getenv("SOJOURN_CACHE"); dir != "" {
		return dir
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(home, ".cache", "sojourn")
}

// A part is one table.
type part struct {
	name  string
	about string // one line above the table
	run   func(context.Context, *bench) error
	pivot bool // cases are columns
}

func parts() []part {
	return []part{
		{
			"mr",
			"The embedded engine on files in the page cache, whole processes, output on disk. MB/s of input " +
				"on the wall.",
			runMR,
			false,
		},
		{
			"pairs",
			"Jobs that emit a pair for nearly every word or line. MB/s of what the maps emit (MAP_OUTPUT_BYTES).",
			runPairs,
			false,
		},
		{"streaming", "Programs as mapper and reducer. MB/s of input.", runStreaming, false},
		{"overhead", "What the engine costs where there is nothing to do.", runOverhead, false},
		{
			"sim",
			"The day FB-2010 (24,442 jobs, 8.1 M maps) on 600 nodes of 5 slots, on one core. Million events a " +
				"second, reading included.",
			runSim,
			false,
		},
		{
			"seeds",
			"`sim --seeds`, two policies with twelve seeds each, on all processors and on one. Simulations a second " +
				"of " +
				"the whole process. The goal is for two processors.",
			runSeeds,
			false,
		},
		{
			"decisions",
			"One completion, and what is launched in its place, core included, in µs of processor time; as many jobs " +
				"as nodes of 5 slots, in one queue or in so many. At once: what each of so many jobs costs that come " +
				"at one instant.",
			runDecisions,
			true,
		},
		{
			"events",
			"What an event costs where a task ends, and where its job ends with it and another comes: medians in µs " +
				"of processor time, core included; as many jobs as nodes of 5 slots.",
			runEvents,
			true,
		},
		{
			"replay",
			"A mix run for real and recorded, then simulated from its record under the same policy. Mean sojourn " +
				"time in seconds.",
			runReplay,
			false,
		},
		{
			"yarn",
			"ResourceManagers under the load of a cluster with ten applications, over real sockets, on the cores " +
				"that the load itself needs too.",
			runYARN,
			true,
		},
	}
}

func partNames() (names []string) {
	for _, p := range parts() {
		names = append(names, p.name)
	}
	return names
}

// bench is a run of the benchmarks.
type bench struct {
	*options
	started time.Time
	rows    []row
	part    string // being run
}

func run(ctx context.Context, args []string) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	b := &bench{options: o, started: time.Now()}
	for _, dir := range []string{"output", "tmp"} {
		if err := os.RemoveAll(b.path(dir)); err != nil { // what a run that was ended left behind
			return err
		}
		defer os.RemoveAll(b.path(dir))
		if err := os.MkdirAll(b.path(dir), 0o777); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(b.path("input"), 0o777); err != nil {
		return err
	}
	doc := document{Machine: thisMachine(ctx, o)}
	for _, p := range parts() {
		if len(o.only) > 0 && !slices.Contains(o.only, p.name) {
			continue
		}
		b.part, b.rows = p.name, nil
		load := b.whenIdle(ctx, loadAverage)
		if err := p.run(ctx, b); err != nil {
			return fmt.Errorf("part %s: %w", p.name, err)
		}
		t := results{Part: p.name, About: p.about, Load: load, Rows: b.rows, pivot: p.pivot}
		doc.Tables = append(doc.Tables, t)
		if !o.json {
			t.print(os.Stdout)
		}
		if o.markdown != "" {
			if err := replaceTable(o.markdown, doc.Machine, t); err != nil {
				return err
			}
		}
	}
	doc.Seconds = time.Since(b.started).Seconds()
	if o.json {
		return doc.print(os.Stdout)
	}
	fmt.Printf("%s\n%.0f s\n", doc.Machine, doc.Seconds)
	return nil
}

// calmLoad is the load of the machine from which on a part waits. It is written as less than 1.
const calmLoad = 0.95

// whenIdle waits until the machine is idle, or for as long as the flag -calm says, and returns the load then. The wait
// does not count as time of the benchmarks.
func (b *bench) whenIdle(ctx context.Context, load func() float64) float64 {
	begun, now := time.Now(), load()
	for told := false; now >= calmLoad && time.Since(begun) < b.calm && ctx.Err() == nil; now = load() {
		if !told {
			b.say("the load is %.1f: waits until it is below 1", now)
			told = true
		}
		select {
		case <-ctx.Done():
		case <-time.After(5 * time.Second):
		}
	}
	b.started = b.started.Add(time.Since(begun))
	return now
}

// path names a file in the folder of the benchmarks.
func (b *bench) path(elements ...string) string {
	return filepath.Join(append([]string{b.dir}, elements...)...)
}

// absolute is path from the root.
func (b *bench) absolute(elements ...string) string {
	path := b.path(elements...)
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// fresh returns the path of an output that does not exist.
func (b *bench) fresh(name string) (string, error) {
	path := b.path("output", name)
	return path, os.RemoveAll(path)
}

// late reports whether a part of the time for everything is over.
func (b *bench) late(part float64) bool {
	return time.Since(b.started).Seconds() > part*b.limit.Seconds()
}

// say prints progress to standard error.
func (b *bench) say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%4.0f s  %s: %s\n", time.Since(b.started).Seconds(), b.part, fmt.Sprintf(format, args...))
}

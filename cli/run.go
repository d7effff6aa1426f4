package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/sojourn-sched/sojourn/internal/joblog"
	"github.com/sojourn-sched/sojourn/internal/record"
	"github.com/sojourn-sched/sojourn/internal/run"
	"github.com/sojourn-sched/sojourn/internal/spelling"
	"github.com/sojourn-sched/sojourn/internal/workload"
	"github.com/sojourn-sched/sojourn/mr"
	"github.com/sojourn-sched/sojourn/mr/input"
	"github.com/sojourn-sched/sojourn/mr/store"
	"github.com/sojourn-sched/sojourn/policy"
	"github.com/sojourn-sched/sojourn/sched"
)

// runFlags say what to run on this machine, and under which policies.
type runFlags struct {
	output
	leaving
	policies policyFlags
	program  workload.Program
	conf     []string
	terms    termFlags
	cluster  string
	offers   string
	memory   string
	state    string
	chaos    string
	timeout  timeoutFlag
	logs     string
	live     livePage
	seed     uint64
	repeats  int
	repeat   int // the one that goes on, from 1; 0: none
}

// A timeoutFlag is --timeout, and whether it was given.
type timeoutFlag struct {
	most  time.Duration // that an attempt may show no sign of life; 0: any
	given bool
}

func runCommand(a *app) *cobra.Command {
	f := runFlags{program: workload.Program{Reduces: -1}}
	c := &cobra.Command{
		Use:   "run [JOB | WORKLOAD.yaml]",
		Short: "Run MapReduce jobs on this machine, one or a whole workload",
		Long: `Run a built-in job, programs of yours in any language by Hadoop Streaming's contract, or a workload of
several jobs that arrive over time, under one policy or several to compare them. Nothing appears in an output directory
until its job has succeeded.

A mapper starts once for each file of its task's input, a reducer once for each part of the output, so neither keeps
state over the whole input. docs/programs.md has the contract of programs, and the form of a workload:

  queues: [{name: etl, weight: 2}, {name: adhoc}]
  jobs:
    - {name: words, job: wordcount, input: [corpus/], output: out/words}
    - {name: mine, mapper: ./m.py, reducer: ./r.py, input: [logs/],
       output: out/mine, submit: 5s, queue: etl}`,
		Example: `  sojourn run wordcount --input books/ --output counts
  sojourn run --mapper ./m.py --reducer ./r.py --input 'logs/*.gz' --output out --reduces 4
  sojourn run --mapper "sh -c 'grep -v ^# | cut -f 2'" --reducer 'uniq -c' --input data/ --output out
  sojourn run sort --input logs/ --output sorted --deadline 90s --policy edf
  sojourn run mix.yaml --policy fifo --policy fair --policy hfsp
  sojourn run mix.yaml --policy fifo --policy hfsp --repeats 10`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usagef("%s takes the name of a job or a workload file, got %q: input and output are flags, as "+
					"in --input %s --output DIRECTORY", cmd.CommandPath(), args, args[1])
			}
			return nil
		},
		ValidArgsFunction: fileOr(sortedKeys(a.jobs)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if n := f.program.Reduces; n < 0 && cmd.Flags().Changed("reduces") {
				return usagef("--reduces %d: must not be negative; 0: no reduces, each map writes a part", n)
			}
			f.timeout.given = cmd.Flags().Changed("timeout")
			return f.live.during(cmd.Context(), a, func() error { return f.execute(cmd.Context(), a, args) })
		},
	}
	f.live.register(c)
	f.output.register(c)
	f.plots.register(c, plotsOfAll, plotsOfOne)
	f.leaving.register(c, "replace outputs and files of earlier runs, outputs once the new ones are complete")
	f.registerRecord(c)
	f.policies.register(c, a.names, "")
	fl := c.Flags()
	fl.StringArrayVar(&f.program.Input, "input", nil, "file, directory or glob to read, or - for standard input; "+
		"several by repeating the flag")
	fl.StringVar(&f.program.Output, "output", "", "directory to write; it must not exist; with several policies "+
		"it has one for each, unless the name contains {policy}")
	fl.StringVar(&f.program.Mapper, "mapper", "", "program that reads lines and writes key TAB value lines")
	fl.StringVar(&f.program.Reducer, "reducer", "", "program that reads those lines in order of keys; NONE: no reduce")
	fl.StringVar(&f.program.Combiner, "combiner", "", "program to run on parts of the mapper's output first")
	fl.Int32Var(&f.program.Reduces, "reduces", -1, "number of parts of the output; 0, for programs only: no reduce, "+
		"each map writes a part; default: as many as cores")
	fl.StringArrayVarP(&f.conf, "define", "D", nil, "KEY=VALUE of a job's configuration; several by repeating the flag")
	f.terms.register(c)
	fl.StringVar(
		&f.cluster,
		"cluster",
		"",
		"nodes to account on, such as nodes=2,map-slots=2,reduce-slots=1, or a YAML file; default: one node, as many "+
			"vcores as cores",
	)
	fl.StringVar(&f.offers, "availability", "", "what a service on this machine leaves for jobs: a timetable, a file "+
		"with lines such as 6h 40%, or the word measured; running tasks are slowed to it; default: all")
	fl.StringVar(&f.memory, "memory", "", "most memory to use; default: a quarter of the machine's")
	fl.StringVar(&f.state, "state", "", "folder for what the next run goes on with: debts between queues "+
		"(of longterm) or profiles of tasks (of ras and reverse) in policy.json, and what was learned of task times "+
		"in history.db")
	fl.StringVar(&f.chaos, "chaos", "", "lose attempts, programs and map outputs at random: rate=0.01,seed=7")
	fl.DurationVar(&f.timeout.most, "timeout", 10*time.Minute, "end an attempt that shows no sign of life for so "+
		"long; 0: never")
	fl.StringVar(&f.logs, "logs", "", "folder for what programs write to standard error; default: beside the "+
		"record or the output, with .logs added to its name; with several policies the name contains {policy}")
	fl.Uint64Var(&f.seed, "seed", 1, "seed of all chance")
	fl.IntVar(&f.repeats, "repeats", 1, "run everything so often, policies in turn, and print means with 95 % "+
		"intervals")
	c.AddCommand(runLogs(a))
	return c
}

// A mix is all jobs of a run, and where they run.
type mix struct {
	name    string
	single  bool // one job from the command line
	jobs    []run.RealJob
	cluster *workload.Cluster
	memory  int64
	chaos   mr.Chaos
}

func (f *runFlags) execute(ctx context.Context, a *app, args []string) error {
	m, err := f.mix(a, args)
	if err != nil {
		return err
	}
	policies, err := f.settle(a, m)
	if err != nil {
		return err
	}
	load := loadAverage()
	if len(policies) > 1 || f.repeats > 1 {
		warnBusy(a, load)
	}
	runs, err := f.runAll(ctx, a, m, policies)
	if err != nil {
		return interruption{err, f.leftOutputs(m, policies, runs)}
	}
	differ, err := compareOutputs(m, runs[len(runs)-len(policies):])
	if err != nil {
		return err
	}
	if f.repeats > 1 {
		return errors.Join(f.printRepeats(a, repeatedRun{m, policies, runs, load}), failuresOf(m, runs, differ))
	}
	c := comparison{m, f.seed, runs, differ}
	if f.json {
		err = c.printJSON(a)
	} else {
		c.print(a)
	}
	err = errors.Join(err, f.plots.draw(curvesOf(runs)))
	for _, r := range runs {
		err = errors.Join(err, r.undrawn)
	}
	return errors.Join(err, failuresOf(m, runs, differ))
}

// settle returns the policies under which a mix is run. It checks all that can be checked before any work is done.
func (f *runFlags) settle(a *app, m *mix) ([]string, error) {
	policies, err := f.policies.parse(a.names, run.Embedded)
	if err != nil {
		return nil, err
	}
	if err := checkNamed("logs", f.logs, policies); err != nil {
		return nil, err
	}
	if f.state != "" && len(policies) > 1 {
		return nil, usagef("--state: the debts are of one policy, got %s", strings.Join(policies, ", "))
	}
	if err := f.checkRepeats(); err != nil {
		return nil, err
	}
	if err := f.policies.keepIn(f.state, a.names); err != nil {
		return nil, err
	}
	if err := f.plots.parse(policies, true); err != nil {
		return nil, err
	}
	if err := f.leaving.check(policies, func() []flagFile { return f.reads(m) }); err != nil {
		return nil, err
	}
	capacity := m.cluster.Capacity()
	if err := f.policies.check(a, policies, run.Embedded, &capacity); err != nil {
		return nil, err
	}
	for _, j := range m.jobs {
		if err := f.machine(a, m).Check(j.Program); err != nil {
			return nil, usageError{fmt.Errorf("job %q: %w", j.Spec.Name, err)}
		}
	}
	if err := checkInputs(m, len(policies)*f.repeats); err != nil {
		return nil, err
	}
	return policies, f.checkOutputs(m, policies)
}

// reads lists the files that a run reads. What of the input cannot be found is told by the job that wants it.
func (f *runFlags) reads(m *mix) []flagFile {
	list := []flagFile{{"--cluster", f.cluster}, {"--history", f.policies.history}}
	if f.offers != measured {
		list = append(list, flagFile{"--availability", f.offers})
	}
	if !m.single {
		list = append(list, flagFile{"workload", m.name})
	}
	for _, j := range m.jobs {
		for _, words := range []string{j.Program.Mapper, j.Program.Reducer, j.Program.Combiner} {
			for _, word := range strings.Fields(words) {
				if _, err := os.Stat(word); err == nil {
					list = append(list, flagFile{"program", word})
				}
			}
		}
		for _, pattern := range j.Program.Input {
			files, _ := input.Expand([]string{pattern}, input.Config{})
			for i := range files {
				list = append(list, flagFile{"--input", files[i].Path})
			}
		}
	}
	return list
}

// A policyPlace is a policy and whether its outputs have a directory of their own.
type policyPlace struct {
	policy string
	apart  bool
}

// output returns where a job writes under a policy: dir with the policy in its name, or a folder in dir that has the
// name of the policy.
func (p policyPlace) output(dir string) string {
	if strings.Contains(dir, inName) {
		return named(dir, p.policy)
	}
	if p.apart {
		return filepath.Join(dir, fileName(p.policy))
	}
	return dir
}

// mix reads what is to be run.
func (f *runFlags) mix(a *app, args []string) (*mix, error) {
	if err := f.output.check(); err != nil {
		return nil, err
	}
	m := &mix{}
	var err error
	if f.program.Conf, err = parseConf(f.conf); err == nil {
		err = f.readHadoopKeys()
	}
	if err != nil {
		return nil, err
	}
	if err := f.place(a, m); err != nil {
		return nil, err
	}
	streams := f.program.Mapper != "" || f.program.Reducer != "" || f.program.Combiner != ""
	switch {
	case len(args) == 0 && !streams:
		return nil, usagef("run what? the name of a job ('sojourn jobs' lists them), a workload file, or --mapper " +
			"and --reducer")
	case len(args) == 1 && streams:
		return nil, usagef("%q and --mapper, --reducer or --combiner: give one or the other", args[0])
	case len(args) == 1:
		if _, ok := a.jobs[args[0]]; !ok {
			if _, err := os.Stat(args[0]); err != nil {
				_, unknown := jobNamed(a, args[0])
				return nil, fmt.Errorf("%w; and no file of that name is there", unknown)
			}
			return m, f.readMix(a, m, args[0])
		}
		f.program.Job = args[0]
	}
	if len(f.program.Input) == 0 {
		return nil, usagef("--input is needed: which files?")
	}
	if f.program.Output == "" {
		return nil, usagef("--output is needed: a directory that does not exist yet")
	}
	m.single, m.name = true, f.program.Job
	if m.name == "" {
		m.name = streamingName(f.program)
	}
	spec, err := f.terms.spec(m.name, f.program.Conf)
	if err != nil {
		return nil, err
	}
	m.jobs = []run.RealJob{{Spec: spec, Program: f.program}}
	return m, nil
}

// streamingName names a job after its mapper and its reducer.
func streamingName(p workload.Program) string {
	var names []string
	for _, command := range []string{p.Mapper, p.Reducer} {
		if program, arguments, more := strings.Cut(strings.TrimSpace(command), " "); program != "" {
			name := filepath.Base(program)
			if more {
				name += " " + arguments
			}
			names = append(names, name)
		}
	}
	return strings.Join(names, " ")
}

// readMix reads a workload file.
func (f *runFlags) readMix(a *app, m *mix, path string) error {
	if len(f.program.Input) > 0 || f.program.Output != "" || len(f.conf) > 0 || f.terms != (termFlags{}) {
		return usagef("--input, --output, --deadline, --goal, --weight and -D are for a single job, and %s is taken "+
			"for a workload file, which says them for each; a program of yours is named by --mapper or --reducer", path)
	}
	file, err := workload.Open(path, workload.Defaults())
	if err != nil {
		return fmt.Errorf("%w; a program of yours is named by --mapper or --reducer", err)
	}
	m.name = path
	for spec, err := range file.Jobs {
		if err != nil {
			return err
		}
		program, ok := spec.Payload.(*workload.Program)
		if !ok {
			return fmt.Errorf("%s: job %q says how long it takes and not what to run: 'sojourn sim --trace %s' "+
				"simulates it", path, spec.Name, path)
		}
		m.jobs = append(m.jobs, run.RealJob{Spec: spec, Program: *program})
	}
	if len(m.jobs) == 0 {
		return fmt.Errorf("%s: no jobs", path)
	}
	if len(m.cluster.Queues) == 0 {
		m.cluster.Queues = file.Queues
	} else if len(file.Queues) > 0 {
		a.remark("the cluster's queues are used, not those of %s", path)
	}
	if err := policy.CheckQueues(m.cluster.Queues); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	capacity := m.cluster.Capacity()
	if err := checkMaxima(m.cluster.Queues, capacity, mr.SiteOf(capacity, nil).Map); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	names := namesOf(m.cluster.Queues)
	for i := range m.jobs {
		if err := names.check(m.jobs[i].Spec); err != nil {
			return err
		}
	}
	return nil
}

// place reads what the jobs run on.
func (f *runFlags) place(a *app, m *mix) (err error) {
	if m.memory, err = memoryFlag(f.memory); err != nil {
		return err
	}
	if m.chaos, err = chaosFlag(f.chaos, f.seed); err != nil {
		return err
	}
	if f.timeout.most < 0 {
		return usagef("--timeout %v: must not be negative", f.timeout.most)
	}
	if f.cluster != "" {
		m.cluster, err = openCluster(f.cluster)
		if err != nil {
			return err
		}
		if c := m.cluster.Capacity(); c[sched.VCores] > int64(runtime.NumCPU()) {
			a.remark("the cluster has %s and this machine %s: tasks will take turns",
				spelling.Count(c[sched.VCores], "vcore"), spelling.Count(runtime.NumCPU(), "core"))
		}
		return nil
	}
	var r sched.Resources
	r[sched.VCores], r[sched.Memory] = int64(runtime.GOMAXPROCS(0)), m.memory>>20
	m.cluster = &workload.Cluster{
		Classes: []workload.Class{{Name: "local", Count: 1, Racks: 1, Speed: 1, Resources: r}},
	}
	return nil
}

func memoryFlag(text string) (int64, error) {
	if text == "" {
		total, err := machineMemory()
		if err != nil {
			return 0, fmt.Errorf("find out how much memory there is: %w; say --memory", err)
		}
		return total / 4, nil
	}
	n, err := workload.ParseSize(text)
	if err != nil {
		return 0, usageError{fmt.Errorf("--memory: %w", err)}
	}
	return n, nil
}

func chaosFlag(text string, seed uint64) (mr.Chaos, error) {
	c := mr.Chaos{Seed: seed}
	if text == "" {
		return c, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		key, value, _ := strings.Cut(part, "=")
		var err error
		switch key {
		case "rate":
			if c.Rate, err = strconv.ParseFloat(value, 64); err != nil || !(c.Rate >= 0 && c.Rate < 1) {
				return c, usagef("--chaos rate=%s: must be from 0 to below 1", value)
			}
		case "seed":
			if c.Seed, err = strconv.ParseUint(value, 10, 64); err != nil {
				return c, usagef("--chaos seed=%s: must be a whole number, 0 or more", value)
			}
		default:
			return c, usagef("--chaos %q: must be rate=0.01,seed=7", text)
		}
	}
	return c, nil
}

// readHadoopKeys reads the keys of Hadoop's configuration that mean what --reduces and --timeout mean, and removes them
// from the configuration. A flag that is given goes before its keys.
func (f *runFlags) readHadoopKeys() error {
	for _, key := range []string{"mapreduce.job.reduces", "mapred.reduce.tasks", "mapreduce.task.timeout",
		"mapred.task.timeout"} {
		value, ok := f.program.Conf[key]
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(value, 10, 32)
		if err != nil || n < 0 {
			return usagef("-D %s=%s: must be a whole number from 0", key, value)
		}
		delete(f.program.Conf, key)
		switch {
		case strings.HasSuffix(key, ".task.timeout"):
			if !f.timeout.given {
				f.timeout.most, f.timeout.given = time.Duration(n)*time.Millisecond, true
			}
		case f.program.Reduces < 0:
			f.program.Reduces = int32(n)
		}
	}
	return nil
}

func parseConf(pairs []string) (map[string]string, error) {
	conf := map[string]string{}
	for _, p := range pairs {
		key, value, ok := strings.Cut(p, "=")
		if !ok || key == "" {
			return nil, usagef("-D %q: must be KEY=VALUE", p)
		}
		conf[key] = value
	}
	return conf, nil
}

// checkInputs refuses input that is not there, before any work is done. Of several jobs one may make the input of
// another. A pipe is refused where it would be read more than once, in so many runs or by two jobs.
func checkInputs(m *mix, runs int) error {
	pipes := map[string]string{} // the job that reads each
	for _, j := range m.jobs {
		for _, path := range j.Program.Input {
			files, err := inputFiles(path)
			if err != nil && len(m.jobs) == 1 {
				return err
			}
			for i := range files {
				f := &files[i]
				if !f.Pipe || f.Path == os.DevNull {
					continue
				}
				if runs > 1 {
					return usagef("input %s is a pipe, which can be read once, and there are %d runs: write it to a "+
						"file", path, runs)
				}
				if other, twice := pipes[f.Path]; twice && other != j.Spec.Name {
					return usagef("input %s is a pipe, which can be read once, and jobs %q and %q read it: write it "+
						"to a file", path, other, j.Spec.Name)
				}
				pipes[f.Path] = j.Spec.Name
			}
		}
	}
	return nil
}

// inputFiles finds the files of one input, as far as that costs little: of a directory or a store none.
func inputFiles(path string) ([]input.File, error) {
	place, isStore := run.StoreIn(path)
	if !isStore {
		place = path
	}
	info, err := os.Stat(place)
	switch {
	case isStore && place == "":
		return nil, fmt.Errorf("input %q: %w", path, store.ErrNoFolder)
	case errors.Is(err, fs.ErrNotExist) && path != "-" && (isStore || !strings.ContainsAny(path, `*?[{\`)):
		if strings.Contains(path, ",") {
			return nil, fmt.Errorf("input %s: %w; several inputs are named by repeating --input", path, fs.ErrNotExist)
		}
		return nil, fmt.Errorf("input %s: %w", path, fs.ErrNotExist)
	case isStore || err == nil && info.IsDir():
		return nil, nil
	}
	return input.Expand([]string{path}, input.Config{Flat: true})
}

// checkOutputs refuses outputs that exist or that two jobs share, before any work is done.
func (f *runFlags) checkOutputs(m *mix, policies []string) error {
	var all []outputPlace
	for _, j := range m.jobs {
		if j.Program.Output == "" {
			return fmt.Errorf("%s: job %q has no output", m.name, j.Spec.Name)
		}
		for _, p := range policies {
			dir, err := filepath.Abs(policyPlace{p, len(policies) > 1}.output(j.Program.Output))
			if err != nil {
				return err
			}
			all = append(all, outputPlace{job: j.Spec.Name, dir: dir, at: whereabouts(dir)})
		}
	}
	if err := apart(all); err != nil {
		return err
	}
	for i, j := range m.jobs {
		var there []string // the outputs that exist
		for _, o := range all[i*len(policies) : (i+1)*len(policies)] {
			switch _, err := os.Lstat(o.dir); {
			case err == nil && !f.overwrite:
				return fmt.Errorf("output %s exists: choose another, remove it, or say --overwrite", o.dir)
			case err == nil:
				there = append(there, o.dir)
			case errors.Is(err, syscall.ENOTDIR):
				return fmt.Errorf("output %s: a file stands where a directory above it must be", o.dir)
			case !errors.Is(err, fs.ErrNotExist):
				return fmt.Errorf("output %s: %w", o.dir, err)
			}
		}
		if err := replaces(there, j); err != nil {
			return err
		}
	}
	return nil
}

// An outputPlace is the directory that a job writes under a policy.
type outputPlace struct {
	job string
	dir string // as messages have it
	at  string // without links above it
}

// apart refuses outputs that are one directory, and an output that lies in the tree of another one: the job that ends
// last would replace both. O(outputs * depth of their paths).
func apart(outputs []outputPlace) error {
	seen := map[string]outputPlace{} // by at
	for _, o := range outputs {
		if other, twice := seen[o.at]; twice {
			return fmt.Errorf("jobs %q and %q both write to %s", other.job, o.job, o.dir)
		}
		seen[o.at] = o
	}
	for _, o := range outputs {
		for above := filepath.Dir(o.at); above != filepath.Dir(above); above = filepath.Dir(above) {
			if other, in := seen[above]; in {
				return fmt.Errorf("job %q writes to %s, which lies in the output %s of job %q: choose another output",
					o.job, o.dir, other.dir, other.job)
			}
		}
	}
	return nil
}

// replaces refuses output directories that have input of their own job.
func replaces(dirs []string, j run.RealJob) error {
	if len(dirs) == 0 {
		return nil
	}
	files, _ := input.Expand(j.Program.Input, input.Config{}) // the job says what it does not find
	for i := range files {
		at := whereabouts(files[i].Path)
		for _, dir := range dirs {
			if strings.HasPrefix(at, whereabouts(dir)+string(filepath.Separator)) {
				return usagef("job %q: --overwrite would replace %s, which has its input %s: choose another output",
					j.Spec.Name, dir, files[i].Path)
			}
		}
	}
	return nil
}

// A policyRun is what one policy made of the mix.
type policyRun struct {
	place       policyPlace
	repeat      int // from 1
	result      record.Result
	rows        []record.JobRow
	jobs        []mr.Result
	counters    []mr.Counters // by job of the mix
	undrawn     error         // of its own pictures
	predictions []run.Prediction
}

// under runs the mix under one policy.
func (f *runFlags) under(ctx context.Context, a *app, m *mix, place policyPlace) (*policyRun, error) {
	rows, err := newJobTable(named(f.perJob, place.policy))
	if err != nil {
		return nil, err
	}
	defer rows.drop()
	r := &policyRun{place: place, repeat: f.repeat}
	setup := run.Setup{
		Names:     a.names,
		Choice:    f.policies.choice(place.policy),
		History:   f.policies.history,
		State:     f.state,
		Workload:  m.name,
		Seed:      f.seed,
		Record:    named(f.record, place.policy),
		Overwrite: f.overwrite,
		Unsaved:   func(err error) { fmt.Fprintf(a.Err, "sojourn: what was learned is not saved yet: %v\n", err) },
		Note:      func(note string) { a.remark("policy %s: %s", place.policy, note) },
		Row: func(row *record.JobRow) {
			r.rows = append(r.rows, *row)
			rows.write(row)
		},
	}
	machine := f.machine(a, m)
	machine.Output = place.output
	machine.Logs = joblog.Place{Dir: f.logsOf(m, place), Repeat: f.repeat, Of: f.repeats}
	bars := newJobBars(&f.output, a.Err, place.policy, len(m.jobs))
	config := mr.Config{Chaos: m.chaos, Timeout: f.timeout.most, Report: time.Second, Watch: bars.watch}
	if err := offer(f.offers, m.cluster, &setup, &config); err != nil {
		return nil, err
	}
	setup.Watch = f.narrate(a.Err, place.policy)
	draw := f.plots.watch(&setup)
	over := f.live.watch(a, &setup, run.Embedded, machine.Logs.Folder())
	out, err := machine.Serve(ctx, setup, config, m.jobs)
	over(err)
	bars.stop()
	a.stack(err, f.verbose)
	if ctx.Err() == nil { // else what ran was ended by the user
		f.tellFailures(a, out.Jobs, machine.Logs.Folder())
	}
	if out.Jobs == nil && err != nil {
		return nil, err
	}
	r.result, r.jobs, r.counters, r.predictions = out.Result, out.Jobs, out.Counters, out.Predictions
	if err == nil {
		r.undrawn, err = draw(), rows.keep()
	}
	return r, err
}

// machine returns where the jobs of a mix run.
func (f *runFlags) machine(a *app, m *mix) *run.Machine {
	return &run.Machine{
		Jobs:      a.jobs,
		Cluster:   m.cluster,
		Memory:    m.memory,
		Overwrite: f.overwrite,
		Notes: func(job, remark string) {
			if job != "" {
				remark = "job " + job + ": " + remark
			}
			a.remark("%s", remark)
		},
	}
}

// compareOutputs returns the jobs whose output differs between policies.
func compareOutputs(m *mix, runs []*policyRun) (differ []string, err error) {
	for i, j := range m.jobs {
		for _, r := range runs[1:] {
			if len(r.jobs) <= i || r.jobs[i].Outcome != sched.OK || runs[0].jobs[i].Outcome != sched.OK {
				continue
			}
			same, err := equalFolders(runs[0].place.output(j.Program.Output), r.place.output(j.Program.Output))
			if err != nil {
				return nil, err
			}
			if !same && !slices.Contains(differ, j.Spec.Name) {
				differ = append(differ, j.Spec.Name)
			}
		}
	}
	return differ, nil
}

// A jobFailure is why a job failed under a policy.
type jobFailure struct {
	policy string
	job    int // of the mix
	why    string
}

// failuresOf makes an error of failed jobs and of outputs that differ. A job that fails in the same way in several
// repeats is told once, with their numbers.
func failuresOf(m *mix, runs []*policyRun, differ []string) error {
	var order []jobFailure
	repeats, wrong := map[jobFailure][]string{}, map[jobFailure]bool{}
	for _, r := range runs {
		for _, res := range r.jobs {
			if res.Err == nil {
				continue
			}
			f := jobFailure{r.place.policy, res.Index, res.Err.Error()}
			if repeats[f] == nil {
				order = append(order, f)
			}
			repeats[f] = append(repeats[f], strconv.Itoa(r.repeat))
			wrong[f] = errors.Is(res.Err, input.ErrTooLong) // the input is wrong, not the work
		}
	}
	var errs []error
	for _, f := range order {
		in := ""
		if runs[len(runs)-1].repeat > 1 {
			in = fmt.Sprintf(" in repeat %s,", firstFew(repeats[f]))
		}
		failed := failuref
		if wrong[f] {
			failed = fmt.Errorf
		}
		errs = append(errs, failed("under %s,%s job %q failed: %s", f.policy, in, m.jobs[f.job].Spec.Name, f.why))
	}
	if len(differ) > 0 {
		errs = append(errs, failuref("the output of %s differs between policies", strings.Join(differ, ", ")))
	}
	return errors.Join(errs...)
}

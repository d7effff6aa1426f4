package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sojourn-sched/sojourn/internal/record"
	"github.com/sojourn-sched/sojourn/internal/spelling"
	"github.com/sojourn-sched/sojourn/internal/submit"
	"github.com/sojourn-sched/sojourn/internal/workload"
	"github.com/sojourn-sched/sojourn/internal/yarn"
	"github.com/sojourn-sched/sojourn/sched"
)

// submitFlags say what to submit to a cluster, and to which.
type submitFlags struct {
	output
	program workload.Program
	conf    []string
	terms   termFlags
	queue   string
	name    string
	jar     string
	files   []string
	place   submitPlace
	sample  string
	history string
	seed    uint64
}

// A submitPlace is the cluster, and what is used to reach it.
type submitPlace struct {
	conf    string // folder
	hadoop  string // command
	rm      []string
	binary  string
	asUsers bool
	clients int
}

func submitCommand(a *app) *cobra.Command {
	f := submitFlags{program: workload.Program{Reduces: -1}}
	c := &cobra.Command{
		Use:   "submit [JOB | WORKLOAD.yaml | --jar FILE [CLASS]] [-- ARGUMENT ...]",
		Short: "Submit MapReduce jobs to a YARN cluster, one or a whole workload",
		Long: `Submit a built-in job, programs of yours by Hadoop Streaming, a MapReduce jar, or the workload file that
'sojourn run' takes, to a YARN cluster, and wait until all have ended. Input and output are on the cluster's file
system. Jobs run by Hadoop's own commands hadoop, mapred and yarn, which must be installed here; the cluster needs
nothing of Sojourn, and its ResourceManager may be Hadoop's or 'sojourn rm'. Deadlines, goals, weights and sizes are
told in tags, which 'sojourn rm' reads. With --sample each job's size is measured on a part of its input first.
Ctrl-C kills what was submitted.`,
		Example: `  sojourn submit wordcount --input books --output counts --reduces 4
  sojourn submit --mapper ./m.py --reducer ./r.py --input 'logs/*.gz' --output out --deadline 10m
  sojourn submit mix.yaml --sample 0.1 --conf /etc/hadoop/conf
  sojourn submit --jar app.jar Main --input in --output out --sample 2 -- {input} {output}`,
		ValidArgsFunction: fileOr(sortedKeys(a.jobs)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if n := f.program.Reduces; n < 0 && cmd.Flags().Changed("reduces") {
				return usagef("--reduces %d: must not be negative; 0: no reduces, each map writes a part", n)
			}
			words, rest := args, []string(nil)
			if at := cmd.ArgsLenAtDash(); at >= 0 {
				words, rest = args[:at], args[at:]
			}
			return leaves(f.execute(cmd.Context(), a, words, rest), "what it had submitted was killed, unless it is "+
				"named above,\n  and outputs of finished jobs stay on the cluster; when these are removed the same "+
				"command submits all jobs again")
		},
	}
	f.output.register(c)
	fl := c.Flags()
	fl.StringArrayVar(&f.program.Input, "input", nil, "file, directory or glob on the cluster to read; several by "+
		"repeating the flag")
	fl.StringVar(&f.program.Output, "output", "", "directory on the cluster to write; it must not exist")
	fl.StringVar(&f.program.Mapper, "mapper", "", "program that reads lines and writes key TAB value lines; it is "+
		"shipped if it is a file here")
	fl.StringVar(&f.program.Reducer, "reducer", "", "program that reads those lines in order of keys; NONE: no reduce")
	fl.StringVar(&f.program.Combiner, "combiner", "", "program to run on parts of the mapper's output first")
	fl.Int32Var(&f.program.Reduces, "reduces", -1, "number of parts of the output; 0, for programs only: no "+
		"reduce, each map writes a part; default: as the cluster's configuration says")
	fl.StringArrayVarP(&f.conf, "define", "D", nil, "KEY=VALUE of a job's configuration; several by repeating the flag")
	fl.StringVar(&f.jar, "jar", "", "MapReduce jar that reads -D options; its arguments follow --, with {input} and "+
		"{output} for those of the job")
	fl.StringArrayVar(&f.files, "file", nil, "file to ship with a single job; several by repeating the flag")
	fl.StringVar(&f.name, "name", "", "name of a single job; default: that of the built-in job or the programs")
	fl.StringVar(&f.queue, "queue", "", "queue of a single job")
	f.terms.register(c)
	f.place.register(c)
	fl.StringVar(&f.sample, "sample", "", "run a sample of each job first and tell its size to the scheduler: a part "+
		"of the input as 0.1, a number of splits as 3, or a size as 64MiB")
	fl.StringVar(&f.history, "history", "", "file that keeps what sizes were learned from samples, for the next run")
	fl.Uint64Var(&f.seed, "seed", 1, "seed of all chance: which files a sample reads")
	return c
}

func (p *submitPlace) register(c *cobra.Command) {
	fl := c.Flags()
	fl.StringVar(&p.conf, "conf", "", "folder with the cluster's configuration; default: $HADOOP_CONF_DIR, or that of "+
		"the installation")
	fl.StringVar(&p.hadoop, "hadoop", "", "Hadoop's command hadoop, beside mapred and yarn; default: that of "+
		"$HADOOP_HOME, or the one along PATH")
	fl.StringArrayVar(&p.rm, "rm", nil, "address of the ResourceManager's REST, as http://host:8088; several by "+
		"repeating the flag; default: as the configuration says")
	fl.StringVar(&p.binary, "binary", "", "this program for the cluster's machines, which built-in jobs run there: a "+
		"file here or an address on the cluster; default: this program itself")
	fl.IntVar(&p.clients, "clients", 20, "jobs that have a client of Hadoop at a time, a Java process of some 200 MB "+
		"each; further jobs wait here, in the order of their arrivals")
	fl.BoolVar(&p.asUsers, "as-users", false, "submit each job as the user that the workload names, on clusters "+
		"without Kerberos")
}

// submitter makes what submits to the cluster.
func (f *submitFlags) submitter(a *app) (*submit.Submitter, error) {
	p := &f.place
	if p.clients < 1 {
		return nil, usagef("--clients %d: must be at least 1", p.clients)
	}
	for _, at := range p.rm {
		if u, err := url.Parse(at); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return nil, usagef("--rm %s: must be an address as http://host:8088", at)
		}
	}
	client, err := submit.Find(p.hadoop, p.conf)
	if err != nil {
		return nil, err
	}
	if f.verbose {
		client.Log = a.Err
	}
	if len(p.rm) == 0 {
		if p.rm, err = yarn.WebAddresses(client.Conf); err != nil {
			return nil, err
		}
	}
	s := &submit.Submitter{
		Client: client, Cluster: &submit.Cluster{Addresses: p.rm}, Jobs: a.jobs, Binary: p.binary, AsUsers: p.asUsers,
		Clients: p.clients,
		Notes:   func(job, remark string) { a.remark("job %s: %s", job, remark) },
	}
	if s.Binary == "" {
		if s.Binary, err = os.Executable(); err != nil {
			return nil, fmt.Errorf("find this program, to ship it: %w: name it by --binary", err)
		}
	}
	if f.sample == "" {
		return s, nil
	}
	if s.Sampling, err = submit.ParseSampling(f.sample); err != nil {
		return nil, usageError{fmt.Errorf("--sample %w", err)}
	}
	s.Sampling.Seed = f.seed
	s.Sizes, err = submit.OpenSizes(f.history)
	return s, err
}

func (f *submitFlags) execute(ctx context.Context, a *app, words, rest []string) error {
	if err := f.output.check(); err != nil {
		return err
	}
	if f.history != "" && f.sample == "" {
		return usagef("--history keeps what samples tell: give --sample as well")
	}
	name, list, err := f.list(a, words, rest)
	if err != nil {
		return err
	}
	s, err := f.submitter(a)
	if err != nil {
		return err
	}
	if err := checkSubmitted(s, list); err != nil {
		return err
	}
	if runtime.GOOS != "linux" && f.place.binary == "" && slices.ContainsFunc(list, func(j submit.Job) bool {
		return j.Program.Job != ""
	}) {
		a.remark("built-in jobs run this program on the cluster's machines, and it is made for %s: name "+
			"another by --binary", runtime.GOOS)
	}
	for _, j := range list {
		if untold := submit.Untold(j.Spec); untold != "" {
			a.remark("job %s: %s cannot be told to a ResourceManager", j.Spec.Name, untold)
		}
	}
	bars := newSubmitBars(&f.output, a.Err, name, len(list))
	s.Watch = bars.watch
	done, err := s.Serve(ctx, list)
	bars.stop()
	if s.Sizes != nil {
		if failed := s.Sizes.Save(); failed != nil {
			err = errors.Join(err, failuref("--history: %w", failed))
		}
	}
	r := f.report(ctx, s, submitReport{name: name, list: list, done: done})
	if f.json {
		err = errors.Join(err, r.printJSON(a))
	} else {
		r.print(a)
	}
	failed := r.failures()
	if failed != nil && ctx.Err() != nil { // an interrupted command ends without its errors
		fmt.Fprintf(a.Err, "sojourn: %v\n", failed)
	}
	return errors.Join(err, failed)
}

// list reads what is to be submitted. rest are the words behind --.
func (f *submitFlags) list(a *app, words, rest []string) (name string, list []submit.Job, err error) {
	p := f.program
	if p.Conf, err = parseConf(f.conf); err != nil {
		return "", nil, err
	}
	streams := p.Mapper != "" || p.Reducer != "" || p.Combiner != ""
	single := submit.Job{Program: p, Files: f.files}
	switch {
	case f.jar != "" && streams:
		return "", nil, usagef("--jar and --mapper, --reducer or --combiner: give one or the other")
	case f.jar != "":
		single.Jar = &submit.Jar{Path: f.jar, Main: words, Args: rest}
		name = strings.Join(append([]string{filepath.Base(f.jar)}, words...), " ")
	case len(rest) > 0:
		return "", nil, usagef("%q: arguments behind -- are those of a --jar", rest[0])
	case len(words) > 1:
		return "", nil, usagef("%q: give the name of one job, or one workload file", strings.Join(words, " "))
	case len(words) == 0 && !streams:
		return "", nil, usagef("submit what? the name of a job ('sojourn jobs' lists them), a workload file, --jar, " +
			"or --mapper and --reducer")
	case len(words) == 1 && streams:
		return "", nil, usagef("%q and --mapper, --reducer or --combiner: give one or the other", words[0])
	case streams:
		name = streamingName(p)
	default:
		if _, ok := a.jobs[words[0]]; !ok {
			if _, err := os.Stat(words[0]); err != nil {
				_, unknown := jobNamed(a, words[0])
				return "", nil, fmt.Errorf("%w; and no file of that name is there", unknown)
			}
			list, err := f.readFile(a, words[0])
			return words[0], list, err
		}
		name, single.Program.Job = words[0], words[0]
	}
	if f.name != "" {
		name = f.name
	}
	if f.jar == "" && len(p.Input) == 0 {
		return "", nil, usagef("--input is needed: which files of the cluster?")
	}
	if f.jar == "" && p.Output == "" {
		return "", nil, usagef("--output is needed: a directory of the cluster that does not exist yet")
	}
	if single.Spec, err = f.terms.spec(name, p.Conf); err != nil {
		return "", nil, err
	}
	single.Spec.Queue = f.queue
	return name, []submit.Job{single}, nil
}

// readFile reads the jobs of a workload file. It remarks on queues that the file describes.
func (f *submitFlags) readFile(a *app, path string) (list []submit.Job, err error) {
	if len(f.program.Input) > 0 || f.program.Output != "" || len(f.conf) > 0 || f.terms != (termFlags{}) ||
		f.queue != "" || f.name != "" || len(f.files) > 0 {
		return nil, usagef("--input, --output, --name, --queue, --file, --deadline, --goal, --weight and -D are for " +
			"a single job: the workload file says them for each")
	}
	file, err := workload.Open(path, workload.Defaults())
	if err != nil {
		return nil, err
	}
	if len(file.Queues) > 0 {
		a.remark("%s: the shares of its queues are left out: the cluster's own configuration has those of its queues",
			path)
	}
	for spec, err := range file.Jobs {
		if err != nil {
			return nil, err
		}
		program, ok := spec.Payload.(*workload.Program)
		if !ok {
			return nil, fmt.Errorf("%s: job %q says how long it takes and not what to run: 'sojourn sim --trace %s' "+
				"simulates it", path, spec.Name, path)
		}
		list = append(list, submit.Job{Spec: spec, Program: *program})
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s: no jobs", path)
	}
	return list, nil
}

// checkSubmitted refuses jobs that cannot be submitted, and outputs that two share, before any work is done.
func checkSubmitted(s *submit.Submitter, list []submit.Job) error {
	seen := map[string]string{}
	for i := range list {
		j := &list[i]
		if err := s.Check(j); err != nil {
			return usageError{fmt.Errorf("job %q: %w", j.Spec.Name, err)}
		}
		out := strings.TrimRight(j.Program.Output, "/")
		if other, twice := seen[out]; twice && out != "" {
			return fmt.Errorf("jobs %q and %q both write to %s", other, j.Spec.Name, out)
		}
		seen[out] = j.Spec.Name
	}
	return nil
}

// submitBars show in one line how far submitted jobs are.
type submitBars struct {
	*bar
	parts []float64 // done of each, guarded by mu
}

func newSubmitBars(o *output, w io.Writer, what string, jobs int) *submitBars {
	return &submitBars{bar: newBar(o, w, what, 0), parts: make([]float64, jobs)}
}

func (b *submitBars) watch(job int, part float64, says string) {
	if b.out == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.parts[job] = max(b.parts[job], part)
	sum, over := 0.0, 0
	for _, p := range b.parts {
		if sum += p; p == 1 {
			over++
		}
	}
	n := len(b.parts)
	if n > 1 {
		says = strconv.Itoa(over) + " of " + strconv.Itoa(n) + " jobs"
	}
	b.show(sum/float64(n), says)
}

// A submitReport is what became of a workload on a cluster.
type submitReport struct {
	name   string
	list   []submit.Job
	done   []submit.Done
	at     string // the ResourceManager's address
	result record.Result
}

// report computes the figures.
func (f *submitFlags) report(ctx context.Context, s *submit.Submitter, r submitReport) submitReport {
	policy, err := s.Cluster.Scheduler(context.WithoutCancel(ctx))
	if err != nil || policy == "" {
		policy = "yarn"
	}
	r.at = s.Cluster.Addresses[0]
	rows := make([]record.JobRow, len(r.done))
	deadlines := make([]sched.Time, len(r.done))
	for i := range r.done {
		d := &r.done[i]
		rows[i] = record.JobRow{Policy: policy, ID: sched.JobID(i + 1), Name: r.list[i].Spec.Name, Queue: d.Queue,
			User: d.User, Submit: d.Submit, FirstLaunch: d.FirstLaunch, Finish: d.Finish, Outcome: d.Outcome}
		deadlines[i] = r.list[i].Spec.Deadline
	}
	r.result = record.ResultOf(policy, rows, deadlines)
	return r
}

// print prints what became of each job, and the figures of all.
func (r *submitReport) print(a *app) {
	if len(r.list) == 1 {
		d := &r.done[0]
		if d.Outcome != sched.OK {
			return // the error says why
		}
		fmt.Fprintf(a.Out, "%s: done in %s s", r.name, seconds(d.Sojourn()))
		if d.ID != "" {
			fmt.Fprintf(a.Out, " as %s", d.ID)
		}
		if out := r.list[0].Program.Output; out != "" {
			fmt.Fprintf(a.Out, "; output in %s", out)
		}
		fmt.Fprintln(a.Out)
		r.printSample(a.Out, 0)
		fmt.Fprintln(a.Out)
		t := newTable("COUNTER", "VALUE")
		for _, name := range sortedKeys(d.Counters) {
			if n := d.Counters[name]; n != 0 {
				t.row(name, strconv.FormatInt(n, 10))
			}
		}
		if len(d.Counters) > 0 {
			t.print(a.Out)
		}
		return
	}
	fmt.Fprintf(a.Out, "%s: sojourn times of %s in seconds, from submission to output in place\n\n", r.name,
		spelling.Count(len(r.list), "job"))
	t := newTable("JOB", "SUBMITTED", "WAIT", "SOJOURN", "APPLICATION")
	for i := range r.done {
		d := &r.done[i]
		wait, sojourn := "", d.Outcome.String()
		if d.FirstLaunch >= 0 {
			wait = seconds(d.FirstLaunch - d.Submit)
		}
		if d.Outcome == sched.OK {
			sojourn = seconds(d.Sojourn())
		}
		t.row(r.list[i].Spec.Name, seconds(d.Submit), wait, sojourn, d.ID)
	}
	t.print(a.Out)
	fmt.Fprintln(a.Out)
	compareResults(a.Out, []record.Result{r.result})
	for i := range r.done {
		r.printSample(a.Out, i)
	}
}

func (r *submitReport) printSample(w io.Writer, i int) {
	if s := r.done[i].Sample; s != nil {
		fmt.Fprintf(w, "  %s: a sample of %.3g %% of the input took %s s and predicted a size of %s s\n",
			r.list[i].Spec.Name, 100*s.Part, seconds(s.Took), seconds(s.Predicted))
	}
}

// submitJSON is the document of submit: that of run, for one policy, of the cluster.
type submitJSON struct {
	Trace   string             `json:"trace"`
	Cluster string             `json:"resource_manager"`
	Version string             `json:"version"`
	Results []submitResultJSON `json:"results"`
}

type submitResultJSON struct {
	record.Result
	PerJob []submitJobJSON `json:"per_job"`
}

type submitJobJSON struct {
	Name        string           `json:"name"`
	Application string           `json:"application,omitempty"`
	Outcome     string           `json:"outcome"`
	Error       string           `json:"error,omitempty"`
	Output      string           `json:"output,omitempty"`
	Submit      float64          `json:"submit_s"`
	Wait        *float64         `json:"wait_s,omitempty"`
	Sojourn     float64          `json:"sojourn_s,omitempty"`
	Counters    map[string]int64 `json:"counters,omitempty"`
	Sample      *sampleJSON      `json:"sample,omitempty"`
}

type sampleJSON struct {
	Application string  `json:"application"`
	Files       int     `json:"files"`
	Bytes       int64   `json:"bytes"`
	Part        float64 `json:"part"`
	Took        float64 `json:"took_s"`
	Predicted   float64 `json:"predicted_size_s"`
}

func (r *submitReport) printJSON(a *app) error {
	res := submitResultJSON{Result: r.result}
	for i := range r.done {
		d := &r.done[i]
		j := submitJobJSON{Name: r.list[i].Spec.Name, Application: d.ID, Outcome: d.Outcome.String(),
			Output: r.list[i].Program.Output, Submit: d.Submit.Seconds(), Counters: d.Counters}
		if d.Err != nil {
			j.Error = d.Err.Error()
		}
		if d.FirstLaunch >= 0 {
			wait := (d.FirstLaunch - d.Submit).Seconds()
			j.Wait = &wait
		}
		if d.Outcome == sched.OK {
			j.Sojourn = d.Sojourn().Seconds()
		}
		if s := d.Sample; s != nil {
			j.Sample = &sampleJSON{s.ID, s.Files, s.Bytes, s.Part, s.Took.Seconds(), s.Predicted.Seconds()}
		}
		res.PerJob = append(res.PerJob, j)
	}
	return a.printJSON(submitJSON{r.name, r.at, version(), []submitResultJSON{res}})
}

// failures makes an error of the jobs that failed.
func (r *submitReport) failures() error {
	var errs []error
	for i := range r.done {
		if d := &r.done[i]; d.Err != nil && !errors.Is(d.Err, context.Canceled) {
			errs = append(errs, failuref("job %q failed: %w", r.list[i].Spec.Name, d.Err))
		}
	}
	return errors.Join(errs...)
}

package cli

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sojourn-sched/sojourn/internal/spelling"
	"github.com/sojourn-sched/sojourn/internal/workload"
)

func workloadCommand(a *app) *cobra.Command {
	return parent("workload", "Look at, convert and make workloads", workloadShow(a), workloadConvert(a),
		workloadGenerate(a))
}

func workloadShow(a *app) *cobra.Command {
	var s sourceFlags
	var asJSON bool
	c := &cobra.Command{Use: "show FILE", Short: "Say what a workload holds: jobs, tasks, bytes, sizes",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := traceArgument(cmd, &s, args); err != nil {
				return err
			}
			jobs, file, err := s.open(workload.Defaults())
			if err != nil {
				return err
			}
			sum, err := workload.Summarize(jobs)
			if err != nil {
				return err
			}
			if asJSON {
				return a.printJSON(struct {
					Trace  string          `json:"trace"`
					Format workload.Format `json:"format"`
					First  float64         `json:"first_submit_s"`
					Last   float64         `json:"last_submit_s"`
					workload.Summary
					*workload.Report
				}{s.trace, file.Format, sum.First.Seconds(), sum.Last.Seconds(), sum, file.Report})
			}
			printSummary(a, s.trace, file.Format, sum)
			printImport(a.Out, file.Report)
			return nil
		}}
	s.registerPart(c)
	c.Flags().BoolVar(&asJSON, "json", false, "one JSON document on standard output")
	return c
}

// traceArgument takes the one file that a command is about.
func traceArgument(cmd *cobra.Command, s *sourceFlags, args []string) error {
	if len(args) != 1 {
		return usagef("%s takes one workload file, got %d", cmd.CommandPath(), len(args))
	}
	s.trace = args[0]
	return nil
}

func printSummary(a *app, trace string, format workload.Format, sum workload.Summary) {
	fmt.Fprintf(a.Out, "%s (%s): %s, submitted from %v to %v\n", trace, format, spelling.Count(sum.Jobs, "job"),
		sum.First, sum.Last)
	if sum.Programs > 0 {
		fmt.Fprintf(a.Out, "%s programs: 'sojourn run %s'\n",
			spelling.Count(sum.Programs, "of them runs", "of them run"), trace)
	}
	if sum.Programs == sum.Jobs {
		return
	}
	others := ""
	if sum.Others > 0 {
		others = ", " + spelling.Count(sum.Others, "other task")
	}
	fmt.Fprintf(a.Out, "%s, %s%s; %s read, %s shuffled, %s written\n\n", spelling.Count(sum.Maps, "map"),
		spelling.Count(sum.Reduces, "reduce"), others, bytesText(sum.Input), bytesText(sum.Shuffle),
		bytesText(sum.Output))
	t := newTable("OF A JOB", "MEAN", "P50", "P90", "P99", "MAX")
	plain := func(v float64) string { return figure(v) }
	size := func(v float64) string { return bytesText(int64(v)) }
	for _, r := range []struct {
		name string
		p    workload.Percentiles
		text func(float64) string
	}{{"tasks", sum.Tasks, plain}, {"input", sum.Bytes, size}, {"work, s", sum.Work, plain}} {
		t.row(r.name, r.text(r.p.Mean), r.text(r.p.P50), r.text(r.p.P90), r.text(r.p.P99), r.text(r.p.Max))
	}
	t.print(a.Out)
}

// printImport says what an import understood beyond the jobs, what it left out, and what it cannot know.
func printImport(w io.Writer, r *workload.Report) {
	if r.Hosts > 0 || r.Timed > 0 {
		fmt.Fprintln(w)
	}
	if r.Hosts > 0 {
		fmt.Fprintf(w, "tasks ran on %s\n", spelling.Count(r.Hosts, "host"))
	}
	if r.Timed > 0 {
		fmt.Fprintf(w, "sojourn time as measured: %s s in the mean of %s\n", figure(r.Measured),
			spelling.Count(r.Timed, "job"))
	}
	for _, list := range []struct {
		title string
		of    []workload.Exception
	}{{"left out", r.LeftOut}, {"missing", r.Missing}} {
		for i, e := range list.of {
			if i == 0 {
				fmt.Fprintf(w, "\n%s:\n", list.title)
			}
			jobs := ""
			if e.Jobs > 0 {
				jobs = spelling.Count(e.Jobs, "job") + ": "
			}
			fmt.Fprintf(w, "  %s%s\n", jobs, e.What)
		}
	}
}

// bytesText prints a number of bytes in the unit that suits it.
func bytesText(n int64) string {
	v, unit := float64(n), "B"
	for _, u := range []string{"kB", "MB", "GB", "TB", "PB"} {
		if v < 1000 {
			break
		}
		v, unit = v/1000, u
	}
	return strconv.FormatFloat(v, 'g', 4, 64) + " " + unit
}

func workloadConvert(a *app) *cobra.Command {
	var s sourceFlags
	var to, cluster string
	var made product
	c := &cobra.Command{Use: "convert FILE --to FORMAT", Short: "Write a workload in another format: swim, sls or yaml",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := traceArgument(cmd, &s, args); err != nil {
				return err
			}
			o := workload.Defaults()
			if cluster != "" {
				c, err := openCluster(cluster)
				if err != nil {
					return err
				}
				o = c.Options()
			}
			jobs, _, err := s.open(o)
			if err != nil {
				return err
			}
			if sameFile(s.trace, made.path) {
				return usagef("%s and %s are one file: give %s another name", s.trace, made.file(), made.file().flag)
			}
			return writeWorkload(a, &made, target{workload.Format(to), o}, jobs)
		}}
	s.registerPart(c)
	f := c.Flags()
	f.StringVar(&to, "to", "yaml", "format to write: swim, sls, yaml")
	completeFlag(c, "to", formatsWritten...)
	made.register(c, workload.StandardInput, "file to write; - is standard output")
	f.StringVar(&cluster, "cluster", "", "cluster that decides how bytes become tasks; default: slots without number")
	return c
}

// formatsWritten are the formats of workloads that can be written.
var formatsWritten = []string{string(workload.SWIM), string(workload.SLS), string(workload.YAML)}

// A target is the format in which a workload is written, and the options with which it is read again.
type target struct {
	format  workload.Format
	options workload.Options
}

// writeWorkload writes jobs, and remarks on what the format cannot hold of them. It refuses to write SWIM for a cluster
// without reduces: jobs have no bytes of shuffle then.
func writeWorkload(a *app, made *product, t target, jobs workload.Source) error {
	if t.format == workload.SWIM && t.options.MaxReduces < 0 {
		return usagef("--to swim: jobs have no bytes of shuffle on a --cluster without room for reduces: give it " +
			"reduce-slots or larger nodes, or leave --cluster out")
	}
	var losses workload.Losses
	jobs = losses.Watch(t.format, t.options, jobs)
	defer func() {
		if what := losses.String(); what != "" {
			a.remark("%s", what)
		}
	}()
	return made.make(a, func(to io.Writer) error {
		_, err := workload.Write(to, t.format, jobs)
		return err
	})
}

func workloadGenerate(a *app) *cobra.Command {
	var g generatorFlags
	c := &cobra.Command{Use: "generate", Short: "Make a workload: arrivals and sizes by chance, or the Facebook mix",
		Example: "  sojourn workload generate --jobs 1000 --gap 10s --input pareto:min=1MB,max=1TB,alpha=0.6 " +
			"--output jobs.tsv\n" +
			"  sojourn workload generate --mix facebook --jobs 100 --gap 5s --format yaml",
		Args: noArgs, RunE: func(cmd *cobra.Command, _ []string) error {
			if g.mix != "" {
				for _, name := range notOfMix {
					if cmd.Flags().Changed(name) {
						return usagef("--%s is of jobs of chance, and --mix says what its jobs are: give one or "+
							"the other", name)
					}
				}
			}
			return g.write(a)
		}}
	f := c.Flags()
	f.Int64Var(&g.jobs, "jobs", 100, "number of jobs; 1 or more")
	f.StringVar(&g.mix, "mix", "", "facebook: task counts by the table of Facebook's cluster in October 2009 "+
		"(MROrder 5.1)")
	f.DurationVar(&g.arrivals.Gap, "gap", 10*time.Second, "mean time between jobs; 0: all at once")
	f.Float64Var(&g.arrivals.Burst, "burst", g.arrivals.Burst, "how much denser jobs come in bursts; 1 or "+
		"less: no bursts")
	f.DurationVar(&g.arrivals.On, "burst-length", 0, "mean length of a burst; 0: ten gaps")
	f.StringVar(
		&g.input,
		"input",
		"pareto:min=1MB,max=1TB,alpha=0.6",
		"bytes that a job reads: a size, or a distribution: lognormal:median=1GB,sigma=2, "+
			"pareto:min=1MB,max=1TB,alpha=1, exponential:mean=1GB, zipf, uniform",
	)
	f.StringVar(&g.shuffle, "shuffle", "0.3", "bytes shuffled ÷ bytes read: a number or a distribution")
	f.StringVar(&g.written, "written", "0.1", "bytes written ÷ bytes read: a number or a distribution")
	f.IntVar(&g.users, "users", 0, "number of users, equally likely; 0: none are named")
	f.StringVar(&g.queues, "queues", "", "comma list of queues, equally likely")
	f.Float64Var(&g.load, "load", 0, "choose the gap so that the work that arrives is this part of what --cluster "+
		"can do; 0: --gap says")
	f.StringVar(&g.cluster, "cluster", "", "the cluster that --load is of")
	f.Uint64Var(&g.seed, "seed", 1, "seed of all chance")
	f.StringVar(&g.format, "format", "", "format to write: swim, sls, yaml; default: by the end of --output's "+
		"name, else swim")
	completeFlag(c, "format", formatsWritten...)
	completeFlag(c, "mix", "facebook")
	g.made.register(c, workload.StandardInput, "file to write; - is standard output")
	return c
}

// notOfMix are the flags that a mix does not follow.
var notOfMix = []string{"input", "shuffle", "written", "users", "queues", "load"}

type generatorFlags struct {
	jobs                    int64
	mix                     string
	arrivals                workload.Arrivals
	input, shuffle, written string
	users                   int
	queues                  string
	load                    float64
	cluster                 string
	seed                    uint64
	format                  string
	made                    product
}

func (g *generatorFlags) write(a *app) error {
	o := workload.Defaults()
	var cluster *workload.Cluster
	if g.cluster != "" {
		var err error
		if cluster, err = openCluster(g.cluster); err != nil {
			return err
		}
		o = cluster.Options()
	}
	o.Seed = g.seed
	if g.jobs < 1 {
		return usagef("--jobs %d: must be 1 or more", g.jobs)
	}
	format := workload.Format(g.format)
	if format == "" {
		format = workload.SWIM
		for _, f := range []workload.Format{workload.YAML, workload.SLS} {
			if strings.HasSuffix(g.made.path, "."+string(f)) {
				format = f
			}
		}
	}
	if err := g.arrivals.Validate(); err != nil {
		return usageError{err}
	}
	switch g.mix {
	case "facebook":
		if g.format == "" {
			format = workload.YAML // it has task times, which SWIM cannot hold
		}
		return writeWorkload(a, &g.made, target{format, o}, workload.FacebookMix(g.jobs, g.arrivals, o))
	case "":
	default:
		return usagef("--mix %q: must be facebook", g.mix)
	}
	gen, err := g.generator()
	if err != nil {
		return err
	}
	if g.load != 0 {
		if cluster == nil {
			return usagef("--load needs --cluster: the load of what?")
		}
		if gen, err = gen.ForLoad(g.load, cluster, o); err != nil {
			return usageError{err}
		}
	}
	return writeWorkload(a, &g.made, target{format, o}, gen.Source(o))
}

func (g *generatorFlags) generator() (workload.Generator, error) {
	gen := workload.Generator{Jobs: g.jobs, Arrivals: g.arrivals, Users: g.users}
	if g.queues != "" {
		gen.Queues = strings.Split(g.queues, ",")
	}
	for _, d := range []struct {
		flag, text string
		to         *workload.Distribution
	}{{"input", g.input, &gen.Input}, {"shuffle", g.shuffle, &gen.Shuffle}, {"written", g.written, &gen.Output}} {
		v, err := workload.ParseDistribution(d.text)
		if err != nil {
			return gen, usageError{fmt.Errorf("--%s: %w", d.flag, err)}
		}
		*d.to = v
	}
	if err := gen.Validate(); err != nil {
		return gen, usageError{err}
	}
	return gen, nil
}

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sojourn-sched/sojourn/internal/record"
	"github.com/sojourn-sched/sojourn/internal/run"
	"github.com/sojourn-sched/sojourn/internal/sim"
	"github.com/sojourn-sched/sojourn/internal/spelling"
	"github.com/sojourn-sched/sojourn/internal/workload"
	"github.com/sojourn-sched/sojourn/policy"
	"github.com/sojourn-sched/sojourn/sched"
)

// simFlags say what to simulate, on which cluster, at which costs.
type simFlags struct {
	output
	leaving
	policies   policyFlags
	source     sourceFlags
	costs      costFlags
	fromRecord string
	imported   *workload.Report // of the trace's jobs
	past       *pastRun         // of fromRecord; nil: its own policy cannot be, or need not be, simulated
	trust      float64
	cluster    string
	available  string
	throttle   bool
	seed       uint64
	seeds      int
	most       int64
	mostJobs   int
	live       livePage
}

func simCommand(a *app) *cobra.Command {
	var f simFlags
	c := &cobra.Command{
		Use:   "sim --trace FILE --cluster nodes=20,map-slots=3,reduce-slots=1",
		Short: "Simulate a workload under one policy, or compare several",
		Long: `Simulate the jobs of a trace, task by task, on a described cluster. Every policy is given the same jobs,
and the same luck from the same seed. A job that fails is a result; that no job of a policy succeeds is a failure, exit
status 1.

--from-record takes the jobs, the cluster and its queues from a record. It simulates the record's own policy first, and
says how far the simulation is from what was measured: what it says of other policies is no better than that.`,
		Example: `  sojourn sim --trace jobs.tsv --cluster nodes=600,map-slots=3,reduce-slots=2 \
      --policy fifo,fair,srpt,hfsp
  sojourn sim --trace history.json.gz --cluster cluster.yaml --policy capacity --record run.rec
  sojourn sim --from-record yesterday.rec --policy fifo --policy fair:delay=5s`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			err := f.live.during(cmd.Context(), a, func() error { return f.run(cmd.Context(), a) })
			return leaves(err, f.left())
		},
	}
	f.live.register(c)
	f.output.register(c)
	f.plots.register(c, plotsOfAll, plotsOfOne)
	f.leaving.register(c, "replace files of earlier runs: records, CSV, SVG")
	f.registerRecord(c)
	f.policies.register(c, a.names, "oracle")
	f.source.register(c)
	f.costs.register(c)
	fl := c.Flags()
	fl.StringVar(&f.fromRecord, "from-record", "", "take arrivals, task times and, without --cluster, the cluster, "+
		"not decisions, from this record")
	fl.StringVar(&f.cluster, "cluster", "nodes=20,map-slots=3,reduce-slots=1,racks=2", "the cluster: shorthand, "+
		"memory=8GiB,vcores=4 instead of slots for containers, or a YAML file")
	fl.StringVar(&f.available, "availability", "", "timetable of the part of each node that a service leaves for jobs"+
		": a file with lines such as 6h 40%")
	fl.BoolVar(&f.throttle, "throttle", false, "with --availability: tasks on a node that comes to offer less than "+
		"they hold are slowed to it, as under run")
	fl.Float64Var(&f.trust, "trust", 0.05, "with --from-record: warn when simulating the record's own policy is off "+
		"by more than this part; 0 to 1")
	fl.Uint64Var(&f.seed, "seed", 1, "seed of all chance")
	fl.IntVar(&f.seeds, "seeds", 1, "repeat with so many seeds, from --seed on: means with 95 % intervals, and "+
		"whether policies differ from the first; 1 to 10000")
	fl.Int64Var(&f.most, "max-events", 0, "end a run with an error after so many events and wakes; 0: no limit")
	fl.IntVar(&f.mostJobs, "max-jobs", sim.DefaultMostJobs, "end a run with an error when more jobs are "+
		"unfinished at once")
	return c
}

// costFlags are what happens to tasks besides their true times.
type costFlags struct {
	said      func(flag string) bool // by the user
	preset    string
	costs     sim.Costs
	options   workload.Options
	master    workload.Master
	masters   string
	rates     []float64
	mapsOnly  bool
	block     string
	perReduce string
}

// register registers the flags, and sets f to their defaults: no failures, stragglers or masters.
func (f *costFlags) register(c *cobra.Command) {
	f.costs = sim.Defaults()
	d, o := f.costs, workload.Defaults()
	fl := c.Flags()
	f.said = fl.Changed
	fl.StringVar(&f.preset, "costs", "hadoop", "hadoop: input has places, reduces fetch over the network; none: "+
		"tasks take their true times and nothing else")
	completeFlag(c, "costs", "hadoop", "none")
	fl.Float64Var(&f.costs.Chance.Sigma, "sigma", d.Chance.Sigma, "spread of task times: lognormal with "+
		"mean 1; 0 to 10")
	fl.Float64Var(&f.costs.Chance.Stragglers, "stragglers", 0, "probability that an attempt is a straggler; 0 to 1")
	fl.Float64Var(&f.costs.Chance.SlowNodes, "slow-nodes", 0, "part of the nodes on which every attempt is a "+
		"straggler; 0 to 1")
	fl.Float64Var(&f.costs.Chance.Slowdown, "slowdown", d.Chance.Slowdown, "what a straggler's time is multiplied "+
		"by; 1 or more")
	fl.Float64Var(&f.costs.Faults.Attempts, "failures", 0, "probability that an attempt fails; 0 to 1")
	fl.DurationVar(&f.costs.Faults.MTBF, "mtbf", 0, "mean time that a node stays; 0: for ever")
	fl.DurationVar(&f.costs.Faults.MTTR, "mttr", d.Faults.MTTR, "mean time that a lost node is away")
	fl.DurationVar(&f.costs.Reporting.Heartbeat, "heartbeat", 0, "nodes report, and can be launched on, at this "+
		"interval; 0: at once and always")
	fl.DurationVar(&f.costs.Reporting.Progress, "progress-reports", 0, "running attempts report progress at this "+
		"interval; 0: never, but 1s for late{...} and dynamicmr")
	fl.Int32Var(&f.costs.Reading.Copies, "replicas", d.Reading.Copies, "copies of each block of input, placed as "+
		"HDFS does; 0: all input is local everywhere")
	fl.Float64SliceVar(&f.rates, "read-rates", d.Reading.Rates[:], "bytes a second at which a task reads input on "+
		"its node, in its rack, elsewhere; 0: costs nothing")
	fl.BoolVar(&f.costs.Shuffle.On, "shuffle", d.Shuffle.On, "reduces fetch over the cluster's network, "+
		"which they share")
	fl.Float64Var(&f.costs.Shuffle.Batch, "shuffle-batch", d.Shuffle.Batch, "part of its input that a reduce which "+
		"has fetched all there is waits for before it fetches again; 0 to 1")
	fl.Float64Var(&f.costs.Shuffle.Interference, "interference", d.Shuffle.Interference, "part of a node's bandwidth "+
		"that each fetching reduce beyond the first takes from all; 0 to 10")
	fl.Float64Var(&f.costs.Contention.Slope, "contention", 0, "how much longer tasks take on a node whose memory, "+
		"cores, disk or network their profiles use up: 2.7 is 3.7 times as long; 0: not at all; to 10")
	fl.Float64Var(&f.costs.Contention.Power, "contention-power", 1.5, "power by which that grows when they want "+
		"more than there is; 1 to 10")
	fl.DurationVar(&f.costs.Master.Every, "master-every", d.Master.Every, "how often a job's master looks whether "+
		"its reduces keep its maps from room; 0: never")
	fl.Float64Var(&f.costs.Master.Part, "master-part", d.Master.Part, "part of what the job can get that one such "+
		"look may free; 0 to 1")
	fl.DurationVar(&f.costs.Master.Patience, "master-patience", d.Master.Patience, "after which a master ends "+
		"reduces although room seems to be there; 0: never")
	f.master = workload.DefaultMaster()
	fl.StringVar(
		&f.masters,
		"masters",
		"",
		"each MapReduce job holds a container of this size, 1536MiB say, for its ApplicationMaster, on a "+
			"cluster with memory",
	)
	fl.Int64Var(&f.master.Size[sched.VCores], "master-vcores", f.master.Size[sched.VCores],
		"vcores of such a container")
	fl.DurationVar(&f.master.Start, "master-start", f.master.Start, "time from its launch until it asks for tasks")
	fl.BoolVar(&f.master.Uber, "uber", false, "with --masters: jobs of at most 9 maps, one reduce and one block of "+
		"input run in their masters' containers")
	fl.DurationVar(&f.costs.Probing.Base, "probe-base", d.Probing.Base, "time to start a probe's map, and to "+
		"start its reduce")
	fl.Float64Var(&f.options.SlowStart, "slow-start", workload.HadoopSlowStart, "part of a job's maps that is done "+
		"before its reduces start; 0 to 1")
	fl.BoolVar(&f.mapsOnly, "maps-only", false, "leave reduces out, on a cluster without reduce slots")
	fl.StringVar(&f.block, "block", "128MiB", "bytes of input a map, of traces that give bytes")
	fl.StringVar(&f.perReduce, "bytes-per-reduce", "1GiB", "bytes of shuffle a reduce, of traces that give bytes")
	fl.DurationVar(&f.options.Startup, "startup", o.Startup, "time that each task takes to start, of traces "+
		"that give bytes")
	fl.Float64Var(&f.options.MapRate, "map-rate", o.MapRate, "bytes a second of a map, of traces that give bytes")
	fl.Float64Var(&f.options.ReduceRate, "reduce-rate", o.ReduceRate, "bytes a second of a reduce, of traces "+
		"that give bytes")
}

// read returns the simulator's costs, and the options by which a trace's jobs become tasks on cluster c, which it does
// not change. Errors are the user's: flags that contradict each other or are out of range, or a cluster without room
// for reduces. Masters are added by addMasters.
func (f *costFlags) read(c *workload.Cluster, seed uint64) (sim.Costs, workload.Options, error) {
	costs, o := f.costs, c.Options()
	if len(f.rates) != len(costs.Reading.Rates) {
		return costs, o, usagef("--read-rates: %d rates, must be three: on the node, in the "+
			"rack, elsewhere", len(f.rates))
	}
	copy(costs.Reading.Rates[:], f.rates)
	o.Startup, o.MapRate, o.ReduceRate, o.SlowStart, o.Seed = f.options.Startup, f.options.MapRate,
		f.options.ReduceRate, f.options.SlowStart, seed
	var err error
	if o.Block, err = workload.ParseSize(f.block); err != nil {
		return costs, o, usageError{fmt.Errorf("--block: %w", err)}
	}
	if o.ReduceBytes, err = workload.ParseSize(f.perReduce); err != nil {
		return costs, o, usageError{fmt.Errorf("--bytes-per-reduce: %w", err)}
	}
	switch f.preset {
	case "hadoop":
	case "none":
		for _, flag := range []string{"slow-start", "replicas", "read-rates", "shuffle", "shuffle-batch",
			"interference"} {
			if f.said(flag) && (flag != "shuffle" || f.costs.Shuffle.On) {
				return costs, o, usagef(
					"--costs none and --%s: without costs there is nothing that --%[1]s could change: give one "+
						"or the other",
					flag,
				)
			}
		}
		costs.Reading, costs.Shuffle, o.SlowStart, o.Nodes = sim.Reading{}, sim.Shuffle{}, 1, 0
	default:
		return costs, o, usagef("--costs %q: must be hadoop or none", f.preset)
	}
	if !costs.Shuffle.On {
		o.SlowStart = 1
	}
	if err := costs.Validate(); err != nil {
		return costs, o, usageError{err}
	}
	if err := o.Validate(); err != nil {
		return costs, o, usageError{err}
	}
	if o.MaxReduces < 0 && !f.mapsOnly {
		if least := o.ReduceTask[sched.Memory]; least > 0 {
			return costs, o, usagef("--cluster: no node has room for a reduce of %d MiB: give nodes more memory, or "+
				"say --maps-only to leave reduces out", least)
		}
		return costs, o, usagef("--cluster has no room for reduces: give it reduce-slots, or say --maps-only to " +
			"leave reduces out")
	}
	return costs, o, nil
}

// addMasters returns the jobs with ApplicationMasters (workload.Master.AddTo) as --masters and the flags beside it
// describe them; without --masters the jobs as they are. The block size in o tells which jobs run in their masters.
// Errors are the user's: flags that lack --masters, a size that is none, masters that cluster c has no room for.
func (f *costFlags) addMasters(jobs workload.Source, c *workload.Cluster, o workload.Options) (workload.Source, error) {
	if f.masters == "" {
		for _, flag := range []string{"uber", "master-start", "master-vcores"} {
			if f.said(flag) && (flag != "uber" || f.master.Uber) {
				return nil, usagef("--%s: is about the containers of jobs' masters: say how large these are, as in "+
					"--masters 1536MiB", flag)
			}
		}
		return jobs, nil
	}
	m, err := f.master, error(nil)
	if m.Size[sched.Memory], err = wholeMiB(f.masters); err != nil {
		return nil, usageError{fmt.Errorf("--masters: %w", err)}
	}
	m.Block = o.Block
	if err := m.Fit(c); err != nil {
		return nil, usageError{fmt.Errorf("--masters: %w", err)}
	}
	return m.AddTo(jobs, c), nil
}

// wholeMiB reads the memory of a container, which comes in MiB and not in parts of one. It refuses a bare number: users
// of Hadoop mean MiB by it, and here it would be bytes.
func wholeMiB(text string) (int64, error) {
	bytes, err := workload.ParseSize(text)
	switch {
	case err == nil && bytes == 0:
		return 0, fmt.Errorf("%q: a master has memory: for jobs without masters leave the flag out", text)
	case err == nil && bytes%(1<<20) == 0:
		return bytes >> 20, nil
	}
	near := "1536MiB"
	unit := strings.TrimLeft(text, "0123456789")
	switch digits := strings.TrimSuffix(text, unit); {
	case digits == "":
	case unit == "" || strings.HasPrefix(strings.ToUpper(unit), "M"):
		near = digits + "MiB"
	case strings.HasPrefix(strings.ToUpper(unit), "G"):
		near = digits + "GiB"
	}
	return 0, fmt.Errorf("%q: must be a whole number of MiB or GiB, such as %s", text, near)
}

// A simRun is what one policy made of the workload.
type simRun struct {
	result      record.Result
	curve       record.Curve // where pictures are asked for
	undrawn     error        // of its own pictures
	predictions []run.Prediction
}

// run simulates the workload under each policy, and prints the results; with several seeds repeat does both. The
// error of a policy leaves the results of the others standing, and is returned after they are printed.
func (f *simFlags) run(ctx context.Context, a *app) error {
	if err := f.checkNumbers(); err != nil {
		return err
	}
	if err := f.readPast(a); err != nil {
		return err
	}
	policies, err := f.policies.parse(a.names, run.Simulator)
	if err != nil {
		return err
	}
	if err := f.plots.parse(policies, true); err != nil {
		return err
	}
	if err := f.leaving.check(policies, f.reads); err != nil {
		return err
	}
	past, err := f.openCluster(a)
	if err != nil {
		return err
	}
	capacity := past.Cluster.Capacity()
	if err := f.policies.check(a, policies, run.Simulator, &capacity); err != nil {
		return err
	}
	config, name, err := f.config(a, past, f.seed, nil)
	if err != nil {
		return err
	}
	if f.past != nil {
		policies = f.past.first(policies)
	}
	if f.seeds > 1 {
		return f.repeat(ctx, a, policies, seedTask{name, past, config})
	}
	if len(policies) > 1 || f.bar(a.Err) { // else the only run reads the jobs as they arrive
		if k := workload.Keep(config.Jobs, workload.MostKept); k != nil {
			config.Jobs = k.Jobs
		}
	}
	runs, failed, err := f.each(ctx, a, policies, simTask{workload: name, config: config})
	if err != nil {
		return err
	}
	if len(runs) == 0 {
		return failuresUnder(failed, nil)
	}
	doc := resultJSON{Seed: f.seed, Trace: name, Cluster: past.Cluster, Version: version(), Failed: failed}
	var curves []record.Curve
	var undrawn error
	for _, r := range runs {
		doc.Results = append(doc.Results, r.result)
		doc.Predictions = append(doc.Predictions, r.predictions...)
		curves = append(curves, r.curve)
		undrawn = errors.Join(undrawn, r.undrawn)
	}
	doc.Check = f.past.check()
	return errors.Join(f.report(a, doc), undrawn, f.plots.draw(curves), failuresUnder(failed, runs))
}

// checkNumbers refuses flags that are out of range.
func (f *simFlags) checkNumbers() error {
	if err := f.output.check(); err != nil {
		return err
	}
	if f.mostJobs < 1 {
		return usagef("--max-jobs %d: must be 1 or more", f.mostJobs)
	}
	if err := f.checkSeeds(); err != nil {
		return err
	}
	if f.most < 0 {
		return usagef("--max-events %d: must be 0 or more; 0: no limit", f.most)
	}
	if !(f.trust >= 0 && f.trust <= 1) {
		return usagef("--trust %v: must be from 0 to 1", f.trust)
	}
	return nil
}

// reads lists the files that a simulation reads.
func (f *simFlags) reads() []flagFile {
	return []flagFile{
		{"--trace", f.source.trace},
		{"--from-record", f.fromRecord},
		{"--cluster", f.cluster},
		{"--history", f.policies.history},
		{"--availability", f.available},
	}
}

// each simulates the jobs under one policy after the other; t names no policy yet. A policy under which the work fails
// leaves the results of the others standing. Any other error ends everything, and so does the loss of a record.
func (f *simFlags) each(
	ctx context.Context, a *app, policies []string, t simTask,
) (runs []simRun, failed []policyFailure, err error) {
	for _, p := range policies {
		t.policy = p
		r, err := f.under(ctx, a, t)
		a.stack(err, f.verbose)
		switch {
		case err == nil:
			runs = append(runs, r)
		case ctx.Err() != nil || !errors.As(err, new(run.Failure)) || errors.As(err, new(run.Loss)):
			return nil, nil, err
		default:
			failed = append(failed, policyFailure{p, err.Error(), err})
		}
	}
	return runs, failed, nil
}

// report prints what came out, as a document with --json, and remarks and warnings on it.
func (f *simFlags) report(a *app, doc resultJSON) (err error) {
	f.remarkImported(a)
	if f.json {
		err = a.printJSON(doc)
	} else {
		fmt.Fprintf(a.Out, "%s: %s, seed %d\n\n", doc.Trace, sizes(doc.Results[0], doc.Cluster), doc.Seed)
		compareResults(a.Out, doc.Results)
		printPredictions(a.Out, doc.Predictions)
		printCheck(a.Out, doc.Check)
		f.printMeasured(a.Out)
	}
	f.warn(a, doc.Check)
	return err
}

// remarkImported tells what in an imported history is probably a mistake, and asks for --cluster where it is missing.
func (f *simFlags) remarkImported(a *app) {
	if f.imported == nil {
		return
	}
	for _, note := range f.imported.Notes {
		a.remark("%s", note)
	}
	if f.imported.Timed > 0 && !f.costs.said("cluster") {
		a.remark("without --cluster, 20 nodes with slots are simulated: describe the cluster that the history is of, " +
			"as in --cluster nodes=2,memory=8GiB,vcores=4, to compare with what was measured")
	}
}

// printMeasured prints the mean sojourn time that the jobs of an imported history had, if it says that.
func (f *simFlags) printMeasured(w io.Writer) {
	if f.imported != nil && f.imported.Timed > 0 {
		fmt.Fprintf(w, "\nas measured, under the policy of that time: mean sojourn %s s of %s\n",
			figure(f.imported.Measured), spelling.Count(f.imported.Timed, "job"))
	}
}

// sizes says how many jobs and tasks ran in a simulation, and on how many nodes.
func sizes(r record.Result, c *workload.Cluster) string {
	return fmt.Sprintf("%s, %s on %s", spelling.Count(r.Jobs, "job"), spelling.Count(r.Tasks, "task"),
		spelling.Count(c.Count(), "node"))
}

// config returns what to simulate on a cluster with a seed, and the name of the workload. The cluster gets the
// workload's queues where it has none. kept are the jobs of an earlier call; nil: they are opened.
func (f *simFlags) config(
	a *app, past *record.PastCluster, seed uint64, kept workload.Source,
) (c sim.Config, name string, err error) {
	cluster := past.Cluster
	costs, options, err := f.costs.read(cluster, seed)
	if err != nil {
		return c, "", err
	}
	jobs := kept
	if jobs == nil {
		if jobs, name, err = f.jobs(a, past, options); err == nil {
			err = policy.CheckQueues(cluster.Queues)
		}
		if err == nil {
			err = checkMaxima(cluster.Queues, cluster.Capacity(), options.MapTask)
		}
		if err == nil {
			jobs, err = f.costs.addMasters(jobs, cluster, options)
		}
	}
	c = sim.Config{Cluster: cluster, Jobs: jobs, Seed: seed, Costs: costs, MostEvents: f.most, MostJobs: f.mostJobs}
	if err == nil {
		err = follow(f.available, f.throttle, &c)
	}
	if f.costs.said("heartbeat") {
		again := *past
		again.Heartbeat, past = 0, &again
	}
	run.Again(past, &c)
	return c, name, err
}

// A policyFailure is a policy without a result, and why.
type policyFailure struct {
	Policy string `json:"policy"`
	Why    string `json:"error"`
	err    error
}

// failuresUnder makes one error of the policies that came to no end and of those that came to nothing.
func failuresUnder(failed []policyFailure, runs []simRun) error {
	var errs []error
	for _, p := range failed {
		errs = append(errs, p.err)
	}
	return errors.Join(append(errs, noneSucceeded(runs))...)
}

// noneSucceeded makes an error of policies under which no job succeeded: their figures are of nothing. That some jobs
// fail is a result.
func noneSucceeded(runs []simRun) error {
	var errs []error
	for _, r := range runs {
		if x := r.result; x.Failed+x.Killed == x.Jobs {
			errs = append(errs, failuref("policy %s: none of %s succeeded, %d failed: see --failures and --mtbf",
				x.Policy, spelling.Count(x.Jobs, "job"), x.Failed))
		}
	}
	return errors.Join(errs...)
}

// resultJSON is the document of sim.
type resultJSON struct {
	Seed    uint64            `json:"seed"`
	Trace   string            `json:"trace"`
	Cluster *workload.Cluster `json:"cluster"`
	Version string            `json:"version"`
	Results []record.Result   `json:"results"`

	Predictions []run.Prediction `json:"predictions,omitempty"` // of --estimator fspy
	Failed      []policyFailure  `json:"failed,omitempty"`      // policies without a result
	Check       *run.Check       `json:"check,omitempty"`       // of --from-record
}

// openCluster returns the cluster that --cluster names; of --from-record without --cluster that of the record, with the
// times at which its nodes came and went.
func (f *simFlags) openCluster(a *app) (*record.PastCluster, error) {
	if f.fromRecord == "" || f.costs.said("cluster") {
		c, err := openCluster(f.cluster)
		return &record.PastCluster{Cluster: c}, err
	}
	r, err := record.Open(f.fromRecord, record.Payload{})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	p, err := record.ClusterOf(r)
	if p != nil {
		err = mend(a, err)
	}
	return p, err
}

// jobs opens the jobs to simulate, from a trace or from a record.
func (f *simFlags) jobs(a *app, past *record.PastCluster, o workload.Options) (workload.Source, string, error) {
	c := past.Cluster
	if f.fromRecord != "" {
		if f.source.trace != "" {
			return nil, "", usagef("--trace and --from-record: give one or the other")
		}
		jobs, err := run.PastJobs(f.fromRecord, c, past.IDs, func(err error) error { return mend(a, err) })
		return namesOf(c.Queues).source(jobs), f.fromRecord, err
	}
	jobs, file, err := f.source.open(o)
	if err != nil {
		return nil, "", err
	}
	f.imported = file.Report
	if c.Queues == nil {
		c.Queues = file.Queues
	} else if file.Queues != nil {
		a.remark("the cluster's queues are used, not those of %s", f.source.trace)
	}
	return timed(f.source.trace, namesOf(c.Queues).source(jobs)), f.source.trace, nil
}

// timed is a source that ends with an error at the first job that says what to run and not how long it takes.
func timed(path string, jobs workload.Source) workload.Source {
	return func(yield func(*sched.JobSpec, error) bool) {
		for j, err := range jobs {
			if err == nil {
				if _, program := j.Payload.(*workload.Program); program {
					yield(nil, fmt.Errorf("%s: job %q says what to run and not how long its tasks take: 'sojourn "+
						"run %s' runs it, and with --record FILE leaves what 'sojourn sim --from-record "+
						"FILE' simulates", path, j.Name, path))
					return
				}
			}
			if !yield(j, err) {
				return
			}
		}
	}
}

// A simTask is a simulation under one policy.
type simTask struct {
	policy, workload string
	config           sim.Config
}

// under simulates the jobs under one policy.
func (f *simFlags) under(ctx context.Context, a *app, t simTask) (r simRun, err error) {
	rows, err := newJobTable(named(f.perJob, t.policy))
	if err != nil {
		return r, err
	}
	defer rows.drop()
	setup := run.Setup{
		Names:     a.names,
		Choice:    f.choice(t.policy),
		History:   f.policies.history,
		Workload:  t.workload,
		Record:    named(f.record, t.policy),
		Overwrite: f.overwrite,
		Note:      func(note string) { a.remark("policy %s: %s", t.policy, note) },
		Row: func(row *record.JobRow) {
			if len(f.plots.list) > 0 && row.Outcome == sched.OK {
				r.curve.Add(row.ID, row.Sojourn())
			}
			f.past.take(t.policy, row)
			rows.write(row)
		},
	}
	bar := newBar(&f.output, a.Err, "simulate "+t.policy, f.total(a, t.config.Jobs))
	defer bar.stop()
	t.config.Costs = a.names.Reporting(t.config.Costs, t.policy)
	t.config.Progress = func(s sim.Status) {
		all := max(s.Jobs, bar.total)
		bar.set(s.Finished, fmt.Sprintf("%d of %s, at %v", s.Finished, spelling.Count(all, "job"),
			s.Now.Round(time.Second)))
	}
	setup.Seed = t.config.Seed
	setup.Watch = append(setup.Watch, f.narrate(a.Err, t.policy)...)
	draw := f.plots.watch(&setup)
	over := f.live.watch(a, &setup, run.Simulator, "")
	out, err := run.Simulate(ctx, setup, t.config)
	over(err)
	if err != nil {
		return r, err
	}
	r.result, r.predictions, r.curve.Name = out.Result, out.Predictions, out.Result.Policy
	bar.of(int64(r.result.Jobs))
	bar.set(int64(r.result.Jobs), fmt.Sprintf("%d of %s", r.result.Jobs, spelling.Count(r.result.Jobs, "job")))
	r.undrawn = draw()
	return r, rows.keep()
}

// total counts the jobs of a workload for a bar; 0 where none is drawn, or the workload can be read once only.
func (f *simFlags) total(a *app, jobs workload.Source) (n int64) {
	if !f.bar(a.Err) || f.source.trace == "-" {
		return 0
	}
	for _, err := range jobs {
		if err != nil {
			return 0 // the run will say it
		}
		n++
	}
	return n
}

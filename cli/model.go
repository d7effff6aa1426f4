package cli

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sojourn-sched/sojourn/internal/chart"
	"github.com/sojourn-sched/sojourn/internal/predict"
	"github.com/sojourn-sched/sojourn/internal/run"
	"github.com/sojourn-sched/sojourn/internal/spelling"
	"github.com/sojourn-sched/sojourn/internal/workload"
	"github.com/sojourn-sched/sojourn/sched"
)

// modelFlags say which job is predicted, where, and what might be otherwise.
type modelFlags struct {
	output
	job     string
	jhist   string
	record  string
	history string
	name    string
	maps    int
	reduces int
	cluster string
	jobs    int
	disks   int
	form    string
	whatIf  string
	plot    string
	start   float64
	started bool // start was said
	copiers int
}

func modelCommand(a *app) *cobra.Command {
	var f modelFlags
	c := &cobra.Command{
		Use:   "model --job FILE --cluster CLUSTER",
		Short: "Predict a job's time before it runs, and what it is made of",
		Long: `Predict the time of a MapReduce job from what its tasks need of processors, disks and the network, by a
queueing model that knows waits for containers, contention and the order of tasks. The profile is a YAML file:

  name: wordcount
  maps: 80
  reduces: 4
  container: {map: {memory: 1GiB, vcores: 1}, reduce: {memory: 2GiB, vcores: 1}}
  demands:
    map:     {cpu: 6s, disk: 4s}
    shuffle: {disk: 50ms, network: 150ms}    # of one map's output by one reduce
    merge:   {cpu: 3s, disk: 2s}
  variation: 0.3                             # coefficient of variation of task times

A profile is made from past runs by --from-jhist (what Hadoop's job history server keeps), by --from-record, and by
--from-history, which is a file that --history of other commands keeps; --maps and --reduces say how large the job to
predict is.

Tasks that run share processors, disks and the network at each instant. The range is what nine of ten runs stay in: it
has the variation of tasks in it, and the error that the model made on real jobs.

Instead of demands, static: {data: {split: 67108864}, costs: {hdfs-read: 15, ...}} computes them from bytes, records and
nanoseconds (docs/spec/performance-model.md, 5.2). Jobs that run at once are equal and served first come first served.`,
		Example: `  sojourn model --job examples/model/wordcount.yaml --cluster nodes=8,memory=8GiB,vcores=4 --jobs 4
  sojourn model --job examples/model/wordcount.yaml --cluster nodes=8,memory=8GiB,vcores=4 --what-if nodes=4..64
  sojourn model --job examples/model/wordcount.yaml --cluster nodes=8,memory=8GiB,vcores=4 \
    --what-if map-memory=512MiB,1GiB,2GiB --plot sizes.svg
  sojourn model --from-jhist job_1_0001.jhist --maps 80 --cluster nodes=8,memory=8GiB,vcores=4`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.started = cmd.Flags().Changed("slow-start")
			return f.serve(a)
		},
	}
	f.output.register(c)
	fl := c.Flags()
	fl.StringVar(&f.job, "job", "", "profile of the job, a YAML file")
	fl.StringVar(&f.jhist, "from-jhist", "", "instead of --job: histories of the job's runs on Hadoop (a .jhist file, "+
		"or a folder of them)")
	fl.StringVar(&f.record, "from-record", "", "instead of --job: a record in which the job ran")
	fl.StringVar(&f.history, "from-history", "", "instead of --job: a file of task times, as --history keeps it; "+
		"--maps is needed")
	fl.StringVar(&f.name, "name", "", "with past runs: name of the job to learn from")
	fl.IntVar(&f.maps, "maps", 0, "maps of the job; 0: as the profile says")
	fl.IntVar(&f.reduces, "reduces", 0, "reduces of the job; 0: as the profile says")
	fl.StringVar(&f.cluster, "cluster", "", "cluster: a YAML file, or nodes=8,memory=8GiB,vcores=4")
	fl.IntVar(&f.jobs, "jobs", 1, "equal jobs submitted at once, 1 to 1000")
	fl.IntVar(&f.disks, "disks", 1, "disks of each node")
	fl.StringVar(&f.form, "form", "default", "form of the model: default; fifo, a queueing network; or thesis, "+
		"which is as it was printed")
	fl.StringVar(&f.whatIf, "what-if", "", "vary one number: nodes=4..64 (doubling), or nodes=4,6,8; also jobs, "+
		"disks, copiers, slow-start (0,0.5,1), map-memory and reduce-memory (1GiB,2GiB)")
	fl.StringVar(&f.plot, "plot", "", "with --what-if: draw the predicted times and their ranges to a file, "+
		"as SVG, or PNG by its name")
	fl.Float64Var(&f.start, "slow-start", 0.05, "part of the maps that must have ended before reduces start, "+
		"0 to 1; with --from-record by default as it was in the record")
	fl.IntVar(&f.copiers, "copiers", 5, "parallel copiers of a reduce")
	completeFlag(c, "form", "default", "fifo", "thesis")
	_ = c.RegisterFlagCompletionFunc("what-if", prefixCompletion("nodes", "jobs", "disks", "copiers", "slow-start",
		"map-memory", "reduce-memory"))
	return c
}

// modelResult is the prediction for one case.
type modelResult struct {
	Case       string             `json:"case,omitempty"` // of --what-if, as nodes=8
	Nodes      int                `json:"nodes"`
	Jobs       int                `json:"jobs"`
	Start      float64            `json:"slow_start"` // part of the maps that end before reduces start
	Mean       float64            `json:"sojourn_mean_s"`
	Least      float64            `json:"sojourn_p5_s"` // of the last job to end, as the next two
	Low        float64            `json:"sojourn_p50_s"`
	High       float64            `json:"sojourn_p95_s"`
	Last       float64            `json:"sojourn_max_s"`
	Wait       float64            `json:"wait_mean_s"`
	Task       map[string]float64 `json:"task_s"`     // mean time by kind of subtask
	Queueing   map[string]float64 `json:"queueing_s"` // of it, waiting for processors, disks and the network
	Bottleneck string             `json:"bottleneck"`
	Use        map[string]float64 `json:"utilization"`
	Iterations int                `json:"iterations"`
	Converged  bool               `json:"converged"`
}

func (f *modelFlags) serve(a *app) (err error) {
	profile, err := f.profile()
	if err != nil {
		return err
	}
	if f.plot != "" && f.whatIf == "" {
		return usagef("--plot %s: draws what --what-if varies, as --what-if nodes=4..64", f.plot)
	}
	cases, err := f.cases()
	if err != nil {
		return err
	}
	var results []modelResult
	for _, c := range cases {
		r, err := c.predict(profile)
		if err != nil {
			return err
		}
		results = append(results, r)
	}
	if f.plot != "" {
		picture := plotFile{"prediction", f.plot}
		defer func() { err = errors.Join(err, picture.write(plotCases(f.whatIf, cases, results))) }()
	}
	if f.json {
		return a.printJSON(struct {
			Job     string        `json:"job"`
			Cluster string        `json:"cluster"`
			Form    string        `json:"form"`
			Version string        `json:"version"`
			Results []modelResult `json:"results"`
		}{profile.Name, f.cluster, f.form, version(), results})
	}
	f.print(a, profile, results)
	return nil
}

func (f *modelFlags) profile() (*predict.Profile, error) {
	switch {
	case f.sources() != 1:
		return nil, usagef("one of --job, --from-jhist, --from-record and --from-history is needed: " +
			"the profile of a job, a YAML file (see --help), or past runs of it")
	case f.history != "" && f.maps == 0:
		return nil, usagef("--from-history knows times of tasks and no numbers of them: --maps is needed, and " +
			"--reduces for a job that has some")
	case f.maps < 0 || f.reduces < 0:
		return nil, usagef("--maps %d --reduces %d: neither may be negative", f.maps, f.reduces)
	case f.cluster == "":
		return nil, usagef("--cluster is needed: a YAML file, or nodes=8,memory=8GiB,vcores=4")
	case f.jobs < 1 || f.jobs > 1000:
		return nil, usagef("--jobs %d: must be from 1 to 1000", f.jobs)
	case f.disks < 1:
		return nil, usagef("--disks %d: must be at least 1", f.disks)
	case f.copiers < 1:
		return nil, usagef("--copiers %d: must be at least 1", f.copiers)
	case !(f.start >= 0) || f.start > 1:
		return nil, usagef("--slow-start %v: must be from 0 to 1", f.start)
	case f.form != "default" && f.form != "fifo" && f.form != "thesis":
		return nil, usagef("--form %q: must be default, fifo or thesis", f.form)
	}
	p, err := f.learn()
	if err != nil {
		return nil, err
	}
	p.Maps, p.Reduces = cmp.Or(f.maps, p.Maps), cmp.Or(f.reduces, p.Reduces)
	return p, p.Check()
}

// sources returns how many flags say what to learn from.
func (f *modelFlags) sources() (n int) {
	for _, s := range []string{f.job, f.jhist, f.record, f.history} {
		if s != "" {
			n++
		}
	}
	return n
}

// learn reads the profile, or makes it from past runs.
func (f *modelFlags) learn() (*predict.Profile, error) {
	switch {
	case f.jhist != "":
		jobs, names, err := predict.ReadHistories(f.jhist, f.name)
		if err != nil {
			return nil, fmt.Errorf("--from-jhist %w", err)
		}
		if err := oneName("--from-jhist "+f.jhist, f.name, names); err != nil {
			return nil, err
		}
		cluster, err := openCluster(f.cluster)
		if err != nil {
			return nil, err
		}
		p, err := predict.FromHistories(jobs, predict.Cores(cluster))
		if err != nil {
			return nil, fmt.Errorf("--from-jhist %s: %w", f.jhist, err)
		}
		return p, nil
	case f.record != "":
		return f.fromRecord()
	case f.history != "":
		return f.fromHistory()
	}
	file, err := os.Open(f.job)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return predict.ReadProfile(f.job, file)
}

// fromRecord makes the profile from a record.
func (f *modelFlags) fromRecord() (*predict.Profile, error) {
	cluster, err := openCluster(f.cluster)
	if err != nil {
		return nil, err
	}
	past, err := run.PastJobs(f.record, cluster, nil, func(err error) error { return err })
	if err != nil {
		return nil, err
	}
	var jobs []*sched.JobSpec
	names := map[string]bool{}
	for j, err := range past {
		if err != nil {
			return nil, err
		}
		if f.name == "" || j.Name == f.name {
			jobs = append(jobs, j)
		}
		names[j.Name] = true
	}
	if err := oneName("--from-record "+f.record, f.name, names); err != nil {
		return nil, err
	}
	p, err := predict.FromJobs(jobs)
	if err != nil {
		return nil, fmt.Errorf("--from-record %s: %w", f.record, err)
	}
	if part, ok := predict.SlowStart(jobs); ok && !f.started {
		f.start = part
	}
	return p, nil
}

// fromHistory makes the profile from task times that other runs have kept.
func (f *modelFlags) fromHistory() (*predict.Profile, error) {
	past, err := run.PastTasks(f.history)
	if err != nil {
		return nil, fmt.Errorf("--from-history %w", err)
	}
	times, names := map[string][]float64{}, map[string]bool{}
	for _, key := range slices.Sorted(maps.Keys(past)) {
		parts := strings.Split(key, "\x00") // user, name, type, kind of stage
		if len(parts) != 4 || f.name != "" && parts[1] != f.name {
			continue
		}
		names[parts[1]] = true
		for _, t := range past[key] {
			times[parts[3]] = append(times[parts[3]], t.Took.Seconds())
		}
	}
	switch err := oneName("--from-history "+f.history, f.name, names); {
	case err != nil:
		return nil, err
	case len(names) == 0:
		return nil, fmt.Errorf("--from-history %s: no job of the name %q ran", f.history, f.name)
	}
	name := slices.Collect(maps.Keys(names))[0]
	mapTimes, reduceTimes := times[sched.Map.String()], times[sched.Reduce.String()]
	return predict.FromTimes(name, mapTimes, reduceTimes), nil
}

// oneName refuses jobs of several names where none was chosen.
func oneName(flag, name string, names map[string]bool) error {
	if list := slices.Sorted(maps.Keys(names)); name == "" && len(list) > 1 {
		return usagef("%s has jobs of several names: choose one by --name: %s", flag, strings.Join(list, ", "))
	}
	return nil
}

// A modelCase is one cell of what might be: the flags, with one of them varied.
type modelCase struct {
	modelFlags
	name   string
	value  float64           // of what is varied
	nodes  int               // instead of the cluster's own; 0: those
	memory map[string]string // of a container, by map or reduce, instead of the profile's
}

// cases returns what is to be predicted: the flags as they are, or one case for each value of --what-if.
func (f *modelFlags) cases() ([]modelCase, error) {
	if f.whatIf == "" {
		return []modelCase{{modelFlags: *f}}, nil
	}
	key, text, _ := strings.Cut(f.whatIf, "=")
	read := parseRange
	switch key {
	case "nodes", "jobs", "disks", "copiers":
	case "slow-start":
		read = parseParts
	case "map-memory", "reduce-memory":
		read = parseSizes
	default:
		return nil, usagef("--what-if %s: what can vary are nodes, jobs, disks, copiers, slow-start, map-memory and "+
			"reduce-memory", f.whatIf)
	}
	values, err := read(text)
	if err != nil {
		return nil, usagef("--what-if %s: %w", f.whatIf, err)
	}
	var list []modelCase
	for _, v := range values {
		c := modelCase{modelFlags: *f, name: key + "=" + v.text, value: v.number}
		switch n := int(v.number); key {
		case "nodes":
			c.nodes = n
		case "jobs":
			c.jobs = n
		case "disks":
			c.disks = n
		case "copiers":
			c.copiers = n
		case "slow-start":
			c.start = v.number
		default:
			task, _, _ := strings.Cut(key, "-")
			c.memory = map[string]string{task: v.text}
		}
		list = append(list, c)
	}
	return list, nil
}

// A caseValue is a value of --what-if, as it was written and as a number.
type caseValue struct {
	text   string
	number float64
}

// parseParts reads numbers from 0 to 1, as 0,0.5,1.
func parseParts(text string) (values []caseValue, err error) {
	for s := range strings.SplitSeq(text, ",") {
		x, err := strconv.ParseFloat(s, 64)
		if err != nil || !(x >= 0 && x <= 1) {
			return nil, fmt.Errorf("%q must be a number from 0 to 1", s)
		}
		values = append(values, caseValue{s, x})
	}
	return values, atMostCases(len(values))
}

// parseSizes reads sizes, as 512MiB,1GiB, and returns them in MiB.
func parseSizes(text string) (values []caseValue, err error) {
	for s := range strings.SplitSeq(text, ",") {
		bytes, err := workload.ParseSize(s)
		if err == nil && bytes < 1<<20 {
			err = fmt.Errorf("%q must be at least 1MiB", s)
		}
		if err != nil {
			return nil, err
		}
		values = append(values, caseValue{s, float64(bytes) / (1 << 20)})
	}
	return values, atMostCases(len(values))
}

func atMostCases(n int) error {
	if n > mostCases {
		return fmt.Errorf("more than %d values", mostCases)
	}
	return nil
}

// sized returns the profile with containers of other memory. The other resources of a container stay; one without any
// holds one vcore.
func sized(p *predict.Profile, memory map[string]string) *predict.Profile {
	other := *p
	for task, amount := range memory {
		container := &other.Container.Map
		if task == "reduce" {
			container = &other.Container.Reduce
		}
		amounts := maps.Clone(*container)
		if len(amounts) == 0 {
			amounts = map[string]string{"vcores": "1"}
		}
		amounts["memory"] = amount
		*container = amounts
	}
	return &other
}

// plotCases draws the predicted times against what is varied: their range, and the mean over jobs.
func plotCases(whatIf string, cases []modelCase, results []modelResult) *chart.Chart {
	key, _, _ := strings.Cut(whatIf, "=")
	if strings.HasSuffix(key, "-memory") {
		key += " (MiB)"
	}
	mean, last := chart.Line{Name: "mean of the jobs"}, chart.Line{Name: "last job, 5th to 95th percentile"}
	for i, r := range results {
		x := cases[i].value
		mean.Points = append(mean.Points, chart.Point{X: x, Y: r.Mean})
		last.Points = append(last.Points, chart.Point{X: x, Y: r.Low, Low: r.Least, High: r.High})
	}
	first, end := cases[0].value, cases[len(cases)-1].value
	return &chart.Chart{
		X: chart.Axis{Label: key, Log: first > 0 && end > 8*first},
		Y: chart.Axis{Label: "time from submission to end (s)"}, Lines: []chart.Line{last, mean},
	}
}

// mostCases bounds the values of --what-if.
const mostCases = 100

// parseRange reads whole numbers as 4,6,8, or 4..64, which doubles.
func parseRange(text string) (values []caseValue, err error) {
	number := func(s string) int {
		n, wrong := strconv.Atoi(s)
		if wrong != nil || n < 1 || n > 10_000 {
			err = fmt.Errorf("%q must be a whole number from 1 to 10000", s)
		}
		return n
	}
	add := func(n int) { values = append(values, caseValue{strconv.Itoa(n), float64(n)}) }
	if from, to, doubles := strings.Cut(text, ".."); doubles {
		low, high := number(from), number(to)
		for n := low; err == nil && n < high; n *= 2 {
			add(n)
		}
		add(high)
	} else {
		for s := range strings.SplitSeq(text, ",") {
			add(number(s))
		}
	}
	return values, cmp.Or(err, atMostCases(len(values)))
}

func (c *modelCase) predict(p *predict.Profile) (r modelResult, err error) {
	cluster, err := openCluster(c.cluster)
	if err != nil {
		return r, err
	}
	if c.nodes > 0 {
		if cluster, err = resized(cluster, c.nodes); err != nil {
			return r, err
		}
	}
	on, job, err := sized(p, c.memory).On(cluster, c.disks)
	if err != nil {
		return r, fmt.Errorf("%s: %w", strings.TrimSpace(c.job+" "+c.name), err)
	}
	s := predict.Usual()
	switch c.form {
	case "fifo":
		s = predict.Fifo()
	case "thesis":
		s = predict.Thesis()
	}
	s.SlowStart, s.Copiers = c.start, c.copiers
	out, err := predict.Predict(on, slices.Repeat([]predict.Job{job}, c.modelFlags.jobs), s)
	if err != nil {
		return r, fmt.Errorf("%s: %w", strings.TrimSpace(c.job+" "+c.name), err)
	}
	r = modelResult{
		Case: c.name, Nodes: len(on.Nodes), Jobs: c.modelFlags.jobs, Start: c.start,
		Mean: out.Mean, Iterations: out.Iterations,
		Converged: out.Converged, Bottleneck: out.Bottleneck().String(),
		Task: map[string]float64{}, Queueing: map[string]float64{}, Use: map[string]float64{},
	}
	for z, x := range out.Utilization {
		r.Use[predict.Resource(z).String()] = x
	}
	n := float64(len(out.Jobs))
	for i := range out.Jobs {
		j := &out.Jobs[i]
		r.Wait += j.Wait / n
		if j.Response >= r.Last {
			r.Last, r.Least, r.Low, r.High = j.Response, j.Quantile(0.05), j.Quantile(0.5), j.Quantile(0.95)
		}
		for k, mean := range j.Tasks {
			r.Task[predict.Kind(k).String()] += mean / n
			r.Queueing[predict.Kind(k).String()] += (mean - j.Service[k]) / n
		}
	}
	return r, nil
}

// resized returns a cluster of one class with another number of nodes.
func resized(c *workload.Cluster, nodes int) (*workload.Cluster, error) {
	if len(c.Classes) != 1 {
		return nil, usagef("--what-if nodes=...: the cluster has %s of nodes; it can be varied with one",
			spelling.Count(len(c.Classes), "class", "classes"))
	}
	other := *c
	other.Classes = slices.Clone(c.Classes)
	other.Classes[0].Count = int32(nodes)
	other.Classes[0].Racks = min(other.Classes[0].Racks, int32(nodes))
	return &other, nil
}

func (f *modelFlags) print(a *app, p *predict.Profile, results []modelResult) {
	name := p.Name
	if name == "" {
		name = f.job
	}
	fmt.Fprintf(a.Out, "%s: %s, %s; the %s form of the model\n", name, spelling.Count(p.Maps, "map"),
		spelling.Count(p.Reduces, "reduce"), f.form)
	if p.Reduces > 0 && !strings.HasPrefix(f.whatIf, "slow-start=") {
		fmt.Fprintf(a.Out, "reduces start when %s %% of the maps have ended (--slow-start)\n", figure(100*f.start))
	}
	fmt.Fprintln(a.Out)
	t := newTable(
		"CASE",
		"NODES",
		"JOBS",
		"MEAN",
		"LAST",
		"P5",
		"P50",
		"P95",
		"WAIT",
		"MAP",
		"QUEUEING",
		"MERGE",
		"BOTTLENECK",
		"USED",
	)
	for _, r := range results {
		label := r.Case
		if label == "" {
			label = "as given"
		}
		most := r.Use[r.Bottleneck]
		t.row(
			label,
			strconv.Itoa(r.Nodes),
			strconv.Itoa(r.Jobs),
			figure(r.Mean),
			figure(r.Last),
			figure(r.Least),
			figure(r.Low),
			figure(r.High),
			figure(r.Wait),
			figure(r.Task["map"]),
			figure(r.Queueing["map"]),
			figure(r.Task["merge"]),
			r.Bottleneck,
			fmt.Sprintf("%.0f %%", 100*most),
		)
	}
	t.print(a.Out)
	fmt.Fprintln(
		a.Out,
		"\nTimes in seconds: the jobs' mean time from submission to end; the time of the last one, with its range:\n"+
			"5, 50 and 95 of 100 runs are below these; the mean wait for a first container; of one map its time, and\n"+
			"what of it is spent queueing for processors, disks and the network; of one reduce its time after the\n"+
			"shuffle; the busiest resource and its use.",
	)
	for _, r := range results {
		if !r.Converged {
			fmt.Fprintf(a.Out, "%s: the iteration did not settle; the figures are means over its last rounds.\n",
				strings.TrimSpace(name+" "+r.Case))
		}
	}
}

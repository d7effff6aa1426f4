package cli

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sojourn-sched/sojourn/internal/predict"
	"github.com/sojourn-sched/sojourn/internal/workload"
)

// modelFlags say which job is predicted, where, and what might be otherwise.
type modelFlags struct {
	output
	job     string
	cluster string
	jobs    int
	disks   int
	form    string
	whatIf  string
	start   float64
	copiers int
}

func modelCommand(a *app) *cobra.Command {
	var f modelFlags
	c := &cobra.Command{
		Use:   "model --job FILE --cluster CLUSTER",
		Short: "Predict a job's time before it runs, and say what the time is made of",
		Long: `Predict the time of a MapReduce job from what its tasks need of processors, disks and the network, by a queueing model
that knows waits for containers, contention and the order of tasks. The profile is a YAML file:

  name: wordcount
  maps: 80
  reduces: 4
  container: {map: {memory: 1GiB, vcores: 1}, reduce: {memory: 2GiB, vcores: 1}}
  demands:
    map:     {cpu: 6s, disk: 4s}
    shuffle: {disk: 50ms, network: 150ms}    # of one map's output by one reduce
    merge:   {cpu: 3s, disk: 2s}
  variation: 0.3                             # coefficient of variation of task times

Instead of demands, static: {data: {split: 67108864}, costs: {hdfs-read: 15, ...}} computes them from bytes, records and
nanoseconds (docs/spec/performance-model.md, 5.2). Jobs that run at once are equal and served first come first served.`,
		Example: `  sojourn model --job examples/model/wordcount.yaml --cluster nodes=8,memory=8GiB,vcores=4 --jobs 4
  sojourn model --job examples/model/wordcount.yaml --cluster nodes=8,memory=8GiB,vcores=4 --what-if nodes=4..64`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error { return f.serve(a) },
	}
	f.output.register(c)
	fl := c.Flags()
	fl.StringVar(&f.job, "job", "", "profile of the job, a YAML file")
	fl.StringVar(&f.cluster, "cluster", "", "cluster: a YAML file, or nodes=8,memory=8GiB,vcores=4")
	fl.IntVar(&f.jobs, "jobs", 1, "equal jobs submitted at once, 1 to 1000")
	fl.IntVar(&f.disks, "disks", 1, "disks of each node")
	fl.StringVar(&f.form, "form", "default", "form of the model: default, or thesis, which is as it was printed")
	fl.StringVar(
		&f.whatIf,
		"what-if",
		"",
		"vary one number: nodes=4..64 (doubling), or nodes=4,6,8; also jobs, disks, copiers",
	)
	fl.Float64Var(&f.start, "slow-start", 0.05, "part of the maps that must have ended before reduces start, 0 to 1")
	fl.IntVar(&f.copiers, "copiers", 5, "parallel copiers of a reduce")
	return c
}

// modelResult is the prediction for one case.
type modelResult struct {
	Case       string             `json:"case,omitempty"` // of --what-if, as nodes=8
	Nodes      int                `json:"nodes"`
	Jobs       int                `json:"jobs"`
	Mean       float64            `json:"sojourn_mean_s"`
	Low        float64            `json:"sojourn_p50_s"` // of the last job to end
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

func (f *modelFlags) serve(a *app) error {
	profile, err := f.profile()
	if err != nil {
		return err
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
	case f.job == "":
		return nil, usagef("--job is needed: the profile of a job, a YAML file (see --help)")
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
	case f.form != "default" && f.form != "thesis":
		return nil, usagef("--form %q: must be default or thesis", f.form)
	}
	file, err := os.Open(f.job)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return predict.ReadProfile(f.job, file)
}

// A modelCase is one cell of what might be: the flags, with one of them varied.
type modelCase struct {
	modelFlags
	name  string
	nodes int // instead of the cluster's own; 0: those
}

// cases returns what is to be predicted: the flags as they are, or one case for each value of --what-if.
func (f *modelFlags) cases() ([]modelCase, error) {
	if f.whatIf == "" {
		return []modelCase{{modelFlags: *f}}, nil
	}
	key, text, _ := strings.Cut(f.whatIf, "=")
	values, err := parseRange(text)
	if err != nil {
		return nil, usagef("--what-if %s: %w", f.whatIf, err)
	}
	var list []modelCase
	for _, v := range values {
		c := modelCase{modelFlags: *f, name: key + "=" + strconv.Itoa(v)}
		switch key {
		case "nodes":
			c.nodes = v
		case "jobs":
			c.jobs = v
		case "disks":
			c.disks = v
		case "copiers":
			c.copiers = v
		default:
			return nil, usagef("--what-if %s: what can vary are nodes, jobs, disks and copiers", f.whatIf)
		}
		list = append(list, c)
	}
	return list, nil
}

// mostCases bounds the values of --what-if.
const mostCases = 100

// parseRange reads numbers as 4,6,8, or 4..64, which doubles.
func parseRange(text string) (values []int, err error) {
	number := func(s string) int {
		n, wrong := strconv.Atoi(s)
		if wrong != nil || n < 1 || n > 10_000 {
			err = fmt.Errorf("%q must be a whole number from 1 to 10000", s)
		}
		return n
	}
	if from, to, doubles := strings.Cut(text, ".."); doubles {
		low, high := number(from), number(to)
		for n := low; err == nil && n < high; n *= 2 {
			values = append(values, n)
		}
		values = append(values, high)
	} else {
		for s := range strings.SplitSeq(text, ",") {
			values = append(values, number(s))
		}
	}
	if len(values) > mostCases {
		err = fmt.Errorf("more than %d values", mostCases)
	}
	return values, err
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
	on, job, err := p.On(cluster, c.disks)
	if err != nil {
		return r, fmt.Errorf("%s: %w", c.job, err)
	}
	s := predict.Usual()
	if c.form == "thesis" {
		s = predict.Thesis()
	}
	s.SlowStart, s.Copiers = c.start, c.copiers
	out, err := predict.Predict(on, slices.Repeat([]predict.Job{job}, c.modelFlags.jobs), s)
	if err != nil {
		return r, fmt.Errorf("%s: %w", c.job, err)
	}
	r = modelResult{
		Case: c.name, Nodes: len(on.Nodes), Jobs: c.modelFlags.jobs, Mean: out.Mean, Iterations: out.Iterations,
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
			r.Last, r.Low, r.High = j.Response, j.Quantile(0.5), j.Quantile(0.95)
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
		return nil, usagef(
			"--what-if nodes=...: the cluster has %d classes of nodes; it can be varied with one",
			len(c.Classes),
		)
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
	fmt.Fprintf(a.Out, "%s: %d maps, %d reduces; the %s form of the model\n\n", name, p.Maps, p.Reduces, f.form)
	t := newTable(
		"CASE",
		"NODES",
		"JOBS",
		"MEAN",
		"LAST",
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
			figure(r.Low),
			figure(r.High),
			figure(r.Wait),
			figure(
				r.Task["map"],
			),
			figure(r.Queueing["map"]),
			figure(r.Task["merge"]),
			r.Bottleneck,
			fmt.Sprintf("%.0f %%", 100*most),
		)
	}
	t.print(a.Out)
	fmt.Fprintln(
		a.Out,
		"\nTimes in seconds: the jobs' mean time from submission to end, the time of the last one with its range (the median and\n"+
			"95 of 100 runs), the mean wait for a first container; of one map its time, and what of it is spent queueing for\n"+
			"processors, disks and the network; of one reduce its time after the shuffle; the busiest resource and its use.",
	)
	for _, r := range results {
		if !r.Converged {
			fmt.Fprintf(
				a.Out,
				"%s: the iteration did not settle; the figures are means over its last rounds.\n",
				strings.TrimSpace(name+" "+r.Case),
			)
		}
	}
}

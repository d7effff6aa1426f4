package dynamicmr

import (
	"context"
	"fmt"
	"math"

	"github.com/sojourn-sched/sojourn/internal/chart"
	"github.com/sojourn-sched/sojourn/internal/reproduce/paper"
	"github.com/sojourn-sched/sojourn/internal/reproduce/testbed"
	"github.com/sojourn-sched/sojourn/internal/workload"
	"github.com/sojourn-sched/sojourn/sched"
)

// A way is a cluster and a policy under which jobs are run.
type way struct {
	spec          string
	maps, reduces int64 // slots of a node
	containers    bool  // as many cores as perNode instead, which maps and reduces take as they come
}

var (
	slotted   = way{spec: complete, maps: setUp, reduces: perNode - setUp}
	contained = way{spec: "late{fair:delay=3s}", containers: true}
	given     = way{spec: static, maps: setUp, reduces: perNode - setUp}
	printed   = way{
		spec:    static,
		maps:    6,
		reduces: 2,
	} // as table and text have the tuned division, which is 8 of 12 slots
)

// setting is that of jobs run this way.
func (w way) setting(jobs []*sched.JobSpec, seed uint64) testbed.Setting {
	var cluster *workload.Cluster
	if w.containers {
		cluster = testbed.ClusterOf("nodes=%d,vcores=%d", theirNodes, perNode)
	} else {
		cluster = testbed.SlotCluster(theirNodes, w.maps, w.reduces)
	}
	return testbed.Setting{Cluster: slowNetwork(cluster), Jobs: jobs, Costs: hadoopCosts(), Seed: seed}
}

// A jobMaker makes the jobs of a trial, for slots or for containers.
type jobMaker func(containers bool) []*sched.JobSpec

// time returns how long jobs take this way, in seconds.
func (w way) time(ctx context.Context, jobs jobMaker, seed uint64) (float64, error) {
	set := w.setting(jobs(w.containers), seed)
	o, err := set.Under(ctx, w.spec)
	if err != nil {
		return 0, err
	}
	return o.Makespan, nil
}

// tuned returns static Hadoop at the best of four divisions of a node's slots for the jobs, and how long they take.
func tuned(ctx context.Context, jobs jobMaker, seed uint64) (best way, least float64, err error) {
	least = math.Inf(1)
	for _, k := range []int64{6, 8, 9, 10} {
		w := way{spec: static, maps: k, reduces: perNode - k}
		t, err := w.time(ctx, jobs, seed)
		if err != nil {
			return best, 0, err
		}
		if t < least {
			best, least = w, t
		}
	}
	return best, least, nil
}

// gains are those of all three techniques over other ways, in percent, by name: "given", "printed", "static" (the best
// division), "yarn".
type gains map[string]float64

// compare runs jobs all ways. The three techniques have the division that is best without them.
func compare(ctx context.Context, jobs jobMaker, seed uint64) (gains, error) {
	best, least, err := tuned(ctx, jobs, seed)
	if err != nil {
		return nil, err
	}
	best.spec = complete
	ours, err := best.time(ctx, jobs, seed)
	if err != nil {
		return nil, err
	}
	g := gains{"static": paper.Gain(least, ours)}
	for name, w := range map[string]way{"given": given, "printed": printed, "yarn": contained} {
		t, err := w.time(ctx, jobs, seed)
		if err != nil {
			return nil, err
		}
		g[name] = paper.Gain(t, ours)
	}
	return g, nil
}

// batchSizes are the batches of figure 4.15.
var batchSizes = []int{5, 10, 20, 30}

func allPart() paper.Part {
	return paper.Part{
		Title: "All three, against the best division and against containers", Trials: 5,
		How: `Each benchmark alone, and batches of 5 to 30 of them: all three techniques (PI) over static Hadoop at the
cluster's division of 10 and 2, at the best of four (6, 8, 9 and 10 of 12 slots for maps) for each batch, with FIFO
beneath both, and over containers, as many as slots, which maps and reduces take as they come (` + "`late{fair}`" + ` on
a cluster of cores). The thesis says that its tuned baseline has "6/2" slots, which on nodes of 12 is no division of
them. Taken as printed it is 8 of 12 slots, and that is run as well.`,
		Charts: []paper.Picture{
			{
				File: "dynamicmr-all",
				Caption: "Gain of DynamicMR over static Hadoop, at the cluster's division, at the best of four, and " +
					"with the 6 and 2 slots that are printed, and over containers; black: the published range over " +
					"static Hadoop",
				Draw: allChart,
			},
		},
		Reading: "Most of what lending gains over a good division of slots it gains from reduces: they have the " +
			"whole cluster as soon as maps run out, and a part of it before. What was published is the size of a " +
			"gain over 6 and 2 slots of 12: a third of such a node is idle.",
		Claims: allClaims(),
		Trial:  allTrial,
	}
}

func allChart(samples []paper.Sample) chart.Chart {
	c := chart.Chart{X: chart.Axis{Label: "jobs"}, Y: chart.Axis{Label: "gain (%)"}}
	whats := []string{"single"}
	for _, n := range batchSizes {
		whats = append(whats, fmt.Sprint(n))
	}
	c.X.Names = whats
	for _, l := range [...][2]string{{"given", "over 10 and 2"}, {"static", "over the best"},
		{"printed", "over 6 and 2"}, {"yarn", "over containers"}} {
		line := chart.Line{Name: l[1], Manner: chart.Apart}
		for i, what := range whats {
			line.Points = append(line.Points, paper.PointOf(samples, float64(i), l[0]+" "+what))
		}
		c.Lines = append(c.Lines, line)
	}
	published := chart.Line{Name: "published", Manner: chart.Given}
	for i := range whats {
		r := paper.Between(49, 112)
		if i == 0 {
			r = paper.Between(46, 115)
		}
		published.Points = append(published.Points, chart.Point{X: float64(i), Y: (r.Low + r.High) / 2, Low: r.Low,
			High: r.High})
	}
	c.Lines = append(c.Lines, published)
	return c
}

func allClaims() (claims []paper.Claim) {
	fitted := "a fitted bandwidth stands for disks and network, and task times are those of another cluster (table " +
		"3.2): slower reduces gain more from more slots"
	smaller := "the thesis tuned one division for all its workloads; the best of four for each batch is a harder " +
		"baseline. With many jobs there is nearly always a task for either kind of slot"
	claims = []paper.Claim{
		{
			Where:     "Fig. 4.15",
			Says:      "single jobs over 10 and 2: least of the nine",
			Published: paper.Exactly(46),
			Unit:      "%",
			Figure:    "given least",
			Agrees:    paper.Above(0),
			Why:       fitted,
		},
		{
			Where:     "Fig. 4.15",
			Says:      "single jobs over 10 and 2: most of the nine",
			Published: paper.Exactly(115),
			Unit:      "%",
			Figure:    "given most",
			Agrees:    paper.Above(0),
			Why:       fitted,
		},
		{
			Where:     "Fig. 4.15",
			Says:      "single jobs over the best division: median of the nine",
			Published: paper.Between(46, 115),
			Unit:      "%",
			Figure:    "static single",
			Agrees:    paper.Above(0),
			Why:       smaller,
		},
		{
			Where:     "Fig. 4.15",
			Says:      "single jobs over 6 and 2 as printed: median of the nine",
			Published: paper.Between(46, 115),
			Unit:      "%",
			Figure:    "printed single",
			Agrees:    paper.Above(0),
			Why:       fitted,
		},
		{
			Where:     "Fig. 4.15",
			Says:      "single jobs over 6 and 2 as printed: most of the nine",
			Published: paper.Exactly(115),
			Unit:      "%",
			Figure:    "printed most",
			Agrees:    paper.Above(0),
			Why:       fitted,
		},
	}
	for _, n := range batchSizes {
		for _, over := range [...][3]string{{"given", "10 and 2", fitted}, {"static", "the best division", smaller},
			{"printed", "6 and 2 as printed", fitted}} {
			claims = append(
				claims,
				paper.Claim{
					Where:     "Fig. 4.15",
					Says:      fmt.Sprintf("%d jobs over %s", n, over[1]),
					Published: paper.Between(49, 112),
					Unit:      "%",
					Figure:    fmt.Sprint(over[0], " ", n),
					Agrees:    paper.Above(0),
					Why:       over[2],
				},
			)
		}
	}
	claims = append(
		claims,
		paper.Claim{
			Where:     "Fig. 4.16",
			Says:      "FIFO beneath both, 10 jobs, over 10 and 2",
			Published: paper.AtMost(60),
			Unit:      "%",
			Figure:    "fifo 10",
			Agrees:    paper.Above(0),
			Why:       smaller,
		},
		paper.Claim{
			Where:     "Fig. 4.17",
			Says:      "containers, single jobs: better for some, worse for others: least",
			Published: paper.AtMost(0),
			Unit:      "%",
			Figure:    "yarn least",
			Agrees:    paper.AtMost(-1),
			Why: "in print containers are faster for six of the nine; here none loses a percent by lending, since " +
				"containers have no advantage that slots which are lent do not have",
		},
		paper.Claim{
			Where:     "Fig. 4.17",
			Says:      "the same: most",
			Published: paper.AtLeast(0),
			Unit:      "%",
			Figure:    "yarn most",
			Agrees:    paper.Above(0),
		},
	)
	for _, n := range batchSizes {
		claims = append(
			claims,
			paper.Claim{
				Where:     "Fig. 4.17",
				Says:      fmt.Sprintf("containers, %d jobs", n),
				Published: paper.Between(2, 9),
				Unit:      "%",
				Figure:    fmt.Sprint("yarn ", n),
				Agrees:    paper.Above(0),
				Why: "the difference is what many reduces at once cost, on disks and in memory as well. " +
					"Our network has the part that is bytes: they then only take turns, and lose nothing",
			},
		)
	}
	return claims
}

func allTrial(ctx context.Context, _ paper.Lab, seed uint64) (paper.Sample, error) {
	s := paper.Sample{}
	singles := map[string][]float64{}
	for i := range benchmarks {
		g, err := compare(ctx, func(containers bool) []*sched.JobSpec {
			return []*sched.JobSpec{benchmarks[i].job(int(seed), containers)}
		}, seed)
		if err != nil {
			return nil, err
		}
		for name, x := range g {
			singles[name] = append(singles[name], x)
		}
	}
	for name, all := range singles {
		middle, least, most := paper.Spread(all)
		s.Set(name+" single", middle)
		s.Set(name+" least", least)
		s.Set(name+" most", most)
	}
	for _, n := range batchSizes {
		g, err := compare(ctx, func(containers bool) []*sched.JobSpec { return batch(n, seed, containers) }, seed)
		if err != nil {
			return nil, err
		}
		for name, x := range g {
			s.Set(fmt.Sprint(name, " ", n), x)
		}
	}
	fifo := hadoop(batch(10, seed, false), setUp, seed)
	before, err := fifo.Under(ctx, static+",base=fifo")
	if err != nil {
		return nil, err
	}
	after, err := fifo.Under(ctx, complete+",base=fifo")
	if err != nil {
		return nil, err
	}
	s.Set("fifo 10", paper.Gain(before.Makespan, after.Makespan))
	return s, nil
}

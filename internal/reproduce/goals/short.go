package goals

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/sojourn-sched/sojourn/internal/reproduce/paper"
	"github.com/sojourn-sched/sojourn/internal/reproduce/testbed"
	"github.com/sojourn-sched/sojourn/internal/theory"
	"github.com/sojourn-sched/sojourn/internal/workload"
	"github.com/sojourn-sched/sojourn/model"
	"github.com/sojourn-sched/sojourn/sched"
)

// shortKinds are kinds of jobs as examples/deadlines runs them: few tasks, which are over soon.
var shortKinds = []struct {
	name string
	theory.SlotJob
}{
	{"sort-words", theory.SlotJob{Maps: 4, MapTime: 2, Reduces: 2, ReduceTime: 2}},
	{"sort-records", theory.SlotJob{Maps: 4, MapTime: 1.5, Reduces: 2, ReduceTime: 3}},
	{"count-words", theory.SlotJob{Maps: 4, MapTime: 3, Reduces: 1, ReduceTime: 1}},
	{"joins", theory.SlotJob{Maps: 2, MapTime: 2, Reduces: 1, ReduceTime: 3}},
	{"graph", theory.SlotJob{Maps: 1, MapTime: 3, Reduces: 1, ReduceTime: 2}},
	{"ratings", theory.SlotJob{Maps: 6, MapTime: 1, Reduces: 1, ReduceTime: 0.5}},
	{"movies", theory.SlotJob{Maps: 6, MapTime: 1, Reduces: 1, ReduceTime: 0.5}},
	{"count-memo", theory.SlotJob{Maps: 2, MapTime: 3, Reduces: 1, ReduceTime: 1}},
}

const shortCores = 2

var shortWorld = world{
	page: "adaptive", name: "short",
	how: "40 jobs of the eight kinds that [examples/deadlines](../../examples/README.md) runs, of 1 to 6 maps and 1 " +
		"or 2 reduces, on a node of two cores. A task takes 0.5 to 3 s on average by its kind (0.3 within), and a " +
		"core. Jobs, goals and load are drawn as on [the page of goals](goals.md). Earlier runs of each kind are " +
		"known (`--estimator history`), which only `lengths=estimated` and `distributions` look at. `late-cap=0` " +
		"serves stages past their goals last.",
	reading: "The order is as printed (3.4 and 3.4.1 of the thesis), and what it costs can be told apart. Most of it " +
		"is the first class: stages past their goal come before all others, although nothing is gained by that, so " +
		"that in a backlog each late job makes the next one late. `late-cap=0` takes this out. Earliest deadline " +
		"first has the same fault. The second class, stages without a finished task by submission, costs less: short " +
		"jobs are in it for most of their time, and `lengths=estimated` takes them out of it. Without both classes " +
		"the order still meets fewer goals than earliest deadline first while most goals can be met. It goes by the " +
		"slots that stages lack, so that all share a shortage in which the nearest goals could be met. " +
		"`shortage=fewest` serves the nearest goal first and gives up goals that do not fit. It meets as many as " +
		"earliest deadline first where nearly all can be met, and more elsewhere.",
	rivals: rivalsOn(testbed.ClusterOf("nodes=1,vcores=%d,memory=1TiB", shortCores), "fair", "edf", "distributions",
		"adaptive", "adaptive:lengths=estimated", "adaptive:late-cap=0", "adaptive:lengths=estimated,late-cap=0",
		fewestLate,
		fewestLate+",lengths=estimated", fewestLate+",split=waves,lengths=estimated"),
	own: fewestLate + ",split=waves,lengths=estimated", base: "edf",
	count: 40, trials: 20,
	draw: func(r *rand.Rand, seed uint64) drawnJob {
		kind := shortKinds[r.IntN(len(shortKinds))]
		j := testbed.JobOf(kind.name, 0, kind.SlotJob, [2][]workload.Task{})
		t := j.Payload.(*workload.Truth)
		t.Seed = seed
		alone, work := 0.0, 0.0
		for i := range j.Stages {
			st := &j.Stages[i]
			tasks, mean := float64(st.Tasks), st.Prior.Seconds()
			alone += math.Ceil(tasks/shortCores) * mean
			work += tasks * mean / shortCores
			st.Prior, st.PerTask = 0, sched.Resources{sched.VCores: 1, sched.Memory: 1024}
			t.Stages[i].Sigma = testbed.SpreadOf(0.3)
		}
		return drawnJob{j, alone, work}
	},
	knows: func() sched.Estimator {
		h := &model.History{Past: map[string][]model.PastTask{}}
		for _, kind := range shortKinds {
			j := testbed.JobOf(kind.name+"-1", 0, kind.SlotJob, [2][]workload.Task{})
			for i, of := range []float64{kind.MapTime, kind.ReduceTime} {
				for _, part := range []float64{0.7, 1, 1.3} { // of the mean
					key := j.Likeness(j.Stages[i].Kind)
					took := time.Duration(part * of * 1e9)
					h.Past[key] = append(h.Past[key], model.PastTask{Took: took})
				}
			}
		}
		return h
	},
}

// ShortPart makes the part with short jobs. It is on the page of adaptive.
func ShortPart() paper.Part { return worldPart("Short jobs on two cores, by load", shortWorld) }

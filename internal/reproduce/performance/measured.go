package performance

import (
	"context"
	_ "embed"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/sojourn-sched/sojourn/internal/chart"
	"github.com/sojourn-sched/sojourn/internal/predict"
	"github.com/sojourn-sched/sojourn/internal/reproduce/paper"
)

// hadoopGrid is what make validate-model has measured of stock Hadoop.
//
//go:embed hadoop-grid.txt
var hadoopGrid string

// engineGrid is what make validate-model has measured of the engine mr.
//
//go:embed mr-grid.txt
var engineGrid string

// onEngine is the manager of cells that were measured on mr.
const onEngine = "mr"

// A realCell is a cell of measured jobs.
type realCell struct {
	manager, kind     string
	maps, nodes, jobs int
	run               predict.Run
}

// gridMachine measured, with rooms in MiB: two tasks on a node beside the masters of four jobs.
var gridMachine = predict.Machine{Cores: 2, NodeRoom: 3072, TaskRoom: 1024, MasterRoom: 256}

// engineMachine has a node for each slot of mr, whose jobs have no masters.
var engineMachine = predict.Machine{Cores: 2, NodeRoom: 1, TaskRoom: 1}

// machineOf returns the machine that measured under a manager.
func machineOf(manager string) predict.Machine {
	if manager == onEngine {
		return engineMachine
	}
	return gridMachine
}

// slots are the tasks that the cell's nodes hold at once beside its masters. Nodes have as equal numbers of these as
// can be.
func (c *realCell) slots() (n int) {
	m := machineOf(c.manager)
	for node := range c.nodes {
		masters := (c.jobs + c.nodes - 1 - node) / c.nodes
		n += int((m.NodeRoom - float64(masters)*m.MasterRoom) / m.TaskRoom)
	}
	return n
}

// readGrid reads measured cells of a file: lines as the head of hadoop-grid.txt describes them.
func readGrid(name, text string) (cells []realCell, err error) {
	seconds := func(ms float64) float64 { return ms / 1000 }
	for i, line := range strings.Split(text, "\n") {
		var what string
		if line == "" || line[0] == '#' {
			continue
		}
		bad := func(err error) error { return fmt.Errorf("%s, line %d: %q: %w", name, i+1, line, err) }
		if strings.HasPrefix(line, "cell ") {
			var c realCell
			if _, err := fmt.Sscan(line, &what, &c.manager, &c.kind, &c.maps, &c.nodes, &c.jobs); err != nil {
				return nil, bad(err)
			}
			c.run.Nodes = c.nodes
			cells = append(cells, c)
			continue
		}
		var f [5]float64
		n, _ := fmt.Sscan(line, &what, &f[0], &f[1], &f[2], &f[3], &f[4])
		if len(cells) == 0 {
			return nil, bad(fmt.Errorf("a cell comes first"))
		}
		run := &cells[len(cells)-1].run
		switch {
		case what == "job" && n == 3:
			run.Jobs = append(run.Jobs, predict.Measured{Launched: seconds(f[0]), End: seconds(f[1])})
			continue
		case len(run.Jobs) == 0:
			return nil, bad(fmt.Errorf("a job comes first"))
		}
		job := &run.Jobs[len(run.Jobs)-1]
		switch {
		case what == "map" && n == 4:
			o := predict.Observed{Start: seconds(f[0]), End: seconds(f[1]), CPU: seconds(f[2])}
			job.Tasks[0] = append(job.Tasks[0], o)
		case what == "reduce" && n == 6:
			o := predict.Observed{Start: seconds(f[0]), End: seconds(f[3]), CPU: seconds(f[4])}
			job.Tasks[1] = append(job.Tasks[1], o)
		default:
			return nil, bad(fmt.Errorf("want map with 3 numbers or reduce with 5"))
		}
	}
	return cells, nil
}

func (c *realCell) shape() predict.Shape {
	return predict.Shape{Maps: c.maps, Reduces: 1, Nodes: c.nodes, Jobs: c.jobs}
}

// mean is the mean time of the cell's jobs.
func (c *realCell) mean() float64 {
	var ends []float64
	for _, j := range c.run.Jobs {
		ends = append(ends, j.End)
	}
	return paper.Mean(ends)
}

// A realModel is a prediction of real jobs that is compared.
type realModel struct {
	name    string
	without int                     // parts that it learns without, or adds
	form    func() predict.Settings // nil: it is a baseline
	small   bool                    // it learns from the smallest run alone
	alone   bool                    // it learns of the machine from the same kind of job alone
}

const (
	defaultModel = "default"
	smallModel   = "from one small run"
	eachAlone    = "each kind of job alone"
)

// realModels are compared. Those after the second leave out what their names say. Models that have no processors for
// masters, or no service to take demands from, get mean times as counted.
var realModels = func() (list []realModel) {
	plain := predict.WithoutFit | predict.WithoutService | predict.WithoutMasters
	tripathi := func() predict.Settings {
		s := predict.Thesis()
		s.Tripathi = true
		return s
	}
	return []realModel{
		{name: defaultModel, form: predict.Usual},
		{name: smallModel, form: predict.Usual, small: true},
		{name: "queueing network", form: predict.Fifo},
		{name: "demands as observed", form: predict.Usual, without: predict.WithoutFit},
		{name: "demands as counted", form: predict.Usual, without: predict.WithoutFit | predict.WithoutService},
		{name: "masters take no processor", form: predict.Usual, without: predict.WithoutMasters},
		{name: eachAlone, form: predict.Usual, alone: true},
		{name: eachAlone + ", with waits for grants", form: predict.Usual, without: predict.WithGrants, alone: true},
		{name: "equal tasks", form: predict.Usual, without: predict.WithoutVariation},
		{name: "fork/join as printed", form: predict.Thesis, without: plain},
		{name: "Tripathi as printed", form: tripathi, without: plain},
		{name: "Herodotou", without: plain},
		{name: "ARIA", without: plain},
		{name: "mean of history", without: plain},
	}
}()

// baseline predicts the mean time of a cell from others, by a model that knows slots. It gets the time until tasks are
// made, and the commit.
func baseline(name string, l *predict.Learned, c *realCell, others []*realCell) float64 {
	if name == "mean of history" {
		var all []float64
		for _, o := range others {
			all = append(all, o.mean())
		}
		return paper.Mean(all)
	}
	sum := 0.0
	maps, reduces := meanTasks(others, 0), meanTasks(others, 1)
	for k := 1; k <= c.jobs; k++ {
		if name == "Herodotou" {
			sum += predict.HerodotouTime(predict.Slotted{Tasks: k * c.maps, Time: maps.Mean, Slots: c.slots()},
				predict.Slotted{Tasks: 1, Time: reduces.Mean, Slots: c.slots()})
			continue
		}
		job := predict.ARIAJob{Maps: maps, Reduces: reduces}
		job.Maps.Tasks, job.Reduces.Tasks = k*c.maps, 1
		sum += job.Bounds(c.slots(), c.slots()).Mean
	}
	return l.Start.Total() + l.Commit + sum/float64(c.jobs)
}

// meanTasks are mean and largest time of tasks of a kind.
func meanTasks(cells []*realCell, kind int) (w predict.Waves) {
	for _, c := range cells {
		for _, j := range c.run.Jobs {
			for _, t := range j.Tasks[kind] {
				w.Tasks++
				w.Mean += t.End - t.Start
				w.Largest = max(w.Largest, t.End-t.Start)
			}
		}
	}
	w.Mean /= float64(max(1, w.Tasks))
	return w
}

func runsOf(cells []*realCell) (runs []predict.Run) {
	for _, c := range cells {
		runs = append(runs, c.run)
	}
	return runs
}

// small returns the smallest run of a list: one job with the fewest maps on the fewest nodes.
func small(cells []*realCell) []*realCell {
	least := slices.MinFunc(cells, func(a, b *realCell) int {
		return (a.jobs-b.jobs)*1000 + (a.maps-b.maps)*100 + a.nodes - b.nodes
	})
	return []*realCell{least}
}

// A realCase is a cell to be predicted by a model, and what the model may learn from.
type realCase struct {
	*realCell
	model   *realModel
	others  []*realCell
	learned *predict.Learned
}

// realCases pairs models and cells. A cell is predicted from the cells of the same kind of job and the same
// ResourceManager with another number of maps or of nodes: all numbers of jobs of a size on so many nodes are left out
// together. What is learned once serves them all.
func realCases(cells []realCell) (list []realCase, err error) {
	type lesson struct {
		manager, kind string
		maps, nodes   int
		without       int
		alone         bool
	}
	lessons := map[lesson]*predict.Learned{}
	for i := range cells {
		c := &cells[i]
		var same, others []*realCell
		for k := range cells {
			if o := &cells[k]; o.manager == c.manager && o.kind == c.kind {
				same = append(same, o)
				if o.maps != c.maps || o.nodes != c.nodes {
					others = append(others, o)
				}
			}
		}
		for k := range realModels {
			m := &realModels[k]
			to := realCase{realCell: c, model: m, others: others}
			key := lesson{c.manager, c.kind, c.maps, c.nodes, m.without, m.alone || m.small}
			if m.small {
				to.others = small(same)
				key.maps, key.nodes = 0, 0
			}
			if len(to.others) == 0 || to.others[0] == c {
				continue
			}
			if lessons[key] == nil {
				if lessons[key], err = predict.Learn(runsOf(to.others), machineOf(c.manager), m.without,
					besides(cells, c, m)...); err != nil {
					return nil, err
				}
			}
			to.learned = lessons[key]
			list = append(list, to)
		}
	}
	return list, nil
}

// besides returns the runs of the other kinds of jobs under the cell's manager, from which a model that learns from
// many runs learns about the machine.
func besides(cells []realCell, c *realCell, m *realModel) (list [][]predict.Run) {
	if m.small || m.alone {
		return nil
	}
	kinds := map[string][]predict.Run{}
	for i := range cells {
		if o := &cells[i]; o.manager == c.manager && o.kind != c.kind {
			kinds[o.kind] = append(kinds[o.kind], o.run)
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		list = append(list, kinds[kind])
	}
	return list
}

// predict returns the mean time of the cell's jobs, and where nine of ten are if the model errs by so much.
func (c *realCase) predict(errs float64) (t, low, high float64, err error) {
	if c.model.form == nil {
		t = baseline(c.model.name, c.learned, c.realCell, c.others)
		return t, t, t, nil
	}
	set := c.model.form()
	set.Error = errs
	p, err := c.learned.PredictBy(c.shape(), set)
	if err != nil {
		return 0, 0, 0, err
	}
	return p.Mean, p.Quantile(0.05), p.Quantile(0.95), nil
}

// single and several are the cells of one job, and of more.
const single, several = "one job", "several jobs"

// realTrial predicts each cell by each model.
func realTrial(cells []realCell) (s paper.Sample, err error) {
	cases, err := realCases(cells)
	if err != nil {
		return nil, err
	}
	s = paper.Sample{}
	off, logs, signed := map[string][]float64{}, map[string][]float64{}, map[string][]float64{}
	var mapTimes []float64 // counted processor time of maps of one kind, by cell
	for i := range cells {
		if c := &cells[i]; c.kind == "wordcount" {
			mapTimes = append(mapTimes, countedMap(c))
		}
	}
	for i := range cases {
		c := &cases[i]
		t, _, _, err := c.predict(0)
		if err != nil {
			return nil, err
		}
		name := c.model.name
		s["predicted "+name] = append(s["predicted "+name], t)
		s["against "+name] = append(s["against "+name], c.mean())
		logs[name] = append(logs[name], math.Log(c.mean()/t))
		if name == defaultModel {
			group := several
			if c.jobs == 1 {
				group = single
			}
			signed[group] = append(signed[group], 100*(t/c.mean()-1))
		}
		for _, group := range []string{c.manager + " " + c.kind, "all"} {
			off[group+" "+name] = append(off[group+" "+name], 100*math.Abs(t/c.mean()-1))
		}
	}
	for name, list := range off {
		s.Set("mean "+name, paper.Mean(list))
		s.Set("worst "+name, slices.Max(list))
	}
	s.Set("map cpu", 100*relativeDeviation(mapTimes))
	for name, list := range signed {
		s.Set("bias "+name, paper.Mean(list))
	}
	return s, ranges(s, cases, logs)
}

// countedMap returns the mean counted processor time of a map.
func countedMap(c *realCell) float64 {
	var list []float64
	for _, j := range c.run.Jobs {
		for _, t := range j.Tasks[0] {
			list = append(list, t.CPU)
		}
	}
	return paper.Mean(list)
}

// ranges counts the cells whose measured time is in the predicted range. The error that the range has in it is that of
// the other cells.
func ranges(s paper.Sample, cases []realCase, logs map[string][]float64) error {
	at, within := map[string]int{}, map[string][]float64{}
	for i := range cases {
		c := &cases[i]
		name := c.model.name
		if name != defaultModel && name != smallModel {
			continue
		}
		rest := slices.Delete(slices.Clone(logs[name]), at[name], at[name]+1)
		at[name]++
		_, low, high, err := c.predict(rootMeanSquare(rest))
		if err != nil {
			return err
		}
		in := 0.0
		if c.mean() >= low && c.mean() <= high {
			in = 100
		}
		within[name] = append(within[name], in)
		s["width "+name] = append(s["width "+name], high/low)
	}
	for name, list := range within {
		s.Set("within "+name, paper.Mean(list))
		s.Set("error "+name, 100*rootMeanSquare(logs[name]))
		s.Set("wide "+name, paper.Mean(s["width "+name]))
	}
	return nil
}

// relativeDeviation returns the standard deviation of a list as a part of its mean.
func relativeDeviation(list []float64) float64 {
	m := paper.Mean(list)
	var off []float64
	for _, x := range list {
		off = append(off, x/m-1)
	}
	return rootMeanSquare(off)
}

func rootMeanSquare(list []float64) float64 {
	sum := 0.0
	for _, x := range list {
		sum += x * x / float64(len(list))
	}
	return math.Sqrt(sum)
}

// shownModels are in the picture, and in the rows for each kind of job.
var shownModels = []string{defaultModel, smallModel, "Herodotou", "ARIA", "mean of history"}

func realChart(samples []paper.Sample) chart.Chart {
	c := chart.Chart{
		X: chart.Axis{Label: "measured mean sojourn time (s)", Log: true},
		Y: chart.Axis{Label: "predicted (s)", Log: true},
	}
	for _, name := range shownModels {
		l := chart.Line{Name: name, Manner: chart.Apart}
		for i, x := range samples[0]["against "+name] {
			l.Points = append(l.Points, chart.Point{X: x, Y: samples[0]["predicted "+name][i]})
		}
		c.Lines = append(c.Lines, l)
	}
	return c
}

// realGroups are the ResourceManagers and kinds of jobs that are in a row of their own.
var realGroups = []string{"sojourn wordcount", "sojourn grep", "sojourn sort", "hadoop wordcount"}

// hadoopPart is the part on cells that were measured.
func hadoopPart(cells []realCell) paper.Part {
	p := paper.Part{
		Title: "Real jobs on stock Hadoop", Trials: 1,
		Trial: func(context.Context, paper.Lab, uint64) (paper.Sample, error) { return realTrial(cells) },
		How: fmt.Sprintf("%d cells: word count, grep and sort of Hadoop 3.4.2, one reduce each, on 1 to 3 "+
			"NodeManagers of one machine with two cores, under `sojourn rm --policy fifo` or Hadoop's own "+
			"ResourceManager. A node has room for three tasks, or for two and up to four masters. Word count has 2, "+
			"4 or 6 maps and 1 to 4 jobs submitted at once; the others have 4 maps and 1 or 3 jobs. "+
			"`make validate-model` measures cells that are missing, and keeps the times in "+
			"`internal/reproduce/performance/hadoop-grid.txt`. A cell is predicted from the cells of the same job "+
			"under the same ResourceManager with another number of maps or of nodes. *From one small run* is one job "+
			"with the fewest maps on one node, and nothing else. An error is that of the mean time of a cell's jobs, "+
			"from submission to end. A range is from the 5th to the 95th percentile, with the error of the other "+
			"cells in it.", len(cells)),
		Reading: "The default lets tasks and masters that start share the processors at each instant, takes a task's " +
			"demand from the service that it got, and fits interference between processes and the threads of " +
			"masters. These two belong to the machine, and so they are those with which the cells of all kinds of " +
			"jobs are predicted best; demands are of each kind. The rows below leave one of these out each. *Each " +
			"kind of job alone* fits the two to the cells of one kind only, which are few for grep and sort. *With " +
			"waits for grants* adds a wait of each task for its container. It was the default until these cells " +
			"showed that the common factor on the demands has these waits in it: that choice was made on the " +
			"cells that it is judged by. *Queueing network* has the same demands in the spec's preset `fifo`. " +
			"Printed forms and baselines get mean times as counted. A small run cannot tell demand and " +
			"interference apart. Of the cells that are most off, those of one job of grep took longer the more " +
			"nodes there were, with the same work on the same two cores: more processes start at once, and the " +
			"model has that cost for no kind of job. Each cell was measured once, and maps of the same bytes and " +
			"program need other processor times from cell to cell, which a model of the job's shape cannot foresee.",
		Charts: []paper.Picture{{File: "performance-model-hadoop",
			Caption: "Predicted against measured mean sojourn time of real jobs, a point a cell", Draw: realChart}},
	}
	for _, m := range realModels {
		p.Claims = append(p.Claims, errorClaims(m.name)...)
	}
	p.Claims = append(p.Claims, paper.Claim{Where: "grid",
		Says: "counted processor time of word count's maps, coefficient " +
			"of variation between cells", Unit: "%", Figure: "map cpu", Own: true})
	for _, group := range []string{single, several} {
		p.Claims = append(p.Claims, paper.Claim{Where: "grid",
			Says: "default, mean signed error of cells with " + group,
			Unit: "%", Figure: "bias " + group, Own: true})
	}
	p.Claims = append(p.Claims, rangeClaims()...)
	p.Claims = append(p.Claims, groupClaims(cells, realGroups)...)
	return p
}

// errorClaims are the rows of a model's errors. Those of the printed forms stand beside the thesis's.
func errorClaims(name string) []paper.Claim {
	c := paper.Claim{Where: "grid", Says: name + ", mean error over all cells", Unit: "%", Figure: "mean all " + name,
		Own: true}
	if name == "fork/join as printed" {
		c.Where, c.Own, c.Published, c.Agrees = "chapter 7", false, paper.Exactly(15), paper.AtMost(30)
	}
	if name == "Tripathi as printed" {
		c.Where, c.Own, c.Published, c.Agrees = "chapter 7", false, paper.Exactly(28.5), paper.AtMost(45)
	}
	c.Why = "Other jobs, other machine; the thesis's demands are not published."
	worst := paper.Claim{Where: "grid", Says: name + ", largest error of a cell", Unit: "%", Own: true}
	worst.Figure = "worst all " + name
	return []paper.Claim{c, worst}
}

// rangeClaims are the rows of the ranges that the default predicts, and of those from one small run.
func rangeClaims() (list []paper.Claim) {
	for _, name := range []string{defaultModel, smallModel} {
		list = append(list,
			paper.Claim{Where: "grid", Says: name + ", cells within the range", Unit: "%", Figure: "within " + name,
				Own: true},
			paper.Claim{Where: "grid", Says: name + ", end of the range by its start, on average",
				Figure: "wide " + name,
				Own:    true},
			paper.Claim{Where: "grid", Says: name + ", root mean square of ln(measured ÷ predicted)", Unit: "%",
				Figure: "error " + name, Own: true})
	}
	return list
}

// groupClaims are the rows of each kind of job under a manager.
func groupClaims(cells []realCell, groups []string) (list []paper.Claim) {
	for _, group := range groups {
		manager, kind, _ := strings.Cut(group, " ")
		there := func(c realCell) bool { return c.manager == manager && c.kind == kind }
		if !slices.ContainsFunc(cells, there) {
			continue
		}
		where := "under " + manager + "'s ResourceManager"
		if manager == onEngine {
			where = "on mr"
		}
		for _, name := range shownModels {
			list = append(list, paper.Claim{Where: "grid",
				Says: fmt.Sprintf("%s %s: %s, mean error", kind, where, name),
				Unit: "%", Figure: "mean " + group + " " + name, Own: true})
		}
	}
	return list
}

// engineGroups are the kinds of jobs on mr that are in rows of their own.
var engineGroups = []string{"mr wordcount", "mr sort", "mr sequence-count"}

// engineModels are compared on mr: its jobs have no masters.
var engineModels = []string{defaultModel, smallModel, "queueing network", "demands as observed", eachAlone,
	"equal tasks", "fork/join as printed", "Tripathi as printed", "Herodotou", "ARIA",
	"mean of history"}

// enginePart is the part on cells that were measured on mr.
func enginePart(cells []realCell) paper.Part {
	p := paper.Part{
		Title: "Real jobs on mr", Trials: 1,
		Trial: func(context.Context, paper.Lab, uint64) (paper.Sample, error) { return realTrial(cells) },
		How: fmt.Sprintf("%d cells: word count, sort and sequence count on the engine `mr` of this project with two "+
			"cores, one reduce each, under `fifo`. The engine runs 1, 2 or 3 tasks at once. Word count has 4, 8 or 16 "+
			"maps of 16 MiB and 1 to 4 jobs submitted at once; the others have 8 maps and 1 or 3 jobs. "+
			"`make validate-model` measures cells that are missing, and keeps the times in "+
			"`internal/reproduce/performance/mr-grid.txt`. Cells are predicted as those of stock Hadoop are.",
			len(cells)),
		Reading: "Models, estimators and baselines are those of stock Hadoop. A job on mr has no master and waits " +
			"for no grant. The engine counts no processor time of tasks in its own process, so that models that take " +
			"demands as counted know waits only.",
		Charts: []paper.Picture{{File: "performance-model-mr",
			Caption: "Predicted against measured mean sojourn time of real jobs on mr, " +
				"a point a cell", Draw: realChart}},
	}
	for _, name := range engineModels {
		p.Claims = append(p.Claims, errorClaims(name)...)
	}
	p.Claims = append(p.Claims, rangeClaims()...)
	p.Claims = append(p.Claims, groupClaims(cells, engineGroups)...)
	return p
}

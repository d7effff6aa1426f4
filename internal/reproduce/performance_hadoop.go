package reproduce

import (
	"context"
	_ "embed"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sojourn-sched/sojourn/internal/chart"
	"github.com/sojourn-sched/sojourn/internal/predict"
)

// hadoopGrid is what make validate-model has measured of stock Hadoop.
//
//go:embed hadoop-grid.txt
var hadoopGrid string

// A realCell is a cell of measured jobs.
type realCell struct {
	manager, kind     string
	maps, nodes, jobs int
	run               predict.Run
}

const (
	gridCores     = 2 // of the machine that measured
	gridNodeTasks = 2 // that a node of it runs at once
)

// readGrid reads measured cells: lines as the head of hadoop-grid.txt describes them.
func readGrid(text string) (cells []realCell, err error) {
	seconds := func(ms float64) float64 { return ms / 1000 }
	for i, line := range strings.Split(text, "\n") {
		var what string
		if line == "" || line[0] == '#' {
			continue
		}
		bad := func(err error) error { return fmt.Errorf("hadoop-grid.txt, line %d: %q: %w", i+1, line, err) }
		if strings.HasPrefix(line, "cell ") {
			var c realCell
			if _, err := fmt.Sscan(line, &what, &c.manager, &c.kind, &c.maps, &c.nodes, &c.jobs); err != nil {
				return nil, bad(err)
			}
			c.run.Slots = gridNodeTasks * c.nodes
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
	return predict.Shape{Maps: c.maps, Reduces: 1, Slots: c.run.Slots, Jobs: c.jobs}
}

// mean is the mean time of the cell's jobs.
func (c *realCell) mean() float64 {
	var ends []float64
	for _, j := range c.run.Jobs {
		ends = append(ends, j.End)
	}
	return mean(ends)
}

// realModels are the predictions of real jobs that are compared, by name. Of the learned ones, each leaves out what is
// said.
var realModels = []string{
	"learned", "learned from one small run", "learned, demands as counted", "learned, masters alone",
	"learned, no waits for grants", "learned, equal tasks", "fork/join as printed", "Tripathi as printed",
	"Herodotou", "ARIA", "mean of history",
}

var leftOut = map[string]int{
	"learned":                      0,
	"learned from one small run":   0,
	"learned, demands as counted":  predict.WithoutFit,
	"learned, masters alone":       predict.WithoutMasters,
	"learned, no waits for grants": predict.WithoutGrants,
	"learned, equal tasks":         predict.WithoutVariation,
}

// predictReal predicts a cell from others, by a model.
func predictReal(name string, l *predict.Learned, c *realCell, others []*realCell) (float64, error) {
	first, step := l.MasterTime(c.jobs)+l.Commit, 0.0
	maps, reduces := meanTasks(others, 0), meanTasks(others, 1)
	switch name {
	case "mean of history":
		var all []float64
		for _, o := range others {
			all = append(all, o.mean())
		}
		return mean(all), nil
	case "Herodotou", "ARIA":
		for k := 1; k <= c.jobs; k++ {
			if name == "Herodotou" {
				step += predict.HerodotouTime(predict.Slotted{Tasks: k * c.maps, Time: maps.Mean, Slots: c.run.Slots},
					predict.Slotted{Tasks: 1, Time: reduces.Mean, Slots: c.run.Slots})
				continue
			}
			job := predict.ARIAJob{Maps: maps, Reduces: reduces}
			job.Maps.Tasks, job.Reduces.Tasks = k*c.maps, 1
			step += job.Bounds(c.run.Slots, c.run.Slots).Mean
		}
		return first + step/float64(c.jobs), nil
	case "fork/join as printed", "Tripathi as printed":
		s := predict.Thesis()
		s.Tripathi, s.SlowStart = name == "Tripathi as printed", 1
		on := predict.Cluster{Nodes: []predict.Node{{
			Capacity: []float64{float64(c.run.Slots)}, CPUs: gridCores, Disks: 1,
		}}}
		one := []float64{1}
		j := predict.Job{Maps: c.maps, Reduces: 1, MapSize: one, ReduceSize: one}
		counted, err := predict.Learn(runsOf(others), gridCores, predict.WithoutFit)
		if err != nil {
			return 0, err
		}
		for i, kind := range []predict.Kind{predict.MapTask, predict.MergeTask} {
			j.Demands[kind][predict.CPU], j.Demands[kind][predict.Wait] = counted.Task[i].CPU, counted.Task[i].Wait
		}
		p, err := predict.Predict(on, slices.Repeat([]predict.Job{j}, c.jobs), s)
		if err != nil {
			return 0, err
		}
		return first + p.Mean, nil
	}
	p, err := l.Predict(c.shape())
	if err != nil {
		return 0, err
	}
	return p.Mean, nil
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

// realTrial predicts each cell from the cells of the same kind of job and the same ResourceManager with another number
// of maps or of nodes: all numbers of jobs of a size on so many nodes are left out together.
func realTrial(cells []realCell) (s Sample, err error) {
	s = Sample{}
	off := map[string][]float64{}
	learned := map[string]*predict.Learned{}
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
		if len(others) == 0 {
			continue
		}
		s["measured "+c.kind] = append(s["measured "+c.kind], c.mean())
		for _, name := range realModels {
			from := others
			if name == "learned from one small run" {
				if from = small(same); from[0] == c {
					continue
				}
			}
			key := fmt.Sprint(name, c.manager, c.kind, c.maps, c.nodes)
			if _, plain := leftOut[name]; !plain {
				key = fmt.Sprint("learned", c.manager, c.kind, c.maps, c.nodes)
			}
			if learned[key] == nil {
				if learned[key], err = predict.Learn(runsOf(from), gridCores, leftOut[name]); err != nil {
					return nil, err
				}
			}
			predicted, err := predictReal(name, learned[key], c, from)
			if err != nil {
				return nil, err
			}
			s["predicted "+name] = append(s["predicted "+name], predicted)
			s["against "+name] = append(s["against "+name], c.mean())
			e := 100 * math.Abs(predicted/c.mean()-1)
			for _, group := range []string{c.manager + " " + c.kind, "all"} {
				off[group+" "+name] = append(off[group+" "+name], e)
			}
		}
	}
	for name, list := range off {
		s.set("mean "+name, mean(list))
		s.set("worst "+name, slices.Max(list))
	}
	return s, nil
}

func realChart(samples []Sample) chart.Chart {
	c := chart.Chart{
		X: chart.Axis{Label: "measured mean sojourn time (s)", Log: true},
		Y: chart.Axis{Label: "predicted (s)", Log: true},
	}
	for _, name := range []string{"learned", "learned from one small run", "Herodotou", "ARIA", "mean of history"} {
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

// realGrid is the part on cells that were measured.
func realGrid(cells []realCell) Part {
	p := Part{
		Title: "Real jobs on stock Hadoop", Trials: 1,
		Trial: func(context.Context, Lab, uint64) (Sample, error) { return realTrial(cells) },
		How: "Word count, grep and sort of Hadoop 3.4.2, one reduce each, on 1 to 3 NodeManagers of one machine " +
			"with two cores, two tasks on each at once, under `sojourn rm --policy fifo` and, in part, under " +
			"Hadoop's own ResourceManager. Word count has 2, 4 and 6 maps and 1 to 4 jobs submitted at once; " +
			"the others 4 maps and 1 or 3 jobs. `make validate-model` measures it, and keeps the times in " +
			"`internal/reproduce/hadoop-grid.txt`. Each cell is predicted from the cells of the same job under " +
			"the same ResourceManager with another number of maps or of nodes. *One small run* is one job with " +
			"the fewest maps on one node, and nothing else. An error is that of the mean time of a cell's jobs, " +
			"from submission to end.",
		Reading: "*Learned* fits the processor time and the wait of a task to the runs, and knows that masters slow " +
			"each other down, that a container is granted with the next heartbeat, and that tasks vary; each is " +
			"left out in a row of its own. Printed forms and baselines get the same masters' times and the same " +
			"means.",
		Charts: []Picture{{"performance-model-hadoop", "Predicted against measured mean sojourn time of real jobs, " +
			"a point a cell", realChart}},
	}
	goal := func(name string) Range {
		if name == "learned" {
			return atMost(10)
		}
		return Range{}
	}
	for _, name := range realModels {
		c := Claim{
			Where: "grid", Says: name + ", mean error over all cells", Unit: "%", Figure: "mean all " + name, Own: true,
			Agrees: goal(name)}
		if name == "fork/join as printed" {
			c.Where, c.Own, c.Published, c.Agrees = "chapter 7", false, exactly(15), atMost(30)
		}
		if name == "Tripathi as printed" {
			c.Where, c.Own, c.Published, c.Agrees = "chapter 7", false, exactly(28.5), atMost(45)
		}
		c.Why = "Other jobs, other machine; the thesis's demands are not published."
		worst := Claim{Where: "grid", Says: name + ", largest error of a cell", Unit: "%", Own: true}
		worst.Figure = "worst all " + name
		p.Claims = append(p.Claims, c, worst)
	}
	for _, group := range realGroups {
		there := func(c realCell) bool { return c.manager+" "+c.kind == group }
		if !slices.ContainsFunc(cells, there) {
			continue
		}
		for _, name := range []string{"learned", "learned from one small run", "Herodotou", "ARIA", "mean of history"} {
			manager, kind, _ := strings.Cut(group, " ")
			p.Claims = append(p.Claims, Claim{
				Where: "grid", Says: fmt.Sprintf("%s under %s's ResourceManager: %s, mean error", kind, manager, name),
				Unit: "%", Figure: "mean " + group + " " + name, Own: true,
			})
		}
	}
	return p
}

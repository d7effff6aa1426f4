package reproduce

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn/internal/predict"
)

// gridOf is the text of a grid as a machine of known demands would measure it, each time off by a few per cent.
func gridOf(t *testing.T) string {
	t.Helper()
	chance := rand.New(rand.NewPCG(1, 16))
	truth := predict.Learned{Cores: gridCores, Master: [2]float64{5, 2}, Grant: 0.6,
		Task: [2]predict.TaskDemand{{CPU: 3, Wait: 1}, {CPU: 2, Wait: 1}}}
	var b strings.Builder
	const nodes = 2
	for _, shape := range [][2]int{{2, 1}, {2, 3}, {6, 1}, {6, 3}} {
		maps, jobs := shape[0], shape[1]
		fmt.Fprintf(&b, "cell sojourn wordcount %d %d %d\n", maps, nodes, jobs)
		p, err := truth.Predict(predict.Shape{Maps: maps, Reduces: 1, Slots: gridNodeTasks * nodes, Jobs: jobs})
		if err != nil {
			t.Fatal(err)
		}
		began := truth.MasterTime(jobs)
		for i := range p.Jobs {
			noise := 1000 * (1 + 0.03*chance.NormFloat64())
			fmt.Fprintf(&b, "job %.0f %.0f\n", began*1000, p.Jobs[i].Response*noise)
			for _, iv := range p.Timeline[i] {
				from, to := (began+iv.Start+0.6)*1000, (began+iv.End)*1000
				switch iv.Kind {
				case predict.MapTask:
					fmt.Fprintf(&b, "map %.0f %.0f 2500\n", from, to)
				case predict.MergeTask:
					fmt.Fprintf(&b, "reduce %.0f %.0f %.0f %.0f 1500\n", from, from, from, to)
				}
			}
		}
	}
	return b.String()
}

// Cells of a known machine are predicted from other cells within a few per cent, better than by
// Herodotou and by the mean.
func TestRealTrial(t *testing.T) {
	cells, err := readGrid(gridOf(t))
	if err != nil || len(cells) != 4 {
		t.Fatalf("%d cells, %v", len(cells), err)
	}
	p := realGrid(cells)
	s, err := p.Trial(t.Context(), Lab{}, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range p.Claims {
		if x := s.of(c.Figure); !(x > 0) {
			t.Errorf("%q is %v", c.Figure, x)
		}
	}
	for _, name := range []string{"Herodotou", "mean of history"} {
		if s.of("mean all learned") > s.of("mean all "+name) {
			t.Errorf("learned is %.1f %% off, %s %.1f %%", s.of("mean all learned"), name, s.of("mean all "+name))
		}
	}
	if e := s.of("mean all learned"); e > 8 {
		t.Errorf("learned is %.1f %% off", e)
	}
	if c := p.Charts[0].Draw([]Sample{s}); len(c.Lines) != 5 || len(c.Lines[0].Points) != 4 {
		t.Errorf("the picture has %d lines", len(c.Lines))
	}
}

func TestReadGridRefuses(t *testing.T) {
	for _, text := range []string{"job 1 2", "cell sojourn wordcount x", "cell s w 1 1 1\nmap 1 2 3",
		"cell s w 1 1 1\njob 1 2\nmap 1 2", "cell s w 1 1 1\njob 1 2\nreduce 1 2"} {
		if _, err := readGrid(text); err == nil || !strings.Contains(err.Error(), "line ") {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := readGrid(hadoopGrid); err != nil {
		t.Error(err)
	}
}

// The cells that were measured on 2026-11-23 can be read. Copied over hadoop-grid.txt they make the section of real
// jobs by `sojourn reproduce performance-model`, which takes more than ten minutes.
func TestReadGridMeasured(t *testing.T) {
	text, err := os.ReadFile("testdata/hadoop-grid-38.txt")
	if err != nil {
		t.Fatal(err)
	}
	if cells, err := readGrid(string(text)); err != nil || len(cells) != 38 {
		t.Errorf("%d cells, %v", len(cells), err)
	}
}

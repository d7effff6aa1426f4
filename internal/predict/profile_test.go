package predict

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn/internal/workload"
)

const whole = `
name: words
maps: 4
reduces: 1
container: {map: {memory: 1GiB, vcores: 1}, reduce: {memory: 2GiB, vcores: 1}}
demands:
  map: {cpu: 6s, disk: 4s}
  shuffle: {disk: 500ms, network: 1.5s}
  merge: {cpu: 3s, disk: 2s}
variation: 0.3
`

func TestReadProfile(t *testing.T) {
	p, err := ReadProfile("words.yaml", strings.NewReader(whole))
	if err != nil {
		t.Fatal(err)
	}
	cluster, err := workload.ParseCluster("nodes=2,memory=2GiB,vcores=2,racks=2")
	if err != nil {
		t.Fatal(err)
	}
	c, j, err := p.On(cluster, 1)
	if err != nil {
		t.Fatal(err)
	}
	nearAll(t, "map's container", j.MapSize, []float64{1024, 1}, 0)
	nearAll(t, "reduce's container", j.ReduceSize, []float64{2048, 1}, 0)
	nearAll(t, "shuffle", j.Demands[ShuffleTask][:Wait], []float64{0, 0.5, 1.5}, 1e-12)
	if len(c.Nodes) != 2 || c.Nodes[1].CPUs != 2 || c.Nodes[1].Disks != 1 || c.Nodes[1].Rack != 2 || j.CV != 0.3 {
		t.Errorf("%+v of %+v", c, j)
	}
	// The small system of spec 14.10, but for the reduce's container, which fills a node here.
	s := Fifo()
	s.Copiers = 1
	out, err := Predict(c, []Job{j}, s)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "prediction", out.Mean, 25.462672433, 1e-9)
}

func TestReadProfileRefuses(t *testing.T) {
	for text, says := range map[string]string{
		"":                "is empty",
		"maps: 4":         "demands.map is missing",
		"name: a":         "maps and reduces are missing",
		"maps: -1":        "neither may be negative",
		"maps: 100000000": "must be at most",
		"maps: 1\nreduces: 1\ndemands: {map: {cpu: 1s}}":      "demands.merge is missing",
		"maps: 1\ndemands: {map: {cpu: -1s}}":                 "",
		"maps: 1\ndemands: {map: {cpu: 5}}":                   `"5" is not a time`,
		"maps: 1\ncolour: red":                                "line 2: field colour not found",
		"maps: 1\nvariation: .nan\ndemands: {map: {cpu: 1s}}": "variation",
		strings.Repeat("[", 100_000):                          "depth",
		"# " + strings.Repeat("x", mostProfile):               "longer than",
	} {
		_, err := ReadProfile("p.yaml", strings.NewReader(text))
		if err == nil || strings.Contains(err.Error(), "predict.") || !strings.Contains(err.Error(), "p.yaml") ||
			!strings.Contains(err.Error(), says) {
			t.Errorf("%.40q: %v, want it to say %q", text, err, says)
		}
	}
}

// The demands of a static profile are those of case A of spec 14.13, with the buffer of Hadoop 2.
func TestReadStaticProfile(t *testing.T) {
	p, err := ReadProfile("static.yaml", strings.NewReader(`
maps: 8
reduces: 4
static:
  data: {split: 67108864}
  costs: {hdfs-read: 15, hdfs-write: 30, local-read: 10, local-write: 15, network: 20, map: 2000, reduce: 1500,
    partition: 100, serialize: 200, sort: 50, merge: 100}
`))
	if err != nil {
		t.Fatal(err)
	}
	slots, _ := workload.ParseCluster("nodes=2,map-slots=2,reduce-slots=1")
	_, j, err := p.On(slots, 1)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "map", j.Demands[MapTask].Total(), 4.139145339262425, 1e-12)
	near(t, "merge", j.Demands[MergeTask].Total(), 7.918845952, 1e-12)
	p.Static.Data.Split = 0
	if _, _, err := p.On(slots, 1); err == nil || !strings.Contains(err.Error(), "static: split is 0") {
		t.Error(err)
	}
}

func TestProfileOnOtherCluster(t *testing.T) {
	p, err := ReadProfile("p.yaml", strings.NewReader(whole))
	if err != nil {
		t.Fatal(err)
	}
	slots, _ := workload.ParseCluster("nodes=2,map-slots=2,reduce-slots=1")
	if _, _, err := p.On(slots, 1); err == nil ||
		!strings.Contains(err.Error(), `container.map: the cluster has no "memory"`) {
		t.Error(err)
	}
	p.Container = Container{}
	c, j, err := p.On(slots, 1)
	if err != nil {
		t.Fatal(err)
	}
	nearAll(t, "map's slot", j.MapSize, []float64{1, 0}, 0)
	nearAll(t, "reduce's slot", j.ReduceSize, []float64{0, 1}, 0)
	if c.Nodes[0].CPUs != 3 {
		t.Errorf("a node of three slots has %d processors", c.Nodes[0].CPUs)
	}
	small, _ := workload.ParseCluster("nodes=2,memory=1GiB,vcores=2")
	p.Container.Reduce = map[string]string{"memory": "2GiB"}
	c, j, err = p.On(small, 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Predict(c, []Job{j}, Fifo()); !errors.Is(err, ErrUnschedulable) {
		t.Error(err)
	}
}

func FuzzReadProfile(f *testing.F) {
	f.Add([]byte(whole))
	if text, err := os.ReadFile("../../examples/model/wordcount.yaml"); err == nil {
		f.Add(text)
	}
	cluster, err := workload.ParseCluster("nodes=2,memory=8GiB,vcores=2")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := ReadProfile("p.yaml", strings.NewReader(string(text)))
		if err != nil || p.Maps+p.Reduces*(p.Maps+1) > 200 {
			return
		}
		c, j, err := p.On(cluster, 1)
		if err != nil {
			return
		}
		if out, err := Predict(c, []Job{j}, Fifo()); err == nil && !(out.Mean >= 0) {
			t.Errorf("predicted %v s of %q", out.Mean, text)
		}
	})
}

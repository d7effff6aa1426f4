package cli

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestModel(t *testing.T) {
	const job = "model --job ../examples/model/wordcount.yaml --cluster nodes=8,memory=8GiB,vcores=4"
	out := must(t, strings.Fields(job+" --what-if nodes=2,64")...)
	for _, want := range []string{"wordcount: 80 maps, 4 reduces", "nodes=2", "nodes=64", "BOTTLENECK"} {
		if !strings.Contains(out, want) {
			t.Errorf("output lacks %q:\n%s", want, out)
		}
	}
	var r struct {
		Results []modelResult
	}
	if err := json.Unmarshal([]byte(must(t, strings.Fields(job+" --what-if nodes=2,64 --json")...)), &r); err != nil {
		t.Fatal(err)
	}
	few, many := r.Results[0], r.Results[1]
	if few.Nodes != 2 || many.Nodes != 64 || few.Mean < 2*many.Mean || few.Queueing["map"] <= many.Queueing["map"] {
		t.Errorf("2 nodes %+v, 64 nodes %+v", few, many)
	}
	if !(many.Low < many.High) {
		t.Errorf("the range of the prediction is %v to %v", many.Low, many.High)
	}
}

// The history of a job on stock Hadoop is enough to predict it: the word count of the example took 45.2 s beside
// another job, and what its tasks took then comes to that within a quarter.
func TestModelFromHistory(t *testing.T) {
	var r struct {
		Results []modelResult
	}
	args := []string{"model", "--from-jhist", "../examples/history", "--name", "word count",
		"--cluster", "nodes=2,memory=4GiB,vcores=8", "--json"}
	if err := json.Unmarshal([]byte(must(t, args...)), &r); err != nil {
		t.Fatal(err)
	}
	const measured = 45.178 // s: 1795431733544 - 1795431688365 ms, from the history's own name
	if got := r.Results[0].Mean; got < 0.75*measured || got > 1.25*measured {
		t.Errorf("predicted %.1f s, measured %.1f s", got, measured)
	}
	more := must(t, append(args[:len(args)-1], "--maps", "40", "--what-if", "nodes=2,8")...)
	if !strings.Contains(more, "word count: 40 maps, 2 reduces") {
		t.Errorf("%s", more)
	}
}

// So is a record of the job: one that ran alone in the simulator is predicted within 2 %.
func TestModelFromRecord(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.rec")
	jobs := writeFile(t, "jobs.yaml", `jobs: [{name: j, maps: {count: 20, time: 10s}, reduces: {count: 2, time: 5s}}]`)
	const cluster = "nodes=2,map-slots=2,reduce-slots=1"
	must(t, "sim", "--trace", jobs, "--cluster", cluster, "--record", path, "--costs", "none")
	var r struct{ Results []modelResult }
	text := must(t, "model", "--from-record", path, "--cluster", cluster, "--json", "--slow-start", "1")
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatal(err)
	}
	if got := r.Results[0].Mean; got < 54 || got > 56 {
		t.Errorf("predicted %.1f s, want 55", got)
	}
}

// The example of docs/what-if.md, with a tenth of its bytes: a run of 13 maps predicts one of 51. The model knows from
// the record that reduces wait for all maps; 38 more maps on two processors take 19 times as long as one.
func TestModelOfLargerRun(t *testing.T) {
	page, err := os.ReadFile("../docs/what-if.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(page), "\n## 6. A large job from a small run\n")
	if !found {
		t.Fatal("docs/what-if.md has no section 6, A large job from a small run")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	t.Chdir(t.TempDir())
	tenth := strings.NewReplacer("100MB", "10MB", "400MB", "40MB", "=8000000", "=800000", "$(nproc)", "2", "\\\n", "")
	var predicted [][]modelResult
	var lines []string
	for _, block := range regexp.MustCompile("(?s)```sh(?: long)?\n(.*?)```").FindAllStringSubmatch(section, -1) {
		lines = append(lines, strings.Split(strings.TrimSpace(tenth.Replace(block[1])), "\n")...)
	}
	for _, line := range lines {
		args := strings.Fields(line)[1:]
		out := must(t, args...)
		switch {
		case args[0] == "run" && !strings.Contains(out, "wordcount: done in "):
			t.Errorf("%s: %s", line, out)
		case args[0] != "model":
			continue
		case !strings.Contains(out, "wordcount: 51 maps, 2 reduces") ||
			!strings.Contains(out, "reduces start when 100.0 % of the maps have ended"):
			t.Errorf("%s: %s", line, out)
		}
		for _, maps := range []string{"13", "51"} {
			var r struct{ Results []modelResult }
			text := must(t, append(args, "--json", "--maps", maps)...)
			if err := json.Unmarshal([]byte(text), &r); err != nil {
				t.Fatal(err)
			}
			predicted = append(predicted, r.Results)
		}
	}
	if len(lines) != 6 || len(predicted) != 4 {
		t.Fatalf("the page has %d commands, %d of them predict: %q", len(lines), len(predicted)/2, lines)
	}
	few, many := predicted[0][0], predicted[1][0]
	if few.Start != 1 || !(many.Least < many.Low && many.Low < many.High) {
		t.Errorf("slow start %g, must be 1; range %g to %g to %g", few.Start, many.Least, many.Low, many.High)
	}
	if more := (many.Mean - few.Mean) / few.Task["map"]; more < 15 || more > 23 {
		t.Errorf("13 maps take %g s, 51 take %g s: the difference is %g maps, must be 19", few.Mean, many.Mean, more)
	}
	if on := predicted[3]; len(on) != 4 || on[0].Mean < 2*on[3].Mean {
		t.Errorf("on 1 to 8 nodes: %+v", on)
	}
	if text := must(t, "record", "summary", "large.rec"); !strings.Contains(text, "53 tasks") {
		t.Errorf("the large run must have 51 maps and 2 reduces: %s", text)
	}
	text := must(t, "model", "--from-record", "small.rec", "--cluster", "nodes=1,vcores=2", "--slow-start", "0.5")
	if !strings.Contains(text, "50.0 %") {
		t.Errorf("what the user says counts: %s", text)
	}
}

// And task times that runs have kept: the mean of the job's own, and as many tasks as are said.
func TestModelFromKeptTimes(t *testing.T) {
	kept := filepath.Join(t.TempDir(), "times")
	jobs := writeFile(t, "jobs.yaml", `jobs: [{name: j, maps: {count: 20, time: 10s}, reduces: {count: 2, time: 5s}},
  {name: other, maps: {count: 2, time: 99s}}]`)
	const cluster = "nodes=2,map-slots=2,reduce-slots=1"
	must(t, "sim", "--trace", jobs, "--cluster", cluster, "--costs", "none", "--estimator", "model", "--history", kept)
	args := []string{"model", "--from-history", kept, "--cluster", cluster, "--maps", "40", "--reduces", "2", "--json",
		"--slow-start", "1"}
	var r struct{ Results []modelResult }
	if err := json.Unmarshal([]byte(must(t, append(args, "--name", "j")...)), &r); err != nil {
		t.Fatal(err)
	}
	if got := r.Results[0]; math.Abs(got.Mean-105) > 1 || !(got.Least < got.Low && got.Low < got.High) {
		t.Errorf("predicted %+v, want 105 s: ten rounds of maps and a reduce", got)
	}
	for name, says := range map[string]string{"": "choose one by --name: j, other", "x": "no job of the name"} {
		status, _, errs := sojourn(t, append(args, "--name", name)...)
		if status == statusOK || !strings.Contains(errs, says) {
			t.Errorf("--name %q: status %d, %q, want %q", name, status, errs, says)
		}
	}
	other := append(args, "--name", "other")
	status, _, errs := sojourn(t, other...)
	if status == statusOK || !strings.Contains(errs, "demands.merge is missing") {
		t.Errorf("reduces that never ran: status %d, %q", status, errs)
	}
}

// Slow start and the memory of containers can be varied, and a picture drawn. Reduces that wait for all maps make the
// job later; maps that need a whole node each leave one of four places on it.
func TestModelWhatIf(t *testing.T) {
	profile := writeFile(t, "job.yaml", `{name: j, maps: 14, reduces: 1, container: {map: {memory: 1GiB, vcores: 1}},
  demands: {map: {cpu: 10s}, shuffle: {wait: 1s}, merge: {cpu: 1s}}}`)
	picture := filepath.Join(t.TempDir(), "p.svg")
	for whatIf, holds := range map[string]func(mean []float64) bool{
		"slow-start=0.05,1":         func(m []float64) bool { return m[1] > m[0] },
		"map-memory=1GiB,2GiB,4GiB": func(m []float64) bool { return m[0] < m[1] && m[2] > 2.5*m[0] },
		"nodes=1..4":                func(m []float64) bool { return m[0] > m[1] && m[1] > m[2] },
	} {
		var r struct{ Results []modelResult }
		text := must(t, "model", "--job", profile, "--cluster", "nodes=2,memory=4GiB,vcores=4", "--what-if", whatIf,
			"--plot", picture, "--json")
		if err := json.Unmarshal([]byte(text), &r); err != nil {
			t.Fatal(err)
		}
		var mean []float64
		for _, x := range r.Results {
			mean = append(mean, x.Mean)
		}
		if !holds(mean) {
			t.Errorf("%s: %v", whatIf, mean)
		}
		svg, err := os.ReadFile(picture)
		if err != nil || !strings.Contains(string(svg), "</svg>") {
			t.Errorf("%s: no picture: %v", whatIf, err)
		}
		if err := os.Remove(picture); err != nil {
			t.Fatal(err)
		}
	}
}

func TestModelRefuses(t *testing.T) {
	const job = "model --job ../examples/model/wordcount.yaml --cluster nodes=8,memory=8GiB,vcores=4 "
	for args, says := range map[string]string{
		"model": "one of --job, --from-jhist, --from-record and --from-history is needed",

		"model --from-jhist ../examples/history --cluster nodes=2": "choose one by --name: Sleep job, word count",

		"model --from-jhist ../examples/history --name x --cluster nodes=2,vcores=1": "there is no history of a job",

		"model --from-jhist ../examples/model --cluster nodes=2": "there is no .jhist file in it",

		"model --from-jhist a --job b --cluster nodes=2": "one of --job",

		"model --job ../examples/model/wordcount.yaml": "--cluster is needed",

		"model --job none.yaml --cluster nodes=1": "none.yaml",

		job + "--what-if nodes=0": "must be a whole number from 1",

		job + "--what-if colour=3": "what can vary",

		job + "--what-if slow-start=0,1.5": `"1.5" must be a number from 0 to 1`,

		job + "--what-if map-memory=1GiB,small": `"small" is not a size`,

		job + "--what-if map-memory=1GiB,9GiB": "map-memory=9GiB: ",

		job + "--plot x.svg": "draws what --what-if varies",

		job + "--form other": "default, fifo or thesis",

		"model --from-history none.db --maps 4 --cluster nodes=1,vcores=1": "none.db",

		"model --from-history none.db --cluster nodes=1,vcores=1": "--maps is needed",

		job + "--jobs 0": "--jobs 0",

		job + "--slow-start NaN": "--slow-start NaN",

		"model --job ../examples/model/wordcount.yaml --cluster nodes=8,memory=1GiB,vcores=4": "larger than every node",
	} {
		status, out, errs := sojourn(t, strings.Fields(args)...)
		if status != statusUsage || out != "" || !strings.Contains(errs, says) {
			t.Errorf("%s: status %d, output %q, errors %q, want 2 and %q", args, status, out, errs, says)
		}
	}
	bad := writeFile(t, "none.db", strings.Repeat("no history", 1000))
	for args, flag := range map[string]string{
		"model --from-history " + bad + " --maps 4 --cluster nodes=1,vcores=1":                  "--from-history",
		"sim --trace ../examples/bursty.tsv --policy fifo --estimator history --history " + bad: "--history",
	} {
		status, _, errs := sojourn(t, strings.Fields(args)...)
		if want := "sojourn: " + flag + " " + bad + ": "; status != statusUsage || !strings.HasPrefix(errs, want) ||
			strings.Count(errs, "history ") != 1 {
			t.Errorf("%s: status %d, %q, want %q once", args, status, errs, want)
		}
	}
}

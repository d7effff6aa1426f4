package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/mr"
	"github.com/sojourn-sched/sojourn/mr/jobs"
)

// partsOf returns the parts of an output in order. 'sojourn run' and Hadoop Streaming name them differently.
func partsOf(t *testing.T, dir string) (parts []string) {
	t.Helper()
	names, _ := filepath.Glob(filepath.Join(dir, "part-*"))
	if len(names) == 0 {
		t.Fatalf("%s has no parts", dir)
	}
	slices.Sort(names)
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, string(text))
	}
	return parts
}

// inputsOf are files that the built-in jobs read, by what jobs.Entry says of their input.
func inputsOf(t *testing.T) {
	t.Helper()
	for name, text := range map[string]string{
		"text/a.txt": "the quick brown fox\njumps over\tthe lazy dog\n\\ backslash\n\nthe end of the first\nzebra",
		"text/b.txt": "über the hills and far away\nthe quick brown fox again\nno end no end no end of it\n" +
			"\x80\xff raw",
		"movies/m":  "1:1_3,2_5,3_4\n2:1_1,3_2\n3:7_5,8_5,9_5\nbroken\n4:2_4,3_4,1_1\n5:1_5\n",
		"edges/e":   "a,b\nb,c\na,c\nc,a\nbad\nd,a\n",
		"assoc/x":   "a,b,c\na,b,d\na,b,e\nb,c,d\nb,c,f\n",
		"counted/c": "one two three|a.txt\t4\none two three|b.txt\t7\nfour five six|a.txt\t1\n",
		"centers":   "1:1_3,2_5,3_4\n3:7_5,8_5,9_5\n",
	} {
		writeTo(t, name, text)
	}
}

// What a built-in job writes on a cluster is byte for byte what it writes under 'sojourn run'. A job that is sorted
// over all parts may be cut elsewhere, so its parts are compared together.
func TestSubmitBuiltIn(t *testing.T) {
	cases := map[string]struct {
		input string
		more  []string
	}{
		"adjacency-list": {"edges", nil}, "crypt": {"text", []string{"-D", "passes=2"}},
		"classification":    {"movies", []string{"-D", "centroids=centers"}},
		"histogram-movies":  {"movies", nil},
		"histogram-ratings": {"movies", nil}, "inverted-index": {"text", nil},
		"ranked-inverted-index": {"counted", nil}, "self-join": {"assoc", nil}, "sequence-count": {"text", nil},
		"sort": {"text", nil}, "term-vector": {"text", []string{"-D", "cutoff=1"}}, "wordcount": {"text", nil},
	}
	refused := map[string]string{"grep": "rounds", "kmeans": "rounds", "terasort": "fixed length",
		"teravalidate": "fixed length"}
	c := newFakeCluster(t)
	inputsOf(t)
	for name := range jobs.All {
		one, ok := cases[name]
		if !ok {
			want, known := refused[name]
			if !known {
				t.Errorf("job %s is neither submitted nor refused here", name)
				continue
			}
			args := []string{"submit", name, "--input", "text", "--output", "out", "-D", "pattern=the"}
			if name != "grep" {
				args = args[:len(args)-2]
			}
			if status, _, errs := sojourn(t, args...); status != statusUsage || !strings.Contains(errs, want) {
				t.Errorf("%s: exit status %d, %s, want %q in it", name, status, errs, want)
			}
			continue
		}
		for _, reduces := range []string{"1", "3"} {
			t.Run(name+"/"+reduces, func(t *testing.T) {
				at := name + "-" + reduces
				same := append([]string{name, "--input", one.input, "--reduces", reduces}, one.more...)
				must(t, slices.Concat([]string{"run", "--output", "here-" + at}, same)...)
				must(t, slices.Concat([]string{"submit", "--name", at, "--output", "there-" + at}, same)...)
				want, got := partsOf(t, "here-"+at), partsOf(t, "there-"+at)
				if name == "sort" {
					want, got = []string{strings.Join(want, "")}, []string{strings.Join(got, "")}
				}
				if !slices.Equal(got, want) {
					t.Errorf("on the cluster:\n%q\nhere:\n%q", got, want)
				}
				if app := c.named(t, at); app.FinalStatus != "SUCCEEDED" {
					t.Errorf("%+v", app)
				}
			})
		}
	}
}

// copyLines is a job of maps only: it writes each line twice.
var copyLines = Job{
	"copy",
	jobs.Entry{
		About: "each line twice",
		Input: "text",
		New: func(conf mr.Conf) (*mr.Job, error) {
			return &mr.Job{Name: "copy", Conf: conf, Reduces: mr.MapOnly, Output: mr.Keys, Map: copyEach}, nil
		},
	},
}

func copyEach(_ *mr.Task, in *mr.Batches, out *mr.Emitter) error {
	for in.Next() {
		for line := range mr.Lines(in.Data()) {
			out.Emit(line, nil)
			out.Emit(line, nil)
		}
	}
	return nil
}

// A job of maps only writes what its maps emit, whether the number of reduces is given as 0 or not at all.
func TestSubmitMapOnly(t *testing.T) {
	newFakeCluster(t)
	inputsOf(t)
	const want = "the quick brown fox\nthe quick brown fox\n"
	for i, more := range [][]string{nil, {"--reduces", "0"}, {"-D", "mapreduce.job.reduces=0"}} {
		for _, verb := range []string{"run", "submit"} {
			out := fmt.Sprintf("%s-%d", verb, i)
			args := append([]string{verb, "copy", "--input", "text", "--output", out}, more...)
			if status, _, errs := with(t, "", []Option{With(copyLines)}, args...); status != statusOK {
				t.Errorf("%s: exit status %d: %s", args, status, errs)
				continue
			}
			if got := strings.Join(partsOf(t, out), ""); !strings.HasPrefix(got, want) {
				t.Errorf("%s: %q", args, got)
			}
		}
	}
}

// No built-in job runs without reduces: what its maps emit is not the output that docs/spec/jobs.md describes. Run and
// submit refuse it before any work is done, and a container whose cluster has no reduces by its configuration fails.
func TestNeedsReduces(t *testing.T) {
	newFakeCluster(t)
	inputsOf(t)
	const says = "reduces 0: job "
	for name := range jobs.All {
		for _, how := range [][]string{{"--reduces", "0"}, {"-D", "mapreduce.job.reduces=0"}} {
			args := append([]string{"run", name, "--input", "text", "--output", "out", "-D", "pattern=the"}, how...)
			if name != "grep" {
				args = slices.Delete(args, 6, 8)
			}
			if status, _, errs := sojourn(t, args...); status != statusUsage || !strings.Contains(errs, says+name) ||
				!strings.Contains(errs, "--reduces") {
				t.Errorf("%s: exit status %d, %s", args, status, errs)
			}
		}
	}
	writeTo(t, "mix.yaml", "jobs: [{name: a, job: sort, input: [text], output: out, reduces: 0}]\n")
	for _, args := range [][]string{
		{"run", "mix.yaml"},
		{"submit", "mix.yaml"},
		{"submit", "sort", "--input", "text", "--output", "out", "--reduces", "0"},
		{"submit", "sort", "--input", "text", "--output", "out", "-D", "mapreduce.job.reduces=0"},
	} {
		if status, _, errs := sojourn(t, args...); status != statusUsage || !strings.Contains(errs, says+"sort") {
			t.Errorf("%s: exit status %d, %s", args, status, errs)
		}
	}
	if _, err := os.Stat("out"); err == nil {
		t.Error("an output was written")
	}
	t.Setenv("mapreduce_job_reduces", "0")
	if status, out, errs := sojourn(t, "task", "map", "sort"); status != statusFailed || out != "" ||
		!strings.Contains(errs, says+"sort") {
		t.Errorf("container: exit status %d, %q, %s", status, out, errs)
	}
}

const submitted = `
queues: [{name: etl}]
jobs:
  - {name: words, job: wordcount, input: [text], output: out/words, user: ana, queue: etl, deadline: 1m, reduces: 2,
     goal: {metric: tardiness, weight: 3}, priority: 4}
  - {name: mine, mapper: ./m.sh -v, reducer: cat, input: [text/*.txt], output: out/mine, submit: 1s, delays: 2,
     reduces: 1}
`

// A workload file goes to the cluster as it is: arrivals, queue, priority, and what tags tell.
func TestSubmitWorkload(t *testing.T) {
	c := newFakeCluster(t)
	inputsOf(t)
	writeTo(t, "m.sh", "#!/bin/sh\ntest \"$1\" = -v && sed 's/ /\\t/'\n")
	writeTo(t, "mix.yaml", submitted)
	status, out, errs := sojourn(t, "submit", "mix.yaml", "--json")
	if status != statusOK || !strings.Contains(errs, "mix.yaml: the shares of its queues are left out") {
		t.Errorf("exit status %d\n%s", status, errs)
	}
	var doc submitJSON
	if err := json.Unmarshal([]byte(out), &doc); err != nil {
		t.Fatal(err)
	}
	r := doc.Results[0]
	if r.Policy != "capacityScheduler" || r.Jobs != 2 || r.Failed != 0 || len(r.PerJob) != 2 || r.Deadlines == nil ||
		r.Deadlines.Met != 1 || r.Sojourn.Mean <= 0 {
		t.Errorf("%+v", r)
	}
	words, mine := c.named(t, "words"), c.named(t, "mine")
	if gap := mine.StartedTime - words.StartedTime; gap < 500 {
		t.Errorf("the second job came after %d ms, want about 1000", gap)
	}
	if r.PerJob[1].Submit != 1 || r.PerJob[0].Application != words.ID || r.PerJob[0].Wait == nil {
		t.Errorf("%+v", r.PerJob)
	}
	tags := strings.Split(words.Tags, ",")
	if words.Queue != "etl" || !slices.Equal(tags[1:], []string{"sojourn.deadline=1m0s", "sojourn.goal=tardiness",
		"sojourn.weight=3"}) {
		t.Errorf("queue %s, tags %q", words.Queue, tags)
	}
	for _, want := range []string{"mapreduce.job.priority=4", "mapreduce.job.reduces=2"} {
		if !slices.Contains(words.Args, want) {
			t.Errorf("no %s in %q", want, words.Args)
		}
	}
	full, _ := filepath.Abs("m.sh")
	i := slices.Index(mine.Args, "-files")
	if i < 0 || mine.Args[i+1] != full || !slices.Contains(mine.Args, "m.sh -v") ||
		!strings.HasSuffix(mine.Tags, ",sojourn.delays=2") {
		t.Errorf("tags %s, arguments %q", mine.Tags, mine.Args)
	}
	got := append(partsOf(t, "out/words"), partsOf(t, "out/mine")...)
	if err := os.RemoveAll("out"); err != nil {
		t.Fatal(err)
	}
	must(t, "run", "mix.yaml", "--cluster", "nodes=1,map-slots=1,reduce-slots=1", "--json")
	want := append(partsOf(t, "out/words"), strings.Join(partsOf(t, "out/mine"), ""))
	if !slices.Equal(got, want) {
		t.Errorf("on the cluster:\n%q\nhere:\n%q", got, want)
	}
}

// A sample is a job of its own on a part of the input; the job itself is told its size.
func TestSubmitSample(t *testing.T) {
	c := newFakeCluster(t)
	var text bytes.Buffer
	for i := range 2000 {
		fmt.Fprintf(&text, "line %d of the file\n", i)
	}
	writeTo(t, "in/big.txt", text.String())
	var doc submitJSON
	out := must(t, "submit", "wordcount", "--input", "in", "--output", "out", "--sample", "0.1", "--json", "--history",
		"sizes.json")
	if err := json.Unmarshal([]byte(out), &doc); err != nil {
		t.Fatal(err)
	}
	s := doc.Results[0].PerJob[0].Sample
	// Two maps of 2 s and a reduce of 3 s ran on a tenth: 40 s and 30 s in all.
	if s == nil || s.Part < 0.1 || s.Part > 0.101 || s.Predicted < 69 || s.Predicted > 70 {
		t.Fatalf("%+v", s)
	}
	probe, job := c.named(t, "probe of wordcount"), c.named(t, "wordcount")
	if !strings.HasSuffix(probe.Tags, "sojourn.size=2s") {
		t.Errorf("tags of the sample: %s", probe.Tags)
	}
	size := job.Tags[strings.Index(job.Tags, "sojourn.size=")+len("sojourn.size="):]
	if d, err := time.ParseDuration(size); err != nil || d.Seconds() != s.Predicted {
		t.Errorf("the job's size is %s, predicted %v", size, s.Predicted)
	}
	if left, _ := filepath.Glob("out.sample-*"); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
	if text, err := os.ReadFile("sizes.json"); err != nil || !bytes.Contains(text, []byte(`"Trials":[{`)) {
		t.Errorf("what was learned: %s, %v", text, err)
	}

	// Of many files whole ones are read where they lie.
	for i := range 40 {
		writeTo(t, fmt.Sprintf("many/%02d", i), "a b c\n")
	}
	must(t, "submit", "--mapper", "cat", "--reducer", "cat", "--name", "cats", "--input", "many", "--output", "cats",
		"--sample", "0.25")
	if n := countOf(c.named(t, "probe of cats").Args, "-input"); n != 10 {
		t.Errorf("a quarter of 40 files is %d", n)
	}
	// What cannot be sampled is submitted without a size, and that is said.
	status, _, errs := sojourn(t, "submit", "wordcount", "--input", "many/00", "--output", "tiny", "--sample", "64MiB")
	if status != statusOK || !strings.Contains(errs, "without a size") {
		t.Errorf("exit status %d, %s", status, errs)
	}
}

func countOf(words []string, word string) (n int) {
	for _, w := range words {
		if w == word {
			n++
		}
	}
	return n
}

// A jar gets its options between its class and its arguments, and a sample other paths.
func TestSubmitJar(t *testing.T) {
	c := newFakeCluster(t)
	for _, name := range []string{"a", "b", "c", "d"} {
		writeTo(t, "in/"+name, "text of "+name+"\n")
	}
	writeTo(t, "app.jar", "#!/bin/sh\necho \"$@\" >>said; case \"$4\" in *bad*) exit 3;; esac\n")
	must(t, "submit", "--jar", "./app.jar", "Main", "--input", "in", "--output", "out", "--sample", "0.5", "--name",
		"J", "-D", "a.b=c", "--", "go", "{input}", "{output}")
	app, probe := c.named(t, "J"), c.named(t, "probe of J")
	if app.Args[0] != "Main" || app.Args[1] != "-D" || !slices.Equal(app.Args[len(app.Args)-3:],
		[]string{"go", "in", "out"}) || !slices.Contains(app.Args, "a.b=c") {
		t.Errorf("%q", app.Args)
	}
	n := len(probe.Args)
	if strings.Count(probe.Args[n-2], ",") != 1 || !strings.HasPrefix(probe.Args[n-1], "out.sample-") {
		t.Errorf("the sample: %q", probe.Args)
	}
	status, _, errs := sojourn(t, "submit", "--jar", "./app.jar", "Main", "--", "x", "y", "bad")
	if status != statusFailed || !strings.Contains(errs, "exit status") {
		t.Errorf("a jar that fails: exit status %d, %s", status, errs)
	}
}

// interrupted submits a job and interrupts that when it runs. It returns the errors.
func interrupted(t *testing.T, c *fakeCluster) (errs string) {
	t.Helper()
	writeTo(t, "in/a", "x\n")
	writeTo(t, "slow.sh", "#!/bin/sh\nexec sleep 1000\n")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go func() {
		for {
			time.Sleep(20 * time.Millisecond)
			c.mu.Lock()
			n := len(c.apps)
			c.mu.Unlock()
			if n > 0 {
				time.Sleep(200 * time.Millisecond)
				stop()
				return
			}
		}
	}()
	var o, e bytes.Buffer
	began := time.Now()
	status := Run(ctx, Streams{strings.NewReader(""), &o, &e}, []string{"submit", "--mapper", "./slow.sh", "--name",
		"slow", "--input", "in", "--output", "out"})
	if took := time.Since(began); status != statusInterrupted || took > patience {
		t.Errorf("exit status %d after %v: %s", status, took, &e)
	}
	return e.String()
}

// An interrupted submit kills what it submitted.
func TestSubmitInterrupted(t *testing.T) {
	c := newFakeCluster(t)
	interrupted(t, c)
	if app := c.named(t, "slow"); app.State != "KILLED" {
		t.Errorf("%+v", app)
	}
}

// An interrupted submit names what it could not kill.
func TestSubmitLeaves(t *testing.T) {
	c := newFakeCluster(t)
	yarn := filepath.Join(c.home, "bin", "yarn")
	if err := os.Remove(yarn); err != nil {
		t.Fatal(err)
	}
	writeTo(t, yarn, "#!/bin/sh\necho not today >&2\nexit 1\n")
	errs := interrupted(t, c)
	if id := c.named(t, "slow").ID; !strings.Contains(errs, id+" may still run") ||
		!strings.Contains(errs, "not today") {
		t.Errorf("%s, want that %s may still run", errs, id)
	}
}

// What cannot be submitted is refused before anything is, with what to do.
func TestSubmitRefuses(t *testing.T) {
	c := newFakeCluster(t)
	inputsOf(t)
	writeTo(t, "sim.yaml", "jobs: [{name: a, maps: {count: 1, time: 1s}}]\n")
	writeTo(t, "twice.yaml", "jobs: [{name: a, job: sort, input: [x], output: o}, {name: b, job: sort, input: [x], "+
		"output: o/}]\n")
	writeTo(t, "lib/twice.yaml", "")
	for _, one := range []struct{ args, want string }{
		{"", "submit what?"},
		{"nosuch", "no file of that name"},
		{"wordcount --output o", "--input is needed"},
		{"wordcount --input text", "--output is needed"},
		{"wordcount --mapper cat --input text --output o", "one or the other"},
		{"wordcount --input - --output o", "put it on the cluster's file system"},
		{"wordcount --input pebble:x --output o", "'sojourn run'"},
		{"wordcount --input text --output o -D cutof=3", "cutof"},
		{"wordcount --input text --output o -D textinputformat.record.delimiter=;", "leave it out"},
		{"classification --input movies --output o", "centroids=FILE"},
		{"wordcount --input text --output o --sample 1.5", "part of the input below 1"},
		{"wordcount --input text --output o --history h", "--sample"},
		{"wordcount --input text --output o -- x", "those of a --jar"},
		{"--jar nosuch.jar", "nosuch.jar"},
		{"--jar sim.yaml --sample 3 -- in out", "{input}"},
		{"--jar sim.yaml --output o -- {input} {output}", "say by --input"},
		{"--jar sim.yaml --input text -- {input} {output}", "say by --output"},
		{"wordcount --input text --output o --file nosuch", "stat nosuch"},
		{"wordcount --input text --output o --file sim.yaml,twice.yaml", "a flag of its own"},
		{"wordcount --input text --output o --file twice.yaml --file lib/twice.yaml", "rename one"},
		{"wordcount --input text --output o --binary nosuch", "stat nosuch"},
		{"wordcount --input text --input= --output o", "no name"},
		{"wordcount --input text --output o --rm host:8088", "http://host:8088"},
		{"--mapper 'a --input text --output o", "without its second"},
		{"sim.yaml", "sojourn sim --trace"},
		{"twice.yaml", "both write to o"},
		{"twice.yaml --queue q", "for a single job"},
		{"wordcount --input text --output o --hadoop /nosuch/hadoop", "HADOOP_HOME"},
		{"wordcount --input text --output o --conf /nosuch", "--conf"},
	} {
		status, _, errs := sojourn(t, append([]string{"submit"}, strings.Fields(one.args)...)...)
		if status != statusUsage || !strings.Contains(errs, one.want) {
			t.Errorf("%s: exit status %d, %s, want %q in it", one.args, status, errs, one.want)
		}
	}
	// What only the cluster knows is a failure of the job.
	for _, args := range []string{"sort --input nosuch --output o --reduces 2", "wordcount --input nosuch --output o " +
		"--sample 0.1"} {
		status, out, errs := sojourn(t, append([]string{"submit"}, strings.Fields(args)...)...)
		if status != statusFailed || out != "" || !strings.Contains(errs, "hadoop: nosuch: no such file") {
			t.Errorf("%s: exit status %d, %s%s", args, status, out, errs)
		}
	}
	if len(c.apps) > 0 {
		t.Errorf("%d were submitted", len(c.apps))
	}
}

package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn/internal/run"
	"github.com/sojourn-sched/sojourn/internal/theory"
	"github.com/sojourn-sched/sojourn/mr"
	"github.com/sojourn-sched/sojourn/mr/jobs"
	"github.com/sojourn-sched/sojourn/policy"
)

// sojourn runs a command and returns its exit status and what it wrote.
func sojourn(t *testing.T, args ...string) (status int, out, errs string) {
	t.Helper()
	return with(t, "", nil, args...)
}

func with(t *testing.T, in string, options []Option, args ...string) (status int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	status = Run(t.Context(), Streams{strings.NewReader(in), &o, &e}, args, options...)
	return status, o.String(), e.String()
}

// must runs a command that is to succeed, with nothing on standard error.
func must(t *testing.T, args ...string) string {
	t.Helper()
	status, out, errs := sojourn(t, args...)
	if status != statusOK {
		t.Fatalf("sojourn %s: exit status %d\n%s%s", strings.Join(args, " "), status, out, errs)
	}
	return out
}

const traces = "../internal/workload/testdata/traces/swim-FB-"

// The mean sojourn times of the FSP authors' own simulator, to the digit that they print (docs/spec).
func TestFluidFacebook(t *testing.T) {
	for year, want := range map[string][]string{
		"2009": {"11135.5", "75.2", "49.1", "32.5", "32.8", "32.8", "34.5"},
		"2010": {"1933.9", "27.7", "17.4", "9.8", "10.4", "10.4", "10.4"},
	} {
		path := traces + year + "_samples_24_times_1hr_0.tsv.gz"
		out := must(t, "fluid", "--trace", path, "--load", "0.9", "--disk-network-ratio", "4", "--policy",
			"fifo,ps,las,srpt,fsp,psbs,spt", "--json")
		var doc struct {
			Results []struct {
				Policy  string
				Sojourn struct{ Mean float64 } `json:"sojourn_s"`
			}
		}
		if err := json.Unmarshal([]byte(out), &doc); err != nil {
			t.Fatal(err)
		}
		for i, r := range doc.Results {
			if got := fmt.Sprintf("%.1f", r.Sojourn.Mean); got != want[i] {
				t.Errorf("%s, %s: %s, want %s", year, r.Policy, got, want[i])
			}
		}
	}
}

// Several errors of estimates are columns of one table, and of one document: las has the same mean whatever they are,
// spt not.
func TestFluidErrors(t *testing.T) {
	args := []string{"fluid", "--trace", generated(t), "--policy", "spt,las,gittins", "--sigma", "0,2", "--seeds", "3"}
	out := must(t, args...)
	for _, want := range []string{"SIGMA 0: MEAN", "SIGMA 2: MEAN", "WORST", "gittins", "of 3 seeds"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
	var doc struct {
		Sigma   *float64
		Results []struct {
			Policy string
			Sigma  float64
			Mean   float64 `json:"mean_sojourn_mean_s"`
			Worst  float64 `json:"mean_sojourn_worst_s"`
		}
	}
	if err := json.Unmarshal([]byte(must(t, append(args, "--json")...)), &doc); err != nil || doc.Sigma != nil ||
		len(doc.Results) != 6 {
		t.Fatalf("%d results with sigma %v, want 6 with sigmas of their own: %v", len(doc.Results), doc.Sigma, err)
	}
	for i := 0; i < len(doc.Results); i += 2 {
		exact, wrong := doc.Results[i], doc.Results[i+1]
		if exact.Policy != wrong.Policy || exact.Sigma != 0 || wrong.Sigma != 2 ||
			!(wrong.Worst >= wrong.Mean && wrong.Mean > 0) {
			t.Errorf("%+v and %+v are not the results of one policy without and with errors", exact, wrong)
		}
		if same := math.Abs(exact.Mean-wrong.Mean) < 1e-9*exact.Mean; same != (exact.Policy == "las") {
			t.Errorf("%s: mean of %v without and %v with errors", exact.Policy, exact.Mean, wrong.Mean)
		}
	}
}

// The models of fspy are kept from run to run, a record is decided again with what they knew, and how good they were is
// said.
func TestFspyEstimator(t *testing.T) {
	dir := t.TempDir()
	trace, history := generated(t), filepath.Join(dir, "history.db")
	jobs := func(rec string) int {
		var doc struct{ Predictions []run.Prediction }
		out := must(
			t,
			"sim",
			"--trace",
			trace,
			"--cluster",
			smallCluster,
			"--policy",
			"probe{srpt}",
			"--estimator",
			"fspy:fit=relative,window=1000",
			"--history",
			history,
			"--record",
			rec,
			"--json",
		)
		if err := json.Unmarshal([]byte(out), &doc); err != nil || len(doc.Predictions) != 1 ||
			doc.Predictions[0].Size == nil {
			t.Fatalf("predictions %+v, want those of one policy: %v", doc.Predictions, err)
		}
		return doc.Predictions[0].Jobs
	}
	once, twice := jobs(filepath.Join(dir, "1.rec")), jobs(filepath.Join(dir, "2.rec"))
	if once == 0 || twice <= once {
		t.Errorf("%d jobs were predicted in the first run, %d with those of the second: nothing was kept", once, twice)
	}
	for _, rec := range []string{"1.rec", "2.rec"} {
		if out := must(t, "record", "replay", filepath.Join(dir, rec)); !strings.Contains(out,
			"all decided as recorded") {
			t.Errorf("%s: %s", rec, out)
		}
	}
	if out := must(t, "sim", "--trace", trace, "--cluster", smallCluster, "--policy", "fspy:uber-maps=0", "--estimator",
		"fspy"); !strings.Contains(
		out,
		"R² of what was predicted",
	) {
		t.Errorf("R² is not said:\n%s", out)
	}
	if out := must(t, "__complete", "sim", "--estimator", "fs"); !strings.Contains(out, "fspy") {
		t.Errorf("completion of --estimator: %q", out)
	}
	for _, bad := range []string{"fspy:fit=good", "fspy:window=0", "fspy:size=3"} {
		if status, _, errs := sojourn(t, "sim", "--trace", trace, "--estimator", bad); status != statusUsage ||
			!strings.Contains(errs, "fspy") {
			t.Errorf("--estimator %s: exit status %d, %q", bad, status, errs)
		}
	}
}

// writeFile makes a file for a test.
func writeFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// A hundred jobs by a Poisson process, heavy-tailed.
func generated(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "jobs.tsv")
	must(t, "workload", "generate", "--jobs", "100", "--gap", "20s", "--input", "pareto:min=100MB,max=200GB,alpha=0.8",
		"--output", path)
	return path
}

const smallCluster = "nodes=10,map-slots=3,reduce-slots=1,racks=2"

// Two runs leave equal records, all policies' replays decide alike, and the summary is what the run printed.
func TestSimRecordReplay(t *testing.T) {
	trace, dir := generated(t), t.TempDir()
	for _, policy := range []string{"fifo", "fair", "srpt"} {
		var docs []string
		for _, n := range []string{"a", "b"} {
			rec := filepath.Join(dir, policy+n+".rec")
			docs = append(
				docs,
				must(
					t,
					"sim",
					"--trace",
					trace,
					"--cluster",
					smallCluster,
					"--policy",
					policy,
					"--sigma",
					"0.5",
					"--stragglers",
					"0.05",
					"--failures",
					"0.01",
					"--mtbf",
					"5h",
					"--mttr",
					"5m",
					"--heartbeat",
					"1s",
					"--record",
					rec,
					"--json",
				),
			)
		}
		a, errA := os.ReadFile(filepath.Join(dir, policy+"a.rec"))
		b, errB := os.ReadFile(filepath.Join(dir, policy+"b.rec"))
		if errA != nil || errB != nil || !bytes.Equal(a, b) {
			t.Errorf("%s: two runs left different records (%v, %v)", policy, errA, errB)
		}
		if out := must(t, "record", "replay", filepath.Join(dir, policy+"a.rec")); !strings.Contains(out,
			"all decided as recorded") {
			t.Errorf("%s: %s", policy, out)
		}
		out := must(t, "record", "replay", "--from", "1h", filepath.Join(dir, policy+"a.rec"))
		if !strings.Contains(out, "all decided as recorded") {
			t.Errorf("%s from 1h: %s", policy, out)
		}
		mean := func(doc string, many bool) float64 {
			type result struct {
				Jobs    int
				Sojourn struct{ Mean float64 } `json:"sojourn_s"`
			}
			var one result
			var all struct{ Results []result }
			var err error
			if many {
				err = json.Unmarshal([]byte(doc), &all)
				one = all.Results[0]
			} else {
				err = json.Unmarshal([]byte(doc), &one)
			}
			if err != nil || one.Jobs != 100 {
				t.Fatalf("%s: %d jobs, %v", policy, one.Jobs, err)
			}
			return one.Sojourn.Mean
		}
		if ran, read := mean(docs[0], true),
			mean(must(t, "record", "summary", "--json", filepath.Join(dir, policy+"a.rec")), false); ran != read ||
			!(ran > 0) {
			t.Errorf("%s: mean sojourn %v in the run, %v in its record", policy, ran, read)
		}
	}
	if out := must(t, "record", "diff", filepath.Join(dir, "fifoa.rec"),
		filepath.Join(dir, "srpta.rec")); !strings.Contains(
		out,
		"the runs part at",
	) {
		t.Errorf("fifo and srpt are told to be alike: %s", out)
	}
	if out := must(t, "record", "explain", filepath.Join(dir, "fifoa.rec"), "50", "--at",
		"20m"); !strings.Contains(out, "job 50") {
		t.Errorf("explain: %s", out)
	}
	out := must(t, "record", "export", "--format", "chrome", filepath.Join(dir, "fifoa.rec"))
	if !json.Valid([]byte(out)) || !strings.Contains(out, "traceEvents") {
		t.Error("the Chrome trace is not valid JSON")
	}
}

// Jobs with masters leave records that are decided again alike, explained, and simulated again; masters that cannot be
// are refused.
func TestSimMasters(t *testing.T) {
	trace, dir := generated(t), t.TempDir()
	const containers = "nodes=10,memory=8GiB,vcores=8,racks=2"
	mean := func(args ...string) float64 {
		var doc struct {
			Results []struct {
				Jobs    int
				Sojourn struct{ Mean float64 } `json:"sojourn_s"`
			}
		}
		if err := json.Unmarshal([]byte(must(t, append([]string{"sim", "--json"}, args...)...)), &doc); err != nil ||
			doc.Results[0].Jobs != 100 {
			t.Fatalf("%v: %+v, %v", args, doc, err)
		}
		return doc.Results[0].Sojourn.Mean
	}
	for i, policy := range []string{"fair", "capacity", "fspy:big=kept", "late{fair}:min-run=10s", "fair:preempt=kill",
		"srpt:preempt=suspend"} {
		rec := filepath.Join(dir, fmt.Sprint(i, ".rec"))
		mean(
			"--trace",
			trace,
			"--cluster",
			containers,
			"--policy",
			policy,
			"--masters",
			"1536MiB",
			"--uber",
			"--stragglers",
			"0.05",
			"--failures",
			"0.01",
			"--mtbf",
			"5h",
			"--mttr",
			"5m",
			"--heartbeat",
			"1s",
			"--record",
			rec,
		)
		if out := must(t, "record", "replay", rec); !strings.Contains(out, "all decided as recorded") {
			t.Errorf("%s: %s", policy, out)
		}
		if out := must(t, "record", "explain", rec, "50", "--at", "20m"); !strings.Contains(out, "job 50") {
			t.Errorf("%s: explain: %s", policy, out)
		}
	}
	two := filepath.Join(dir, "two.yaml")
	if err := os.WriteFile(two, []byte("jobs:\n  - {name: a, maps: {count: 4, time: 60s}}\n  - {name: b, submit: 1s, "+
		"maps: {count: 4, time: 60s}}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	// of 16 GiB a tenth is one master of 1 GiB; a user may have half of two tenths under user-factor=0.5
	for policy, why := range map[string]string{
		"capacity": "limit of masters: masters of queue default hold 1024 memory of at " +
			"most 1638, and one more takes 1024",
		"late{capacity}": "limit of masters: masters of queue default hold 1024 memory of at " +
			"most 1638, and one more takes 1024",
		"capacity:masters=0.2,user-factor=0.5": "masters of user - hold 1024 memory of at most 1638 in queue default",
		"fair:masters=0.1":                     "masters of queue default hold 1024 memory of at most 1638",
	} {
		rec := filepath.Join(dir, "two.rec")
		must(
			t,
			"sim",
			"--trace",
			two,
			"--cluster",
			"nodes=2,memory=8GiB,vcores=8",
			"--policy",
			policy,
			"--masters",
			"1GiB",
			"--record",
			rec,
			"--overwrite",
		)
		if out := must(t, "record", "explain", rec, "2", "--at", "5s"); !strings.Contains(out, why) ||
			!strings.Contains(out, "not asked for: its job's ApplicationMaster") {
			t.Errorf("%s: explain: %s", policy, out)
		}
	}
	// alice may have half of her queue, 8 GiB, and no more while half of the cluster is free.
	limited := filepath.Join(dir, "limited.rec")
	one := writeFile(t, "one.yaml", "jobs:\n  - {name: a, user: alice, maps: {count: 40, time: 60s}}\n")
	must(t, "sim", "--trace", one, "--cluster", "nodes=2,memory=8GiB,vcores=8", "--policy", "capacity:user-factor=0.5",
		"--record", limited)
	if out := must(t, "record", "explain", limited, "1", "--at", "5s"); !strings.Contains(out, "limit of the user: "+
		"user alice uses 8192 memory of at most 8192 in queue default, shared by 1 user, and a task takes 1024") {
		t.Errorf("a user at the limit: explain: %s", out)
	}
	rec := filepath.Join(dir, "plain.rec")
	args := []string{
		"--cluster",
		containers,
		"--policy",
		"fair",
		"--costs",
		"none",
		"--masters",
		"1GiB",
		"--master-start",
		"9s",
	}
	masters := mean(append([]string{"--trace", trace, "--record", rec}, args...)...)
	for _, args := range [][]string{args, args[:6]} { // a record has its masters
		if again := mean(append([]string{"--from-record", rec}, args...)...); math.Abs(again-masters) > 1e-6 {
			t.Errorf("mean sojourn %v s, simulated from its record %v", masters, again)
		}
	}
	if bare := mean(append([]string{"--trace", trace}, args[:6]...)...); masters < bare+9 {
		t.Errorf("mean sojourn %v s with masters that take 9 s to start, %v without", masters, bare)
	}
	large := []string{"--from-record", rec, "--masters", "8GiB"}
	if held := mean(append(large, args[:6]...)...); held <= masters {
		t.Errorf("mean sojourn %v s with masters that fill a node, %v with those of 1 GiB", held, masters)
	}
	for want, bad := range map[string][]string{
		"the cluster has slots":           {"--masters", "1536MiB", "--cluster", smallCluster},
		"no node of the cluster has room": {"--masters", "9GiB", "--cluster", containers},
		"--masters 1536MiB":               {"--uber", "--cluster", containers}, "--masters: ": {"--masters", "many",
			"--cluster", containers},
	} {
		if status, _, errs := sojourn(t, append([]string{"sim", "--trace", trace}, bad...)...); status != statusUsage ||
			!strings.Contains(errs, want) {
			t.Errorf("%v: exit status %d, %q; want %q", bad, status, errs, want)
		}
	}
}

// A simulation of a record under the policy that made it, without chance, gives the record's sojourn times.
func TestSimFromRecord(t *testing.T) {
	trace := generated(t)
	rec := filepath.Join(t.TempDir(), "run.rec")
	args := []string{"--cluster", smallCluster, "--policy", "fair", "--costs", "none", "--json"}
	a := must(t, append([]string{"sim", "--trace", trace, "--record", rec}, args...)...)
	b := must(t, append([]string{"sim", "--from-record", rec}, args...)...)
	var x, y struct {
		Results []struct {
			Sojourn struct{ Mean, Max float64 } `json:"sojourn_s"`
		}
	}
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil ||
		math.Abs(x.Results[0].Sojourn.Mean-y.Results[0].Sojourn.Mean) > 1e-6 {
		t.Errorf("mean sojourn %v, from the record %v", x, y)
	}
}

// Wrong use is exit status 2 with a sentence; --json is a JSON document even then.
func TestErrors(t *testing.T) {
	empty := writeFile(t, "empty.tsv", "")
	bad := writeFile(t, "bad.tsv", "job1\t0\t0\t10\t0\t0\njob2\tx\t0\t10\t0\t0\n")
	zip := writeFile(t, "logs.zip", "PK\x03\x04")
	script := writeFile(t, "m.py", "#!/usr/bin/env python3\nimport sys\nprint(sys.stdin.read())\n")
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"simm"}, `unknown command "simm": did you mean "sim"?`},
		{[]string{"sim"}, "--trace FILE is needed"},
		{[]string{"sim", "--bogus"}, "unknown flag"},
		{[]string{"sim", "--trace", "no-such-file"}, "no-such-file"},
		{[]string{"sim", "--trace", bad, "--cluster", smallCluster}, "bad.tsv:2"},
		{[]string{"sim", "--trace", empty, "--cluster", smallCluster}, "empty.tsv"},
		{[]string{"sim", "--trace", bad, "--cluster", "nodes=0,map-slots=1"}, "nodes"},
		{[]string{"sim", "--trace", bad, "--cluster", "nodes=2,memory=512MiB,vcores=4"}, "a reduce of 1024 MiB"},
		{[]string{"sim", "--trace", bad, "--policy", "fifoo"}, "fifoo"},
		{[]string{"sim", "--trace", bad, "--policy", "fair:delay=-5s"}, "delay"},
		{[]string{"sim", "--trace", bad, "--policy", "fifo,fair", "--record", "x.rec"}, "{policy}"},
		{[]string{"sim", "--trace", bad, "--estimator", "wrong"}, "estimator"},
		{[]string{"fluid", "--trace", bad, "--load", "0"}, "--load"},
		{[]string{"fluid", "--trace", bad, "--load", "NaN"}, "--load"},
		{[]string{"fluid", "--trace", bad, "--sigma", "1,-1"}, "--sigma"},
		{[]string{"fluid", "--trace", bad, "--sigma", "1,2", "--per-job", "x.csv"}, "--per-job"},
		{[]string{"run"}, "run what?"},
		{[]string{"run", "wordcount", "--output", "x"}, "--input is needed"},
		{[]string{"run", "wordcount", "--input", bad}, "--output is needed"},
		{[]string{"run", "wordcount", "in", "out"}, "as in --input in --output DIRECTORY"},
		{[]string{"run", bad, "--input", bad, "--output", "x"}, "a program of yours is named by --mapper"},
		{[]string{"run", script}, "a program of yours is named by --mapper"},
		{[]string{"run", "wordcount", "--input", "a,b", "--output", "x"}, "by repeating --input"},
		{[]string{"run", "wordcount", "--input", "no-such-*", "--output", "x"}, "no file matches"},
		{[]string{"run", "wordcount", "--input", "pebble:", "--output", "x"},
			`input "pebble:": no folder is named: must be pebble:DIR`},
		{[]string{"run", "wordcount", "--input", zip, "--output", "x"},
			"logs.zip: a zip archive is not read: unpack it, as in unzip -p FILE | sojourn run JOB --input -"},
		{[]string{"run", "wordcount", "--input", bad, "--output", filepath.Dir(bad)}, "exists"},
		{[]string{"run", "wordcount", "--input", bad, "--output", filepath.Join(bad, "x")},
			"a file stands where a directory"},
		{[]string{"run", "wordcount", "--input", bad, "--output", "x", "-D", "fixedlengthinputformat.record.length=3",
			"-D", "mapreduce.job.inputformat.class=FixedLengthInputFormat"}, "reads lines, and no records of 3 bytes"},
		{[]string{"run", "wordcount", "--input", bad, "--output", "x", "--memory", "1kB"}, "memory"},
		{[]string{"run", "wordcount", "--input", bad, "--output", "x", "--estimator", "oracle"},
			"are not known before"},
		{[]string{"run", "wordcount", "--mapper", "cat", "--input", bad, "--output", "x"}, "one or the other"},
		{[]string{"record", "summary", bad}, "bad.tsv"},
		{[]string{"record", "explain", bad, "none"}, "must be the number of a job"},
		{[]string{"workload", "show", bad}, "bad.tsv:2"},
		{[]string{"policies", "bogus"}, "bogus"},
		{[]string{"generate", "bogus", "--output", "x"}, "bogus"},
	} {
		status, out, errs := sojourn(t, c.args...)
		if status != statusUsage || !strings.Contains(errs, c.says) || out != "" {
			t.Errorf("sojourn %s: exit status %d, want 2; standard error %q, want %q in it; standard output %q",
				strings.Join(c.args, " "), status, errs, c.says, out)
		}
		if c.args[0] == "sim" || c.args[0] == "fluid" || c.args[0] == "run" {
			_, out, _ = sojourn(t, append(c.args, "--json")...)
			var doc struct{ Error string }
			if !strings.Contains(strings.Join(c.args, " "), "bogus") &&
				(json.Unmarshal([]byte(out), &doc) != nil || doc.Error == "") {
				t.Errorf("sojourn %s --json: %q is no JSON document with the error", strings.Join(c.args, " "), out)
			}
		}
	}
}

// A job, a program, a mix under two policies: outputs are right, equal, and complete.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	in := writeFile(t, "in.txt", strings.Repeat("b a\nc a\n", 1000))
	out := filepath.Join(dir, "counts")
	if text := must(t, "run", "wordcount", "--input", in, "--output", out, "--reduces", "1"); !strings.Contains(text,
		"REDUCE_OUTPUT_RECORDS") {
		t.Errorf("no counters: %s", text)
	}
	want := "a\t2000\nb\t1000\nc\t1000\n"
	if got, err := os.ReadFile(filepath.Join(out, "part-r-00000")); err != nil || string(got) != want {
		t.Errorf("counts %q, %v; want %q", got, err, want)
	}
	if status, _, errs := sojourn(t, "run", "wordcount", "--input", in, "--output", out); status != statusUsage ||
		!strings.Contains(errs, "--overwrite") {
		t.Errorf("an output that exists: exit status %d, %s", status, errs)
	}
	must(t, "run", "wordcount", "--input", in, "--output", out, "--overwrite", "--chaos", "rate=0.3,seed=7")

	for _, c := range []struct{ args, says string }{
		{"run term-vector -D cutof=3", "did you mean cutoff?"},
		{"run wordcount -D mapreduce.input.fileinputformat.split.maxsiez=1m",
			"did you mean mapreduce.input.fileinputformat.split.maxsize?"},
		{"run wordcount --reduces -2", "must not be negative"},
		{"run --mapper cat -D stream.map.output.field.seperator=,", "did you mean stream.map.output.field.separator?"},
		{"run --mapper cat -D mapreduce.job.reducers=3", "did you mean mapreduce.job.reduces?"},
	} {
		args := append(strings.Fields(c.args), "--input", in, "--output", filepath.Join(dir, "refused"))
		if status, _, errs := sojourn(t, args...); status != statusUsage || !strings.Contains(errs, c.says) {
			t.Errorf("sojourn %s: exit status %d, %q; want 2 and %q", c.args, status, errs, c.says)
		}
	}
	must(t, "run", "--mapper", "sh -c 'echo $my_own_key'", "-D", "my.own.key=x", "--input", in, "--output",
		filepath.Join(dir, "own"))

	lost := writeFile(t, "lost.yaml", fmt.Sprintf(`
jobs:
  - {name: words, job: wordcount, input: [%[1]s], output: %[2]s/there}
  - {name: gone, job: wordcount, input: [%[2]s/nowhere], output: %[2]s/gone}
`, in, dir))
	if status, text, _ := sojourn(t, "run", lost); status != statusFailed || !strings.Contains(text, "1 job failed") {
		t.Errorf("a job without input: exit status %d, want 1, and its failure in the summary: %s", status, text)
	}

	mix := writeFile(t, "mix.yaml", fmt.Sprintf(`
queues: [{name: etl, weight: 2}]
jobs:
  - {name: words, job: wordcount, input: [%[1]s], output: %[2]s/words, submit: 0s, user: ana, queue: etl, deadline: 60s}
  - {name: prog, mapper: "sed s/a/x/", reducer: "uniq -c", input: [%[1]s], output: %[2]s/prog, submit: 10ms, reduces: 2}
`, in, dir))
	doc := must(t, "run", mix, "--policy", "fifo,fair", "--json", "--record", filepath.Join(dir, "{policy}.rec"))
	var r struct {
		Results []struct {
			Policy string
			PerJob []struct {
				Name, Outcome, Output string
				Sojourn               float64 `json:"sojourn_s"`
			} `json:"per_job"`
			Deadlines struct{ Met, Missed int }
		}
	}
	if err := json.Unmarshal([]byte(doc), &r); err != nil || len(r.Results) != 2 || len(r.Results[1].PerJob) != 2 {
		t.Fatalf("%v: %s", err, doc)
	}
	for _, res := range r.Results {
		if res.Deadlines.Met != 1 {
			t.Errorf("%s: deadlines %v", res.Policy, res.Deadlines)
		}
		for _, j := range res.PerJob {
			if j.Outcome != "ok" || !(j.Sojourn > 0) || j.Output != filepath.Join(dir, j.Name, res.Policy) {
				t.Errorf("%s: %+v", res.Policy, j)
			}
			if _, err := os.Stat(filepath.Join(j.Output, "_SUCCESS")); err != nil {
				t.Error(err)
			}
		}
	}
	must(t, "sim", "--from-record", filepath.Join(dir, "fair.rec"), "--policy", "fifo", "--cluster",
		"nodes=1,vcores=2,memory=4GiB")
}

// A program that fails is exit status 1, with its name, task, attempt, and the end of its standard error; nothing is
// left but the logs.
func TestRunFailure(t *testing.T) {
	dir := t.TempDir()
	in := writeFile(t, "in.txt", "a\n")
	status, _, errs := sojourn(t, "run", "--mapper", `sh -c "echo it hurts >&2; exit 3"`, "--reducer", "cat", "--input",
		in, "--output", filepath.Join(dir, "out"))
	for _, part := range []string{"map task 0", "attempt 3", "it hurts"} {
		if status != statusFailed || !strings.Contains(errs, part) {
			t.Errorf("exit status %d, want 1; standard error lacks %q: %s", status, part, errs)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 || left[0].Name() != "out.logs" {
		t.Errorf("left behind: %v, %v, must be the logs alone", left, err)
	}
}

// A program of one's own with a job of one's own.
func TestWith(t *testing.T) {
	mine := Job{
		"mine",
		jobs.Entry{
			About: "counts lines",
			Input: "text",
			New:   func(conf mr.Conf) (*mr.Job, error) { return jobs.WordCount(conf) },
		},
	}
	in, out := writeFile(t, "in.txt", "x\n"), filepath.Join(t.TempDir(), "out")
	if status, _, errs := with(t, "", []Option{With(mine)}, "run", "mine", "--input", in, "--output",
		out); status != statusOK {
		t.Errorf("exit status %d: %s", status, errs)
	}
	defer func() {
		if recover() == nil {
			t.Error("a job whose name is taken does not panic")
		}
	}()
	with(t, "", []Option{With(Job{Name: "wordcount"})}, "jobs")
}

// An ordering of one's own for the rounds of mrorder is a policy like any other: here the job of most maps first, of
// 100 that come over time.
func TestWithOrdering(t *testing.T) {
	asked := 0
	widest := func(jobs []theory.SlotJob, _ theory.Slots) []int {
		asked++
		order := make([]int, len(jobs))
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(a, b int) int { return jobs[b].Maps - jobs[a].Maps })
		return order
	}
	mine := With(Policy{Name: "widest", Entry: policy.MROrder(widest)})
	status, out, errs := with(
		t,
		"",
		[]Option{mine},
		"sim",
		"--trace",
		generated(t),
		"--cluster",
		smallCluster,
		"--policy",
		"mrorder",
		"--policy",
		"widest:rounds=fti,interval=60s",
		"--progress",
		"never",
	)
	if status != statusOK || !strings.Contains(out, "widest:rounds=fti,interval=60s") || asked == 0 {
		t.Errorf("exit status %d, asked %d times: %s%s", status, asked, out, errs)
	}
	if _, out, _ := with(t, "", []Option{mine}, "policies", "widest"); !strings.Contains(out, "own, auto, mk-jr") {
		t.Errorf("its card has no order=own:\n%s", out)
	}
}

// A policy that panics while a record is replayed is a defect, and not damage of the record: the message says what to
// report, and the stack says where it was.
func TestReplayOfDefect(t *testing.T) {
	broken := false
	order := func(jobs []theory.SlotJob, _ theory.Slots) []int {
		if broken {
			panic("this order is broken")
		}
		list := make([]int, len(jobs))
		for i := range list {
			list[i] = i
		}
		return list
	}
	own, rec := With(Policy{Name: "as-they-come", Entry: policy.MROrder(order)}), filepath.Join(t.TempDir(), "run.rec")
	if status, _, errs := with(t, "", []Option{own}, "sim", "--trace", generated(t), "--cluster", smallCluster,
		"--policy", "as-they-come", "--record", rec, "--quiet"); status != statusOK {
		t.Fatalf("exit status %d: %s", status, errs)
	}
	if status, out, errs := with(t, "", []Option{own}, "record", "replay", rec); status != statusOK ||
		!strings.Contains(out, "all decided as recorded") {
		t.Fatalf("exit status %d: %s%s", status, out, errs)
	}
	broken = true
	status, _, errs := with(t, "", []Option{own}, "record", "replay", rec)
	for _, says := range []string{"panicked: this order is broken", "a defect of the program and not of the record",
		"please report it", "TestReplayOfDefect"} {
		if status != statusFailed || !strings.Contains(errs, says) || strings.Contains(errs, "is damaged") {
			t.Errorf("exit status %d, want one that says %q:\n%s", status, says, errs)
		}
	}
}

// Every verb explains itself, and lists agree with their JSON.
func TestHelp(t *testing.T) {
	for _, verb := range []string{"", "run", "sim", "fluid", "workload", "workload show", "workload convert",
		"workload generate", "record", "record summary",
		"record events", "record export", "record replay", "record diff", "record explain", "policies", "jobs",
		"generate", "version", "completion"} {
		if out := must(t, append(strings.Fields(verb), "--help")...); !strings.Contains(out, "Usage:") {
			t.Errorf("sojourn %s --help: %q", verb, out)
		}
	}
	for _, list := range []string{"policies", "jobs"} {
		var doc []struct{ Name string }
		if err := json.Unmarshal([]byte(must(t, list, "--json")), &doc); err != nil || len(doc) < 3 {
			t.Fatalf("%s: %v, %d entries", list, err, len(doc))
		}
		text := must(t, list)
		for _, e := range doc {
			if !strings.Contains(text, e.Name) {
				t.Errorf("%s: %s is missing in the table", list, e.Name)
			}
			must(t, list, e.Name)
		}
	}
}

// Jobs of a mix are probed by running samples of them: their outputs are those of a run without, a record has the
// probes as jobs, a summary counts none of them, and a simulation of the record has none. A prediction is compared if
// a probe is done before its job. On two vcores one is, however many processors there are: while a task runs, a probe
// gets the other vcore first, and takes two tasks where its job has ten. On one vcore nothing else runs when room is
// offered, so that probes get it last, and none is done.
func TestRunProbes(t *testing.T) {
	dir := t.TempDir()
	in, rec := filepath.Join(dir, "in.txt"), filepath.Join(dir, "{policy}.rec")
	must(t, "generate", "text", "--size", "8MB", "--output", in)
	var jobs strings.Builder
	for i, job := range []string{"wordcount", "sort", "inverted-index"} {
		fmt.Fprintf(&jobs, "  - {name: j%d, job: %s, input: [%s], output: %s}\n", i, job, in,
			filepath.Join(dir, fmt.Sprint("out", i)))
	}
	mix := writeFile(t, "mix.yaml", "jobs:\n"+jobs.String())
	for _, vcores := range []int{1, 2} {
		status, out, errs := sojourn(t, "run", mix, "--policy", "fifo", "--policy", "fspy:uber-maps=0", "--record", rec,
			"--overwrite", "--cluster", fmt.Sprintf("nodes=1,memory=4GiB,vcores=%d", vcores))
		if status != statusOK || !strings.Contains(out, "outputs are equal byte for byte") {
			t.Errorf("exit status %d, outputs are not compared:\n%s%s", status, out, errs)
		}
		compared := strings.Contains(out, "R² of what was predicted of probed jobs")
		excused := strings.Contains(errs, "no probe was done before its job")
		if compared != (vcores == 2) || excused == compared {
			t.Fatalf("%d vcores: R² of what was predicted: %v, said why there is none: %v\n%s%s", vcores, compared,
				excused, out, errs)
		}
	}
	recs, err := filepath.Glob(filepath.Join(dir, "fspy*.rec"))
	if err != nil || len(recs) != 1 {
		t.Fatalf("records %v, %v", recs, err)
	}
	if events := must(t, "record", "events", recs[0]); !strings.Contains(events, "action probe job=1") ||
		strings.Count(events, `name="probe of j`) != 3 {
		t.Errorf("not three probes:\n%s", events)
	}
	if summary := must(t, "record", "summary", recs[0]); !strings.Contains(summary, "3 jobs") {
		t.Errorf("not 3 jobs:\n%s", summary)
	}
	if again := must(t, "record", "replay", recs[0]); !strings.Contains(again, "all decided as recorded") {
		t.Errorf("replay: %s", again)
	}

	// An estimator that learns nothing from probes has none run, and a policy that is for nothing else says so.
	mean := filepath.Join(dir, "mean-fspy-uber-maps0.rec")
	must(t, "run", mix, "--policy", "fifo", "--policy", "fspy:uber-maps=0", "--estimator", "mean", "--overwrite",
		"--record", filepath.Join(dir, "mean-{policy}.rec"))
	if events := must(t, "record", "events", mean); strings.Contains(events, "probe") {
		t.Errorf("probes in vain:\n%s", events)
	}
	if again := must(t, "record", "replay", mean); !strings.Contains(again, "all decided as recorded") {
		t.Errorf("replay: %s", again)
	}
	if status, _, errs := sojourn(t, "run", mix, "--policy", "fifo", "--policy", "probe{srpt}", "--estimator", "mean",
		"--overwrite"); status == 0 ||
		!strings.Contains(errs, "run --estimator mean does not learn") {
		t.Errorf("probe{srpt} with the estimator mean: exit status %d, %q", status, errs)
	}
	if simulated := must(t, "sim", "--from-record", recs[0], "--cluster", "nodes=1,memory=4GiB,vcores=2", "--costs",
		"none"); !strings.Contains(
		simulated,
		": 3 jobs",
	) {
		t.Errorf("not 3 jobs:\n%s", simulated)
	}
}

// Keys by which Hadoop's users say how many reduces there are mean what the flag means, which goes before them.
func TestRunHadoopKeys(t *testing.T) {
	in := filepath.Join(t.TempDir(), "in.txt")
	if err := os.WriteFile(in, []byte("a b a\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args string
		want int // parts; 0: it is refused
	}{
		{"-D mapreduce.job.reduces=3", 3},
		{"-D mapred.reduce.tasks=2 --reduces 4", 4},
		{"-D mapreduce.job.reduces=three", 0},
		{"-D mapreduce.task.timeout=-1", 0},
	} {
		out := filepath.Join(t.TempDir(), "out")
		status, _, errs := sojourn(
			t,
			append([]string{"run", "wordcount", "--input", in, "--output", out}, strings.Fields(c.args)...)...)
		parts, _ := filepath.Glob(out + "/part-*")
		if len(parts) != c.want || (status == statusUsage) != (c.want == 0) {
			t.Errorf("%s: %d parts, want %d; exit status %d\n%s", c.args, len(parts), c.want, status, errs)
		}
	}
}

// TestRunTimeout: --timeout, and the keys that stand for it, hold for programs too, which have a limit of their own.
func TestRunTimeout(t *testing.T) {
	in := writeFile(t, "in.txt", "a\n")
	for args, want := range map[string]string{
		"": "600000", "--timeout 25m": "1500000", "--timeout 0": "0",
		"-D mapred.task.timeout=7200000": "7200000", "-D mapreduce.task.timeout=0 --timeout 2h": "7200000",
		"-D mapred.task.timeout=1 -D mapreduce.task.timeout=3600000": "3600000",
	} {
		out := filepath.Join(t.TempDir(), "out")
		must(t, append([]string{"run", "--mapper", "printenv mapreduce_task_timeout", "--reducer", "NONE", "--input",
			in, "--output", out}, strings.Fields(args)...)...)
		if got, err := os.ReadFile(filepath.Join(out, "part-m-00000")); err != nil || string(got) != want+"\t\n" {
			t.Errorf("%s: a limit of %q, %v; want %s ms", args, got, err, want)
		}
	}
}

// TestRunWithoutFiles: a directory without files gives an empty output, and the run says so. With --overwrite it takes
// the place of the old output.
func TestRunWithoutFiles(t *testing.T) {
	in := t.TempDir()
	if err := os.WriteFile(filepath.Join(in, ".hidden"), []byte("a\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		job  []string
		part string // of an old output
	}{{[]string{"wordcount"}, "part-r-00007"}, {[]string{"--mapper", "cat", "--reducer", "NONE"}, "part-m-00007"}} {
		for _, old := range []bool{false, true} {
			output := filepath.Join(t.TempDir(), "out")
			args := slices.Concat([]string{"run"}, c.job, []string{"--input", in, "--output", output})
			if old {
				if err := os.Mkdir(output, 0o777); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(output, c.part), []byte("old\n"), 0o600); err != nil {
					t.Fatal(err)
				}
				args = append(args, "--overwrite")
			}
			status, out, errs := sojourn(t, args...)
			if status != statusOK || !strings.Contains(errs, "no file is in "+in) || strings.Contains(out, "COUNTER") {
				t.Errorf("%v: exit status %d, %q, %q", args, status, out, errs)
			}
			if _, err := os.Stat(filepath.Join(output, "_SUCCESS")); err != nil {
				t.Errorf("%v: %v", args, err)
			}
			if _, err := os.Stat(filepath.Join(output, c.part)); err == nil {
				t.Errorf("%v: %s of the old output is still there", args, c.part)
			}
		}
	}
}

// --timeout goes before the key of Hadoop's configuration: a silent mapper ends long before the ten minutes of the key.
func TestRunTimeoutKey(t *testing.T) {
	in := filepath.Join(t.TempDir(), "in.txt")
	if err := os.WriteFile(in, []byte("a\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	status, _, errs := sojourn(t, "run", "--mapper", "sleep 600", "--reducer", "NONE", "--input", in, "--output",
		filepath.Join(t.TempDir(), "out"), "--timeout", "100ms", "-D", "mapreduce.task.timeout=600000")
	if status != statusFailed || !strings.Contains(errs, "100ms") {
		t.Errorf("exit status %d, %q: want that of a job that failed, and the timeout of 100ms", status, errs)
	}
}

// What can be known at the start is said at the start, and what comes to nothing is exit status 1.
func TestSettled(t *testing.T) {
	trace, dir := generated(t), t.TempDir()
	rec := filepath.Join(dir, "run.rec")
	must(t, "sim", "--trace", trace, "--cluster", smallCluster, "--record", rec)
	cluster := func(most string) string {
		return writeFile(
			t,
			"cluster.yaml",
			"classes: [{name: c, count: 10, resources: {map-slots: 2, reduce-slots: 2}}]\nqueues: [{name: default, "+
				"max: 100%}, {name: etl, max: 50%, queues: [{name: small, max: "+most+"}]}]\n",
		)
	}
	in := writeFile(t, "in.txt", "a\n")
	mix := writeFile(
		t,
		"mix.yaml",
		fmt.Sprintf(
			"queues: [{name: tiny, max: 1%%}]\njobs:\n  - {name: w, job: wordcount, input: [%s], output: %s, "+
				"queue: tiny}\n",
			in,
			filepath.Join(dir, "out"),
		),
	)
	for _, c := range []struct {
		args   string
		status int
		says   string
	}{
		{"sim --trace TRACE --cluster SMALL --failures 1", statusFailed, "policy fifo: none of 100 jobs " +
			"succeeded, 100 failed"},
		{"sim --trace TRACE --cluster SMALL --failures 0.3", statusOK, ""}, // some fail: a result
		{"sim --trace TRACE --cluster SMALL --costs none --slow-start 0.5", statusUsage,
			"--costs none and --slow-start"},
		{"sim --trace TRACE --cluster SMALL --costs none --replicas 2", statusUsage, "--costs none and --replicas"},
		{"sim --trace TRACE --cluster SMALL --costs none --read-rates 1,1,1", statusUsage,
			"--costs none and --read-rates"},
		{"sim --trace TRACE --cluster SMALL --costs none --shuffle=false", statusOK, ""},
		{"record explain REC 101", statusFailed, "run.rec: job 101 is not in it: the record has no job 101: the " +
			"last is 100"},
		{"record export REC --format pdf", statusUsage, `--format "pdf": must be one of csv, json, chrome`},
		{"run bogus --input x --output y", statusUsage, "there are adjacency-list, classification"},
		{"sim --trace TRACE --cluster " + cluster("9%"), statusUsage, "queue etl.small: its maximum of 9 % of 10 " +
			"map-slots is less than one, and no task could ever run there: must be at least 10 %"},
		{"sim --trace TRACE --cluster " + cluster("10%"), statusOK, ""},
		{"sim --trace TRACE --cluster " + cluster("50%, policy: 'fifo:delay=5s'"), statusOK, ""},
		{"sim --trace TRACE --cluster " + cluster("50%, policy: 'fifo:dely=5s'"), statusUsage,
			`queue etl.small: policy fifo: there is no parameter "dely"; it takes delay, rack-delay, locality (did ` +
				`you mean delay?)`},
		{"run " + mix + " --cluster nodes=1,vcores=2,memory=1GiB", statusUsage, "queue tiny: its maximum of 1 % " +
			"of 2 vcores"},
	} {
		args := strings.Fields(strings.NewReplacer("TRACE", trace, "SMALL", smallCluster, "REC", rec).Replace(c.args))
		if status, out, errs := sojourn(t, args...); status != c.status || !strings.Contains(errs, c.says) {
			t.Errorf("sojourn %s: exit status %d, want %d; standard error %q, want %q in it; %s", c.args, status,
				c.status, errs, c.says, out)
		}
	}
	if status, out, _ := sojourn(t, "sim", "--trace", trace, "--cluster", smallCluster, "--failures", "1",
		"--json"); status != statusFailed ||
		!json.Valid([]byte(out)) {
		t.Errorf("with --json: exit status %d, %s", status, out)
	}
}

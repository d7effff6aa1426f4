package cli

import (
	"encoding/json"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn/internal/run"
)

const stockMix = "../internal/run/testdata/stock-mix.record"

// A simulation of a record takes its cluster, simulates its policy first, and says how far it is from what was
// measured.
func TestSimFromRecordCheck(t *testing.T) {
	var doc struct {
		Results []struct {
			Policy  string
			Sojourn struct{ Mean float64 } `json:"sojourn_s"`
		}
		Check *run.Check
	}
	out := must(t, "sim", "--from-record", stockMix, "--policy", "fifo", "--json")
	if err := json.Unmarshal([]byte(out), &doc); err != nil {
		t.Fatal(err)
	}
	c := doc.Check
	if len(doc.Results) != 2 || doc.Results[0].Policy != "fair" || doc.Results[1].Policy != "fifo" || c == nil {
		t.Fatalf("%s", out)
	}
	if c.Policy != "fair" || c.Jobs != 4 || c.Others != 0 || c.Simulated != doc.Results[0].Sojourn.Mean ||
		math.Abs(c.Simulated/c.Measured-1-c.Error) > 1e-12 || math.Abs(c.Error) > 0.02 {
		t.Errorf("check %+v", c)
	}
	status, out, errs := sojourn(t, "sim", "--from-record", stockMix, "--trust", "0.0001", "--heartbeat", "20s")
	if status != statusOK || !strings.Contains(out, "measured under fair") || strings.Contains(out, "fifo") ||
		!strings.Contains(errs, "beyond --trust 0.0001") {
		t.Errorf("exit status %d\n%s%s", status, out, errs)
	}
	status, out, errs = sojourn(t, "sim", "--from-record", stockMix, "--cluster", "nodes=3,memory=4GiB,vcores=4")
	if status != statusOK || strings.Contains(out, "measured") || !strings.Contains(errs, "is not compared") {
		t.Errorf("exit status %d\n%s%s", status, out, errs)
	}
	for _, flag := range ofTraces { // a record would be simulated as if they had not been said
		value := "1"
		if flag == "startup" {
			value = "1s"
		}
		status, out, errs = sojourn(t, "sim", "--from-record", stockMix, "--"+flag, value)
		if status != statusUsage || out != "" || !strings.Contains(errs, "--"+flag+" is for a --trace") {
			t.Errorf("--%s: status %d, %q, %q", flag, status, out, errs)
		}
	}
	if status, _, errs = sojourn(t, "sim", "--from-record", stockMix, "--trust", "2"); status != statusUsage {
		t.Errorf("exit status %d, %s", status, errs)
	}
}

// A simulation under heartbeats, on nodes that offer less at times, where it matters where input is, gives each job its
// recorded time back when it is simulated from its record, without being told any of that.
func TestSimFromRecordRepeats(t *testing.T) {
	rec := filepath.Join(t.TempDir(), "run.rec")
	less := writeFile(t, "less.txt", "period 20m\n0s 75%\n5m 100%\n12m 50%\n")
	must(t, "sim", "--trace", generated(t), "--jobs", "40", "--cluster", smallCluster, "--policy", "fair:delay=5s",
		"--heartbeat", "3s", "--availability", less, "--record", rec)
	for _, jobs := range [][]string{nil, {"--seeds", "2"}} {
		var doc struct{ Check *run.Check }
		out := must(t, append([]string{"sim", "--from-record", rec, "--json"}, jobs...)...)
		if err := json.Unmarshal([]byte(out), &doc); err != nil || doc.Check == nil || doc.Check.Jobs != 40 {
			t.Fatalf("%v: %v: %s", jobs, err, out)
		}
		if c := doc.Check; c.Error != 0 || c.JobError != 0 {
			t.Errorf("%v: off by %v in the mean and %v a job, most of all %+v", jobs, c.Error, c.JobError, c.Each[0])
		}
	}
	var doc struct{ Check *run.Check }
	out := must(t, "sim", "--from-record", rec, "--json", "--heartbeat", "0s", "--availability",
		writeFile(t, "all.txt", "0s 100%\n"))
	if err := json.Unmarshal([]byte(out), &doc); err != nil || doc.Check == nil || doc.Check.JobError == 0 {
		t.Errorf("without heartbeats, and with all nodes whole, every job takes as long: %v, %s", err, out)
	}
}

// A job that failed in the record and succeeds in the simulation is not compared. The table counts it, and a warning
// says so.
func TestSimFromRecordOutcomes(t *testing.T) {
	rec := filepath.Join(t.TempDir(), "failed.rec")
	must(t, "sim", "--trace", writeFile(t, "fail.yaml", failingMix), "--cluster", failingCluster, "--policy", "fifo",
		"--failures", "0.35", "--record", rec)
	status, out, errs := sojourn(t, "sim", "--from-record", rec)
	if status != statusOK || !strings.Contains(out, "left out: 1 job that did not succeed in both") ||
		!strings.Contains(errs, "1 job succeeded either there or here alone") {
		t.Errorf("exit status %d\n%s%s", status, out, errs)
	}
}

// What was run on this machine is simulated on the cluster that it had, which has no network.
func TestWhatIfOfRealRun(t *testing.T) {
	dir := t.TempDir()
	input, rec := writeFile(t, "text", strings.Repeat("a b c\n", 1000)), filepath.Join(dir, "run.rec")
	must(t, "run", "wordcount", "--input", input, "--output", filepath.Join(dir, "out"), "--record", rec)
	out := must(t, "sim", "--from-record", rec, "--policy", "srpt")
	for _, want := range []string{"1 job:", "srpt", "measured under"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
}

// A list of record explain that is cut off says how many stages it leaves out. Jobs that are simulated as they were
// measured are not listed as those that are off most.
func TestListsOfARecord(t *testing.T) {
	rec := filepath.Join(t.TempDir(), "day.rec")
	must(t, "sim", "--trace", "../examples/bursty.tsv", "--cluster", "nodes=20,map-slots=3,reduce-slots=1", "--policy",
		"fifo", "--record", rec)
	out := must(t, "record", "explain", rec, "150", "--at", "18m")
	if !strings.Contains(out, "26 stages come first") || !strings.Contains(out, "\n    and 21 more\n") {
		t.Errorf("5 of 26 stages are listed: %s", out)
	}
	out = must(t, "sim", "--from-record", rec)
	if !strings.Contains(out, "off by 0.0 %") || strings.Contains(out, "off most") {
		t.Errorf("no job is off: %s", out)
	}
}

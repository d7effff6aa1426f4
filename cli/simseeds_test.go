package cli

import (
	"encoding/json"
	"math"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn/internal/record"
)

// Runs with many seeds print the same bytes on one processor and on several; the first seed's figures are those of the
// run with this seed alone, and a difference between policies is that of their means.
func TestSimSeeds(t *testing.T) {
	args := []string{"sim", "--trace", generated(t), "--cluster", smallCluster, "--policy", "fifo,fair",
		"--sigma", "0.5"}
	many := append(args, "--seeds", "5", "--seed", "3", "--json")
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	one := must(t, many...)
	runtime.GOMAXPROCS(4)
	if again := must(t, many...); again != one {
		t.Errorf("on four processors:\n%s\non one:\n%s", again, one)
	}
	var doc seedsJSON
	if err := json.Unmarshal([]byte(one), &doc); err != nil {
		t.Fatal(err)
	}
	if doc.Seed != 3 || doc.Seeds != 5 || len(doc.Results) != 2 || doc.Results[0].Difference != nil {
		t.Fatalf("%s", one)
	}
	fifo, fair := doc.Results[0], doc.Results[1]
	if d := fair.Difference; d == nil || math.Abs(fair.Sojourn.Mean-fifo.Sojourn.Mean-d.Mean) > 1e-9 || *d.Half <= 0 ||
		*fair.Sojourn.Half <= 0 || len(fair.Means) != 5 || fair.Significant != (d.P < 0.05) {
		t.Errorf("%+v", fair)
	}
	var alone struct {
		Results []struct {
			Sojourn struct{ Mean float64 } `json:"sojourn_s"`
		}
	}
	if err := json.Unmarshal([]byte(must(t, append(args, "--seed", "4", "--json")...)), &alone); err != nil {
		t.Fatal(err)
	}
	for i, r := range doc.Results {
		if got := alone.Results[i].Sojourn.Mean; *r.Means[1] != got {
			t.Errorf("%s with seed 4: %v among many, %v alone", r.Policy, *r.Means[1], got)
		}
	}
	if text := must(t, append(args, "--seeds", "3")...); !strings.Contains(text, "SIGNIFICANT") {
		t.Errorf("%s", text)
	}
	text := must(t, "sim", "--trace", "../examples/history", "--cluster", "nodes=2,memory=3GiB,vcores=4", "--policy",
		"fair", "--seeds", "2")
	if !strings.Contains(text, "as measured, under the policy of that time: mean sojourn 59.2 s of 4 jobs") {
		t.Errorf("%s", text)
	}
	for _, more := range [][]string{nil, {"--seeds", "2"}} {
		for flag, want := range map[string]bool{"": true, "--cluster=nodes=2,memory=3GiB,vcores=4": false,
			"-q": false} {
			history := []string{"sim", "--trace", "../examples/history", "--policy", "fair"}
			if history = append(history, more...); flag != "" {
				history = append(history, flag)
			}
			status, _, errs := sojourn(t, history...)
			if status != statusOK || strings.Contains(errs, "without --cluster") != want {
				t.Errorf("%v: exit status %d, %q", history, status, errs)
			}
		}
	}
	for _, bad := range [][]string{{"--seeds", "0"}, {"--seeds", "2", "--per-job", "jobs-{policy}.csv"}} {
		status, _, errs := sojourn(t, append(args, bad...)...)
		if status != statusUsage || !strings.Contains(errs, bad[0]) {
			t.Errorf("%v: exit status %d, %s", bad, status, errs)
		}
	}
}

// failingMix is a job that succeeds beside one with so many tasks that it fails under --failures 0.35.
const (
	failingMix = `
jobs:
  - {name: small, submit: 0s, maps: {count: 1, time: 10s}}
  - {name: large, submit: 0s, maps: {count: 200, time: 100s}}
`
	failingCluster = "nodes=2,map-slots=2,reduce-slots=1"
)

// Jobs that failed are counted over all seeds, and the test of significance says which jobs it is of. Where no job
// failed there is no word of that.
func TestSimSeedsCountsFailedJobs(t *testing.T) {
	args := []string{"sim", "--trace", writeFile(t, "fail.yaml", failingMix), "--cluster", failingCluster,
		"--policy", "fifo,fair", "--seeds", "3"}
	failing := append(args, "--failures", "0.35")
	lines := []string{"  fifo: 3 jobs failed, 0 were killed, 0 did not finish, in all seeds together\n",
		"  fair: 3 jobs failed, 0 were killed, 0 did not finish, in all seeds together\n",
		"DIFFERENCE and its test are of these jobs"}
	out, whole := must(t, failing...), must(t, args...)
	for _, line := range lines {
		if !strings.Contains(out, line) {
			t.Errorf("%q is not in\n%s", line, out)
		}
	}
	if strings.Contains(whole, "failed") || strings.Contains(whole, "succeeded") {
		t.Errorf("without failures:\n%s", whole)
	}
	var doc seedsJSON
	if err := json.Unmarshal([]byte(must(t, append(failing, "--json")...)), &doc); err != nil {
		t.Fatal(err)
	}
	for _, r := range doc.Results {
		if r.Failed != 3 || r.Killed != 0 || r.Unfinished != 0 {
			t.Errorf("%+v", r)
		}
	}
}

// Policies are compared by the seeds under which jobs succeeded with both, also if each lacks another seed.
func TestSeedsArePaired(t *testing.T) {
	of := func(mean float64) record.Result {
		if mean == 0 {
			return record.Result{}
		}
		return record.Result{Sojourn: &record.Distribution{Mean: mean}}
	}
	list := seededResults([]string{"a", "b"},
		[]record.Result{of(0), of(90), of(10), of(12), of(20), of(0), of(30), of(33)})
	d := list[1].Difference
	if d == nil || d.Mean != 2.5 || list[1].base != 20 || list[1].Pairs != 2 {
		t.Errorf("difference %+v of %v over %d, want 2.5, the mean of 2 and 3, of 20", d, list[1].base, list[1].Pairs)
	}
	text, err := json.Marshal([][]*float64{list[0].Means, list[1].Means})
	if want := "[[null,10,20,30],[90,12,null,33]]"; err != nil || string(text) != want {
		t.Errorf("means by seed: %s, %v, want %s", text, err, want)
	}
	var out strings.Builder
	printSeeded(&out, list, "seed", 5)
	for _, line := range []string{
		"\n  a: no job succeeded with seed 5\n  b: no job succeeded with seed 7\n" +
			"  b: DIFFERENCE is over the 2 seeds in which jobs succeeded under both policies\n",
	} {
		if !strings.Contains(out.String(), line) {
			t.Errorf("%q is not in\n%s", line, out.String())
		}
	}
	none := seededResults([]string{"a", "b"}, []record.Result{of(0), of(1), of(1), of(0)})
	if d := none[1].Difference; d != nil {
		t.Errorf("without a common seed: %+v", d)
	}
}

// What is known of one run only has no interval, which is null in JSON, and what is known of none is left out.
func TestSeedsWithoutInterval(t *testing.T) {
	of, none := record.Result{Sojourn: &record.Distribution{Mean: 12}, Makespan: 15}, record.Result{}
	none.Failed = 1
	list := seededResults([]string{"a", "b", "c"}, []record.Result{of, of, none, of, none, none})
	var out strings.Builder
	printSeeded(&out, list, "seed", 1)
	got := regexp.MustCompile("  +").ReplaceAllString(out.String(), "|")
	for _, line := range []string{"\na|12.0 ± 0.0|", "\nb|12.0 ± -|0.0 ± -|7.500 ± 95.3|0.0 ± -|-|no\n",
		"\nc|0.0 ± 0.0\n", "|c: no job succeeded with seed 1, 2\n"} {
		if !strings.Contains(got, line) {
			t.Errorf("%q is not in\n%s", line, got)
		}
	}
	text, err := json.Marshal(list[2])
	want := `{"policy":"c","makespan_s":{"mean":0,"half_width":0},"significant":false,` +
		`"sojourn_mean_s_by_seed":[null,null],"failed":2}`
	if err != nil || string(text) != want {
		t.Errorf("%s, %v; want %s", text, err, want)
	}
	text, err = json.Marshal(list[1].Difference)
	if want := `{"mean":0,"half_width":null,"p":1}`; err != nil || string(text) != want {
		t.Errorf("a difference of one pair is %s, %v; want %s", text, err, want)
	}
}

// Seeds under which no job succeeds are named, and the others reported. It is an error only if there are no others.
func TestSimSeedsWithoutSuccess(t *testing.T) {
	args := []string{"sim", "--trace", writeFile(t, "one.yaml", "jobs:\n  - {name: one, submit: 0s, maps: "+
		"{count: 3, time: 10s}}\n"), "--cluster", failingCluster, "--policy", "fifo,fair", "--seeds", "6"}
	out := must(t, append(args, "--failures", "0.7")...)
	if !strings.Contains(out, "  fifo: no job succeeded with seed ") ||
		!strings.Contains(out, "DIFFERENCE is over the ") {
		t.Errorf("%s", out)
	}
	status, out, errs := sojourn(t, append(args, "--failures", "0.999", "--json")...)
	if status != statusFailed || !strings.Contains(out, `"failed": 6`) ||
		!strings.Contains(errs, "policy fair: no job succeeded with any seed, 6 failed") {
		t.Errorf("exit status %d, %s\n%s", status, errs, out)
	}
}

// Seeds do not run over the end of their range.
func TestSimSeedsEnd(t *testing.T) {
	trace := writeFile(t, "fail.yaml", failingMix)
	args := []string{"sim", "--trace", trace, "--policy", "fifo", "--seeds", "2", "--seed"}
	if out := must(t, append(args, "18446744073709551614")...); !strings.Contains(out, "18446744073709551615") {
		t.Errorf("the last two seeds:\n%s", out)
	}
	status, _, errs := sojourn(t, append(args, "18446744073709551615")...)
	if status != statusUsage || !strings.Contains(errs, "it may be at most 18446744073709551614") {
		t.Errorf("beyond: exit status %d, %s", status, errs)
	}
}

// A record's own policy is compared with what was measured by the first of several seeds.
func TestSimSeedsFromRecord(t *testing.T) {
	out := must(t, "sim", "--from-record", stockMix, "--policy", "fifo", "--seeds", "3")
	for _, want := range []string{"fair ", "fifo ", "measured under fair", "over 4 jobs"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
}

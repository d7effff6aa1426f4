package web_test

import (
	"encoding/csv"
	"encoding/json"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/sojourn-sched/sojourn/internal/web"
)

// TestCompareOtherWorkload compares a run with one of the same jobs and with one of others, which have the same numbers
// and other names.
func TestCompareOtherWorkload(t *testing.T) {
	other := filepath.Join(t.TempDir(), "queues.rec")
	sojourn(t, "sim", "--trace", "../../examples/queues.yaml", "--cluster", "nodes=20,map-slots=3,reduce-slots=1",
		"--policy", "fair", "--record", other)
	server := serve(t, siteOf(t, append(bursty(t, "fifo", "srpt"), other)...))
	reply, err := http.Get(server.URL + "/api/v1/compare")
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	var got web.Comparison
	if err := json.NewDecoder(reply.Body).Decode(&got); err != nil {
		t.Fatal(err)
	}
	for k, want := range []int{300, 300, 0} {
		r := got.Runs[k]
		if r.Common != want || k == 1 && r.Faster+r.Slower == 0 || k == 2 && r.Faster+r.Slower+len(r.Changes) > 0 {
			t.Errorf("run %d has %d jobs in common with the first, %d faster, %d slower, %d changes; want %d in common",
				k, r.Common, r.Faster, r.Slower, len(r.Changes), want)
		}
	}
	for _, d := range got.Rows {
		if d.Sojourns[2] >= 0 {
			t.Fatalf("job %d, %s, is compared with one of another workload: %g", d.ID, d.Name, d.Sojourns)
		}
	}
}

// TestFiguresOfJobs holds the list of jobs of a record to the figures that the run wrote a job a line: slowdowns, and
// means over those that a filter allows.
func TestFiguresOfJobs(t *testing.T) {
	dir := t.TempDir()
	rec, rows := filepath.Join(dir, "run.rec"), filepath.Join(dir, "jobs.csv")
	sojourn(t, "sim", "--trace", "../../examples/queues.yaml", "--cluster", "../../examples/cluster.yaml", "--policy",
		"fair", "--failures", "0.05", "--record", rec, "--per-job", rows)
	f, err := os.Open(rows)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	at := map[string]int{}
	for i, name := range lines[0] {
		at[name] = i
	}
	number := func(line []string, name string) float64 {
		x, err := strconv.ParseFloat(line[at[name]], 64)
		if err != nil {
			t.Fatalf("%s of %q: %v", name, line, err)
		}
		return x
	}
	server := serve(t, siteOf(t, rec))
	ask := func(query string) (jobs web.Jobs) {
		reply, err := http.Get(server.URL + "/api/v1/runs/0/jobs?" + query)
		if err != nil {
			t.Fatal(err)
		}
		defer reply.Body.Close()
		if err := json.NewDecoder(reply.Body).Decode(&jobs); err != nil {
			t.Fatal(err)
		}
		return jobs
	}
	near := func(x, y float64) bool { return math.Abs(x-y) <= 1e-6*math.Abs(y)+1e-9 }

	all := ask("sort=-slowdown")
	slowdowns, last, failed := map[int32]float64{}, math.Inf(1), int32(0)
	for _, j := range all.Rows {
		if j.Figures.Slowdown == nil || *j.Figures.Slowdown > last {
			t.Fatalf("job %d: slowdown %v after one of %g", j.ID, j.Figures.Slowdown, last)
		}
		last = *j.Figures.Slowdown
		slowdowns[j.ID] = last
		failed += j.Figures.Failed
		if late := j.Figures.Late; (late == nil) != (j.Name != "sales") || late != nil && !near(*late, j.Sojourn-600) {
			t.Errorf("job %d %s: late by %v after %g s", j.ID, j.Name, late, j.Sojourn)
		}
		if j.Figures.Attempts != j.Done+j.Figures.Failed {
			t.Errorf("job %d: %d attempts, %d done and %d failed", j.ID, j.Figures.Attempts, j.Done, j.Figures.Failed)
		}
	}
	if failed == 0 {
		t.Error("no attempt failed, with a probability of 1/20 each")
	}
	if first := ask("sort=-late&limit=1").Rows[0]; first.Name != "sales" {
		t.Errorf("the only job with a deadline is sales; the latest is %s", first.Name)
	}
	sums := map[string][3]float64{} // by queue, and of all: jobs, sojourn times, waits
	for _, line := range lines[1:] {
		id, err := strconv.Atoi(line[at["job"]])
		if err != nil {
			t.Fatal(err)
		}
		if want := number(line, "slowdown"); !near(slowdowns[int32(id)], want) {
			t.Errorf("job %d has slowdown %g, must have %g", id, slowdowns[int32(id)], want)
		}
		for _, queue := range []string{"", line[at["queue"]]} {
			s := sums[queue]
			sums[queue] = [3]float64{s[0] + 1, s[1] + number(line, "sojourn_s"),
				s[2] + number(line, "first_launch_s") - number(line, "submit_s")}
		}
	}
	if len(sums) != 4 || len(lines) != 9 {
		t.Fatalf("%d jobs in queues %v", len(lines)-1, sums)
	}
	for queue, want := range sums {
		got := ask("limit=1&queue=" + queue)
		if float64(got.Total) != want[0] || !near(got.Sojourn.Mean, want[1]/want[0]) ||
			!near(got.Wait.Mean, want[2]/want[0]) || got.Sojourn.Jobs != got.Total {
			t.Errorf("queue %q: %d jobs, mean sojourn time %g and wait %g; want %g", queue, got.Total,
				got.Sojourn.Mean, got.Wait.Mean, want)
		}
	}
	for _, instant := range []float64{0, 3, 20, 40, 1e6} { // at each, the jobs that are submitted and have not ended
		there := 0
		for _, line := range lines[1:] {
			if number(line, "submit_s") <= instant && number(line, "end_s") > instant {
				there++
			}
		}
		if got := ask("at=" + strconv.FormatFloat(instant, 'f', -1, 64)); got.Total != there {
			t.Errorf("%d jobs are there at %g s, want %d", got.Total, instant, there)
		}
	}
	reply, err := http.Get(server.URL + "/api/v1/compare")
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	var compared web.Comparison
	if err := json.NewDecoder(reply.Body).Decode(&compared); err != nil {
		t.Fatal(err)
	}
	mean := 0.0
	for _, s := range slowdowns {
		mean += s / float64(len(slowdowns))
	}
	if got := compared.Runs[0].Slow; got == nil || got.Jobs != 8 || !near(got.Mean, mean) {
		t.Errorf("slowdowns of the run are %+v; their mean is %g", got, mean)
	}
	if none := ask("q=nothing+is+named+so"); none.Sojourn != nil || none.Wait != nil || none.Service != 0 {
		t.Errorf("no job matches, and still %+v", none)
	}
}

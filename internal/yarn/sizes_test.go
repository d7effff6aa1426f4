package yarn

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/internal/theory"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
)

// The mix of jobs by which schedules by size are compared: the largest are submitted first, a second apart.
var (
	sizesMaps   = []int{30, 20, 15, 10, 6, 4, 3, 2, 1, 1}
	sizesMapMS  = 10_000
	sizesTaskMS = sizesMapMS + 3_000 // with the start of its process, for the tag that says the size
)

// TestSizesOnHadoop runs the mix on stock Hadoop with three NodeManagers, under one policy after the other, over and
// over, and leaves a record of each run and a line for each job in the folder that SOJOURN_SIZES names. A policy of
// SOJOURN_SIZES_POLICIES that ends with "+told" gets the size of each job in a tag. It ends with a table: what was
// measured, and what `sojourn sim` predicts for each policy from the records of the first. `make schedules-by-size`
// runs it.
func TestSizesOnHadoop(t *testing.T) {
	folder := os.Getenv("SOJOURN_SIZES")
	if folder == "" {
		t.Skip("SOJOURN_SIZES names no folder: make schedules-by-size sets it")
	}
	repeats, err := strconv.Atoi(cmp.Or(os.Getenv("SOJOURN_SIZES_REPEATS"), "5"))
	if err != nil {
		t.Fatal(err)
	}
	s := newStock(t)
	s.choosePorts()
	for k, v := range map[string]string{
		"yarn.nodemanager.resource.memory-mb":  "2560",
		"yarn.nodemanager.resource.cpu-vcores": "16", // memory decides
		"yarn.app.mapreduce.am.resource.mb":    "768",
		"mapreduce.map.memory.mb":              "512",
	} {
		s.site[k] = v
	}
	s.writeConf("conf", nil)
	s.writeScheduler("0.5")
	results, err := os.OpenFile(filepath.Join(folder, "results.txt"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer results.Close()
	policies := strings.Split(cmp.Or(os.Getenv("SOJOURN_SIZES_POLICIES"),
		"fifo,fair,srpt+told,srpt:preempt=kill+told,hfsp:preempt=kill+told"), ",")
	means := make([][]float64, len(policies)) // seconds, by policy and repetition
	for n := range repeats {
		for i, spec := range policies {
			name, tagged := strings.CutSuffix(spec, taggedSuffix)
			record := recordOf(folder, spec, n)
			rm := s.serveVerb(name, "--record", record, "--overwrite")
			if n == 0 && i == 0 {
				s.addNodes(3)
			}
			s.untilNodes(3)
			lines, mean := s.sizes(tagged)
			fmt.Fprintf(results, "run %s %d load %s\n%s", spec, n+1, load(t), lines)
			means[i] = append(means[i], mean)
			s.clean()
			rm.kill()
		}
	}
	t.Log(s.sizesTable(folder, policies, means))
}

const taggedSuffix = "+told"

// recordOf is the record of one run.
func recordOf(folder, spec string, repetition int) string {
	return filepath.Join(folder, fmt.Sprintf("%s-%d.rec", spec, repetition+1))
}

// sizesTable returns the table of a comparison in Markdown. Intervals are of 95 %.
func (s *stock) sizesTable(folder string, policies []string, means [][]float64) string {
	s.t.Helper()
	var b strings.Builder
	b.WriteString("\n| policy | mean sojourn, s | of " + policies[0] + " | predicted, s | off |\n")
	b.WriteString("|---|---:|---:|---:|---:|\n")
	for i, spec := range policies {
		var predicted []float64
		for n := range means[i] {
			predicted = append(predicted, s.predicted(recordOf(folder, policies[0], n), spec))
		}
		measured, sim := theory.ConfidenceOf(means[i], 0.95), theory.ConfidenceOf(predicted, 0.95)
		tenths := func(x float64) string { return fmt.Sprintf("%.1f", x) }
		fmt.Fprintf(&b, "| %s | %s | %.2f | %s | %+.0f %% |\n", spec, measured.Text(tenths),
			measured.Mean/theory.ConfidenceOf(means[0], 0.95).Mean, sim.Text(tenths), 100*(sim.Mean/measured.Mean-1))
	}
	return b.String()
}

// predicted is the mean sojourn time in seconds that the simulator finds for a policy from a record of another. A
// policy that gets no sizes learns them from the tasks that are through.
func (s *stock) predicted(record, spec string) float64 {
	s.t.Helper()
	name, tagged := strings.CutSuffix(spec, taggedSuffix)
	args := []string{"sim", "--from-record", record, "--policy", name, "--json", "--quiet"}
	if !tagged {
		args = append(args, "--estimator", "mean")
	}
	out, err := exec.CommandContext(s.t.Context(), program(s.t), args...).Output()
	if err != nil {
		s.t.Fatalf("sojourn %v: %v", args, err)
	}
	var r struct {
		Results []struct {
			Policy  string `json:"policy"`
			Sojourn struct {
				Mean float64 `json:"mean"`
			} `json:"sojourn_s"`
		} `json:"results"`
	}
	if err := json.Unmarshal(out, &r); err != nil {
		s.t.Fatal(err)
	}
	for _, p := range r.Results {
		if p.Policy == name {
			return p.Sojourn.Mean
		}
	}
	s.t.Fatalf("sojourn %v: no result for %s", args, name)
	return 0
}

// load is the load of the machine over the last minute.
func load(t *testing.T) string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(text), " ")
	return first
}

// sizes runs the mix once, and returns a line for each job: its maps, and milliseconds from its submission to the
// launch of its master and to its end; and the mean of the latter in seconds.
func (s *stock) sizes(tagged bool) (lines string, mean float64) {
	s.t.Helper()
	submit, heard, stop := s.submitter()
	defer stop()
	for _, maps := range sizesMaps {
		tag := "-"
		if tagged {
			tag = fmt.Sprintf("sojourn.size=%dms", maps*sizesTaskMS)
		}
		fmt.Fprintf(submit, "sleep %d %d %s\n", maps, sizesMapMS, tag)
		if !heard.Scan() {
			s.t.Fatal("the client ended")
		}
		time.Sleep(time.Second)
	}
	var reports []wire.ApplicationReport
	s.until("the jobs have ended", 20*time.Minute, func() bool {
		var r wire.ApplicationsResponse
		if s.call("getApplications", &wire.ApplicationsRequest{}, &r) != nil {
			return false
		}
		reports = r.Reports
		return len(reports) == len(sizesMaps) &&
			!slices.ContainsFunc(reports, func(a wire.ApplicationReport) bool { return a.State < wire.AppFinished })
	})
	slices.SortFunc(reports, func(a, b wire.ApplicationReport) int { return cmp.Compare(a.ID.ID, b.ID.ID) })
	for _, a := range reports {
		if a.Final != wire.Succeeded {
			s.t.Fatalf("%s: %v: %s", a.Name, a.Final, a.Diagnostics)
		}
		lines += fmt.Sprintf("job %s launched %d end %d\n", a.Name, a.Launched-a.Start, a.Finish-a.Start)
		mean += float64(a.Finish-a.Start) / 1000 / float64(len(reports))
	}
	return lines, mean
}

// submitter starts the process that submits jobs: orders go in, answers come out, and stop ends it.
func (s *stock) submitter() (orders io.Writer, answers *bufio.Scanner, stop func()) {
	s.t.Helper()
	source, err := filepath.Abs("testdata/submit/Submit.java")
	if err != nil {
		s.t.Fatal(err)
	}
	cmd := s.java(context.Background(), s.dir+"/conf", "512m", source)
	in, err := cmd.StdinPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	log, err := os.Create(s.dir + "/submit.log")
	if err != nil {
		s.t.Fatal(err)
	}
	defer log.Close()
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { s.showTail("submit.log") })
	answers = bufio.NewScanner(out)
	if !answers.Scan() {
		s.t.Fatal("the client did not start")
	}
	return in, answers, func() { in.Close(); cmd.Wait() }
}

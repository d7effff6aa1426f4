package yarn

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/internal/theory"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
)

// The mix of jobs by which policies that know goals are compared on stock MapReduce: sizes come as often as they stand
// here.
var goalMaps = []int{1, 1, 1, 2, 2, 3, 4, 6, 10, 20}

const (
	goalMap    = 5 * time.Second
	goalSlots  = 9                // maps that the nodes run beside masters, about
	goalStart  = 10 * time.Second // from the submission to the first map
	goalLaunch = 3 * time.Second  // of a map's process
	goalLoad   = 1.3
	goalMost   = 3.0 // deadlines are from 1.5 to so many times the time alone
)

// TestGoalsOnHadoop runs jobs with deadlines in their tags on stock Hadoop with three NodeManagers, under one policy
// after the other, SOJOURN_GOALS_REPEATS times (5), SOJOURN_GOALS_JOBS of them (24) in each run. It leaves a line for
// each job in the folder that SOJOURN_GOALS names. It ends with a table: the deadlines that each policy of
// SOJOURN_GOALS_POLICIES meets, and the paired differences to the second one. `make goals-on-hadoop` runs it.
//
// Jobs sleep, so that other work on the machine changes their times little. They come at exponential intervals, so
// often that maps would take the part goalLoad of the slots. A deadline is uniform from 1.5 to goalMost times what the
// job takes alone, by the constants above. All policies of a repeat get the same jobs.
func TestGoalsOnHadoop(t *testing.T) {
	folder := os.Getenv("SOJOURN_GOALS")
	if folder == "" {
		t.Skip("SOJOURN_GOALS names no folder: make goals-on-hadoop sets it")
	}
	number := func(name, standard string) int {
		n, err := strconv.Atoi(cmp.Or(os.Getenv(name), standard))
		if err != nil || n < 1 {
			t.Fatalf("%s: must be a number above 0", name)
		}
		return n
	}
	repeats, count := number("SOJOURN_GOALS_REPEATS", "5"), number("SOJOURN_GOALS_JOBS", "24")
	s := newStock(t)
	s.choosePorts()
	for k, v := range map[string]string{
		"yarn.nodemanager.resource.memory-mb":  "2560",
		"yarn.nodemanager.resource.cpu-vcores": "16", // memory decides
		"yarn.app.mapreduce.am.resource.mb":    "512",
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
	policies := strings.Split(cmp.Or(os.Getenv("SOJOURN_GOALS_POLICIES"),
		"fair;edf;adaptive:shortage=fewest,lengths=estimated,split=waves"), ";")
	met := make([][]float64, len(policies)) // deadlines, by policy and repeat
	for n := range repeats {
		jobs := drawGoals(uint64(n), count)
		for i, spec := range policies {
			rm := s.serveVerb(spec, "--estimator", "history")
			if n == 0 && i == 0 {
				s.addNodes(3)
			}
			s.untilNodes(3)
			fmt.Fprintf(results, "run %s %d load %s\n", spec, n+1, load(t))
			met[i] = append(met[i], float64(s.deadlines(jobs, results)))
			s.clean()
			rm.kill()
		}
	}
	text := goalsTable(policies, count, met)
	t.Log(text)
	s.write(filepath.Join(folder, "goals.md"), text)
}

// A goalJob is a job of the mix.
type goalJob struct {
	maps          int
	submit, alone time.Duration
	due           time.Duration // after its submission
}

// drawGoals draws the jobs of a repeat.
func drawGoals(seed uint64, count int) []goalJob {
	r := rand.New(rand.NewPCG(seed, 3))
	sum := 0
	for _, n := range goalMaps {
		sum += n
	}
	work := float64(sum) / float64(len(goalMaps)) * (goalMap + goalLaunch).Seconds() // of a job, on average
	gap := work / goalSlots / goalLoad
	jobs, at := make([]goalJob, count), 0.0
	for i := range jobs {
		n := goalMaps[r.IntN(len(goalMaps))]
		waves := time.Duration((n + goalSlots - 1) / goalSlots)
		alone := goalStart + waves*(goalMap+goalLaunch)
		jobs[i] = goalJob{
			maps: n, submit: time.Duration(at * 1e9), alone: alone,
			due: time.Duration(float64(alone) * (1.5 + (goalMost-1.5)*r.Float64())).Round(time.Second),
		}
		at += r.ExpFloat64() * gap
	}
	return jobs
}

// deadlines runs the jobs, writes a line for each, and returns how many met their deadlines.
func (s *stock) deadlines(jobs []goalJob, to io.Writer) (met int) {
	s.t.Helper()
	submit, heard, stop := s.submitter()
	defer stop()
	began := time.Now()
	for _, j := range jobs {
		time.Sleep(time.Until(began.Add(j.submit)))
		size := time.Duration(j.maps) * (goalMap + goalLaunch)
		fmt.Fprintf(submit, "sleep %d %d sojourn.deadline=%v,sojourn.size=%v\n", j.maps, goalMap.Milliseconds(), j.due,
			size)
		if !heard.Scan() {
			s.t.Fatal("the client ended")
		}
	}
	var reports []wire.ApplicationReport
	s.until("the jobs have ended", 30*time.Minute, func() bool {
		var r wire.ApplicationsResponse
		if s.call("getApplications", &wire.ApplicationsRequest{}, &r) != nil {
			return false
		}
		reports = r.Reports
		return len(reports) == len(jobs) &&
			!slices.ContainsFunc(reports, func(a wire.ApplicationReport) bool { return a.State < wire.AppFinished })
	})
	slices.SortFunc(reports, func(a, b wire.ApplicationReport) int { return cmp.Compare(a.ID.ID, b.ID.ID) })
	for i, a := range reports {
		if a.Final != wire.Succeeded {
			s.t.Fatalf("%s: %v: %s", a.Name, a.Final, a.Diagnostics)
		}
		took := time.Duration(a.Finish-a.Start) * time.Millisecond
		if took <= jobs[i].due {
			met++
		}
		fmt.Fprintf(to, "job %d maps %d due %v took %v\n", i+1, jobs[i].maps, jobs[i].due, took)
	}
	return met
}

// goalsTable returns the table of a comparison in Markdown. Intervals are of 95 % (Student).
func goalsTable(policies []string, count int, met [][]float64) string {
	var b bytes.Buffer
	base := met[min(1, len(met)-1)]
	fmt.Fprintf(&b, "\n| policy | deadlines met of %d | less `%s` |\n|---|---:|---:|\n", count,
		policies[min(1, len(policies)-1)])
	for i, spec := range policies {
		more := make([]float64, len(met[i]))
		for n := range more {
			more[n] = met[i][n] - base[n]
		}
		own, paired := theory.ConfidenceOf(met[i], 0.95), theory.ConfidenceOf(more, 0.95)
		fmt.Fprintf(&b, "| `%s` | %.1f ± %.1f | %+.1f ± %.1f |\n", spec, own.Mean, own.Half, paired.Mean, paired.Half)
	}
	return b.String()
}

// The same seed draws the same jobs, deadlines leave time, and the table pairs runs of the same draw: where a policy
// meets two more in each run, the difference is 2 with no spread, whatever draws differ in.
func TestGoalsOfHadoop(t *testing.T) {
	jobs := drawGoals(4, 50)
	if !slices.Equal(jobs, drawGoals(4, 50)) || slices.Equal(jobs, drawGoals(5, 50)) {
		t.Error("jobs do not follow from the seed alone")
	}
	for i, j := range jobs {
		if j.due < j.alone*3/2-time.Second || j.due > time.Duration(goalMost*float64(j.alone))+time.Second ||
			i > 0 && j.submit < jobs[i-1].submit {
			t.Errorf("job %d: %+v", i, j)
		}
	}
	got := goalsTable([]string{"fair", "edf", "x"}, 9, [][]float64{{1, 3}, {2, 6}, {4, 8}})
	for _, line := range []string{"| `edf` | 4.0 ± 25.4 | +0.0 ± 0.0 |", "| `x` | 6.0 ± 25.4 | +2.0 ± 0.0 |"} {
		if !strings.Contains(got, line) {
			t.Errorf("the table lacks %q:%s", line, got)
		}
	}
}

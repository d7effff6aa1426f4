package yarn

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
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

// The kinds of jobs by which policies that know goals are compared on stock MapReduce: by how many maps they have. A
// kind comes as often as it stands here.
var goalMaps = []int{1, 1, 1, 2, 2, 3, 4, 6}

const (
	goalMap    = 40 * time.Second // what a map sleeps: long beside the processor time of starting it
	goalTask   = 42 * time.Second // a map with the start of its process, as tags say
	goalMemory = 2048             // MiB of each of three nodes: four containers
	goalLoad   = 2.0
	goalLeast  = 1.5 // deadlines are from so many times the time alone
	goalMost   = 4.0 // to so many
)

// TestGoalsOnHadoop runs jobs with deadlines in their tags on stock Hadoop with three NodeManagers, under one policy
// after the other, SOJOURN_GOALS_REPEATS times (5), SOJOURN_GOALS_JOBS of them (30) in each run. It prints the
// deadlines that each policy of SOJOURN_GOALS_POLICIES meets, and the paired differences to the second one.
// `make goals-on-hadoop` runs it. The folder that SOJOURN_GOALS names has a line for each job (results.txt), what was
// learned before the draws (learned.db) and the table (goals.md). All are written as soon as they are known, and runs
// that are there are not made again: a comparison that was cut short, or is to have more repeats, goes on.
//
// The rule of deadlines is that of examples/deadlines: each kind of job runs alone first, under fair, and a deadline is
// uniform from goalLeast to goalMost times what its kind took. Load 1 is when jobs need all containers all the time, by
// what they held alone, masters included; at goalLoad they come twice as fast as they can be served. A repeat draws
// jobs at exponential intervals. All policies of a repeat get the same jobs. What they know of task times is what the
// runs before the draws have taught (--history), and tags say sizes. When the last deadline has passed, jobs that have
// not ended are late, and are killed.
//
// Jobs sleep, so that containers are short and not the machine's processors. With maps of 20 s at load 2 the starts of
// processes kept two cores busy: the first jobs of a run took 1.4 times as long as alone, with maps of 40 s 1.1 times.
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
	repeats, count := number("SOJOURN_GOALS_REPEATS", "5"), number("SOJOURN_GOALS_JOBS", "30")
	s := newStock(t)
	s.choosePorts()
	for k, v := range map[string]string{
		"yarn.nodemanager.resource.memory-mb":  strconv.Itoa(goalMemory),
		"yarn.nodemanager.resource.cpu-vcores": "16", // memory decides
		"yarn.app.mapreduce.am.resource.mb":    "512",
		"mapreduce.map.memory.mb":              "512",
	} {
		s.site[k] = v
	}
	s.writeConf("conf", nil)
	s.writeScheduler("0.5")
	file, learned := filepath.Join(folder, "results.txt"), filepath.Join(folder, "learned.db")
	text, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	before, err := readGoals(string(text))
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	results, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer results.Close()
	rm := s.serveVerb("fair", "--estimator", "history", "--history", learned)
	s.addNodes(3)
	s.untilNodes(3)
	if len(before.alone) == 0 {
		s.measureGoals(&before, results)
	}
	s.clean()
	rm.stop()
	known, err := os.ReadFile(learned)
	if err != nil {
		t.Fatal(err)
	}
	policies := strings.Split(cmp.Or(os.Getenv("SOJOURN_GOALS_POLICIES"),
		"fair;edf;adaptive:shortage=fewest,split=waves,lengths=estimated"), ";")
	met := make([][]float64, len(policies)) // deadlines, by policy and repeat; NaN: not measured
	table := ""
	for n := range repeats {
		jobs := drawGoals(uint64(n), count, before.alone, before.gap())
		for i := range policies {
			met[i] = append(met[i], math.NaN())
		}
		for k := range policies {
			i := (n + k) % len(policies) // none is always the first
			if took := before.runs[goalRun{policies[i], n}]; len(took) == count {
				met[i][n] = inTime(jobs, took)
				continue
			}
			history := filepath.Join(s.dir, fmt.Sprintf("history-%d-%d.db", n, i))
			s.write(history, string(known))
			rm := s.serveVerb(policies[i], "--estimator", "history", "--history", history)
			s.untilNodes(3)
			fmt.Fprintf(results, "run %s %d load %s\n", policies[i], n+1, load(t))
			var all []time.Duration
			for j, a := range s.runGoals(jobs) {
				took := time.Duration(a.Finish-a.Start) * time.Millisecond
				end := "took"
				if all = append(all, took); a.Final != wire.Succeeded {
					end = "was killed, late, after"
				}
				fmt.Fprintf(results, "job %d maps %d due %v %s %v\n", j+1, jobs[j].maps, jobs[j].due, end, took)
			}
			met[i][n] = inTime(jobs, all)
			table = goalsTable(policies, count, met)
			s.write(filepath.Join(folder, "goals.md"), table)
			s.rests(time.Minute) // what jobs that were killed leave in folders of nodes hinders no other
			rm.stop()
		}
	}
	t.Log(table)
}

// inTime counts the jobs that took no longer than they might. One that was killed because it was late took longer.
func inTime(jobs []goalJob, took []time.Duration) (n float64) {
	for i, j := range jobs {
		if took[i] <= j.due {
			n++
		}
	}
	return n
}

// measuredGoals are the contents of results.txt.
type measuredGoals struct {
	alone, held map[int]time.Duration // of each kind of job, by its maps: alone, and as if it held all nodes
	runs        map[goalRun][]time.Duration
}

// A goalRun is the run of a repeat, from 0, under a policy.
type goalRun struct {
	policy string
	repeat int
}

// gap returns the interval of jobs at load 1.
func (m *measuredGoals) gap() (gap time.Duration) {
	for _, maps := range goalMaps {
		gap += m.held[maps] / time.Duration(len(goalMaps))
	}
	return gap
}

// readGoals reads results.txt. A run whose jobs are not all there was cut short.
func readGoals(text string) (m measuredGoals, err error) {
	m = measuredGoals{map[int]time.Duration{}, map[int]time.Duration{}, map[goalRun][]time.Duration{}}
	run := goalRun{}
	number := 0
	for line := range strings.Lines(text) {
		number++
		w := strings.Fields(line)
		switch {
		case len(w) == 10 && w[0] == "alone":
			maps, err1 := strconv.Atoi(w[2])
			alone, err2 := time.ParseDuration(w[4])
			held, err3 := time.ParseDuration(w[9])
			m.alone[maps], m.held[maps], err = alone, held, errors.Join(err1, err2, err3)
		case len(w) == 5 && w[0] == "run":
			n, err1 := strconv.Atoi(w[2])
			run, err = goalRun{w[1], n - 1}, err1
			delete(m.runs, run) // the one before was cut short
		case len(w) > 7 && w[0] == "job":
			took, err1 := time.ParseDuration(w[len(w)-1])
			m.runs[run], err = append(m.runs[run], took), err1
		}
		if err != nil {
			return m, fmt.Errorf("line %d: %w", number, err)
		}
	}
	return m, nil
}

// A goalJob is a job of the mix.
type goalJob struct {
	maps   int
	submit time.Duration
	due    time.Duration // after its submission; 0: it has no deadline
}

// measureGoals measures the time that each kind of job takes alone, by its maps, and what it holds.
func (s *stock) measureGoals(m *measuredGoals, to io.Writer) {
	s.t.Helper()
	s.runGoals([]goalJob{{maps: 1}}) // the first job finds nothing in the machine's caches
	for _, maps := range slices.Compact(slices.Clone(goalMaps)) {
		a := s.runGoals([]goalJob{{maps: maps}})[0]
		m.alone[maps] = time.Duration(a.Finish-a.Start) * time.Millisecond
		m.held[maps] = time.Duration(a.Usage.MemorySeconds) * time.Second / (3 * goalMemory) // of all nodes
		fmt.Fprintf(to, "alone maps %d took %v held all nodes for %v\n", maps, m.alone[maps], m.held[maps])
	}
	fmt.Fprintf(to, "load %v: a job each %v\n", goalLoad, time.Duration(float64(m.gap())/goalLoad))
}

// drawGoals draws the jobs of a repeat.
func drawGoals(seed uint64, count int, alone map[int]time.Duration, gap time.Duration) []goalJob {
	r := rand.New(rand.NewPCG(seed, 3))
	jobs, at := make([]goalJob, count), 0.0
	for i := range jobs {
		n := goalMaps[r.IntN(len(goalMaps))]
		times := goalLeast + (goalMost-goalLeast)*r.Float64()
		jobs[i] = goalJob{
			maps: n, submit: time.Duration(at), due: time.Duration(float64(alone[n]) * times).Round(time.Second),
		}
		at += r.ExpFloat64() * float64(gap) / goalLoad
	}
	return jobs
}

// runGoals runs jobs on a cluster without others, and returns their reports in the order of the jobs. Jobs that have
// not ended when the last deadline has passed are killed; without deadlines, all are waited for.
func (s *stock) runGoals(jobs []goalJob) []wire.ApplicationReport {
	s.t.Helper()
	submit, heard, stop := s.submitter()
	defer stop()
	before, began := s.newest().ID.ID, time.Now()
	for _, j := range jobs {
		time.Sleep(time.Until(began.Add(j.submit)))
		tags := fmt.Sprintf("sojourn.size=%v", time.Duration(j.maps)*goalTask)
		if j.due > 0 {
			tags += fmt.Sprintf(",sojourn.deadline=%v", j.due)
		}
		fmt.Fprintf(submit, "sleep %d %d %s\n", j.maps, goalMap.Milliseconds(), tags)
		if !heard.Scan() {
			s.t.Fatal("the client ended")
		}
	}
	var reports []wire.ApplicationReport
	s.until("the jobs have ended", 30*time.Minute, func() bool {
		reports = slices.DeleteFunc(s.reports(), func(a wire.ApplicationReport) bool { return a.ID.ID <= before })
		slices.SortFunc(reports, func(a, b wire.ApplicationReport) int { return cmp.Compare(a.ID.ID, b.ID.ID) })
		late, left := len(reports) == len(jobs), len(jobs)-len(reports)
		for i := range reports {
			end := time.UnixMilli(reports[i].Start).Add(jobs[i].due)
			late = late && jobs[i].due > 0 && time.Now().After(end)
		}
		for _, a := range reports {
			if a.State < wire.AppFinished {
				left++
				if late {
					s.call("forceKillApplication", &wire.KillRequest{ID: a.ID}, &wire.KillResponse{})
				}
			}
		}
		return left == 0
	})
	for i, a := range reports {
		took := time.Duration(a.Finish-a.Start) * time.Millisecond
		if a.Final != wire.Succeeded && (jobs[i].due == 0 || took <= jobs[i].due) {
			s.t.Fatalf("%s: %v: %s", a.Name, a.Final, a.Diagnostics)
		}
	}
	return reports
}

// goalsTable returns the table of a comparison in Markdown, by what has been measured so far. Intervals are of 95 %
// (Student).
func goalsTable(policies []string, count int, met [][]float64) string {
	var b bytes.Buffer
	base := met[min(1, len(met)-1)]
	fmt.Fprintf(&b, "\n| policy | runs | deadlines met of %d | less `%s` |\n|---|---:|---:|---:|\n", count,
		policies[min(1, len(policies)-1)])
	for i, spec := range policies {
		var own, more []float64
		for n, m := range met[i] {
			if !math.IsNaN(m) {
				own = append(own, m)
			}
			if d := m - base[n]; !math.IsNaN(d) {
				more = append(more, d)
			}
		}
		fmt.Fprintf(&b, "| `%s` | %d | %s | %s |\n", spec, len(own), interval("%.1f", own), interval("%+.1f", more))
	}
	return b.String()
}

// interval returns the mean of values with its interval; of one value, which says nothing of chance, without; "": there
// are none.
func interval(verb string, values []float64) string {
	if len(values) == 0 {
		return ""
	}
	c := theory.ConfidenceOf(values, 0.95)
	text := fmt.Sprintf(verb, c.Mean)
	if len(values) > 1 {
		text += fmt.Sprintf(" ± %.1f", *c.Half)
	}
	return text
}

// The same seed draws the same jobs, deadlines are by the rule, and the table pairs runs of the same draw: where a
// policy meets two more in each run, the difference is 2 with no spread, whatever draws differ in. Runs that were not
// made leave the others as they are.
func TestGoalsOfHadoop(t *testing.T) {
	alone := map[int]time.Duration{}
	for _, n := range goalMaps {
		alone[n] = time.Duration(10+n) * time.Second
	}
	draw := func(seed uint64) []goalJob { return drawGoals(seed, 50, alone, 5*time.Second) }
	jobs := draw(4)
	if !slices.Equal(jobs, draw(4)) || slices.Equal(jobs, draw(5)) {
		t.Error("jobs do not follow from the seed alone")
	}
	for i, j := range jobs {
		times := float64(j.due) / float64(alone[j.maps])
		if times < goalLeast-0.1 || times > goalMost+0.1 || i > 0 && j.submit < jobs[i-1].submit {
			t.Errorf("job %d: %+v", i, j)
		}
	}
	got := goalsTable([]string{"fair", "edf", "x", "y"}, 9,
		[][]float64{{1, 3}, {2, 6}, {4, 8}, {math.NaN(), 5}})
	for _, line := range []string{
		"| `edf` | 2 | 4.0 ± 25.4 | +0.0 ± 0.0 |", "| `x` | 2 | 6.0 ± 25.4 | +2.0 ± 0.0 |", "| `y` | 1 | 5.0 | -1.0 |",
	} {
		if !strings.Contains(got, line) {
			t.Errorf("the table lacks %q:%s", line, got)
		}
	}
}

// What is in results.txt is read as it was measured; of a run that was begun twice, the second counts.
func TestGoalsAreReadAgain(t *testing.T) {
	text := "alone maps 1 took 26.361s held all nodes for 4.5s\nload 1.2: a job each 6.3s\nrun edf 1 load 9.18\n" +
		"job 1 maps 2 due 53s took 5s\nrun edf 1 load 2\njob 1 maps 2 due 53s took 39.163s\n" +
		"job 2 maps 1 due 40s was killed, late, after 1m2s\n"
	m, err := readGoals(text)
	if err != nil {
		t.Fatal(err)
	}
	took := m.runs[goalRun{"edf", 0}]
	if m.alone[1] != 26361*time.Millisecond || m.held[1] != 4500*time.Millisecond ||
		!slices.Equal(took, []time.Duration{39163 * time.Millisecond, 62 * time.Second}) {
		t.Errorf("read %+v", m)
	}
	if n := inTime([]goalJob{{due: 53 * time.Second}, {due: 40 * time.Second}}, took); n != 1 {
		t.Errorf("%v are in time, want 1", n)
	}
	if _, err := readGoals("run edf x load 1\n"); err == nil || !strings.Contains(err.Error(), "line 1") {
		t.Errorf("a line that is no result: %v", err)
	}
}

package performance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/internal/record"
	"github.com/sojourn-sched/sojourn/internal/reproduce/testbed"
	"github.com/sojourn-sched/sojourn/internal/run"
	"github.com/sojourn-sched/sojourn/internal/workload"
	"github.com/sojourn-sched/sojourn/mr"
	"github.com/sojourn-sched/sojourn/mr/jobs"
	"github.com/sojourn-sched/sojourn/sched"
)

const (
	engineSplit  = 16 << 20 // bytes of one map's input
	engineHeader = `# Real jobs on the engine mr with two cores, made by make validate-model. Times in ms from the job's
# submission.
# cell mr KIND MAPS SLOTS JOBS, then for each job: job 0 END; for each of its tasks: map START END CPU, or
# reduce START START START END CPU.
`
)

// engineCells are the cells of the engine's grid: word count with each number of maps and of slots, by one to four
// jobs, and two other jobs in the middle size.
func engineCells() (cells []realCell) {
	for slots := 1; slots <= 3; slots++ {
		for jobs := 1; jobs <= 4; jobs++ {
			for _, maps := range []int{4, 8, 16} {
				cells = append(cells, cellOf("wordcount", maps, slots, jobs))
			}
			if jobs%2 == 1 {
				for _, kind := range []string{"sort", "sequence-count"} {
					cells = append(cells, cellOf(kind, 8, slots, jobs))
				}
			}
		}
	}
	return cells
}

func cellOf(kind string, maps, slots, jobs int) realCell {
	return realCell{manager: onEngine, kind: kind, maps: maps, nodes: slots, jobs: jobs}
}

func (c *realCell) String() string {
	return fmt.Sprintf("%s %s %d %d %d", c.manager, c.kind, c.maps, c.nodes, c.jobs)
}

// TestModelGridOfEngine measures the grid of the engine mr, and adds its times to the file that SOJOURN_MR_GRID names.
// Cells that the file has already are kept, and not run. SOJOURN_GRID_CELLS picks cells, as "wordcount 4 1 1"; no cell
// begins later than SOJOURN_GRID_FOR after the start. `make validate-model` runs it.
func TestModelGridOfEngine(t *testing.T) {
	path := os.Getenv("SOJOURN_MR_GRID")
	if path == "" {
		t.Skip("SOJOURN_MR_GRID names no file: make validate-model sets it")
	}
	within, err := time.ParseDuration(cmp.Or(os.Getenv("SOJOURN_GRID_FOR"), "24h"))
	if err != nil {
		t.Fatalf("SOJOURN_GRID_FOR: %v", err)
	}
	had, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	cores := machineOf(onEngine).Cores
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(cores))
	text, folder, last := cmp.Or(string(had), engineHeader), t.TempDir(), time.Now().Add(within)
	pick := os.Getenv("SOJOURN_GRID_CELLS")
	for _, c := range engineCells() {
		name := strings.TrimPrefix(c.String(), onEngine+" ")
		if strings.Contains(text, "cell "+c.String()+"\n") || time.Now().After(last) ||
			pick != "" && !slices.Contains(strings.Split(pick, ","), name) {
			continue
		}
		began := time.Now()
		lines, err := measure(t.Context(), folder, &c)
		if err != nil {
			t.Fatalf("%v: %v", &c, err)
		}
		text += lines
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		t.Logf("%v: %.1f s", &c, time.Since(began).Seconds())
	}
}

// measure runs a cell in a folder, and returns its lines.
func measure(ctx context.Context, folder string, c *realCell) (string, error) {
	// the last map has a little less, because the generator ends with a whole line
	path, err := testbed.Input{Kind: "text", Bytes: int64(c.maps)*engineSplit - engineSplit/64, Seed: 1}.In(folder)
	if err != nil {
		return "", err
	}
	if err := testbed.ReadAll(path); err != nil {
		return "", err
	}
	out, err := os.MkdirTemp(folder, "out-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(out)
	m := run.Machine{Jobs: jobs.All, Cluster: testbed.Machine(c.nodes), Memory: 4 << 30,
		Output: func(dir string) string { return filepath.Join(out, dir) }}
	conf := map[string]string{
		"mapreduce.input.fileinputformat.split.maxsize": fmt.Sprint(engineSplit),
		"mapreduce.input.fileinputformat.split.minsize": fmt.Sprint(engineSplit),
	}
	var list []run.RealJob
	for k := range c.jobs {
		name := fmt.Sprintf("job-%d", k)
		program := workload.Program{Job: c.kind, Input: []string{path}, Conf: conf, Output: name, Reduces: 1}
		list = append(list, run.RealJob{Spec: &sched.JobSpec{Name: name}, Program: program})
	}
	w := &timesOfTasks{}
	setup := run.Setup{Names: run.BuiltIn, Choice: run.Choice{Policy: "fifo"}, Seed: 1, Watch: w.follow()}
	outcome, err := m.Serve(ctx, setup, mr.Config{}, list)
	for _, r := range outcome.Jobs {
		err = errors.Join(err, r.Err)
	}
	if err != nil {
		return "", err
	}
	text := fmt.Sprintf("cell %v\n", c)
	for _, j := range w.jobs {
		if j.maps != c.maps {
			return "", fmt.Errorf("a job had %d maps, not %d", j.maps, c.maps)
		}
		text += fmt.Sprintf("job 0 %.0f\n", j.end) + j.lines
	}
	return text, nil
}

// timesOfTasks follows a run, and keeps when the tasks of its jobs began and ended.
type timesOfTasks struct {
	view    *sched.View
	jobs    []*timesOfJob
	started map[sched.AttemptID]startOfTask
}

// A timesOfJob is the lines of a job's tasks, its end in ms from its submission, and how many maps it had.
type timesOfJob struct {
	submit sched.Time
	end    float64
	maps   int
	lines  string
}

type startOfTask struct {
	at   sched.Time
	kind sched.StageKind
	job  sched.JobID
}

func (w *timesOfTasks) follow() []record.Follower { return []record.Follower{w} }

func (w *timesOfTasks) Attach(v *sched.View) {
	w.view, w.started = v, map[sched.AttemptID]startOfTask{}
}

func (w *timesOfTasks) Record(now sched.Time, events []sched.Event, actions []sched.Action) {
	for i := range events {
		e := &events[i]
		switch e.Kind {
		case sched.JobSubmitted:
			w.jobs = append(w.jobs, &timesOfJob{submit: now})
		case sched.AttemptDone:
			s, ok := w.started[e.Attempt]
			if !ok || e.Outcome != sched.OK {
				continue
			}
			delete(w.started, e.Attempt)
			j := w.jobs[s.job-1]
			cpu := 0.0
			if c, _ := e.Body.(*sched.Counters); c != nil {
				cpu = c.CPU.Seconds() * 1000
			}
			from, to := (s.at-j.submit).Seconds()*1000, (now-j.submit).Seconds()*1000
			if s.kind == sched.Map {
				j.maps++
				j.lines += fmt.Sprintf("map %.0f %.0f %.0f\n", from, to, cpu)
			} else {
				j.lines += fmt.Sprintf("reduce %.0f %.0f %.0f %.0f %.0f\n", from, from, from, to, cpu)
			}
		case sched.JobEnded:
			j := w.jobs[e.Job-1]
			j.end = (now - j.submit).Seconds() * 1000
		}
	}
	for i := range actions {
		if a := &actions[i]; a.Kind == sched.Launch {
			w.started[a.Attempt] = startOfTask{now, w.view.Attempt(a.Attempt).Stage.Kind, a.Stage.Job}
		}
	}
}

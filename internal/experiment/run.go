package experiment

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/sojourn-sched/sojourn/internal/record"
	"github.com/sojourn-sched/sojourn/internal/run"
	"github.com/sojourn-sched/sojourn/internal/safefile"
	"github.com/sojourn-sched/sojourn/internal/sim"
	"github.com/sojourn-sched/sojourn/internal/workload"
	"github.com/sojourn-sched/sojourn/policy"
)

// journalName is the file in a folder of results with a line for each run that ended.
const journalName = "runs.jsonl"

// A Setup says where a sweep reads and writes.
type Setup struct {
	Names    run.Names
	Folder   string              // of the sweep's file: paths in it are from there
	Output   string              // folder for the results; it is made where it is missing
	Progress func(done, all int) // is told how many runs have ended, those of an earlier time included; nil: no one
}

// A Row is a run and what came out. Times are in seconds.
type Row struct {
	Run
	Result record.Result `json:"result"`
	Error  string        `json:"error,omitempty"` // of a run without a result
}

// An entry is a line of the journal.
type entry struct {
	Key string `json:"key"`
	Row Row    `json:"row"`
}

// Simulate simulates those runs of a sweep that have no result yet, as many at once as there are processors. It returns
// the rows of all runs in the order of Runs. If a policy does not complete a workload, its row has an error. When ctx
// ends or another error occurs, the results so far are kept in the journal.
func (s *Sweep) Simulate(ctx context.Context, at Setup) (rows []Row, err error) {
	if err := os.MkdirAll(at.Output, 0o777); err != nil {
		return nil, err
	}
	files, err := s.sums(at.Folder)
	if err != nil {
		return nil, err
	}
	j, err := openJournal(filepath.Join(at.Output, journalName))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, j.close()) }()
	runs := s.Runs()
	rows = make([]Row, len(runs))
	var left []int
	var needed []Run
	keys := make([]string, len(runs))
	for i := range runs {
		if keys[i], err = s.key(&runs[i], files); err != nil {
			return nil, err
		}
		row, done := j.rows[keys[i]]
		if rows[i] = row; !done {
			left, needed = append(left, i), append(needed, runs[i])
		}
	}
	books := newShelf(needed)
	tell := counter{all: len(runs), done: len(runs) - len(left), progress: at.Progress}
	tell.add(0)
	return rows, run.Beside(ctx, len(left), func(ctx context.Context, k int) error {
		i := left[k]
		defer books.release(&runs[i])
		row, err := s.one(ctx, &at, runs[i], books)
		if err != nil {
			return err
		}
		rows[i] = row
		tell.add(1)
		return j.add(entry{keys[i], row})
	})
}

// A counter tells how many runs have ended.
type counter struct {
	mu        sync.Mutex
	done, all int
	progress  func(done, all int)
}

// add counts n runs more, and tells how many have ended.
func (c *counter) add(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done += n; c.progress != nil {
		c.progress(c.done, c.all)
	}
}

// one simulates one run, whose jobs books may have.
func (s *Sweep) one(ctx context.Context, at *Setup, r Run, books *shelf) (Row, error) {
	row := Row{Run: r}
	config, err := s.config(at, &r, books)
	if err != nil {
		return row, err
	}
	config.Costs = at.Names.Reporting(config.Costs, r.Policy)
	out, err := run.Simulate(ctx, run.Setup{
		Names:    at.Names,
		Choice:   run.Choice{Policy: r.Policy, Estimator: s.Estimator},
		Workload: r.Workload,
	}, config)
	if ctx.Err() == nil && errors.As(err, new(run.Failure)) {
		row.Error = err.Error()
		return row, nil
	}
	row.Result = out.Result
	row.Result.Wall, row.Result.EventRate = 0, 0 // they differ from time to time
	return row, err
}

// config makes what a run simulates. books may be nil.
func (s *Sweep) config(at *Setup, r *Run, books *shelf) (c sim.Config, err error) {
	cluster, err := openCluster(at.Folder, r.Cluster)
	if err != nil {
		return c, err
	}
	o, costs := cluster.Options(), sim.Defaults()
	o.Seed, o.SlowStart = r.Seed, workload.HadoopSlowStart
	if s.Costs == "none" {
		costs.Reading, costs.Shuffle, o.SlowStart, o.Nodes = sim.Reading{}, sim.Shuffle{}, 1, 0
	}
	from, err := books.get(r, func() (*book, error) {
		file, err := workload.Open(within(at.Folder, r.Workload), o)
		if err != nil {
			return nil, err
		}
		b := &book{file: file, jobs: file.Jobs}
		if s.Jobs > 0 {
			b.jobs = workload.Take(b.jobs, s.Jobs)
		}
		return b, nil
	})
	if err != nil {
		return c, err
	}
	jobs := from.jobs
	if r.Load != 1 {
		jobs = workload.TimeScale(jobs, 1/r.Load)
	}
	if cluster.Queues == nil {
		cluster.Queues = from.file.Queues
	}
	if err := policy.CheckQueues(cluster.Queues); err != nil {
		return c, err
	}
	return sim.Config{Cluster: cluster, Jobs: jobs, Seed: r.Seed, Costs: costs, MostEvents: s.MostEvents}, nil
}

// openCluster opens a cluster's file, or reads it in words.
func openCluster(folder, text string) (*workload.Cluster, error) {
	if strings.Contains(text, "=") {
		return workload.ParseCluster(text)
	}
	return workload.OpenCluster(within(folder, text))
}

// Check reports what is wrong with a sweep before anything runs: policies, workloads and clusters that there are not.
func (s *Sweep) Check(at Setup) error {
	seen := map[string]bool{}
	for _, r := range s.Runs() {
		if !seen["p"+r.Policy] {
			seen["p"+r.Policy] = true
			choice := run.Choice{Policy: r.Policy, Estimator: s.Estimator}
			if err := at.Names.Check(run.Simulator, choice); err != nil {
				return err
			}
			if err := (run.Setup{Engine: run.Simulator, Names: at.Names, Choice: choice}).Check(); err != nil {
				return err
			}
		}
		if of := "w" + r.Workload + "\x00" + r.Cluster; !seen[of] {
			seen[of] = true
			if _, err := s.config(&at, &r, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// A journal keeps the rows of runs that ended, a line each.
type journal struct {
	rows map[string]Row
	mu   sync.Mutex
	file *os.File
}

// openJournal reads a journal and opens it to add to it. A last line that was cut off is overwritten. No other
// process can open the journal until it is closed, because both would write to the same places.
func openJournal(path string) (*journal, error) {
	j := &journal{rows: map[string]Row{}}
	f, err := safefile.OpenLocked(path, 0o666)
	switch {
	case errors.Is(err, safefile.ErrLocked):
		return nil, fmt.Errorf("%s: another experiment writes to this folder: wait for it, or choose another folder",
			path)
	case err != nil:
		return nil, err
	}
	whole := int64(0)
	in := bufio.NewReader(f)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			break // a line without its end was cut off
		}
		var e entry
		if json.Unmarshal(line, &e) != nil {
			return nil, errors.Join(fmt.Errorf("%s: byte %d: is damaged: remove the file, and all runs are done again",
				path, whole), f.Close())
		}
		j.rows[e.Key] = e.Row
		whole += int64(len(line))
	}
	if err := f.Truncate(whole); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if _, err := f.Seek(whole, 0); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	j.file = f
	return j, nil
}

// add writes a line.
func (j *journal) add(e entry) error {
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	_, err = j.file.Write(append(text, '\n'))
	return err
}

// close closes the file of the journal. A second call does nothing.
func (j *journal) close() error {
	err := j.file.Close()
	if errors.Is(err, fs.ErrClosed) {
		return nil
	}
	return err
}

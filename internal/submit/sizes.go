package submit

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/sojourn-sched/sojourn/internal/safefile"
	"github.com/sojourn-sched/sojourn/model"
	"github.com/sojourn-sched/sojourn/sched"
)

// leastTask is the least that is predicted for a task: a container takes a second to start.
const leastTask = time.Second

// Sizes predicts how long the containers of a job take together from what a sample of the job has counted, by the
// models of estimator fspy. It learns from jobs that were sampled and have finished.
type Sizes struct {
	path string // of the file that keeps what was learned; "": none

	mu   sync.Mutex // guards what follows: jobs run at the same time
	fspy *model.FSPY
}

// OpenSizes reads what earlier runs have learned from a file, which need not exist. path "": nothing is kept.
func OpenSizes(path string) (*Sizes, error) {
	c := model.DefaultFit
	c.Least = leastTask.Seconds()
	s := &Sizes{path: path, fspy: model.NewFSPY(c)}
	if path == "" {
		return s, nil
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &s.fspy.Learned)
	}
	if err != nil {
		return nil, fmt.Errorf("sizes of earlier jobs: %s: %w: move it away to begin anew", path, err)
	}
	return s, nil
}

// Save writes what was learned.
func (s *Sizes) Save() error {
	if s.path == "" {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	text, err := json.Marshal(s.fspy.Learned)
	if err != nil {
		return err
	}
	d, err := safefile.NewDraft(s.path, 0o600)
	if err != nil {
		return err
	}
	defer d.Drop()
	if _, err := d.Write(append(text, '\n')); err != nil {
		return err
	}
	return d.Keep()
}

// Hadoop's names of the counters that are used here.
const (
	countMaps       = "Launched map tasks"
	countReduces    = "Launched reduce tasks"
	countMapTime    = "Total time spent by all map tasks (ms)"
	countReduceTime = "Total time spent by all reduce tasks (ms)"
	countMapRecords = "Map output records"
	countMapBytes   = "Map output bytes"
	countSorted     = "Reduce input records"
	countRead       = "Bytes Read"
	countWritten    = "Bytes Written"
)

// A probed has the times and counters of the tasks of a sample, or of a job.
type probed struct {
	maps, reduces int64            // how many were launched
	took          [2]time.Duration // of all maps together, of all reduces together
	model.Probed
}

// probedOf returns what a probe has counted, from the counters of its job. bytes is the length of its input files; it
// counts only if the counters do not tell what was read.
func probedOf(counters map[string]int64, bytes int64) (p probed, err error) {
	if counters[countMapTime] == 0 {
		return p, fmt.Errorf("it told no counter %q: its client must print them, or a job history server must run",
			countMapTime)
	}
	p.maps, p.reduces = max(1, counters[countMaps]), counters[countReduces]
	for k, name := range []string{countMapTime, countReduceTime} {
		p.took[k] = time.Duration(counters[name]) * time.Millisecond
	}
	if n := counters[countRead]; n > 0 {
		bytes = n
	}
	p.Probed = model.Probed{
		Input: float64(bytes), MapOut: float64(counters[countMapBytes]), MapRecords: float64(counters[countMapRecords]),
		ReduceOut: float64(counters[countWritten]), ReduceRecords: float64(counters[countSorted]),
		WholeMap: p.took[0].Seconds(), WholeReduce: p.took[1].Seconds(), HasMap: true, HasReduce: p.reduces > 0,
	}
	return p, nil
}

// facts are the data of a prediction.
type facts struct {
	in      inputs
	reduces int // of the job; -1: not said, which is one
	sample  probed
}

// jobOf returns a job of the workload, by its number from 0, as the models see it.
func jobOf(index int, in inputs, reduces int) *sched.Job {
	j := &sched.Job{ID: sched.JobID(index + 1), Spec: &sched.JobSpec{}}
	add := func(kind sched.StageKind, tasks int, bytes int64) {
		if tasks > 0 {
			j.Stages = append(j.Stages, &sched.Stage{Kind: kind, Total: int32(tasks), Job: j,
				Spec: &sched.StageSpec{Kind: kind, Tasks: int32(tasks), InputBytes: bytes}})
		}
	}
	if reduces < 0 {
		reduces = 1
	}
	add(sched.Map, in.maps, in.bytes)
	add(sched.Reduce, reduces, 0)
	return j
}

// predict returns the sum of the times of a job's containers, without its master.
func (s *Sizes) predict(index int, f facts) sched.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	j := jobOf(index, f.in, f.reduces)
	if s.fspy.Probes == nil {
		s.fspy.Probes = map[sched.JobID]model.Probed{}
	}
	s.fspy.Probes[j.ID] = f.sample.Probed
	maps, reduces, _ := s.fspy.Predict(j)
	return time.Duration((maps + reduces) * float64(time.Second)).Round(time.Millisecond)
}

// learn updates the models with a job that was sampled and has succeeded. Without counters there is nothing to learn.
func (s *Sizes) learn(index int, of facts, counters map[string]int64) {
	p, err := probedOf(counters, of.in.bytes)
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	j := jobOf(index, of.in, of.reduces)
	for i, st := range j.Stages {
		k, ran := 0, p.maps
		if st.Kind == sched.Reduce {
			k, ran = 1, max(1, p.reduces)
		}
		for _, before := range j.Stages[:i] {
			before.Done = before.Total
		}
		st.Done = st.Total - 1 // the attempt below is the last one; the others took the same
		s.fspy.Observe(&sched.Attempt{Stage: st}, p.took[k]/time.Duration(ran), nil)
	}
}

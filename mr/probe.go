package mr

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"

	"github.com/sojourn-sched/sojourn/internal/theory"
	"github.com/sojourn-sched/sojourn/mr/input"
	"github.com/sojourn-sched/sojourn/sched"
)

// mostSplits is how many splits of a job's input a probe reads from (FSPY 2.3).
const mostSplits = 10

// probed is work that can run on a sample of its input.
type probed interface {
	// Probe returns work on a sample of the job and its only stages, or nil where there can be none. Where it is given
	// up, or closed, nothing of the job has changed. draw(n) returns a random number from 0 to n−1.
	Probe(draw func(n int) int) (Work, []sched.StageSpec, error)
}

// A probe is a sample of a job at work: one map, on beginnings of splits of the job's first round, and one reduce where
// the job has reduces. Its files lie among the job's, and what it writes goes with it.
type probe struct{ jobWork }

// Probe samples the first round: later ones read what is not there yet. Input that can be read only once cannot be
// sampled.
func (w *jobWork) Probe(draw func(n int) int) (Work, []sched.StageSpec, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.rounds) == 0 || len(w.rounds[0].splits) == 0 {
		return nil, nil, nil
	}
	first := w.rounds[0]
	w.probes++
	if pipe := pipeIn(first.splits); pipe != nil {
		if w.probes == 1 && w.order.Notes != nil {
			w.order.Notes(pipe.Path + ": a pipe is read once, so the job is not probed")
		}
		return nil, nil, nil
	}
	reduces := first.run.Parts
	if first.stages() == 1 {
		reduces = 0
	}
	job := *first.run.Job
	job.Reduces, job.Next = min(job.Reduces, 0), nil
	files := &Workspace{
		dir:       filepath.Join(w.files.dir, fmt.Sprintf("probe-%d", w.probes)),
		committed: map[string]bool{},
	}
	run, err := NewRun(&job, 1, w.site.Memory, files)
	if err != nil {
		return nil, nil, err
	}
	split := sampleOf(first.splits, reduces, draw)
	run.maps, run.input = 1, split.Bytes()
	site := w.site
	site.Reduce = site.Map // both use one container in turn
	r := &round{run: run, splits: []input.Split{split}, maps: make([]*MapOutput, 1), counts: make([]*Counters, 1)}
	p := &probe{jobWork{order: Order{Job: &job}, site: site, files: files, rounds: []*round{r}, first: []int{0}}}
	return p, p.specs(r, 0), nil
}

// pipeIn returns the first pipe in splits; nil: there is none.
func pipeIn(splits []input.Split) *input.File {
	for _, s := range splits {
		if pipe := s.Pipe(); pipe != nil {
			return pipe
		}
	}
	return nil
}

// sampleOf returns what a probe reads: beginnings of splits chosen at random, in the order of the input (FSPY,
// Algorithm 1).
func sampleOf(splits []input.Split, reduces int, draw func(n int) int) input.Split {
	lengths := make([]int64, len(splits))
	for i := range splits {
		lengths[i] = splits[i].Bytes()
	}
	pieces := theory.SemiRandom(lengths, theory.PlanSample(len(splits), reduces, mostSplits), draw)
	slices.SortFunc(pieces, func(a, b theory.SplitSample) int { return a.Split - b.Split })
	var heads []input.Split
	for _, p := range pieces {
		heads = append(heads, splits[p.Split].Head(p.Bytes))
	}
	return input.Join(heads)
}

// Stages returns no more stages: nothing is committed.
func (p *probe) Stages(context.Context) ([]sched.StageSpec, error) { return nil, nil }

// Run runs the map or the reduce.
func (p *probe) Run(l *Launch) error {
	if err := os.MkdirAll(p.files.dir, 0o777); err != nil {
		return err
	}
	return p.jobWork.Run(l)
}

// Close removes all that the probe has made.
func (p *probe) Close(bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rounds[0].release()
	return os.RemoveAll(p.files.dir)
}

// probe submits a sample of a job as a job of its own. It does nothing for a job that cannot be sampled, or whose last
// probe has not ended. An error is noted in the job's result: the job does without.
func (e *engine) probe(of *jobLife) {
	from, ok := of.work.(probed)
	if !ok || of.ended || e.atWork(of.probe) {
		return
	}
	work, stages, err := probeOf(from, rand.New(rand.NewPCG(e.config.Seed, uint64(of.index))).IntN)
	if of.notProbed = err; work == nil {
		return
	}
	e.newest++
	spec := *of.sub.Spec
	spec = sched.JobSpec{
		Name:   "probe of " + spec.Name,
		User:   spec.User,
		Queue:  spec.Queue,
		Type:   spec.Type,
		Submit: e.core.Now,
		Stages: stages,
		Probes: of.id,
	}
	if err := cmp.Or(spec.Validate(), e.cannotRun(stages, 0)); err != nil {
		of.notProbed = errors.Join(err, closeOf(work, false))
		return
	}
	p := &jobLife{id: e.newest, index: noResult, work: work, of: of, outcome: sched.Killed,
		sub: Submission{Spec: &spec, Work: work, Timeout: of.sub.Timeout}}
	for i := range stages {
		p.addStage(&stages[i])
	}
	of.probe = p
	of.probes++
	e.jobs[p.id] = p
	e.events = append(e.events, sched.Event{Kind: sched.JobSubmitted, Job: p.id, Body: &spec})
}

// atWork reports whether p, which may be nil, is a probe whose end the core has not learned. In the Step in which the
// core learns it, atWork returns false.
func (e *engine) atWork(p *jobLife) bool {
	if p == nil || p.ended {
		return false
	}
	row := e.core.Job(p.id)
	return row == nil || !row.Ended // nil: it is about to be submitted
}

// endProbe ends the probe of a job that is over: no estimate needs it any more.
func (e *engine) endProbe(of *jobLife) {
	if e.atWork(of.probe) {
		e.events = append(e.events, sched.Event{Kind: sched.JobEnded, Outcome: sched.Killed, Job: of.probe.id})
	}
}

package mr

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/sojourn-sched/sojourn/mr/input"
)

// Run is one round of a job at work: what its attempts share. It decides nothing about when and where attempts run.
type Run struct {
	Job    *Job
	Parts  int // reduces; of a map-only job, its maps
	Memory *Memory
	Files  *Workspace
	Round  int // from 0

	maps  int   // how many there are
	input int64 // bytes that they read
	bins  atomic.Pointer[bins]
	hint  atomic.Int64 // keys in the table of the last map: what to make room for

	readers sync.Pool // of *input.Reader, which keep their buffers
}

// NewRun checks a job and prepares to run it. parts is the number of reduces; of a map-only job, the number of maps.
func NewRun(j *Job, parts int, m *Memory, w *Workspace) (*Run, error) {
	r := &Run{Job: j, Parts: parts, Memory: m, Files: w}
	bad := func(why string) (*Run, error) { return nil, fmt.Errorf("job %s: %s", j.Name, why) }
	switch {
	case j.Map == nil:
		return bad("no Map")
	case parts < 1 || parts > maxParts:
		return bad(fmt.Sprintf("%d parts, want 1 to %d", parts, maxParts))
	case j.Record < 0:
		return bad("Record is negative")
	case j.Partition != nil && j.TotalOrder:
		return bad("Partition and TotalOrder exclude each other")
	case j.Fold != nil && (j.Combine != nil || j.Compare != nil):
		return bad("Fold excludes Combine and Compare")
	}
	if j.Fold != nil {
		if err := j.Fold.check(); err != nil {
			return bad(err.Error())
		}
	}
	return r, nil
}

const maxParts = 100_000

func (r *Run) ordering() ordering { return ordering{r.Job.Compare} }

// scratch returns the path of a temporary file of an attempt.
func (r *Run) scratch(what string, s Stage, a *Attempt) string {
	return filepath.Join(r.Files.dir, fmt.Sprintf("%d-%s-%05d-%d.%s", r.Round, s, a.Task, a.Number, what))
}

func (r *Run) task(s Stage, a *Attempt) *Task {
	return &Task{Job: r.Job, JobID: a.job, Stage: s, Index: a.Task, Attempt: a.Number, Parts: r.Parts, attempt: a}
}

// attempt runs one attempt: it makes an error of a panic, and names the attempt in errors. Whichever way work ends, all
// memory that the attempt still holds is free afterwards: what is to outlive the attempt is moved to Memory.results.
func (r *Run) attempt(t *Task, first Phase, work func() error) error {
	a := t.attempt
	if a.account != nil {
		panic("mr: an attempt is used once")
	}
	a.account = r.Memory.attempt()
	a.ration.full = a.account.Limit()
	a.account.SetLimit(a.ration.limit())
	defer r.Memory.end(a.account)
	a.enter(first)
	a.clockIn()
	err := guarded(work)
	t.Suspends(nil) // after a panic
	a.clockOut()
	a.enter(first)
	if err == nil {
		a.share.Store(1e6)
		return nil
	}
	if cause := context.Cause(a.ctx); cause != nil {
		err = cause
	}
	return fmt.Errorf("job %s, %s task %d, attempt %d: %w", r.Job.Name, t.Stage, a.Task, a.Number, err)
}

// Map runs a map attempt on a split. Of a map-only job the output is a part, ready to be committed, and the MapOutput
// is nil. After an error nothing is left of the attempt.
func (r *Run) Map(a *Attempt, s input.Split) (*MapOutput, error) {
	t := r.task(MapStage, a)
	t.Split = s
	var output *MapOutput
	err := r.attempt(t, Map, func() error {
		out := &Emitter{}
		if r.Job.Reduces == MapOnly {
			return r.toPart(t, out, func() error { return r.mapInto(t, out) })
		}
		out.collect = newCollector(r, t, a.account)
		done := false
		defer func() {
			if !done { // an error or a panic
				out.collect.discard()
			}
		}()
		if err := r.mapInto(t, out); err != nil {
			return err
		}
		var err error
		output, err = out.collect.finish()
		done = err == nil
		return err
	})
	return output, err
}

func (r *Run) mapInto(t *Task, out *Emitter) error {
	a := t.attempt
	if err := a.pass(); err != nil {
		return err
	}
	in := r.batches(t, out)
	defer in.close()
	err := in.reader.Guard(func() error { return r.Job.mapOn(t.attempt.hardware)(t, in, out) })
	a.count(MapInputRecords, in.records)
	a.count(BytesRead, in.reader.Bytes())
	a.count(MapOutputRecords, out.pairs)
	a.count(MapOutputBytes, out.bytes)
	if errors.Is(in.failed, io.EOF) {
		in.failed = nil
	}
	// The function may have returned early, without an error, because the attempt's context ended.
	return firstError(out.failed, in.failed, err, context.Cause(a.ctx))
}

// batches opens the split of task t. The caller closes the batches.
func (r *Run) batches(t *Task, out *Emitter) *Batches {
	reader, _ := r.readers.Get().(*input.Reader)
	if reader == nil {
		reader = new(input.Reader)
	}
	room := r.Memory.reading()
	reader.Memory = room
	reader.Open(t.Split)
	b := &Batches{room: room, attempt: t.attempt, reader: reader, readers: &r.readers, size: t.Split.Bytes(),
		record: r.Job.Record, out: out}
	if t.Split.Pipe() != nil {
		b.unwatch = context.AfterFunc(t.attempt.ctx, reader.Interrupt)
	}
	return b
}

// toPart runs work with an emitter that writes a part. After an error the part is removed.
func (r *Run) toPart(t *Task, out *Emitter, work func() error) (err error) {
	path := r.scratch("part", t.Stage, t.attempt)
	w, err := newPartWriter(path, r.Job, t.attempt)
	if err != nil {
		return err
	}
	out.out = w
	done := false
	defer func() {
		if !done {
			w.file.Close()
			os.Remove(path)
		}
	}()
	if err := work(); err != nil {
		return err
	}
	err = w.close()
	done = err == nil
	return err
}

// Reduce runs a reduce attempt on its part of all maps' outputs, which are in the order of the maps. The output is a
// part, ready to be committed. An error that is a *LostOutput names a map that must run again. After an error nothing
// is left of the attempt.
func (r *Run) Reduce(a *Attempt, maps []*MapOutput) error {
	t := r.task(ReduceStage, a)
	return r.attempt(t, Shuffle, func() error {
		in := &reduceInput{run: r, task: t}
		defer in.close()
		if err := in.gather(maps); err != nil {
			return err
		}
		from, err := in.open()
		if err != nil {
			return err
		}
		a.enter(Reduce)
		out := &Emitter{}
		return r.toPart(t, out, func() error { return r.reduce(t, in, from, out) })
	})
}

func (r *Run) reduce(t *Task, in *reduceInput, from source, out *Emitter) error {
	a := t.attempt
	g := newGroups(t, from, out)
	g.total = in.pairs
	var err error
	if r.Job.Reduce != nil {
		err = r.Job.Reduce(t, g, out)
	} else {
		err = r.identity(g, out)
	}
	a.count(ReduceInputGroups, g.groups)
	a.count(ReduceInputRecords, g.pairs)
	a.count(ReduceOutputRecords, out.pairs)
	return firstError(out.failed, g.failed, err, context.Cause(a.ctx))
}

// identity writes all pairs as they are: the reduce function of a job without one.
func (r *Run) identity(g *Groups, out *Emitter) error {
	for g.load() {
		for i := range g.recs[:g.n] {
			rec := &g.recs[i]
			if g.at = i; i == 0 && g.groups == 0 || !g.sameAsBefore() {
				g.groups++
			}
			if out.failed = out.out.pair(rec.key, rec.value); out.failed != nil {
				return out.failed
			}
		}
		g.pairs += int64(g.n)
		out.pairs += int64(g.n)
		g.at = g.n
	}
	return nil
}

// firstError returns the first error that is not nil.
func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

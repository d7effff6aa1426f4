package mr

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/sojourn-sched/sojourn/mr/input"
	"github.com/sojourn-sched/sojourn/mr/internal/fold"
	"github.com/sojourn-sched/sojourn/mr/internal/run"
)

// Run is one round of a job at work: what its attempts share. It decides nothing about when and where attempts run.
type Run struct {
	Job    *Job
	Parts  int // reduces; of a map-only job, its maps
	Memory *Memory
	Files  *Workspace
	Round  int // from 0

	part func(key []byte, parts int) int // nil: by hash
	hint atomic.Int64                    // keys in the table of the last map: what to make room for

	readers sync.Pool // of *input.Reader, which keep their buffers
}

// NewRun checks a job and prepares to run it with so many reduces; of a map-only job, with so many maps.
func NewRun(j *Job, parts int, m *Memory, w *Workspace) (*Run, error) {
	r := &Run{Job: j, Parts: parts, Memory: m, Files: w, part: j.Partition}
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

// scratch is a name for a temporary file of an attempt.
func (r *Run) scratch(what string, s Stage, a *Attempt) string {
	return filepath.Join(r.Files.dir, fmt.Sprintf("%d-%s-%05d-%d.%s", r.Round, s, a.Task, a.Number, what))
}

func (r *Run) task(s Stage, a *Attempt) *Task {
	return &Task{Job: r.Job, Stage: s, Index: a.Task, Attempt: a.Number, Parts: r.Parts, attempt: a}
}

// attempt runs one: it makes an error of a panic, names the attempt in errors, and closes the books.
func (r *Run) attempt(t *Task, first Phase, work func() error) error {
	a := t.attempt
	if a.account != nil {
		panic("mr: an attempt is used once")
	}
	a.account = r.Memory.attempt()
	a.enter(first)
	err := guarded(work)
	a.enter(first)
	if err == nil {
		a.share.Store(1e6)
		return nil
	}
	if cause := a.ctx.Err(); cause != nil {
		err = cause
	}
	return fmt.Errorf("job %s, %s task %d, attempt %d: %w", r.Job.Name, t.Stage, a.Task, a.Number, err)
}

// Map runs a map attempt on a split. Of a map-only job the output is a part, ready to be committed, and the MapOutput is nil. After an
// error nothing is left of the attempt.
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
				os.Remove(out.collect.path)
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
	defer r.readers.Put(in.reader)
	defer in.reader.Close()
	err := in.reader.Guard(func() error { return r.Job.Map(t, in, out) })
	a.count(MapInputRecords, in.records)
	a.count(BytesRead, in.reader.Bytes())
	a.count(MapOutputRecords, out.pairs)
	a.count(MapOutputBytes, out.bytes)
	if errors.Is(in.failed, io.EOF) {
		in.failed = nil
	}
	return firstError(out.failed, in.failed, err)
}

// batches opens the task's split.
func (r *Run) batches(t *Task, out *Emitter) *Batches {
	reader, _ := r.readers.Get().(*input.Reader)
	if reader == nil {
		reader = new(input.Reader)
	}
	reader.Open(t.Split)
	return &Batches{attempt: t.attempt, reader: reader, size: t.Split.Bytes(), record: r.Job.Record, out: out}
}

// toPart runs work with an emitter that writes a part; after an error the part is gone.
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

// Reduce runs a reduce attempt on its part of all maps' outputs, which are in the order of the maps. The output is a part, ready to
// be committed. An error that is a *LostOutput names a map that must run again. After an error nothing is left of the attempt.
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
	return firstError(out.failed, g.failed, err)
}

// identity writes all pairs as they are.
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

// firstError is the first that is not nil.
func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// reduceInput is one part of all maps' outputs.
type reduceInput struct {
	run      *Run
	task     *Task
	maps     []*MapOutput // taken
	segments []reduceSegment
	pairs    int64
	table    *fold.Table
	indexes  []*index
	readers  []*run.Reader
	files    int      // runs of its own written so far
	paths    []string // of them
}

type reduceSegment struct {
	segment
	of *MapOutput
}

// gather finds the part's segments, in the order of (map, emission).
func (in *reduceInput) gather(maps []*MapOutput) error {
	a := in.task.attempt
	for _, m := range maps {
		if err := m.take(); err != nil {
			return err
		}
		in.maps = append(in.maps, m)
		for _, s := range m.parts[a.Task] {
			in.segments = append(in.segments, reduceSegment{s, m})
			in.pairs += s.pairs
			a.count(ReduceShuffleBytes, s.bytes)
		}
	}
	return a.pass()
}

// close lets go of all that was used.
func (in *reduceInput) close() {
	if in.table != nil {
		in.table.Reset(false)
	}
	for _, ix := range in.indexes {
		ix.free()
	}
	for _, r := range in.readers {
		r.Close()
	}
	for _, m := range in.maps {
		m.drop()
	}
	for _, p := range in.paths {
		os.Remove(p)
	}
}

// open gives all pairs in order.
func (in *reduceInput) open() (source, error) {
	if in.run.Job.Fold == nil {
		return in.sorted()
	}
	full, err := in.foldAll()
	if err != nil {
		return nil, err
	}
	if !full {
		in.task.attempt.enter(Sort)
		return &fromTable{Cursor: in.table.Sort(1, nil).Part(0)}, nil
	}
	in.table.Reset(false)
	from, err := in.sorted()
	if err != nil {
		return nil, err
	}
	return newFolded(from, in.run.Job.Fold), nil
}

// foldAll folds all segments into a table, unless it gets full.
func (in *reduceInput) foldAll() (full bool, err error) {
	a := in.task.attempt
	f := in.run.Job.Fold
	in.table = fold.New(a.account, f.Width, f.Into)
	most := int64(0)
	for i := range in.segments {
		most = max(most, in.segments[i].pairs)
	}
	// Pairs of a segment come in the order of their hashes, which would crowd the front of a table that is too small for them.
	if in.pairs > 0 && !in.table.Reserve(int(most)) {
		return true, nil
	}
	a.enter(Merge)
	for i := range in.segments {
		s := &in.segments[i]
		for _, p := range s.pieces {
			if in.table.AddPairs(p.data) < len(p.data) {
				return true, nil
			}
		}
		if s.pieces == nil {
			if full, err := in.foldRun(s); full || err != nil {
				return full, err
			}
		}
		if err := a.pass(); err != nil {
			return false, err
		}
		a.share.Store(int64(400_000 * (i + 1) / len(in.segments)))
	}
	return false, nil
}

func (in *reduceInput) foldRun(s *reduceSegment) (full bool, err error) {
	a := in.task.attempt
	defer a.enter(a.enter(Shuffle))
	r := run.NewReader(s.path, s.file, a.account)
	defer r.Close()
	for {
		err := r.Block()
		if err == io.EOF {
			a.count(FileBytesRead, s.file.Length)
			return false, nil
		} else if err != nil {
			return false, s.of.lostBy(err)
		}
		pairs, err := r.Rest()
		if err != nil {
			return false, s.of.lostBy(err)
		}
		if in.table.AddPairs(pairs) < len(pairs) {
			return true, nil
		}
	}
}

// maxFanIn is how many runs are merged at a time where memory has room for their readers. More would save no pass over the data before
// there are thousands.
const maxFanIn = 128

// sorted gives all pairs in order: what is in memory sorted now, what is in files merged.
func (in *reduceInput) sorted() (source, error) {
	a := in.task.attempt
	inMemory := int64(0)
	for i := range in.segments {
		if s := &in.segments[i]; s.pieces != nil {
			inMemory += s.pairs
		}
	}
	fits := 2*entryBytes*inMemory+int64(len(in.segments)+2)*run.ReaderBytes < a.account.Left()
	var sources []source
	for i := 0; i < len(in.segments); i++ {
		s := &in.segments[i]
		if s.pieces == nil {
			a.count(FileBytesRead, s.file.Length)
			sources = append(sources, in.read(s.path, s.file, s.of))
			continue
		}
		pieces := s.pieces[:len(s.pieces):len(s.pieces)]
		for ; i+1 < len(in.segments) && in.segments[i+1].pieces != nil; i++ {
			pieces = append(pieces, in.segments[i+1].pieces...)
		}
		more, err := in.sort(pieces, fits)
		if err != nil {
			return nil, err
		}
		sources = append(sources, more...)
	}
	if len(sources) == 1 {
		return sources[0], nil
	}
	a.enter(Merge)
	fanIn := int(min(max(a.account.Left()/run.ReaderBytes, 2), maxFanIn))
	for len(sources) > fanIn {
		var err error
		if sources, err = in.mergeSome(sources, fanIn); err != nil {
			return nil, err
		}
	}
	return newMerger(in.run.ordering(), sources)
}

// sort sorts pairs in memory, by as many at a time as memory has room for an index of; unless all fits, they go to files.
func (in *reduceInput) sort(pieces []piece, fits bool) (sources []source, err error) {
	for len(pieces) > 0 {
		in.task.attempt.enter(Sort)
		var ix *index
		ix, pieces = in.run.newIndex(pieces, in.task.attempt.account)
		if fits {
			in.indexes = append(in.indexes, ix)
			sources = append(sources, ix)
			continue
		}
		f, err := in.write(ix)
		ix.free()
		if err != nil {
			return nil, err
		}
		sources = append(sources, f)
	}
	return sources, nil
}

// mergeSome merges neighbours until fanIn sources are left, or once all round. Only neighbours: equal keys keep their order.
func (in *reduceInput) mergeSome(sources []source, fanIn int) ([]source, error) {
	var merged []source
	for excess := len(sources) - fanIn; len(sources) > 0; {
		n := min(fanIn, excess+1, len(sources))
		if n < 2 {
			return append(merged, sources...), nil
		}
		m, err := newMerger(in.run.ordering(), sources[:n])
		if err != nil {
			return nil, err
		}
		f, err := in.write(m)
		if err != nil {
			return nil, err
		}
		merged = append(merged, f)
		sources = sources[n:]
		excess -= n - 1
	}
	return merged, nil
}

// write makes a run of its own of a source.
func (in *reduceInput) write(from source) (source, error) {
	a := in.task.attempt
	defer a.enter(a.enter(Spill))
	path := in.run.scratch(fmt.Sprintf("merge%d", in.files), ReduceStage, a)
	in.files++
	w, err := run.Create(path)
	if err != nil {
		return nil, err
	}
	in.paths = append(in.paths, path)
	err = drain(a, from, w)
	var s run.Segment
	if err == nil {
		s, err = w.End()
	}
	if err = errors.Join(err, w.Close()); err != nil {
		return nil, err
	}
	a.count(SpilledRecords, s.Pairs)
	a.count(FileBytesWritten, s.Length)
	a.count(FileBytesRead, s.Length)
	return in.read(path, s, nil), nil
}

// read gives the pairs of a segment in a file; of is whose it is, nil: the reduce's own.
func (in *reduceInput) read(path string, s run.Segment, of *MapOutput) source {
	r := run.NewReader(path, s, in.task.attempt.account)
	in.readers = append(in.readers, r)
	return &fromRun{r, in.run.ordering(), of}
}

func drain(a *Attempt, from source, w *run.Writer) error {
	var recs [fillPairs]rec
	for {
		if err := a.pass(); err != nil {
			return err
		}
		n, err := from.fill(recs[:])
		if n == 0 || err != nil {
			return err
		}
		for i := range recs[:n] {
			w.Append(recs[i].key, recs[i].value)
		}
	}
}

package mr

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/sojourn-sched/sojourn/mr/internal/fold"
	"github.com/sojourn-sched/sojourn/mr/internal/pair"
	"github.com/sojourn-sched/sojourn/mr/internal/spill"
)

// reduceInput is one part of all maps' outputs.
type reduceInput struct {
	run      *Run
	task     *Task
	maps     []*MapOutput // taken
	segments []reduceSegment
	pairs    int64
	table    *fold.Table
	bins     int      // that segments in memory have; 1: some may have more
	files    int      // runs of its own written so far
	paths    []string // of them
}

type reduceSegment struct {
	segment
	of *MapOutput
}

// gather takes the outputs of all maps and finds the part's segments, in the order of (map, emission).
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

// close gives up the maps' outputs, and removes the files. Memory is the account's to free.
func (in *reduceInput) close() {
	for _, m := range in.maps {
		m.drop()
	}
	for _, p := range in.paths {
		os.Remove(p)
	}
}

// open returns a source of all pairs in order. Where everything is in memory and the largest bin has room for its
// index, bins are folded or sorted one by one. Else a job that folds tries one table for all, and what is left is
// sorted and merged, by way of the disk where memory is short.
func (in *reduceInput) open() (source, error) {
	in.bin()
	if b := in.binned(in.segments); in.allInMemory() && b.need() < in.task.attempt.account.Left() {
		return b, nil
	}
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

func (in *reduceInput) allInMemory() bool {
	return !slices.ContainsFunc(in.segments, func(s reduceSegment) bool { return s.path != "" })
}

// bin cuts segments in memory that have no bins into the bins that others have. They are of maps that emitted little
// before there were bins.
func (in *reduceInput) bin() {
	b := in.run.bins.Load()
	if in.bins = b.each(); in.bins == 1 {
		return
	}
	var few []*reduceSegment
	for i := range in.segments {
		if s := &in.segments[i]; s.path == "" && len(s.ends) != in.bins {
			few = append(few, s)
		}
	}
	a := in.task.attempt
	for _, s := range few {
		logs := newPairLogs(a.account, in.bins, binPiece)
		ok := true
		eachPair(s.pieces, func(key, value []byte) {
			l := &logs.logs[in.run.place(b, key, 0)%in.bins]
			if ok = ok && logs.room(l, len(key)+len(value)+pair.MaxHead); ok {
				l.put(key, value)
			}
		})
		if !ok { // one bin, then, of all
			in.bins = 1
			return
		}
		s.segment = logs.segment(0, in.bins)
	}
}

// foldAll folds all segments into a table, and reports whether the table got full. Nothing of a full table counts.
func (in *reduceInput) foldAll() (full bool, err error) {
	a := in.task.attempt
	f := in.run.Job.Fold
	in.table = fold.New(a.account, f.Width, f.Into)
	most := int64(0)
	for i := range in.segments {
		most = max(most, in.segments[i].pairs)
	}
	// Pairs of a segment come in the order of their hashes, which would crowd the front of a table that is too small
	// for them.
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
		if s.path != "" {
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
	r := spill.NewReader(s.path, s.file, a.account)
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

// maxFanIn is how many runs are merged at a time where memory has room for their readers. More would save no pass over
// the data before there are thousands.
const maxFanIn = 128

// sorted returns a source of all pairs in order: it sorts what is in memory and merges that with what is in files.
func (in *reduceInput) sorted() (source, error) {
	a := in.task.attempt
	var groups []*binned // of neighbours in memory
	need := int64(len(in.segments)+2) * spill.ReaderBytes
	for i := 0; i < len(in.segments); i++ {
		if in.segments[i].path != "" {
			continue
		}
		from := i
		for i+1 < len(in.segments) && in.segments[i+1].path == "" {
			i++
		}
		g := in.binned(in.segments[from : i+1])
		groups = append(groups, g)
		need += g.need()
	}
	fits := need < a.account.Left()
	reserved := int64(0)
	var sources []source
	for i := 0; i < len(in.segments); {
		s := &in.segments[i]
		if s.path != "" {
			a.count(FileBytesRead, s.file.Length)
			sources = append(sources, in.read(s.path, s.file, s.of))
			i++
			continue
		}
		g := groups[0]
		groups = groups[1:]
		i += len(g.segments)
		if fits {
			sources = append(sources, g)
			reserved += g.need()
			continue
		}
		more, err := in.sort(g.all())
		if err != nil {
			return nil, err
		}
		sources = append(sources, more...)
	}
	if len(sources) == 1 {
		return sources[0], nil
	}
	a.enter(Merge)
	fanIn := int(min(max((a.account.Left()-reserved)/spill.ReaderBytes, 2), maxFanIn))
	for len(sources) > fanIn {
		var err error
		if sources, err = in.mergeSome(sources, fanIn); err != nil {
			return nil, err
		}
	}
	return newMerger(in.run.ordering(), sources)
}

// sort sorts pieces in memory, as many at a time as memory has room to index, and writes them to files.
func (in *reduceInput) sort(pieces []piece) (sources []source, err error) {
	for len(pieces) > 0 {
		in.task.attempt.enter(Sort)
		var ix *index
		ix, pieces = in.run.newIndex(pieces, in.task.attempt.account)
		f, err := in.write(ix)
		ix.free()
		if err != nil {
			return nil, err
		}
		sources = append(sources, f)
	}
	return sources, nil
}

// mergeSome merges groups of neighbours, until fanIn sources are left or each source was merged once. Only neighbours
// are merged, so that equal keys keep their order.
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

// write writes the pairs of a source to a new file, and returns a source of that file.
func (in *reduceInput) write(from source) (source, error) {
	a := in.task.attempt
	defer a.enter(a.enter(Spill))
	path := in.run.scratch(fmt.Sprintf("merge%d", in.files), ReduceStage, a)
	in.files++
	w, err := spill.Create(path)
	if err != nil {
		return nil, err
	}
	in.paths = append(in.paths, path)
	err = drain(a, from, w)
	var s spill.Segment
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

// read returns a source of a segment in a file. of is the map output that the file belongs to; nil: it is the reduce's.
func (in *reduceInput) read(path string, s spill.Segment, of *MapOutput) source {
	return &fromSpill{spill.NewReader(path, s, in.task.attempt.account), in.run.ordering(), of}
}

func drain(a *Attempt, from source, w *spill.Writer) error {
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

package mr

import (
	"github.com/sojourn-sched/sojourn/mr/internal/fold"
	"github.com/sojourn-sched/sojourn/mr/internal/mem"
)

// binned is a source of the pairs of segments in memory, in order. It folds or sorts one bin after the other, so that
// the table or index of a bin stays within the cache. Bins are ranges of keys in ascending order, so that the bins'
// pairs one after the other are in order.
type binned struct {
	in       *reduceInput
	segments []reduceSegment // neighbours
	next     int             // the bin to open next
	from     source          // pairs of the open bin; nil: no bin is open
	indexes  []*index        // of the open bin, if it was sorted
	table    *fold.Table     // of the open bin, if it was folded; nil: none was folded yet
	folded   int             // pairs of the open bin that went into the table
	distinct bool            // few keys came twice in the last bin that was folded: sorting alone is faster
}

// binned makes a source of segments in memory; it takes no memory before it is read.
func (in *reduceInput) binned(segments []reduceSegment) *binned {
	return &binned{in: in, segments: segments}
}

// segment returns the pieces of segment j in a bin.
func (b *binned) segment(j, bin int) []piece {
	if b.in.bins == 1 {
		return b.segments[j].pieces
	}
	return b.segments[j].bin(bin)
}

// bin returns all pieces of bin i, in the order of (map, emission).
func (b *binned) bin(i int) (pieces []piece) {
	for j := range b.segments {
		pieces = append(pieces, b.segment(j, i)...)
	}
	return pieces
}

// all returns all pieces, bin after bin.
func (b *binned) all() (pieces []piece) {
	for i := range b.in.bins {
		pieces = append(pieces, b.bin(i)...)
	}
	return pieces
}

// need returns the most memory that reading takes, in bytes: that of an index of the largest bin.
func (b *binned) need() int64 {
	most := int64(0)
	for i := range b.in.bins {
		n := int64(0)
		for _, p := range b.bin(i) {
			n += 2 * entryBytes * int64(p.pairs)
		}
		most = max(most, n)
	}
	return most + 4*mem.Chunk
}

func (b *binned) fill(recs []rec) (int, error) {
	for {
		if b.from != nil {
			if n, err := b.from.fill(recs); n > 0 || err != nil {
				return n, err
			}
		}
		b.closeBin()
		if b.next == b.in.bins {
			return 0, nil
		}
		if err := b.open(); err != nil {
			return 0, err
		}
	}
}

// closeBin frees the memory of the bin that was read. The table keeps its slots while bins are left to fold.
func (b *binned) closeBin() {
	for _, ix := range b.indexes {
		ix.free()
	}
	b.indexes = b.indexes[:0]
	if b.table != nil {
		b.table.Reset(b.next < b.in.bins)
	}
	b.from = nil
}

// open folds or sorts the next bin, so that from yields its pairs.
func (b *binned) open() error {
	a := b.in.task.attempt
	defer a.enter(a.enter(Sort))
	pieces := b.bin(b.next)
	b.next++
	if len(pieces) == 0 {
		return nil
	}
	job := b.in.run.Job
	if job.Fold != nil && !b.distinct {
		full, err := b.fold(job.Fold)
		if err != nil {
			return err
		}
		if !full {
			b.distinct = b.table.Len() > b.folded*3/4
			a.enter(Sort)
			b.from = &fromTable{Cursor: b.table.Sort(1, nil).Part(0)}
			return nil
		}
		b.table.Reset(false)
	}
	var sources []source
	for len(pieces) > 0 {
		var ix *index
		ix, pieces = b.in.run.newIndex(pieces, a.account)
		b.indexes = append(b.indexes, ix)
		sources = append(sources, ix)
	}
	if b.from = sources[0]; len(sources) > 1 {
		m, err := newMerger(b.in.run.ordering(), sources)
		if err != nil {
			return err
		}
		b.from = m
	}
	if job.Fold != nil {
		b.from = newFolded(b.from, job.Fold)
	}
	return nil
}

// fold folds the bin that was opened into the table. If the table gets full, nothing of it counts and the bin is to be
// sorted instead.
func (b *binned) fold(f *Fold) (full bool, err error) {
	a := b.in.task.attempt
	a.enter(Merge)
	b.folded = 0
	if b.table == nil {
		b.table = fold.New(a.account, f.Width, f.Into)
	}
	most, n := 0, 0
	for j := range b.segments {
		n = 0
		for _, p := range b.segment(j, b.next-1) {
			n += p.pairs
		}
		most = max(most, n)
	}
	// Pairs of a map come in the order of their hashes, which would crowd the front of a table that is too small for
	// them.
	if !b.table.Reserve(most) {
		return true, nil
	}
	for j := range b.segments {
		for _, p := range b.segment(j, b.next-1) {
			if b.table.AddPairs(p.data) < len(p.data) {
				return true, nil
			}
			b.folded += p.pairs
		}
		if err := a.pass(); err != nil {
			return false, err
		}
	}
	return false, nil
}

package mr

import (
	"bytes"
	"slices"

	"github.com/sojourn-sched/sojourn/mr/internal/pair"
)

// Every part is cut into bins, ranges of keys, as the maps emit: a reduce then folds or sorts one after the other, each
// within the cache, where a table or an index of the whole part would miss it at every turn. Cuts come from a sample of
// the keys. Only speed depends on where they are: equal keys share a bin, in the order in which they came.
type bins struct {
	cuts  *cuts
	per   int  // bins of a part
	total bool // cuts are those of all parts in a row, not of each
}

const (
	binBytes     = 256 << 10 // of pairs in a bin: with their index or table they fit a second-level cache
	foldedBytes  = 512 << 10 // of pairs in a bin of a job that folds
	mostBins     = 256       // of a part: a map writes to all at a time
	mostBinLogs  = 1 << 17   // bins of all parts and maps: each costs some words beside its pairs
	leastBinRoom = 16 << 10  // of an attempt's memory, for each of its bins, in bytes
	binPiece     = 16 << 10  // bytes of a piece: what is open in each bin is hardly used
	binSample    = 16        // keys to a cut
	leastBinned  = 4 << 10   // keys of a map whose sample is good enough
)

// binnable reports whether parts can be cut into bins: keys have an order in which cuts can be looked up quickly, and
// nothing needs all pairs of a part from a map at once.
func (r *Run) binnable() bool { return r.Job.Compare == nil && r.Job.Combine == nil }

// binsOf returns how many bins a part has if all maps together emit so many bytes.
func (r *Run) binsOf(emitted int64) int {
	if !r.binnable() {
		return 1
	}
	bytes := int64(binBytes)
	if r.Job.Fold != nil { // less is left of what is folded
		bytes = foldedBytes
	}
	n := min(emitted/bytes, mostBins*int64(r.Parts), mostBinLogs/int64(max(r.maps, 1)),
		r.Memory.attemptBytes()/leastBinRoom)
	return int(max(n/int64(r.Parts), 1))
}

// publish returns the bins of the run. If no other map has made them yet, it makes them from a sample of pairs, for the
// bytes that all maps together are expected to emit.
func (r *Run) publish(emitted int64, pairs func(func(key, value []byte))) *bins {
	b := &bins{per: r.binsOf(emitted)}
	s := sampler{most: binSample * b.per, room: sampleBytes, every: 1}
	if b.per > 1 {
		pairs(func(key, _ []byte) { s.take(key) })
	}
	slices.SortFunc(s.keys, bytes.Compare)
	b.cuts = newCuts(s.keys, b.per, r.ordering())
	r.bins.CompareAndSwap(nil, b)
	return r.bins.Load()
}

// partOf returns the part of a key; negative: the job's Partition returned no part.
func (r *Run) partOf(key []byte, hash uint64) int {
	switch b := r.bins.Load(); {
	case r.Parts == 1:
		return 0
	case b != nil && b.total:
		return b.cuts.part(key) / b.per
	case r.Job.Partition == nil:
		return pair.Part(hash, r.Parts)
	}
	if part := r.Job.Partition(key, r.Parts); uint(part) < uint(r.Parts) {
		return part
	}
	return -1
}

// place returns the index of the log for a key: the bin of its part; negative: as partOf.
func (r *Run) place(b *bins, key []byte, hash uint64) int {
	if b != nil && b.total {
		return b.cuts.part(key)
	}
	part := r.partOf(key, hash)
	if b.each() == 1 || part < 0 {
		return part
	}
	return part*b.per + b.cuts.part(key)
}

// each returns how many bins a part has: one if b is nil.
func (b *bins) each() int {
	if b == nil {
		return 1
	}
	return b.per
}

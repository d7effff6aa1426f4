package mr

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sort"

	"github.com/sojourn-sched/sojourn/mr/input"
	"github.com/sojourn-sched/sojourn/mr/internal/pair"
)

const (
	sampleSplits = 32        // of the input, evenly spread
	sampleKeys   = 200_000   // of all of them together
	sampleBytes  = 256 << 20 // that their keys may take
)

// Cut finds, for a job with TotalOrder, the keys at which its parts begin, from what Map emits on the beginnings of some of its splits,
// evenly spread. It is to be called before the first attempt. For other jobs, and for a single part, it does nothing.
func (r *Run) Cut(ctx context.Context, splits []input.Split) error {
	if !r.Job.TotalOrder || r.Parts == 1 || r.Job.Reduces == MapOnly {
		return nil
	}
	n := min(len(splits), sampleSplits)
	var keys [][]byte
	for i := range n {
		s := splits[i*len(splits)/n]
		some, err := r.sample(ctx, s, sampler{most: sampleKeys/n + 1, room: sampleBytes / n, every: 1})
		if err != nil {
			return fmt.Errorf("job %s, sample of %s: %w", r.Job.Name, s, err)
		}
		keys = append(keys, some...)
	}
	o := r.ordering()
	slices.SortFunc(keys, o.keys)
	r.part = newCuts(keys, r.Parts, o).part
	return nil
}

// sample runs Map on the first batch of a split, and gives some keys, evenly spread over what it emits.
func (r *Run) sample(ctx context.Context, s input.Split, taken sampler) (keys [][]byte, err error) {
	t := r.task(MapStage, NewAttempt(ctx, 0, 0))
	t.Split = s
	out := &Emitter{sample: &taken}
	in := r.batches(t, out)
	defer in.reader.Close()
	in.once = true
	err = guarded(func() error {
		return in.reader.Guard(func() error { return r.Job.Map(t, in, out) })
	})
	if errors.Is(in.failed, io.EOF) {
		in.failed = nil
	}
	return taken.keys, firstError(out.failed, in.failed, err)
}

// sampleBatch is how much of a split is read for a sample, in bytes.
const sampleBatch = 1 << 20

// beginning cuts a batch after sampleBatch bytes and what is left of the record there.
func beginning(b []byte, record int) []byte {
	if len(b) <= sampleBatch {
		return b
	}
	if record > 0 {
		return b[:max(sampleBatch/record, 1)*record]
	}
	if i := bytes.IndexByte(b[sampleBatch:], '\n'); i >= 0 {
		b = b[:sampleBatch+i+1]
	}
	return b
}

// sampler keeps every so many-th key, and every second of those once it has too many.
type sampler struct {
	keys        [][]byte
	most, room  int
	seen, every int
	bytes       int
}

func (s *sampler) take(key []byte) {
	if s.seen%s.every == 0 {
		s.keys = append(s.keys, bytes.Clone(key))
		s.bytes += len(key)
		for len(s.keys) > 1 && (len(s.keys) > s.most || s.bytes > s.room) {
			half := s.keys[:0]
			s.bytes = 0
			for i := 0; i < len(s.keys); i += 2 {
				half = append(half, s.keys[i])
				s.bytes += len(s.keys[i])
			}
			s.keys, s.every = half, 2*s.every
		}
	}
	s.seen++
}

// cuts are the keys at which parts begin, but for the first.
type cuts struct {
	ordering
	keys     [][]byte
	prefixes []uint64
}

func newCuts(sorted [][]byte, parts int, o ordering) *cuts {
	c := &cuts{ordering: o}
	for p := 1; p < parts && len(sorted) > 0; p++ {
		key := bytes.Clone(sorted[p*len(sorted)/parts])
		c.keys = append(c.keys, key)
		c.prefixes = append(c.prefixes, o.prefix(key))
	}
	return c
}

// part is how many cuts are not after the key.
func (c *cuts) part(key []byte, _ int) int {
	if c.compare != nil {
		return sort.Search(len(c.keys), func(i int) bool { return c.compare(c.keys[i], key) > 0 })
	}
	prefix := pair.Prefix(key)
	low, high := 0, len(c.prefixes)
	for low < high {
		mid := int(uint(low+high) / 2)
		if p := c.prefixes[mid]; p < prefix || p == prefix && (pair.Whole(p) || bytes.Compare(c.keys[mid], key) <= 0) {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low
}

// keys orders keys as order does pairs.
func (o ordering) keys(x, y []byte) int {
	if o.compare != nil {
		return o.compare(x, y)
	}
	return bytes.Compare(x, y)
}

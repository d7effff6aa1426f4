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

// Cut must be called for every job, with all splits, before the first attempt: it notes how many splits there are, and
// their bytes. For a job with TotalOrder and more than one part, it also finds the keys at which the parts of the
// output begin. It samples the keys that Map emits for the first MiB of up to 32 splits, which are evenly spread: Map
// sees these records once more. Splits with a pipe are not sampled, because the map could not read the sample again.
// Without any keys everything goes into the first part. An error is that of Map, of the input, or of ctx.
func (r *Run) Cut(ctx context.Context, splits []input.Split) error {
	r.maps, r.input = len(splits), 0
	for i := range splits {
		r.input += splits[i].Bytes()
	}
	if !r.ranged() {
		return nil
	}
	splits = slices.DeleteFunc(slices.Clone(splits), func(s input.Split) bool { return s.Pipe() != nil })
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
	per := r.binsOf(r.input)
	r.bins.Store(&bins{cuts: newCuts(keys, r.Parts*per, o), per: per, total: true})
	return nil
}

// ranged reports whether parts of the output are ranges of keys, which Cut finds from a sample.
func (r *Run) ranged() bool { return r.Job.TotalOrder && r.Parts > 1 && r.Job.Reduces != MapOnly }

// sample runs Map on the first batch of a split, and returns some of the keys that Map emits, evenly spread.
func (r *Run) sample(ctx context.Context, s input.Split, taken sampler) (keys [][]byte, err error) {
	t := r.task(MapStage, NewAttempt(ctx, 0, 0))
	defer t.attempt.end(nil)
	t.Split = s
	out := &Emitter{sample: &taken}
	in := r.batches(t, out)
	defer in.close()
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

// A sampler keeps every key whose number is a multiple of every. When it has too many keys, it drops every second one
// and doubles every.
type sampler struct {
	keys        [][]byte
	most, room  int // keys, and bytes of keys, that it keeps at most
	seen, every int
	bytes       int // of keys
}

// take is called with each key that Map emits, and keeps copies of some.
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

// cuts are the keys at which parts begin, except the first part.
type cuts struct {
	ordering
	keys     [][]byte
	common   []byte   // what all keys begin with
	prefixes []uint64 // of what follows
}

// newCuts chooses the keys at which so many parts begin, from a sample in order o: each part gets about as many keys of
// the sample. Cuts may be equal; then the parts between them stay empty. Without a sample there are no cuts.
func newCuts(sorted [][]byte, parts int, o ordering) *cuts {
	c := &cuts{ordering: o}
	for p := 1; p < parts && len(sorted) > 0; p++ {
		c.keys = append(c.keys, bytes.Clone(sorted[p*len(sorted)/parts]))
	}
	if o.compare != nil || len(c.keys) == 0 {
		return c
	}
	first, last := c.keys[0], c.keys[len(c.keys)-1]
	n := 0
	for n < len(first) && n < len(last) && first[n] == last[n] {
		n++
	}
	c.common = first[:n]
	for _, k := range c.keys {
		c.prefixes = append(c.prefixes, pair.Prefix(k[n:]))
	}
	return c
}

// part returns how many cuts are not after the key, which is the index of its part.
func (c *cuts) part(key []byte) int {
	if c.compare != nil {
		return sort.Search(len(c.keys), func(i int) bool { return c.compare(c.keys[i], key) > 0 })
	}
	if !bytes.HasPrefix(key, c.common) {
		if bytes.Compare(key, c.common) < 0 {
			return 0
		}
		return len(c.keys)
	}
	prefix := pair.Prefix(key[len(c.common):])
	at, n := 0, len(c.prefixes)
	for n > 0 { // without a branch that depends on the key: it would be guessed wrong every second time
		half := (n + 1) / 2
		next := at
		if c.prefixes[at+half-1] < prefix {
			next = at + half
		}
		at, n = next, n-half
	}
	if at == len(c.prefixes) || c.prefixes[at] != prefix {
		return at
	}
	return at + sort.Search(len(c.keys)-at, func(i int) bool { return bytes.Compare(c.keys[at+i], key) > 0 })
}

// keys orders keys as order does pairs.
func (o ordering) keys(x, y []byte) int {
	if o.compare != nil {
		return o.compare(x, y)
	}
	return bytes.Compare(x, y)
}

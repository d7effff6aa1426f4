package order

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn/mr/internal/pair"
)

func entriesOf(keys []string) []Entry {
	es := make([]Entry, len(keys))
	for i, k := range keys {
		es[i] = Entry{pair.Prefix([]byte(k)), uint64(i)}
	}
	return es
}

// TestSort gives the order of a stable sort, whatever keys share, and leaves the prefixes as they were.
func TestSort(t *testing.T) {
	key := rapid.OneOf(rapid.StringMatching(`[ab\x00]{0,9}`), rapid.Map(rapid.StringMatching(`[ab]{0,3}`),
		func(s string) string { return strings.Repeat("same ", 8) + s }), rapid.String())
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.SliceOfN(key, 0, 40).Draw(t, "keys")
		for range rapid.IntRange(0, 5).Draw(t, "doubled") { // enough to be scattered, with many equals
			keys = append(keys, keys...)
		}
		find := func(ref uint64) []byte { return []byte(keys[ref]) }
		got, want := entriesOf(keys), entriesOf(keys)
		slices.SortStableFunc(want, func(x, y Entry) int { return strings.Compare(keys[x.Ref], keys[y.Ref]) })
		Sort(got, make([]Entry, len(got)), find)
		if !slices.Equal(got, want) {
			t.Fatalf("order differs")
		}
		got = entriesOf(keys)
		SortFunc(got, find, bytes.Compare)
		if !slices.Equal(got, want) {
			t.Fatalf("order by function differs")
		}
	})
}

// benchmark sorts a million entries whose prefixes next gives: by Sort, by package slices, and by package slices
// without prefixes. MB/s reads as million entries a second.
func benchmark(b *testing.B, next func(r *rand.Rand) uint64) {
	const n = 1 << 20
	r := rand.New(rand.NewPCG(1, 2))
	from := make([]Entry, n)
	keys := make([][8]byte, n)
	for i := range from {
		from[i] = Entry{next(r), uint64(i)}
		binary.BigEndian.PutUint64(keys[i][:], from[i].Prefix)
	}
	a, tmp := make([]Entry, n), make([]Entry, n)
	key := func(ref uint64) []byte { return keys[ref][:7] }
	for _, by := range []struct {
		name string
		sort func()
	}{
		{"own", func() { Sort(a, tmp, key) }},
		{"slices", func() { slices.SortFunc(a, compare) }},
		{"slices of keys", func() { SortFunc(a, key, bytes.Compare) }},
	} {
		b.Run(by.name, func(b *testing.B) {
			b.SetBytes(n)
			for b.Loop() {
				copy(a, from)
				by.sort()
			}
		})
	}
}

// Keys of 10 bytes at random, as terasort has them.
func BenchmarkSortRandom(b *testing.B) {
	benchmark(b, func(r *rand.Rand) uint64 { return r.Uint64()&^0xff | 8 })
}

// Words of 1 to 7 letters, the short and the early letters much more often.
func BenchmarkSortWords(b *testing.B) {
	benchmark(b, func(r *rand.Rand) uint64 {
		n := 1 + int(min(6, r.ExpFloat64()*3))
		p := uint64(0)
		for i := range n {
			p |= uint64('a'+min(25, int(r.ExpFloat64()*4))) << (56 - 8*i)
		}
		return p | uint64(n)
	})
}

package fold

import (
	"bytes"
	"encoding/binary"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn/mr/internal/mem"
	"github.com/sojourn-sched/sojourn/mr/internal/pair"
)

// TestSlot: the assembly counts on it.
func TestSlot(t *testing.T) {
	if size := unsafe.Sizeof(slot{}); size != 1<<slotShift {
		t.Errorf("a slot has %d bytes, want %d", size, 1<<slotShift)
	}
}

var someKey = rapid.OneOf(
	rapid.StringMatching(`[a\x00]{0,4}`), // ends in zeros: only the length tells them apart
	rapid.StringMatching(`[ab]{6,18}`),   // around the sizes of prefix and slot
	rapid.Map(rapid.IntRange(0, 3), func(n int) string { return strings.Repeat("long ", 30) + string(rune('a'+n)) }),
	// around what a tag can say
	rapid.Map(rapid.IntRange(65530, 65540), func(n int) string { return strings.Repeat("x", n) }),
)

// TestTable folds pairs by every way in, until the table is full and emptied, against a map.
func TestTable(t *testing.T) {
	pool, err := mem.New(8 << 20)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	rapid.Check(t, func(t *rapid.T) {
		width := rapid.SampledFrom([]int{0, 8, 16}).Draw(t, "width")
		account := pool.Account(rapid.SampledFrom([]int64{4 * mem.Chunk, 8 << 20}).Draw(t, "memory"))
		keys := rapid.SliceOfN(someKey, 0, 300).Draw(t, "keys")
		parts := rapid.IntRange(1, 3).Draw(t, "parts")
		table := New(account, width, nil)
		want, got := map[string]int64{}, map[string]int64{}
		value := make([]byte, width)
		read := func(c *Cursor) {
			for last := ""; c.Next(); last = string(c.Key) {
				if c.sorted && last > string(c.Key) {
					t.Fatalf("%q after %q", c.Key, last)
				}
				n := int64(1)
				if width > 0 {
					n = int64(binary.LittleEndian.Uint64(c.Value))
				}
				got[string(c.Key)] += n
			}
		}
		empty := func(sorted bool) {
			if !sorted {
				read(table.Pairs())
			} else {
				s := table.Sort(parts, func(_ []byte, hash uint64) int { return pair.Part(hash, parts) })
				for p := range parts {
					read(s.Part(p))
				}
			}
			table.Reset(sorted)
		}
		var pairs []byte
		for i, k := range keys {
			n := int64(i + 1)
			if width > 0 {
				binary.LittleEndian.PutUint64(value, uint64(n))
			}
			want[k] += n
			switch i % 3 {
			case 0:
				for !table.Add([]byte(k), value) {
					empty(true)
				}
			case 1:
				text := []byte("before " + k + " after")
				spans := []Span{{7, uint32(7 + len(k))}}
				for table.AddEach(text, spans, value) == 0 {
					empty(true)
				}
			default:
				pairs = pair.Append(pairs, []byte(k), value)
			}
		}
		for at := 0; at < len(pairs); {
			if at += table.AddPairs(pairs[at:]); at < len(pairs) {
				empty(true)
			}
		}
		empty(rapid.Bool().Draw(t, "sorted"))
		table.Reset(false)
		if width == 0 {
			if !slices.Equal(slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want))) {
				t.Fatalf("%d keys, want %d", len(got), len(want))
			}
		} else if !maps.Equal(got, want) {
			t.Fatalf("%d keys, want %d, or sums differ", len(got), len(want))
		}
		if account.Used() != 0 {
			t.Fatalf("%d bytes are still booked", account.Used())
		}
	})
}

// A table that has refused its first pair holds nothing of it, and takes it once its account may hold more, even if
// others have used up the pool meanwhile.
func TestRefusedPairLeavesNothing(t *testing.T) {
	pool, err := mem.New(8 * mem.Chunk)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	account := pool.Account(2 * mem.Chunk) // of the slots and the key; the value has no room
	defer account.Close()
	table := New(account, 24, nil)
	key, value := bytes.Repeat([]byte{'x'}, mem.Chunk-8), make([]byte, 24)
	if table.Add(key, value) || table.Len() != 0 || account.Used() != mem.Chunk {
		t.Fatalf("%d keys and %d bytes are held, want none and the slots", table.Len(), account.Used())
	}
	others := pool.Account(pool.Size())
	defer others.Close()
	for others.Alloc(mem.Chunk) != nil {
	}
	account.SetLimit(8 * mem.Chunk)
	if !table.Add(key, value) {
		t.Fatal("refused again")
	}
}

// TestInto folds with a function: the greatest value wins.
func TestInto(t *testing.T) {
	pool, err := mem.New(1 << 20)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	table := New(pool.Account(1<<20), 1, func(acc, value []byte) { acc[0] = max(acc[0], value[0]) })
	for _, v := range "hadoop" {
		table.Add([]byte("key"), []byte{byte(v)})
	}
	c := table.Pairs()
	if !c.Next() || c.Value[0] != 'p' || c.Next() {
		t.Errorf("greatest of hadoop is %q", c.Value)
	}
}

// BenchmarkAddEach folds the value 1 into words, each key once a round, beside a map that counts them. The keys come in
// an order that no cache foresees.
func BenchmarkAddEach(b *testing.B) {
	for _, keys := range []int{10_000, 100_000, 1_000_000} {
		var text []byte
		var spans []Span
		r := rand.New(rand.NewPCG(1, 2))
		for range keys {
			from := uint32(len(text))
			text = strconv.AppendUint(text, r.Uint64()>>r.IntN(60), 36) // 1 to 13 bytes
			spans = append(spans, Span{from, uint32(len(text))})
		}
		b.Run("keys="+strconv.Itoa(keys), func(b *testing.B) {
			pool, err := mem.New(256 << 20)
			if err != nil {
				b.Fatal(err)
			}
			defer pool.Close()
			table := New(pool.Account(256<<20), 8, nil)
			one := []byte{1, 0, 0, 0, 0, 0, 0, 0}
			b.SetBytes(int64(keys)) // MB/s reads as million keys a second
			for b.Loop() {
				table.AddEach(text, spans, one)
			}
		})
		b.Run("map/keys="+strconv.Itoa(keys), func(b *testing.B) {
			count := map[string]*int64{} // a pointer, so that only a new key makes a string
			b.SetBytes(int64(keys))
			for b.Loop() {
				for _, s := range spans {
					n := count[string(text[s.Start:s.End])]
					if n == nil {
						n = new(int64)
						count[string(text[s.Start:s.End])] = n
					}
					*n++
				}
			}
		})
	}
}

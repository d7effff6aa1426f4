package pair

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"hash/fnv"
	"hash/maphash"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var someKey = rapid.OneOf(rapid.StringMatching(`[a\x00\xff]{0,10}`), rapid.StringMatching(`[ab]{14,18}`),
	rapid.StringN(0, 300, -1))

// TestNumbers: prefixes are in the order of their keys, and tell all where they say so; hashes do not depend on where a
// key lies.
func TestNumbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x, y := someKey.Draw(t, "x"), someKey.Draw(t, "y")
		order, prefixes := strings.Compare(x, y), cmp.Compare(Prefix([]byte(x)), Prefix([]byte(y)))
		if prefixes != 0 && prefixes != order || prefixes == 0 && Whole(Prefix([]byte(x))) && x != y {
			t.Fatalf("prefixes %x and %x", Prefix([]byte(x)), Prefix([]byte(y)))
		}
		tight, roomy := bytes.Clone([]byte(x)), append([]byte(x), "what lies behind it ..."...)[:len(x)]
		tight = tight[:len(tight):len(tight)]
		if Prefix(tight) != Prefix(roomy) || Hash(tight) != Hash(roomy) {
			t.Fatal("numbers depend on what lies behind a key")
		}
		if parts := rapid.IntRange(1, 1000).Draw(t, "parts"); Part(Hash(tight), parts) >= parts {
			t.Fatal("part out of range")
		}
	})
}

// TestParse reads back what Append wrote, and nothing from a part of it.
func TestParse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k, v := someKey.Draw(t, "key"), someKey.Draw(t, "value")
		b := Append([]byte("xyz"), []byte(k), []byte(v))
		key, value, next := Parse(b, 3)
		if string(key) != k || string(value) != v || next != len(b) {
			t.Fatalf("%q, %q, next %d of %d", key, value, next, len(b))
		}
		cut := rapid.IntRange(3, len(b)-1).Draw(t, "cut")
		if _, _, next := Parse(b[:cut], 3); next >= 0 {
			t.Fatalf("a pair in %d of %d bytes", cut, len(b))
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add([]byte{1, 1, 'k', 'v'})
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 0x80, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		for at := 0; at < len(b); {
			key, value, next := Parse(b, at)
			if next < 0 {
				return
			}
			if next > len(b) || len(key)+len(value) > next-at-2 {
				t.Fatalf("%q, %q, next %d of %d", key, value, next, len(b))
			}
			at = next
		}
	})
}

// somePairs returns ten thousand pairs of a key of 1 to 16 bytes and a value of 8, and the keys as they lie there.
func somePairs() (pairs []byte, keys [][]byte) {
	const n = 10_000
	r := rand.New(rand.NewPCG(1, 2))
	for range n {
		key := make([]byte, 1+r.IntN(16))
		for i := range key {
			key[i] = byte('a' + r.IntN(26))
		}
		pairs = Append(pairs, key, make([]byte, 8))
	}
	for at := 0; at < len(pairs); {
		var key []byte
		key, _, at = Parse(pairs, at)
		keys = append(keys, key)
	}
	return pairs, keys
}

// BenchmarkParse reads pairs, beside two calls of package binary for each.
func BenchmarkParse(b *testing.B) {
	pairs, keys := somePairs()
	b.Run("own", func(b *testing.B) {
		b.SetBytes(int64(len(keys))) // MB/s reads as million pairs a second
		for b.Loop() {
			for at := 0; at < len(pairs); {
				_, _, at = Parse(pairs, at)
			}
		}
	})
	b.Run("binary", func(b *testing.B) {
		b.SetBytes(int64(len(keys)))
		for b.Loop() {
			for at := 0; at < len(pairs); {
				k, n := binary.Uvarint(pairs[at:])
				v, m := binary.Uvarint(pairs[at+n:])
				at += n + m + int(k+v)
			}
		}
	})
}

// BenchmarkHash hashes keys, beside hashes of the standard library. That of maphash differs from one process to the
// next, so parts of a job would, too.
func BenchmarkHash(b *testing.B) {
	_, keys := somePairs()
	seed := maphash.MakeSeed()
	for _, by := range []struct {
		name string
		hash func(key []byte) uint64
	}{
		{"own", Hash},
		{"maphash", func(key []byte) uint64 { return maphash.Bytes(seed, key) }},
		{"fnv", func(key []byte) uint64 {
			h := fnv.New64a()
			h.Write(key)
			return h.Sum64()
		}},
	} {
		b.Run(by.name, func(b *testing.B) {
			b.SetBytes(int64(len(keys)))
			sum := uint64(0)
			for b.Loop() {
				for _, key := range keys {
					sum += by.hash(key)
				}
			}
			if sum == 0 {
				b.Error("no hash")
			}
		})
	}
}

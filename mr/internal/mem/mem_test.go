package mem

import (
	"sync"
	"testing"
	"unsafe"

	"pgregory.net/rapid"
)

// TestPool allocates and frees at random: no two hold the same bytes, limits hold, and at the end all is free again.
func TestPool(t *testing.T) {
	const chunks = 150 // more than two words of bits
	rapid.Check(t, func(t *rapid.T) {
		pool, err := New(chunks * Chunk)
		if err != nil {
			t.Fatal(err)
		}
		defer pool.Close()
		a, other := pool.Account(100*Chunk), pool.Account(20*Chunk)
		held := map[*byte][]byte{}
		owner := [chunks]*byte{}
		index := func(b []byte) int {
			return int(uintptr(unsafe.Pointer(&b[0]))-uintptr(unsafe.Pointer(&pool.base[0]))) / Chunk
		}
		for range rapid.IntRange(0, 200).Draw(t, "steps") {
			if n := rapid.IntRange(-2, 20*Chunk).Draw(t, "bytes"); n > 0 {
				before := a.Used()
				b := a.Alloc(n)
				if b == nil {
					if a.Used() != before {
						t.Fatal("refused, but booked")
					}
					continue
				}
				if len(b) < n || a.Used() != before+int64(len(b)) || a.Used() > a.Limit() {
					t.Fatalf("%d bytes for %d, %d booked", len(b), n, a.Used())
				}
				b[0], b[len(b)-1] = 1, 1
				for i := index(b); i < index(b)+len(b)/Chunk; i++ {
					if owner[i] != nil {
						t.Fatal("handed out twice")
					}
					owner[i] = &b[0]
				}
				held[&b[0]] = b
			} else {
				pool.Trim()
				for p, b := range held {
					if b[0] != 1 || b[len(b)-1] != 1 {
						t.Fatal("trimmed what is in use")
					}
					for i := index(b); i < index(b)+len(b)/Chunk; i++ {
						owner[i] = nil
					}
					from := a
					if a.Move([][]byte{b}, other) {
						from = other
					}
					from.Free(b)
					delete(held, p)
					break
				}
			}
		}
		for _, b := range held {
			a.Free(b)
		}
		if a.Used() != 0 || other.Used() != 0 || pool.InUse() != 0 {
			t.Fatalf("%d, %d, %d bytes left", a.Used(), other.Used(), pool.InUse())
		}
		if whole := pool.alloc(chunks); whole == nil {
			t.Fatal("free chunks are not side by side")
		}
	})
}

// BenchmarkChunks takes 256 chunks, writes to each of their pages, and frees them: by an account, by sync.Pool, and by
// Go's heap. Neither of the last two has a limit.
func BenchmarkChunks(b *testing.B) {
	const chunks, page = 256, 4096
	pool, err := New(chunks * Chunk)
	if err != nil {
		b.Fatal(err)
	}
	defer pool.Close()
	account := pool.Account(chunks * Chunk)
	reused := sync.Pool{New: func() any { return (*[Chunk]byte)(make([]byte, Chunk)) }}
	for _, by := range []struct {
		name string
		get  func() []byte
		put  func([]byte)
	}{
		{"own", func() []byte { return account.Alloc(Chunk) }, account.Free},
		{"sync.Pool", func() []byte { return reused.Get().(*[Chunk]byte)[:] },
			func(c []byte) { reused.Put((*[Chunk]byte)(c)) }},
		{"heap", func() []byte { return make([]byte, Chunk) }, func([]byte) {}},
	} {
		b.Run(by.name, func(b *testing.B) {
			b.SetBytes(chunks) // MB/s reads as million chunks a second
			held := make([][]byte, chunks)
			for b.Loop() {
				for i := range held {
					held[i] = by.get()
					for at := 0; at < Chunk; at += page {
						held[i][at]++
					}
				}
				for i, c := range held {
					by.put(c)
					held[i] = nil
				}
			}
		})
	}
}

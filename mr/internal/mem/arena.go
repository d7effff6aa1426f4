package mem

const maxChunks = 1 << 16 // of an arena, so that a reference takes 48 bits

// Arena keeps byte strings side by side in chunks of an account.
type Arena struct {
	Account *Account
	chunks  [][]byte // the last is being filled; a string longer than a chunk has one of its own
	tail    int      // bytes used in the last
}

// Make returns n bytes to write to, and a reference to them. It returns nil if the account has no room, or if the arena
// has 65,536 chunks.
func (a *Arena) Make(n int) (ref uint64, b []byte) {
	if len(a.chunks) == 0 || n > cap(a.chunks[len(a.chunks)-1])-a.tail {
		if len(a.chunks) == maxChunks {
			return 0, nil
		}
		get := a.Account.Alloc
		if len(a.chunks) == 0 {
			get = a.Account.Need // an empty arena takes a string, even while others use up the pool
		}
		c := get(max(n, 1))
		if c == nil {
			return 0, nil
		}
		a.chunks, a.tail = append(a.chunks, c), 0
	}
	last := len(a.chunks) - 1
	b = a.chunks[last][a.tail : a.tail+n]
	ref = uint64(last)<<32 | uint64(a.tail)
	a.tail += n
	return ref, b
}

// Get returns the n bytes that Make returned with ref.
func (a *Arena) Get(ref uint64, n int) []byte {
	at := int(uint32(ref))
	return a.chunks[ref>>32][at : at+n]
}

// At returns the first of the bytes that Make returned with ref.
func (a *Arena) At(ref uint64) *byte { return &a.chunks[ref>>32][uint32(ref)] }

// Used returns the bytes in use: all of each full chunk, and the filled part of the last one.
func (a *Arena) Used() int64 {
	n := int64(a.tail)
	for _, c := range a.chunks[:max(len(a.chunks)-1, 0)] {
		n += int64(len(c))
	}
	return n
}

// Reset forgets all strings and returns their chunks to the account.
func (a *Arena) Reset() {
	for _, c := range a.chunks {
		a.Account.Free(c)
	}
	a.chunks, a.tail = a.chunks[:0], 0
}

package mr

import (
	"sync"

	"github.com/sojourn-sched/sojourn/mr/internal/mem"
)

// smallOutput is the most bytes of a map's output that it is worth moving to a chunk with others for: with a chunk of
// its own, the outputs of ten thousand small maps would fill memory with nothing.
const smallOutput = mem.Chunk / 4

// shelf packs small outputs of maps into chunks that they share.
type shelf struct {
	mu      sync.Mutex
	account *mem.Account
	open    *sharedChunk // being filled; nil: none
}

// sharedChunk holds outputs side by side.
type sharedChunk struct {
	bytes []byte
	used  int
	refs  int // outputs in it, and one for the shelf while it is open
}

// put returns n bytes, at most smallOutput, of a chunk that outputs share; nil where memory has no room.
func (s *shelf) put(n int) (*sharedChunk, []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open != nil && s.open.used+n > len(s.open.bytes) {
		s.let(s.open)
		s.open = nil
	}
	if s.open == nil {
		b := s.account.Alloc(mem.Chunk)
		if b == nil {
			return nil, nil
		}
		s.open = &sharedChunk{bytes: b, refs: 1}
	}
	c := s.open
	at := c.used
	c.used += n
	c.refs++
	return c, c.bytes[at : at+n : at+n]
}

// drop takes an output off its chunk. The last one frees the chunk.
func (s *shelf) drop(c *sharedChunk) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.let(c)
	if c == s.open && c.refs == 1 { // nothing is in it any more
		s.let(c)
		s.open = nil
	}
}

func (s *shelf) let(c *sharedChunk) {
	if c.refs--; c.refs == 0 {
		s.account.Free(c.bytes)
	}
}

package mr

import (
	"github.com/sojourn-sched/sojourn/mr/internal/mem"
	"github.com/sojourn-sched/sojourn/mr/internal/pair"
	"github.com/sojourn-sched/sojourn/mr/internal/spill"
)

// pairLogs are logs of pairs that share the chunks of an account.
type pairLogs struct {
	account *mem.Account
	logs    []pairLog
	chunks  [][]byte // that the logs are in
	spare   []byte   // what is left of the last
	// mostPiece, in bytes: where there are so many logs that a chunk for each would fill memory, pieces stay smaller.
	mostPiece int
}

// pairLog is pairs in the order in which they came, in pieces of whole pairs.
type pairLog struct {
	pieces []piece // full ones
	open   []byte
	opened int   // pairs in open
	pairs  int64 // in all
}

// piece is whole pairs side by side.
type piece struct {
	data  []byte
	pairs int
}

// leastPiece is the size of a log's first piece, in bytes.
const leastPiece = 1 << 10

// newPairLogs makes n empty logs; pieces have at most most bytes, or what a single pair takes.
func newPairLogs(account *mem.Account, n, most int) pairLogs {
	return pairLogs{
		account:   account,
		logs:      make([]pairLog, n),
		mostPiece: int(min(int64(most), account.Limit()/int64(4*n))),
	}
}

// room makes room in log l for a pair of need bytes, its head included, and reports whether there is room.
func (p *pairLogs) room(l *pairLog, need int) bool {
	if need <= cap(l.open)-len(l.open) {
		return true
	}
	if need > len(p.spare) {
		get := p.account.Alloc
		if len(p.chunks) == 0 {
			get = p.account.Need // empty logs take a pair, even while others use up the pool
		}
		b := get(need)
		if b == nil {
			return false
		}
		p.chunks, p.spare = append(p.chunks, b), b
	}
	if len(l.open) > 0 {
		l.pieces = append(l.pieces, piece{l.open, l.opened})
	}
	// Pieces grow with their logs: many logs with little in each share chunks.
	n := max(need, min(max(leastPiece, 2*cap(l.open)), p.mostPiece))
	n = min(n, len(p.spare))
	l.open, l.opened, p.spare = p.spare[:0:n], 0, p.spare[n:]
	return true
}

// put appends a pair. The caller has made room for it.
func (l *pairLog) put(key, value []byte) {
	l.open = pair.Append(l.open, key, value)
	l.opened++
	l.pairs++
}

// all returns all pieces of a log.
func (l *pairLog) all() []piece {
	if len(l.open) == 0 {
		return l.pieces
	}
	return append(l.pieces[:len(l.pieces):len(l.pieces)], piece{l.open, l.opened})
}

// each calls f with all pairs, log by log, in the order in which they came.
func (p *pairLogs) each(f func(key, value []byte)) {
	for i := range p.logs {
		eachPair(p.logs[i].all(), f)
	}
}

func eachPair(pieces []piece, f func(key, value []byte)) {
	for _, p := range pieces {
		for at := 0; at < len(p.data); {
			key, value, next := pair.Parse(p.data, at)
			f(key, value)
			at = next
		}
	}
}

// drop empties all logs and frees their memory.
func (p *pairLogs) drop() {
	for _, b := range p.chunks {
		p.account.Free(b)
	}
	p.chunks, p.spare = p.chunks[:0], nil
	clear(p.logs)
}

// segment returns the pairs of the logs from to to-1 as one segment with a bin for each log.
func (p *pairLogs) segment(from, to int) segment {
	s := segment{ends: make([]int32, 0, to-from)}
	for i := range p.logs[from:to] {
		l := &p.logs[from+i]
		s.pieces = append(s.pieces, l.all()...)
		s.ends = append(s.ends, int32(len(s.pieces)))
		s.pairs += l.pairs
	}
	for _, b := range s.pieces {
		s.bytes += int64(len(b.data))
	}
	return s
}

// segment is pairs of one part and one map: in memory, or sorted in a file.
type segment struct {
	pieces []piece       // in memory, in the order of their bins
	ends   []int32       // where each bin ends in pieces
	path   string        // of the file; "": the pairs are in memory
	file   spill.Segment // where in the file
	pairs  int64
	bytes  int64 // that the pairs take, in memory or in the file
}

// bin returns the pieces of bin i.
func (s *segment) bin(i int) []piece {
	from := int32(0)
	if i > 0 {
		from = s.ends[i-1]
	}
	return s.pieces[from:s.ends[i]]
}

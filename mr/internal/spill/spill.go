// Package spill writes and reads files of sorted pairs, in checksummed, compressed blocks: what maps spill, and what
// reduces merge in several passes.
//
// A block is a head of 12 bytes, little-endian, and a body:
//
//	bytes of the pairs | bytes of the body | CRC32C of the first 8 bytes of the head and of the body
//
// The body is the pairs (package pair), whole ones only, compressed with S2; or as they are where both lengths are the
// same.
package spill

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"

	"github.com/klauspost/compress/s2"

	"github.com/sojourn-sched/sojourn/mr/internal/mem"
	"github.com/sojourn-sched/sojourn/mr/internal/pair"
)

const (
	headBytes = 12
	// BlockBytes is how many bytes of pairs a block holds; more if a single pair needs it.
	BlockBytes = mem.Chunk
	// ReaderBytes is what a reader takes of its account; more if a single pair needs it.
	ReaderBytes = 2 * mem.Chunk
	maxBlock    = 1<<32 - 1
)

// ErrCorrupt: a file does not hold what was written to it.
var ErrCorrupt = errors.New("checksum or structure wrong")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Segment is a sorted part of a file.
type Segment struct {
	Offset, Length int64 // bytes in the file
	Pairs, Bytes   int64 // how many pairs, and their bytes in memory
}

// Writer writes a file, segment after segment.
type Writer struct {
	file   *os.File
	at     int64
	seg    Segment
	raw    []byte // pairs of the open block
	packed []byte
	failed error
}

// Create makes a new file.
func Create(path string) (*Writer, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	return &Writer{file: f}, nil
}

// Append adds a pair to the open segment; keys come in order. What goes wrong End reports.
func (w *Writer) Append(key, value []byte) {
	if len(w.raw)+len(key)+len(value)+pair.MaxHead > BlockBytes {
		w.flush()
	}
	w.raw = pair.Append(w.raw, key, value)
	w.seg.Pairs++
}

func (w *Writer) flush() {
	if len(w.raw) == 0 || w.failed != nil {
		w.raw = w.raw[:0]
		return
	}
	if len(w.raw) > maxBlock {
		w.failed = fmt.Errorf("write %s: a pair of %d bytes; at most 4 GiB", w.file.Name(), len(w.raw))
		return
	}
	if need := headBytes + s2.MaxEncodedLen(len(w.raw)); cap(w.packed) < need {
		w.packed = make([]byte, need)
	}
	body := s2.Encode(w.packed[headBytes:cap(w.packed)], w.raw)
	if len(body) >= len(w.raw) {
		body = w.packed[headBytes : headBytes+copy(w.packed[headBytes:cap(w.packed)], w.raw)]
	}
	block := w.packed[:headBytes+len(body)]
	binary.LittleEndian.PutUint32(block, uint32(len(w.raw)))
	binary.LittleEndian.PutUint32(block[4:], uint32(len(body)))
	binary.LittleEndian.PutUint32(block[8:], checksum(block, body))
	_, w.failed = w.file.Write(block)
	w.at += int64(len(block))
	w.seg.Bytes += int64(len(w.raw))
	w.raw = w.raw[:0]
	if cap(w.raw) > 4*BlockBytes { // a huge pair went through
		w.raw, w.packed = nil, nil
	}
}

func checksum(head, body []byte) uint32 {
	return crc32.Update(crc32.Checksum(head[:8], castagnoli), castagnoli, body)
}

// End ends the open segment and opens the next.
func (w *Writer) End() (Segment, error) {
	w.flush()
	s := w.seg
	s.Length = w.at - s.Offset
	w.seg = Segment{Offset: w.at}
	return s, w.failed
}

// Close closes the file; what was not ended is lost.
func (w *Writer) Close() error { return w.file.Close() }

// Reader reads a segment. It opens the file for each block anew, so that any number of segments costs no open files.
type Reader struct {
	path    string
	seg     Segment
	account *mem.Account
	at      int64 // in the file
	pairs   int64 // read so far
	block   []byte
	pos     int // in block
	raw     buffer
	packed  buffer
	Key     []byte // lent until Next
	Value   []byte // lent until Next
}

// NewReader reads a segment of the file at path, with buffers of an account, or of Go's heap where that is used up.
func NewReader(path string, s Segment, account *mem.Account) *Reader {
	return &Reader{path: path, seg: s, account: account, at: s.Offset}
}

// Close gives the buffers back; what was lent is gone. Closing twice is fine, and the end of the segment closes too.
func (r *Reader) Close() {
	r.raw.free(r.account)
	r.packed.free(r.account)
	r.block, r.pos = nil, 0
}

type buffer struct {
	bytes []byte
	heap  bool
}

// size gives n bytes, not what they held before.
func (b *buffer) size(n int, account *mem.Account) []byte {
	if n > cap(b.bytes) {
		b.free(account)
		b.bytes = account.Alloc(n)
		if b.heap = b.bytes == nil; b.heap {
			b.bytes = make([]byte, n)
		}
	}
	return b.bytes[:n]
}

func (b *buffer) free(account *mem.Account) {
	if !b.heap {
		account.Free(b.bytes)
	}
	b.bytes = nil
}

// Next moves to the next pair. At the end it gives io.EOF; ErrCorrupt, wrapped, where the file is not what was written.
func (r *Reader) Next() error {
	if r.pos >= len(r.block) {
		if err := r.fill(); err != nil {
			return err
		}
	}
	var next int
	r.Key, r.Value, next = pair.Parse(r.block, r.pos)
	if next < 0 || r.pairs == r.seg.Pairs {
		return r.corrupt("pairs do not fill their block")
	}
	r.pos = next
	r.pairs++
	return nil
}

// Buffered reports whether the next pair comes from the block that the last one came from.
func (r *Reader) Buffered() bool { return r.pos < len(r.block) }

// Block makes sure that a pair is Buffered; errors as of Next.
func (r *Reader) Block() error {
	if r.Buffered() {
		return nil
	}
	return r.fill()
}

// Rest is what is left of the block, whole pairs, lent until the next call; it counts as read.
func (r *Reader) Rest() ([]byte, error) {
	from := r.pos
	for r.Buffered() {
		k, v, p := pair.Head(r.block, r.pos)
		if p < 0 {
			return nil, r.corrupt("pairs do not fill their block")
		}
		r.pos = p + k + v
		r.pairs++
	}
	return r.block[from:], nil
}

func (r *Reader) corrupt(what string) error {
	return fmt.Errorf("read %s at byte %d: %s: %w", r.path, r.at, what, ErrCorrupt)
}

func (r *Reader) fill() error {
	left := r.seg.Offset + r.seg.Length - r.at
	if left == 0 {
		if r.pairs != r.seg.Pairs {
			return r.corrupt(fmt.Sprintf("%d pairs, want %d", r.pairs, r.seg.Pairs))
		}
		r.Close()
		return io.EOF
	}
	f, err := os.Open(r.path)
	if err != nil {
		return err
	}
	defer f.Close()
	var head [headBytes]byte
	if left < headBytes {
		return r.corrupt("head cut off")
	}
	if err := r.readAt(f, head[:], r.at); err != nil {
		return err
	}
	rawLen := int(binary.LittleEndian.Uint32(head[:]))
	bodyLen := int(binary.LittleEndian.Uint32(head[4:]))
	if int64(bodyLen) > left-headBytes || bodyLen > rawLen || bodyLen == 0 {
		return r.corrupt("length of a block")
	}
	body := r.packed.size(bodyLen, r.account)
	if err := r.readAt(f, body, r.at+headBytes); err != nil {
		return err
	}
	if checksum(head[:], body) != binary.LittleEndian.Uint32(head[8:]) {
		return r.corrupt("checksum")
	}
	r.block = body
	if bodyLen < rawLen {
		if n, err := s2.DecodedLen(body); err != nil || n != rawLen {
			return r.corrupt("length of the pairs")
		}
		if r.block, err = s2.Decode(r.raw.size(rawLen, r.account), body); err != nil {
			return r.corrupt("compressed pairs")
		}
	}
	r.at += headBytes + int64(bodyLen)
	r.pos = 0
	return nil
}

func (r *Reader) readAt(f *os.File, b []byte, at int64) error {
	if _, err := f.ReadAt(b, at); err == io.EOF {
		return r.corrupt("file cut off")
	} else if err != nil {
		return err
	}
	return nil
}

package input

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/sojourn-sched/sojourn/internal/unpack"
)

// source yields the bytes of a file from its beginning to its end, in blocks.
type source interface {
	// block returns a block that begins with the last keep bytes of the block before, and has at least one byte more
	// unless the file ends (last). The last block has room for one more byte after its end. Blocks are lent until the
	// next call.
	block(keep int) (b []byte, last bool, err error)
	// free frees the memory of the blocks.
	free()
}

// sizes are the parameters of reading. Tests make them small.
type sizes struct {
	// mapFrom is the length in bytes from which a range is mapped; shorter ranges are read into a buffer. A mapping
	// costs system calls, page faults and an interrupt to other cores, which pays from a few hundred kilobytes on.
	mapFrom int64
	// window is how much of a file is mapped at a time. The part before it is unmapped, so that resident memory stays
	// bounded.
	window int64
	// buffer is how many bytes are read at a time.
	buffer int
	// batch is the greatest length of a batch of records, unless one record is longer. It is small enough that the job
	// reads the batch from the core's own cache, and large enough that the cost of a batch does not matter.
	batch int
}

var tuned = sizes{mapFrom: 512 << 10, window: 16 << 20, buffer: 256 << 10, batch: 256 << 10}

// leastWindow is the memory in bytes that a zstd frame may ask for however little a task has: the levels of the zstd
// command up to 19 need that much.
const leastWindow = 8 << 20

// mapped reads a regular file by memory mapping. At 15 GB/s from the page cache that is half again as fast as reading
// into a buffer that stays in the cache. From a disk both reached 1.8 GB/s, by the kernel's read-ahead; advice calls
// (sequential, will need) halved that.
type mapped struct {
	f      *os.File
	size   int64
	window int64
	next   int64  // where in the file the last block ended
	mem    []byte // the mapping, with a page more than the file needs
}

func (m *mapped) block(keep int) (b []byte, last bool, err error) {
	m.free()
	page := int64(os.Getpagesize())
	from := m.next - int64(keep)
	base := from &^ (page - 1)
	// A record longer than half a window makes the window grow: address space, not memory.
	end := min((from+max(m.window, 2*int64(keep))+page-1)&^(page-1), m.size)
	if last = end == m.size; last {
		err = m.reserve(base, end, page, unix.PROT_READ|unix.PROT_WRITE)
	} else {
		err = m.reserve(base, end, page, unix.PROT_READ)
	}
	if err != nil {
		return nil, false, fmt.Errorf("map: %w", err)
	}
	m.next = end
	return m.mem[from-base : end-base : end-base+1], last, nil
}

// reserve maps [base, end) of the file, privately, and behind it at least one byte of zeros that may be written: a last
// line without a newline gets one there, without a copy of the line.
func (m *mapped) reserve(base, end, page int64, protection int) error {
	length := uintptr((end-base)/page*page + page)
	at, err := unix.MmapPtr(-1, 0, nil, length, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return err
	}
	m.mem = unsafe.Slice((*byte)(at), length)
	if end > base {
		_, err = unix.MmapPtr(int(m.f.Fd()), base, at, uintptr(end-base), protection, unix.MAP_PRIVATE|unix.MAP_FIXED)
	}
	return err
}

func (m *mapped) free() {
	if m.mem != nil {
		// Unmapping what was mapped fails only if it was not.
		_ = unix.MunmapPtr(unsafe.Pointer(unsafe.SliceData(m.mem)), uintptr(len(m.mem)))
		m.mem = nil
	}
}

func (m *mapped) contains(address uintptr) bool {
	start := uintptr(unsafe.Pointer(unsafe.SliceData(m.mem)))
	return address >= start && address < start+uintptr(len(m.mem))
}

// Memory gives a Reader memory for records that are longer than its own buffers.
type Memory interface {
	// Alloc returns at least n bytes, or nil if there is no room for them.
	Alloc(n int) []byte
	Free(b []byte)
	// Limit is how many bytes Alloc can return at most.
	Limit() int64
}

// heap is Go's heap as a Memory.
type heap struct{}

func (heap) Alloc(n int) []byte { return make([]byte, n) }
func (heap) Free([]byte)        {}
func (heap) Limit() int64       { return 2 * maxRecord }

// buffered reads from any Reader through a buffer, which doubles for a record longer than half of it. Records up to
// half of size bytes are in a buffer on Go's heap, longer ones in memory.
type buffered struct {
	r      io.Reader
	buf    *[]byte // of size bytes; kept by the Reader from file to file
	size   int
	memory Memory
	large  []byte       // taken from memory, and used instead of buf; nil: none
	end    int          // the end of the last block in the buffer
	stored func() int64 // how many bytes were read as stored (compressed)
	mark   int64        // stored() before the block in which the present record began
}

// block implements source. If the bytes to keep are more than half of the buffer, they move to a buffer of twice the
// size.
func (s *buffered) block(keep int) (b []byte, last bool, err error) {
	if len(*s.buf) == 0 {
		*s.buf = make([]byte, s.size)
	}
	buf := s.large
	if buf == nil {
		buf = *s.buf
	}
	kept := buf[s.end-keep : s.end]
	if keep > len(buf)/2 {
		if err := s.grow(2*len(buf), int64(keep)+1); err != nil {
			return nil, false, err
		}
		old := buf
		buf = s.large
		copy(buf, kept)
		if len(old) > s.size {
			s.memory.Free(old)
		}
	} else {
		s.mark = s.stored()
		copy(buf, kept)
	}
	n := keep
	for n < len(buf)-1 {
		var k int
		k, err = s.r.Read(buf[n : len(buf)-1])
		if n += k; err != nil {
			break
		}
	}
	s.end = n
	if err == io.EOF {
		return buf[:n:len(buf)], true, nil
	}
	return buf[:n], false, err
}

// grow takes n bytes from memory for a record of at least least bytes, which must be within unpack.Record.
func (s *buffered) grow(n int, least int64) error {
	limits := &unpack.Record
	if stored := s.stored() - s.mark; least >= limits.Floor && least > limits.Ratio*stored {
		return fmt.Errorf("%w: more than %d MiB, expanded from %d bytes; data that expands so far is refused",
			ErrTooLong, least>>20, stored)
	}
	large := s.memory.Alloc(n)
	if large == nil {
		return tooLong(int(least), s.memory)
	}
	s.large = large
	return nil
}

// tooLong returns the error for a record of n bytes for which memory has no room.
func tooLong(n int, memory Memory) error {
	return fmt.Errorf("%w: more than %d MiB, and a task may use %d MiB to read a record; more memory helps", ErrTooLong,
		n>>20, memory.Limit()>>20)
}

func (s *buffered) free() {
	if s.large != nil {
		s.memory.Free(s.large)
		s.large = nil
	}
}

// headBytes is how many first bytes of a file tell its codec, or that it is an archive.
const headBytes = tarMagicAt + len(tarMagic)

// tarMagic is at byte tarMagicAt of a tar archive (POSIX.1, ustar), whose header has bytes of zero too.
const (
	tarMagic   = "ustar"
	tarMagicAt = 257
)

// archiveMagic are the first four bytes of archives.
var archiveMagic = map[string]*archive{"PK\x03\x04": zipArchive, "7z\xbc\xaf": sevenZip, "Obj\x01": avroFile}

// codecIn returns the codec that the first bytes of data without a name tell.
func codecIn(head []byte) (Codec, error) {
	codec, format := unpack.Sniff(head)
	if format != "" {
		return Plain, fmt.Errorf("%w: %s is not read: decompress it, as in %s -dc FILE | sojourn run JOB --input -",
			ErrCorrupt, format, format)
	}
	a := archiveMagic[string(head[:min(4, len(head))])]
	if bytes.HasPrefix(head[min(tarMagicAt, len(head)):], []byte(tarMagic)) && bytes.IndexByte(head, 0) >= 0 {
		a = tarArchive
	}
	if a != nil {
		return Plain, fmt.Errorf("%w: %w", ErrCorrupt, a.refuse())
	}
	return Codec(codec), nil
}

// decompressed returns the decompressed bytes of r, which is file f. The first bytes tell the codec of a pipe. The
// window of a zstd frame may take at most room bytes, or leastWindow if that is more.
func decompressed(d *unpack.Decoders, r io.Reader, f *File, room int64) (io.Reader, error) {
	d.Reset(r)
	head, err := d.Head(headBytes)
	if err != nil {
		return nil, err
	}
	codec := f.Codec
	switch {
	case f.Pipe:
		if codec, err = codecIn(head); err != nil {
			return nil, err
		}
	case len(head) == 0:
		return nil, fmt.Errorf("%w: the name says %s, and the file is empty: %s data of nothing has some bytes too",
			ErrCorrupt, codec, codec)
	case !unpack.Codec(codec).Begins(head):
		return nil, fmt.Errorf("%w: the name says %s, the first bytes do not", ErrCorrupt, codec)
	}
	from := decoder{codec: codec, window: max(leastWindow, min(unpack.Record.Window, room))}
	text, err := d.Open(unpack.Codec(codec), from.window)
	if err != nil || codec == Plain {
		return text, from.explain(err)
	}
	from.r = text
	return from, nil
}

// decoder is a Reader of decompressed data whose errors say that the data is damaged, also if it ends too early.
type decoder struct {
	r      io.Reader
	codec  Codec
	window int64 // the largest that is allowed, in bytes; zstd only
}

func (d decoder) Read(p []byte) (int, error) {
	n, err := d.r.Read(p)
	if err != nil && err != io.EOF {
		err = d.explain(err)
	}
	return n, err
}

func (d decoder) explain(err error) error {
	var pe *os.PathError
	switch {
	case err == nil || errors.As(err, &pe): // the file cannot be read: the data may be right
		return err
	case errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF):
		return fmt.Errorf("%w: the %s data ends too early", ErrCorrupt, d.codec)
	case unpack.TooWide(err):
		return fmt.Errorf("%w: the zstd data needs a window of more than %d MiB; compress it without --long "+
			"or --ultra, or allow more memory", ErrTooLong, d.window>>20)
	}
	return fmt.Errorf("%w: %s: %w", ErrCorrupt, d.codec, err)
}

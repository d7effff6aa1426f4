package input

import (
	"bufio"
	"bytes"
	"compress/bzip2"
	"errors"
	"fmt"
	"io"
	"os"
	"unsafe"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"golang.org/x/sys/unix"
)

// source yields the bytes of one file front to back, in blocks lent until the next call.
type source interface {
	// block returns a block that begins with the last keep bytes of the one before and has at least one byte more,
	// unless the file ends: last. A last block has room for one more byte after its end.
	block(keep int) (b []byte, last bool, err error)
	// free gives back what the blocks lie in.
	free()
}

// sizes are what reading is tuned by; tests make them small.
type sizes struct {
	// mapFrom: ranges below this are read into a buffer. Mapping costs system calls, page faults and an interrupt to
	// the other cores, which only pays when spread over a few hundred kilobytes.
	mapFrom int64
	// window of a file that is mapped at a time; what is behind is unmapped, so resident memory stays bounded.
	window int64
	// buffer is what is read at a time.
	buffer int
	// batch bounds a batch, unless one record is larger: small enough to stay in a core's own cache from finding the
	// last line's end to the job's reading it, large enough that what is done once a batch costs nothing.
	batch int
}

var tuned = sizes{mapFrom: 512 << 10, window: 16 << 20, buffer: 256 << 10, batch: 256 << 10}

// zstdWindow is the most that a zstd frame may ask of memory: the limit of the zstd command.
const zstdWindow = 128 << 20

// mapped yields a regular file by memory mapping, which at 15 GB/s from the page cache is half again as fast as reading
// it into a buffer that stays in the cache. From a disk both reach 1.8 GB/s here, by the kernel's own reading ahead:
// its advice calls (sequential, will need) halved that.
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

// reserve maps [base, end) of the file, privately, with at least one more byte of zeros behind it that is ours: a line
// without its newline gets one there, at the cost of one page, however long it is.
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

// buffered yields whatever can be read, through a buffer that grows only for a record longer than half of it.
type buffered struct {
	r    io.Reader
	buf  *[]byte // kept by the Reader from file to file
	size int     // of a new buf
	end  int     // of the last block in buf
}

func (s *buffered) block(keep int) (b []byte, last bool, err error) {
	buf := *s.buf
	kept := buf[s.end-keep : s.end]
	if len(buf) == 0 || keep > len(buf)/2 {
		buf = make([]byte, max(s.size, 2*len(buf)))
	}
	copy(buf, kept)
	*s.buf = buf
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

func (s *buffered) free() {}

// decoders decompress; a Reader keeps them from file to file, for their tables are large.
type decoders struct {
	file  *bufio.Reader
	count counter
	gzip  *gzip.Reader
	zstd  *zstd.Decoder
}

// counter counts the stored bytes that a decoder has taken.
type counter struct {
	r io.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// taken is how many of the stored bytes have been decoded, or are about to be.
func (d *decoders) taken() int64 {
	if d.file == nil {
		return 0
	}
	return d.count.n - int64(d.file.Buffered())
}

var magic = [...][]byte{Gzip: {0x1f, 0x8b}, Zstd: {0x28, 0xb5, 0x2f, 0xfd}, Bzip2: []byte("BZh")}

// zstdSkippable are the three bytes after the first, 0x50 to 0x5f, of a frame that holds no data (RFC 8878, 3.1.2);
// tools put one in front of their data.
var zstdSkippable = []byte{0x2a, 0x4d, 0x18}

func hasMagic(codec Codec, head []byte) bool {
	if codec == Zstd && len(head) >= 4 && head[0]&0xf0 == 0x50 && bytes.Equal(head[1:4], zstdSkippable) {
		return true
	}
	return bytes.HasPrefix(head, magic[codec])
}

// open returns the decompressed bytes of r. A pipe's codec is found from its first bytes.
func (d *decoders) open(r io.Reader, f *File) (io.Reader, error) {
	d.count = counter{r: r}
	if d.file == nil {
		d.file = bufio.NewReaderSize(nil, 64<<10)
	}
	d.file.Reset(&d.count)
	head, err := d.file.Peek(4)
	if err != nil && err != io.EOF {
		return nil, err
	}
	codec := f.Codec
	if f.Pipe {
		for c := Gzip; c <= Bzip2; c++ {
			if hasMagic(c, head) {
				codec = c
			}
		}
	} else if !hasMagic(codec, head) {
		return nil, fmt.Errorf("%w: the name says %s, the first bytes do not", ErrCorrupt, codec)
	}
	switch codec {
	case Gzip:
		if d.gzip == nil {
			d.gzip = new(gzip.Reader)
		}
		err = d.gzip.Reset(d.file)
		return decoder{d.gzip, codec}, decoder{codec: codec}.explain(err)
	case Zstd:
		if d.zstd == nil {
			d.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(zstdWindow))
			if err != nil {
				return nil, err
			}
		}
		err = d.zstd.Reset(d.file)
		return decoder{d.zstd, codec}, decoder{codec: codec}.explain(err)
	case Bzip2:
		return decoder{bzip2.NewReader(d.file), codec}, nil
	}
	return d.file, nil
}

// decoder says in every error that it is the data which is wrong; the end of the data in the middle of it included.
type decoder struct {
	r     io.Reader
	codec Codec
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
	case err == nil || errors.As(err, &pe): // the disk's fault, not the data's
		return err
	case errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF):
		return fmt.Errorf("%w: the %s data ends too early", ErrCorrupt, d.codec)
	case errors.Is(err, zstd.ErrWindowSizeExceeded):
		return fmt.Errorf("%w: the zstd data needs a window of more than %d MiB", ErrCorrupt, zstdWindow>>20)
	}
	return fmt.Errorf("%w: %s: %w", ErrCorrupt, d.codec, err)
}

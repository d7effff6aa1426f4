// Package unpack opens text that gzip, zstd or bzip2 may have compressed, and bounds what decompressing it may cost.
//
// A few kilobytes of compressed zeros become gigabytes, and a header of a few bytes may ask for a window of as much. A
// Reader therefore refuses text that expands beyond Limits, before the text reaches a parser. Memory is bounded by the
// window; time is bounded by the bytes that come out.
package unpack

import (
	"bufio"
	"bytes"
	"compress/bzip2"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// Limits bound what one compressed stream may take. Text that is not compressed has no limit.
type Limits struct {
	Ratio  int64  // most bytes out for each byte in, beyond Floor
	Floor  int64  // bytes that may come out whatever the ratio is
	Window uint64 // most memory in bytes that a zstd frame may ask for; gzip needs 32 KiB, bzip2 4 MiB
}

// Text are the limits for traces and configuration. Text of real clusters shrinks to between a third and a twentieth
// (the Rumen traces of Hadoop 3.4: 18 to 1); the window is that of the zstd command without --ultra and --long=28.
var Text = Limits{Ratio: 100, Floor: 16 << 20, Window: 128 << 20}

// The reasons for which a Reader refuses text. Errors name the limit.
var (
	ErrExpands = errors.New("the compressed text expands too much")
	ErrWindow  = errors.New("the zstd frame asks for too large a window")
	ErrXZ      = errors.New("xz is not read: decompress it, or store it as .gz, .zst or .bz2")
)

var (
	gzipMagic  = []byte{0x1f, 0x8b}
	zstdMagic  = []byte{0x28, 0xb5, 0x2f, 0xfd}
	bzip2Magic = []byte("BZh")
	xzMagic    = []byte{0xfd, '7', 'z', 'X'}
)

// buffered is how many bytes are read from the source at a time.
const buffered = 64 << 10

// A Reader yields the text of a source, decompressed where the first bytes of the source say so.
type Reader struct {
	limits Limits
	in     counter
	source *bufio.Reader
	text   io.Reader
	packed bool
	out    int64 // bytes of text so far
	close  func()
}

// counter counts the bytes that are read from r.
type counter struct {
	r io.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// NewReader returns a Reader of r. It reads the first bytes of r to find the compression.
func NewReader(r io.Reader, l Limits) (*Reader, error) {
	u := &Reader{limits: l, in: counter{r: r}, close: func() {}}
	u.source = bufio.NewReaderSize(&u.in, buffered)
	u.text = u.source
	magic, _ := u.source.Peek(4) // an error comes again with the first Read
	switch {
	case bytes.HasPrefix(magic, gzipMagic):
		z, err := gzip.NewReader(u.source)
		if err != nil {
			return nil, err
		}
		u.text, u.packed = z, true
	case bytes.HasPrefix(magic, zstdMagic):
		z, err := zstd.NewReader(u.source, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(l.Window))
		if err != nil {
			return nil, u.explain(err)
		}
		u.text, u.packed, u.close = z, true, z.Close
	case bytes.HasPrefix(magic, bzip2Magic):
		u.text, u.packed = bzip2.NewReader(u.source), true
	case bytes.HasPrefix(magic, xzMagic):
		return nil, ErrXZ
	}
	return u, nil
}

// Read implements io.Reader. Its error is ErrExpands or ErrWindow where a limit is exceeded.
func (u *Reader) Read(p []byte) (int, error) {
	n, err := u.text.Read(p)
	if !u.packed {
		return n, err
	}
	u.out += int64(n)
	if most := u.most(); u.out > most {
		return 0, fmt.Errorf("%w: more than %d MiB from %d bytes", ErrExpands, most>>20, u.taken())
	}
	if err != nil && err != io.EOF {
		err = u.explain(err)
	}
	return n, err
}

// most returns how many bytes of text may have come out of what was taken in.
func (u *Reader) most() int64 { return u.limits.Floor + u.limits.Ratio*u.taken() }

// taken returns how many compressed bytes were decompressed, or are about to be.
func (u *Reader) taken() int64 { return u.in.n - int64(u.source.Buffered()) }

// explain turns the decoder's errors about its window into ErrWindow.
func (u *Reader) explain(err error) error {
	if errors.Is(err, zstd.ErrWindowSizeExceeded) || errors.Is(err, zstd.ErrDecoderSizeExceeded) {
		return fmt.Errorf("%w: more than %d MiB", ErrWindow, u.limits.Window>>20)
	}
	return err
}

// Close releases the memory of the decoder. It does not close the source.
func (u *Reader) Close() { u.close() }

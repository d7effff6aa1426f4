package unpack

import (
	"bufio"
	"compress/bzip2"
	"errors"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// Decoders decompress streams, one after the other. They keep their buffers and tables from stream to stream, because
// these are large. The zero value is ready; it belongs to one goroutine at a time.
type Decoders struct {
	in     counter
	source *bufio.Reader
	gzip   *gzip.Reader
	zstd   *zstd.Decoder
	window int64 // of zstd
}

// buffered is how many bytes are read from a stream at a time.
const buffered = 64 << 10

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

// Reset forgets the stream that was decompressed, and makes r the next one. nil: there is none yet.
func (d *Decoders) Reset(r io.Reader) {
	d.in = counter{r: r}
	if d.source != nil {
		d.source.Reset(&d.in)
	}
}

// Head returns the first n bytes of the stream, or all if there are fewer. It is called before Open, which begins with
// these bytes, too. They are lent until then. n is at most 64 KiB.
func (d *Decoders) Head(n int) ([]byte, error) {
	if d.source == nil {
		d.source = bufio.NewReaderSize(&d.in, buffered)
	}
	head, err := d.source.Peek(n)
	if err == io.EOF {
		err = nil
	}
	return head, err
}

// Open returns the decompressed bytes of the stream. It is called after Head. A zstd frame may ask for at most window
// bytes of memory (TooWide says whether an error is about that); gzip needs 32 KiB, bzip2 4 MiB.
func (d *Decoders) Open(c Codec, window int64) (r io.Reader, err error) {
	switch c {
	case Gzip:
		if d.gzip == nil {
			d.gzip = new(gzip.Reader)
		}
		return d.gzip, d.gzip.Reset(d.source)
	case Zstd:
		if d.zstd != nil && d.window != window {
			d.Close()
		}
		if d.zstd == nil {
			d.window = window
			d.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
				zstd.WithDecoderMaxWindow(uint64(window)))
			if err != nil {
				return nil, err
			}
		}
		return d.zstd, d.zstd.Reset(d.source)
	case Bzip2:
		return bzip2.NewReader(d.source), nil
	}
	return d.source, nil
}

// Taken returns how many bytes of the stream have been decoded, or are in a decoder.
func (d *Decoders) Taken() int64 {
	if d.source == nil {
		return 0
	}
	return d.in.n - int64(d.source.Buffered())
}

// Close frees the memory of the decoders. They can be used again.
func (d *Decoders) Close() {
	if d.zstd != nil {
		d.zstd.Close()
		d.zstd = nil
	}
}

// TooWide reports whether err, which a decoder returned, says that a zstd frame asks for too large a window.
func TooWide(err error) bool {
	return errors.Is(err, zstd.ErrWindowSizeExceeded) || errors.Is(err, zstd.ErrDecoderSizeExceeded)
}

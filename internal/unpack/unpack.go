// Package unpack decompresses what gzip, zstd or bzip2 may have compressed, and bounds what that may cost.
//
// A few kilobytes of compressed zeros become gigabytes, and a header of a few bytes may ask for a window of as much.
// This package owns what there is against that: which first bytes tell a codec (Sniff), what a decoder may take
// (Decoders), and how far text or a record may expand (Limits). A Reader refuses text that expands beyond its Limits
// before the text reaches a parser. The input of jobs, whose records are bounded one by one, uses Decoders.
package unpack

import (
	"errors"
	"fmt"
	"io"
)

// Limits bound what compressed bytes may become. What is not compressed has no limit.
type Limits struct {
	Ratio  int64 // bytes that may come out for each byte in
	Floor  int64 // bytes that may come out whatever the ratio is
	Window int64 // most memory in bytes that a zstd frame may ask for
}

// Text of real clusters shrinks to between a third and a twentieth (the Rumen traces of Hadoop 3.4: 18 to 1), the most
// regular logs to a hundredth. The window is that of the zstd command without --ultra and --long=28.
var (
	// Text are the limits for traces and configuration. A parser may keep all of the text, so the stream as a whole is
	// bounded: it may become Floor bytes, and Ratio for each of its own.
	Text = Limits{Ratio: 100, Floor: 16 << 20, Window: 128 << 20}
	// Record are the limits for a record of a job's input. A job keeps no more than one record, so the input may be of
	// any length: a record may become Floor bytes, or Ratio for each of its own if that is more.
	Record = Limits{Ratio: 200, Floor: 64 << 20, Window: 128 << 20}
)

// The reasons for which a Reader refuses text. Errors name the limit.
var (
	ErrExpands = errors.New("the compressed text expands too much")
	ErrWindow  = errors.New("the zstd frame asks for too large a window")
	ErrUnread  = errors.New("is not read: decompress it, or store it as .gz, .zst or .bz2")
)

// A Reader yields the text of a source, decompressed where the first bytes of the source say so.
type Reader struct {
	limits   Limits
	decoders Decoders
	text     io.Reader
	codec    Codec
	out      int64 // bytes of text so far
}

// NewReader returns a Reader of r. It reads the first bytes of r to find the compression.
func NewReader(r io.Reader, l Limits) (*Reader, error) {
	u := &Reader{limits: l}
	u.decoders.Reset(r)
	head, _ := u.decoders.Head(headBytes) // an error comes again with the first Read
	codec, format := Sniff(head)
	if format != "" {
		return nil, fmt.Errorf("%s %w", format, ErrUnread)
	}
	text, err := u.decoders.Open(codec, l.Window)
	if err != nil {
		return nil, u.explain(err)
	}
	u.codec, u.text = codec, text
	return u, nil
}

// Read implements io.Reader. Its error is ErrExpands or ErrWindow where a limit is exceeded.
func (u *Reader) Read(p []byte) (int, error) {
	n, err := u.text.Read(p)
	if u.codec == Plain {
		return n, err
	}
	u.out += int64(n)
	if most := u.limits.Floor + u.limits.Ratio*u.decoders.Taken(); u.out > most {
		return 0, fmt.Errorf("%w: more than %d MiB from %d bytes", ErrExpands, most>>20, u.decoders.Taken())
	}
	if err != nil && err != io.EOF {
		err = u.explain(err)
	}
	return n, err
}

// explain turns the decoder's errors about its window into ErrWindow.
func (u *Reader) explain(err error) error {
	if TooWide(err) {
		return fmt.Errorf("%w: more than %d MiB", ErrWindow, u.limits.Window>>20)
	}
	return err
}

// Close releases the memory of the decoder. It does not close the source.
func (u *Reader) Close() { u.decoders.Close() }

package rpc

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync/atomic"
	"time"
)

// ErrFrameTooLong means that a peer announced a frame longer than the limit.
var ErrFrameTooLong = errors.New("frame too long")

const (
	readBuffer = 4 << 10  // holds most frames
	growBy     = 64 << 10 // how much memory a long frame gets before that much of it has arrived
	keepBuffer = 64 << 10 // a larger buffer is not kept
	freeBuffer = 16 << 10 // a smaller buffer of replies, or of the last request, does not count in the Room
	// keepBuffer for replies to a peer that has proved who it is: an ApplicationMaster that is granted hundreds of
	// containers at once will be again
	keepReplies = 1 << 20
	deadlineLag = time.Second // a deadline that is wrong by less is not moved
)

// A frameReader cuts what a peer sends into frames, and gives up a peer that is slow or silent. A connection on which
// nothing is sent has a buffer of 4 KiB. A long frame takes memory as it arrives, not as it is announced.
type frameReader struct {
	conn     net.Conn
	buf      *bufio.Reader
	taken    int           // bytes at the head of buf that the last frame lent
	long     []byte        // a frame that buf cannot hold
	idle     time.Duration // between frames
	transfer time.Duration // for the rest of a frame
	deadline time.Time     // as last set
	until    time.Time     // no deadline is after it; zero: any may be
	stopped  atomic.Bool   // no more frames are wanted
	last     int           // bytes of the last frame, its length included
	share    Share         // of memory: what long takes
	passive  bool          // deadlines are set by another reader
}

func newFrameReader(conn net.Conn, idle, transfer time.Duration) *frameReader {
	return &frameReader{conn: conn, buf: bufio.NewReaderSize(conn, readBuffer), idle: idle, transfer: transfer}
}

// stop makes next return an error, at once if it waits. It may be called from any goroutine.
func (f *frameReader) stop() {
	f.stopped.Store(true)
	f.conn.SetReadDeadline(time.Unix(1, 0))
}

// next returns the next frame without its length: most bytes or fewer. The frame is lent until the next call. io.EOF:
// the peer has closed the connection between frames.
func (f *frameReader) next(most int) ([]byte, error) {
	f.buf.Discard(f.taken)
	f.taken = 0
	if cap(f.long) > 0 && (cap(f.long) > keepBuffer || !f.share.Keep(cap(f.long))) {
		f.long = nil
		f.share.Hold(0)
	}
	if f.buf.Buffered() < 4 {
		f.wait(f.idle)
	}
	head, err := f.buf.Peek(4)
	if err != nil {
		if len(head) > 0 && err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	announced := binary.BigEndian.Uint32(head)
	if announced > uint32(most) {
		return nil, fmt.Errorf("%w: %d bytes, at most %d", ErrFrameTooLong, announced, most)
	}
	n := int(announced)
	f.last = 4 + n
	if f.buf.Buffered() < 4+n {
		f.wait(f.transfer)
	}
	if 4+n <= readBuffer {
		b, err := f.buf.Peek(4 + n)
		if err != nil {
			return nil, cut(err)
		}
		f.taken = 4 + n
		return b[4:], nil
	}
	f.buf.Discard(4)
	f.long = f.long[:0]
	for len(f.long) < n {
		at := len(f.long)
		size := at + min(n-at, max(growBy, at))
		if size > cap(f.long) {
			if !f.share.Hold(size) {
				return nil, fmt.Errorf("frame of %d bytes: %w", n, ErrNoRoom)
			}
			f.long = append(make([]byte, 0, size), f.long...)
		}
		f.long = f.long[:size]
		if _, err := io.ReadFull(f.buf, f.long[at:]); err != nil {
			return nil, cut(err)
		}
	}
	return f.long, nil
}

// cut makes the end of a stream inside a frame an error of its own.
func cut(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// exactly returns the next n bytes as they are, where the protocol has no frame. n must fit in the buffer. The bytes
// are valid until the next call.
func (f *frameReader) exactly(n int) ([]byte, error) {
	f.wait(f.idle)
	b, err := f.buf.Peek(n)
	f.taken = n
	return b, err
}

// more reports whether the next frame has arrived already.
func (f *frameReader) more() bool {
	rest := f.buf.Buffered() - f.taken
	if rest < 4 {
		return false
	}
	b, err := f.buf.Peek(f.taken + 4)
	return err == nil && rest-4 >= int(binary.BigEndian.Uint32(b[f.taken:]))
}

// wait sets the deadline for reading to d from now, or to until if that is earlier. It moves the deadline only if it is
// wrong by a second or, if d is short, an eighth of d, because moving it costs more than reading a frame.
func (f *frameReader) wait(d time.Duration) {
	if f.passive {
		return
	}
	at := time.Now().Add(d)
	if !f.until.IsZero() && at.After(f.until) {
		at = f.until
	}
	if lag := at.Sub(f.deadline); lag < -deadlineLag || lag > min(deadlineLag, d/8) {
		f.deadline = at
		f.conn.SetReadDeadline(at)
	}
	if f.stopped.Load() { // stop was called before the deadline was moved, or meanwhile
		f.conn.SetReadDeadline(time.Unix(1, 0))
	}
}

// timedOut reports whether reading was given up because the peer was silent for too long.
func timedOut(err error) bool { return errors.Is(err, os.ErrDeadlineExceeded) }

// startFrame makes room for the length of a frame; endFrame writes it.
func startFrame(b []byte) ([]byte, int) { return append(b, 0, 0, 0, 0), len(b) }

func endFrame(b []byte, at int) []byte {
	binary.BigEndian.PutUint32(b[at:], uint32(len(b)-at-4))
	return b
}

package input

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"runtime/debug"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/sojourn-sched/sojourn/internal/unpack"
)

// Reader reads the records of a split. It belongs to one goroutine. A Reader may be opened again for another split, and
// keeps its buffers and decoders: a worker needs one.
type Reader struct {
	split  Split
	next   int       // of split.Ranges, the one to open when the current one ends
	file   io.Closer // of the current range: a file, or the text of a part of a store; nil: none is open
	source source
	block  []byte // what of the source's last block has not been handed out
	last   bool   // no block follows
	skip   bool   // the record that the range begins in belongs to the range before
	pos    int64  // where in the (decompressed) file block begins
	lo, hi int64  // of the range, in the (decompressed) file
	at     int64  // where the batch that is lent begins
	before int64  // stored bytes of the ranges already read
	clean  []byte // a batch with "\r\n" and '\r' made '\n'
	buffer []byte
	large  []byte // of Memory: a batch that was made clean and is longer than clean may become; nil: none
	mapped mapped
	sizes  sizes
	codecs unpack.Decoders
	pipe   atomic.Pointer[os.File] // the last pipe that was opened; nil: none
	ended  atomic.Bool             // Interrupt was called

	// Memory is for what records longer than the Reader's own buffers lie in, where they cannot be mapped. It is set
	// before Open, and used until Close. nil: Go's heap.
	Memory Memory
}

// Open begins to read a split, and forgets the one before. It opens no file yet, so it cannot fail.
func (r *Reader) Open(s Split) {
	r.Close()
	r.split, r.next, r.before = s, 0, 0
	r.pipe.Store(nil)
	r.ended.Store(false)
	if r.sizes == (sizes{}) {
		r.sizes = tuned
	}
	if r.Memory == nil {
		r.Memory = heap{}
	}
}

// Close closes the file and frees mapping and memory. A batch that was lent is gone. Closing twice, or before Open, is
// allowed.
func (r *Reader) Close() {
	if r.file != nil {
		r.source.free()
		// The file was only read: nothing can be lost by a failed close.
		_ = r.file.Close()
		r.file, r.source, r.block = nil, nil, nil
	}
	r.freeLarge()
}

// Interrupt makes a call of Next that waits for a pipe, or for a program that writes to it, return with an error, and
// every later call on a pipe, until Open. It may be called from any goroutine.
func (r *Reader) Interrupt() {
	r.ended.Store(true)
	if f := r.pipe.Load(); f != nil {
		_ = f.Close() // the one who waits is told
	}
}

func (r *Reader) freeLarge() {
	if r.large != nil {
		r.Memory.Free(r.large)
		r.large = nil
	}
}

// File returns the file that the last batch came from, or the one being opened when Next failed; nil before the first
// call of Next.
func (r *Reader) File() *File {
	if r.next == 0 {
		return nil
	}
	return r.split.Ranges[r.next-1].File
}

// Offset returns the position of the last batch in its file, in bytes of the decompressed content.
func (r *Reader) Offset() int64 { return r.at }

// Bytes returns how much of the split has been read, in bytes as stored. At the end it is Split.Bytes, or more if the
// last line goes beyond the end of the split.
func (r *Reader) Bytes() int64 {
	switch {
	case r.file == nil:
		return r.before
	case r.File().Codec == stored:
		return r.before + min(r.pos, r.split.Ranges[r.next-1].Hi)
	case r.File().Whole():
		return r.before + r.codecs.Taken()
	}
	return r.before + r.pos - r.lo
}

// Next lends the next batch: one or more whole records of one file, until the next call or Close. Each line ends in
// '\n', the only '\n' in it, and no '\r' is left unless Config.OnlyLF. After the last batch the error is io.EOF. Other
// errors name file and offset; ErrChanged, ErrCorrupt and ErrReadOnce tell what trying again cannot cure. After an
// error the Reader can only be opened anew or closed.
func (r *Reader) Next() (batch []byte, err error) {
	err = r.Guard(func() error {
		for batch == nil {
			if r.file == nil {
				if r.next == len(r.split.Ranges) {
					return io.EOF
				}
				if err := r.open(); err != nil {
					return r.failed(err)
				}
			}
			var err error
			switch {
			case r.cutShort():
				err = io.EOF
			case r.split.c.RecordLength > 0:
				batch, err = r.records()
			default:
				batch, err = r.lines()
			}
			if err == io.EOF {
				err = r.finish()
			}
			if err != nil {
				return r.failed(err)
			}
		}
		return nil
	})
	if err != nil {
		batch = nil
	}
	return batch, err
}

// cutShort reports whether enough was read of a compressed file where only the beginning is wanted.
func (r *Reader) cutShort() bool {
	g := &r.split.Ranges[r.next-1]
	return g.Hi < g.File.Size && g.File.Whole() && r.Bytes()-r.before >= g.Hi
}

// Guard runs fn, which reads batches, so that a file which shrinks under its mapping ends fn with an error naming the
// file instead of ending the process by a signal. Map tasks run in it; other panics pass through.
func (r *Reader) Guard(fn func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if v := recover(); v != nil {
			fault, ok := v.(interface{ Addr() uintptr })
			if !ok || r.file == nil || !r.mapped.contains(fault.Addr()) {
				panic(v)
			}
			err = r.failed(fmt.Errorf("%w, or its disk cannot be read", ErrChanged))
		}
	}()
	return fn()
}

func (r *Reader) failed(err error) error {
	f := r.File()
	return fmt.Errorf("input %s at byte %d: %w", f.Path, r.pos, err)
}

// open opens the next range.
func (r *Reader) open() error {
	g := r.split.Ranges[r.next]
	r.next++
	r.codecs.Reset(nil)
	r.block, r.last = nil, false
	r.pos, r.lo, r.hi, r.skip = g.Lo, g.Lo, g.Hi, g.Lo > 0
	if g.File.part != nil {
		text, err := g.File.part.Open()
		if err != nil {
			return err
		}
		r.file, r.hi = text, math.MaxInt64
		r.source = r.buffered(text, func() int64 { return 0 })
		return nil
	}
	if g.File.opened != nil && g.File.opened.Swap(true) {
		return ErrReadOnce
	}
	mode := os.O_RDONLY
	if g.File.fifo {
		mode |= unix.O_NONBLOCK // opening would wait for a program that writes, and nothing could interrupt it
	}
	file, err := os.OpenFile(g.File.Path, mode, 0)
	if err != nil {
		if g.File.opened != nil {
			g.File.opened.Store(false) // nothing was read
		}
		return err
	}
	r.file, r.source = file, &r.mapped // nothing is mapped
	if g.File.Pipe {
		r.pipe.Store(file)
		if r.ended.Load() {
			_ = file.Close()
		}
	}
	if g.File.fifo {
		if err := awaitWriter(file); err != nil {
			return err
		}
	}
	if err := r.unchanged(); err != nil {
		return err
	}
	switch {
	case g.File.Whole():
		r.hi = math.MaxInt64
		from, err := decompressed(&r.codecs, file, g.File, r.Memory.Limit())
		r.source = r.buffered(from, r.codecs.Taken)
		return err
	case g.File.Size == 0: // the system makes files as those of /proc when they are read, and tells no size
		r.hi = math.MaxInt64
		r.source = r.buffered(file, func() int64 { return 0 })
	case g.Hi-g.Lo >= r.sizes.mapFrom:
		r.mapFrom(file, g.Lo)
	default:
		from := io.NewSectionReader(file, g.Lo, math.MaxInt64-g.Lo)
		r.source = r.buffered(from, func() int64 { return 0 })
	}
	return nil
}

// awaitWriter waits until a program has written to a pipe, or has opened and closed it. Before that a pipe that was
// opened without waiting looks as if it had ended. Closing the pipe ends the wait with an error.
func awaitWriter(pipe *os.File) error {
	c, err := pipe.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = c.Read(func(fd uintptr) bool {
		ready := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(ready, 0)
		for err == unix.EINTR {
			n, err = unix.Poll(ready, 0)
		}
		failed = err
		return n > 0 || err != nil
	})
	return errors.Join(err, failed)
}

// mapFrom makes the rest of a plain file from offset at the source.
func (r *Reader) mapFrom(file *os.File, at int64) {
	r.mapped = mapped{f: file, size: r.File().Size, window: r.sizes.window, next: at}
	r.source = &r.mapped
}

func (r *Reader) buffered(from io.Reader, stored func() int64) *buffered {
	return &buffered{r: from, buf: &r.buffer, size: r.sizes.buffer, memory: r.Memory, stored: stored}
}

// finish ends a range. What was read counts only if the file is unchanged.
func (r *Reader) finish() error {
	if err := r.unchanged(); err != nil {
		return err
	}
	bytes := r.Bytes()
	if r.File().Codec == stored { // its size is an estimate
		bytes = r.before + r.split.Ranges[r.next-1].Hi
	}
	r.Close()
	r.before = bytes
	return nil
}

// unchanged returns ErrChanged if the open file differs in size or time from the file found when the job began.
func (r *Reader) unchanged() error {
	f := r.File()
	file, ok := r.file.(*os.File)
	if f.Pipe || !ok {
		return nil
	}
	info, err := file.Stat()
	switch {
	case err != nil:
		return err
	case info.Size() != f.Size:
		return fmt.Errorf("%w: it had %d bytes, now %d", ErrChanged, f.Size, info.Size())
	case info.ModTime().UnixNano() != f.Modified:
		return fmt.Errorf("%w: it was written to", ErrChanged)
	}
	return nil
}

// maxRecord bounds a record, so that places in a batch fit 32 bits.
const maxRecord = 2<<30 - 1

// more reads the next block. It begins with the last keep bytes of the block before and reaches further.
func (r *Reader) more(keep int) error {
	if keep > maxRecord {
		return fmt.Errorf("%w: more than %d bytes", ErrTooLong, maxRecord)
	}
	if f := r.File(); keep > r.sizes.buffer/2 && r.source != &r.mapped && !f.Whole() && f.Size > 0 && !r.last {
		r.mapFrom(r.file.(*os.File), r.pos+int64(len(r.block))) // address space costs less than a buffer
	}
	if r.source == &r.mapped { // what lies behind the end of a file cannot be touched
		if err := r.unchanged(); err != nil {
			return err
		}
	}
	r.pos += int64(len(r.block) - keep)
	var err error
	r.block, r.last, err = r.source.block(keep)
	return err
}

// lines cuts a batch of lines. A line belongs to the range in which the byte before it lies, and the first line of a
// file to the first range: a range that does not begin the file skips to after the first line end at or after Lo, and
// reads on to after the first line end at or after Hi. This is Hadoop's rule, and makes ranges a partition of the
// lines.
func (r *Reader) lines() ([]byte, error) {
	for {
		if len(r.block) == 0 && !r.last {
			if err := r.more(0); err != nil {
				return nil, err
			}
			if r.pos == 0 && !r.split.c.KeepMark && bytes.HasPrefix(r.block, byteOrderMark) {
				r.take(len(byteOrderMark))
				r.hi = max(r.hi, r.pos) // the first line is the first range's, even one that ends within the mark
			}
		}
		if len(r.block) == 0 || r.pos > r.hi {
			return nil, io.EOF
		}
		keep := len(r.block)
		if r.skip {
			if n := r.lineEnd(r.block, 0); n > 0 {
				r.take(n)
				r.skip = false
				continue
			}
			if r.last || r.pos+int64(len(r.block)) > r.hi {
				return nil, io.EOF // the line that the range begins in does not end in it
			}
			keep = 1 // it may be a '\r'
		} else if n := r.cut(); n > 0 {
			return r.lend(n)
		} else if r.last {
			batch := append(r.block, '\n') // there is room for it
			r.at = r.pos
			r.take(len(r.block))
			return batch, nil
		}
		if err := r.more(keep); err != nil {
			return nil, err
		}
	}
}

var byteOrderMark = []byte("\xef\xbb\xbf")

// cut returns how many bytes of the block are the next batch of whole lines. It returns zero if the block has to reach
// further, or ends in a line without an end.
func (r *Reader) cut() int {
	b := r.block
	want := min(len(b), r.sizes.batch)
	if past := r.hi - r.pos; past < int64(want) {
		if n := r.lineEnd(b, int(past)); n > 0 {
			return n
		}
		want = int(past) // lines that end before hi
	}
	if n := bytes.LastIndexByte(b[:want], '\n') + 1; n > 0 {
		return n
	}
	if n := bytes.LastIndexByte(b[:want], '\r') + 1; n > 0 && n < len(b) && b[n] != '\n' && !r.split.c.OnlyLF {
		return n
	}
	return r.lineEnd(b, 0)
}

// lineEnd returns the index after the first line end at or after from; 0: there is none, or the block ends with a '\r'
// that a '\n' may follow.
func (r *Reader) lineEnd(b []byte, from int) int {
	end := bytes.IndexByte(b[from:], '\n')
	line := b[from:]
	if end >= 0 {
		line = line[:end]
	}
	if !r.split.c.OnlyLF {
		if i := bytes.IndexByte(line, '\r'); i >= 0 {
			switch i += from + 1; {
			case i < len(b) && b[i] == '\n':
				return i + 1
			case i < len(b) || r.last:
				return i
			}
			return 0
		}
	}
	if end < 0 {
		return 0
	}
	return from + end + 1
}

func (r *Reader) take(n int) {
	r.block = r.block[n:]
	r.pos += int64(n)
}

// lend returns the first n bytes of the block as a batch of lines that end in '\n'.
func (r *Reader) lend(n int) ([]byte, error) {
	batch := r.block[:n:n]
	r.at = r.pos
	r.take(n)
	if r.split.c.OnlyLF || bytes.IndexByte(batch, '\r') < 0 {
		return batch, nil
	}
	if r.source != &r.mapped {
		return AppendClean(batch[:0], batch), nil // in place: the buffer is ours
	}
	if n <= cleanMost*r.sizes.buffer {
		r.clean = AppendClean(r.clean[:0], batch)
		return r.clean, nil
	}
	r.freeLarge()
	if r.large = r.Memory.Alloc(n); r.large == nil {
		return nil, tooLong(n, r.Memory)
	}
	return AppendClean(r.large[:0], batch), nil
}

// cleanMost bounds the copy on Go's heap of a batch that is made clean, in buffers.
const cleanMost = 8

// AppendClean appends lines with "\r\n" and a lone '\r' replaced by '\n'; lines must not begin or end between the two.
func AppendClean(to, lines []byte) []byte {
	for {
		i := bytes.IndexByte(lines, '\r')
		if i < 0 {
			return append(to, lines...)
		}
		to = append(append(to, lines[:i]...), '\n')
		if lines = lines[i+1:]; len(lines) > 0 && lines[0] == '\n' {
			lines = lines[1:]
		}
	}
}

// records cuts a batch of records of fixed length: those that begin in the range.
func (r *Reader) records() ([]byte, error) {
	length := r.split.c.RecordLength
	if r.skip {
		r.skip = false
		n := int64(length)
		whole := (r.lo + n - 1) / n * n
		for r.pos < whole {
			if len(r.block) == 0 {
				if r.last {
					return nil, io.EOF
				}
				if err := r.more(0); err != nil {
					return nil, err
				}
			}
			r.take(int(min(whole-r.pos, int64(len(r.block)))))
		}
	}
	for {
		if r.pos >= r.hi || r.last && len(r.block) == 0 {
			return nil, io.EOF
		}
		if len(r.block) >= length {
			n := min(len(r.block), max(length, r.sizes.batch))
			if left := r.hi - r.pos; left < int64(n) {
				n = int(left) + length - 1 // the record that begins before hi to its end
			}
			n = min(n, len(r.block)) / length * length
			r.at = r.pos
			batch := r.block[:n:n]
			r.take(n)
			return batch, nil
		}
		if r.last {
			return nil, fmt.Errorf("%w: the last record has %d of %d bytes", ErrCorrupt, len(r.block), length)
		}
		if err := r.more(len(r.block)); err != nil {
			return nil, err
		}
	}
}

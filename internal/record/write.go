package record

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/sojourn-sched/sojourn/sched"
)

const (
	blockSize   = 64 << 10    // bytes before compression, at most, unless one Step alone has more
	blockSpan   = time.Second // most of the run's time in a block
	mostBlock   = 40 << 20    // bytes before compression that a block holds at most: a Step of 100,000 jobs fits
	mostEntries = 5 << 18     // events and actions that a Step holds at most: the largest cluster fits when it joins
	endMark     = "\x00\x00\x00\x00end\n"
)

// Options are what a writer may be told.
type Options struct {
	Payload   Payload
	Overwrite bool // replace an existing file
	// Policy and Estimator (nil: none) are those of the run. Snapshots have what they remember as JSON; a nil Policy:
	// there are no snapshots. Where what they remember is not JSON, or a snapshot would not fit into a block, the
	// record has none, and a reader begins further ahead.
	Policy    sched.Policy
	Estimator sched.Estimator
	Note      func(string) // is told, once, the reason why a snapshot was left out; nil: it is not told
	// Gap is the number of bytes between snapshots; zero: 1 to 4 MiB, but at least four times the size of the one
	// before.
	Gap int64

	span sched.Time // most of the run's time in a block; zero: blockSpan; negative: blocks end when they are full
}

// A Writer writes a record as the run goes: it is a Follower. Steps are written a block at a time: when the block is
// full, with the first Step that comes a second later, by Flush and by Close. A crash loses the Steps that were not
// written. An error is kept, ends the writing, and is what Err, Flush and Close return.
type Writer struct {
	out     io.Writer
	file    *os.File // out, where the writer opened it
	name    string
	zip     *zstd.Encoder
	memory  *memory // its tags and b are the block in the making
	view    *sched.View
	span    sched.Time
	began   sched.Time // first Step of the block
	steps   int        // in the block
	shaped  namedShape // asked about last
	plain   []byte     // the last block, before compression and after
	frame   []byte
	err     error
	written int64
	snaps   snapshots
}

// Create makes the file of a record and writes its header.
func Create(path string, h Header, o Options) (*Writer, error) {
	flags := os.O_WRONLY | os.O_CREATE | os.O_EXCL
	if o.Overwrite {
		flags = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	}
	f, err := os.OpenFile(path, flags, 0o666)
	if err != nil {
		if errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("create record %s: %w; a record is not replaced unless that is asked for",
				path, fs.ErrExist)
		}
		return nil, fmt.Errorf("create record: %w", err)
	}
	w, err := newWriter(f, path, h, o)
	if err != nil {
		f.Close()
		return nil, err
	}
	w.file = f
	return w, nil
}

// NewWriter writes a record to out, which Close leaves open.
func NewWriter(out io.Writer, h Header, o Options) (*Writer, error) {
	return newWriter(out, "record", h, o)
}

func newWriter(out io.Writer, name string, h Header, o Options) (*Writer, error) {
	h.Payload = o.Payload.Name
	line, err := h.line()
	if err != nil {
		return nil, err
	}
	zip, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithEncoderCRC(false))
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", name, err)
	}
	w := &Writer{out: out, name: name, zip: zip, memory: newMemory(false, o.Payload), span: o.span}
	w.snaps = snapshots{policy: o.Policy, estimator: o.Estimator, note: o.Note, gap: o.Gap, next: o.Gap}
	if o.Gap == 0 {
		w.snaps.next = leastGap
	}
	if w.span == 0 {
		w.span = blockSpan
	}
	w.write(line)
	return w, w.err
}

// Attach implements Follower.
func (w *Writer) Attach(v *sched.View) { w.view = v }

// Record writes one Step. The events that the core derived are left out.
func (w *Writer) Record(now sched.Time, events []sched.Event, actions []sched.Action) {
	if w.err != nil {
		return
	}
	if len(events)+len(actions) > mostEntries {
		w.fail(fmt.Errorf("a Step of %d events and actions: a record holds at most %d",
			len(events)+len(actions), mostEntries))
		return
	}
	m := w.memory
	if w.steps > 0 && w.span > 0 && now-w.began >= w.span {
		w.flush(w.all())
	}
	before := w.all()
	m.tags = append(m.tags, tagStep)
	m.beginStep(now)
	for i := range events {
		if !events[i].Derived {
			w.snaps.at.Entries++
			m.writeEvent(&events[i])
		}
	}
	w.snaps.at.Entries += int64(len(actions))
	for i := range actions {
		a := &actions[i]
		if a.Kind == sched.Launch || a.Kind == sched.Resize {
			w.shape(a.Shape)
		}
		m.writeAction(a)
	}
	if m.err != nil {
		w.fail(m.err)
		return
	}
	if len(m.tags)+len(m.b) > blockSize && before.tags > 0 {
		w.flush(before)
	}
	if w.steps == 0 {
		w.began = now
	}
	w.steps++
	w.snaps.at.Steps++
	w.snaps.take(w)
}

// shape says what a shape stands for, unless the record says so already.
func (w *Writer) shape(id sched.ShapeID) {
	amount := w.view.Amount(id)
	if id == w.shaped.id && amount == w.shaped.amount {
		return
	}
	w.shaped = namedShape{id, amount}
	if said, ok := w.memory.shapes[id.Row()]; !ok || said != w.shaped {
		w.memory.tags = append(w.memory.tags, tagShape)
		w.memory.shape(&w.shaped)
	}
}

// A fill says how much of the block in the making is meant.
type fill struct{ tags, rest int }

func (w *Writer) all() fill { return fill{len(w.memory.tags), len(w.memory.b)} }

// flush writes the first part of the block in the making as a block.
func (w *Writer) flush(part fill) {
	m := w.memory
	w.steps = 0
	if part.tags == 0 || w.err != nil {
		return
	}
	if n := part.tags + part.rest; n > mostBlock-binary.MaxVarintLen32 {
		w.fail(fmt.Errorf("a Step of %d bytes: a block holds at most %d", n, mostBlock))
		return
	}
	w.plain = binary.AppendUvarint(w.plain[:0], uint64(part.tags))
	w.plain = append(w.plain, m.tags[:part.tags]...)
	w.plain = append(w.plain, m.b[:part.rest]...)
	m.tags = m.tags[:copy(m.tags, m.tags[part.tags:])]
	m.b = m.b[:copy(m.b, m.b[part.rest:])]
	w.block(0, nil, w.plain)
	w.snaps.at.Blocks++
}

// block writes a block: what stands before it as it is, and the compressed rest.
func (w *Writer) block(bit uint32, head, rest []byte) {
	w.frame = append(append(w.frame[:0], make([]byte, 8)...), head...)
	w.frame = w.zip.EncodeAll(rest, w.frame)
	sealBlock(w.frame, bit)
	w.write(w.frame)
}

func (w *Writer) write(b []byte) {
	n, err := w.out.Write(b)
	w.written += int64(n)
	if err != nil {
		w.fail(err)
	}
}

func (w *Writer) fail(err error) {
	if w.err == nil {
		w.err = fmt.Errorf("write %s after %d bytes: %w", w.name, w.written, err)
	}
}

// Flush writes the Steps that are not written yet, as a block. It does nothing where there are none. An engine in which
// long times pass without a Step calls it meanwhile, in the goroutine that calls Record.
func (w *Writer) Flush() error {
	w.flush(w.all())
	return w.err
}

// Err returns the first error of the writing, after which nothing more was written; the record is readable up to there.
func (w *Writer) Err() error { return w.err }

// Close writes what is left, the index of the snapshots, and the end mark.
func (w *Writer) Close() error {
	if w.Flush() == nil {
		w.snaps.index(w)
		w.write([]byte(endMark))
	}
	if w.file != nil {
		if err := w.file.Close(); err != nil {
			w.fail(err)
		}
		w.file = nil
	}
	return w.err
}

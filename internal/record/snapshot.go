package record

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"slices"
	"sort"

	"github.com/sojourn-sched/sojourn/sched"
)

const (
	snapshotBit = 1 << 31 // of a block's length: it is a snapshot
	indexBit    = 1 << 30 // likewise: it is the index
	lengthBits  = indexBit - 1

	leastGap = 1 << 20 // bytes
	usualGap = 16      // times the size of the snapshot before, up to four leastGap
	largeGap = 4       // times the size of the snapshot before
)

// gapAfter returns how many bytes of a record are between a snapshot of a size and the next one. Small snapshots then
// add a sixteenth to a record, and large ones a quarter.
func gapAfter(size int64) int64 {
	return max(leastGap, min(usualGap*size, 4*leastGap), largeGap*size)
}

// A Snapshot is the state of a run between two Steps. A reader can begin there.
type Snapshot struct {
	Mark
	State     *sched.State
	Policy    json.RawMessage // what the policy remembered
	Estimator json.RawMessage // likewise; nil: there is no estimator
}

// A Mark says where in a record, and where in the run, a snapshot is.
type Mark struct {
	Offset  int64 // in the file
	Now     sched.Time
	Steps   int64 // before it, as the next two
	Entries int64
	Blocks  int64
	Newest  sched.JobID // the last job that was submitted
}

// code codes all but the offset.
func (m *Mark) code(c *coder) {
	number(c, &m.Now)
	number(c, &m.Steps)
	number(c, &m.Entries)
	number(c, &m.Blocks)
	number(c, &m.Newest)
}

// snapshots is the part of a writer that adds snapshots to the record.
type snapshots struct {
	policy    sched.Policy // nil: there are none
	estimator sched.Estimator
	note      func(string) // is told why a snapshot is left out; nil: it was told, or is not to be
	gap       int64        // bytes between two; zero: as gapAfter says
	next      int64        // the next snapshot comes when the record has at least so many bytes
	marks     []Mark
	at        Mark // counts the Steps, entries and blocks
}

// take writes a snapshot if enough of the record has been written since the last one.
func (s *snapshots) take(w *Writer) {
	if s.policy == nil || w.written < s.next || w.err != nil {
		return
	}
	w.flush(w.all())
	s.at.Now, s.at.Newest = w.memory.now, w.memory.job
	snap := &Snapshot{State: sched.StateOf(w.view)}
	var err error
	if snap.Policy, err = json.Marshal(s.policy); err == nil && s.estimator != nil {
		snap.Estimator, err = json.Marshal(s.estimator)
	}
	if err != nil { // the policy of another program, which need not survive JSON
		s.policy = nil
		s.leftOut(w, fmt.Sprintf("what the policy or the estimator remembers cannot be written: %v", err))
		return
	}
	c := &coder{payload: w.memory.payload}
	snap.code(c)
	carry(c, w.memory)
	if c.err != nil || len(c.b) > mostBlock {
		s.next = 2 * w.written
		why := fmt.Sprintf("a snapshot would have %d bytes, and a block holds at most %d", len(c.b), mostBlock)
		if c.err != nil {
			why = c.err.Error()
		}
		s.leftOut(w, why)
		return
	}
	head := &coder{}
	mark := s.at
	mark.Offset = w.written
	mark.code(head)
	clear(w.memory.stages)
	w.block(snapshotBit, head.b, c.b)
	s.marks = append(s.marks, mark)
	if s.next = w.written + s.gap; s.gap == 0 {
		s.next = w.written + gapAfter(w.written-mark.Offset)
	}
}

// leftOut tells once that a snapshot is left out, and why.
func (s *snapshots) leftOut(w *Writer, why string) {
	if s.note != nil {
		s.note(fmt.Sprintf("%s has no snapshot after %d bytes, so questions about what comes later take longer: %s",
			w.name, w.written, why))
		s.note = nil
	}
}

// index writes the marks of all snapshots as the last block. Its last four bytes are its length, so that a reader finds
// it from the end of the file.
func (s *snapshots) index(w *Writer) {
	if len(s.marks) == 0 {
		return
	}
	c := &coder{}
	list(c, &s.marks, func(m *Mark) {
		number(c, &m.Offset)
		m.code(c)
	})
	frame := append(make([]byte, 8), c.b...)
	frame = binary.LittleEndian.AppendUint32(frame, uint32(len(frame)+4))
	sealBlock(frame, indexBit)
	w.write(frame)
}

// sealBlock fills in the first eight bytes of a block.
func sealBlock(block []byte, bit uint32) {
	binary.LittleEndian.PutUint32(block, uint32(len(block)-8)|bit)
	binary.LittleEndian.PutUint32(block[4:], crc32.Checksum(block[8:], castagnoli))
}

// A seeker is a file that can be read anywhere.
type seeker interface {
	io.ReaderAt
	io.Seeker
}

// Marks returns where the snapshots of the record are, in order. There are none if the input cannot seek. Marks reads
// the index at the end of the record. A record that was cut off, or is still written, has no index: then Marks goes
// from block to block by their first eight bytes.
func (r *Reader) Marks() []Mark {
	file, ok := r.in.(seeker)
	if !ok || r.Header.Format < 2 {
		return nil
	}
	if marks, ok := indexed(file); ok {
		return marks
	}
	return walk(file, r.begin)
}

// indexed reads the index at the end of a file; false: the file has none.
func indexed(file seeker) (marks []Mark, ok bool) {
	here, err := file.Seek(0, io.SeekCurrent)
	if err != nil {
		return nil, false
	}
	size, err := file.Seek(0, io.SeekEnd)
	if _, back := file.Seek(here, io.SeekStart); err != nil || back != nil || size < int64(len(endMark)+12) {
		return nil, false
	}
	tail := make([]byte, 4+len(endMark))
	if _, err := file.ReadAt(tail, size-int64(len(tail))); err != nil || string(tail[4:]) != endMark {
		return nil, false
	}
	length := int64(binary.LittleEndian.Uint32(tail))
	if length < 12 || length > mostBlock || length > size-int64(len(endMark)) {
		return nil, false
	}
	frame, bits, err := blockAt(file, size-int64(len(endMark))-length)
	if err != nil || bits != indexBit || int64(len(frame)) != length-8 {
		return nil, false
	}
	c := &coder{b: frame[:len(frame)-4], reading: true}
	list(c, &marks, func(m *Mark) {
		number(c, &m.Offset)
		m.code(c)
	})
	return marks, c.err == nil
}

// walk finds the snapshots by going from block to block, from the block at byte at.
func walk(file io.ReaderAt, at int64) (marks []Mark) {
	head := make([]byte, 8+6*binary.MaxVarintLen64)
	for {
		n, _ := file.ReadAt(head, at) // an error counts as the end: a reader without marks begins earlier
		if n < 8 {
			return marks
		}
		length := binary.LittleEndian.Uint32(head)
		if length == 0 || length&lengthBits > mostBlock {
			return marks
		}
		if length&snapshotBit != 0 {
			c := &coder{b: head[8:n], reading: true}
			m := Mark{Offset: at}
			if m.code(c); c.err == nil {
				marks = append(marks, m)
			}
		}
		at += 8 + int64(length&lengthBits)
	}
}

// blockAt reads the block at byte at of a file, and checks its checksum. bits says what kind of block it is.
func blockAt(file io.ReaderAt, at int64) (frame []byte, bits uint32, err error) {
	var head [8]byte
	if _, err := file.ReadAt(head[:], at); err != nil {
		return nil, 0, err
	}
	length := binary.LittleEndian.Uint32(head[:])
	bits = length &^ lengthBits
	if length &= lengthBits; length > mostBlock {
		return nil, 0, fmt.Errorf("a block of %d bytes", length)
	}
	frame, err = io.ReadAll(io.NewSectionReader(file, at+8, int64(length)))
	if err != nil {
		return nil, 0, err
	}
	if len(frame) < int(length) || binary.LittleEndian.Uint32(head[4:]) != crc32.Checksum(frame, castagnoli) {
		return nil, 0, errors.New("the checksum does not match")
	}
	return frame, bits, nil
}

// skips returns an error if frame is not the kind of block that bits say it is, a snapshot or the index. The checksum
// does not cover these bits of the length, and a block of Steps that is taken for a snapshot would be lost unnoticed.
func (r *Reader) skips(frame []byte, bits uint32) error {
	var m Mark
	switch c := (&coder{b: frame, reading: true}); bits {
	case snapshotBit:
		at := Mark{Now: r.memory.now, Steps: r.step.Number, Entries: r.entries, Blocks: int64(r.block)}
		m.code(c)
		if at.Newest = m.Newest; c.err != nil || m != at {
			return errors.New("the snapshot is not of this place in the record")
		}
		clear(r.memory.stages)
		return nil
	case indexBit:
		if n := len(frame); n >= 4 && int(binary.LittleEndian.Uint32(frame[n-4:])) == 8+n {
			return nil
		}
	}
	return errors.New("the index does not end with its length")
}

// Seek reads the snapshot at m. Steps then yields what comes after it.
func (r *Reader) Seek(m Mark) (*Snapshot, error) {
	wrong := func(err error) error {
		return fmt.Errorf("read %s: snapshot at byte %d: %w: %v", r.name, m.Offset, ErrDamaged, err)
	}
	file, ok := r.in.(seeker)
	if !ok {
		return nil, wrong(errors.New("this is no file"))
	}
	frame, bits, err := blockAt(file, m.Offset)
	if err == nil && bits != snapshotBit {
		err = errors.New("there is none")
	}
	if err != nil {
		return nil, wrong(err)
	}
	snap := &Snapshot{Mark: Mark{Offset: m.Offset}, State: &sched.State{}}
	head := &coder{b: frame, reading: true}
	if snap.Mark.code(head); head.err != nil {
		return nil, wrong(head.err)
	}
	plain, err := r.unzip.DecodeAll(head.b, nil)
	if err != nil {
		return nil, wrong(err)
	}
	memory := newMemory(true, r.memory.payload)
	c := &coder{b: plain, reading: true, payload: r.memory.payload}
	snap.code(c)
	if carry(c, memory); c.err == nil && len(c.b) > 0 {
		c.fail(errors.New("it has more than its parts"))
	}
	if c.err != nil {
		return nil, wrong(c.err)
	}
	if _, err := file.Seek(m.Offset+8+int64(len(frame)), io.SeekStart); err != nil {
		return nil, fmt.Errorf("read %s: %w", r.name, err)
	}
	r.memory, r.raw, r.offset, r.ended = memory, r.raw[:0], m.Offset+8+int64(len(frame)), false
	r.block, r.entries, r.step.Number = int(snap.Blocks), snap.Entries, snap.Steps
	return snap, nil
}

// rewind goes back to the first Step of the record. It returns an error if the input cannot seek.
func (r *Reader) rewind() error {
	file, ok := r.in.(seeker)
	if !ok {
		return fmt.Errorf("read %s: it cannot be read twice", r.name)
	}
	if _, err := file.Seek(r.begin, io.SeekStart); err != nil {
		return fmt.Errorf("read %s: %w", r.name, err)
	}
	r.memory, r.raw, r.offset, r.ended = newMemory(true, r.memory.payload), r.raw[:0], r.begin, false
	r.block, r.entries, r.step.Number = 0, 0, 0
	return nil
}

// before returns the index of the last mark that is not after an instant; -1: none.
func before(marks []Mark, at sched.Time) int {
	return sort.Search(len(marks), func(i int) bool { return marks[i].Now > at }) - 1
}

// code codes a snapshot without its mark.
func (s *Snapshot) code(c *coder) {
	for _, doc := range []*json.RawMessage{&s.Policy, &s.Estimator} {
		text := string(*doc)
		if c.string(&text); text != "" {
			*doc = json.RawMessage(text)
		}
	}
	state(c, s.State)
}

// carry codes what the codec remembers at a snapshot. It leaves out where stages were last launched: the writer forgets
// that at each snapshot.
func carry(c *coder, m *memory) {
	number(c, &m.now)
	m.serial, m.referred = c.uvarint(m.serial), c.uvarint(m.referred)
	stageID(c, &m.stage)
	number(c, &m.node)
	number(c, &m.reported)
	number(c, &m.job)
	number(c, &m.nodes)
	shapes := slices.SortedFunc(maps.Values(m.shapes), func(a, b namedShape) int { return cmp.Compare(a.id, b.id) })
	list(c, &shapes, func(s *namedShape) {
		number(c, &s.id)
		c.resources(&s.amount)
		m.shapes[s.id.Row()] = *s
	})
	slot := func(n *int32) {
		if number(c, n); *n < 0 || int(*n) >= max(1, len(m.slots.all)) {
			c.fail(fmt.Errorf("there is no slot %d", *n))
		}
	}
	atMost(c, mostEntries, &m.slots.all, func(s *slotMemory) {
		if s.running = c.present(s.running); !s.running {
			return
		}
		s.serial = c.uvarint(s.serial)
		stageID(c, &s.stage)
		number(c, &s.node)
		if c.reading {
			m.slots.find[s.serial] = int32(len(m.slots.all) - 1)
		}
	})
	list(c, &m.slots.freed, slot)
	list(c, &m.slots.free, slot)
}

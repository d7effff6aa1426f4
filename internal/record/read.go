package record

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"iter"
	"os"
	"slices"

	"github.com/klauspost/compress/zstd"

	"github.com/sojourn-sched/sojourn/internal/spelling"
	"github.com/sojourn-sched/sojourn/sched"
)

// A Step is what one Step of a core got and gave. It is lent until the next one.
type Step struct {
	Number  int64 // of the Step in the record, from 1
	Entry   int64 // number of its first event or action in the record, from 1
	Now     sched.Time
	Events  []sched.Event // given by the engine, in the order in which they were applied
	Actions []sched.Action
}

// A Reader reads a record from its beginning.
type Reader struct {
	Header *Header

	in      io.Reader
	file    *os.File // in, where the reader opened it
	name    string
	unzip   *zstd.Decoder
	memory  *memory // its tags and b are what is left of the block
	raw     []byte  // read, and not decoded yet
	offset  int64   // of raw in the file
	block   int     // number of the last one, from 1
	plain   []byte
	step    Step
	entries int64
	begin   int64 // byte of the first block
	ended   bool  // the end mark was met
}

// Open opens a record and reads its header. The codec of payloads is used if the record's payloads have its name.
func Open(path string, payload Payload) (*Reader, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open record: %w", err)
	}
	r, err := NewReader(f, path, payload)
	if err != nil {
		f.Close()
		return nil, err
	}
	r.file = f
	return r, nil
}

// NewReader reads the header of a record. The name stands in errors.
func NewReader(in io.Reader, name string, payload Payload) (*Reader, error) {
	unzip, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(mostBlock),
		zstd.WithDecoderLowmem(true))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	r := &Reader{in: in, name: name, unzip: unzip}
	end := -1
	for n := 256; end < 0; n = 2 * len(r.raw) {
		err := r.fill(n)
		if end = bytes.IndexByte(r.raw, '\n'); end >= 0 {
			break
		}
		switch {
		case !bytes.HasPrefix(r.raw, []byte(magic)[:min(len(magic), len(r.raw))]) || len(r.raw) > mostHeader:
			return nil, fmt.Errorf("read %s: %w: the first line does not begin as a record's does, or does not end",
				name, ErrFormat)
		case errors.Is(err, io.EOF):
			return nil, fmt.Errorf("read %s: %w: the first line is not complete", name, ErrCut)
		case err != nil:
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
	}
	if r.Header, err = parseHeader(r.raw[:end]); err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	r.drop(end + 1)
	r.begin = r.offset
	if payload.Name != r.Header.Payload {
		payload = Payload{}
	}
	r.memory = newMemory(true, payload)
	return r, nil
}

// Close closes the file, where Open opened it.
func (r *Reader) Close() error {
	if r.file == nil {
		return nil
	}
	return r.file.Close()
}

// Amount returns what a shape in the actions read so far stands for; false where the record has not said.
func (r *Reader) Amount(id sched.ShapeID) (sched.Resources, bool) {
	s, ok := r.memory.shapes[id.Row()]
	return s.amount, ok && s.id == id
}

// Steps yields the Steps of the record. An error is the last thing that it yields: ErrCut where the record has no end
// mark, when everything that is whole has been yielded (calling Steps again goes on, if there is more by then);
// ErrDamaged where something is wrong.
func (r *Reader) Steps() iter.Seq2[*Step, error] {
	return func(yield func(*Step, error) bool) {
		for !r.ended {
			if len(r.memory.tags) == 0 {
				if err := r.nextBlock(); err == io.EOF {
					return
				} else if err != nil {
					yield(nil, err)
					return
				}
				continue // a block without Steps may come first
			}
			if err := r.next(); err != nil {
				yield(nil, err)
				return
			}
			if !yield(&r.step, nil) {
				return
			}
		}
	}
}

// fill reads from the file until raw has at least n bytes, those of earlier calls included. If the file ends first,
// fill returns io.EOF and keeps what it read: a later call goes on, if the file has grown by then. The file may be
// damaged, and n be far more than it has. So each read at most doubles raw, or adds blockSize to it.
func (r *Reader) fill(n int) error {
	for len(r.raw) < n {
		have := len(r.raw)
		more := min(n-have, max(blockSize, have))
		r.raw = append(r.raw, make([]byte, more)...)
		k, err := io.ReadFull(r.in, r.raw[have:])
		r.raw = r.raw[:have+k]
		if err == io.ErrUnexpectedEOF {
			err = io.EOF
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// drop takes n bytes off raw.
func (r *Reader) drop(n int) {
	r.offset += int64(n)
	r.raw = r.raw[:copy(r.raw, r.raw[n:])]
}

// nextBlock decodes a block; io.EOF after the end mark.
func (r *Reader) nextBlock() error {
	length, bits := 0, uint32(0)
	err := r.fill(8)
	if err == nil {
		word := binary.LittleEndian.Uint32(r.raw)
		length, bits = int(word&lengthBits), word&^lengthBits
		if word == 0 {
			return r.end()
		}
		if length > mostBlock {
			return r.damaged(fmt.Errorf("a block of %d bytes", length))
		}
		err = r.fill(8 + length)
	}
	switch {
	case err == io.EOF && len(r.raw) == 0:
		return fmt.Errorf("read %s: %w; it has %s, up to %v", r.name, ErrCut, spelling.Count(r.block, "whole block"),
			r.memory.now)
	case err == io.EOF:
		return fmt.Errorf("read %s: %w; after %s, up to %v, block %d is incomplete at byte %d", r.name,
			ErrCut, spelling.Count(r.block, "whole block"), r.memory.now, r.block+1, r.offset)
	case err != nil:
		return fmt.Errorf("read %s: %w", r.name, err)
	}
	frame := r.raw[8 : 8+length]
	if binary.LittleEndian.Uint32(r.raw[4:]) != crc32.Checksum(frame, castagnoli) {
		return r.damaged(errors.New("the checksum does not match"))
	}
	if bits != 0 { // read through, a record needs neither snapshots nor an index
		if err := r.skips(frame, bits); err != nil {
			return r.damaged(err)
		}
		r.drop(8 + length)
		return nil
	}
	if r.plain, err = r.unzip.DecodeAll(frame, r.plain[:0]); err != nil {
		return r.damaged(err)
	}
	tags, n := binary.Uvarint(r.plain)
	if n <= 0 || tags == 0 || tags > uint64(len(r.plain)-n) || r.plain[n] != tagStep {
		return r.damaged(errors.New("the block does not begin with a Step"))
	}
	r.memory.tags, r.memory.b = r.plain[n:][:tags], r.plain[n:][tags:]
	r.block++
	r.drop(8 + length)
	return nil
}

func (r *Reader) end() error {
	if string(r.raw[:8]) != endMark {
		return r.damaged(errors.New("an empty block"))
	}
	if len(r.raw) > 8 || r.fill(9) != io.EOF {
		return r.damaged(errors.New("there is more after the end mark"))
	}
	r.ended = true
	return io.EOF
}

// damaged says where the record is damaged: in the block after the last whole one.
func (r *Reader) damaged(err error) error {
	return fmt.Errorf("read %s: block %d at byte %d: %w: %v; up to %v it is whole", r.name, r.block+1, r.offset,
		ErrDamaged, err, r.memory.now)
}

// next decodes a Step.
func (r *Reader) next() error {
	m, s := r.memory, &r.step
	m.tags = m.tags[1:] // tagStep, by which nextBlock or the loop below has come to an end
	m.beginStep(m.now)
	s.Number++
	s.Entry, s.Now = r.entries+1, m.now
	s.Events, s.Actions = s.Events[:0], s.Actions[:0]
	if len(m.tags) > blockSize { // a Step alone: growing by and by would leave as much again behind
		s.Events = slices.Grow(s.Events, min(len(m.tags), mostEntries))
	}
	for m.err == nil && len(m.tags) > 0 && m.tags[0] != tagStep {
		r.entry()
	}
	if len(m.tags) == 0 && len(m.b) > 0 {
		m.fail(errors.New("the block has more than its entries"))
	}
	if m.err != nil {
		return fmt.Errorf("read %s: block %d before byte %d: %w: entry %d: %v", r.name, r.block, r.offset, ErrDamaged,
			r.entries, m.err)
	}
	return nil
}

// entry decodes one entry into the Step.
func (r *Reader) entry() {
	m, s := r.memory, &r.step
	if len(s.Events)+len(s.Actions) >= mostEntries {
		m.fail(fmt.Errorf("a Step of more than %d events and actions", mostEntries))
		return
	}
	t := m.tags[0]
	m.tags = m.tags[1:]
	switch kind := t & tagKinds; {
	case kind == tagShape:
		m.shape(&namedShape{})
		return
	case kind >= tagEvent && kind <= lastEvent:
		s.Events = append(s.Events, sched.Event{Kind: sched.EventKind(kind - tagEvent)})
		m.event(t, &s.Events[len(s.Events)-1])
	case kind == tagFound:
		s.Events = append(s.Events, sched.Event{Kind: sched.AttemptFound})
		m.event(t, &s.Events[len(s.Events)-1])
	case kind == tagAction:
		s.Actions = append(s.Actions, sched.Action{})
		more := byte(0)
		if t&unusual != 0 {
			if len(m.tags) == 0 {
				m.fail(errShort)
				return
			}
			more, m.tags = m.tags[0], m.tags[1:]
		}
		m.launch(t, more, &s.Actions[len(s.Actions)-1])
	case kind > tagAction && kind <= lastAction:
		s.Actions = append(s.Actions, sched.Action{Kind: sched.ActionKind(kind - tagAction)})
		m.action(t, &s.Actions[len(s.Actions)-1])
	default:
		m.fail(fmt.Errorf("there is no kind of entry %d", kind))
	}
	r.entries++
}

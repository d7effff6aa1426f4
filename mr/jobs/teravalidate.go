package jobs

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/bits"
	"path/filepath"

	"github.com/sojourn-sched/sojourn/mr"
	"github.com/sojourn-sched/sojourn/mr/input"
)

// TeraValidate checks that parts are sorted: docs/spec/jobs.md, 5.3. A map tells of its split the first and last key,
// the first disorder and the sum; one reduce reads these in the order of the parts and compares neighbours.
func TeraValidate(conf mr.Conf) (*mr.Job, error) {
	return &mr.Job{
		Name:    "teravalidate",
		Conf:    conf,
		Record:  recordBytes,
		Reduces: 1,
		Map:     validateSplit,
		Reduce:  validateParts,
	}, nil
}

// stretch is what is known of consecutive records of a file. Its key is path and number, its value the rest.
type stretch struct {
	path        string
	number      int64 // of its first record in the file
	records     int64
	sumHi, sum  uint64
	first, last [keyBytes]byte
	wrong       int64          // number of the first record that is smaller than the one before it, -1: none
	after       [keyBytes]byte // key of the record before wrong
	found       [keyBytes]byte // key of the record wrong
}

func (s *stretch) add(data []byte) {
	for at := 0; at < len(data); at += recordBytes {
		rec := data[at : at+recordBytes]
		switch key := rec[:keyBytes]; {
		case s.records == 0:
			copy(s.first[:], key)
		case s.wrong < 0 && bytes.Compare(key, s.last[:]) < 0:
			s.wrong, s.after = s.number+s.records, s.last
			copy(s.found[:], key)
		}
		copy(s.last[:], rec)
		s.records++
		var carry uint64
		s.sum, carry = bits.Add64(s.sum, uint64(crc32.ChecksumIEEE(rec)), 0)
		s.sumHi += carry
	}
}

func (s *stretch) key() []byte { return mr.AppendInt64(appendField(nil, []byte(s.path)), s.number) }

func (s *stretch) value() []byte {
	b := binary.BigEndian.AppendUint64(nil, s.sumHi)
	b = binary.BigEndian.AppendUint64(b, s.sum)
	b = mr.AppendInt64(b, s.wrong)
	for _, key := range [...][keyBytes]byte{s.first, s.last, s.after, s.found} {
		b = append(b, key[:]...)
	}
	return b
}

func readStretch(key, value []byte) stretch {
	path, number := cutField(key)
	s := stretch{path: string(appendPlain(nil, path)), number: mr.OrderedInt64(number)}
	s.sumHi, s.sum = binary.BigEndian.Uint64(value), binary.BigEndian.Uint64(value[8:])
	s.wrong = mr.OrderedInt64(value[16:])
	for i, key := range [...]*[keyBytes]byte{&s.first, &s.last, &s.after, &s.found} {
		copy(key[:], value[24+i*keyBytes:])
	}
	return s
}

func validateSplit(_ *mr.Task, in *mr.Batches, out *mr.Emitter) error {
	var s stretch
	var file *input.File // that s is of
	for in.Next() {
		if s.records > 0 && file != in.File() {
			out.Emit(s.key(), s.value())
			s.records = 0
		}
		if s.records == 0 {
			file = in.File()
			s = stretch{path: in.Path(), number: in.Offset() / recordBytes, wrong: -1}
		}
		s.add(in.Data())
	}
	if s.records > 0 {
		out.Emit(s.key(), s.value())
	}
	return nil
}

func validateParts(_ *mr.Task, in *mr.Groups, out *mr.Emitter) error {
	var all, last stretch
	any := false
	complain := func(s *stretch, record int64, key, after [keyBytes]byte) {
		out.Emit([]byte("error"), fmt.Appendf(nil, "misorder in %s at record %d: %x after %x", filepath.Base(s.path),
			record, key, after))
	}
	for in.Next() {
		for in.NextValue() {
			s := readStretch(in.Key(), in.Value())
			if any && bytes.Compare(s.first[:], last.last[:]) < 0 {
				complain(&s, s.number, s.first, last.last)
			}
			if s.wrong >= 0 {
				complain(&s, s.wrong, s.found, s.after)
			}
			var carry uint64
			all.sum, carry = bits.Add64(all.sum, s.sum, 0)
			all.sumHi += s.sumHi + carry
			last, any = s, true
		}
	}
	sum := fmt.Appendf(nil, "%x", all.sum)
	if all.sumHi > 0 {
		sum = fmt.Appendf(nil, "%x%016x", all.sumHi, all.sum)
	}
	out.Emit([]byte("checksum"), sum)
	return nil
}

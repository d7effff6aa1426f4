package mr

import (
	"encoding/binary"
	"os"
	"strconv"
)

// partWriter writes a part of the output.
type partWriter struct {
	file    *os.File
	attempt *Attempt
	format  Format
	decimal bool // values are one integer, to be written as a number
	buf     []byte
}

// writeBytes is how much is written at a time: large enough that system calls do not count, small enough for the cache.
const writeBytes = 256 << 10

func newPartWriter(path string, j *Job, a *Attempt) (*partWriter, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return nil, err
	}
	return &partWriter{
		file: f, attempt: a, format: j.Output, decimal: j.Reduce == nil && j.Fold != nil && j.Fold.counts(),
	}, nil
}

// pair writes a pair in the job's format.
func (w *partWriter) pair(key, value []byte) error {
	if len(w.buf)+len(key)+len(value)+maxDecimal > cap(w.buf) {
		if err := w.room(len(key) + len(value) + maxDecimal); err != nil {
			return err
		}
	}
	b := append(w.buf, key...)
	switch {
	case w.format == Plain:
		b = append(b, value...)
	case w.format == Keys:
		b = append(b, '\n')
	case w.decimal:
		b = append(b, '\t')
		b = append(strconv.AppendInt(b, int64(binary.LittleEndian.Uint64(value)), 10), '\n')
	default:
		b = append(b, '\t')
		b = append(append(b, value...), '\n')
	}
	w.buf = b
	return nil
}

// maxDecimal is the most bytes that a number, a TAB and a line feed take.
const maxDecimal = 24

// write writes records as they are.
func (w *partWriter) write(records []byte) error {
	if len(w.buf)+len(records) > cap(w.buf) {
		if err := w.room(0); err != nil {
			return err
		}
		if len(records) >= writeBytes {
			return w.put(records)
		}
	}
	w.buf = append(w.buf, records...)
	return nil
}

// room empties the buffer, and makes it hold need bytes.
func (w *partWriter) room(need int) error {
	err := w.put(w.buf)
	if w.buf = w.buf[:0]; need > cap(w.buf) || cap(w.buf) == 0 || cap(w.buf) > 4*writeBytes {
		w.buf = make([]byte, 0, max(need, writeBytes))
	}
	return err
}

func (w *partWriter) put(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	defer w.attempt.enter(w.attempt.enter(Write))
	_, err := w.file.Write(b)
	w.attempt.count(BytesWritten, int64(len(b)))
	return err
}

func (w *partWriter) close() error {
	if err := w.put(w.buf); err != nil {
		return err
	}
	return w.file.Close()
}

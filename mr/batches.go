package mr

import (
	"bytes"
	"io"
	"sync"

	"github.com/sojourn-sched/sojourn/mr/input"
)

// Batches are the records of one split, some at a time. Use: for in.Next() { … in.Data() … }.
type Batches struct {
	attempt *Attempt
	reader  *input.Reader
	room    recordRoom  // of reader
	size    int64       // of the split, in bytes as stored
	record  int         // bytes of a record; 0: lines
	once    bool        // only the beginning is wanted
	readers *sync.Pool  // takes reader back
	unwatch func() bool // ends the watch over the attempt's context; nil: the split has no pipe
	out     *Emitter
	data    []byte
	records int64
	failed  error
}

// Next moves to the next batch, and reports whether there is one. It waits while the attempt is suspended, and is false
// when it was killed or reading failed: the function then just returns.
func (b *Batches) Next() bool {
	if b.failed != nil || b.out.failed != nil {
		return false
	}
	if b.once && b.records > 0 {
		b.failed = io.EOF
		return false
	}
	b.data = nil
	if b.size > 0 {
		b.attempt.share.Store(min(int64(float64(b.reader.Bytes())/float64(b.size)*1e6), 1e6))
	}
	if b.out.collect != nil && b.attempt.ration.due() {
		if b.failed = b.out.collect.fit(); b.failed != nil {
			return false
		}
	}
	if b.failed = b.attempt.pass(); b.failed != nil {
		return false
	}
	defer b.attempt.enter(b.attempt.enter(Read))
	if b.unwatch != nil { // what writes to the pipe may take its time
		b.attempt.throttle.waiting.Store(true)
		defer b.attempt.throttle.waiting.Store(false)
	}
	if b.data, b.failed = b.reader.Next(); b.failed != nil {
		return false
	}
	if b.once {
		b.data = beginning(b.data, b.record)
	}
	if b.record > 0 {
		b.records += int64(len(b.data) / b.record)
	} else {
		b.records += int64(bytes.Count(b.data, []byte{'\n'}))
	}
	return true
}

// close ends reading, and frees what the reader holds.
func (b *Batches) close() {
	again := b.unwatch == nil || b.unwatch() // else the watch is about to interrupt the reader
	b.reader.Close()
	b.room.close()
	if again {
		b.readers.Put(b.reader)
	}
}

// Data returns the batch: one or more whole records of one file. Each line ends with one LF, and has no other. The
// batch is lent until Next.
func (b *Batches) Data() []byte { return b.data }

// File returns the file that the batch is from. A file that two inputs name is two Files, each read apart.
func (b *Batches) File() *input.File { return b.reader.File() }

// Path returns the path of the file that the batch is from.
func (b *Batches) Path() string { return b.reader.File().Path }

// Offset returns where the batch begins, in bytes from the beginning of the (decompressed) file.
func (b *Batches) Offset() int64 { return b.reader.Offset() }

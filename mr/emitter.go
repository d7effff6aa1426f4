package mr

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/sojourn-sched/sojourn/mr/input"
	"github.com/sojourn-sched/sojourn/mr/internal/pair"
	"github.com/sojourn-sched/sojourn/mr/internal/spill"
)

// An Emitter takes what a function emits: of a map or combine function, pairs on their way to the reduces; of a reduce
// function, or a map function of a [MapOnly] job, the output. Keys and values are copied before a method returns. What
// goes wrong (a disk is full) ends the attempt at the next batch or group; methods do not report it.
type Emitter struct {
	collect *collector    // pairs of a map
	log     *pairLog      // with collect: pairs of a combiner that stay in memory
	file    *spill.Writer // pairs of a combiner on their way to a file
	out     *partWriter   // output
	sample  *sampler      // keys of a sample
	pairs   int64
	bytes   int64
	failed  error
}

var errWrite = errors.New("Write used where pairs are wanted: only reduces, and maps of map-only jobs, write " +
	"to the output")

// Emit emits a pair. Of a job with a Fold, value has the Fold's Width.
func (e *Emitter) Emit(key, value []byte) {
	e.pairs++
	e.bytes += int64(len(key) + len(value))
	switch {
	case e.failed != nil:
	case e.log != nil:
		if !e.collect.room(e.log, len(key)+len(value)+pair.MaxHead) {
			e.failed = errFull
			return
		}
		e.log.put(key, value)
	case e.collect != nil:
		e.failed = e.collect.add(key, value)
	case e.file != nil:
		e.file.Append(key, value)
	case e.sample != nil:
		e.sample.take(key)
	default:
		e.failed = e.out.pair(key, value)
	}
}

// EmitEach emits text[span] with the same value for each of keys; faster than Emit for many small keys.
func (e *Emitter) EmitEach(text []byte, keys []Span, value []byte) {
	if e.collect == nil || e.log != nil || e.failed != nil {
		for _, k := range keys {
			e.Emit(text[k.Start:k.End], value)
		}
		return
	}
	e.pairs += int64(len(keys))
	for _, k := range keys {
		e.bytes += int64(k.End - k.Start)
	}
	e.bytes += int64(len(keys) * len(value))
	e.failed = e.collect.addEach(text, keys, value)
}

// Write outputs records as they are, whatever the job's Format; only where the emitter leads to the output.
func (e *Emitter) Write(records []byte) {
	switch {
	case e.failed != nil:
	case e.out == nil:
		e.failed = errWrite
	default:
		e.failed = e.out.write(records)
	}
}

// Err returns what went wrong with what was emitted so far; nil: nothing. A function that may emit without end between
// two batches or groups looks at it.
func (e *Emitter) Err() error { return e.failed }

// Batches are the records of one split, some at a time. Use: for in.Next() { … in.Data() … }.
type Batches struct {
	attempt *Attempt
	reader  *input.Reader
	room    recordRoom  // of reader
	size    int64       // of the split, in bytes as stored
	record  int         // bytes of a record; 0: lines
	once    bool        // only the beginning is wanted
	readers *sync.Pool  // takes reader back
	free    func() bool // ends the watch over the attempt's context; nil: the split has no pipe
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
	if b.failed = b.attempt.pass(); b.failed != nil {
		return false
	}
	defer b.attempt.enter(b.attempt.enter(Read))
	if b.free != nil { // what writes to it may take its time
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
	again := b.free == nil || b.free() // else the watch is about to interrupt the reader
	b.reader.Close()
	b.room.close()
	if again {
		b.readers.Put(b.reader)
	}
}

// Data returns the batch: one or more whole records of one file. Each line ends with one LF, and has no other. The
// batch is lent until Next.
func (b *Batches) Data() []byte { return b.data }

// Path returns the path of the file that the batch is from.
func (b *Batches) Path() string { return b.reader.File().Path }

// Offset returns where the batch begins, in bytes from the beginning of the (decompressed) file.
func (b *Batches) Offset() int64 { return b.reader.Offset() }

// LostOutput says that a map's output is gone or corrupt: the map must run again.
type LostOutput struct {
	Map     int // the task
	Attempt int // whose output it was
	Err     error
	Others  []int // further maps whose outputs were given up, in ascending order
}

func (e *LostOutput) Error() string {
	return fmt.Sprintf("output of map %d, attempt %d: %v", e.Map, e.Attempt, e.Err)
}

func (e *LostOutput) Unwrap() error { return e.Err }

package mr

import (
	"errors"

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

package mr

// An Emitter takes what a function emits: of a map or combine function, pairs on their way to the reduces; of a reduce function, or
// a map function of a [MapOnly] job, the output. Keys and values are copied before a method returns. What goes wrong
// (a disk is full) ends the attempt at the next batch or group; methods do not report it.
type Emitter struct{}

// Emit emits a pair. Of a job with a Fold, value has the Fold's Width.
func (e *Emitter) Emit(key, value []byte) {}

// EmitEach emits text[span] with the same value for each of keys; faster than Emit for many small keys.
func (e *Emitter) EmitEach(text []byte, keys []Span, value []byte) {}

// Write outputs records as they are, whatever the job's Format; only where the emitter leads to the output.
func (e *Emitter) Write(records []byte) {}

// Batches are the records of one split, some at a time. Use: for in.Next() { … in.Data() … }.
type Batches struct{}

// Next moves to the next batch, and reports whether there is one. It waits while the attempt is suspended, and is false when
// it was killed or reading failed: the function then just returns.
func (b *Batches) Next() bool { return false }

// Data is the batch: at least one whole record; lines with their ends, of which the last of a file may have none. Under 4 GiB.
// Lent until Next.
func (b *Batches) Data() []byte { return nil }

// Path is the file that the batch is of.
func (b *Batches) Path() string { return "" }

// Offset is where the batch begins, in bytes from the beginning of the (uncompressed) file.
func (b *Batches) Offset() int64 { return 0 }

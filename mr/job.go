package mr

// A Job is what the engine computes: functions over bytes, and what may be assumed of them. The zero value of each
// field is the common case. A Job is read by many attempts at once and is not written to after it was handed to the
// engine.
type Job struct {
	Name string // for people and records; no meaning to the engine
	Conf Conf   // the user's key=value pairs, for the functions; no meaning to the engine

	Input  []string // files to read; nil: those that the user named. Later rounds set it
	Record int      // bytes of each input record, at least 1; 0: records are lines

	// Map reads the batches of one split and emits. Called once for an attempt.
	Map Func[*Batches]

	// Accelerated are other implementations of Map by the class of nodes whose hardware they use, such as vector
	// instructions, a device or a native program. They emit what Map emits. An attempt on a node of another class runs
	// Map, and so does one that holds none of the class's devices where those are counted. Map also runs for a task at
	// which such an implementation has failed, and for all once it has failed twice in a row for the job: the device
	// may be broken. nil: there are none.
	Accelerated map[string]Func[*Batches]

	// Fold declares that values of one key may be folded into one as they come; see [Fold]. Excludes Combine and
	// Compare.
	Fold *Fold
	// Combine may run on any part of a group, any number of times, before Reduce; what it emits must have the keys of
	// its group. nil: none.
	Combine Func[*Groups]
	// Reduce reads the groups of one part and emits what is output. nil: the pairs themselves are output; of a Fold of
	// one integer in decimal.
	Reduce Func[*Groups]
	// Reduces is the number of parts; 0: as many as the run asks for. [MapOnly]: what the maps emit is output.
	Reduces int

	// Partition gives the part of a key, from 0 to parts-1; nil: by a hash of the key. Excludes TotalOrder.
	Partition func(key []byte, parts int) int
	// TotalOrder makes part i hold smaller keys than part i+1: cut points are taken from the keys that Map emits on a
	// sample of the input, the same sample in every run.
	TotalOrder bool
	// Compare orders keys: negative, zero, positive. nil: by bytes, which is much faster; [AppendInt64] and its like
	// make keys whose bytes are in the order of their values.
	Compare func(a, b []byte) int
	// SameGroup reports whether two keys, neighbours in order, go to one group. nil: where they are equal.
	SameGroup func(a, b []byte) bool

	Output Format // how pairs are written

	// Next gives the next round of a job that has several, from what the last round left behind; nil: this is the last.
	// A nil Job ends the chain: the output of the last round is the output of all.
	Next func(*Round) (*Job, error)
}

// Func is a map function (of batches), a combine or a reduce function (of groups). It is called once for an attempt,
// pulls its input, and returns when there is no more, or an error, which fails the attempt. It may start goroutines,
// but those end before it returns, and the iterator and the emitter are used by one goroutine at a time each.
type Func[In any] func(t *Task, in In, out *Emitter) error

// mapOn returns the map function of an attempt that may use the hardware of a class of nodes.
func (j *Job) mapOn(hardware string) Func[*Batches] {
	if f := j.Accelerated[hardware]; f != nil {
		return f
	}
	return j.Map
}

// MapOnly as Job.Reduces: no shuffle, no reduce; each map task writes a part of the output.
const MapOnly = -1

// A Builder makes a job from what the user configured. An error names the key that is wrong and what would be right.
type Builder func(Conf) (*Job, error)

// A Round is a round of a job that has ended well.
type Round struct {
	Index    int       // from 0
	Parts    []string  // the files it wrote, in order of parts. They are gone when the next round has ended
	Counters *Counters // of all its tasks
}

// Format says how an emitted pair is written to an output file.
type Format uint8

const (
	Text  Format = iota // key, TAB, value, line feed; as Hadoop's TextOutputFormat writes two Texts
	Keys                // key, line feed; the value is dropped
	Plain               // key, value and nothing else: fixed-length records
)

// A Fold says that the values of a key can be folded into one, in place, in any order and any grouping: sums, minima,
// sets. The engine then keeps one value for each key in a hash table while it maps, which is faster than any sort. All
// values of the job have Width bytes. Use [Sum] and [Distinct] where they fit.
type Fold struct {
	Width int // bytes, 0 to 64 KiB. 0: only the keys matter
	// Into folds value into acc, both Width bytes. It must be associative and commutative to the last bit (integers
	// are, floating point is not). nil: both are arrays of little-endian int64, added element by element.
	Into func(acc, value []byte)
}

// Sum folds arrays of n little-endian int64 by adding them element by element; overflow wraps. Sum(1) is counting.
func Sum(n int) *Fold { return &Fold{Width: 8 * n} }

// Distinct folds pairs of one key into one pair with an empty value: a set of keys.
func Distinct() *Fold { return &Fold{} }

// A Span is a piece of a text: text[Start:End], Start at most End.
type Span = struct{ Start, End uint32 }

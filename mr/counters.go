package mr

// Counter is one of the counts that every job has, under Hadoop's name.
type Counter uint8

const (
	MapInputRecords Counter = iota
	MapOutputRecords
	MapOutputBytes // of keys and values
	CombineInputRecords
	CombineOutputRecords
	SpilledRecords
	ReduceShuffleBytes // of segments, as they are kept in memory or in files
	ReduceInputGroups
	ReduceInputRecords
	ReduceOutputRecords
	FileBytesRead    // of the engine's own temporary files
	FileBytesWritten // of the engine's own temporary files
	BytesRead        // of input, as it lies in its files
	BytesWritten     // of output
	NumCounters      // how many there are
)

var counterNames = [NumCounters]string{
	"MAP_INPUT_RECORDS", "MAP_OUTPUT_RECORDS", "MAP_OUTPUT_BYTES", "COMBINE_INPUT_RECORDS", "COMBINE_OUTPUT_RECORDS",
	"SPILLED_RECORDS", "REDUCE_SHUFFLE_BYTES", "REDUCE_INPUT_GROUPS", "REDUCE_INPUT_RECORDS", "REDUCE_OUTPUT_RECORDS",
	"FILE_BYTES_READ", "FILE_BYTES_WRITTEN", "BYTES_READ", "BYTES_WRITTEN",
}

// String returns Hadoop's name of the counter.
func (c Counter) String() string { return counterNames[c] }

// UserCounter names a count of the job's own.
type UserCounter struct{ Group, Name string }

// Counters are the counts of an attempt, a task, or a job.
type Counters struct {
	Of   [NumCounters]int64
	User map[UserCounter]int64 // nil: none
}

// Add adds the counts of o.
func (c *Counters) Add(o *Counters) {
	for i, n := range o.Of {
		c.Of[i] += n
	}
	for k, n := range o.User {
		c.addUser(k, n)
	}
}

func (c *Counters) addUser(k UserCounter, n int64) {
	if c.User == nil {
		c.User = make(map[UserCounter]int64)
	}
	c.User[k] += n
}

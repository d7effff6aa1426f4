// Package ycsb is a load of reads and writes on a pebble store, in the manner of the Yahoo Cloud Serving
// Benchmark (Cooper et al., SoCC 2010): keys by a Zipf law, workloads by their part of reads. The workloads are
// those of J. Polo's thesis (UPC 2014, 5.2), whose letters mean something else than the benchmark's own.
package ycsb

import (
	"fmt"
	"math/rand/v2"

	"github.com/cockroachdb/pebble/v2"

	"github.com/sojourn-sched/sojourn/internal/splitmix"
)

// A Workload is a mix of operations.
type Workload struct {
	Name  string
	Reads float64 // part of the operations; the others are Writes
	Write Write
}

// A Write is what an operation does that is not a read.
type Write uint8

// The writes.
const (
	Update Write = iota
	Modify       // read, then write
	Insert
)

// Workloads are those of the thesis.
var Workloads = []Workload{
	{"A", 0.5, Update}, {"B", 0.95, Update}, {"C", 0.5, Modify}, {"D", 1, Update}, {"E", 0.95, Insert},
}

// A Load draws operations. It belongs to one goroutine.
type Load struct {
	Workload Workload
	Records  int // that the store had in the beginning: keys are of these
	Value    int // bytes of a value

	r        *rand.Rand
	zipf     *rand.Zipf
	inserted int
	value    []byte
}

// NewLoad returns a load on a store with some records. Keys follow a Zipf law with exponent 1.01, and lie scattered.
func NewLoad(w Workload, records, value int, seed uint64) *Load {
	r := rand.New(rand.NewPCG(seed, 0x9c5b))
	return &Load{Workload: w, Records: records, Value: value, r: r, value: make([]byte, value),
		zipf: rand.NewZipf(r, 1.01, 1, uint64(records-1))}
}

// Key returns the key of a record. Records are scattered over the keys.
func Key(record int) []byte { return fmt.Appendf(nil, "user%016x", splitmix.Mix(uint64(record))) }

// Fill writes all records.
func (l *Load) Fill(db *pebble.DB) error {
	batch := db.NewBatch()
	for i := range l.Records {
		if err := batch.Set(Key(i), l.draw(), nil); err != nil {
			return err
		}
		if batch.Len() > 4<<20 || i == l.Records-1 {
			if err := batch.Commit(pebble.NoSync); err != nil {
				return err
			}
			batch = db.NewBatch()
		}
	}
	return db.Flush()
}

// draw returns a value, which the next call overwrites.
func (l *Load) draw() []byte {
	for i := range l.value {
		l.value[i] = byte('a' + l.r.IntN(26))
	}
	return l.value
}

// Do does one operation, and reports whether it was a read, which read gets the key of. Writes are not synced.
func (l *Load) Do(db *pebble.DB, read func(key []byte) error) (wasRead bool, err error) {
	key := Key(int(l.zipf.Uint64()))
	if l.r.Float64() < l.Workload.Reads {
		return true, read(key)
	}
	switch l.Workload.Write {
	case Modify:
		if err := Get(db, key); err != nil {
			return false, err
		}
	case Insert:
		l.inserted++
		key = Key(l.Records + l.inserted)
	}
	return false, db.Set(key, l.draw(), pebble.NoSync)
}

// Get reads the value of a key.
func Get(from pebble.Reader, key []byte) error {
	_, closer, err := from.Get(key)
	if err != nil {
		return fmt.Errorf("read %s: %w", key, err)
	}
	return closer.Close()
}

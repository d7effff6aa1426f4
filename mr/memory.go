package mr

import (
	"fmt"

	"github.com/sojourn-sched/sojourn/mr/internal/mem"
)

// Memory is what all attempts of an engine share: half of it holds finished map output, the other half is divided among
// the attempts that run, so that no attempt waits for another's.
type Memory struct {
	pool    *mem.Pool
	results *mem.Account
	small   shelf // of results
	slots   int
}

const (
	// runtimeShare of the limit, plus runtimeFixed bytes, are left to Go's own heap and stacks, buffers of files, and
	// code.
	runtimeShare = 8
	runtimeFixed = 24 << 20
	leastMemory  = 4 << 20 // for each slot
)

// NewMemory reserves what attempts may use of limit, in bytes, with at most slots of them at a time. Only what is used
// counts.
func NewMemory(limit int64, slots int) (*Memory, error) {
	size := limit - limit/runtimeShare - runtimeFixed
	if least := int64(slots) * leastMemory; size < least {
		need := (least + runtimeFixed) * runtimeShare / (runtimeShare - 1)
		return nil, fmt.Errorf(
			"memory of %d MiB is too little for %d slots: want at least %d MiB",
			limit>>20,
			slots,
			need>>20+1,
		)
	}
	return newMemory(size, slots)
}

func newMemory(size int64, slots int) (*Memory, error) {
	pool, err := mem.New(size)
	if err != nil {
		return nil, err
	}
	results := pool.Account(pool.Size() / 2)
	return &Memory{pool: pool, results: results, small: shelf{account: results}, slots: slots}, nil
}

// attempt opens the account of an attempt.
func (m *Memory) attempt() *mem.Account { return m.pool.Account(m.attemptBytes()) }

// attemptBytes is the limit of an attempt's account.
func (m *Memory) attemptBytes() int64 { return m.pool.Size() / 2 / int64(m.slots) }

// InUse is how many bytes attempts and finished map output hold.
func (m *Memory) InUse() int64 { return m.pool.InUse() }

// Trim gives what is not in use back to the operating system.
func (m *Memory) Trim() { m.pool.Trim() }

// Close gives all of it back. No attempt may be running, and map output is gone.
func (m *Memory) Close() error { return m.pool.Close() }

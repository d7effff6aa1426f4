package mr

import (
	"fmt"
	"sync/atomic"

	"github.com/sojourn-sched/sojourn/mr/internal/mem"
)

// Memory is what all attempts of an engine share: half of it holds finished map output, the other half is divided among
// the attempts that run, so that no attempt waits for another's. An attempt that was resized has more or less of it, in
// proportion to what it holds.
type Memory struct {
	pool    *mem.Pool
	results *mem.Account
	small   shelf // of results
	slots   int
	open    atomic.Int64 // accounts of attempts
}

const (
	// runtimeShare of the limit, plus runtimeFixed bytes, are left to Go's own heap and stacks, buffers of files, and
	// code.
	runtimeShare = 8
	runtimeFixed = 24 << 20
	leastMemory  = 4 << 20 // for each slot
)

// NewMemory reserves what attempts and their outputs may use of limit, in bytes, for at most slots attempts at a time.
// Memory that is reserved and not used is not taken from the machine.
func NewMemory(limit int64, slots int) (*Memory, error) {
	size := limit - limit/runtimeShare - runtimeFixed
	if least := int64(slots) * leastMemory; size < least {
		need := (least + runtimeFixed) * runtimeShare / (runtimeShare - 1)
		return nil, fmt.Errorf("memory of %d MiB is too little for %d slots: want at least %d MiB", limit>>20,
			slots, need>>20+1)
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

// attempt opens the account of an attempt, which ends with end.
func (m *Memory) attempt() *mem.Account {
	m.open.Add(1)
	return m.pool.Account(m.attemptBytes())
}

// end closes the account of an attempt.
func (m *Memory) end(a *mem.Account) {
	a.Close()
	m.open.Add(-1)
}

// A ration is the memory that an attempt of an engine may use. The limit of its account follows what the attempt holds
// by the core's books: the attempt itself sets it, between two batches, so that it can spill before.
type ration struct {
	asks int64 // MiB that the attempt's stage asks for; zero: memory is not counted
	full int64 // limit of the account, in bytes, of an attempt that holds what its stage asks for

	holds atomic.Int64 // MiB that the attempt is to hold
	asked atomic.Int64 // how often hold has changed that
	kept  atomic.Int64 // asked when the account last came to keep to holds
	// tell tells the engine that the account keeps to holds, unless that has changed again meanwhile (due); again:
	// because the attempt has taken back what its stage asks for.
	tell func(again bool)
}

// due reports whether the account does not keep yet to what the attempt is to hold.
func (r *ration) due() bool { return r.asked.Load() != r.kept.Load() }

// limit returns the limit of the account, in bytes, for what the attempt is to hold.
func (r *ration) limit() int64 {
	holds := r.holds.Load()
	if r.asks == 0 || holds == r.asks {
		return r.full
	}
	return int64(float64(r.full) * float64(holds) / float64(r.asks))
}

// hold changes what the attempt is to hold, in MiB, and reports whether its account has to follow.
func (r *ration) hold(mib int64) bool {
	if r.asks == 0 {
		return false
	}
	if r.holds.Swap(mib) != mib {
		r.asked.Add(1)
	}
	return r.due()
}

// keep sets the limit of the account to what the attempt is to hold. If the account uses no more than that, keep tells
// the engine (ration.tell); else the change stays due, and pass calls keep again, until a spill, or the end of a table
// or an index, has freed enough. It frees nothing and waits for nothing. Only the attempt's own goroutine calls it.
func (a *Attempt) keep() {
	r := &a.ration
	asked := r.asked.Load() // before holds
	if a.account != nil {
		if a.account.SetLimit(r.limit()); a.account.Left() < 0 {
			return
		}
	}
	r.kept.Store(asked)
	r.tell(false)
}

// takeBack gives the attempt, which cannot go on with less, the memory that its stage asks for. It returns false if the
// attempt has that already.
func (a *Attempt) takeBack() bool {
	r := &a.ration
	if a.account.Limit() >= r.full {
		return false
	}
	r.holds.Store(r.asks)
	a.account.SetLimit(r.full)
	r.tell(true)
	return true
}

// recordRoom is what an attempt reads records into that are longer than its reader's buffers.
type recordRoom struct {
	memory  *Memory
	account *mem.Account
}

// reading opens the room for long records of an attempt that reads input. It comes on top of the attempt's account: the
// pool bounds all accounts together, and where it is used up the records lie in Go's heap, within the account's limit.
func (m *Memory) reading() recordRoom { return recordRoom{m, m.attempt()} }

func (r recordRoom) close()             { r.memory.end(r.account) }
func (r recordRoom) Alloc(n int) []byte { return r.account.Need(n) }
func (r recordRoom) Free(b []byte)      { r.account.Free(b) }
func (r recordRoom) Limit() int64       { return r.account.Limit() }

// attemptBytes returns the limit of an attempt's account, in bytes.
func (m *Memory) attemptBytes() int64 { return m.pool.Size() / 2 / int64(m.slots) }

// InUse returns how many bytes attempts and finished map output hold.
func (m *Memory) InUse() int64 { return m.pool.InUse() }

// Trim returns the pages that are not in use to the operating system.
func (m *Memory) Trim() { m.pool.Trim() }

// Close unmaps the memory, and map output is gone. If an attempt that was given up still runs, the memory stays mapped:
// what the attempt reads and writes there would else crash the process.
func (m *Memory) Close() error {
	if m.open.Load() > 0 {
		return nil
	}
	return m.pool.Close()
}

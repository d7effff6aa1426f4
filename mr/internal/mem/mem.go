// Package mem is the engine's memory: one mapping outside Go's heap, as large as the user allows, handed out in chunks
// against accounts. The kernel counts what was touched, the garbage collector sees none of it, and huge pages spare the
// hash tables most of their address translation misses.
package mem

import (
	"fmt"
	"math/bits"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Chunk is the unit of allocation, in bytes.
const Chunk = 64 << 10

const hugePage = 2 << 20

// Pool is the mapping. Its methods may be called from many goroutines.
type Pool struct {
	mu      sync.Mutex
	mapped  []byte
	base    []byte   // mapped from its first huge page on
	used    []uint64 // a bit for each chunk
	chunks  int
	low     int // no chunk below is free
	inUse   int // chunks
	heap    int // chunks that accounts took from Go's heap
	touched int // chunks below were handed out at some time
}

// New reserves size bytes, at least one chunk; pages count only once they are written to.
func New(size int64) (*Pool, error) {
	chunks := int(max(size, Chunk) / Chunk)
	mapped, err := unix.Mmap(-1, 0, chunks*Chunk+hugePage, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_ANON|unix.MAP_PRIVATE|unix.MAP_NORESERVE)
	if err != nil {
		return nil, fmt.Errorf("reserve %d MiB of memory: %w", chunks*Chunk>>20, err)
	}
	skip := -int(uintptr(unsafe.Pointer(unsafe.SliceData(mapped)))) & (hugePage - 1)
	p := &Pool{
		mapped: mapped,
		base:   mapped[skip : skip+chunks*Chunk],
		chunks: chunks,
		used:   make([]uint64, (chunks+63)/64),
	}
	if whole := len(p.base) &^ (hugePage - 1); whole > 0 {
		// Advice: a kernel without huge pages is slower, not wrong.
		_ = unix.Madvise(p.base[:whole], unix.MADV_HUGEPAGE)
	}
	for i := chunks; i < 64*len(p.used); i++ {
		p.used[i/64] |= 1 << (i % 64)
	}
	return p, nil
}

// Close gives the mapping back. Nothing that was allocated may be touched afterwards.
func (p *Pool) Close() error { return unix.Munmap(p.mapped) }

// Size is how many bytes there are.
func (p *Pool) Size() int64 { return int64(p.chunks) * Chunk }

// InUse is how many bytes the accounts hold, those from Go's heap too.
func (p *Pool) InUse() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return int64(p.inUse+p.heap) * Chunk
}

// borrow counts chunks that an account takes from Go's heap, or gives back if n is negative.
func (p *Pool) borrow(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.heap += n
}

// alloc finds n chunks side by side, the lowest there are; nil: there are none.
func (p *Pool) alloc(n int) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	run, first := 0, true
	for i := p.low; i < p.chunks; {
		word := p.used[i/64] >> (i % 64)
		free := bits.TrailingZeros64(word)
		if free == 0 {
			run = 0
			i += bits.TrailingZeros64(^word)
			continue
		}
		if first {
			p.low, first = i, false
		}
		step := min(free, 64-i%64, n-run)
		run += step
		i += step
		if run == n {
			p.mark(i-n, n, true)
			return p.base[(i-n)*Chunk : i*Chunk : i*Chunk]
		}
	}
	return nil
}

func (p *Pool) mark(at, n int, use bool) {
	for i := at; i < at+n; i++ {
		if use {
			p.used[i/64] |= 1 << (i % 64)
		} else {
			p.used[i/64] &^= 1 << (i % 64)
		}
	}
	if use {
		p.inUse += n
		p.touched = max(p.touched, at+n)
	} else {
		p.inUse -= n
		p.low = min(p.low, at)
	}
}

func (p *Pool) free(b []byte) {
	b = b[:cap(b)]
	at := int(uintptr(unsafe.Pointer(unsafe.SliceData(b)))-uintptr(unsafe.Pointer(unsafe.SliceData(p.base)))) / Chunk
	n := len(b) / Chunk
	p.mu.Lock()
	defer p.mu.Unlock()
	if at < 0 || at+n > p.chunks || p.used[at/64]>>(at%64)&1 == 0 {
		panic("mem: free of what is not allocated")
	}
	p.mark(at, n, false)
}

// Trim gives the pages of free chunks back to the kernel.
func (p *Pool) Trim() {
	p.mu.Lock()
	defer p.mu.Unlock()
	top := 0
	for i := 0; i < p.touched; i++ {
		if p.used[i/64]>>(i%64)&1 == 1 {
			top = i + 1
			continue
		}
		at := i
		for i+1 < p.touched && p.used[(i+1)/64]>>((i+1)%64)&1 == 0 {
			i++
		}
		// Advice as well: the pages stay ours, and counted, where it fails.
		_ = unix.Madvise(p.base[at*Chunk:(i+1)*Chunk], unix.MADV_DONTNEED)
	}
	p.touched = top
}

// Account allocates from a pool up to a limit. It knows what it holds, so that Close frees everything, whichever way
// its owner ended. Its methods may be called from many goroutines.
type Account struct {
	pool  *Pool
	mu    sync.Mutex // guards what follows
	limit int        // chunks
	used  int        // chunks
	held  map[*byte]holding
}

// holding describes one allocation.
type holding struct {
	chunks int
	heap   bool // it is Go's, because the pool was used up
}

// Account opens an account of at most limit bytes.
func (p *Pool) Account(limit int64) *Account {
	return &Account{pool: p, limit: int(limit / Chunk), held: map[*byte]holding{}}
}

// Alloc returns at least n bytes, with what they held before. len and cap are a multiple of Chunk. Alloc returns nil
// where the account's limit forbids the allocation, or where the pool has no n free bytes side by side.
func (a *Account) Alloc(n int) []byte { return a.alloc(n, false) }

// Need is Alloc for bytes that the owner cannot go on without. Within the account's limit it always succeeds: if other
// accounts have used up the pool, the bytes come from Go's heap.
func (a *Account) Need(n int) []byte { return a.alloc(n, true) }

func (a *Account) alloc(n int, must bool) []byte {
	h := holding{chunks: (n + Chunk - 1) / Chunk}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.used+h.chunks > a.limit {
		return nil
	}
	b := a.pool.alloc(h.chunks)
	if b == nil && must {
		b, h.heap = make([]byte, h.chunks*Chunk), true
		a.pool.borrow(h.chunks)
	}
	if b != nil {
		a.used += h.chunks
		a.held[unsafe.SliceData(b)] = h
	}
	return b
}

// Free takes back what Alloc or Need returned.
func (a *Account) Free(b []byte) {
	if b == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	first := unsafe.SliceData(b)
	h, ok := a.held[first]
	if !ok || h.chunks != cap(b)/Chunk {
		panic("mem: free of what the account does not hold")
	}
	delete(a.held, first)
	a.used -= h.chunks
	a.pool.release(b, h)
}

// Close frees all that the account holds. Afterwards the account allocates nothing.
func (a *Account) Close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for first, h := range a.held {
		a.pool.release(unsafe.Slice(first, h.chunks*Chunk), h)
	}
	clear(a.held)
	a.used, a.limit = 0, 0
}

// release frees an allocation of an account.
func (p *Pool) release(b []byte, h holding) {
	if h.heap {
		p.borrow(-h.chunks)
	} else {
		p.free(b)
	}
}

// Move books all of bs, as Alloc returned them, to another account, and reports whether the other account has room. If
// it has none, nothing changes.
func (a *Account) Move(bs [][]byte, to *Account) bool {
	chunks := 0
	for _, b := range bs {
		chunks += cap(b) / Chunk
	}
	to.mu.Lock()
	room := to.used+chunks <= to.limit
	if room {
		to.used += chunks
	}
	to.mu.Unlock()
	if !room {
		return false
	}
	moved := make([]holding, len(bs))
	a.mu.Lock()
	for i, b := range bs {
		moved[i] = a.held[unsafe.SliceData(b)]
		delete(a.held, unsafe.SliceData(b))
	}
	a.used -= chunks
	a.mu.Unlock()
	to.mu.Lock()
	defer to.mu.Unlock()
	for i, b := range bs {
		to.held[unsafe.SliceData(b)] = moved[i]
	}
	return true
}

// Left is how many bytes the account's limit still allows; negative: it was lowered, and the account holds more.
func (a *Account) Left() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return int64(a.limit-a.used) * Chunk
}

// Limit is how many bytes the account may hold.
func (a *Account) Limit() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return int64(a.limit) * Chunk
}

// SetLimit changes how many bytes the account may hold. An account that holds more keeps that, and allocates nothing
// until enough of it was freed. It must not be closed.
func (a *Account) SetLimit(limit int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.limit = int(limit / Chunk)
}

// Used is how many bytes the account holds.
func (a *Account) Used() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return int64(a.used) * Chunk
}

// Slice allocates n elements of a type without pointers, as Alloc allocates bytes: nil where there is no room.
// FreeSlice takes them back.
func Slice[T any](a *Account, n int) []T { return sliceOf[T](a.Alloc(sliceBytes[T](n)), n) }

// NeedSlice is Slice for elements that the owner cannot go on without, as Need is Alloc.
func NeedSlice[T any](a *Account, n int) []T { return sliceOf[T](a.Need(sliceBytes[T](n)), n) }

// FreeSlice takes back what Slice or NeedSlice returned, whole.
func FreeSlice[T any](a *Account, s []T) {
	if s != nil {
		whole := (sliceBytes[T](len(s)) + Chunk - 1) / Chunk * Chunk
		a.Free(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), whole))
	}
}

func sliceBytes[T any](n int) int {
	var t T
	return max(n, 1) * int(unsafe.Sizeof(t))
}

func sliceOf[T any](b []byte, n int) []T {
	if b == nil {
		return nil
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), n)
}

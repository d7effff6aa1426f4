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

// InUse is how many bytes are handed out.
func (p *Pool) InUse() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return int64(p.inUse) * Chunk
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

// Account allocates from a pool up to a limit. Its methods may be called from many goroutines.
type Account struct {
	pool  *Pool
	mu    sync.Mutex
	limit int
	used  int
}

// Account opens an account of at most limit bytes.
func (p *Pool) Account(limit int64) *Account {
	return &Account{pool: p, limit: int(limit / Chunk)}
}

// Alloc gives at least n bytes, with what they held before, len and cap a multiple of Chunk; nil where the account's
// limit or the pool does not allow it.
func (a *Account) Alloc(n int) []byte {
	chunks := (n + Chunk - 1) / Chunk
	if !a.book(chunks) {
		return nil
	}
	b := a.pool.alloc(chunks)
	if b == nil {
		a.book(-chunks)
	}
	return b
}

func (a *Account) book(chunks int) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if chunks > 0 && a.used+chunks > a.limit {
		return false
	}
	a.used += chunks
	return true
}

// Free takes back what Alloc gave.
func (a *Account) Free(b []byte) {
	if b == nil {
		return
	}
	a.pool.free(b)
	a.book(-cap(b) / Chunk)
}

// Move books all of bs, as Alloc gave them, to another account, and reports whether that has room; if not, nothing
// changes.
func (a *Account) Move(bs [][]byte, to *Account) bool {
	chunks := 0
	for _, b := range bs {
		chunks += cap(b) / Chunk
	}
	if !to.book(chunks) {
		return false
	}
	a.book(-chunks)
	return true
}

// Left is how many bytes the account's limit still allows.
func (a *Account) Left() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return int64(a.limit-a.used) * Chunk
}

// Limit is how many bytes the account may hold.
func (a *Account) Limit() int64 { return int64(a.limit) * Chunk }

// Used is how many bytes the account holds.
func (a *Account) Used() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return int64(a.used) * Chunk
}

// Slice allocates n elements of a type without pointers; nil as of Alloc. Give back with FreeSlice.
func Slice[T any](a *Account, n int) []T {
	var t T
	b := a.Alloc(max(n, 1) * int(unsafe.Sizeof(t)))
	if b == nil {
		return nil
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), n)
}

// FreeSlice takes back what Slice gave, whole.
func FreeSlice[T any](a *Account, s []T) {
	if s == nil {
		return
	}
	var t T
	n := (max(len(s), 1)*int(unsafe.Sizeof(t)) + Chunk - 1) / Chunk * Chunk
	a.Free(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), n))
}

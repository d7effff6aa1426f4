package mr

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
)

// MapOutput is what a map attempt hands to the reduces: pairs by part, in memory or in the attempt's file. The caller
// of Run.Map owns it, and calls Release when no reduce will read it any more.
type MapOutput struct {
	Task, Attempt int

	memory *Memory
	chunks [][]byte     // of memory's results
	shared *sharedChunk // nil: none
	path   string       // of the file; empty: none
	parts  [][]segment
	bytes  int64

	mu   sync.Mutex
	refs int   // the owner, and reduces that read
	lost error // why no reduce can read it any more; nil: reduces can
}

// ErrReleased: the output of a map was given up before a reduce read it.
var ErrReleased = errors.New("map output was given up")

// Bytes returns how many bytes the output has, in memory and in its file.
func (m *MapOutput) Bytes() int64 { return m.bytes }

// Release gives the output up. Reduces that already read it go on, others get LostOutput. More calls do nothing.
func (m *MapOutput) Release() {
	m.mu.Lock()
	first := m.lost == nil
	m.lost = ErrReleased
	m.mu.Unlock()
	if first {
		m.drop()
	}
}

// take keeps the output for one reduce, until drop. The error is a LostOutput where it was released before.
func (m *MapOutput) take() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.lost != nil {
		return m.lostBy(m.lost)
	}
	m.refs++
	return nil
}

// gone reports whether the output was released.
func (m *MapOutput) gone() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.lost != nil
}

// drop undoes a take. The last drop frees memory and removes the file.
func (m *MapOutput) drop() {
	m.mu.Lock()
	m.refs--
	last := m.refs == 0
	m.mu.Unlock()
	if !last {
		return
	}
	for _, b := range m.chunks {
		m.memory.results.Free(b)
	}
	if m.shared != nil {
		m.memory.small.drop(m.shared)
	}
	m.chunks, m.shared, m.parts = nil, nil, nil
	if m.path != "" {
		// What cannot be removed now goes with the workspace.
		_ = os.Remove(m.path)
	}
}

func (m *MapOutput) lostBy(err error) error {
	return &LostOutput{Map: m.Task, Attempt: m.Attempt, Err: err}
}

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

// among reports whether all maps whose output is lost are among the first so many.
func (e *LostOutput) among(maps int) bool {
	strange := func(i int) bool { return i < 0 || i >= maps }
	return !strange(e.Map) && !slices.ContainsFunc(e.Others, strange)
}

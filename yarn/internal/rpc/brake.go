package rpc

import (
	"sync"
	"time"
)

// A Brake lets one line a second into a log, of those that strangers may cause: they must not be able to fill a disk. Its zero value is ready. It may
// be used by many goroutines.
type Brake struct {
	mu     sync.Mutex
	quiet  time.Time // none passes before
	silent int       // that did not pass
}

// Pass reports whether a line may be logged now, and how many may not since the one before.
func (b *Brake) Pass(now time.Time) (silent int, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if now.Before(b.quiet) {
		b.silent++
		return 0, false
	}
	silent = b.silent
	b.quiet, b.silent = now.Add(time.Second), 0
	return silent, true
}

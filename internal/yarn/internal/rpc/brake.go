package rpc

import (
	"sync"
	"time"
)

// A Brake lets one line of a kind a second into a log, of those that strangers may cause: they must not be able to fill
// a disk, nor hide one kind of line behind another. Its zero value is ready. It may be used by many goroutines.
type Brake struct {
	mu    sync.Mutex
	kinds map[string]*kindBrake
}

type kindBrake struct {
	quiet  time.Time // none passes before
	silent int       // that did not pass
}

// mostKinds bounds the kinds of lines that are told apart; the others are one.
const mostKinds = 64

// Pass reports whether a line of a kind may be logged now, and how many of its kind may not since the one before.
func (b *Brake) Pass(kind string, now time.Time) (silent int, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	k := b.kinds[kind]
	if k == nil && len(b.kinds) >= mostKinds {
		kind = ""
		k = b.kinds[kind]
	}
	if k == nil {
		if b.kinds == nil {
			b.kinds = map[string]*kindBrake{}
		}
		k = &kindBrake{}
		b.kinds[kind] = k
	}
	if now.Before(k.quiet) {
		k.silent++
		return 0, false
	}
	silent = k.silent
	k.quiet, k.silent = now.Add(time.Second), 0
	return silent, true
}

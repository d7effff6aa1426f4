package rpc

import (
	"sync"
	"time"
)

// A Brake limits the rate of log lines that strangers can cause: one line of each kind a second. So strangers can
// neither fill a disk nor hide one kind of line behind another. The zero value is ready. Many goroutines may use it.
type Brake struct {
	mu    sync.Mutex
	kinds map[string]*kindBrake
}

// A kindBrake is the brake of one kind of line.
type kindBrake struct {
	quiet  time.Time // no line passes before this instant
	silent int       // lines that were held back since the last one that passed
}

// mostKinds bounds the kinds of lines that are distinguished; the others are one.
const mostKinds = 64

// Pass reports whether a line of a kind may be logged now. If it may, silent is how many lines of that kind were held
// back since the last one.
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

package kerberos

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"
)

// Limits of replays. A request may be accepted up to twice the skew after it was accepted first, because the clock of
// its caller may be ahead by the skew.
const (
	remembered  = 2 * skew        // least time for which a request is remembered; the most is twice that
	mostReplays = 1 << 20         // requests that are remembered
	mostOfOne   = mostReplays / 4 // requests of one principal that are remembered
)

// errReplay means that a request was accepted before.
var errReplay = errors.New("the request was seen before")

// replays remembers the requests that were accepted, so that none is accepted again. Requests are remembered in two
// generations. The older one is dropped as a whole when the younger one is full-grown, so that each request costs O(1).
// If a request of it could still be accepted, because clocks were ahead, it is kept while there is room. A request that
// might be in a dropped generation, by the time that its caller gives, is refused. So no replay is accepted, wherever
// the clock goes. The zero replays is empty. It is safe for many goroutines.
type replays struct {
	mu         sync.Mutex
	young, old generation
	dropped    time.Time // the latest time in requests that were dropped
}

// A generation is the requests that were accepted in a period of length remembered.
type generation struct {
	began  time.Time
	seen   map[replay]struct{}
	of     map[Name]int // how many of seen are of a principal
	latest time.Time    // the latest time in them
}

// A replay is the beginning of the hash of a request. Equal ones of different requests would only make one be refused.
type replay [16]byte

// accept remembers a request of client, or returns why it must be refused. sent is the time that the request gives, and
// now the time here. A principal that has mostOfOne requests here is refused, and others are not.
func (r *replays) accept(client Name, request []byte, sent, now time.Time) error {
	sum := sha256.Sum256(request)
	id := replay(sum[:len(replay{})])
	r.mu.Lock()
	defer r.mu.Unlock()
	r.age(now)
	if _, again := r.young.seen[id]; again {
		return errReplay
	}
	if _, again := r.old.seen[id]; again {
		return errReplay
	}
	switch {
	case !sent.After(r.dropped):
		return fmt.Errorf("the request says that it was sent at %s, and those up to %s are not remembered any more: "+
			"a clock was set back", sent.UTC().Format(time.RFC3339), r.dropped.UTC().Format(time.RFC3339))
	case r.young.of[client]+r.old.of[client] >= mostOfOne:
		return fmt.Errorf("%s has made %d requests within %s, and may make no more: try again later", client, mostOfOne,
			2*remembered)
	case len(r.young.seen)+len(r.old.seen) >= mostReplays:
		return fmt.Errorf("%d requests were accepted within %s, and no more can be remembered: try again later",
			mostReplays, 2*remembered)
	}
	r.young.seen[id] = struct{}{}
	r.young.of[client]++
	if sent.After(r.young.latest) {
		r.young.latest = sent
	}
	return nil
}

// age drops the old generation, and begins a new one, if the young one is full-grown at now.
func (r *replays) age(now time.Time) {
	if r.young.seen != nil && now.Sub(r.young.began) < remembered {
		return
	}
	switch {
	case r.old.latest.Add(skew).After(now) && len(r.old.seen)+len(r.young.seen) < mostReplays/2:
		r.young.add(r.old)
	case r.old.latest.After(r.dropped):
		r.dropped = r.old.latest
	}
	r.old = r.young
	r.young = generation{began: now, seen: map[replay]struct{}{}, of: map[Name]int{}}
}

// add takes the requests of another generation in. O(requests of other).
func (g *generation) add(other generation) {
	maps.Copy(g.seen, other.seen)
	for client, n := range other.of {
		g.of[client] += n
	}
	if other.latest.After(g.latest) {
		g.latest = other.latest
	}
}

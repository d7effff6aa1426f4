package zoo

import (
	"context"
	"errors"
	"fmt"
	"path"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"
)

// A Lease is a lock that is held. ZooKeeper gives the lock to another process when it has heard nothing of this one for
// the session's timeout. The lease ends before: after two thirds of the timeout, counted from when the last request was
// sent that ZooKeeper has answered. So the next holder begins at least a third of the timeout later, if no clock runs a
// third faster than another.
type Lease struct {
	session *Session
	name    string
	start   time.Time     // what the instants below are counted from
	until   atomic.Int64  // the instant when the lease ends, in ns after start
	over    atomic.Bool   // the lock is not held any more
	lost    chan struct{} // closed then
	stop    context.CancelFunc
	ended   sync.WaitGroup
}

// Acquire waits until the lock is free, and takes it. The lock is an ephemeral node with data. Whenever Acquire reads
// that another session holds the lock, it calls waits with the holder's data.
func (s *Session) Acquire(ctx context.Context, name string, data []byte, waits func(holder []byte)) (*Lease, error) {
	if err := s.makeAll(path.Dir(name)); err != nil {
		return nil, err
	}
	w := waiter{session: s, name: name, waits: waits}
	for {
		l := &Lease{session: s, name: name, start: time.Now(), lost: make(chan struct{})}
		_, err := s.conn.Create(name, data, zk.FlagEphemeral, s.acl)
		switch {
		case err == nil:
			l.extend(0)
		case !errors.Is(err, zk.ErrNodeExists) && !passes(err):
			return nil, fmt.Errorf("take the lock %s: %w", name, err)
		default:
			mine, err := w.await(ctx)
			if err != nil {
				return nil, err
			}
			if mine { // a reply was lost
				l.ask()
			}
		}
		if l.Held() {
			l.keep()
			return l, nil
		}
	}
}

// A waiter waits for a lock. It watches the lock's node once until the node changes, because the library keeps each
// watch until then.
type waiter struct {
	session *Session
	name    string
	waits   func(holder []byte)
	change  <-chan zk.Event // of the lock's node; nil: it is not watched
}

// await returns when the lock may be free, or a second is over. mine: this session has the lock already.
func (w *waiter) await(ctx context.Context) (mine bool, err error) {
	data, stat, err := w.look()
	change := w.change
	switch {
	case errors.Is(err, zk.ErrNoNode):
		return false, ctx.Err()
	case err != nil && !passes(err):
		return false, fmt.Errorf("read the lock %s: %w", w.name, err)
	case err != nil:
		change = nil // until the connection is back
	case stat.EphemeralOwner == w.session.conn.SessionID():
		return true, ctx.Err()
	default:
		w.waits(data)
	}
	again := time.NewTimer(time.Second)
	defer again.Stop()
	select {
	case <-change:
		w.change = nil
	case <-again.C:
	case <-ctx.Done():
		return false, ctx.Err()
	}
	return false, nil
}

// look reads the lock's node, and watches it if it is not watched.
func (w *waiter) look() (data []byte, stat *zk.Stat, err error) {
	if w.change != nil {
		return w.session.conn.Get(w.name)
	}
	data, stat, w.change, err = w.session.conn.GetW(w.name)
	return data, stat, err
}

// passes reports whether an error is of a connection, or of a session, that is being made again.
func passes(err error) bool {
	return errors.Is(err, zk.ErrConnectionClosed) || errors.Is(err, zk.ErrSessionExpired) ||
		errors.Is(err, zk.ErrNoServer) || errors.Is(err, zk.ErrSessionMoved)
}

// extend makes the lease end two thirds of the session's timeout after from, a time after start.
func (l *Lease) extend(from time.Duration) { l.until.Store(int64(from + l.session.Timeout()*2/3)) }

// Held reports whether the lock is held now.
func (l *Lease) Held() bool { return !l.over.Load() && int64(time.Since(l.start)) < l.until.Load() }

// Lost returns a channel that is closed when the lock is not held any more, and never will be.
func (l *Lease) Lost() <-chan struct{} { return l.lost }

// keep asks again and again whether the lock is still this session's, until it is not, or the lease is over.
func (l *Lease) keep() {
	ctx, stop := context.WithCancel(context.Background())
	l.stop = stop
	l.ended.Go(func() {
		defer close(l.lost)
		defer l.over.Store(true)
		every := time.NewTicker(max(pollTime, l.session.Timeout()/9))
		defer every.Stop()
		answers := make(chan bool, 1) // so that a question that is answered too late ends
		asked := false
		for l.Held() {
			if !asked {
				asked = true
				go func() { answers <- l.ask() }()
			}
			select {
			case mine := <-answers:
				if !mine {
					return
				}
				asked = false
				select {
				case <-every.C:
				case <-ctx.Done():
					return
				}
			case <-every.C:
			case <-ctx.Done():
				return
			}
		}
	})
}

// ask asks ZooKeeper whether the lock is this session's, and extends the lease if it is. It returns false if it is not,
// or if the session has expired. Without an answer it returns true: the lease goes on until its end. A server that is
// cut off from the others answers reads for a while, and the others end the session meanwhile. So ask first waits until
// the server has heard of the leader.
func (l *Lease) ask() (mine bool) {
	from, conn := time.Since(l.start), l.session.conn
	if _, err := conn.Sync(l.name); err != nil {
		return !errors.Is(err, zk.ErrSessionExpired)
	}
	there, stat, err := conn.Exists(l.name)
	switch {
	case err != nil:
		return !errors.Is(err, zk.ErrSessionExpired)
	case !there || stat.EphemeralOwner != conn.SessionID():
		return false
	}
	l.extend(from)
	return true
}

// Release ends the session of the lease, so that another process can take the lock at once. What the lock protects must
// have ended. Release does not delete the lock's node itself: if the session has expired, that may be another one's.
func (l *Lease) Release() {
	l.stop()
	l.ended.Wait()
	l.session.Close()
}

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

// Acquire waits until the lock is free, and takes it. The lock is an ephemeral node with data. Whenever Acquire begins
// to wait for a holder, it calls waits with the holder's data.
func (s *Session) Acquire(ctx context.Context, name string, data []byte, waits func(holder []byte)) (*Lease, error) {
	if err := s.makeAll(path.Dir(name)); err != nil {
		return nil, err
	}
	for {
		l := &Lease{session: s, name: name, start: time.Now(), lost: make(chan struct{})}
		_, err := s.conn.Create(name, data, zk.FlagEphemeral, s.acl)
		switch {
		case err == nil:
			l.extend(0)
			l.keep()
			return l, nil
		case !errors.Is(err, zk.ErrNodeExists) && !passes(err):
			return nil, fmt.Errorf("take the lock %s: %w", name, err)
		}
		if err := s.await(ctx, l, waits); err != nil {
			return nil, err
		}
	}
}

// await returns when the lock may be free, or a second is over. If this session has the lock already, because a reply
// was lost, await gives it back: the instant from which on it is held is not known.
func (s *Session) await(ctx context.Context, l *Lease, waits func([]byte)) error {
	data, stat, change, err := s.conn.GetW(l.name)
	switch {
	case errors.Is(err, zk.ErrNoNode):
		return ctx.Err()
	case err != nil && !passes(err):
		return fmt.Errorf("read the lock %s: %w", l.name, err)
	case err != nil:
		change = nil // until the connection is back
	case stat.EphemeralOwner == s.conn.SessionID():
		if err := s.conn.Delete(l.name, -1); err != nil && !passes(err) && !errors.Is(err, zk.ErrNoNode) {
			return fmt.Errorf("give the lock %s back: %w", l.name, err)
		}
		return ctx.Err()
	default:
		waits(data)
	}
	again := time.NewTimer(time.Second)
	defer again.Stop()
	select {
	case <-change:
	case <-again.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
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
// or if the session has expired. Without an answer it returns true: the lease goes on until its end.
func (l *Lease) ask() (mine bool) {
	from := time.Since(l.start)
	there, stat, err := l.session.conn.Exists(l.name)
	switch {
	case err != nil:
		return !errors.Is(err, zk.ErrSessionExpired)
	case !there || stat.EphemeralOwner != l.session.conn.SessionID():
		return false
	}
	l.extend(from)
	return true
}

// Release gives the lock back, so that another process can take it at once. What the lock protects must have ended.
func (l *Lease) Release() error {
	held := l.Held()
	l.stop()
	l.ended.Wait()
	if !held {
		return nil
	}
	if err := l.session.conn.Delete(l.name, -1); err != nil && !errors.Is(err, zk.ErrNoNode) {
		return fmt.Errorf("give the lock %s back: %w", l.name, err)
	}
	return nil
}

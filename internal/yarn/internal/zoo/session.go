// Package zoo uses ZooKeeper for what several ResourceManagers of one cluster share: a lock, which one of them holds at
// a time, and values that only its holder writes. A holder knows by its own clock until when it holds the lock, so that
// it stops before another one begins, also where it cannot reach ZooKeeper.
package zoo

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"
)

// Servers says how ZooKeeper is reached.
type Servers struct {
	Addresses []string // host:port
	// Timeout is how long this process may be silent and keep its session, and the lock. Servers may change it.
	Timeout time.Duration
	User    string // user:password of the digest scheme; "": what is written is open to all
	Log     *slog.Logger
}

// A Session is a connection that is made again when it is lost.
type Session struct {
	conn  *zk.Conn
	acl   []zk.ACL
	agree atomic.Int64 // the timeout that servers agreed to, in ns; 0: none yet
	stop  func()
}

// Connect begins a session, and returns when a server has agreed to it.
func Connect(ctx context.Context, servers Servers) (*Session, error) {
	s := &Session{acl: zk.WorldACL(zk.PermAll)}
	conn, events, err := zk.Connect(servers.Addresses, servers.Timeout, zk.WithLogger(logger{servers.Log, &s.agree}),
		zk.WithDialer(dialer(servers.Timeout)))
	if err != nil {
		return nil, fmt.Errorf("ZooKeeper at %s: %w", strings.Join(servers.Addresses, ","), err)
	}
	s.conn, s.stop = conn, conn.Close
	for conn.State() != zk.StateHasSession || s.agree.Load() == 0 {
		select {
		case <-events:
		case <-time.After(pollTime):
		case <-ctx.Done():
			conn.Close()
			return nil, fmt.Errorf("ZooKeeper at %s: not reached: %w", strings.Join(servers.Addresses, ","), ctx.Err())
		}
	}
	go drain(events)
	if servers.User != "" {
		if err := conn.AddAuth("digest", []byte(servers.User)); err != nil {
			conn.Close()
			return nil, fmt.Errorf("ZooKeeper: authenticate: %w", err)
		}
		user, password, _ := strings.Cut(servers.User, ":")
		s.acl = zk.DigestACL(zk.PermAll, user, password)
	}
	return s, nil
}

// pollTime is the interval at which what no event reports is looked at.
const pollTime = 20 * time.Millisecond

// drain discards events until the connection is closed.
func drain(events <-chan zk.Event) {
	for range events {
	}
}

// Timeout is how long the session outlives its last message, as servers agreed to.
func (s *Session) Timeout() time.Duration { return time.Duration(s.agree.Load()) }

// Close ends the session. A lock that it holds is free then.
func (s *Session) Close() { s.stop() }

// Children returns the names of the nodes below a node. An error for a node that is missing is fs.ErrNotExist.
func (s *Session) Children(name string) ([]string, error) {
	names, _, err := s.conn.Children(name)
	return names, missing(name, err)
}

// Get returns what is in a node. An error for a node that is missing is fs.ErrNotExist.
func (s *Session) Get(name string) ([]byte, error) {
	text, _, err := s.conn.Get(name)
	return text, missing(name, err)
}

// Put makes a node, and those above it that are missing. A node that is there gets another text.
func (s *Session) Put(name string, text []byte) error {
	_, err := s.conn.Set(name, text, -1)
	if !errors.Is(err, zk.ErrNoNode) {
		if err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
		return nil
	}
	if err := s.makeAll(path.Dir(name)); err != nil {
		return err
	}
	if _, err := s.conn.Create(name, text, 0, s.acl); err != nil {
		return fmt.Errorf("make %s: %w", name, err)
	}
	return nil
}

// Clear removes all nodes below a node, if it is there, but for one of its children. It first gives this session's user
// all permissions for that node, because Hadoop's ResourceManager takes those for the nodes right below its root away
// from others.
func (s *Session) Clear(name, but string) error {
	if _, err := s.conn.SetACL(name, s.acl, -1); err != nil && !errors.Is(err, zk.ErrNoNode) {
		return fmt.Errorf("change the permissions of %s: %w", name, err)
	}
	names, err := s.Children(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for i := 0; i < len(names) && err == nil; i++ {
		if names[i] != but {
			err = s.remove(path.Join(name, names[i]))
		}
	}
	return err
}

// remove removes a node, if it is there, and all below it.
func (s *Session) remove(name string) error {
	names, err := s.Children(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for i := 0; i < len(names) && err == nil; i++ {
		err = s.remove(path.Join(name, names[i]))
	}
	if err != nil {
		return err
	}
	if err := s.conn.Delete(name, -1); err != nil && !errors.Is(err, zk.ErrNoNode) {
		return fmt.Errorf("remove %s: %w", name, err)
	}
	return nil
}

// missing returns the error of reading a node: fs.ErrNotExist for one that is missing.
func missing(name string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, zk.ErrNoNode):
		return &fs.PathError{Op: "read", Path: name, Err: fs.ErrNotExist}
	}
	return fmt.Errorf("read %s: %w", name, err)
}

// makeAll makes a node and those above it, where there are none.
func (s *Session) makeAll(name string) error {
	if name == "/" {
		return nil
	}
	if there, _, err := s.conn.Exists(name); err != nil || there {
		return err
	}
	if err := s.makeAll(path.Dir(name)); err != nil {
		return err
	}
	if _, err := s.conn.Create(name, nil, 0, s.acl); err != nil && !errors.Is(err, zk.ErrNodeExists) {
		return fmt.Errorf("make %s: %w", name, err)
	}
	return nil
}

// A logger passes the library's messages on. It reads the timeout that servers agreed to from a message, because the
// library does not report it otherwise.
type logger struct {
	to    *slog.Logger
	agree *atomic.Int64
}

func (l logger) Printf(format string, values ...any) {
	if strings.HasPrefix(format, "authenticated:") && len(values) == 2 {
		if ms, ok := values[1].(int32); ok {
			l.agree.Store(int64(ms) * int64(time.Millisecond))
		}
	}
	l.to.Debug("ZooKeeper", "says", fmt.Sprintf(format, values...))
}

// Package store keeps what must outlive a ResourceManager: named values, in a file that a crash does not damage, or
// with another keeper (zoo.Values). Values carry a checksum. A file that is damaged is set aside, and a new one takes
// its place.
package store

import (
	"errors"
	"sync"
	"time"
)

// A Keeper is where values are kept: a file, or a service that other processes reach. Only the store's own goroutine
// calls it.
type Keeper interface {
	// Commit writes values by name; nil: to be deleted. Values of one thing, whose names are alike after their first
	// slash, are written together or not at all. If all values of one thing that batch names are deleted, they may be
	// deleted one after the other, in the order of their names. After ErrTaken it is not called again.
	Commit(batch map[string][]byte) error
	Close() error
}

// ErrTaken is the error of Commit when another process has taken the values over: this one must not write any more.
var ErrTaken = errors.New("another ResourceManager has taken the state over")

// A Store passes values on to a keeper. Many goroutines may call its methods; one goroutine of its own writes.
type Store struct {
	to     Keeper
	failed func(error)
	ended  chan struct{}

	mu      sync.Mutex
	changed sync.Cond         // something below
	pending map[string][]byte // to be written; nil: to be deleted
	put     uint64            // number of the last Put
	written uint64            // all changes up to this number are written
	unmet   error             // why the last changes were not written; nil: they were, or another process writes
	hasty   bool              // no caller waits: see Release
	closing bool
}

// New returns a store whose values go to a keeper. The store calls failed each time that values cannot be written. It
// tries again a second later, unless another process has taken the values over (ErrTaken).
func New(to Keeper, failed func(error)) *Store {
	s := &Store{to: to, failed: failed, ended: make(chan struct{}), pending: map[string][]byte{}}
	s.changed.L = &s.mu
	go s.write()
	return s
}

// Put queues changes to be written: values by name; nil: to be deleted. It returns the number of the changes, for Wait.
// The store keeps the values, and the caller must not change them.
func (s *Store) Put(changes map[string][]byte) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, value := range changes {
		s.pending[key] = value
	}
	s.put++
	s.changed.Broadcast()
	return s.put
}

// Next returns the number that the next Put will have.
func (s *Store) Next() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.put + 1
}

// Wait returns true when the changes with that number are written, or false when the store is closed before, or its
// callers are released.
func (s *Store) Wait(number uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.written < number && !s.closing && !s.hasty {
		s.changed.Wait()
	}
	return s.written >= number
}

// Release makes Wait return at once, now and from now on. The store goes on writing.
func (s *Store) Release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hasty = true
	s.changed.Broadcast()
}

// again is the time from a failed write to the next try.
const again = time.Second

// write writes what is put until the store is closed.
func (s *Store) write() {
	defer close(s.ended)
	for {
		s.mu.Lock()
		for len(s.pending) == 0 && s.written == s.put && !s.closing {
			s.changed.Wait()
		}
		batch, number, last := s.pending, s.put, s.closing
		s.pending = map[string][]byte{}
		s.mu.Unlock()
		var err error
		if len(batch) > 0 {
			err = s.to.Commit(batch)
		}
		taken := errors.Is(err, ErrTaken)
		s.mu.Lock()
		s.unmet = nil
		switch {
		case taken:
			s.closing = true
			s.changed.Broadcast()
		case err != nil:
			s.unmet = err
			for key, value := range batch {
				if _, newer := s.pending[key]; !newer {
					s.pending[key] = value
				}
			}
		default:
			s.written = number
			s.changed.Broadcast()
		}
		s.mu.Unlock()
		if err != nil {
			s.failed(err)
		}
		if last || taken {
			return
		}
		if err != nil {
			time.Sleep(again)
		}
	}
}

// Close writes what is left and closes the keeper. The error says that either has failed.
func (s *Store) Close() error {
	s.mu.Lock()
	s.closing = true
	s.changed.Broadcast()
	s.mu.Unlock()
	<-s.ended
	return errors.Join(s.unmet, s.to.Close())
}

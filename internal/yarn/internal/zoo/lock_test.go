package zoo

import (
	"context"
	"encoding/binary"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
)

// A server that is cut off from the leader answers reads, and the leader ends the session meanwhile. Such answers do
// not extend the lease.
func TestLeaseNeedsTheLeader(t *testing.T) {
	f := newFake(t, func(op int32, _ []byte) (int32, []byte, bool) {
		switch op {
		case opSync:
			return 0, nil, true
		case opExists:
			return 0, stat(ownSession), false
		}
		return 0, binary.BigEndian.AppendUint32(nil, 0), false
	})
	s := fakeSession(t, time.Second, "", f.address)
	l := acquire(t, s, "one")
	select {
	case <-l.Lost():
	case <-time.After(30 * time.Second):
		t.Error("the lease goes on without the leader")
	}
}

// A standby watches the lock's node once, however long it waits: the library keeps every watch until the node changes.
func TestOneWatch(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var looks, watches atomic.Int32
	f := newFake(t, func(op int32, body []byte) (int32, []byte, bool) {
		switch op {
		case opCreate:
			return nodeExists, nil, false
		case opGetData:
			if body[len(body)-1] != 0 {
				watches.Add(1)
			}
			looks.Add(1)
			return 0, data("another", ownSession+1), false
		}
		return 0, stat(0), false
	})
	s := fakeSession(t, 10*time.Second, "", f.address)
	told := 0
	_, err := s.Acquire(ctx, lockName, nil, func(holder []byte) {
		if told++; told == 3 {
			cancel()
		}
		if string(holder) != "another" {
			t.Errorf("the holder is said to be %q", holder)
		}
	})
	if !errors.Is(err, context.Canceled) || looks.Load() != 3 || watches.Load() != 1 {
		t.Errorf("%v after %d looks and %d watches", err, looks.Load(), watches.Load())
	}
}

// If the reply to the request for the lock is lost, the lock is this session's, and its lease begins when ZooKeeper has
// confirmed that.
func TestLostReply(t *testing.T) {
	f := newFake(t, func(op int32, body []byte) (int32, []byte, bool) {
		switch op {
		case opCreate:
			return nodeExists, nil, false
		case opGetData:
			return 0, data("one", ownSession), false
		case opExists:
			return 0, stat(ownSession), false
		}
		return 0, binary.BigEndian.AppendUint32(nil, 0), false
	})
	l := acquire(t, fakeSession(t, 10*time.Second, "", f.address), "one")
	if !l.Held() || f.count(opSync) == 0 || f.count(opDelete) > 0 {
		t.Errorf("held: %v, after %d questions and %d deletions", l.Held(), f.count(opSync), f.count(opDelete))
	}
}

// Release deletes no node: when the session has expired without notice, the node is another one's lock.
func TestReleaseSparesOthers(t *testing.T) {
	f := newFake(t, func(op int32, _ []byte) (int32, []byte, bool) {
		if op == opExists {
			return 0, stat(ownSession), false
		}
		return 0, binary.BigEndian.AppendUint32(nil, 0), false
	})
	l := acquire(t, fakeSession(t, 10*time.Second, "", f.address), "one")
	l.Release()
	if f.count(opDelete) != 0 || f.count(opClose) != 1 {
		t.Errorf("%d deletions, %d ends of the session", f.count(opDelete), f.count(opClose))
	}
	if _, err := l.session.Get(lockName); !errors.Is(err, zk.ErrConnectionClosed) || l.Held() {
		t.Errorf("after the release: %v, held: %v", err, l.Held())
	}
}

package zoo

import (
	"encoding/binary"
	"errors"
	"net"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
)

// A frame that is longer than any of ZooKeeper's, or shorter than a header, ends the connection and nothing else. No
// memory is taken for it. The request whose reply it was fails.
func TestForeignFrames(t *testing.T) {
	for _, size := range []uint32{0, 4, leastFrame - 1, mostFrame + 1, 1 << 31, 1<<32 - 1} {
		address := serve(t, func(c net.Conn) {
			if agree(c) != nil {
				return
			}
			q, err := frame(c)
			if err != nil {
				return
			}
			b := append(binary.BigEndian.AppendUint32(nil, size), q[:4]...) // a reply to the first request
			c.Write(append(b, make([]byte, 64)...))
			frame(c)
		})
		s := fakeSession(t, 10*time.Second, "", address)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := s.Get("/node")
		runtime.ReadMemStats(&after)
		if !errors.Is(err, zk.ErrConnectionClosed) {
			t.Errorf("a frame of %d bytes: %v", size, err)
		}
		if taken := after.TotalAlloc - before.TotalAlloc; taken > 16<<20 {
			t.Errorf("a frame of %d bytes: %d MiB are taken", size, taken>>20)
		}
		s.Close()
	}
}

// A server that takes connections and does not agree to a session, or says only how long its answer is, is left for
// the next one when the session's timeout is over.
func TestSilentServerIsLeft(t *testing.T) {
	for _, said := range []string{"", "\x00\x00\x00\x24"} {
		var met atomic.Int32
		silent := serve(t, func(c net.Conn) {
			met.Add(1)
			c.Write([]byte(said))
			for {
				if _, err := frame(c); err != nil {
					return
				}
			}
		})
		good := newFake(t, func(int32, []byte) (int32, []byte, bool) { return 0, data("text", 0), false })
		for met.Load() == 0 { // the order of servers is random
			began := time.Now()
			s := fakeSession(t, time.Second, "", silent, good.address)
			if text, err := s.Get("/node"); err != nil || string(text) != "text" {
				t.Errorf("read %q, %v", text, err)
			}
			if took := time.Since(began); took > 5*time.Second { // the library's own patience is 6.7 times the timeout
				t.Errorf("a server that says %q is left after %v", said, took)
			}
			s.Close()
		}
	}
}

// An error of writing is one of the connection, after which the lock is waited for as before.
func TestWriteError(t *testing.T) {
	near, far := net.Pipe()
	far.Close()
	c := &conn{Conn: near}
	if n, err := c.Write([]byte("request")); n != len("request") || err != nil {
		t.Errorf("wrote %d bytes, %v", n, err)
	}
	if _, err := c.Read(make([]byte, 4)); err == nil || !strings.Contains(err.Error(), "closed pipe") {
		t.Errorf("read: %v", err)
	}
}

package zoo

import (
	"encoding/binary"
	"errors"
	"net"
	"runtime"
	"slices"
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

// A server that says only how long its answer to the request for a session is, is left for the next one.
func TestSilentServerIsLeft(t *testing.T) {
	var met atomic.Int32
	silent := serve(t, func(c net.Conn) {
		met.Add(1)
		c.Write([]byte("\x00\x00\x00\x24"))
		for {
			if _, err := frame(c); err != nil {
				return
			}
		}
	})
	good := newFake(t, func(int32, []byte) (int32, []byte, bool) { return 0, data("text", 0), false })
	for met.Load() == 0 { // the order of servers is random
		s := fakeSession(t, 2*time.Second, "", silent, good.address)
		if text, err := s.Get("/node"); err != nil || string(text) != "text" {
			t.Errorf("read %q, %v", text, err)
		}
		s.Close()
	}
}

// A server must agree to a session until an instant, whatever longer patience the library has, and whether it takes the
// deadline away or not. Later frames have the deadlines of the library.
func TestFirstAnswerHasItsDeadline(t *testing.T) {
	first := time.Unix(1000, 0)
	said := &deadlines{}
	c := &conn{Conn: said, first: first}
	for _, at := range []time.Time{first.Add(time.Hour), {}, first.Add(-time.Second)} {
		c.SetReadDeadline(at)
	}
	c.begun = true
	c.SetReadDeadline(first.Add(time.Hour))
	if want := []time.Time{first, first.Add(-time.Second), first.Add(time.Hour)}; !slices.Equal(said.at, want) {
		t.Errorf("deadlines are %v, want %v", said.at, want)
	}
}

// deadlines is a connection that notes the deadlines of reading.
type deadlines struct {
	net.Conn
	at []time.Time
}

func (d *deadlines) SetReadDeadline(t time.Time) error {
	d.at = append(d.at, t)
	return nil
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

package zoo

import (
	"context"
	"encoding/binary"
	"io"
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"
)

// Requests of the protocol that a fake answers.
const (
	opCreate   = 1
	opDelete   = 2
	opExists   = 3
	opGetData  = 4
	opSetData  = 5
	opSync     = 9
	opPing     = 11
	opSetAuth  = 100
	opClose    = -11
	nodeExists = -110
	noNode     = -101
	ownSession = 7 // the session of every connection
)

// A fake is a server that speaks as much of ZooKeeper's protocol as a test needs.
type fake struct {
	address string
	// answer returns the error code and the body of the reply to a request; silent: there is no reply.
	answer func(op int32, body []byte) (code int32, reply []byte, silent bool)

	mu    sync.Mutex
	asked map[int32]int // requests so far, by their kind
}

// serve starts a server that hands each connection to talk.
func serve(t *testing.T, talk func(net.Conn)) (address string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	ctx, stop := context.WithCancel(context.Background())
	all.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			context.AfterFunc(ctx, func() { c.Close() })
			all.Go(func() {
				defer c.Close()
				talk(c)
			})
		}
	})
	t.Cleanup(func() {
		stop()
		ln.Close()
		all.Wait()
	})
	return ln.Addr().String()
}

// newFake starts a fake. It answers pings, authentication and the end of a session by itself.
func newFake(t *testing.T, answer func(op int32, body []byte) (int32, []byte, bool)) *fake {
	t.Helper()
	f := &fake{answer: answer, asked: map[int32]int{}}
	f.address = serve(t, func(c net.Conn) {
		if agree(c) != nil {
			return
		}
		for {
			q, err := frame(c)
			if err != nil {
				return
			}
			xid, op := q[:4], int32(binary.BigEndian.Uint32(q[4:]))
			f.mu.Lock()
			f.asked[op]++
			f.mu.Unlock()
			code, reply, silent := int32(0), []byte(nil), false
			if op > 0 && op != opSetAuth && op != opPing {
				code, reply, silent = f.answer(op, q[8:])
			}
			if silent {
				continue
			}
			b := append([]byte{}, xid...)
			b = binary.BigEndian.AppendUint64(b, 1)
			b = binary.BigEndian.AppendUint32(b, uint32(code))
			if send(c, append(b, reply...)) != nil || op == opClose {
				return
			}
		}
	})
	return f
}

// count returns how many requests of a kind there were.
func (f *fake) count(op int32) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.asked[op]
}

// agree reads the request for a session and grants it, with the timeout that it asks for.
func agree(c net.Conn) error {
	q, err := frame(c)
	if err != nil {
		return err
	}
	b := make([]byte, 4, 36)
	b = append(b, q[12:16]...) // the timeout
	b = binary.BigEndian.AppendUint64(b, ownSession)
	b = binary.BigEndian.AppendUint32(b, 16)
	return send(c, append(b, make([]byte, 16)...))
}

// frame reads a frame.
func frame(c net.Conn) ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(c, size[:]); err != nil {
		return nil, err
	}
	b := make([]byte, binary.BigEndian.Uint32(size[:]))
	_, err := io.ReadFull(c, b)
	return b, err
}

// send writes a frame.
func send(c net.Conn, b []byte) error {
	_, err := c.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...))
	return err
}

// stat returns what a server says of a node beside its data.
func stat(owner int64) []byte {
	b := make([]byte, 68)
	binary.BigEndian.PutUint64(b[44:], uint64(owner))
	return b
}

// data returns the reply to a request for a node's data.
func data(text string, owner int64) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(len(text)))
	return append(append(b, text...), stat(owner)...)
}

// fakeSession connects to servers. The session is closed when the test ends.
func fakeSession(t *testing.T, timeout time.Duration, user string, addresses ...string) *Session {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s, err := Connect(ctx, Servers{
		Addresses: addresses,
		Timeout:   timeout,
		User:      user,
		Log:       slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

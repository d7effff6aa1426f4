package zoo

import (
	"encoding/binary"
	"fmt"
	"net"
	"time"
)

// The library trusts a server: it takes memory for any length that a frame says, indexes beyond a frame that is shorter
// than a header, and waits without a deadline for the rest of its first frame. Where it cannot send a session's
// authentication again, it stops for good. A conn keeps all that from it, but for lengths within a frame.

// mostFrame is the largest frame that is read, in bytes. The names of a hundred thousand applications fit into it.
const mostFrame = 64 << 20

// leastFrame is the size of the header of a reply.
const leastFrame = 16

// A conn is a connection to a server. The library reads a frame's length by itself, then the frame.
type conn struct {
	net.Conn
	first  time.Time // when the server must have answered the request for a session
	begun  bool      // the length of the first frame was read
	length [4]byte   // of the frame that comes, as far as it was read
	known  int       // bytes of it
	left   int       // bytes of the frame that are not read yet
}

// dialer returns a function that connects to a server, which must agree to a session in the time patience.
func dialer(patience time.Duration) func(network, address string, timeout time.Duration) (net.Conn, error) {
	return func(network, address string, timeout time.Duration) (net.Conn, error) {
		to, err := net.DialTimeout(network, address, timeout)
		if err != nil {
			return nil, err
		}
		return &conn{Conn: to, first: time.Now().Add(patience)}, nil
	}
}

// Read reads from the connection. A frame that is too short or too long is an error as soon as its length is known.
func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p[:min(len(p), c.next())])
	if c.left > 0 {
		c.left -= n
		return n, err
	}
	c.known += copy(c.length[c.known:], p[:n])
	if c.known < len(c.length) {
		return n, err
	}
	size := binary.BigEndian.Uint32(c.length[:])
	if size < leastFrame || size > mostFrame {
		return 0, fmt.Errorf("a frame of %d bytes from %s: no ZooKeeper", size, c.RemoteAddr())
	}
	c.begun, c.known, c.left = true, 0, int(size)
	return n, err
}

// next returns how many bytes may be read at once: the rest of the frame, or of its length.
func (c *conn) next() int {
	if c.left > 0 {
		return c.left
	}
	return len(c.length) - c.known
}

// SetReadDeadline sets the instant until which the next frame must have come. The library takes the deadline away
// before a frame is read: it stays.
func (c *conn) SetReadDeadline(t time.Time) error {
	if t.IsZero() {
		return nil
	}
	if !c.begun && c.first.Before(t) {
		t = c.first
	}
	return c.Conn.SetReadDeadline(t)
}

// Write writes to the connection. After an error it closes the connection and returns none: reading fails then, and the
// library answers all requests that wait with zk.ErrConnectionClosed.
func (c *conn) Write(p []byte) (int, error) {
	if _, err := c.Conn.Write(p); err != nil {
		c.Conn.Close()
	}
	return len(p), nil
}

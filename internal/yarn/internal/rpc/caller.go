package rpc

import (
	"context"
	"fmt"
	"time"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/proto"
)

// A Caller is a connection to a server with one call at a time, as a NodeManager's or an ApplicationMaster's is. It has
// no goroutine, and one goroutine owns it. A call costs less than a Client's, which many goroutines may use.
type Caller struct {
	client *Client
	moved  time.Time // when the deadline for writing was set

	Sent, Received int // bytes of the last call and of its reply, with their frames
}

// DialCaller connects to a server and shakes hands; ctx bounds both and nothing later. A Caller sends no pings: the
// server must answer a call before it closes connections that are silent.
func (d *Dialer) DialCaller(ctx context.Context, address string) (*Caller, error) {
	c, err := d.connect(ctx, address)
	if err != nil {
		return nil, err
	}
	return &Caller{client: c}, nil
}

// Call is Client.Call without a context: it ends with the reply, or with the connection.
func (c *Caller) Call(method string, request proto.Message, reply proto.Decoder) error {
	in := c.client
	in.last++
	in.out = appendFrame(
		in.out,
		&requestHeader{call: in.last, client: in.id[:]},
		&methodHeader{[]byte(method), []byte(in.protocol)},
		request,
	)
	c.Sent = len(in.out)
	if now := time.Now(); now.Sub(c.moved) > deadlineLag { // moved once a second at most, as it costs
		c.moved = now
		in.conn.SetWriteDeadline(now.Add(in.transfer + deadlineLag))
	}
	if err := in.send(); err != nil {
		return fmt.Errorf("call %s: %w", method, err)
	}
	h, body, err := in.response(in.most)
	switch {
	case err != nil:
		return fmt.Errorf("call %s: %w", method, err)
	case h.call != in.last && h.err == nil:
		return fmt.Errorf("call %s: reply to call %d, expected %d", method, h.call, in.last)
	}
	c.Received = in.in.last
	w := waiting{reply: reply}
	if err := w.decode(h.err, body); err != nil {
		return fmt.Errorf("call %s: %w", method, err)
	}
	return nil
}

// Close ends the connection. It may be called from any goroutine, and ends a call that waits.
func (c *Caller) Close() error { return c.client.conn.Close() }

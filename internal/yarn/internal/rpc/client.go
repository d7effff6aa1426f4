package rpc

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/proto"
)

// ErrClosed is what outstanding calls end with when a client is closed.
var ErrClosed = errors.New("client is closed")

// DefaultPing is how long a client waits for a reply before it sends a ping (Hadoop's ipc.ping.interval).
const DefaultPing = time.Minute

// A Dialer says how to reach a server of one protocol.
type Dialer struct {
	Protocol string  // as Java names it
	User     string  // the user to claim to be; of no effect with a Secret
	Real     string  // the user that acts for User; "": User itself
	Secret   *Secret // a token to prove; nil: auth byte 0
	// Protections are those wanted with a Secret, the best first. None: Authentication.
	Protections []Protection
	Ping        time.Duration // zero: DefaultPing
	Limits      Limits        // Frame and Transfer count
	From        net.IP        // the address of this machine to call from; nil: any
}

// A Client is one connection to a server. Its methods may be called by many goroutines.
type Client struct {
	protocol string
	id       [16]byte
	conn     net.Conn
	in       *frameReader
	most     int           // bytes of a frame
	transfer time.Duration // how long the server may take to read a request
	done     chan struct{} // closed when the goroutine that reads has ended

	write sync.Mutex // held while a frame is written
	out   []byte     // frames to be written

	mu      sync.Mutex
	last    int32 // number of the last call
	waiting map[int32]*waiting
	broken  error // why no more calls are possible
}

// waiting is a call without a reply.
type waiting struct {
	reply proto.Decoder
	done  chan error // of capacity 1
}

// Dial connects to a server and shakes hands; ctx bounds both and nothing later.
func (d *Dialer) Dial(ctx context.Context, address string) (*Client, error) {
	c, err := d.connect(ctx, address)
	if err != nil {
		return nil, err
	}
	go c.read()
	return c, nil
}

// connect opens a connection and shakes hands, as Dial does, but starts no goroutine that reads replies.
func (d *Dialer) connect(ctx context.Context, address string) (*Client, error) {
	from := net.Dialer{}
	if d.From != nil {
		from.LocalAddr = &net.TCPAddr{IP: d.From}
	}
	conn, err := from.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err // names the address
	}
	limits := d.Limits.orDefaults()
	c := &Client{
		protocol: d.Protocol,
		conn:     conn,
		in:       newFrameReader(conn, cmp.Or(d.Ping, DefaultPing), limits.Transfer),
		most:     limits.Frame,
		transfer: limits.Transfer,
		done:     make(chan struct{}),
		waiting:  map[int32]*waiting{},
		last:     -1,
	}
	rand.Read(c.id[:])
	stop := context.AfterFunc(ctx, func() { conn.Close() }) // below what may wrap it
	if err = c.begin(d); err == nil && !stop() {
		err = ctx.Err()
	}
	if err != nil {
		stop()
		conn.Close()
		return nil, fmt.Errorf("shake hands with %s: %w", address, cmp.Or(ctx.Err(), err))
	}
	return c, nil
}

// begin sends what a connection begins with, up to its context.
func (c *Client) begin(d *Dialer) error {
	auth := byte(authNone)
	if d.Secret != nil {
		auth = authSASL
	}
	c.out = append(c.out, magic...)
	c.out = append(c.out, ipcVersion, 0, auth)
	who := userInfo{effective: d.User, real: d.Real}
	if d.Secret != nil {
		if err := c.prove(d.Secret, protections(d.Protections)); err != nil {
			return err
		}
		who = userInfo{}
	}
	c.out = appendFrame(
		c.out,
		&requestHeader{call: callContext, client: c.id[:], retry: retryNone},
		&contextHeader{who, d.Protocol},
	)
	return c.flush()
}

// prove proves to the server that the client holds a token, and checks the proof of the server that it knows the
// password too.
func (c *Client) prove(s *Secret, wanted []Protection) error {
	m, err := c.sasl(&saslMessage{state: saslNegotiate})
	if err != nil {
		return err
	}
	by, challenge := byToken, []byte(nil)
	for _, a := range m.auths {
		if a.method == by.method && a.mechanism == by.mechanism {
			by, challenge = a, a.challenge
			break
		}
	}
	if m.state != saslNegotiate || challenge == nil {
		return fmt.Errorf(
			"server does not offer DIGEST-MD5 with a challenge (state %d, %d offers)",
			m.state,
			len(m.auths),
		)
	}
	by.challenge = nil
	response, proof, l, err := digestResponse(*s, challenge, newNonce(), wanted)
	if err != nil {
		return err
	}
	if m, err = c.sasl(&saslMessage{state: saslInitiate, token: response, auths: []saslAuth{by}}); err != nil {
		return err
	}
	if m.state != saslSuccess || string(m.token) != proof {
		return fmt.Errorf("server does not prove that it knows the token's password")
	}
	if l != nil {
		c.conn = (&wrappedConn{Conn: c.conn, in: c.in, layer: l, most: c.most}).begin(mostWrapped)
		c.in = newFrameReader(c.conn, c.in.idle, c.in.transfer)
	}
	return nil
}

// sasl sends one SASL message and waits for the next.
func (c *Client) sasl(m *saslMessage) (*saslMessage, error) {
	c.out = appendFrame(c.out, &requestHeader{call: callSASL, retry: retryNone}, m)
	if err := c.flush(); err != nil {
		return nil, err
	}
	h, body, err := c.response(mostHandshakeFrame)
	if err != nil {
		return nil, err
	}
	if h.err != nil {
		return nil, h.err
	}
	var reply saslMessage
	if body, _, err = proto.Delimited(body); err == nil {
		err = reply.Decode(body)
	}
	return &reply, err
}

// appendFrame appends a frame of messages that each stand after their length.
func appendFrame(b []byte, parts ...proto.Message) []byte {
	b, at := startFrame(b)
	for _, m := range parts {
		b = proto.AppendDelimited(b, m)
	}
	return endFrame(b, at)
}

// flush writes what is in out. The caller holds write, or is alone.
func (c *Client) flush() error {
	c.conn.SetWriteDeadline(time.Now().Add(c.transfer))
	return c.send()
}

// send writes what is in out, by the deadline that the connection has already.
func (c *Client) send() error {
	_, err := c.conn.Write(c.out)
	if c.out = c.out[:0]; cap(c.out) > keepBuffer {
		c.out = nil
	}
	return err
}

// response reads one reply; its body is lent.
func (c *Client) response(most int) (h responseHeader, body []byte, err error) {
	frame, err := c.in.next(most)
	if err != nil {
		return h, nil, err
	}
	head, body, err := proto.Delimited(frame)
	if err == nil {
		err = h.Decode(head)
	}
	return h, body, err
}

// Call calls a method and decodes the reply; a nil reply is not decoded. An *Error is the server's answer. After any
// other error, except that of ctx, the client cannot be used any more. A call that ends because ctx is done may still
// be carried out.
func (c *Client) Call(ctx context.Context, method string, request proto.Message, reply proto.Decoder) error {
	w := &waiting{reply, make(chan error, 1)}
	c.mu.Lock()
	if c.broken != nil {
		c.mu.Unlock()
		return fmt.Errorf("call %s: %w", method, c.broken)
	}
	c.last++
	call := c.last
	c.waiting[call] = w
	c.mu.Unlock()

	c.write.Lock()
	c.out = appendFrame(
		c.out,
		&requestHeader{call: call, client: c.id[:]},
		&methodHeader{[]byte(method), []byte(c.protocol)},
		request,
	)
	err := c.flush()
	c.write.Unlock()
	if err != nil {
		c.fail(err)
	}
	select {
	case err = <-w.done:
	case <-ctx.Done():
		if c.take(call) == nil {
			err = <-w.done // the reply is being decoded
		} else {
			err = ctx.Err()
		}
	}
	if err != nil {
		return fmt.Errorf("call %s: %w", method, err)
	}
	return nil
}

// take removes a call from those that wait; nil: it is not there any more.
func (c *Client) take(call int32) *waiting {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := c.waiting[call]
	delete(c.waiting, call)
	return w
}

// fail ends the connection and all calls that wait. The first reason counts.
func (c *Client) fail(why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.broken == nil {
		c.broken = why
	}
	c.conn.Close()
	for call, w := range c.waiting {
		delete(c.waiting, call)
		w.done <- c.broken
	}
}

// read passes each reply to the call that waits for it, until the connection ends. When the server has sent nothing for
// the interval of pings and calls are waiting, read sends a ping, so that the server keeps the connection open.
func (c *Client) read() {
	defer close(c.done)
	for {
		h, body, err := c.response(c.most)
		switch {
		case timedOut(err) && c.in.buf.Buffered() == 0:
			if err := c.ping(); err != nil {
				c.fail(err)
				return
			}
			continue
		case err == nil && h.err != nil && h.err.Fatal():
			err = h.err
		case err == io.EOF:
			err = fmt.Errorf("server closed the connection: %w", err)
		}
		if err != nil {
			c.fail(err)
			return
		}
		if w := c.take(h.call); w != nil {
			w.done <- w.decode(h.err, body)
		}
	}
}

// decode fills the reply from the body of a frame, or returns the server's exception e.
func (w *waiting) decode(e *Error, body []byte) error {
	if e != nil {
		return e
	}
	b, _, err := proto.Delimited(body)
	if err == nil && w.reply != nil {
		err = w.reply.Decode(b)
	}
	if err != nil {
		return fmt.Errorf("read reply: %w", err)
	}
	return nil
}

// ping sends a ping if calls are waiting for replies; else it does nothing.
func (c *Client) ping() error {
	c.mu.Lock()
	idle := len(c.waiting) == 0
	c.mu.Unlock()
	if idle {
		return nil
	}
	c.write.Lock()
	defer c.write.Unlock()
	c.out = appendFrame(c.out, &requestHeader{call: callPing, client: c.id[:], retry: retryNone})
	return c.flush()
}

// Close ends the connection; calls that wait end with ErrClosed.
func (c *Client) Close() error {
	c.fail(ErrClosed)
	<-c.done
	return nil
}

package rpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/proto"
)

// mostUnsent is how many bytes of replies may wait to be written together, while the next call has arrived already.
const mostUnsent = 32 << 10

// A serverConn is one connection of a peer. Its goroutine owns it.
type serverConn struct {
	bench *bench
	conn  net.Conn
	in    *frameReader
	out   []byte    // replies not yet written
	sent  time.Time // when the deadline for writing was moved last

	known    bool   // the context has come, so calls may come
	protocol string // that the context names: calls of no other one may come
	shake    handshake
	proof    bool // the peer has proved that it holds the token of call, or is the principal of the session
	sasl     bool // the peer wants a SASL handshake
	call     Call

	head  requestHeader  // of the call being answered
	reply responseHeader // of its reply
}

func newServerConn(b *bench, nc net.Conn) *serverConn {
	c := &serverConn{
		bench: b,
		conn:  nc,
		in:    newFrameReader(nc, b.limits.Handshake, b.limits.Transfer),
		call:  Call{Remote: nc.RemoteAddr()},
	}
	c.in.until = time.Now().Add(b.limits.Handshake)
	host := HostOf(nc.RemoteAddr())
	room := b.server.Room
	c.in.share, c.call.owed, c.call.asked = room.ShareOf(host), room.ShareOf(host), room.ShareOf(host)
	return c
}

// serve answers a peer until it leaves, or breaks the rules.
func (c *serverConn) serve(ctx context.Context) {
	err := c.preamble()
	for err == nil {
		err = c.next(ctx)
	}
	var e *Error
	switch {
	case errors.As(err, &e) && e.Fatal():
		c.bench.refused(e.Class, c.call.Remote, e)
	case errors.Is(err, ErrNoRoom):
		c.bench.refused("room", c.call.Remote, err)
	case c.in.stopped.Load(), err == io.EOF, errors.Is(err, net.ErrClosed):
	case timedOut(err) && c.known:
	default:
		c.bench.refused("broken", c.call.Remote, err)
	}
	c.flush()
}

// hint is what a browser is told.
const hint = "HTTP/1.1 404 Not Found\r\nContent-type: text/plain\r\nConnection: close\r\n\r\nThis port speaks " +
	"Hadoop's RPC, not HTTP.\r\n"

// preamble reads what a connection begins with.
func (c *serverConn) preamble() error {
	b, err := c.in.exactly(len(magic) + 3)
	if err != nil {
		return err
	}
	switch {
	case string(b[:4]) == "GET ":
		c.out = append(c.out, hint...)
		return errors.New("HTTP")
	case string(b[:4]) != magic:
		return fmt.Errorf("begins with %q, not with %q", b[:4], magic)
	case b[4] != ipcVersion:
		return c.fail(&requestHeader{call: callUnauthorized, retry: retryNone},
			fatal(FatalVersion, classVersion, "IPC version %d is not spoken here: it is %d", b[4], ipcVersion))
	case b[6] != authNone && b[6] != authSASL:
		return fmt.Errorf("auth byte %#x is neither NONE nor SASL", b[6])
	}
	c.sasl = b[6] == authSASL
	if !c.sasl && c.bench.server.proves() {
		_, names := c.bench.server.offers(nil)
		return c.fail(&requestHeader{call: callUnauthorized, retry: retryNone},
			fatal(FatalUnauthorized, classAccess, "SIMPLE authentication is not enabled.  Available:[%s]", names))
	}
	return nil
}

// next takes one frame and answers it. An error ends the connection; the peer has been told what may be told.
func (c *serverConn) next(ctx context.Context) error {
	most := c.bench.limits.Frame
	if !c.known {
		most = min(most, mostHandshakeFrame)
	}
	frame, err := c.in.next(most)
	if err != nil {
		return err
	}
	h := &c.head
	*h = requestHeader{}
	head, rest, err := proto.Delimited(frame)
	if err == nil {
		err = h.Decode(head)
	}
	if err != nil {
		h.retry = retryNone
		return c.fail(h, fatal(FatalBadRequest, classServer, "read request header: %v", err))
	}
	switch {
	case h.call == callPing:
		return nil
	case h.kind != kindProto:
		err = fatal(
			FatalInvalidHeader,
			classServer,
			"RPC kind %d: only protocol buffers (%d) are spoken here",
			h.kind,
			kindProto,
		)
	case h.call == callSASL:
		err = c.handshake(h, rest)
	case h.call == callContext:
		err = c.context(rest)
	case h.call < 0:
		err = fatal(FatalInvalidHeader, classServer, "call %d: not a number of a call", h.call)
	case !c.known:
		err = fatal(FatalInvalidHeader, classServer, "call %d before the connection's context", h.call)
	default:
		err = c.answer(ctx, h, rest)
	}
	if err != nil {
		return c.fail(h, err)
	}
	c.head, c.reply = requestHeader{}, responseHeader{} // they alias the frame, which may be long
	if len(c.out) > mostUnsent || !c.in.more() {
		return c.flush()
	}
	return nil
}

// context takes the connection's context: who the peer is, and the protocol. It is not answered.
func (c *serverConn) context(b []byte) error {
	switch {
	case c.known:
		return fatal(FatalInvalidHeader, classServer, "a second context")
	case c.bench.server.proves() && !c.proof:
		return fatal(FatalUnauthorized, classAccess, "the caller must prove its identity")
	}
	var h contextHeader
	if b, _, err := proto.Delimited(b); err != nil || h.Decode(b) != nil {
		return fatal(FatalBadRequest, classServer, "connection context cannot be read")
	}
	if c.bench.server.methods(h.protocol) == nil {
		return fatal(FatalInvalidHeader, classNoSuchProtocol, "Unknown protocol: %s", h.protocol)
	}
	if err := c.identify(h.user); err != nil {
		return err
	}
	if admit := c.bench.server.Admit; admit != nil {
		if err := admit(h.protocol, &c.call); err != nil {
			e := asError(err)
			return fatal(FatalUnauthorized, e.Class, "%s", e.Message)
		}
	}
	c.protocol, c.known = h.protocol, true
	c.in.idle, c.in.until = c.bench.limits.Idle, time.Time{}
	return nil
}

// impersonates returns an error if the real user may not act for the effective one.
func (c *serverConn) impersonates(u userInfo) error {
	allow := c.bench.server.Impersonate
	if allow == nil || len(u.real) > mostUser {
		return fatal(FatalUnauthorized, classAuthorization, "User: %.255s is not allowed to impersonate %s", u.real,
			u.effective)
	}
	err := allow(u.real, u.effective, c.call.Remote)
	if err != nil {
		e := asError(err)
		return fatal(FatalUnauthorized, e.Class, "%s", e.Message)
	}
	return nil
}

// answer calls the method that a request names, and sends its reply. It returns fatal errors only: all others were sent
// to the peer.
func (c *serverConn) answer(ctx context.Context, h *requestHeader, b []byte) error {
	var m methodHeader
	head, b, err := proto.Delimited(b)
	if err == nil {
		if err = m.Decode(head); err == nil {
			c.call.Body, _, err = proto.Delimited(b)
		}
	}
	if err != nil {
		return fatal(FatalBadRequest, classServer, "read call: %v", err)
	}
	var reply proto.Message
	methods := c.bench.server.methods(c.protocol)
	switch method := methods[string(m.method)]; {
	case string(m.protocol) != c.protocol:
		err = &Error{classNoSuchProtocol, fmt.Sprintf("Unknown protocol: %s", m.protocol), NoSuchProtocol}
	case method == nil && c.bench.server.Absent != nil:
		err = c.bench.server.Absent
	case method == nil:
		err = &Error{
			classNoSuchMethod,
			fmt.Sprintf("Unknown method %s called on %s protocol.", m.method, m.protocol),
			NoSuchMethod,
		}
	default:
		reply, err = method(ctx, &c.call)
	}
	c.call.Body = nil
	if err == nil {
		c.say(h, reply)
		if n := cap(c.out) + cap(c.call.Scratch); n > freeBuffer && !c.call.owed.Hold(n) {
			c.out = c.out[:0] // the peer hears nothing, and calls again
			return fmt.Errorf("reply of %d bytes: %w", n, ErrNoRoom)
		}
		return nil
	}
	e := asError(err)
	if e.Fatal() {
		return e
	}
	c.header(h, e)
	return nil
}

func asError(err error) *Error {
	var e *Error
	if !errors.As(err, &e) {
		e = &Error{Class: classIO, Message: err.Error()}
	}
	return e
}

// say adds the reply m to the replies. A nil m is an empty message: its length alone, 0.
func (c *serverConn) say(h *requestHeader, m proto.Message) {
	out, at := startFrame(c.out)
	c.reply = responseHeader{call: h.call, client: h.client, retry: h.retry}
	out = proto.AppendDelimited(out, &c.reply)
	if m == nil {
		out = append(out, 0)
	} else {
		out = proto.AppendDelimited(out, m)
	}
	c.out = endFrame(out, at)
}

// mostMessage bounds the message of an error, in bytes. Messages say what was wrong with a call, which may be long, and
// replies with errors do not count in the Room.
const mostMessage = 16 << 10

// header adds a reply with an error to the replies.
func (c *serverConn) header(h *requestHeader, e *Error) {
	if len(e.Message) > mostMessage {
		e = &Error{e.Class, strings.ToValidUTF8(e.Message[:mostMessage], ""), e.Detail}
	}
	status := int32(statusError)
	if e.Fatal() {
		status = statusFatal
	}
	out, at := startFrame(c.out)
	c.out = endFrame(
		proto.AppendDelimited(
			out,
			&responseHeader{call: h.call, status: status, err: e, client: h.client, retry: h.retry},
		),
		at,
	)
}

// fail tells the peer why the connection ends, and returns that.
func (c *serverConn) fail(h *requestHeader, err error) error {
	c.header(h, asError(err))
	return err
}

// flush writes the replies.
func (c *serverConn) flush() error {
	if len(c.out) == 0 {
		return nil
	}
	if now := time.Now(); now.Sub(c.sent) > deadlineLag { // moved once a second at most, as it costs
		c.sent = now
		c.conn.SetWriteDeadline(now.Add(c.bench.limits.Transfer + deadlineLag))
	}
	_, err := c.conn.Write(c.out)
	if c.out = c.out[:0]; cap(c.out) > c.keep() {
		c.out = nil
	}
	if cap(c.call.Scratch) > c.keep() {
		c.call.Scratch = nil
	}
	switch n := cap(c.out) + cap(c.call.Scratch); {
	case n <= freeBuffer:
		c.call.owed.Hold(0)
	case !c.call.owed.Keep(n):
		c.out, c.call.Scratch = nil, nil
		c.call.owed.Hold(0)
	}
	return err
}

// keep returns the size up to which a buffer for replies is kept.
func (c *serverConn) keep() int {
	if c.proof {
		return keepReplies
	}
	return keepBuffer
}

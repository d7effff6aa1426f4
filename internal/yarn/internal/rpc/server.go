package rpc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/proto"
)

// A Call is one request of a peer. All of it is lent until the method returns.
type Call struct {
	User string // the user that the peer claims to be; "" with a token
	Real string // the user who acts for User, if that is another one; else ""
	// Principal is the peer's principal, which it has proved by Kerberos; "": it has not. If a user acts for another,
	// Principal is that of Real.
	Principal string
	Token     []byte   // identifier of the token whose password the peer has proved to know; nil: there is none
	Remote    net.Addr // of the peer
	Body      []byte   // the request, encoded

	Scratch proto.Raw // memory for the method's reply, as the call before on the connection left it
	request any       // of the call before, to be decoded into again (resetter); nil: there is none
	owed    Share     // of the Room: the memory of replies
	asked   Share     // of the Room: the memory of the decoded request, while the call runs
}

// Make encodes a reply into Scratch, and reports whether there is room for it until it is taken.
func (c *Call) Make(m proto.Message) (proto.Message, error) {
	c.Scratch = m.Append(c.Scratch[:0])
	if n := cap(c.Scratch); n > freeBuffer && !c.owed.Hold(n) {
		c.Scratch = nil
		return nil, fmt.Errorf("reply of %d bytes: %w", n, ErrNoRoom)
	}
	return &c.Scratch, nil
}

// A Method answers calls. It is called by many goroutines at once, one a connection, and must return in less than the
// 120 s that Hadoop's clients wait. A nil reply is an empty message. An *Error goes to the peer as it is, any other
// error as a java.io.IOException.
type Method func(ctx context.Context, c *Call) (proto.Message, error)

// Handle makes a Method of a function that takes a decoded request.
func Handle[Q any, P interface {
	*Q
	proto.Described
}](f func(context.Context, *Call, *Q) (proto.Message, error)) Method {
	return func(ctx context.Context, c *Call) (proto.Message, error) {
		q, _ := c.request.(*Q)
		if q == nil {
			q = new(Q)
		}
		if again, ok := any(q).(resetter); ok {
			defer c.keep(again)
		}
		defer c.asked.Hold(0)
		err := proto.DecodeWithin(c.Body, P(q), &c.asked)
		if errors.Is(err, proto.ErrMemory) {
			return nil, fmt.Errorf("request of %d bytes: %w", len(c.Body), ErrNoRoom)
		}
		if err != nil {
			return nil, &Error{Class: classServer, Message: "read request: " + err.Error(), Detail: FatalBadRequest}
		}
		return f(ctx, c, q)
	}
}

// A resetter is a request that can be decoded into again, into the room that it has. Reset empties it, and returns how
// many bytes of memory it keeps. What is in the request is lent to the method until it returns, as the call is: the
// reply must not refer to it.
type resetter interface{ Reset() (kept int) }

// keep empties request q when its call is over, and keeps it for the next call if it then takes little memory. What is
// kept does not count in the Room: a short message with many empty elements would take a lot that no limit knows of.
func (c *Call) keep(q resetter) {
	c.request = nil
	if q.Reset() <= freeBuffer {
		c.request = q
	}
}

// A Server answers the calls of one protocol, or of two.
type Server struct {
	Protocol string            // as Java names it
	Methods  map[string]Method // by name
	Other    *Protocol         // a second protocol on the same port; nil: there is none
	Absent   error             // the answer to calls of missing methods; nil: that there is no such method
	// Password returns the password of a token. With it, holders of tokens are let in, and others only by Kerberos. An
	// error ends the connection: the peer gets the exception that an *Error names, else that its token is invalid.
	Password func(identifier []byte) ([]byte, error)
	// Kerberos lets in peers who have a ticket. If it and Password are nil, each peer is believed to be who it says.
	Kerberos Mechanism
	// Protections are those that authenticated peers may choose from, the best first. None: Authentication.
	Protections []Protection
	// Impersonate reports, as an error, that user real may not act for user effective from an address; nil: no user may
	// act for another.
	Impersonate func(real, effective string, from net.Addr) error
	// Admit reports, as an error, that a caller may not use a protocol. It is asked once for a connection, before its
	// first call, with User, Real, Principal, Token and Remote, and may set User. nil: all may.
	Admit  func(protocol string, c *Call) error
	Log    *slog.Logger // for what was refused; nil: that is not logged
	Limits Limits
	Room   *Room // bounds the memory of its connections and of those of other servers; nil: no bound

	grace time.Duration // how long calls being answered may take when it stops; zero: graceToClose
}

// A Protocol is a protocol's name, as Java has it, and its methods.
type Protocol struct {
	Name    string
	Methods map[string]Method
}

// methods returns the methods of a protocol; nil: it is not served here.
func (s *Server) methods(protocol string) map[string]Method {
	switch {
	case protocol == s.Protocol:
		return s.Methods
	case s.Other != nil && protocol == s.Other.Name:
		return s.Other.Methods
	}
	return nil
}

// Limits bound what peers may take of a server. Zero fields have the defaults of this package. One host may have
// ConnsOfHost(Conns) of the connections.
type Limits struct {
	Frame     int           // bytes
	Conns     int           // open at once; more are closed unheard
	Handshake time.Duration // from accepting a connection until its caller is known, whatever else is sent
	Transfer  time.Duration // for a frame that has begun to arrive, or a reply to be taken
	Idle      time.Duration // between frames, once the caller is known
}

// orDefaults returns the limits with defaults for zero fields.
func (l Limits) orDefaults() Limits {
	return Limits{
		cmp.Or(l.Frame, DefaultMaxFrame),
		cmp.Or(l.Conns, DefaultMaxConns),
		cmp.Or(l.Handshake, DefaultHandshake),
		cmp.Or(l.Transfer, DefaultTransfer),
		cmp.Or(l.Idle, DefaultIdle),
	}
}

// graceToClose is how long calls being answered may take when a server stops, unless Server.grace says otherwise.
const graceToClose = 2 * time.Second

// Serve accepts connections until ctx is done, then lets the calls that are being answered end, and returns when all
// connections have ended. It closes ln. The error is nil after ctx was done, else it says that ln was closed. If
// accepting fails for another reason, Serve tries again.
func (s *Server) Serve(ctx context.Context, ln net.Listener) error {
	b := newBench(s)
	calls, cancel := context.WithCancel(context.WithoutCancel(ctx)) // calls outlive ctx by the grace
	defer cancel()
	stop := context.AfterFunc(ctx, func() { ln.Close() })
	defer stop()
	err := b.accept(calls, ln)
	ln.Close()
	b.close()
	if ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("accept on %v: %w", ln.Addr(), err)
}

// A bench has the connections of a server while it runs.
type bench struct {
	server *Server
	limits Limits
	log    *slog.Logger
	wg     sync.WaitGroup
	brake  Brake // of refusals that are logged

	hosts Hosts

	mu    sync.Mutex
	conns map[*serverConn]bool
}

func newBench(s *Server) *bench {
	b := &bench{server: s, limits: s.Limits.orDefaults(), conns: map[*serverConn]bool{}, log: s.Log}
	b.hosts.Most = ConnsOfHost(b.limits.Conns)
	if b.log == nil {
		b.log = slog.New(slog.DiscardHandler)
	}
	return b
}

// accept accepts connections, and serves each on a goroutine, until ln is closed.
func (b *bench) accept(ctx context.Context, ln net.Listener) error {
	pause := time.Duration(0)
	for {
		nc, err := ln.Accept()
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return err
			}
			pause = min(
				2*pause+5*time.Millisecond,
				time.Second,
			) // out of file descriptors, most likely: some will come back
			b.refused("accept", ln.Addr(), err)
			time.Sleep(pause)
			continue
		}
		pause = 0
		host := HostOf(nc.RemoteAddr())
		if !b.hosts.Enter(host) {
			nc.Close()
			b.refused("full", nc.RemoteAddr(), fmt.Errorf("%d connections of that host are open", b.hosts.Most))
			continue
		}
		c := newServerConn(b, nc)
		if !b.add(c) {
			nc.Close()
			b.hosts.Leave(host)
			b.refused("full", nc.RemoteAddr(), fmt.Errorf("%d connections are open", b.limits.Conns))
			continue
		}
		b.wg.Go(func() {
			defer b.remove(c)
			c.serve(ctx)
		})
	}
}

// add remembers a connection. It returns false if there are as many as there may be.
func (b *bench) add(c *serverConn) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.conns) >= b.limits.Conns {
		return false
	}
	b.conns[c] = true
	return true
}

// remove closes a connection, forgets it, and gives back what it held.
func (b *bench) remove(c *serverConn) {
	c.in.share.Hold(0)
	c.call.owed.Hold(0)
	c.conn.Close()
	b.hosts.Leave(HostOf(c.call.Remote))
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.conns, c)
}

// close ends all connections: each after the call that it is answering, or after the grace.
func (b *bench) close() {
	b.mu.Lock()
	for c := range b.conns {
		c.in.stop()
	}
	b.mu.Unlock()
	hard := time.AfterFunc(cmp.Or(b.server.grace, graceToClose), func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		for c := range b.conns {
			c.conn.Close()
		}
	})
	defer hard.Stop()
	b.wg.Wait()
}

// refused logs why a peer was turned away. The rate of lines of each kind is limited.
func (b *bench) refused(kind string, peer net.Addr, why error) {
	if silent, ok := b.brake.Pass(kind, time.Now()); ok {
		b.log.Warn("refused", "protocol", b.server.Protocol, "peer", peer.String(), "why", why, "more", silent)
	}
}

package rpc

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/kerberos"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/kerberos/kerberostest"
)

// A gss is the Mechanism of rm/localhost. The local user of a principal is its first component.
type gss struct{ *kerberos.Acceptor }

type gssSession struct{ *kerberos.Context }

func (s gssSession) Peer() (principal, user string) { return s.Client().String(), s.Client().First }

func (g gss) Service() (protocol, host string) { return g.Name().First, g.Name().Host }

func (g gss) Accept(token []byte) (Session, []byte, error) {
	c, reply, err := g.Acceptor.Accept(token)
	return gssSession{c}, reply, err
}

func (g gss) Local(name string) (string, error) {
	n, err := kerberos.ParseName(name)
	return n.First, err
}

// initiated is the layer of the client's side.
type initiated struct {
	i    *kerberostest.Initiator
	seal bool
}

func (l initiated) wrap(message []byte) ([]byte, error) { return l.i.Wrap(message, l.seal, 0), nil }

func (l initiated) unwrap(token []byte) ([]byte, error) {
	message, sealed, err := l.i.Unwrap(token)
	if err == nil && sealed != l.seal {
		err = errors.New("protected otherwise")
	}
	return message, err
}

// dialKerberos shakes hands by GSSAPI as Hadoop's clients do, and returns the protections that the server offers. as is
// the user that the context names, and authorize the one that the choice of a protection names.
func dialKerberos(t *testing.T, address string, i *kerberostest.Initiator, want Protection, as, authorize string) (
	c *Client, offer Protection, err error,
) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	c = &Client{protocol: protocol, conn: conn, in: newFrameReader(conn, time.Minute, time.Minute),
		most: DefaultMaxFrame, transfer: time.Minute, done: make(chan struct{}), waiting: map[int32]*waiting{},
		last: -1}
	c.out = append(c.out, "hrpc\x09\x00\xdf"...)
	m, err := c.sasl(&saslMessage{state: saslNegotiate})
	if err != nil || len(m.auths) == 0 {
		return nil, 0, errors.Join(err, errors.New("nothing is offered"))
	}
	by := m.auths[len(m.auths)-1]
	if by.method != methodKerberos || by.mechanism != "GSSAPI" || by.protocol != "rm" || by.server != "localhost" {
		return nil, 0, errors.New("offered last: " + by.method)
	}
	m, err = c.sasl(&saslMessage{state: saslInitiate, token: i.Token(t), auths: []saslAuth{by}})
	if err != nil {
		return nil, 0, err
	}
	if !i.OneWay {
		if err = i.Check(m.token); err != nil {
			return nil, 0, err
		}
		if m, err = c.sasl(&saslMessage{state: saslResponse, token: []byte{}}); err != nil {
			return nil, 0, err
		}
	}
	offered, _, err := i.Unwrap(m.token)
	if err != nil || len(offered) != 4 {
		return nil, 0, errors.Join(err, errors.New("no offer"))
	}
	choice := binary.BigEndian.AppendUint32(nil, uint32(want)<<24|mostWrapped)
	m, err = c.sasl(&saslMessage{state: saslResponse, token: i.Wrap(append(choice, authorize...), false, 0)})
	if err != nil {
		return nil, 0, err
	}
	if m.state != saslSuccess || len(m.token) > 0 {
		return nil, 0, errors.New("the handshake goes on")
	}
	if want != Authentication {
		under := &wrappedConn{Conn: conn, in: c.in, layer: initiated{i, want == Privacy}, most: c.most}
		c.conn = under.begin(mostWrapped)
		c.in = newFrameReader(c.conn, time.Minute, time.Minute)
	}
	c.out = appendFrame(c.out, &requestHeader{call: callContext, client: c.id[:], retry: retryNone},
		&contextHeader{userInfo{effective: as}, protocol})
	if err := c.flush(); err != nil {
		return nil, 0, err
	}
	go c.read()
	return c, Protection(offered[0]), nil
}

// Callers with a ticket get in under each protection, beside or without tokens, as their local user or as one that they
// may act for; without a ticket, or with what was not offered, they do not.
func TestKerberosHandshake(t *testing.T) {
	path := kerberostest.Keytab(t, "rm/localhost", 18)
	a, err := kerberos.NewAcceptor(kerberos.Name{First: "rm", Host: "localhost", Realm: kerberostest.Realm}, path)
	if err != nil {
		t.Fatal(err)
	}
	all := []Protection{Authentication, Integrity, Privacy}
	server := func(protections []Protection, tokens bool) string {
		s := &Server{Kerberos: gss{a}, Protections: protections,
			Impersonate: func(real, effective string, _ net.Addr) error {
				if real != "oozie" || effective != "bo" {
					return Errorf(classAuthorization, "User: %s is not allowed to impersonate %s", real, effective)
				}
				return nil
			}}
		if tokens {
			s.Password = byPassword
		}
		return serve(t, s)
	}
	const ana, oozie = "ana@" + kerberostest.Realm, "oozie/h@" + kerberostest.Realm
	both, plainOnly := server(all, true), server(nil, false)
	for _, c := range []struct {
		name, address, client, as, authorize string
		want                                 Protection
		oneWay                               bool
		user, refused                        string
	}{
		{name: "plain", address: plainOnly, client: "ana", as: ana, want: Authentication, user: "ana"},
		{name: "one way", address: plainOnly, client: "ana", want: Authentication, oneWay: true, user: "ana"},
		{name: "itself", address: plainOnly, client: "ana", authorize: ana, want: Authentication, user: "ana"},
		{name: "integrity", address: both, client: "ana", as: ana, want: Integrity, user: "ana"},
		{name: "privacy", address: both, client: "ana", as: ana, want: Privacy, user: "ana"},
		{name: "for another", address: both, client: "oozie/h", as: "bo", want: Privacy, user: "bo"},
		{name: "by its principal", address: both, client: "oozie/h", as: oozie, want: Privacy, user: "oozie"},
		{name: "not for root", address: both, client: "oozie/h", as: "root", want: Authentication,
			refused: "oozie is not allowed to impersonate root"},
		{name: "an odd user", address: both, client: "ana", as: "a/b/c", want: Authentication,
			refused: "Illegal principal"},
		{name: "not offered", address: plainOnly, client: "ana", want: Privacy, refused: "was not offered"},
		{name: "two protections", address: both, client: "ana", want: Integrity | Privacy, refused: "was not offered"},
		{name: "as another", address: both, client: "ana", authorize: oozie, want: Authentication,
			refused: "is not authorized to be"},
	} {
		i := &kerberostest.Initiator{Client: c.client, Service: "rm/localhost", Path: path, OneWay: c.oneWay}
		client, offer, err := dialKerberos(t, c.address, i, c.want, c.as, c.authorize)
		reply := text{}
		if err == nil {
			err = client.Call(t.Context(), "echo", &text{strings.Repeat("x", 200_000)}, &reply)
		}
		switch {
		case c.refused != "" && (err == nil || !strings.Contains(err.Error(), c.refused)):
			t.Errorf("%s: %v, want %q", c.name, err, c.refused)
		case c.refused == "" && (err != nil || !strings.HasSuffix(reply.s, "x from "+c.user)):
			t.Errorf("%s: %v, %.40q", c.name, err, reply.s[max(0, len(reply.s)-30):])
		case c.refused == "" && c.address == both && offer != Authentication|Integrity|Privacy:
			t.Errorf("%s: offered %d", c.name, offer)
		}
	}
	d := Dialer{Protocol: protocol, User: "ana"}
	if client, err := d.Dial(t.Context(), both); err == nil {
		err = client.Call(t.Context(), "echo", &text{"x"}, &text{})
		client.Close()
		if err == nil || !strings.Contains(err.Error(), "Available:[TOKEN, KERBEROS]") {
			t.Errorf("without a ticket: %v", err)
		}
	}
	d.Secret = &Secret{[]byte("token"), []byte("password")}
	if _, err := d.Dial(t.Context(), plainOnly); err == nil || !strings.Contains(err.Error(), "does not offer") {
		t.Errorf("a token where none is taken: %v", err)
	}
}

// lasts returns how long a server serves a peer: a function that gets the peer's end of the connection.
func lasts(t *testing.T, s *Server, peer func(conn net.Conn)) (d time.Duration) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		ours, theirs := net.Pipe()
		var wg sync.WaitGroup
		wg.Go(func() {
			defer theirs.Close()
			peer(theirs)
		})
		newServerConn(newBench(s), ours).serve(t.Context())
		d = time.Since(began)
		ours.Close()
		wg.Wait()
	})
	return d
}

// repeat writes b to conn a hundred times, with a pause before each time, or until the connection ends.
func repeat(conn net.Conn, pause time.Duration, b []byte) {
	for range 100 {
		time.Sleep(pause)
		if _, err := conn.Write(b); err != nil {
			return
		}
	}
}

// A peer has so much time to say who it is, whatever else it sends. Then silence alone ends the connection.
func TestHandshakeIsBounded(t *testing.T) {
	const limit, day = 20 * time.Second, 24 * time.Hour
	hello := []byte("hrpc\x09\x00\xdf")
	ping := appendFrame(nil, &requestHeader{call: callPing, retry: retryNone})
	negotiate := appendFrame(nil, &requestHeader{call: callSASL, retry: retryNone}, &saslMessage{state: saslNegotiate})
	said := appendFrame(nil, &requestHeader{call: callContext, retry: retryNone},
		&contextHeader{userInfo{effective: "u"}, protocol})
	proven := func(conn net.Conn, p Protection) net.Conn {
		c := &Client{protocol: protocol, conn: conn, in: newFrameReader(conn, day, day),
			out: bytes.Clone(hello), most: DefaultMaxFrame, transfer: day}
		if err := c.prove(&Secret{[]byte("token"), []byte("password")}, []Protection{p}); err != nil {
			t.Error(err)
		}
		return c.conn
	}
	for name, c := range map[string]struct {
		password func([]byte) ([]byte, error)
		peer     func(conn net.Conn)
		want     time.Duration
	}{
		"silence": {nil, func(conn net.Conn) { io.Copy(io.Discard, conn) }, limit},
		"pings": {nil, func(conn net.Conn) {
			conn.Write(hello)
			repeat(conn, 3*time.Second, ping)
		}, limit},
		"a late frame in pieces": {nil, func(conn net.Conn) {
			conn.Write(hello)
			time.Sleep(15 * time.Second)
			for i := range said {
				conn.Write(said[i : i+1])
				time.Sleep(time.Second)
			}
		}, limit},
		"SASL that is not needed": {nil, func(conn net.Conn) {
			conn.Write(hello)
			go io.Copy(io.Discard, conn)
			repeat(conn, 3*time.Second, negotiate)
		}, limit},
		"a proof without a context": {byPassword, func(conn net.Conn) {
			time.Sleep(5 * time.Second)
			repeat(proven(conn, Authentication), 3*time.Second, ping)
		}, limit},
		"a protected proof without a context": {byPassword, func(conn net.Conn) {
			time.Sleep(5 * time.Second)
			repeat(proven(conn, Privacy), 3*time.Second, ping)
		}, limit},
		"a known caller": {nil, func(conn net.Conn) {
			conn.Write(hello)
			time.Sleep(limit - time.Second)
			conn.Write(said)
			for range 20 {
				time.Sleep(DefaultIdle - time.Second)
				conn.Write(ping)
			}
			io.Copy(io.Discard, conn)
		}, limit - time.Second + 20*(DefaultIdle-time.Second) + DefaultIdle},
		"a known caller with half a length": {nil, func(conn net.Conn) {
			conn.Write(hello)
			time.Sleep(limit - time.Second)
			conn.Write(append(bytes.Clone(said), ping[:2]...))
			io.Copy(io.Discard, conn)
		}, limit - time.Second + DefaultIdle},
		"a known caller, protected": {byPassword, func(conn net.Conn) {
			conn = proven(conn, Privacy)
			conn.Write(said)
			for range 20 {
				time.Sleep(DefaultIdle - time.Second)
				conn.Write(ping)
			}
			io.Copy(io.Discard, conn)
		}, 20*(DefaultIdle-time.Second) + DefaultIdle},
	} {
		t.Run(name, func(t *testing.T) {
			s := &Server{Protocol: protocol, Methods: echo(), Password: c.password,
				Protections: []Protection{Privacy, Authentication},
				Limits:      Limits{Handshake: limit}}
			if got := lasts(t, s, c.peer); got != c.want {
				t.Errorf("the connection lasts %v, want %v", got, c.want)
			}
		})
	}
}

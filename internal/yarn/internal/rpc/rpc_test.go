package rpc

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/proto"
)

const protocol = "org.apache.hadoop.yarn.server.api.ResourceTrackerPB"

// text is a message with one string.
type text struct{ s string }

func (m *text) Fields(f *proto.Fields) { f.String(1, &m.s) }
func (m *text) Append(b []byte) []byte { return proto.Append(b, m) }
func (m *text) Decode(b []byte) error  { return proto.Decode(b, m) }

// echo is a server's methods: echo answers with what it got and who said it; refuse with an exception; nothing with an
// empty message.
func echo() map[string]Method {
	return map[string]Method{
		"echo": Handle(func(_ context.Context, c *Call, q *text) (proto.Message, error) {
			return &text{q.s + " from " + c.User + string(c.Token)}, nil
		}),
		"refuse": Handle(func(_ context.Context, _ *Call, q *text) (proto.Message, error) {
			return nil, Errorf("org.apache.hadoop.yarn.exceptions.YarnException", "no %s", q.s)
		}),
		"fail":    func(context.Context, *Call) (proto.Message, error) { return nil, errors.New("plain") },
		"nothing": func(context.Context, *Call) (proto.Message, error) { return nil, nil },
	}
}

// serve runs a server until the test ends; Serve returns only when no goroutine of it is left.
func serve(t testing.TB, s *Server) string {
	t.Helper()
	if s.Protocol == "" {
		s.Protocol = protocol
	}
	if s.Methods == nil {
		s.Methods = echo()
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, ln) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return ln.Addr().String()
}

func dial(t testing.TB, d Dialer, address string) *Client {
	t.Helper()
	if d.Protocol == "" {
		d.Protocol = protocol
	}
	c, err := d.Dial(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func say(t testing.TB, c *Client, s string) string {
	t.Helper()
	var reply text
	if err := c.Call(t.Context(), "echo", &text{s}, &reply); err != nil {
		t.Fatal(err)
	}
	return reply.s
}

func byPassword(id []byte) ([]byte, error) {
	switch string(id) {
	case "token":
	case "old":
		return nil, Errorf("a.b.TooOld", "a token of old")
	default:
		return nil, errors.New("unknown token")
	}
	return []byte("password"), nil
}

func TestCalls(t *testing.T) {
	address := serve(t, &Server{})
	c := dial(t, Dialer{User: "alice"}, address)
	if got := say(t, c, "hello"); got != "hello from alice" {
		t.Errorf("got %q", got)
	}
	long := strings.Repeat("x", 3<<20)
	if got := say(t, c, long); got != long+" from alice" {
		t.Errorf("3 MiB come back as %d bytes", len(got))
	}
	if err := c.Call(t.Context(), "nothing", proto.Raw(nil), &text{}); err != nil {
		t.Errorf("an empty reply: %v", err)
	}
	for method, want := range map[string]Error{
		"refuse": {"org.apache.hadoop.yarn.exceptions.YarnException", "no way", Application},
		"fail":   {"java.io.IOException", "plain", Application},
		"gone": {"org.apache.hadoop.ipc.RpcNoSuchMethodException",
			"Unknown method gone called on " + protocol + " protocol.", NoSuchMethod},
	} {
		var e *Error
		if err := c.Call(t.Context(), method, &text{"way"}, nil); !errors.As(err, &e) || *e != want {
			t.Errorf("%s: %v, want %v", method, err, &want)
		}
	}
	if got := say(t, c, "still here"); got != "still here from alice" {
		t.Errorf("after exceptions: %q", got)
	}
}

func TestManyOutstanding(t *testing.T) {
	c := dial(t, Dialer{User: "u"}, serve(t, &Server{}))
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			var reply text
			s := fmt.Sprint("call ", i, " ", strings.Repeat("y", i*100))
			if err := c.Call(t.Context(), "echo", &text{s}, &reply); err != nil || reply.s != s+" from u" {
				t.Errorf("call %d: %d bytes, %v", i, len(reply.s), err)
			}
		})
	}
	wg.Wait()
}

func TestTokens(t *testing.T) {
	address := serve(t, &Server{Password: byPassword})
	good := &Secret{[]byte("token"), []byte("password")}
	if got := say(t, dial(t, Dialer{Secret: good}, address), "hi"); got != "hi from token" {
		t.Errorf("got %q", got)
	}
	for name, c := range map[string]struct {
		secret *Secret
		class  string
	}{
		"wrong password": {&Secret{[]byte("token"), []byte("guess")}, "javax.security.sasl.SaslException"},
		"unknown token": {&Secret{[]byte("other"), []byte("password")},
			"org.apache.hadoop.security.token.SecretManager$InvalidToken"},
		"own exception": {&Secret{[]byte("old"), []byte("password")}, "a.b.TooOld"},
	} {
		d := Dialer{Protocol: protocol, Secret: c.secret}
		var e *Error
		if _, err := d.Dial(t.Context(), address); !errors.As(err, &e) || e.Class != c.class || !e.Fatal() {
			t.Errorf("%s: %v, want %s", name, err, c.class)
		}
	}
	plain := dial(t, Dialer{User: "mallory"}, address)
	if err := plain.Call(t.Context(), "echo", &text{"hi"}, nil); err == nil {
		t.Error("a peer without a token is answered")
	}
}

// A server that does not know the token's password must not be believed, though it says that all is well.
func TestServerMustProve(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	go func() {
		conn, err := ln.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		in := newFrameReader(conn, time.Minute, time.Minute)
		in.exactly(7)
		by := byToken
		by.challenge = digestChallenge("nonce", plain)
		for _, m := range []*saslMessage{{state: saslNegotiate, auths: []saslAuth{by}},
			{state: saslSuccess, token: []byte("rspauth=0")}} {
			if _, err := in.next(1 << 16); err != nil {
				return
			}
			conn.Write(appendFrame(nil, &responseHeader{call: callSASL, retry: retryNone}, m))
		}
		in.next(1 << 16) // until the client leaves
	}()
	d := Dialer{Protocol: protocol, Secret: &Secret{[]byte("token"), []byte("password")}}
	if _, err := d.Dial(t.Context(), ln.Addr().String()); err == nil ||
		!strings.Contains(err.Error(), "does not prove") {
		t.Errorf("a server that proves nothing: %v", err)
	}
}

// patience is how long tests wait for what must happen: so long that it is no question of how busy the machine is.
const patience = 5 * time.Minute

// soon fails the test unless ok becomes true within patience.
func soon(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// raw sends bytes and returns all that comes back until the server closes.
func raw(t *testing.T, address string, b []byte) []byte {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(patience))
	conn.Write(b)
	all, err := io.ReadAll(conn)
	if timedOut(err) {
		t.Fatalf("after %d bytes the server neither answers nor closes", len(b))
	}
	return all
}

func bytesOf(t *testing.T, s string) []byte {
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Whatever a peer sends, the server ends the connection, after an answer where one is due. The server waits 50 ms only
// for each step of a peer. On a busy machine a good peer is too late for that now and then, and tries again.
func TestBrokenPeers(t *testing.T) {
	short := Limits{
		Handshake: 50 * time.Millisecond,
		Transfer:  50 * time.Millisecond,
		Idle:      50 * time.Millisecond,
		Frame:     1 << 20,
	}
	address := serve(t, &Server{Limits: short})
	hello := string(bytesOf(t, "68727063 09 00 00"))
	context := string(
		appendFrame(
			nil,
			&requestHeader{call: callContext, retry: retryNone},
			&contextHeader{userInfo{effective: "u"}, protocol},
		),
	)
	call := func(h requestHeader) string {
		return string(appendFrame(nil, &h, &methodHeader{[]byte("echo"), []byte(protocol)}, &text{"x"}))
	}
	noise := make([]byte, 10_000)
	rand.NewChaCha8([32]byte{1}).Read(noise) // by chance some noise has the form of a header
	for name, c := range map[string]struct{ send, want string }{
		"silent":            {"", ""},
		"half a preamble":   {"hrp", ""},
		"another protocol":  {"SSH-2.0-OpenSSH", ""},
		"a browser":         {"GET / HTTP/1.1\r\n\r\n", "404"},
		"another version":   {"hrpc\x08\x00\x00", "RPC$VersionMismatch"},
		"another auth byte": {"hrpc\x09\x00\x51", ""},
		"half a frame":      {hello + context[:20], ""},
		"a frame too long":  {hello + context + "\x7f\xff\xff\xff", ""},
		"no context":        {hello + call(requestHeader{}), "before the connection's context"},
		"two contexts":      {hello + context + context, "a second context"},
		"SASL out of place": {hello + string(appendFrame(nil, &requestHeader{call: callSASL},
			&saslMessage{state: saslNegotiate})), "SASL where none"},
		"silent after a call":   {hello + context + call(requestHeader{}), "x from u"},
		"silent after half":     {hello + context + call(requestHeader{}) + "\x00\x00\x00", "x from u"},
		"a ping, then silent":   {hello + context + string(appendFrame(nil, &requestHeader{call: callPing})), ""},
		"a call number below 0": {hello + context + call(requestHeader{call: -7}), "not a number of a call"},
		"noise":                 {string(noise), ""},
		"noise after hello":     {hello + context + string(framed(noise)), "read request header"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.want == "" {
				if got := raw(t, address, []byte(c.send)); len(got) > 0 {
					t.Errorf("answer %q, want none", got)
				}
				return
			}
			var got []byte
			for range 100 {
				if got = raw(t, address, []byte(c.send)); strings.Contains(string(got), c.want) {
					return
				}
			}
			t.Errorf("answer %q, want %q", got, c.want)
		})
	}
	soon(t, "after all of them a good peer is answered", func() bool {
		peer, err := (&Dialer{Protocol: protocol, User: "after"}).Dial(t.Context(), address)
		if err != nil {
			return false
		}
		defer peer.Close()
		var reply text
		err = peer.Call(t.Context(), "echo", &text{"hello"}, &reply)
		return err == nil && reply.s == "hello from after"
	})
}

func TestConnectionLimit(t *testing.T) {
	address := serve(t, &Server{Limits: Limits{Conns: 2}})
	a, b := dial(t, Dialer{User: "a"}, address), dial(t, Dialer{User: "b"}, address)
	say(t, a, "")
	say(t, b, "")
	c := dial(t, Dialer{User: "c"}, address)
	if err := c.Call(t.Context(), "echo", &text{}, nil); err == nil {
		t.Error("a third connection is served where two are the limit")
	}
	a.Close()
	soon(t, "a place that became free is given to another", func() bool {
		d, err := (&Dialer{Protocol: protocol, User: "d"}).Dial(t.Context(), address)
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		return d.Call(t.Context(), "echo", &text{}, nil) == nil
	})
}

// A server that stops lets the call that it answers end.
func TestGracefulStop(t *testing.T) {
	entered, release := make(chan bool), make(chan bool)
	s := &Server{
		Protocol: protocol,
		grace:    patience,
		Methods: map[string]Method{"wait": func(context.Context, *Call) (proto.Message, error) {
			entered <- true
			<-release
			return &text{"done"}, nil
		}},
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, ln) }()
	c := dial(t, Dialer{User: "u"}, ln.Addr().String())
	idle := dial(t, Dialer{User: "u"}, ln.Addr().String())
	answered := make(chan error, 1)
	var reply text
	go func() { answered <- c.Call(context.Background(), "wait", proto.Raw(nil), &reply) }()
	<-entered
	cancel()
	<-idle.done // the idle connection is closed without waiting for the busy one
	close(release)
	if err := <-answered; err != nil || reply.s != "done" {
		t.Errorf("the call that was being answered ended with %q, %v", reply.s, err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// A server that dies in the midst of a call fails the calls that wait, and no goroutine is left.
func TestClientSeesServerDie(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan net.Conn)
	go func() {
		conn, _ := ln.Accept()
		io.ReadFull(conn, make([]byte, 100))
		got <- conn
	}()
	c := dial(t, Dialer{User: "u"}, ln.Addr().String())
	failed := make(chan error, 2)
	for range 2 {
		go func() { failed <- c.Call(context.Background(), "echo", &text{"x"}, nil) }()
	}
	(<-got).Close()
	ln.Close()
	for range 2 {
		if err := <-failed; err == nil {
			t.Error("a call to a dead server succeeded")
		}
	}
	<-c.done
}

func TestClientGivesUp(t *testing.T) {
	release := make(chan bool)
	address := serve(t, &Server{Methods: map[string]Method{"wait": func(context.Context, *Call) (proto.Message, error) {
		<-release
		return nil, nil
	}, "echo": echo()["echo"]}})
	c := dial(t, Dialer{User: "u"}, address)
	ctx, cancel := context.WithCancel(t.Context())
	given := make(chan error, 1)
	go func() { given <- c.Call(ctx, "wait", proto.Raw(nil), nil) }()
	cancel()
	if err := <-given; !errors.Is(err, context.Canceled) {
		t.Errorf("a call given up ended with %v", err)
	}
	close(release)
	if got := say(t, c, "next"); got != "next from u" { // the late reply is dropped, and disturbs no call
		t.Errorf("got %q", got)
	}
	c.Close()
	if err := c.Call(t.Context(), "echo", &text{}, nil); !errors.Is(err, ErrClosed) {
		t.Errorf("call after Close: %v", err)
	}
}

// While a call waits, the client lets its server hear from it, so that the server's limit on silence does not end the
// connection.
func TestPing(t *testing.T) {
	heard := make(chan []byte, 1)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	go func() {
		conn, err := ln.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		in := newFrameReader(conn, time.Minute, time.Minute)
		in.exactly(7)
		for {
			frame, err := in.next(1 << 20)
			if err != nil {
				return
			}
			var h requestHeader
			head, rest, _ := proto.Delimited(frame)
			if h.Decode(head); h.call == callPing {
				heard <- bytes.Clone(rest)
				return
			}
		}
	}()
	c := dial(t, Dialer{User: "u", Ping: 20 * time.Millisecond}, ln.Addr().String())
	if err := c.Call(t.Context(), "echo", &text{}, nil); err == nil {
		t.Error("the call was answered")
	}
	if rest := <-heard; len(rest) > 0 {
		t.Errorf("a ping is a header alone, has %x after it", rest)
	}
}

// The peer may ask for SASL where none is needed: it is told to go on without.
func TestSASLNotNeeded(t *testing.T) {
	address := serve(t, &Server{Limits: Limits{Idle: 50 * time.Millisecond}})
	send := append(
		[]byte("hrpc\x09\x00\xdf"),
		appendFrame(nil, &requestHeader{call: callSASL, retry: retryNone}, &saslMessage{state: saslNegotiate})...)
	send = append(
		send,
		appendFrame(
			nil,
			&requestHeader{call: callContext, retry: retryNone},
			&contextHeader{userInfo{effective: "u"}, protocol},
		)...)
	send = append(
		send,
		appendFrame(nil, &requestHeader{call: 7}, &methodHeader{[]byte("echo"), []byte(protocol)}, &text{"x"})...)
	got := raw(t, address, send)
	if simple := bytesOf(t, "00000012 0e 08dfffffff0f 1000 1809 3a00 4001 02 1000"); !bytes.HasPrefix(got, simple) ||
		!bytes.Contains(got, []byte("x from u")) {
		t.Errorf("answer %x", got)
	}
}

// A scarce listener has no file descriptors for a while.
type scarce struct {
	net.Listener
	left int // failures
}

func (s *scarce) Accept() (net.Conn, error) {
	if s.left--; s.left < 0 {
		return nil, net.ErrClosed
	}
	return nil, &net.OpError{Op: "accept", Err: syscall.EMFILE}
}

// A minute without file descriptors ends no server: who may open connections could end it else.
func TestAcceptWaitsForFiles(t *testing.T) {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		ln := &scarce{inner, 66}
		began := time.Now()
		err := (&Server{Protocol: protocol}).Serve(t.Context(), ln)
		if !errors.Is(err, net.ErrClosed) || ln.left >= 0 {
			t.Errorf("%v with %d failures to come", err, ln.left)
		}
		if took := time.Since(began); took < 50*time.Second || took > 66*time.Second {
			t.Errorf("66 failures take %v: pauses grow to a second", took)
		}
	})
}

// The message of an error is bounded, whatever the call names, and stays text.
func TestLongMessages(t *testing.T) {
	c := dial(t, Dialer{Protocol: protocol, User: "ana"}, serve(t, &Server{}))
	for method, q := range map[string]*text{
		"refuse":                     {strings.Repeat("é", 1<<20)},
		strings.Repeat("m", 1<<20+1): {},
	} {
		err := c.Call(t.Context(), method, q, nil)
		var e *Error
		if !errors.As(err, &e) || len(e.Message) > mostMessage || len(e.Message) < mostMessage-4 ||
			!utf8.ValidString(e.Message) {
			t.Errorf("%.10s: %.100v", method, err)
		}
	}
}

// Of two protocols at a port each caller may use the one that it is admitted to, and no other on that connection.
func TestAdmitToOneProtocol(t *testing.T) {
	const other = "org.example.Other"
	address := serve(t, &Server{
		Other: &Protocol{Name: other, Methods: echo()},
		Admit: func(protocol string, c *Call) error {
			if (c.User == "guest") != (protocol == other) {
				return Errorf(classAuthorization, "%s may not use %s", c.User, protocol)
			}
			return nil
		},
	})
	for _, c := range []struct{ user, protocol, want string }{
		{"ana", protocol, ""},
		{"guest", other, ""},
		{"ana", other, "ana may not use " + other},
		{"guest", protocol, "guest may not use " + protocol},
	} {
		client := dial(t, Dialer{User: c.user, Protocol: c.protocol}, address)
		err := client.Call(t.Context(), "echo", &text{"x"}, &text{})
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s uses %s: %v, want %q", c.user, c.protocol, err, c.want)
		}
	}
	sent := appendFrame([]byte("hrpc\x09\x00\x00"), &requestHeader{call: callContext, retry: retryNone},
		&contextHeader{userInfo{effective: "guest"}, other})
	sent = appendFrame(sent, &requestHeader{call: 1, client: []byte("client")},
		&methodHeader{[]byte("echo"), []byte(protocol)}, &text{"x"})
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write(sent); err != nil {
		t.Fatal(err)
	}
	frame, err := newFrameReader(conn, time.Minute, time.Minute).next(DefaultMaxFrame)
	if err != nil || !bytes.Contains(frame, []byte("Unknown protocol: "+protocol)) {
		t.Errorf("a call of another protocol than the connection's is answered %q, %v", frame, err)
	}
}

package rpc

import (
	"bytes"
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/proto"
)

func TestCaller(t *testing.T) {
	at := serve(t, &Server{})
	c, err := (&Dialer{Protocol: protocol, User: "ann"}).DialCaller(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	// longer than a connection's buffer, and shorter again
	for _, s := range []string{"one", strings.Repeat("long", 3000), "two"} {
		var r text
		if err := c.Call("echo", &text{s}, &r); err != nil || r.s != s+" from ann" {
			t.Fatalf("echo of %d bytes: %d bytes, %v", len(s), len(r.s), err)
		}
		if c.Sent <= len(s) || c.Received <= len(s) {
			t.Errorf("%d bytes sent and %d received, for a text of %d", c.Sent, c.Received, len(s))
		}
	}
	var e *Error
	if err := c.Call("refuse", &text{"way"}, nil); !errors.As(err, &e) || e.Message != "no way" {
		t.Errorf("an exception is %v", err)
	}
	if err := c.Call("nothing", &text{}, nil); err != nil { // an exception leaves the connection as it was
		t.Error(err)
	}
	c.Close()
	if err := c.Call("nothing", &text{}, nil); err == nil {
		t.Error("a call on a closed connection is answered")
	}
}

func TestCallerToken(t *testing.T) {
	at := serve(t, &Server{Password: byPassword})
	secret, err := byPassword([]byte("token"))
	if err != nil {
		t.Fatal(err)
	}
	c, err := (&Dialer{Protocol: protocol, Secret: &Secret{[]byte("token"), secret}}).DialCaller(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var r text
	if err := c.Call("echo", &text{"hello"}, &r); err != nil || r.s != "hello from token" {
		t.Errorf("%q, %v", r.s, err)
	}
	if _, err := (&Dialer{Protocol: protocol,
		Secret: &Secret{[]byte("token"), []byte("wrong")}}).DialCaller(t.Context(), at); err == nil {
		t.Error("a wrong password gets in")
	}
}

// counted is a request that is decoded into again. It keeps as many bytes as its text says, if that is a number.
type counted struct {
	text
	resets int
}

func (m *counted) Reset() (kept int) {
	kept, _ = strconv.Atoi(m.s)
	m.text, m.resets = text{}, m.resets+1
	return kept
}

// What a request had before is gone when it is decoded into again, on the same connection and on no other. One that
// keeps much memory is not decoded into again.
func TestRequestsAgain(t *testing.T) {
	at := serve(
		t,
		&Server{
			Methods: map[string]Method{
				"echo": Handle(func(_ context.Context, _ *Call, q *counted) (proto.Message, error) {
					return &text{q.s + strings.Repeat("+", q.resets)}, nil
				}),
			},
		},
	)
	small, large := strconv.Itoa(freeBuffer), strconv.Itoa(freeBuffer+1)
	for range 2 {
		c, err := (&Dialer{Protocol: protocol, User: "ann"}).DialCaller(t.Context(), at)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		for i, want := range []string{"a", "+", "c++", small + "+++", large + "++++", "d", "e+"} {
			var r text
			q := proto.Raw(nil)
			if i != 1 { // the second has no text at all
				q = (&text{strings.TrimRight(want, "+")}).Append(nil)
			}
			if err := c.Call("echo", q, &r); err != nil || r.s != want {
				t.Errorf("%q, %v, want %q", r.s, err, want)
			}
		}
	}
}

// When a call is over, its connection keeps nothing of the request, also where the request could not be read.
func TestRequestsAreEmptied(t *testing.T) {
	echo := Handle(func(context.Context, *Call, *counted) (proto.Message, error) { return nil, nil })
	for name, body := range map[string][]byte{
		"small":        (&text{"a"}).Append(nil),
		"large":        (&text{strconv.Itoa(freeBuffer + 1)}).Append(nil),
		"cut off":      append((&text{"a"}).Append(nil), 0xff),
		"large, wrong": append((&text{strconv.Itoa(freeBuffer + 1)}).Append(nil), 0xff),
	} {
		c := Call{Body: body}
		_, err := echo(t.Context(), &c)
		if wrong := body[len(body)-1] == 0xff; wrong != (err != nil) {
			t.Errorf("%s: %v", name, err)
		}
		q, kept := c.request.(*counted)
		if kept == strings.HasPrefix(name, "large") || kept && (q.s != "" || q.resets != 1) {
			t.Errorf("%s: %+v is kept", name, c.request)
		}
	}
}

// A connection that waits for the next call holds on to no part of the last frame, which may have been long.
func TestHeadersLetFramesGo(t *testing.T) {
	sent := appendFrame([]byte("hrpc\x09\x00\x00"), &requestHeader{call: callContext, retry: retryNone},
		&contextHeader{userInfo{effective: "u"}, protocol})
	sent = appendFrame(sent, &requestHeader{call: 1, client: []byte("client")},
		&methodHeader{[]byte("echo"), []byte(protocol)}, &text{"x"})
	bench := newBench(&Server{Protocol: protocol, Methods: echo()})
	c := newServerConn(bench, fuzzConn{stillConn{Reader: bytes.NewReader(sent)}})
	if err := c.preamble(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := c.next(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if c.head.client != nil || c.reply.client != nil {
		t.Errorf("the headers %+v and %+v alias the frame", c.head, c.reply)
	}
}

package rpc

import (
	"context"
	"errors"
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

// counted is a request that is decoded into again.
type counted struct {
	text
	resets int
}

func (m *counted) Reset() { m.text, m.resets = text{}, m.resets+1 }

// What a request had before is gone when it is decoded into again, on the same connection and on no other.
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
	for range 2 {
		c, err := (&Dialer{Protocol: protocol, User: "ann"}).DialCaller(t.Context(), at)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		for i, want := range []string{"a+", "++", "c+++"} { // the second has no text at all
			var r text
			q := proto.Raw(nil)
			if i != 1 {
				q = (&text{want[:1]}).Append(nil)
			}
			if err := c.Call("echo", q, &r); err != nil || r.s != want {
				t.Errorf("%q, %v, want %q", r.s, err, want)
			}
		}
	}
}

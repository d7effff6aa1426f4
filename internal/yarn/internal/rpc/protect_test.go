package rpc

import (
	"bytes"
	"crypto/md5"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
)

var plain = []Protection{Authentication}

// sniffed copies what travels between clients and a server, and returns where clients are to connect.
func sniffed(t *testing.T, server string) (address string, said func() []byte) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	var mu sync.Mutex
	var all bytes.Buffer
	copying := func(to, from net.Conn) {
		defer to.Close()
		b := make([]byte, 4096)
		for {
			n, err := from.Read(b)
			mu.Lock()
			all.Write(b[:n])
			mu.Unlock()
			if _, failed := to.Write(b[:n]); err != nil || failed != nil {
				return
			}
		}
	}
	go func() {
		for {
			client, err := ln.Accept()
			if err != nil {
				return
			}
			conn, err := net.Dial("tcp", server)
			if err != nil {
				client.Close()
				return
			}
			go copying(conn, client)
			go copying(client, conn)
		}
	}()
	return ln.Addr().String(), func() []byte {
		mu.Lock()
		defer mu.Unlock()
		return bytes.Clone(all.Bytes())
	}
}

// A server and a client agree on the first protection of the client's that the server offers. Then calls and replies of
// any length travel with checksums, or encrypted.
func TestProtections(t *testing.T) {
	secret := &Secret{[]byte("token"), []byte("password")}
	for _, c := range []struct {
		server, client []Protection
		want           Protection // 0: none is agreed on
	}{
		{nil, nil, Authentication},
		{[]Protection{Integrity}, []Protection{Integrity}, Integrity},
		{[]Protection{Privacy}, []Protection{Privacy}, Privacy},
		{[]Protection{Authentication, Integrity, Privacy}, []Protection{Privacy, Integrity}, Privacy},
		{[]Protection{Privacy, Authentication}, []Protection{Integrity, Authentication}, Authentication},
		{[]Protection{Privacy}, nil, 0},
		{nil, []Protection{Privacy}, 0},
	} {
		name := fmt.Sprint(c.server, " and ", c.client)
		address, said := sniffed(t, serve(t, &Server{
			Password:    func([]byte) ([]byte, error) { return secret.Password, nil },
			Protections: c.server,
		}))
		d := Dialer{Protocol: protocol, Secret: secret, Protections: c.client}
		client, err := d.Dial(t.Context(), address)
		if c.want == 0 {
			if err == nil || !strings.Contains(err.Error(), "none of them is wanted") {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		d.Protections = c.client
		for _, n := range []int{1, 100, mostWrapped - wrapOverhead, mostWrapped, 300_000} {
			q, r := text{strings.Repeat("known", n)}, text{}
			if err := client.Call(t.Context(), "echo", &q, &r); err != nil || !strings.HasPrefix(r.s, q.s) {
				t.Errorf("%s: %d words came back as %d bytes, %v", name, n, len(r.s), err)
			}
		}
		client.Close()
		if clear := bytes.Contains(said(), []byte("knownknown")); clear != (c.want != Privacy) {
			t.Errorf("%s: sent in the clear: %v", name, clear)
		}
	}
}

// A message that was changed, left out or repeated ends the connection, by its checksum or its number.
func TestProtectedMessagesChanged(t *testing.T) {
	for _, p := range []Protection{Integrity, Privacy} {
		pair := func() (from, to layer) {
			key := md5.Sum([]byte("session"))
			return newDigestLayer(key, p, false), newDigestLayer(key, p, true)
		}
		from, to := pair()
		for i := range 3 {
			token, _ := from.wrap([]byte("hello"))
			if got, err := to.unwrap(token); err != nil || string(got) != "hello" {
				t.Fatalf("%v, message %d: %q, %v", p, i, got, err)
			}
		}
		token, _ := from.wrap([]byte("hello"))
		for i := range token {
			from, to := pair()
			token, _ := from.wrap([]byte("hello"))
			token[i] ^= 1
			if got, err := to.unwrap(token); err == nil {
				t.Errorf("%v: byte %d changed, and %q is accepted", p, i, got)
			}
		}
		from, to = pair()
		from.wrap([]byte("left out"))
		if token, _ = from.wrap([]byte("second")); !refuses(to, token) {
			t.Errorf("%v: a message is left out", p)
		}
		from, to = pair()
		token, _ = from.wrap([]byte("first"))
		again := bytes.Clone(token)
		if refuses(to, token) || !refuses(to, again) {
			t.Errorf("%v: a message is repeated", p)
		}
		if back, _ := to.wrap([]byte("from the server")); !refuses(to, back) {
			t.Errorf("%v: a message goes back to who sent it", p)
		}
	}
}

func refuses(l layer, token []byte) bool {
	_, err := l.unwrap(token)
	return err != nil
}

// Where wrapping was agreed on, a message in the clear ends the connection.
func TestProtectedConnectionTakesNoOther(t *testing.T) {
	secret := &Secret{[]byte("token"), []byte("password")}
	address := serve(t, &Server{
		Password:    func([]byte) ([]byte, error) { return secret.Password, nil },
		Protections: []Protection{Privacy},
	})
	client := dial(t, Dialer{Secret: secret, Protections: []Protection{Privacy}}, address)
	conn := client.conn.(*wrappedConn).Conn
	conn.Write(appendFrame(nil, &requestHeader{call: 7}, &methodHeader{[]byte("echo"), []byte(protocol)}, &text{"x"}))
	err := client.Call(t.Context(), "echo", &text{"x"}, &text{})
	if err == nil {
		t.Errorf("the connection goes on: %v", err)
	}
}

// Tokens of any bytes are refused or unwrapped.
func FuzzUnwrap(f *testing.F) {
	key := md5.Sum([]byte("session"))
	for _, p := range []Protection{Integrity, Privacy} {
		token, _ := newDigestLayer(key, p, false).wrap([]byte("hello"))
		f.Add(token, p == Privacy)
	}
	f.Fuzz(func(t *testing.T, token []byte, private bool) {
		p := Integrity
		if private {
			p = Privacy
		}
		if got, err := newDigestLayer(key, p, true).unwrap(token); err == nil && len(got) > len(token) {
			t.Errorf("%d bytes of %d", len(got), len(token))
		}
	})
}

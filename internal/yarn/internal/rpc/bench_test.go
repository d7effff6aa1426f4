package rpc

import (
	"context"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/proto"
)

// The bytes of an idle heartbeat and its reply, as recorded: 239 and 42 with their lengths.
const (
	heartbeatSent, heartbeatGot = 135, 10 // the messages alone
	sentBytes, gotBytes         = 239, 42
)

const connections = 64

// over has b.N rounds shared out over as many connections, each with a goroutine of its own.
func over(b *testing.B, round func(k int) func() error) {
	var wg sync.WaitGroup
	rounds := make([]func() error, connections)
	for k := range rounds {
		rounds[k] = round(k)
	}
	b.ResetTimer()
	for k := range rounds {
		n := b.N / connections
		if k < b.N%connections {
			n++
		}
		wg.Go(func() {
			for range n {
				if err := rounds[k](); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// BenchmarkBareEcho is the yardstick: the same bytes over as many connections between goroutines that do nothing else.
func BenchmarkBareEcho(b *testing.B) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer ln.Close()
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				buf := make([]byte, sentBytes)
				for {
					if _, err := io.ReadFull(conn, buf); err != nil {
						return
					}
					conn.Write(buf[:gotBytes])
				}
			}()
		}
	}()
	over(b, bareClient(b, ln.Addr().String(), make([]byte, sentBytes)))
}

// bareClient writes the same request again and again and reads a reply of a known length.
func bareClient(b *testing.B, address string, request []byte) func(int) func() error {
	return func(int) func() error {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { conn.Close() })
		buf := make([]byte, gotBytes)
		return func() error {
			conn.Write(request)
			_, err := io.ReadFull(conn, buf)
			return err
		}
	}
}

// BenchmarkServer has the server answer an idle heartbeat's bytes to the same bare client.
func BenchmarkServer(b *testing.B) {
	reply := proto.Raw(make([]byte, heartbeatGot))
	address := serve(
		b,
		&Server{
			Methods: map[string]Method{
				"nodeHeartbeat": func(context.Context, *Call) (proto.Message, error) { return reply, nil },
			},
		},
	)
	id := make([]byte, 16)
	hello := append(
		[]byte("hrpc\x09\x00\x00"),
		appendFrame(
			nil,
			&requestHeader{call: callContext, client: id, retry: retryNone},
			&contextHeader{userInfo{effective: "yarn"}, protocol},
		)...)
	request := appendFrame(
		nil,
		&requestHeader{client: id},
		&methodHeader{[]byte("nodeHeartbeat"), []byte(protocol)},
		proto.Raw(make([]byte, heartbeatSent)),
	)
	if len(request) != sentBytes {
		b.Fatalf("the request has %d bytes, the recorded one %d", len(request), sentBytes)
	}
	over(b, func(k int) func() error {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { conn.Close() })
		conn.Write(hello)
		buf := make([]byte, gotBytes)
		return func() error {
			conn.Write(request)
			_, err := io.ReadFull(conn, buf)
			return err
		}
	})
}

// BenchmarkClient has the client of this package call it instead.
func BenchmarkClient(b *testing.B) {
	reply := proto.Raw(make([]byte, heartbeatGot))
	address := serve(
		b,
		&Server{
			Methods: map[string]Method{
				"nodeHeartbeat": func(context.Context, *Call) (proto.Message, error) { return reply, nil },
			},
		},
	)
	request := proto.Raw(make([]byte, heartbeatSent))
	over(b, func(int) func() error {
		c := dial(b, Dialer{User: "yarn"}, address)
		var got proto.Raw
		return func() error { return c.Call(context.Background(), "nodeHeartbeat", request, &got) }
	})
}

package rpc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/proto"
)

// Forty connections that have sent most of a long frame hold no more than the room that there is, and those of one host
// no more than a host's part. When they are gone, all room is free.
func TestHalfFramesShareRoom(t *testing.T) {
	const unit = 128 << 10
	room := &Room{Most: 16 * unit, OfHost: 4 * unit}
	half := append([]byte{0, 8 * unit >> 16, 0, 0}, make([]byte, 7*unit)...) // announces 8 units and has 7
	var readers []*frameReader
	full, cut := 0, 0
	for i := range 40 {
		in := newFrameReader(still(bytes.NewReader(half)), 0, 0)
		in.share = room.ShareOf(fmt.Sprint("host", i%10))
		readers = append(readers, in)
		switch _, err := in.next(1 << 25); {
		case errors.Is(err, ErrNoRoom):
			full++
		case errors.Is(err, io.ErrUnexpectedEOF):
			cut++
		default:
			t.Fatalf("reader %d: %v", i, err)
		}
		if held := room.Held(); held > room.Most {
			t.Fatalf("%d bytes are held, may be %d", held, room.Most)
		}
		for host, n := range room.hosts {
			if n > room.OfHost {
				t.Fatalf("%s holds %d bytes, may hold %d", host, n, room.OfHost)
			}
		}
	}
	if full != 40 || cut != 0 { // no host may hold a whole frame of eight units
		t.Errorf("%d find no room, %d are cut off", full, cut)
	}
	for _, in := range readers {
		in.share.Hold(0)
	}
	if room.Held() != 0 || len(room.hosts) != 0 {
		t.Errorf("%d bytes of %d hosts are held in the end", room.Held(), len(room.hosts))
	}
}

// A call or a reply for which there is no room ends its connection, and others are served. What a connection held is
// free when it has ended.
func TestRoomOfServer(t *testing.T) {
	room := &Room{Most: 1 << 20, OfHost: 1 << 20}
	address := serve(t, &Server{Room: room})
	large := dial(t, Dialer{User: "a"}, address)
	err := large.Call(t.Context(), "echo", &text{strings.Repeat("x", 4<<20)}, nil)
	if err == nil {
		t.Error("a call of 4 MiB is answered where there is 1 MiB of room")
	}
	if got := say(t, dial(t, Dialer{User: "b"}, address), "hello"); got != "hello from b" {
		t.Errorf("%q", got)
	}
	middle := dial(t, Dialer{User: "c"}, address)
	if got := say(t, middle, strings.Repeat("y", 100<<10)); len(got) < 100<<10 {
		t.Errorf("%d bytes of an answer of 100 KiB", len(got))
	}
	middle.Close()
	large.Close()
	soon(t, "no room is held in the end", func() bool { return room.Held() == 0 })
}

// One host gets a quarter of the connections, and another is served all the same.
func TestConnectionsOfHost(t *testing.T) {
	const most = 80
	address := serve(t, &Server{Limits: Limits{Conns: most}})
	for range most / 4 {
		say(t, dial(t, Dialer{User: "a"}, address), "")
	}
	one := dial(t, Dialer{User: "a"}, address)
	if err := one.Call(t.Context(), "echo", &text{}, nil); err == nil {
		t.Errorf("connection %d of one host is served", most/4+1)
	}
	other := Dialer{User: "b", From: net.IPv4(127, 0, 0, 2)}
	if got := say(t, dial(t, other, address), "hello"); got != "hello from b" {
		t.Errorf("another host: %q", got)
	}
}

// texts is a message with many.
type texts struct{ all []text }

func (m *texts) Fields(f *proto.Fields) { proto.Repeated(f, 1, &m.all) }

// What a request takes in memory counts while its call runs, and for that host alone. A request for which there is no
// room is answered with an exception, and its connection goes on.
func TestRequestsTakeRoom(t *testing.T) {
	room := &Room{Most: 8 << 20, OfHost: 4 << 20}
	during := make(chan int64, 4)
	address := serve(t, &Server{Room: room, Methods: map[string]Method{
		"count": Handle(func(_ context.Context, _ *Call, q *texts) (proto.Message, error) {
			during <- room.Held()
			return &text{strconv.Itoa(len(q.all))}, nil
		}),
	}})
	c := dial(t, Dialer{User: "a"}, address)
	for _, n := range []int{1, 50_000, 250_000, 2} {
		var reply text
		err := c.Call(t.Context(), "count", proto.Raw(bytes.Repeat([]byte{1<<3 | 2, 0}, n)), &reply)
		if n == 250_000 { // each takes 16 bytes and two for each on the wire, beside the frame
			e := new(Error)
			if !errors.As(err, &e) || e.Class != classIO || !strings.Contains(e.Message, ErrNoRoom.Error()) {
				t.Errorf("%d elements: %v", n, err)
			}
			continue
		}
		if err != nil || reply.s != strconv.Itoa(n) {
			t.Fatalf("%d elements: %q, %v", n, reply.s, err)
		}
		if held := <-during; n > 100 && held < int64(16*n) || n < 100 && held > 0 {
			t.Errorf("%d elements: %d bytes are held", n, held)
		}
	}
	c.Close()
	soon(t, "no room is held in the end", func() bool { return room.Held() == 0 })
}

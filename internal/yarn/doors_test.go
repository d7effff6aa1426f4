package yarn

import (
	"net"
	"strings"
	"testing"
	"time"
)

func TestServersShareFiles(t *testing.T) {
	for files, want := range map[int][2]int{
		64:      {32, 16},
		1024:    {512, 64},
		20_000:  {10_000, 1250},
		1 << 30: {20_000, 20_000},
	} {
		if nodes, other := connsOf(files); nodes != want[0] || other != want[1] {
			t.Errorf("of %d files: %d connections of nodes, %d of each other, want %d", files, nodes, other, want)
		}
	}
}

// More nodes are named than a server takes connections: that is said, with what would be right.
func TestFewConnections(t *testing.T) {
	few, _ := connsOf(1024)
	if got := fewConns(few, 513); !strings.Contains(got, "512 NodeManagers") ||
		!strings.Contains(got, "513 hosts") ||
		!strings.Contains(got, "ulimit -n to 1026") {
		t.Errorf("of 1024 files and 513 nodes: %q", got)
	}
	if right, _ := connsOf(1026); fewConns(right, 513) != "" {
		got := fewConns(right, 513)
		t.Errorf("with what was said to be right: %q", got)
	}
}

// A doorway of two lets the third in when one of the first has left, and one that is full can be closed.
func TestDoorway(t *testing.T) {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d := newDoorway(inner, 2)
	accepted := make(chan net.Conn)
	ended := make(chan error, 1)
	go func() {
		for {
			conn, err := d.Accept()
			if err != nil {
				ended <- err
				return
			}
			accepted <- conn
		}
	}()
	for range 4 {
		conn, err := net.Dial("tcp", inner.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
	}
	first, second := <-accepted, <-accepted
	select {
	case <-accepted:
		t.Fatal("a third is let in where two may be")
	case <-time.After(20 * time.Millisecond):
	}
	first.Close()
	first.Close() // leaves once
	third := <-accepted
	select {
	case <-accepted:
		t.Fatal("one has left and two are let in")
	case <-time.After(20 * time.Millisecond):
	}
	d.Close()
	if err := <-ended; err == nil {
		t.Error("a closed doorway accepts")
	}
	second.Close()
	third.Close()
}

// One host gets a quarter of the places: its next connection is closed, unheard.
func TestDoorwayOfHost(t *testing.T) {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	const most = 80
	d := newDoorway(inner, most)
	defer d.Close()
	accepted := make(chan net.Conn, most)
	go func() {
		for {
			conn, err := d.Accept()
			if err != nil {
				close(accepted)
				return
			}
			accepted <- conn
		}
	}()
	for i := range most/4 + 1 {
		conn, err := net.Dial("tcp", inner.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if i == most/4 {
			if _, err := conn.Read(make([]byte, 1)); err == nil {
				t.Error("a connection beyond its host's part says something")
			}
			continue
		}
		defer (<-accepted).Close()
	}
	select {
	case <-accepted:
		t.Error("a connection beyond its host's part is let in")
	default:
	}
}

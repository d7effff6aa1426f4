package rpc

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"testing"
	"time"
)

// A stillConn is a connection without deadlines from which bytes are read, a few at a time.
type stillConn struct {
	io.Reader
	net.Conn
}

func (stillConn) SetReadDeadline(time.Time) error { return nil }
func (c stillConn) Read(b []byte) (int, error)    { return c.Reader.Read(b) }
func still(r io.Reader) net.Conn                  { return stillConn{Reader: r} }

func framed(
	b []byte,
) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...)
}
func reader(b []byte, most int) (*frameReader, int) {
	return newFrameReader(still(bytes.NewReader(b)), 0, 0), most
}

// few reads at most n bytes at a time, as a network may give them.
type few struct {
	r io.Reader
	n int
}

func (f few) Read(b []byte) (int, error) { return f.r.Read(b[:min(len(b), f.n)]) }

func TestFramesInPieces(t *testing.T) {
	var stream []byte
	var want [][]byte
	// around the reader's buffer and the step of growth
	for i, n := range []int{0, 1, 3, 4091, 4092, 4093, 65536, 65537, 200_000, 5} {
		b := bytes.Repeat([]byte{byte(i)}, n)
		want = append(want, b)
		stream = append(stream, framed(b)...)
	}
	for _, piece := range []int{1, 7, 4096, 1 << 20} {
		in := newFrameReader(still(few{bytes.NewReader(stream), piece}), 0, 0)
		for i, w := range want {
			if got, err := in.next(1 << 20); err != nil || !bytes.Equal(got, w) {
				t.Fatalf("in pieces of %d, frame %d: %d bytes, %v; want %d", piece, i, len(got), err, len(w))
			}
		}
		if _, err := in.next(1 << 20); err != io.EOF {
			t.Errorf("after the last frame: %v, want EOF", err)
		}
	}
}

func TestFrameRefused(t *testing.T) {
	for name, c := range map[string]struct {
		in   []byte
		want error
	}{
		"longer than the limit": {[]byte{0, 0, 4, 1}, ErrFrameTooLong},
		"negative length":       {[]byte{0xff, 0xff, 0xff, 0xff}, ErrFrameTooLong},
		"cut in the length":     {[]byte{0, 0}, io.ErrUnexpectedEOF},
		"cut in the frame":      {[]byte{0, 0, 0, 2, 1}, io.ErrUnexpectedEOF},
		"nothing":               {nil, io.EOF},
	} {
		in, most := reader(c.in, 1024)
		if _, err := in.next(most); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	// A long frame that is announced and does not come takes no more than the first step of growth.
	in, _ := reader([]byte{1, 0, 0, 0, 7}, 0)
	if _, err := in.next(1 << 25); !errors.Is(err, io.ErrUnexpectedEOF) || cap(in.long) > 2*growBy {
		t.Errorf("16 MiB announced, one byte sent: %v, %d bytes of room taken", err, cap(in.long))
	}
}

func FuzzFrames(f *testing.F) {
	f.Add(append(framed([]byte("ab")), framed(nil)...), uint8(1))
	f.Add([]byte{0, 0, 0x20, 0, 1, 2, 3}, uint8(2))
	f.Fuzz(func(t *testing.T, b []byte, piece uint8) {
		in := newFrameReader(still(few{bytes.NewReader(b), int(piece%32) + 1}), 0, 0)
		var all []byte
		for {
			frame, err := in.next(1 << 16)
			if err != nil {
				break
			}
			all = append(all, framed(frame)...)
		}
		if !bytes.HasPrefix(b, all) {
			t.Errorf("frames %x of %x", all, b)
		}
	})
}

// FuzzConnection gives a server's side of a connection whatever bytes may come, after each of the two preambles: it
// must end, without a panic.
func FuzzConnection(f *testing.F) {
	for _, c := range recordings(f) {
		var b []byte
		for _, frame := range c.Frames {
			if frame.Client && len(b) < 2000 {
				b = append(b, frame.Bytes...)
			}
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, password := range []func([]byte) ([]byte, error){nil, func(b []byte) ([]byte, error) { return b, nil }} {
			s := &Server{
				Protocol: "org.apache.hadoop.yarn.server.api.ResourceTrackerPB",
				Password: password,
				Methods:  map[string]Method{},
			}
			bench := newBench(s)
			c := newServerConn(bench, fuzzConn{stillConn{Reader: bytes.NewReader(b)}})
			c.serve(t.Context())
		}
	})
}

// A fuzzConn takes what is written and forgets it.
type fuzzConn struct{ stillConn }

func (fuzzConn) Write(b []byte) (int, error)      { return len(b), nil }
func (fuzzConn) SetWriteDeadline(time.Time) error { return nil }
func (fuzzConn) RemoteAddr() net.Addr             { return &net.TCPAddr{} }

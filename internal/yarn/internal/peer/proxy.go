package peer

import (
	"encoding/binary"
	"io"
	"net"
	"sync"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/proto"
)

// A Proxy stands between peers and a server, and loses replies: the call was carried out, its caller sees the
// connection end instead of the answer, as when a network fails at the worst moment. Its goroutines, two for a
// connection, have ended when Close returns.
type Proxy struct {
	ln   net.Listener
	to   string
	lost func(n int) bool
	wg   sync.WaitGroup

	mu      sync.Mutex
	conns   map[net.Conn]bool
	closed  bool
	cut     bool // nothing goes through
	replies int  // of the server, those included that were lost
	losses  int
}

// StartProxy listens at 127.0.0.1 for the server at an address. lost reports whether the n-th reply is lost: replies of
// all connections count together, from 1. Messages of a connection's handshake are no replies.
func StartProxy(to string, lost func(n int) bool) (*Proxy, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{ln: ln, to: to, lost: lost, conns: map[net.Conn]bool{}}
	p.wg.Go(p.accept)
	return p, nil
}

// Address is where peers are to connect.
func (p *Proxy) Address() string { return p.ln.Addr().String() }

// Lost returns how many replies were lost until now.
func (p *Proxy) Lost() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.losses
}

// Cut(true) ends all connections, and lets none through until Cut(false). Both sides live on, and neither hears of the
// other.
func (p *Proxy) Cut(off bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = off
	for c := range p.conns {
		c.Close()
	}
}

// Close ends all connections.
func (p *Proxy) Close() error {
	err := p.ln.Close()
	p.mu.Lock()
	p.closed = true
	for c := range p.conns {
		c.Close()
	}
	p.mu.Unlock()
	p.wg.Wait()
	return err
}

// accept connects each peer with the server, until the proxy is closed.
func (p *Proxy) accept() {
	for {
		peer, err := p.ln.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.to)
		if err != nil {
			peer.Close()
			continue
		}
		if !p.keep(peer, server) {
			continue
		}
		p.wg.Go(func() {
			io.Copy(server, peer)
			p.hangUp(peer, server)
		})
		p.wg.Go(func() {
			p.replyTo(peer, server)
			p.hangUp(peer, server)
		})
	}
}

// keep remembers connections, so that Cut and Close can end them. If the proxy is cut or closed, keep closes them and
// returns false.
func (p *Proxy) keep(conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		if p.closed || p.cut {
			c.Close()
		} else {
			p.conns[c] = true
		}
	}
	return !p.closed && !p.cut
}

// hangUp closes connections, and forgets them.
func (p *Proxy) hangUp(conns ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		c.Close()
		delete(p.conns, c)
	}
}

// replyTo carries frames from the server to a peer until one ends, or a reply is to be lost.
func (p *Proxy) replyTo(peer, server net.Conn) {
	var frame []byte
	for {
		frame = append(frame[:0], 0, 0, 0, 0)
		if _, err := io.ReadFull(server, frame); err != nil {
			return
		}
		frame = append(frame, make([]byte, binary.BigEndian.Uint32(frame))...)
		if _, err := io.ReadFull(server, frame[4:]); err != nil {
			return
		}
		if isReply(frame[4:]) && p.loses() {
			return
		}
		if _, err := peer.Write(frame); err != nil {
			return
		}
	}
}

// loses counts a reply, and reports whether the proxy must drop it.
func (p *Proxy) loses() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.replies++
	lost := p.lost(p.replies)
	if lost {
		p.losses++
	}
	return lost
}

// isReply reports whether a frame of a server answers a call: its header has the number of one, which is not negative
// as a handshake's are.
func isReply(frame []byte) bool {
	head, _, err := proto.Delimited(frame)
	if err != nil {
		return false
	}
	for r := proto.Read(head); r.Next(); {
		if r.Num() == 1 {
			return r.Int32() >= 0
		}
	}
	return false
}

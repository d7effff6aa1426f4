package rpc

import (
	"errors"
	"net"
	"sync"
)

// ErrNoRoom means that connections hold as much memory as they may together, or those of one host do.
var ErrNoRoom = errors.New("no room: what connections have sent and are owed fills the memory that they may take")

// A Room bounds the memory that the connections of all servers of a process take together, and those of one host: long
// frames while they arrive, decoded requests while their calls run, and replies until they are taken. The first few KiB
// of a connection do not count. It is safe for many goroutines. A nil Room bounds nothing.
type Room struct {
	Most   int64 // bytes
	OfHost int64 // bytes of the connections of one host

	mu    sync.Mutex
	held  int64
	hosts map[string]int64
}

// What a ResourceManager lets connections take.
const (
	DefaultRoom       = 512 << 20 // bytes
	DefaultRoomOfHost = 128 << 20 // bytes of the connections of one host: a longest frame, and what it takes decoded
)

// NewRoom returns a Room of the default size.
func NewRoom() *Room { return &Room{Most: DefaultRoom, OfHost: DefaultRoomOfHost} }

// take takes n bytes for a host, and reports whether there was room.
func (r *Room) take(host string, n int64) bool {
	if r == nil {
		return true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.held+n > r.Most || r.hosts[host]+n > r.OfHost {
		return false
	}
	if r.hosts == nil {
		r.hosts = map[string]int64{}
	}
	r.held += n
	r.hosts[host] += n
	return true
}

// give returns to the room n of the bytes that take took for the host.
func (r *Room) give(host string, n int64) {
	if r == nil || n == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held -= n
	if r.hosts[host] -= n; r.hosts[host] == 0 {
		delete(r.hosts, host)
	}
}

// Held returns how many bytes are taken.
func (r *Room) Held() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.held
}

// A Share is what one connection has of a Room. One goroutine owns it.
type Share struct {
	room *Room
	host string
	held int64
}

// ShareOf returns the share, still empty, of a connection with a host.
func (r *Room) ShareOf(host string) Share { return Share{room: r, host: host} }

// Hold changes the share to n bytes, and reports whether there is room for that. If not, the share stays as it is.
func (s *Share) Hold(n int) bool {
	more := int64(n) - s.held
	switch {
	case more < 0:
		s.room.give(s.host, -more)
	case more > 0 && !s.room.take(s.host, more):
		return false
	}
	s.held = int64(n)
	return true
}

// Keep is Hold for memory that could as well be freed: it takes none while more than half of the room is taken.
func (s *Share) Keep(n int) bool { return s.room == nil || s.room.Held() <= s.room.Most/2 && s.Hold(n) }

// HostOf returns the host of an address, as text.
func HostOf(peer net.Addr) string {
	if peer == nil {
		return ""
	}
	if a, ok := peer.(*net.TCPAddr); ok {
		return a.IP.String()
	}
	return peer.String()
}

// A Hosts counts the connections of each host, and bounds them. It is safe for many goroutines.
type Hosts struct {
	Most int // of one host

	mu    sync.Mutex
	count map[string]int
}

// Enter counts one more connection of a host, and returns true. If the host has Most connections, it returns false.
func (h *Hosts) Enter(host string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.count[host] >= h.Most {
		return false
	}
	if h.count == nil {
		h.count = map[string]int{}
	}
	h.count[host]++
	return true
}

// Leave counts one connection of a host less.
func (h *Hosts) Leave(host string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.count[host]--; h.count[host] <= 0 {
		delete(h.count, host)
	}
}

// ConnsOfHost returns how many of most connections one host may have: a quarter, and fewest at least.
func ConnsOfHost(most int) int { return max(fewestOfHost, most/4) }

// fewestOfHost is how many connections one host may have at least.
const fewestOfHost = 16

package yarn

import (
	"fmt"
	"net"
	"sync"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/rpc"
)

// usualFiles is how many files a process may have open where the system does not say.
const usualFiles = 1024

// fewestConns is what each server may have open, however few files there may be.
const fewestConns = 16

// connsOf returns how many connections the server of NodeManagers takes, and how many each of the four other servers
// takes, in a process that may have so many files open. NodeManagers keep their connections, so their server takes half
// of the files. Each other server takes a sixteenth. A quarter remains for calls to NodeManagers, for proxied
// connections and for files, even when strangers hold all connections of the servers.
func connsOf(files int) (tracker, other int) {
	share := func(of int) int { return max(fewestConns, min(files/of, rpc.DefaultMaxConns)) }
	return share(2), share(16)
}

// fewConns returns a warning if the configuration names more nodes than their server takes connections; else "".
func fewConns(conns, nodes int) string {
	if nodes <= conns {
		return ""
	}
	return fmt.Sprintf(
		"%d NodeManagers can be connected, half of the files that this process may have open, and %d hosts are named "+
			"as nodes: raise ulimit -n to %d or more",
		conns,
		nodes,
		2*nodes,
	)
}

// A doorway is a listener with a bounded number of open connections. A connection beyond the bound waits in the queue
// of the system until another one is closed. A connection from a host that has too many is closed at once.
type doorway struct {
	net.Listener
	hosts  rpc.Hosts
	room   chan struct{} // an element for each open connection
	closed chan struct{}
	once   sync.Once // for closing closed
}

func newDoorway(ln net.Listener, most int) *doorway {
	return &doorway{
		Listener: ln,
		hosts:    rpc.Hosts{Most: rpc.ConnsOfHost(most)},
		room:     make(chan struct{}, most),
		closed:   make(chan struct{}),
	}
}

// Accept waits for a place, and then for a connection.
func (d *doorway) Accept() (net.Conn, error) {
	select {
	case d.room <- struct{}{}:
	case <-d.closed:
		return nil, net.ErrClosed
	}
	for {
		conn, err := d.Listener.Accept()
		if err != nil {
			<-d.room
			return nil, err
		}
		host := rpc.HostOf(conn.RemoteAddr())
		if d.hosts.Enter(host) {
			return &guest{Conn: conn, leave: sync.OnceFunc(func() { d.hosts.Leave(host); <-d.room })}, nil
		}
		conn.Close()
	}
}

func (d *doorway) Close() error {
	d.once.Do(func() { close(d.closed) })
	return d.Listener.Close()
}

// A guest is a connection that gives its place in the doorway back when it is closed.
type guest struct {
	net.Conn
	leave func()
}

func (v *guest) Close() error {
	defer v.leave()
	return v.Conn.Close()
}

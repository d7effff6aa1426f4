package yarn

import (
	"context"
	"encoding/binary"
	"io"
	"log/slog"
	"net"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/proto"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/rpc"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
	"github.com/sojourn-sched/sojourn/policy"
	"github.com/sojourn-sched/sojourn/sched"
)

// benchNodes beat over a connection each.
const benchNodes = 64

// over shares b.N rounds out over benchNodes goroutines.
func over(b *testing.B, round func(k int) func()) {
	rounds := make([]func(), benchNodes)
	for k := range rounds {
		rounds[k] = round(k)
	}
	b.ReportAllocs()
	b.ResetTimer()
	defer reportCPU(b, cpuTime(b))
	var wg sync.WaitGroup
	for k := range rounds {
		n := b.N / benchNodes
		if k < b.N%benchNodes {
			n++
		}
		wg.Go(func() {
			for range n {
				rounds[k]()
			}
		})
	}
	wg.Wait()
}

// cpuTime is what this process has used, both sides of a conversation in it included: it says more than the clock on a
// busy machine.
func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func reportCPU(b *testing.B, since time.Duration) {
	b.ReportMetric(float64(cpuTime(b)-since)/float64(b.N), "cpu-ns/op")
}

// BenchmarkBareEcho is the yardstick of an idle heartbeat: the same bytes over as many connections, and nothing done
// with them.
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
				buf := make([]byte, beatBytes)
				for {
					if _, err := io.ReadFull(conn, buf); err != nil {
						return
					}
					conn.Write(buf[:replyBytes])
				}
			}()
		}
	}()
	over(b, func(int) func() {
		conn, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { conn.Close() })
		q, r := make([]byte, beatBytes), make([]byte, replyBytes)
		return func() {
			conn.Write(q)
			io.ReadFull(conn, r)
		}
	})
}

// An idle heartbeat and its reply with their frames, as this benchmark's nodes send and get them.
const (
	beatBytes  = 213
	replyBytes = 42
)

func delimited(parts ...proto.Message) []byte {
	b := make([]byte, 4)
	for _, m := range parts {
		b = proto.AppendDelimited(b, m)
	}
	binary.BigEndian.PutUint32(b, uint32(len(b)-4))
	return b
}

// header is the header of a call by a client whose id is zero; method names the method of a protocol.
func header(call int32) proto.Raw {
	b := proto.AppendInt32(nil, 1, 2)
	b = proto.AppendInt32(b, 2, 0)
	b = proto.AppendSint32(b, 3, call)
	b = proto.AppendBytes(b, 4, make([]byte, 16))
	return proto.AppendSint32(b, 5, 0)
}

func method(name, protocol string) proto.Raw {
	return proto.AppendInt32(proto.AppendString(proto.AppendString(nil, 1, name), 2, protocol), 3, 1)
}

// BenchmarkIdleHeartbeat is nodes with nothing to say, by a client that does as little as the echo's.
func BenchmarkIdleHeartbeat(b *testing.B) {
	m, address := serveBench(b)
	over(b, func(k int) func() {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { conn.Close() })
		node := wire.NodeID{Host: "node", Port: int32(k + 1)}
		user := proto.Raw(proto.AppendString(nil, 1, "yarn"))
		who := proto.Raw(proto.AppendString(proto.AppendMessage(nil, 2, user), 3, wire.ResourceTracker))
		conn.Write(append([]byte("hrpc\x09\x00\x00"), delimited(header(-3), who)...))
		conn.Write(delimited(header(0), method("registerNodeManager", wire.ResourceTracker),
			&wire.RegisterNodeRequest{Node: node, Resource: wire.Resource{Memory: 4096, VCores: 4}}))
		head := make([]byte, 4)
		io.ReadFull(conn, head)
		io.ReadFull(conn, make([]byte, binary.BigEndian.Uint32(head)))
		q := &wire.HeartbeatRequest{ContainerKey: m.keys.container.Current(), NodeKey: m.keys.node.Current()}
		q.Status = wire.NodeStatus{Node: node, Health: wire.Health{OK: true}}
		begin := delimited(header(0), method("nodeHeartbeat", wire.ResourceTracker))
		frame := make([]byte, 0, 256)
		reply := make([]byte, 64)
		return func() {
			frame = proto.AppendDelimited(append(frame[:0], begin...), q)
			binary.BigEndian.PutUint32(frame, uint32(len(frame)-4))
			conn.Write(frame)
			io.ReadFull(conn, head)
			if _, err := io.ReadFull(conn, reply[:binary.BigEndian.Uint32(head)]); err != nil {
				b.Error(err)
			}
			q.Status.ResponseID++
		}
	})
}

func serveBench(b *testing.B) (m *manager, tracker string) {
	fifo, _, err := policy.Parse("fifo")
	if err != nil {
		b.Fatal(err)
	}
	any := "127.0.0.1:0"
	config := Config{
		Addresses: Addresses{Tracker: any, Master: any, Client: any, Admin: any},
		Sizes:     Sizes{MinMemory: 256},
		Log:       slog.New(slog.DiscardHandler),
	}
	config.Core.Policy = fifo
	ctx, cancel := context.WithCancel(context.Background())
	rm, err := Listen(ctx, config)
	if err != nil {
		b.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- rm.Serve(ctx) }()
	b.Cleanup(func() {
		cancel()
		<-ended
	})
	return rm.front.m, rm.Addresses().Tracker
}

// BenchmarkContainer takes containers from the ask to the end without the wire: asked for, granted with tokens, run,
// ended, told, forgotten. Ten applications share a thousand nodes of 8 containers each; every node beats in turn, its
// containers end at its next beat.
func BenchmarkContainer(b *testing.B) {
	for _, name := range []string{"fifo", "fair", "capacity", "drf"} {
		b.Run(name, func(b *testing.B) { benchContainers(b, name) })
	}
}

func benchContainers(b *testing.B, name string) {
	p, _, err := policy.Parse(name)
	if err != nil {
		b.Fatal(err)
	}
	const nodes, apps = 1000, 10
	config := Config{
		Core:  sched.Config{Policy: p},
		Sizes: Sizes{MinMemory: 256},
		Log:   slog.New(slog.DiscardHandler),
	}.withDefaults()
	now := time.Unix(1_700_000_000, 0)
	m := newManager(config, Hosts{}, nil, func() time.Time { return now })
	o := newOwner(m)
	do := func(f func(*manager) (answer, error)) proto.Message {
		c := &call{do: f}
		o.turn([]*call{c})
		if c.err != nil {
			b.Fatal(c.err)
		}
		return c.reply
	}
	ids := make([]wire.NodeID, nodes)
	beats := make([]wire.HeartbeatRequest, nodes)
	for i := range ids {
		ids[i] = wire.NodeID{Host: "node", Port: int32(i + 1)}
		do(func(m *manager) (answer, error) {
			return tracker{m}.register(
				&wire.RegisterNodeRequest{Node: ids[i], Resource: wire.Resource{Memory: 2048, VCores: 8}},
				&net.TCPAddr{},
			)
		})
		beats[i] = wire.HeartbeatRequest{ContainerKey: m.keys.container.Current(), NodeKey: m.keys.node.Current()}
		beats[i].Status = wire.NodeStatus{Node: ids[i], Health: wire.Health{OK: true}}
	}
	masters := make([]*attempt, apps)
	for i := range masters {
		id := do(func(m *manager) (answer, error) { return client{m, ""}.newID(nil) }).(*wire.NewApplication).ID
		do(func(m *manager) (answer, error) {
			return client{m, "user"}.submit(&wire.SubmitRequest{Submission: wire.Submission{ID: id, Unmanaged: true}})
		})
		masters[i] = m.apps.byID[id].current()
		do(func(m *manager) (answer, error) { return master{m, masters[i]}.register(&wire.RegisterMasterRequest{}) })
	}
	turns := make([]int32, apps)
	over := 0
	allocate := func(i int) {
		q := &wire.AllocateRequest{
			ResponseID: turns[i],
			Asks: []wire.ResourceRequest{
				{
					Priority:   20,
					Place:      "*",
					Resource:   wire.Resource{Memory: 256, VCores: 1},
					Containers: 1000,
					Relax:      true,
					Allocation: -1,
				},
			},
		}
		r := do(func(m *manager) (answer, error) { return master{m, masters[i]}.allocate(q) }).(*wire.AllocateResponse)
		turns[i]++
		over += len(r.Completed)
	}
	b.ReportAllocs()
	b.ResetTimer()
	defer reportCPU(b, cpuTime(b))
	for beat := 0; over < b.N; beat++ {
		k := beat % nodes
		now = now.Add(time.Millisecond)
		s := &beats[k].Status
		do(func(m *manager) (answer, error) { return tracker{m}.heartbeat(&beats[k]) })
		s.ResponseID++
		s.Containers = s.Containers[:0]
		for _, c := range m.nodes.list[k].containers { // what runs has ended by the next beat
			if c.state != allocated {
				s.Containers = append(s.Containers, wire.ContainerStatus{ID: c.id, State: wire.ContainerComplete})
			}
		}
		if beat%100 == 0 {
			for i := range masters {
				allocate(i)
			}
		}
	}
}

// BenchmarkDial is the handshake that every ApplicationMaster and every launch makes.
func BenchmarkDial(b *testing.B) {
	secret := rpc.Secret{Identifier: []byte("token"), Password: []byte("password")}
	s := &rpc.Server{
		Protocol: wire.ApplicationMaster,
		Password: func([]byte) ([]byte, error) { return secret.Password, nil },
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, ln) }()
	defer func() { cancel(); <-ended }()
	d := rpc.Dialer{Protocol: wire.ApplicationMaster, Secret: &secret}
	for b.Loop() {
		c, err := d.Dial(ctx, ln.Addr().String())
		if err != nil {
			b.Fatal(err)
		}
		c.Close()
	}
}

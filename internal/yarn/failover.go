package yarn

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"path"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/proto"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/rpc"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/store"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/zoo"
)

// How several ResourceManagers take turns. All ResourceManagers of a cluster wait for one lock in ZooKeeper. The holder
// of the lock is active: it reads the state from ZooKeeper, and stores changes there. The others are standbys: they
// serve operators and send browsers to the active one. Three things keep two of them from granting containers on one
// node:
//
//   - the active one stops answering before another one can have its lock (zoo.Lease);
//   - one whose state was taken over can write nothing (zoo.Values);
//   - a NodeManager that has registered with the next one refuses tokens of the one before, and the next one grants
//     nothing on a node that has not registered with it.
//
// A ResourceManager that loses the lock ends, and its service manager starts it again as a standby.

// Stand waits until this ResourceManager is the active one. Meanwhile it answers operators and sends browsers on.
func Stand(ctx context.Context, config Config) (*Active, error) {
	c := config.withDefaults()
	if err := c.Check(); err != nil {
		return nil, err
	}
	session, err := zoo.Connect(ctx, zoo.Servers{
		Addresses: c.Kept.HA.ZooKeeper,
		Timeout:   c.Kept.HA.Timeout,
		User:      c.Kept.HA.User,
		Log:       c.Log,
	})
	if err != nil {
		return nil, err
	}
	s := standby{config: c}
	lease, err := s.stand(ctx, session)
	if err != nil {
		session.Close()
		return nil, err
	}
	return &Active{session, lease, c.Kept.HA}, nil
}

// Resign gives the right back, so that a standby becomes active at once. Serve must have returned.
func (a *Active) Resign() { a.lease.Release() }

// open takes the state over, and returns the store and the stored values by name.
func (a *Active) open(failed func(error)) (*store.Store, map[string][]byte, error) {
	to, found, err := a.session.Take(a.config.State, a.config.ID)
	if err != nil {
		return nil, nil, err
	}
	return store.New(to, failed), found, nil
}

// A standby is a ResourceManager that is not active.
type standby struct {
	config *Config
	active atomic.Pointer[string] // id of the active one; nil: not known
}

// stand serves as a standby until this ResourceManager has the lock.
func (s *standby) stand(ctx context.Context, session *zoo.Session) (*zoo.Lease, error) {
	serving, stop := context.WithCancel(ctx)
	var servers sync.WaitGroup
	defer servers.Wait()
	defer stop()
	admin, web := s.config.Addresses.Admin, s.config.Addresses.Web
	operators, err := s.operators()
	if err != nil {
		return nil, err
	}
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", admin)
	if err != nil {
		return nil, fmt.Errorf("listen for operators: %w", err)
	}
	servers.Go(func() { _ = operators.Serve(serving, ln) }) // it ends when serving does
	if web != "" {
		ln, err := new(net.ListenConfig).Listen(ctx, "tcp", web)
		if err != nil {
			return nil, fmt.Errorf("listen for REST: %w", err)
		}
		secure, err := s.config.tls()
		if err != nil {
			return nil, err
		}
		if secure != nil {
			ln = tls.NewListener(ln, secure)
		}
		pages := http.Server{Handler: s, ReadHeaderTimeout: restHeader, ReadTimeout: restIdle, WriteTimeout: restWrite}
		servers.Go(func() { _ = pages.Serve(ln) })
		context.AfterFunc(serving, func() { pages.Close() })
	}
	me := wire.ActiveManager{Cluster: s.config.Kept.HA.Cluster, ID: s.config.Kept.HA.ID}
	return session.Acquire(ctx, s.config.Kept.HA.Lock, me.Append(nil), func(holder []byte) {
		var other wire.ActiveManager
		if err := other.Decode(holder); err != nil {
			s.config.Log.Warn("the lock of the active ResourceManager cannot be read", "why", err)
			return
		}
		if before := s.active.Swap(&other.ID); before == nil || *before != other.ID {
			s.config.Log.Info("standby", "active", other.ID)
		}
	})
}

// operators returns the server that operators call. It has no state to change.
func (s *standby) operators() (*rpc.Server, error) {
	server := &rpc.Server{
		Protocol:    wire.Administration,
		Methods:     map[string]rpc.Method{},
		Other:       highAvailability(wire.ServiceStandby),
		Log:         s.config.Log,
		Absent:      standbyError(s.config.Kept.HA.ID),
		Protections: s.config.Security.Protections,
	}
	tickets, _, err := s.config.Security.mechanisms()
	if tickets != nil {
		server.Kerberos = tickets
	}
	return server, err
}

// highAvailability returns the protocol by which operators ask which ResourceManager is active. They cannot change
// that: the lock decides.
func highAvailability(state wire.ServiceState) *rpc.Protocol {
	refused := refuse(rpc.Errorf("org.apache.hadoop.ha.ServiceFailedException",
		"which ResourceManager is active is decided by a lock in ZooKeeper: stop the active one to change it"))
	return &rpc.Protocol{Name: wire.HighAvailability, Methods: map[string]rpc.Method{
		"getServiceStatus": rpc.Handle(func(context.Context, *rpc.Call, *wire.Empty) (proto.Message, error) {
			return &wire.ServiceStatus{State: state, Ready: true}, nil
		}),
		"monitorHealth": rpc.Handle(func(context.Context, *rpc.Call, *wire.Empty) (proto.Message, error) {
			return nil, nil
		}),
		"transitionToActive":  refused,
		"transitionToStandby": refused,
	}}
}

// ServeHTTP sends a browser or a script to the active ResourceManager, as Hadoop's standby does. It answers requests
// for the state of this ResourceManager itself.
func (s *standby) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch where := strings.TrimSuffix(path.Clean(r.URL.Path), "/"); where {
	case "/ws/v1/cluster", "/ws/v1/cluster/info":
		write, _ := makeREST(w, r, body{"clusterInfo", clusterInfo{
			State:                "STARTED",
			HAState:              "STANDBY",
			Store:                inZooKeeper,
			ResourceManager:      wire.Version,
			ResourceManagerBuild: "sojourn",
			Hadoop:               wire.Version,
			HadoopBuild:          "sojourn",
			Connection:           "CONNECTED",
		}}, nil)
		write()
		return
	case "/isActive":
		http.Error(w, "this is a standby ResourceManager", http.StatusMethodNotAllowed)
		return
	}
	id := s.active.Load()
	if id == nil || s.config.Kept.HA.Peers[*id] == "" {
		http.Error(w, "This is standby RM. There is no active one, or it is not one that is known here.",
			http.StatusServiceUnavailable)
		return
	}
	to := s.config.scheme() + "://" + s.config.Kept.HA.Peers[*id] + r.URL.RequestURI()
	w.Header().Set("Location", to)
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(http.StatusTemporaryRedirect)
	fmt.Fprintln(w, "This is standby RM. The redirect url is:", to)
}

package yarn

import (
	"context"
	"runtime"
	"sync/atomic"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/proto"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/rpc"
	"github.com/sojourn-sched/sojourn/sched"
)

// A front is what the servers use outside of turns: the owner, which runs the turns, and the parts that many goroutines
// may use at once. Access.Admins and MostPriority are the only fields of the configuration that change, and only turns
// may read them.
type front struct {
	*owner
	config   *Config
	groups   *groupTable
	topology *topology
	resolver *resolver
	log      *logbook
	making   chan struct{} // an element for each long reply that is being made: as many as half of the processors
	room     *rpc.Room     // the memory that connections may hold

	kerberos *mechanism // authenticates callers of RPC; nil: they are believed to be who they say
	web      *mechanism // authenticates callers of REST; nil: there is no Kerberos, or REST has no principal

	superusers atomic.Pointer[Superusers]
	services   atomic.Pointer[Services] // of who may call which protocol; a nil map: no lists count
	outlook    outlookCache
}

// newFront returns the front of a cluster.
func newFront(m *manager) *front {
	making := make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2))
	f := &front{
		owner:    newOwner(m),
		config:   m.config,
		groups:   m.groups,
		topology: m.nodes.topology,
		resolver: m.nodes.resolver,
		log:      m.log,
		making:   making,
		room:     rpc.NewRoom(),
	}
	f.superusers.Store(&m.config.Access.Superusers)
	f.setServices(m.config.Security.Services)
	return f
}

// list calls visit for every application in the order of submission, within turns of pageOfApps applications, so that
// callers who ask for long lists keep no other caller waiting. It ends when visit returns false. An application that
// comes or goes meanwhile may be left out.
func (f *front) list(visit func(*application) bool) {
	job := sched.JobID(0)
	for more := true; more; {
		f.look(func(m *manager) { job, more = m.apps.page(job, visit) })
	}
}

// make makes a long reply. Few replies are made at a time, so that callers which ask again and again leave processors
// and memory to others; the rest wait for their turn.
func (f *front) make(c *rpc.Call, list func() (proto.Message, error)) (proto.Message, error) {
	f.making <- struct{}{}
	defer func() { <-f.making }()
	r, err := list()
	if err != nil {
		return nil, err
	}
	return c.Make(r)
}

// pageOfNodes is how many nodes one turn looks at for a list of them.
const pageOfNodes = 500

// listNodes calls visit for every node in the order of its first registration, within turns of pageOfNodes nodes.
func (f *front) listNodes(visit func(*node)) {
	for at, more := 0, true; more; at += pageOfNodes {
		f.look(func(m *manager) {
			list := m.nodes.list[min(at, len(m.nodes.list)):]
			for _, n := range list[:min(pageOfNodes, len(list))] {
				visit(n)
			}
			more = len(list) > pageOfNodes
		})
	}
}

// listContainers calls visit for the containers of the attempt that find returns, in the order of attempt.own, within
// turns of pageOfContainers containers. find says why the caller may not see them.
func (f *front) listContainers(find func(*manager) (*attempt, error), visit func(*container)) error {
	var at containerPlace
	for more := true; more; {
		if _, err := f.ask(func(m *manager) (answer, error) {
			a, err := find(m)
			if err == nil {
				at, more = a.page(at, visit)
			}
			return nil, err
		}); err != nil {
			return err
		}
	}
	return nil
}

// byUser makes a Method of a function that carries out the call of a user within a turn. who binds the state and the
// user's name to the receiver that do is a method of.
func byUser[R, Q any, P interface {
	*Q
	proto.Described
}](f *front, who func(m *manager, user string) R, do func(R, *Q) (answer, error)) rpc.Method {
	return rpc.Handle[Q, P](func(_ context.Context, c *rpc.Call, q *Q) (proto.Message, error) {
		f.groups.meet(c.User)
		return f.serve(c, func(m *manager) (answer, error) { return do(who(m, c.User), q) })
	})
}

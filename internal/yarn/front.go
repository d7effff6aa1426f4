package yarn

import (
	"context"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/proto"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/rpc"
)

// A front is what the servers use outside of turns: the owner, who runs the turns, and those parts that many goroutines
// may use at once. The configuration does not change.
type front struct {
	*owner
	config   *Config
	groups   *groupTable
	topology *topology
	log      *logbook
}

// newFront returns the front of a cluster.
func newFront(m *manager) *front {
	return &front{newOwner(m), m.config, m.groups, m.nodes.topology, m.log}
}

// byUser makes a Method of a function that carries out the call of a user within a turn. who binds the state and the
// user's name to the receiver that do is a method of.
func byUser[R, Q any, P interface {
	*Q
	proto.Decoder
}](f *front, who func(m *manager, user string) R, do func(R, *Q) (answer, error)) rpc.Method {
	return rpc.Handle[Q, P](func(_ context.Context, c *rpc.Call, q *Q) (proto.Message, error) {
		f.groups.meet(c.User)
		return f.serve(c, func(m *manager) (answer, error) { return do(who(m, c.User), q) })
	})
}

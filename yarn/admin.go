package yarn

import (
	"context"

	"github.com/sojourn-sched/sojourn/yarn/internal/proto"
	"github.com/sojourn-sched/sojourn/yarn/internal/rpc"
	"github.com/sojourn-sched/sojourn/yarn/internal/wire"
)

// adminServer is what operators call. What is read from files is read before the owner is asked, which waits for no disk.
func adminServer(m *manager) *rpc.Server {
	return &rpc.Server{Protocol: wire.Administration, Log: m.log, Methods: map[string]rpc.Method{
		"refreshNodes": rpc.Handle(func(_ context.Context, c *rpc.Call, q *wire.RefreshNodes) (proto.Message, error) {
			if m.config.Excluded == nil {
				return nil, notSupported("refreshNodes without a list of nodes to exclude")
			}
			hosts, err := m.config.Excluded()
			if err != nil {
				return nil, rpc.Errorf(classYARN, "read the list of nodes to exclude: %v", err)
			}
			return m.ask(func(m *manager) (answer, error) { return m.refreshNodes(c.User, hosts, q.How) })
		}),
		"updateNodeResource": byUser(m, (*manager).updateNodes),
		"refreshQueues": func(context.Context, *rpc.Call) (proto.Message, error) {
			return nil, notSupported("changing queues while running")
		},
	}}
}

// administers reports, as an error, that a user may not change the cluster.
func (m *manager) administers(user string) error {
	if user == "" || !m.mayChange(user, "") {
		m.log.Warn("administration refused", "user", user)
		return rpc.Errorf(classAccess, "User %s doesn't have permission to call this method", user)
	}
	return nil
}

// refreshNodes has the excluded hosts be others, and those of their nodes that are there leave.
func (m *manager) refreshNodes(user string, hosts []string, how wire.Decommissioning) (answer, error) {
	if err := m.administers(user); err != nil {
		return nil, err
	}
	m.nodes.exclude(hosts)
	for _, n := range m.nodes.list {
		if m.nodes.excluded[n.id.Host] {
			n.decommission(how == wire.DecommissionGraceful)
		}
	}
	return nil, nil
}

func (t *nodeTable) exclude(hosts []string) {
	clear(t.excluded)
	for _, h := range hosts {
		t.excluded[h] = true
	}
}

// updateNodes gives nodes other sizes. What then is too much is left to end by itself.
func (m *manager) updateNodes(user string, q *wire.UpdateNodeResource) (answer, error) {
	if err := m.administers(user); err != nil {
		return nil, err
	}
	for i := range q.Nodes {
		if n := m.nodes.byID[q.Nodes[i].Node]; n == nil {
			return nil, rpc.Errorf(classYARN, "Resource update get exception: node %s is not known", q.Nodes[i].Node)
		}
	}
	for i := range q.Nodes {
		n, to := m.nodes.byID[q.Nodes[i].Node], q.Nodes[i].Resource
		n.resized = &to
		n.resize(to)
	}
	return nil, nil
}

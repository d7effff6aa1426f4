package yarn

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/proto"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/rpc"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
	"github.com/sojourn-sched/sojourn/sched"
)

// adminServer is what operators call. What is read from files is read before the owner is asked, which waits for no
// disk.
func adminServer(m *manager) *rpc.Server {
	return &rpc.Server{Protocol: wire.Administration, Log: m.log.Logger, Methods: map[string]rpc.Method{
		"refreshNodes": rpc.Handle(func(_ context.Context, c *rpc.Call, q *wire.RefreshNodes) (proto.Message, error) {
			if err := m.admit(c.User); err != nil {
				return nil, err
			}
			var hosts Hosts
			if m.config.Hosts != nil {
				var err error
				if hosts, err = m.config.Hosts(); err != nil {
					return nil, rpc.Errorf(classYARN, "read which hosts may have NodeManagers: %v", err)
				}
			}
			return m.serve(c, func(m *manager) (answer, error) { return m.refreshNodes(hosts, q), nil })
		}),
		"checkForDecommissioningNodes": byUser(m, (*manager).decommissioning),
		"updateNodeResource":           byUser(m, (*manager).updateNodes),
		"refreshUserToGroupsMappings": rpc.Handle(
			func(_ context.Context, c *rpc.Call, _ *wire.Empty) (proto.Message, error) {
				if err := m.admit(c.User); err != nil {
					return nil, err
				}
				m.groups.forget()
				return nil, nil
			},
		),
		"refreshQueues": rpc.Handle(func(_ context.Context, c *rpc.Call, _ *wire.Empty) (proto.Message, error) {
			if err := m.admit(c.User); err != nil {
				return nil, err
			}
			if m.config.Reread == nil {
				return nil, notSupported("changing queues that no file says")
			}
			q, err := m.config.Reread()
			if err != nil {
				return nil, rpc.Errorf(classYARN, "Failed to refresh queues, which stay as they are: %v", err)
			}
			return m.serve(c, func(m *manager) (answer, error) { return m.refreshQueues(c.User, q) })
		}),
	}}
}

// admit is administers for who is not the owner: strangers have no files read, and hear nothing of what is in them.
func (m *manager) admit(user string) error {
	m.meet(user)
	_, err := m.ask(func(m *manager) (answer, error) { return nil, m.administers(user) })
	return err
}

// administers reports, as an error, that a user may not change the cluster.
func (m *manager) administers(user string) error {
	if !m.administrates(user) {
		m.log.refused("administration refused", "user", user)
		return rpc.Errorf(classAccess, "User %s doesn't have permission to call this method", user)
	}
	return nil
}

// refreshNodes has other hosts be allowed. Nodes on hosts that are not any more leave; those that were leaving and are
// allowed again stay.
func (m *manager) refreshNodes(hosts Hosts, q *wire.RefreshNodes) answer {
	patience := time.Duration(0)
	if q.How == wire.DecommissionGraceful {
		if patience = m.config.Expiry.Graceful; q.Timeout >= 0 {
			patience = time.Duration(q.Timeout) * time.Second
		}
	}
	m.nodes.hosts = hosts.set()
	for _, n := range m.nodes.list {
		switch allowed := m.nodes.hosts.allows(n.id.Host); {
		case !allowed:
			n.decommission(patience)
		case n.state == wire.NodeDecommissioning:
			n.recommission()
		}
	}
	return nil
}

// decommissioning lists the nodes that end when nothing runs there any more: operators' commands wait for them.
func (m *manager) decommissioning(string, *wire.Empty) (answer, error) {
	r := &wire.NodeIDs{}
	for _, n := range m.nodes.list {
		if n.state == wire.NodeDecommissioning {
			r.Nodes = append(r.Nodes, n.id)
		}
	}
	return reply(r)
}

// refreshQueues has the queues be others, if every application that is not over keeps its own.
func (m *manager) refreshQueues(user string, q Queues) (answer, error) {
	q.withDefaults()
	leaves := q.leaves()
	in := map[string]int{}
	for _, app := range m.apps.list {
		if !app.over {
			in[app.queue]++
		}
	}
	for _, path := range slices.Sorted(maps.Keys(in)) {
		declared := m.queues.leaves.byPath[path]
		switch leaf, there := leaves.byPath[path]; {
		case there && !leaf:
			return nil, rpc.Errorf(
				classYARN,
				"Failed to refresh queues, which stay as they are: root.%s has %d applications, and may have queues below it when they are over",
				path,
				in[path],
			)
		case !there && declared:
			return nil, rpc.Errorf(
				classYARN,
				"Failed to refresh queues, which stay as they are: root.%s has %d applications, and may go when they are over",
				path,
				in[path],
			)
		}
	}
	m.queues = placement{q, leaves, m.queues.made}
	m.note(sched.Event{Kind: sched.SpecChanged, Body: &sched.Queues{List: q.Tree}})
	m.step() // what comes in this turn finds the new queues
	m.log.Info("queues refreshed", "by", user, "queues", len(leaves.byPath))
	return nil, nil
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
		if wrong := checkNode(q.Nodes[i].Resource); wrong != "" {
			return nil, rpc.Errorf(classYARN, "Resource update get exception: node %s %s", q.Nodes[i].Node, wrong)
		}
	}
	for i := range q.Nodes {
		n, to := m.nodes.byID[q.Nodes[i].Node], q.Nodes[i].Resource
		n.resized = &to
		n.resize(to)
	}
	return nil, nil
}

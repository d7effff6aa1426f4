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

// An admin carries out the calls of operators' commands within a turn.
type admin struct {
	m    *manager
	user string
}

// newAdmin returns the server that operators call. Files are read before the turn, which must not wait for a disk.
func newAdmin(f *front) *rpc.Server {
	operator := func(m *manager, user string) admin { return admin{m, user} }
	s := &rpc.Server{Protocol: wire.Administration, Log: f.log.Logger, Impersonate: f.impersonate}
	if f.config.Kept.HA != nil {
		s.Other = highAvailability(wire.ServiceActive)
	}
	s.Methods = map[string]rpc.Method{
		"refreshNodes":                 refreshNodes(f),
		"refreshQueues":                refreshQueues(f),
		"refreshServiceAcls":           refreshServices(f),
		"refreshUserToGroupsMappings":  refreshGroups(f),
		"updateNodeResource":           byUser(f, operator, admin.updateNodes),
		"checkForDecommissioningNodes": byUser(f, operator, admin.decommissioning),
		"getGroupsForUser":             groupsOf(f),
		"refreshSuperUserGroupsConfiguration": refreshing(f, func(_ admin, r Refreshed) {
			f.superusers.Store(&r.Superusers)
		}),
		"refreshAdminAcls":          refreshing(f, admin.refreshAdmins),
		"refreshClusterMaxPriority": refreshing(f, admin.refreshMostPriority),
		"refreshNodesResources":     refreshing(f, admin.refreshSizes),
	}
	for name, method := range s.Methods {
		if name != "getGroupsForUser" && name != "checkForDecommissioningNodes" { // these change nothing
			s.Methods[name] = auditedOperator(f, name, method)
		}
	}
	return s
}

// refreshNodes reads again which hosts may have NodeManagers. If the lists name addresses, it looks up those of the
// nodes that are there, again and again until no other node has come meanwhile.
func refreshNodes(f *front) rpc.Method {
	return rpc.Handle(func(ctx context.Context, c *rpc.Call, q *wire.RefreshNodes) (proto.Message, error) {
		if err := admit(f, c.User); err != nil {
			return nil, err
		}
		hosts, err := f.config.hosts()
		if err != nil {
			return nil, rpc.Errorf(classYARN, "%v", err)
		}
		addressed, learned := hosts.set().addressed, map[string]bool{}
		for {
			var more []string
			r, err := f.serve(c, func(m *manager) (answer, error) {
				if addressed {
					more = m.nodes.hostsBeside(learned)
				}
				if len(more) > 0 {
					return nil, nil
				}
				return admin{m, c.User}.refreshNodes(hosts, q), nil
			})
			if err != nil || len(more) == 0 {
				return r, err
			}
			if err := f.resolver.learnAll(ctx, more, f.logUnresolved); err != nil {
				return nil, rpc.Errorf(classYARN, "Failed to refresh nodes, which stay as they are: %v", err)
			}
		}
	})
}

// refreshQueues reads the queues again.
func refreshQueues(f *front) rpc.Method {
	return rpc.Handle(func(_ context.Context, c *rpc.Call, _ *wire.Empty) (proto.Message, error) {
		if err := admit(f, c.User); err != nil {
			return nil, err
		}
		if f.config.Reread == nil {
			return nil, notSupported("changing queues that no file says")
		}
		q, err := f.config.Reread()
		if err != nil {
			return nil, rpc.Errorf(classYARN, "Failed to refresh queues, which stay as they are: %v", err)
		}
		return f.serve(c, func(m *manager) (answer, error) { return admin{m, c.User}.refreshQueues(q) })
	})
}

// refreshGroups forgets which groups users are in, so that they are looked up again.
func refreshGroups(f *front) rpc.Method {
	return rpc.Handle(func(_ context.Context, c *rpc.Call, _ *wire.Empty) (proto.Message, error) {
		if err := admit(f, c.User); err != nil {
			return nil, err
		}
		f.groups.forget()
		return nil, nil
	})
}

// refreshing returns the Method of a refresh command: it reads the configuration again, and calls take with the result,
// within a turn.
func refreshing(f *front, take func(admin, Refreshed)) rpc.Method {
	return func(_ context.Context, c *rpc.Call) (_ proto.Message, err error) {
		if err := admit(f, c.User); err != nil {
			return nil, err
		}
		if f.config.Access.Reread == nil {
			return nil, notSupported("changing what no file says")
		}
		r, err := f.config.Access.Reread()
		if err != nil {
			return nil, rpc.Errorf(classYARN, "Failed to refresh, all stays as it is: %v", err)
		}
		return f.serve(c, func(m *manager) (answer, error) { take(admin{m, c.User}, r); return nil, nil })
	}
}

// groupsOf answers any caller with the groups that a user is in.
func groupsOf(f *front) rpc.Method {
	return rpc.Handle(func(_ context.Context, _ *rpc.Call, q *wire.GroupsWanted) (proto.Message, error) {
		names, err := f.config.Access.Groups(q.User)
		if err != nil {
			return nil, rpc.Errorf(classYARN, "Groups of %s: %v", q.User, err)
		}
		return &wire.Groups{Names: names}, nil
	})
}

// admit returns an error if the user may not change the cluster. Methods that read files call it first, in a turn of
// its own, so that users who may not administer learn nothing of the files.
func admit(f *front, user string) error {
	f.groups.meet(user)
	_, err := f.ask(func(m *manager) (answer, error) { return nil, admin{m, user}.administers() })
	return err
}

// administers is admit within a turn.
func (o admin) administers() error {
	if !o.m.administrates(o.user) {
		o.m.log.refused("administration refused", "user", o.user)
		return rpc.Errorf(classAccess, "User %s doesn't have permission to call this method", o.user)
	}
	return nil
}

// refreshNodes replaces the hosts that are allowed. Nodes on hosts that are no longer allowed leave. Nodes that were
// leaving, and whose hosts are allowed again, stay.
func (o admin) refreshNodes(hosts Hosts, q *wire.RefreshNodes) answer {
	patience := time.Duration(0)
	if q.How == wire.DecommissionGraceful {
		switch seconds := int32(q.Timeout); { // cut as protobuf cuts what is no int32
		case q.Timeout == wire.TimeoutUnsaid:
			patience = o.m.config.Expiry.Graceful
		case seconds < 0:
			patience = mostTime
		default:
			patience = time.Duration(seconds) * time.Second
		}
	}
	o.m.nodes.hosts = hosts.set()
	for _, n := range o.m.nodes.list {
		names := o.m.nodes.resolver.names(n.id.Host)
		own, said := hosts.patienceOf(names)
		switch allowed := o.m.nodes.hosts.allows(names...); {
		case !allowed && said && q.How == wire.DecommissionGraceful:
			if own < 0 {
				own = mostTime
			}
			n.decommission(own)
		case !allowed:
			n.decommission(patience)
		case n.state == wire.NodeDecommissioning:
			n.recommission()
		}
	}
	return nil
}

// decommissioning answers an administrator with the nodes that are being decommissioned gracefully. Operators' commands
// ask until there are none.
func (o admin) decommissioning(*wire.Empty) (answer, error) {
	if err := o.administers(); err != nil {
		return nil, err
	}
	r := &wire.NodeIDs{}
	for _, n := range o.m.nodes.list {
		if n.state == wire.NodeDecommissioning {
			r.Nodes = append(r.Nodes, n.id)
		}
	}
	return reply(r)
}

// refreshQueues replaces the queues by q. It refuses q if an application that is not over would lose its queue.
func (o admin) refreshQueues(q Queues) (answer, error) {
	q.withDefaults()
	leaves := q.leaves()
	in := map[string]int{}
	for _, app := range o.m.apps.list {
		if !app.over {
			in[app.queue]++
		}
	}
	for _, path := range slices.Sorted(maps.Keys(in)) {
		declared := o.m.queues.leaves.byPath[path]
		switch leaf, there := leaves.byPath[path]; {
		case there && !leaf:
			return nil, rpc.Errorf(classYARN, "Failed to refresh queues, which stay as they are: root.%s has "+
				"%d applications, and may have queues below it when they are over", path, in[path])
		case !there && declared:
			return nil, rpc.Errorf(classYARN, "Failed to refresh queues, which stay as they are: root.%s has "+
				"%d applications, and may go when they are over", path, in[path])
		}
	}
	o.m.queues = placement{q, leaves, o.m.queues.made}
	o.m.note(sched.Event{Kind: sched.SpecChanged, Body: &sched.Queues{List: q.Tree}})
	o.m.step() // what comes in this turn finds the new queues
	o.m.log.Info("queues refreshed", "by", o.user, "queues", len(leaves.byPath))
	return nil, nil
}

// updateNodes gives nodes other sizes. Containers that do not fit any more go on until they end by themselves.
func (o admin) updateNodes(q *wire.UpdateNodeResource) (answer, error) {
	if err := o.administers(); err != nil {
		return nil, err
	}
	for i := range q.Nodes {
		if n := o.m.nodes.byID[q.Nodes[i].Node]; n == nil || !n.here() {
			return nil, rpc.Errorf(classYARN, "Resource update get exception: node %s is not known", q.Nodes[i].Node)
		}
		if wrong := o.m.config.Sizes.checkNode(q.Nodes[i].Resource); wrong != "" {
			return nil, rpc.Errorf(classYARN, "Resource update get exception: node %s %s", q.Nodes[i].Node, wrong)
		}
	}
	for i := range q.Nodes {
		n := o.m.nodes.byID[q.Nodes[i].Node]
		to := n.offered(q.Nodes[i].Resource)
		n.sizes.own = &to
		n.resize(to)
	}
	return nil, nil
}

// refreshAdmins replaces the administrators of the cluster. The user that this process runs as is always one.
func (o admin) refreshAdmins(r Refreshed) {
	o.m.config.Access.Admins = r.Admins.with(o.m.config.Shown.User)
	if len(r.Admins.Groups) > 0 {
		o.m.groups.wanted.Store(true)
	}
}

// refreshMostPriority replaces the highest priority. The priorities of submitted applications stay.
func (o admin) refreshMostPriority(r Refreshed) { o.m.config.MostPriority = r.MostPriority }

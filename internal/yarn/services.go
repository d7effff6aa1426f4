package yarn

import (
	"cmp"
	"context"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/proto"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/rpc"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/token"
)

// setServices replaces the access lists of protocols, for connections that begin from now on; nil: there are no lists.
func (f *front) setServices(s Services) {
	if s.grouped() {
		f.groups.wanted.Store(true)
	}
	f.services.Store(&s)
}

// guard sets that server s accepts only the callers that the lists of a protocol allow.
func (f *front) guard(s *rpc.Server) { s.Admit = f.admits }

// admits returns Hadoop's exception if a caller may not use a protocol; nil: it may. It sets the user of calls by
// delegation token (recognize). It may ask the operating system, so it is called outside of turns.
func (f *front) admits(protocol string, c *rpc.Call) error {
	if err := f.recognize(protocol, c); err != nil {
		return err
	}
	services := *f.services.Load()
	if services == nil {
		return nil
	}
	s, known := services[protocol]
	if !known {
		return rpc.Errorf(classAuthorization, "Protocol interface %s is not known.", protocol)
	}
	user := caller(c)
	f.groups.meet(user)
	groups := f.groups.of(user)
	if !s.Allowed.has(user, groups) || s.Blocked.has(user, groups) {
		return rpc.Errorf(classAuthorization, "User %s is not authorized for protocol interface %s: denied by "+
			"configured ACL", callerShown(c), protocol)
	}
	if host := rpc.HostOf(c.Remote); !onHosts(s.Hosts, host) || onHosts(s.BlockedHosts, host) {
		return rpc.Errorf(classAuthorization, "Host %s is not authorized for protocol interface %s", host, protocol)
	}
	return nil
}

// caller returns the name of a caller in access lists: of an ApplicationMaster, the ID of its attempt.
func caller(c *rpc.Call) string {
	if id, err := token.ReadMaster(c.Token); c.User == "" && err == nil {
		return id.Attempt.String()
	}
	return c.User
}

// callerShown returns the description of a caller in messages, as Hadoop's UserGroupInformation writes it.
func callerShown(c *rpc.Call) string {
	by := " (auth:SIMPLE)"
	if c.Principal != "" {
		by = " (auth:KERBEROS)"
	}
	switch user := caller(c); {
	case c.Token != nil:
		return user + " (auth:TOKEN)"
	case c.Real != "":
		return user + " (auth:PROXY) via " + cmp.Or(c.Principal, c.Real) + by
	default:
		return cmp.Or(c.Principal, user) + by
	}
}

// refreshServices returns the Method that reads the access lists of protocols again. Open connections stay.
func refreshServices(f *front) rpc.Method {
	return func(_ context.Context, c *rpc.Call) (proto.Message, error) {
		if err := admit(f, c.User); err != nil {
			return nil, err
		}
		if f.config.Security.Reread == nil {
			return nil, rpc.Errorf("java.io.IOException", "Service Authorization (%s) not enabled.", authorization)
		}
		s, err := f.config.Security.Reread()
		if err != nil {
			return nil, rpc.Errorf(classYARN, "Failed to refresh, all stays as it is: %v", err)
		}
		f.setServices(s)
		return nil, nil
	}
}

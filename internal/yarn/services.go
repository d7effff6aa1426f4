package yarn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/proto"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/rpc"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/token"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
)

// policyFile is Hadoop's file with the access lists of protocols. They may also be in core-site.xml and yarn-site.xml.
const policyFile = "hadoop-policy.xml"

// authorization is the property that turns these lists on.
const authorization = "hadoop.security.authorization"

// serviceNames has, for each protocol of a ResourceManager, the prefix of the properties of its lists.
var serviceNames = map[string]string{
	wire.ResourceTracker:   "security.resourcetracker.protocol",
	wire.ApplicationClient: "security.applicationclient.protocol",
	wire.ApplicationMaster: "security.applicationmaster.protocol",
	wire.Administration:    "security.resourcemanager-administration.protocol",
}

// serviceDefaults is the prefix of the properties that apply to protocols without lists of their own.
const serviceDefaults = "security.service.authorization.default"

// readServices reads the access lists in the configuration of folder dir. The default list applies to a protocol
// without a list. Without a default list, every user may call the protocol from everywhere.
func readServices(dir string) (Services, error) {
	p, _, err := readProperties(dir, "core-site.xml", "yarn-site.xml", policyFile)
	if err != nil {
		return nil, err
	}
	s := p.lists()
	return s, errors.Join(p.wrong...)
}

// lists returns the lists of each protocol.
func (p *properties) lists() Services {
	s := Services{}
	for protocol, name := range serviceNames {
		s[protocol] = Service{
			Allowed:      parseACL(p.service(name+".acl", serviceDefaults+".acl", "*")),
			Blocked:      parseACL(p.service(name+".acl.blocked", serviceDefaults+".acl.blocked", "")),
			Hosts:        p.machines(name+".hosts", serviceDefaults+".hosts", "*"),
			BlockedHosts: p.machines(name+".hosts.blocked", serviceDefaults+".hosts.blocked", ""),
		}
	}
	return s
}

// service returns the value of a protocol's property, else that of the default's property, else otherwise.
func (p *properties) service(name, byDefault, otherwise string) string {
	if p.has(name) {
		return p.raw(name, "")
	}
	return p.raw(byDefault, otherwise)
}

// machines is service for lists of hosts. p gets an error for a range of addresses that cannot be read, and for *
// beside other hosts, which Hadoop takes for the name of a host.
func (p *properties) machines(name, byDefault, otherwise string) (list []string) {
	wrong := false
	for one := range strings.SplitSeq(p.service(name, byDefault, otherwise), ",") {
		if one = strings.TrimSpace(one); one == "" {
			continue
		}
		_, _, err := net.ParseCIDR(one)
		wrong = wrong || strings.Contains(one, "/") && err != nil
		list = append(list, one)
	}
	if wrong || len(list) > 1 && slices.Contains(list, "*") {
		if !p.has(name) {
			name = byDefault
		}
		p.fail(name, "* alone, or addresses, ranges like 10.0.0.0/8, and names of hosts, separated by commas")
	}
	return list
}

// services reads the access lists of folder dir into s, if they are turned on. notes are warnings for the operator.
func (p *properties) services(dir string, s *Security) (notes []string) {
	if !p.yes(authorization, false) {
		return nil
	}
	var err error
	if s.Services, err = readServices(dir); err != nil {
		p.wrong = append(p.wrong, err)
	}
	s.Reread = func() (Services, error) { return readServices(dir) }
	if _, err := os.Stat(filepath.Join(dir, policyFile)); errors.Is(err, os.ErrNotExist) {
		notes = append(notes, fmt.Sprintf("%s: %s = true: there is no %s beside it, so lists that are not in these "+
			"files let every user call every protocol", p.values[authorization].file, authorization, policyFile))
	}
	return notes
}

// grouped reports whether a list names a group.
func (s Services) grouped() bool {
	for _, one := range s {
		if len(one.Allowed.Groups)+len(one.Blocked.Groups) > 0 {
			return true
		}
	}
	return false
}

// setServices replaces the access lists of protocols, for connections that begin from now on; nil: there are no lists.
func (f *front) setServices(s Services) {
	if s.grouped() {
		f.groups.wanted.Store(true)
	}
	f.services.Store(&s)
}

// guard sets that server s accepts only the callers that the lists of its protocol allow.
func (f *front) guard(s *rpc.Server) {
	s.Admit = func(c *rpc.Call) error { return f.admits(s.Protocol, c) }
}

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

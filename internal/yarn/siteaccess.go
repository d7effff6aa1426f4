package yarn

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
)

// access reads who may do what, except with queues. Without yarn.admin.acl only the user that the ResourceManager runs
// as administers the cluster. In Hadoop everybody does.
func (p *properties) access(a *Access) {
	a.Lists = p.yes("yarn.acl.enable", false)
	a.Admins, a.Superusers = parseACL(p.raw("yarn.admin.acl", "")), p.superusers()
	const static = "hadoop.user.group.static.mapping.overrides"
	if text := p.text(static, ""); text != "" {
		var ok bool
		if a.Groups, ok = staticGroups(text, systemGroups); !ok {
			p.fail(static, "a list of users and their groups like ana=etl,ops;bo=ops")
		}
	}
}

// superuserPrefixes are the prefixes of a superuser's properties. The second overrides the first, as in Hadoop.
var superuserPrefixes = []string{"hadoop.proxyuser.", "yarn.resourcemanager.proxyuser."}

// superusers returns the superusers that the properties name.
func (p *properties) superusers() (list Superusers) {
	said := map[string]map[string]string{} // by superuser: the properties that count, by their last part
	for _, prefix := range superuserPrefixes {
		for name := range p.values {
			rest, ok := strings.CutPrefix(name, prefix)
			dot := strings.LastIndexByte(rest, '.')
			if !ok || dot <= 0 || !slices.Contains([]string{"hosts", "users", "groups"}, rest[dot+1:]) {
				continue
			}
			if said[rest[:dot]] == nil {
				said[rest[:dot]] = map[string]string{}
			}
			said[rest[:dot]][rest[dot+1:]] = name
		}
	}
	for _, user := range slices.Sorted(maps.Keys(said)) {
		names := said[user]
		users, everyUser := everyOr(p, names["users"])
		groups, everyGroup := everyOr(p, names["groups"])
		one := Superuser{For: ACL{Users: users, Groups: groups}}
		if everyUser || everyGroup {
			one.For = ACL{Everybody: true}
		}
		if name := names["hosts"]; name != "" {
			one.Hosts = hostsIn(p, name, p.text(name, ""))
		}
		if list == nil {
			list = Superusers{}
		}
		list[user] = one
	}
	return list
}

// everyOr returns the names in the value of a property; every: the value is *, which means all. "": there is no such
// property.
func everyOr(p *properties, name string) (list []string, every bool) {
	if name == "" {
		return nil, false
	}
	if text := p.text(name, ""); text != "*" {
		return slices.Collect(namesIn(text)), false
	}
	return nil, true
}

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
	wire.HighAvailability:  "security.ha.service.protocol",
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

// machines is service for lists of hosts.
func (p *properties) machines(name, byDefault, otherwise string) (list []string) {
	text := p.service(name, byDefault, otherwise)
	if !p.has(name) {
		name = byDefault
	}
	return hostsIn(p, name, text)
}

// hostsIn returns the hosts that a property's value lists, separated by commas or by space. p gets an error for a range
// of addresses that cannot be read, and for * beside other hosts, which Hadoop takes for the name of a host.
func hostsIn(p *properties, name, text string) (list []string) {
	wrong := false
	for one := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ',' || unicode.IsSpace(r) }) {
		_, _, err := net.ParseCIDR(one)
		wrong = wrong || strings.Contains(one, "/") && err != nil
		list = append(list, one)
	}
	if wrong || len(list) > 1 && slices.Contains(list, "*") {
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

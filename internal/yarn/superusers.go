package yarn

import (
	"context"
	"net"
	"slices"
	"strings"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/rpc"
)

// superuserPrefixes are the prefixes of a superuser's properties. The second overrides the first, as in Hadoop.
var superuserPrefixes = []string{"hadoop.proxyuser.", "yarn.resourcemanager.proxyuser."}

// superusers returns the superusers that the properties name.
func (p *properties) superusers() (list Superusers) {
	for _, prefix := range superuserPrefixes {
		for name := range p.values {
			rest, ok := strings.CutPrefix(name, prefix)
			dot := strings.LastIndexByte(rest, '.')
			if !ok || dot <= 0 {
				continue
			}
			one := list[rest[:dot]]
			switch text := p.raw(name, ""); rest[dot+1:] {
			case "hosts":
				one.Hosts = strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' || r == '\n' })
			case "users":
				users := parseACL(text)
				one.For.Users, one.For.Everybody = users.Users, one.For.Everybody || users.Everybody
			case "groups":
				groups := parseACL(" " + text)
				one.For.Groups, one.For.Everybody = groups.Groups, one.For.Everybody || groups.Everybody
			}
			if list == nil {
				list = Superusers{}
			}
			list[rest[:dot]] = one
		}
	}
	return list
}

// impersonate returns Hadoop's exception if user real may not act for user effective from an address; nil: it may. It
// may ask the operating system, so it is called outside of turns.
func (f *front) impersonate(real, effective string, from net.Addr) error {
	one, known := (*f.superusers.Load())[f.config.Security.short(real)]
	allowed := one.For.Everybody || slices.Contains(one.For.Users, effective)
	if known && !allowed && len(one.For.Groups) > 0 && wellNamed(effective) {
		groups, err := f.config.Access.Groups(effective)
		if err != nil {
			f.log.refused("groups not known", "user", effective, "why", err)
		}
		allowed = slices.ContainsFunc(groups, func(g string) bool { return slices.Contains(one.For.Groups, g) })
	}
	host := rpc.HostOf(from)
	switch {
	case !known || !allowed:
		return rpc.Errorf(classAuthorization, "User: %s is not allowed to impersonate %s", real, effective)
	case !onHosts(one.Hosts, host):
		return rpc.Errorf(classAuthorization, "Unauthorized connection for super-user: %s from IP %s", real, host)
	}
	return nil
}

// onHosts reports whether list (Superuser.Hosts) includes the address host. It may ask a name server.
func onHosts(list []string, host string) bool {
	ip := net.ParseIP(host)
	return slices.ContainsFunc(list, func(one string) bool {
		if one == "*" || one == host {
			return true
		}
		if _, network, err := net.ParseCIDR(one); err == nil {
			return network.Contains(ip)
		}
		if net.ParseIP(one) != nil {
			return net.ParseIP(one).Equal(ip)
		}
		ctx, cancel := context.WithTimeout(context.Background(), lookupTime)
		defer cancel()
		found, err := net.DefaultResolver.LookupHost(ctx, one)
		return err == nil && slices.Contains(found, host)
	})
}

package yarn

import (
	"net"
	"slices"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/rpc"
)

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

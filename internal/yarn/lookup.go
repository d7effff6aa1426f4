package yarn

import (
	"context"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"
)

// lookupTime is how long a name server may take to answer.
const lookupTime = 5 * time.Second

// hostName returns the name of host, which is a name or an address. For an unspecified address, such as 0.0.0.0, or for
// "" it is the name of this machine.
func hostName(host string) string {
	ip := net.ParseIP(host)
	if host == "" || ip != nil && ip.IsUnspecified() {
		if name, err := os.Hostname(); err == nil {
			return name
		}
	}
	if ip == nil {
		return host
	}
	ctx, cancel := context.WithTimeout(context.Background(), lookupTime)
	defer cancel()
	if names, err := net.DefaultResolver.LookupAddr(ctx, host); err == nil && len(names) > 0 {
		return strings.TrimSuffix(names[0], ".")
	}
	return host
}

// systemAddresses returns the addresses of a host, as the operating system knows them.
func systemAddresses(ctx context.Context, host string) ([]netip.Addr, error) {
	return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
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

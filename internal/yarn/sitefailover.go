package yarn

import (
	"cmp"
	"fmt"
	"net"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Prefixes of the properties of several ResourceManagers, and of ZooKeeper.
const (
	haPrefix = "yarn.resourcemanager.ha."
	zkPrefix = "hadoop.zk."
)

// severalOf reads which of several ResourceManagers this is; nil: there is one.
func severalOf(p *properties) *HA {
	if !p.yes(haPrefix+"enabled", false) {
		return nil
	}
	if !p.yes(haPrefix+"automatic-failover.enabled", true) {
		p.fail(haPrefix+"automatic-failover.enabled", "true: a lock decides which one is active, not an operator")
	}
	h := &HA{
		ID:      p.text(haPrefix+"id", ""),
		Cluster: p.text("yarn.resourcemanager.cluster-id", ""),
		Peers:   map[string]string{},
		Timeout: cmp.Or(p.millis(zkPrefix+"timeout-ms"), usualSession),
		User:    zooUser(p),
	}
	if h.Cluster == "" || strings.ContainsAny(h.Cluster, "/") {
		p.fail("yarn.resourcemanager.cluster-id", "the cluster's name, which all its ResourceManagers have, without /")
	}
	h.ZooKeeper = zooServers(p)
	ids := idsOf(p)
	for _, one := range ids {
		h.Peers[one] = webOf(p, one)
		for _, name := range []string{"address", "scheduler.address", "resource-tracker.address", "admin.address"} {
			p.ofOne(one, name, "") // so that the other ones' have no note, though they are not used
		}
	}
	if h.ID == "" {
		h.ID = localOf(p, ids)
	}
	if len(ids) < 2 || !slices.Contains(ids, h.ID) {
		p.fail(haPrefix+"rm-ids", fmt.Sprintf("the names of all ResourceManagers, two or more, with commas between, "+
			"and this one's (%sid, or the one whose hostname is this machine's) among them", haPrefix))
	}
	h.Lock = path.Join(p.text(haPrefix+"automatic-failover.zk-base-path", "/yarn-leader-election"), h.Cluster,
		"ActiveStandbyElectorLock")
	h.State = path.Join(zooParent(p), "sojourn", h.Cluster)
	return h
}

// idsOf returns the names of several ResourceManagers.
func idsOf(p *properties) (ids []string) {
	for one := range strings.SplitSeq(p.text(haPrefix+"rm-ids", ""), ",") {
		if one = strings.TrimSpace(one); one != "" {
			ids = append(ids, one)
		}
	}
	return ids
}

// zooServers returns the servers of ZooKeeper, host:port each.
func zooServers(p *properties) (list []string) {
	const want = "host:port of each server of ZooKeeper, with commas between"
	for one := range strings.SplitSeq(p.text(zkPrefix+"address", ""), ",") {
		if one = strings.TrimSpace(one); one != "" {
			list = append(list, one)
		}
	}
	for _, one := range list {
		host, port, err := net.SplitHostPort(one)
		if n, odd := strconv.ParseUint(port, 10, 16); err != nil || host == "" || odd != nil || n == 0 {
			p.fail(zkPrefix+"address", want+", and no path: the nodes have properties of their own")
			break
		}
	}
	if len(list) == 0 {
		p.fail(zkPrefix+"address", want)
	}
	return list
}

// zooParent returns the node of ZooKeeper below which ResourceManagers keep their state.
func zooParent(p *properties) string {
	const name = "yarn.resourcemanager.zk-state-store.parent-path"
	parent := p.text(name, "/rmstore")
	if parent != "" && !path.IsAbs(parent) {
		p.fail(name, "the path of a node of ZooKeeper, which begins with /")
	}
	return path.Join("/", parent)
}

// ofOne returns a property of one of several ResourceManagers, whose name ends with id; of the only one if id is "". As
// in Hadoop the property without id says nothing of several: it is left over from before there were any.
func (p *properties) ofOne(id, name, otherwise string) string {
	if id != "" {
		name += "." + id
	}
	return p.text("yarn.resourcemanager."+name, otherwise)
}

// webOf returns the address of the pages of one of several ResourceManagers, host:port.
func webOf(p *properties, id string) string {
	name, port := webName(p)
	return p.ofOne(id, name, net.JoinHostPort(p.ofOne(id, "hostname", "localhost"), port))
}

// localOf returns the id of the ResourceManager whose hostname is a name or an address of this machine; "": there is
// none, or more than one.
func localOf(p *properties, ids []string) (found string) {
	mine := []string{"localhost"}
	if name, err := os.Hostname(); err == nil {
		short, _, _ := strings.Cut(name, ".")
		mine = append(mine, name, short)
	}
	if addresses, err := net.InterfaceAddrs(); err == nil {
		for _, a := range addresses {
			if n, ok := a.(*net.IPNet); ok {
				mine = append(mine, n.IP.String())
			}
		}
	}
	for _, id := range ids {
		if !slices.Contains(mine, p.ofOne(id, "hostname", "")) {
			continue
		}
		if found != "" {
			return ""
		}
		found = id
	}
	return found
}

// zooUser reads the user:password for ZooKeeper, from digest:USER:PASSWORD or from @FILE with that in it; "": there is
// none.
func zooUser(p *properties) string {
	const name = zkPrefix + "auth"
	text := p.text(name, "")
	if file, in := strings.CutPrefix(text, "@"); in {
		read, err := readBounded(file)
		if err != nil {
			p.wrong = append(p.wrong, fmt.Errorf("%s: %w", name, err))
			return ""
		}
		text = strings.TrimSpace(string(read))
	}
	if text == "" {
		return ""
	}
	user, digest := strings.CutPrefix(text, "digest:")
	if before, after, both := strings.Cut(user, ":"); !digest || !both || before == "" || after == "" ||
		strings.Contains(after, ",") {
		p.wrong = append(p.wrong, fmt.Errorf("%s: must be one digest:USER:PASSWORD, without commas, or @FILE with "+
			"that in it", name))
		return ""
	}
	return user
}

// WebAddresses reads from a cluster's configuration where its ResourceManagers serve REST, as http://host:port or
// https://host:port.
func WebAddresses(dir string) (list []string, err error) {
	p, found, err := readProperties(dir, "core-site.xml", "yarn-site.xml")
	if err != nil {
		return nil, err
	}
	if !slices.Contains(found, "yarn-site.xml") {
		return nil, fmt.Errorf("no yarn-site.xml in %s: must be the folder with the cluster's configuration", dir)
	}
	ids := []string{""}
	if p.yes(haPrefix+"enabled", false) {
		ids = idsOf(p)
	}
	scheme := "http://"
	if p.secureWeb() {
		scheme = "https://"
	}
	for _, id := range ids {
		address := webOf(p, id)
		if host, port, err := net.SplitHostPort(address); err == nil && (host == "" || host == "0.0.0.0") {
			address = net.JoinHostPort("localhost", port)
		}
		list = append(list, scheme+address)
	}
	return list, nil
}

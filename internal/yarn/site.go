package yarn

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
)

// Site reads a cluster's own configuration from a folder with core-site.xml, yarn-site.xml and capacity-scheduler.xml
// or fair-scheduler.xml, as they stand. It returns a Config without Core. notes are lines about properties that are
// meant for the ResourceManager, are not understood here, and have no effect.
func Site(dir string) (config Config, notes []string, err error) {
	p, found, err := readProperties(dir, "core-site.xml", "yarn-site.xml", kindsFile, capacityFile)
	if err != nil {
		return config, nil, err
	}
	if !slices.Contains(found, "yarn-site.xml") {
		return config, nil, fmt.Errorf(
			"no yarn-site.xml in %s: must be the folder with the cluster's configuration",
			dir,
		)
	}
	config = p.config(dir)
	config.Shown.Properties = p.said()
	config.Shown.Collects = p.yes("yarn.log-aggregation-enable", false)
	config.Shown.AdminsOnly = p.yes("hadoop.security.instrumentation.requires.admin", false) &&
		p.yes(authorization, false)
	if config.Sizes.Nodes, err = nodeSizes(dir); err != nil {
		return config, nil, err
	}
	var more []string
	config.Queues, more = p.queues(dir, slices.Contains(found, capacityFile))
	if len(config.Queues.Access) > 0 && !config.Access.Lists {
		more = append(
			more,
			fmt.Sprintf("%s: access lists of queues: of no effect, as yarn.acl.enable is not true", dir),
		)
	}
	more = append(more, p.services(dir, &config.Security)...)
	if mapping := p.text("hadoop.security.group.mapping", ""); mapping != "" &&
		!strings.Contains(mapping, "UnixGroups") && config.groupsMatter() {
		more = append(
			more,
			fmt.Sprintf(
				"%s: hadoop.security.group.mapping = %s: not understood; the groups of users are those of the "+
					"operating system",
				p.values["hadoop.security.group.mapping"].file,
				mapping,
			),
		)
	}
	switch class := p.text(classOfRacks, ""); class[strings.LastIndexByte(class, '.')+1:] {
	case "", "ScriptBasedMapping", "TableMapping":
	default:
		more = append(more, fmt.Sprintf("%s: %s = %s: not understood; the racks of hosts are those of %s and %s",
			p.values[classOfRacks].file, p.values[classOfRacks].as, class, scriptOfRacks, tableOfRacks))
	}
	config.Reread = rereadQueues(p, dir)
	config.Access.Reread = func() (Refreshed, error) { return refreshed(dir) }
	return config, append(p.notes(), more...), errors.Join(p.wrong...)
}

// refreshed reads from folder dir the part of the configuration that refresh commands read again.
func refreshed(dir string) (r Refreshed, err error) {
	config, _, err := Site(dir)
	if err != nil {
		return r, err
	}
	return Refreshed{config.Access.Admins, config.Access.Superusers, config.MostPriority, config.Sizes.Nodes}, nil
}

// groupsMatter reports whether access lists, or those of superusers, may name groups.
func (c *Config) groupsMatter() bool {
	for _, one := range c.Access.Superusers {
		if len(one.For.Groups) > 0 {
			return true
		}
	}
	return c.Access.Lists || len(c.Access.Admins.Groups) > 0 || c.Security.Services.grouped()
}

// Properties that say in which racks hosts are: by a class in Java, a script or a table.
const (
	classOfRacks  = "net.topology.node.switch.mapping.impl"
	scriptOfRacks = "net.topology.script.file.name"
	tableOfRacks  = "net.topology.table.file.name"
)

// rereadQueues returns a function that reads the queues from folder dir again. It fails if the file that they were read
// from is not there, as while it is replaced: no queue and no access list must be lost by that. Kinds of resources stay
// those of p, which the ResourceManager has been started with.
func rereadQueues(p *properties, dir string) func() (Queues, error) {
	source := filepath.Join(dir, capacityFile)
	if p.scheduler() == fairScheduler {
		source, _ = fairPath(p, dir)
	}
	_, err := os.Stat(source)
	had, kinds := err == nil, kindsOf(p)
	return func() (Queues, error) {
		if _, err := os.Stat(source); had && err != nil {
			return Queues{}, fmt.Errorf("the queues stay as they are: %w", err)
		}
		p, found, err := readProperties(dir, "core-site.xml", "yarn-site.xml", kindsFile, capacityFile)
		if err != nil {
			return Queues{}, err
		}
		p.other = &kinds
		q, _ := p.queues(dir, slices.Contains(found, capacityFile))
		return q, errors.Join(p.wrong...)
	}
}

// queues reads the queues from the file of the configured scheduler, Hadoop's Capacity Scheduler by default. capacity:
// there is a capacity-scheduler.xml. Only the queues come from the scheduler's file: the policy decides.
func (p *properties) queues(dir string, capacity bool) (q Queues, notes []string) {
	switch p.scheduler() {
	case fairScheduler:
		return p.fairQueues(dir)
	case "CapacityScheduler":
		if capacity {
			return p.capacityQueues(), nil
		}
	case "FifoScheduler":
	default:
		notes = append(
			notes,
			fmt.Sprintf(
				"%s: %s = %s: not understood; the queues are those of the Fifo Scheduler, one named default",
				p.values[schedulerClass].file,
				schedulerClass,
				p.text(schedulerClass, ""),
			),
		)
	}
	return Queues{}, notes
}

// schedulerClass names Hadoop's scheduler by its Java class; fairScheduler is the last part of one.
const schedulerClass, fairScheduler = "yarn.resourcemanager.scheduler.class", "FairScheduler"

// scheduler returns the class name of the configured scheduler, without its package.
func (p *properties) scheduler() string {
	class := p.text(schedulerClass, "CapacityScheduler")
	return class[strings.LastIndexByte(class, '.')+1:]
}

// sizes reads what containers may ask for. The Fair Scheduler may have minima of zero, which are no minima.
func (p *properties) sizes() (s Sizes) {
	const least, most = "yarn.scheduler.minimum-allocation-", "yarn.scheduler.maximum-allocation-"
	limit := func(name, own string, mayBe span) int64 {
		n, said := p.number(name, mayBe)
		if m, also := p.number(kindsName+"."+own, mayBe); also { // which comes first, as in Hadoop
			n, said = m, true
		}
		if said {
			n = max(1, n)
		}
		return n
	}
	from := int64(1)
	if p.scheduler() == fairScheduler {
		from = 0
	}
	const memory, cores = wire.MemoryKind, wire.CoresKind
	s.MinMemory = limit(least+"mb", memory+leastOf, span{from, mostAmount})
	s.MaxMemory = limit(most+"mb", memory+mostOf, span{1, mostAmount})
	s.MinVCores = int32(limit(least+"vcores", cores+leastOf, span{from, mostVCores}))
	s.MaxVCores = int32(limit(most+"vcores", cores+mostOf, span{1, mostVCores}))
	s.Kinds, s.NodesAreTold = kindsOf(p), p.yes("yarn.resourcemanager.auto-update.containers", false)
	full := s.withDefaults()
	p.ordered(least+"mb", most+"mb", full.MinMemory, full.MaxMemory)
	p.ordered(least+"vcores", most+"vcores", int64(full.MinVCores), int64(full.MaxVCores))
	return s
}

// times reads how long peers may be silent, how often nodes beat, and how often keys change.
func (p *properties) times(c *Config) {
	const rm, node = "yarn.resourcemanager.", "yarn.nm.liveness-monitor.expiry-interval-ms"
	const beat, graceful, roll = rm + "nodemanagers.heartbeat-interval-ms",
		rm + "nodemanager-graceful-decommission-timeout-secs", rm + "nm-tokens.master-key-rolling-interval-secs"
	c.Expiry = Expiry{
		Node:      p.millis(node),
		Master:    p.millis("yarn.am.liveness-monitor.expiry-interval-ms"),
		Container: p.millis(rm + "rm.container-allocation.expiry-interval-ms"),
	}
	c.Interval = p.millis(beat)
	if n, said := p.number("yarn.scheduler.skip.node.multiplier", span{1, 1_000_000}); said {
		every := cmp.Or(c.Interval, usualInterval)
		c.Quiet = time.Duration(min(n, int64(mostTime/every))) * every
	}
	silence := cmp.Or(c.Expiry.Node, usualNodeExpiry)
	p.ordered(beat, node, cmp.Or(c.Interval, usualInterval).Milliseconds(), silence.Milliseconds())
	switch n, said := p.number(graceful, span{-1, int64(mostTime / time.Second)}); {
	case n < 0:
		c.Expiry.Graceful = mostTime // as long as it takes
	case said:
		c.Expiry.Graceful = max(time.Nanosecond, time.Duration(n)*time.Second) // zero: at once
	}
	c.Keys.Roll = usualRoll
	if n, said := p.number(roll, span{1, int64(mostTime / time.Second)}); said {
		// A key is used when nodes have had 1.5 times their silence to learn it. As Hadoop, this refuses to roll keys
		// more often than in twice that time.
		if c.Keys.Roll = time.Duration(n) * time.Second; c.Keys.Roll <= 3*silence {
			p.fail(roll, fmt.Sprintf("more than 3 times %s, which is %v", node, silence))
		}
	}
}

// mostApplications is the property with how many applications there may be that are not over, under each scheduler.
const mostApplications = capacityPrefix + "maximum-applications"

// usualRoll is how often keys change by default.
const usualRoll = 24 * time.Hour

// config returns the configuration that the properties describe, except the queues.
func (p *properties) config(dir string) Config {
	const rm = "yarn.resourcemanager."
	several := severalOf(p)
	id := ""
	if several != nil {
		id = several.ID
	}
	host := p.ofOne(id, "hostname", "localhost")
	bind := p.text(rm+"bind-host", "")
	address := func(what, port string) string {
		a := p.ofOne(id, what, net.JoinHostPort(host, port))
		h, port, err := net.SplitHostPort(a)
		if n, odd := strconv.ParseUint(port, 10, 16); err != nil || odd != nil {
			p.fail(rm+what, "host:port, with a port from 0 to 65535")
		} else if port = strconv.Itoa(int(n)); bind != "" {
			return net.JoinHostPort(bind, port)
		} else if h == "" || h == "0.0.0.0" && host == "localhost" {
			return net.JoinHostPort("127.0.0.1", port) // no address was named
		}
		return a
	}
	web, webPort := webName(p)
	c := Config{
		Addresses: Addresses{
			Tracker: address("resource-tracker.address", "8031"),
			Master:  address("scheduler.address", "8030"),
			Client: address(
				"address",
				"8032",
			),
			Admin: address("admin.address", "8033"),
			Web:   address(web, webPort),
		},
		Sizes: p.sizes(),
		Apps: Apps{
			Attempts:     p.count(rm + "am.max-attempts"),
			Most:         int(p.count(mostApplications)),
			TagsKeepCase: !p.yes(rm+"application-tag-based-placement.force-lowercase", true),
		},
		Completed: int(p.count(rm + "max-completed-applications")),
		Web:       webOf(p, id), // as browsers know it
		Kept:      Kept{HA: several},
	}
	p.times(&c)
	most, _ := p.number("yarn.cluster.max-application-priority", span{0, math.MaxInt32})
	c.MostPriority = int32(most)
	included, excluded := p.text(rm+"nodes.include-path", ""), p.text(rm+"nodes.exclude-path", "")
	if included != "" || excluded != "" {
		c.Hosts = func() (Hosts, error) { return readHosts(dir, included, excluded) }
	}
	if path := p.text(tableOfRacks, ""); path != "" {
		text, err := readBounded(path)
		if err == nil {
			c.Racks, err = parseRacks(path, text)
		}
		if err != nil {
			p.wrong = append(p.wrong, err)
		}
	}
	c.RackScript = p.text(scriptOfRacks, "")
	p.access(&c.Access)
	c.Security.Secured = p.secured()
	manager, _, _ := net.SplitHostPort(p.ofOne(id, "address", net.JoinHostPort(host, "8032")))
	read := len(p.wrong)
	c.Security.Kerberos, c.Security.Protections = p.kerberos(manager), protectionsOf(p)
	for _, err := range p.wrong[read:] { // --insecure starts without
		c.Security.Secured, c.Security.Kerberos = append(c.Security.Secured, err.Error()), nil
	}
	p.wrong = p.wrong[:read]
	if p.secureWeb() {
		source := keySourceOf(p, dir)
		c.Security.TLS = &source
	}
	c.Policy = p.policy()
	return c
}

// policy returns the name of the policy that does what the configured scheduler does.
func (p *properties) policy() string {
	switch p.scheduler() {
	case fairScheduler:
		return "fair"
	case "CapacityScheduler":
		return "capacity"
	}
	return "fifo"
}

// openValues are the values of properties of security with which a cluster is open; the first is Hadoop's default.
var openValues = []struct {
	name string
	open []string
}{
	{authentication, []string{"simple", "kerberos"}},
	{webType, []string{"simple"}},
	{"hadoop.ssl.require.client.cert", []string{"false"}},
	{httpPolicy, []string{"HTTP_ONLY", httpsOnly, "HTTP_AND_HTTPS"}},
	{"yarn.authorization-provider", []string{"org.apache.hadoop.yarn.security.ConfiguredYarnAuthorizer"}},
}

// secured lists the settings of security that are not supported, a line each.
func (p *properties) secured() (list []string) {
	for _, one := range openValues {
		value := p.text(one.name, "")
		if one.name == webType && strings.EqualFold(p.text(authentication, ""), "kerberos") {
			one.open = []string{"simple", "kerberos"}
		}
		if value == "" || slices.ContainsFunc(one.open, func(v string) bool { return strings.EqualFold(v, value) }) {
			continue
		}
		file := p.values[one.name].file
		list = append(list, fmt.Sprintf("%s: %s = %s: must be %s", file, one.name, value, one.open[0]))
	}
	for class := range strings.SplitSeq(p.text(webFilters, ""), ",") {
		if class = strings.TrimSpace(class); class != "" && !slices.Contains(openFilters, class) {
			list = append(list, fmt.Sprintf("%s: %s has %s: must be among %s", p.values[webFilters].file, webFilters,
				class, strings.Join(openFilters, ", ")))
		}
	}
	return list
}

// webFilters is the property with the filters of Hadoop's web servers. A filter that is not among openFilters may be
// the one that keeps callers out.
const webFilters = "hadoop.http.filter.initializers"

// openFilters are the filters without which REST is no more open than with them: hadoop.http.authentication.type says
// how callers prove who they are, and answers allow no other origins.
var openFilters = []string{
	"org.apache.hadoop.http.lib.StaticUserWebFilter",
	"org.apache.hadoop.security.AuthenticationFilterInitializer",
	"org.apache.hadoop.security.authentication.server.ProxyUserAuthenticationFilterInitializer",
	"org.apache.hadoop.security.HttpCrossOriginFilterInitializer",
}

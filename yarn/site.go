package yarn

import (
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Site reads a cluster's own configuration from a folder with core-site.xml, yarn-site.xml and capacity-scheduler.xml or fair-scheduler.xml, as they stand.
// What it says goes into a Config without Core; notes say, a line each, which properties for the ResourceManager are not understood here and
// have no effect.
func Site(dir string) (config Config, notes []string, err error) {
	p, found, err := readProperties(dir, "core-site.xml", "yarn-site.xml", capacityFile)
	if err != nil {
		return config, nil, err
	}
	if !slices.Contains(found, "yarn-site.xml") {
		return config, nil, fmt.Errorf("no yarn-site.xml in %s: must be the folder with the cluster's configuration", dir)
	}
	config = p.config(dir)
	var more []string
	config.Queues, more = p.queues(dir, slices.Contains(found, capacityFile))
	config.Reread = func() (Queues, error) { return rereadQueues(dir) }
	return config, append(p.notes(), more...), errors.Join(p.wrong...)
}

// rereadQueues reads what a folder says of the queues now.
func rereadQueues(dir string) (Queues, error) {
	p, found, err := readProperties(dir, "core-site.xml", "yarn-site.xml", capacityFile)
	if err != nil {
		return Queues{}, err
	}
	q, _ := p.queues(dir, slices.Contains(found, capacityFile))
	return q, errors.Join(p.wrong...)
}

// queues reads the queues from the file of the scheduler that is configured: Hadoop's default is the Capacity Scheduler. What decides is the
// policy, whatever they are called.
func (p *properties) queues(dir string, capacity bool) (q Queues, notes []string) {
	const scheduler = "yarn.resourcemanager.scheduler.class"
	class := p.text(scheduler, "CapacityScheduler")
	switch name := class[strings.LastIndexByte(class, '.')+1:]; name {
	case "FairScheduler":
		path := p.text("yarn.scheduler.fair.allocation.file", fairFile)
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		return p.fairQueues(path)
	case "CapacityScheduler":
		if capacity {
			return p.capacityQueues(), nil
		}
	case "FifoScheduler":
	default:
		notes = append(notes, fmt.Sprintf("%s: %s = %s: not understood; the queues are those of the Fifo Scheduler, one named default", p.values[scheduler].file, scheduler, class))
	}
	return Queues{}, notes
}

// config is what the properties say, queues apart.
func (p *properties) config(dir string) Config {
	const rm, scheduler = "yarn.resourcemanager.", "yarn.scheduler."
	host := p.text(rm+"hostname", "localhost")
	bind := p.text(rm+"bind-host", "")
	address := func(what, port string) string {
		a := p.text(rm+what, net.JoinHostPort(host, port))
		if h, port, err := net.SplitHostPort(a); err == nil && bind != "" {
			return net.JoinHostPort(bind, port)
		} else if err != nil {
			p.fail(rm+what, "host:port")
		} else if h == "" || h == "0.0.0.0" && host == "localhost" {
			return net.JoinHostPort("127.0.0.1", port) // no address was named
		}
		return a
	}
	c := Config{
		Addresses: Addresses{Tracker: address("resource-tracker.address", "8031"), Master: address("scheduler.address", "8030"),
			Client: address("address", "8032"), Admin: address("admin.address", "8033"), Web: address("webapp.address", "8088")},
		Sizes: Sizes{MinMemory: p.number(scheduler+"minimum-allocation-mb", 0), MaxMemory: p.number(scheduler+"maximum-allocation-mb", 0),
			MinVCores: p.count(scheduler + "minimum-allocation-vcores"), MaxVCores: p.count(scheduler + "maximum-allocation-vcores")},
		Expiry: Expiry{Node: p.millis("yarn.nm.liveness-monitor.expiry-interval-ms"), Master: p.millis("yarn.am.liveness-monitor.expiry-interval-ms"),
			Container: p.millis(rm + "rm.container-allocation.expiry-interval-ms"),
			Graceful:  time.Duration(p.count(rm+"nodemanager-graceful-decommission-timeout-secs")) * time.Second},
		Attempts:  p.count(rm + "am.max-attempts"),
		Interval:  p.millis(rm + "nodemanagers.heartbeat-interval-ms"),
		Completed: int(p.number(rm+"max-completed-applications", 0)),
		Web:       p.text(rm+"webapp.address", net.JoinHostPort(host, "8088")), // as browsers know it
		Keys:      Keys{Roll: time.Duration(p.number(rm+"nm-tokens.master-key-rolling-interval-secs", 86400)) * time.Second},
	}
	included, excluded := p.text(rm+"nodes.include-path", ""), p.text(rm+"nodes.exclude-path", "")
	if included != "" || excluded != "" {
		c.Hosts = func() (Hosts, error) { return readHosts(dir, included, excluded) }
	}
	if path := p.text("net.topology.table.file.name", ""); path != "" {
		text, err := readBounded(path)
		if err == nil {
			c.Racks, err = parseRacks(path, text)
		}
		if err != nil {
			p.wrong = append(p.wrong, err)
		}
	}
	c.RackScript = p.text("net.topology.script.file.name", "")
	for user := range strings.FieldsFuncSeq(p.text("yarn.admin.acl", ""), func(r rune) bool { return r == ',' || r == ' ' }) {
		if user != "*" { // everybody, which simple mode is already too close to
			c.Admins = append(c.Admins, user)
		}
	}
	return c
}

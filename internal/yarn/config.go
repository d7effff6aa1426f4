package yarn

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os/user"
	"strings"
	"time"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/kerberos"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/rpc"
	"github.com/sojourn-sched/sojourn/sched"
)

// Powers are what this engine can do besides granting containers. It cannot name tasks, because the ApplicationMaster
// chooses the task that runs in a container.
const Powers = sched.CanKill

// Config is the configuration of a ResourceManager. Zero fields mean Hadoop's defaults.
type Config struct {
	Core      sched.Config // policy, estimator, recorder, queues; the engine sets Can and Heartbeats
	Addresses Addresses
	Sizes     Sizes
	Expiry    Expiry
	Keys      Keys
	Apps      Apps
	// Interval is the interval of NodeManagers' heartbeats (yarn.resourcemanager.nodemanagers.heartbeat-interval-ms):
	// 1 s.
	Interval time.Duration
	// Quiet is how long a node may be silent and still get containers
	// (yarn.scheduler.skip.node.multiplier times Interval): three intervals.
	Quiet time.Duration
	// Completed is how many ended applications are remembered (yarn.resourcemanager.max-completed-applications): 1000.
	Completed int
	// MostPriority is the highest priority of an application (yarn.cluster.max-application-priority): 0. A higher one
	// is lowered to it.
	MostPriority int32
	// Racks are the racks of hosts, by address or by name (net.topology.table.file.name). RackScript is a program that
	// prints the rack of the host that is its argument: its address, or its name where that has none
	// (net.topology.script.file.name). All other hosts are in DefaultRack.
	Racks      map[string]string
	RackScript string
	// Queues are the configured queues; Core.Queues may be empty.
	Queues Queues
	// Reread reads Queues again, for refreshQueues; nil: they do not change.
	Reread func() (Queues, error)
	// Hosts reads which hosts may have NodeManagers (yarn.resourcemanager.nodes.include-path and exclude-path); nil:
	// all may.
	Hosts func() (Hosts, error)
	// Access says who may submit, see, change and administer. The access lists of queues are in Queues.
	Access   Access
	Security Security
	// Policy names the policy that does what the configured scheduler does: capacity, fair or fifo.
	Policy string
	// Web is the address of the pages for users, host:port (yarn.resourcemanager.webapp.address): URLs in reports begin
	// with it. By default it is the address at which REST is served.
	Web   string
	Debts Debts
	Room  Room
	// Page serves / of the REST port, and the requests of that page below /static and /api; nil: nothing.
	Page http.Handler
	// Shown is the part of the configuration that REST shows.
	Shown Shown
	Kept  Kept
	Log   *slog.Logger // nil: slog.Default
}

// Apps says how applications are taken.
type Apps struct {
	// Attempts is how many ApplicationMasters of an application may fail (yarn.resourcemanager.am.max-attempts): 2.
	Attempts int32
	// Most is how many applications there may be that are not over (yarn.scheduler.capacity.maximum-applications):
	// 10,000. Further ones are refused.
	Most int
	// TagsKeepCase keeps the case of the tags with which applications are submitted by REST. Else those that are no
	// hints are in lower case, as Hadoop's client library sends tags
	// (yarn.resourcemanager.application-tag-based-placement.force-lowercase).
	TagsKeepCase bool
}

// Debts give access to the debts between queues and users. Both functions are called within a turn.
type Debts struct {
	// Statement returns what was lent and borrowed up to an instant, for REST; nil: no statement is kept.
	Statement func(sched.Time) any
	// Keep saves the debts as of an instant, and writes the record up to its last Step. It is called every five
	// seconds, and at the end, because debts grow even while nothing happens. nil: debts do not outlive the process.
	Keep func(sched.Time)
}

// Security says how callers prove who they are, and how messages are protected.
type Security struct {
	// Secured lists the settings of security in the cluster's files that are not supported here, or are not complete, a
	// line each. Listen then returns an error, unless Insecure is set: an open ResourceManager would give the keys of
	// tokens to any node.
	Secured  []string
	Insecure bool
	// TLS names the key and the certificates for REST over TLS; nil: REST is served without TLS.
	TLS *KeySource
	// Kerberos says how callers prove who they are; nil: callers are trusted.
	Kerberos *Kerberos
	// Protections are the ways in which messages of authenticated callers may be protected (hadoop.rpc.protection), the
	// best first; nil: messages are not protected.
	Protections []Protection
	// Services say who may call which protocol; nil: every user may.
	Services Services
	// Reread reads Services again, for refreshServiceAcls; nil: they do not change.
	Reread func() (Services, error)
}

// Shown is the part of the configuration that REST shows.
type Shown struct {
	User       string     // the user that the process runs as
	Properties []Property // of the files, without the values of secrets
	// Collects says whether NodeManagers collect the logs of applications (yarn.log-aggregation-enable).
	Collects bool
	// AdminsOnly says that only administrators may see /conf and /jmx: hadoop.security.instrumentation.requires.admin
	// is true, and hadoop.security.authorization, without which it does nothing in Hadoop.
	AdminsOnly bool
}

// Check returns the reason why a ResourceManager must not be started with the configuration; nil: there is none.
func (c *Config) Check() error {
	if s := c.Security.TLS; s != nil {
		if s.Path == "" {
			return fmt.Errorf("%s = %s: say %s in ssl-server.xml, or --tls-cert and --tls-key", httpPolicy, httpsOnly,
				storeLocation)
		}
		if _, err := s.Read(); err != nil {
			return err
		}
	}
	if c.Kept.HA != nil && c.Kept.HA.User == "" && !c.Security.Insecure {
		return errors.New("the state in ZooKeeper holds the keys that sign tokens, and anybody could read it: set " +
			"hadoop.zk.auth to digest:USER:PASSWORD, or to @FILE with that in it, or start with --insecure")
	}
	if len(c.Security.Secured) > 0 && !c.Security.Insecure {
		return fmt.Errorf("the cluster is secured in a way that is not supported. Set --insecure to "+
			"start without it, or change\n%s", strings.Join(c.Security.Secured, "\n"))
	}
	if _, _, err := c.Security.mechanisms(); err != nil {
		return err
	}
	_, err := c.hosts()
	return err
}

// hosts reads which hosts may have NodeManagers.
func (c *Config) hosts() (h Hosts, err error) {
	if c.Hosts != nil {
		if h, err = c.Hosts(); err != nil {
			return h, fmt.Errorf("read which hosts may have NodeManagers: %w", err)
		}
	}
	return h, nil
}

// Addresses are the addresses at which the protocols are served, host:port. Hadoop's ports are 8031 for NodeManagers
// (Tracker), 8030 for ApplicationMasters, 8032 for clients, 8033 for operators and 8088 for REST. Without an address,
// REST is not served.
type Addresses struct{ Tracker, Master, Client, Admin, Web string }

// Expiry says how long the ResourceManager waits for peers.
type Expiry struct {
	Node   time.Duration // silence of a node (yarn.nm.liveness-monitor.expiry-interval-ms): 10 minutes
	Master time.Duration // silence of an ApplicationMaster (yarn.am.liveness-monitor.expiry-interval-ms): 15 minutes
	// Container: from when an ApplicationMaster is told of a container until the container runs
	// (yarn.resourcemanager.rm.container-allocation.expiry-interval-ms): 10 minutes.
	Container time.Duration
	Finish    time.Duration // until an ApplicationMaster ends that has said that its application is over: 15 minutes
	Launch    time.Duration // until a NodeManager is reached to start an ApplicationMaster: 3 minutes
	// Graceful: the longest graceful decommission of a node
	// (yarn.resourcemanager.nodemanager-graceful-decommission-timeout-secs): 1 hour.
	Graceful time.Duration
}

// Keys says when the keys that sign tokens change.
type Keys struct {
	Roll  time.Duration // how long a key is used; zero: for ever
	Delay time.Duration // from when a new key is sent to nodes until it signs: 1.5 times Expiry.Node
}

// Hadoop's defaults of two properties, with which other properties are compared.
const (
	usualNodeExpiry = 10 * time.Minute
	usualInterval   = time.Second
)

// mostVCores bounds the virtual cores of a container in configuration files.
const mostVCores = 1 << 20

// GrantsPerStep is how many containers a Step grants at most, unless Config.Core.Limit says otherwise. The rest of a
// large ask follows in the next turns, so that other callers wait for one Step only: about 10 ms. Records keep the
// limit, because a replay needs it.
const GrantsPerStep = 1000

// quietBeats is how many heartbeats of a node may be missing until it gets no containers, unless Config.Quiet says
// otherwise. Hadoop's multiplier is 2.
const quietBeats = 3

// withDefaults returns the sizes with Hadoop's defaults for zero fields, and a kind of the core for each kind.
func (s Sizes) withDefaults() Sizes {
	s.MinMemory, s.MaxMemory = cmp.Or(s.MinMemory, 1024), cmp.Or(s.MaxMemory, 8192)
	s.MinVCores, s.MaxVCores = cmp.Or(s.MinVCores, 1), cmp.Or(s.MaxVCores, 4)
	s.Kinds = placed(s.Kinds)
	return s
}

// withDefaults returns the configuration with defaults for zero fields, and with what follows from others: the user of
// this process, which administers the cluster, and the configuration of the core.
func (c Config) withDefaults() *Config {
	c.Sizes = c.Sizes.withDefaults()
	e := &c.Expiry
	*e = Expiry{cmp.Or(e.Node, usualNodeExpiry), cmp.Or(e.Master, 15*time.Minute), cmp.Or(e.Container, 10*time.Minute),
		cmp.Or(e.Finish, 15*time.Minute), cmp.Or(e.Launch, 3*time.Minute), cmp.Or(e.Graceful, time.Hour)}
	c.Keys.Delay = cmp.Or(c.Keys.Delay, e.Node*3/2)
	c.Apps.Attempts, c.Apps.Most = cmp.Or(c.Apps.Attempts, 2), cmp.Or(c.Apps.Most, 10_000)
	c.Interval = cmp.Or(c.Interval, usualInterval)
	c.Quiet = cmp.Or(c.Quiet, quietBeats*c.Interval)
	c.Completed = cmp.Or(c.Completed, 1000)
	c.Web = cmp.Or(c.Web, c.Addresses.Web, "localhost:8088")
	if c.Log == nil {
		c.Log = slog.Default()
	}
	if me, err := user.Current(); err == nil {
		c.Shown.User = me.Username
		c.Access.Admins = c.Access.Admins.with(me.Username)
	}
	if c.Access.Groups == nil {
		c.Access.Groups = systemGroups
	}
	c.Core.Can, c.Core.Heartbeats = Powers, false
	c.Core.Limit = cmp.Or(c.Core.Limit, GrantsPerStep)
	c.Core.Spread = !c.Room.Pack
	if len(c.Queues.Tree) == 0 {
		c.Queues.Tree = c.Core.Queues
	}
	c.Queues.withDefaults()
	c.Core.Queues = c.Queues.Tree
	return &c
}

// Kerberos says how callers prove who they are on a secured cluster (hadoop.security.authentication=kerberos).
type Kerberos struct {
	Principal kerberos.Name // of the ResourceManager: callers need a ticket for it
	Keytab    string
	Names     *kerberos.Rules // from principals to local users
	// Nodes is the principal of NodeManagers. Its host may be _HOST: the name of the calling host.
	Nodes kerberos.Name
	// Web is the principal of REST: callers need a ticket for it (SPNEGO). The zero Name: callers need no ticket, and
	// REST allows no changes.
	Web       kerberos.Name
	WebKeytab string
}

// A Protection is a way to protect the messages of authenticated callers.
type Protection = rpc.Protection

// Services say who may call each protocol, by the protocol's Java name (hadoop.security.authorization and
// hadoop-policy.xml). No user may call a protocol that the map does not have.
type Services map[string]Service

// grouped reports whether a list names a group.
func (s Services) grouped() bool {
	for _, one := range s {
		if len(one.Allowed.Groups)+len(one.Blocked.Groups) > 0 {
			return true
		}
	}
	return false
}

// A Service says who may call a protocol, and from which hosts: the users on Allowed and not on Blocked, from the
// addresses on Hosts and not on BlockedHosts.
type Service struct {
	Allowed, Blocked    ACL
	Hosts, BlockedHosts []string // addresses, ranges of addresses as 10.0.0.0/8, or names; * alone is everywhere
}

// Room says how much nodes offer, if a service beside the NodeManagers leaves only a part of their machines, and in
// which order nodes are filled. When a node comes to offer less, its containers stay, and it gets no others until they
// fit.
type Room struct {
	// Pack fills one node before the next, in the order in which they have joined. Else containers go round the nodes
	// with room, as under Hadoop's schedulers.
	Pack bool
	// Part returns the part of each node that the service leaves at an instant, and when that changes; zero: never.
	// nil: the nodes offer all.
	Part func(at time.Time) (part float64, until time.Time)
	// Measured lets nodes offer fewer vcores while processes other than containers use the processors, by the nodes'
	// heartbeats: the machine's use less the containers' use, averaged so that the newest report counts for a half.
	Measured bool
	// Since is when the core's clock starts, from which a forecast of Part counts; zero: when the ResourceManager
	// starts.
	Since time.Time
	// Classes has the names of the classes of hosts with special hardware, by host, for policies that distinguish
	// nodes. The class of any other node follows from its size.
	Classes map[string]string
}

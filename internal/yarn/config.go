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

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
	"github.com/sojourn-sched/sojourn/sched"
)

// Powers are what this engine can do beyond launching: tasks are the ApplicationMaster's to choose.
const Powers = sched.CanKill

// Config is what a ResourceManager is made from. Zero fields mean Hadoop's defaults.
type Config struct {
	Core      sched.Config // policy, estimator, recorder, queues; Can and Heartbeats are the engine's
	Addresses Addresses
	Sizes     Sizes
	Expiry    Expiry
	Keys      Keys
	// Attempts is how many ApplicationMasters an application may use up (yarn.resourcemanager.am.max-attempts): 2.
	Attempts int32
	// Interval is how often NodeManagers beat (yarn.resourcemanager.nodemanagers.heartbeat-interval-ms): 1 s.
	Interval time.Duration
	// Quiet is how long a node may be silent and still get containers
	// (yarn.scheduler.skip.node.multiplier times Interval): three intervals.
	Quiet time.Duration
	// Completed is how many applications that are over are still told of
	// (yarn.resourcemanager.max-completed-applications): 1000.
	Completed int
	// MostPriority is the most that an application's priority may be (yarn.cluster.max-application-priority): 0. What
	// is said beyond is this.
	MostPriority int32
	// Racks are the racks of hosts (net.topology.table.file.name). RackScript is a program that tells the rack of the
	// host that is its argument (net.topology.script.file.name). A host that neither names is in
	// DefaultRack.
	Racks      map[string]string
	RackScript string
	// Queues are those that there are, which Core need not say.
	Queues Queues
	// Reread reads Queues anew, for refreshQueues; nil: they do not change.
	Reread func() (Queues, error)
	// Hosts reads which hosts may have NodeManagers (yarn.resourcemanager.nodes.include-path and exclude-path); nil:
	// all may.
	Hosts func() (Hosts, error)
	// Access says who may submit, see, change and administer. What queues say of that is in Queues.
	Access   Access
	Security Security
	// Policy names the policy that does what the configured scheduler does: capacity, fair or fifo.
	Policy string
	// Web is where the pages are said to be, host:port (yarn.resourcemanager.webapp.address): URLs of reports begin
	// with it. By default it is where REST is served.
	Web   string
	Debts Debts
	Room  Room
	// Page serves / of the REST port, and what that page asks for below /static and /api; nil: nothing.
	Page http.Handler
	// Shown is what REST shows of the configuration.
	Shown Shown
	Kept  Kept
	Log   *slog.Logger // nil: slog.Default
}

// Debts are between queues and users. Both functions are called within a turn.
type Debts struct {
	// Statement returns what was lent and borrowed up to an instant, for REST; nil: no statement is kept.
	Statement func(sched.Time) any
	// Keep is told every five seconds, and at the end, that the cluster has come to an instant: debts grow while
	// nothing happens. nil: none outlive the process.
	Keep func(sched.Time)
}

// Security is what the cluster's files say of it.
type Security struct {
	// Secured lists, a line each, what the files say of security that is not supported here, or is not complete: with
	// it, Listen refuses, unless Insecure is set. An open ResourceManager would hand the keys of tokens to any node.
	Secured  []string
	Insecure bool
	// TLS says where the key and the certificates are with which REST is served by TLS; nil: it is served without.
	TLS *KeySource
	// Kerberos says how callers prove who they are; nil: they are believed.
	Kerberos *Kerberos
	// Protections are how messages are protected whose senders prove who they are (hadoop.rpc.protection), the best
	// first; nil: not at all.
	Protections []Protection
	// Services say who may call which protocol; nil: every user may.
	Services Services
	// Reread reads Services anew, for refreshServiceAcls; nil: they do not change.
	Reread func() (Services, error)
}

// Shown is what REST shows of the configuration.
type Shown struct {
	User       string     // that the process runs as
	Properties []Property // of the files, without the values of secrets
	// Collects is whether NodeManagers collect the logs of applications (yarn.log-aggregation-enable).
	Collects bool
}

// A Property is one of Hadoop's configuration files.
type Property struct {
	Name  string `json:"key" xml:"name"`
	Value string `json:"value" xml:"value"`
	Final bool   `json:"isFinal" xml:"final"`
	File  string `json:"resource" xml:"source"`
}

// Check returns why no ResourceManager is started with the configuration; nil: it may be.
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
	if len(c.Security.Secured) == 0 || c.Security.Insecure {
		return nil
	}
	return fmt.Errorf("the cluster is secured in a way that is not supported. Set --insecure to "+
		"start without it, or change\n%s", strings.Join(c.Security.Secured, "\n"))
}

// Addresses are where the protocols are served, host:port. Hadoop's ports are 8031 for NodeManagers, 8030 for
// ApplicationMasters, 8032 for clients, 8033 for operators and 8088 for REST, which is not served where no address is
// given.
type Addresses struct{ Tracker, Master, Client, Admin, Web string }

// Sizes bound what a container may ask for, and say what nodes have.
type Sizes struct {
	MinMemory, MaxMemory int64 // MiB (yarn.scheduler.minimum- and maximum-allocation-mb): 1024 and 8192
	MinVCores, MaxVCores int32 // yarn.scheduler.minimum- and maximum-allocation-vcores: 1 and 4
	// Kinds are kinds of resources beyond memory and cores (yarn.resource-types), at most four.
	Kinds []Kind
	// NodesAreTold: nodes are told of containers that are to have more, as they are of those that are to have less
	// (yarn.resourcemanager.auto-update.containers). Else ApplicationMasters tell them.
	NodesAreTold bool
	// Nodes says, by host:port, what nodes have, whatever they say themselves (dynamic-resources.xml).
	Nodes map[string]wire.Resource
}

// Expiry is how long silence is borne.
type Expiry struct {
	Node   time.Duration // yarn.nm.liveness-monitor.expiry-interval-ms: 10 minutes
	Master time.Duration // yarn.am.liveness-monitor.expiry-interval-ms: 15 minutes
	// from being handed out to running (yarn.resourcemanager.rm.container-allocation.expiry-interval-ms): 10 minutes
	Container time.Duration
	Finish    time.Duration // from an application's saying that it is over to its ApplicationMaster's end: 15 minutes
	Launch    time.Duration // of attempts to reach a NodeManager for an ApplicationMaster: 3 minutes
	// from being excluded gracefully to being ended
	// (yarn.resourcemanager.nodemanager-graceful-decommission-timeout-secs): 1 hour
	Graceful time.Duration
}

// Keys says when the keys that sign tokens change.
type Keys struct {
	Roll  time.Duration // zero: never
	Delay time.Duration // from being offered to being used: 1.5 times Expiry.Node
}

// Hadoop's defaults that a configuration is checked against.
const (
	usualNodeExpiry = 10 * time.Minute
	usualInterval   = time.Second
)

// mostVCores bounds the virtual cores that files say of a container.
const mostVCores = 1 << 20

// GrantsPerStep is how many containers a Step grants at most, unless Config.Core.Limit says otherwise. The rest of a
// large ask follows in the next turns, so that other callers wait for one Step only: about 10 ms. Records keep the
// limit, because a replay needs it.
const GrantsPerStep = 1000

// quietBeats is how many heartbeats of a node may be missing until it gets no containers, unless Config.Quiet says
// otherwise. Hadoop's multiplier is 2.
const quietBeats = 3

func (s Sizes) withDefaults() Sizes {
	s.MinMemory, s.MaxMemory = cmp.Or(s.MinMemory, 1024), cmp.Or(s.MaxMemory, 8192)
	s.MinVCores, s.MaxVCores = cmp.Or(s.MinVCores, 1), cmp.Or(s.MaxVCores, 4)
	s.Kinds = placed(s.Kinds)
	return s
}

func (c Config) withDefaults() *Config {
	c.Sizes = c.Sizes.withDefaults()
	e := &c.Expiry
	*e = Expiry{cmp.Or(e.Node, usualNodeExpiry), cmp.Or(e.Master, 15*time.Minute), cmp.Or(e.Container, 10*time.Minute),
		cmp.Or(e.Finish, 15*time.Minute), cmp.Or(e.Launch, 3*time.Minute), cmp.Or(e.Graceful, time.Hour)}
	c.Keys.Delay = cmp.Or(c.Keys.Delay, e.Node*3/2)
	c.Attempts = cmp.Or(c.Attempts, 2)
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

package yarn

import (
	"time"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/rpc"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/zoo"
)

// Kept says where the state is stored that outlives the process: in a file, or in ZooKeeper; else it is not stored.
type Kept struct {
	File string
	// HA says which of several ResourceManagers this is; nil: it is the only one. With HA, Active is what Stand has
	// returned, and the state is stored in ZooKeeper, not in File.
	HA     *HA
	Active *Active
}

// where returns the place of the state, for messages.
func (k *Kept) where() string {
	if k.Active != nil {
		return "ZooKeeper, " + k.Active.config.State
	}
	return k.File
}

// HA says which of several ResourceManagers this is (yarn.resourcemanager.ha.enabled).
type HA struct {
	ID, Cluster string            // yarn.resourcemanager.ha.id and cluster-id
	Peers       map[string]string // by id: the address of each ResourceManager's pages, host:port
	ZooKeeper   []string          // host:port (hadoop.zk.address)
	// Timeout is how long the active ResourceManager may be silent (hadoop.zk.timeout-ms): 5 s. ZooKeeper may change
	// it.
	Timeout time.Duration
	// User is the user:password for ZooKeeper (hadoop.zk.auth); "": every user can read the state there.
	User string
	// Lock and State are the paths of the lock and of the state in ZooKeeper. The lock is that of Hadoop's
	// ResourceManagers, so that one of them and one of these are never active at the same time.
	Lock, State string
}

// usualSession is the default of HA.Timeout. Hadoop's is 10 s.
const usualSession = 5 * time.Second

// An Active is the right to be the active ResourceManager. A nil Active belongs to the only ResourceManager.
type Active struct {
	session *zoo.Session
	lease   *zoo.Lease
	config  *HA
}

// valid reports whether this ResourceManager is active, and so may answer. The only one always is.
func (a *Active) valid() bool { return a == nil || a.lease.Held() }

// lost returns a channel that is closed when this ResourceManager is not active any more.
func (a *Active) lost() <-chan struct{} {
	if a == nil {
		return nil
	}
	return a.lease.Lost()
}

// inZooKeeper names the store of several ResourceManagers.
const inZooKeeper = "zookeeper"

// standbyError returns the error with which a standby answers. Peers then try the next ResourceManager.
func standbyError(id string) error {
	return rpc.Errorf("org.apache.hadoop.ipc.StandbyException", "ResourceManager %s is not Active!", id)
}

package yarn

import (
	"time"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/rpc"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/zoo"
)

// Kept says where what outlives the process is kept: in a file, or in ZooKeeper. Where it says neither, nothing does.
type Kept struct {
	File string
	// HA says which of several ResourceManagers this is; nil: there is one. Active is then what Stand has returned: the
	// state is kept in ZooKeeper, not in File.
	HA     *HA
	Active *Active
}

// HA says which of several ResourceManagers this is (yarn.resourcemanager.ha.enabled).
type HA struct {
	ID, Cluster string            // yarn.resourcemanager.ha.id and cluster-id
	Peers       map[string]string // where the pages of each are, host:port, by id
	ZooKeeper   []string          // host:port (hadoop.zk.address)
	// Timeout is how long the active one may be silent (hadoop.zk.timeout-ms): 5 s. ZooKeeper may change it.
	Timeout time.Duration
	// User is user:password, as which ZooKeeper is used (hadoop.zk.auth); "": what is kept there is open to all.
	User string
	// Lock and State are where the lock and the state are in ZooKeeper. The lock is that of Hadoop's ResourceManagers,
	// so one of them is never active beside one of these.
	Lock, State string
}

// usualSession is how long the active one may be silent where nothing is said. Hadoop's is 10 s.
const usualSession = 5 * time.Second

// An Active is the right to be the active ResourceManager.
type Active struct {
	session *zoo.Session
	lease   *zoo.Lease
	config  *HA
}

// held reports whether this ResourceManager may answer; one that is alone may.
func (a *Active) held() bool { return a == nil || a.lease.Held() }

// lost is closed when this one is not active any more; one that is alone always is.
func (a *Active) lost() <-chan struct{} {
	if a == nil {
		return nil
	}
	return a.lease.Lost()
}

// inZooKeeper names the store of several ResourceManagers.
const inZooKeeper = "zookeeper"

// standbyError is what a standby answers, on which peers try the next.
func standbyError(id string) error {
	return rpc.Errorf("org.apache.hadoop.ipc.StandbyException", "ResourceManager %s is not Active!", id)
}

package yarn

import (
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/hadoopstore"
)

// A HadoopStore is where Hadoop's ResourceManager keeps its state over restarts: a folder of this machine, or
// ZooKeeper.
type HadoopStore struct {
	Folder    string   // in the form of yarn.resourcemanager.fs.state-store.uri
	ZooKeeper []string // host:port (hadoop.zk.address); nil: it is in Folder
	User      string   // user:password for ZooKeeper (hadoop.zk.auth); "": any user can read it
	Parent    string   // the node in ZooKeeper (yarn.resourcemanager.zk-state-store.parent-path)
}

// anybody stands for all users in access lists of ZooKeeper.
const anybody = "world:anyone"

// SiteStore reads from a cluster's own configuration where Hadoop's ResourceManager keeps its state.
func SiteStore(dir string) (s HadoopStore, err error) {
	p, _, err := readProperties(dir, "core-site.xml", "yarn-site.xml")
	if err != nil {
		return s, err
	}
	const (
		class    = "yarn.resourcemanager.store.class"
		uri      = "yarn.resourcemanager.fs.state-store.uri"
		recovery = "yarn.resourcemanager.recovery.enabled"
	)
	if !p.yes(recovery, false) {
		return s, fmt.Errorf("%s: %s is not true: Hadoop's ResourceManager neither keeps its state nor starts from one",
			dir, recovery)
	}
	named := p.text(class, "FileSystemRMStateStore")
	switch named[strings.LastIndexByte(named, '.')+1:] {
	case "ZKRMStateStore":
		s.ZooKeeper, s.User, s.Parent = zooServers(p), zooUser(p), zooParent(p)
		acl := p.text(zkPrefix+"acl", p.text("yarn.resourcemanager.zk-acl", anybody))
		if s.User == "" && !strings.Contains(acl, anybody) {
			return s, fmt.Errorf("%s: %sacl is %s, and %sauth is not set: it must be digest:USER:PASSWORD, or anybody "+
				"could read the keys of tokens", dir, zkPrefix, acl, zkPrefix)
		}
	case "FileSystemRMStateStore":
		if s.Folder = p.text(uri, ""); s.Folder == "" {
			return s, fmt.Errorf("%s: %s is not set: name the folder of Hadoop's store", dir, uri)
		}
		if there := p.text("fs.defaultFS", "file:///"); strings.HasPrefix(s.Folder, "/") {
			s.Folder = strings.TrimSuffix(there, "/") + s.Folder
		}
		s.Folder, err = LocalFolder(s.Folder)
	default:
		return s, fmt.Errorf("%s: %s is %s, must be FileSystemRMStateStore or ZKRMStateStore", dir, class, named)
	}
	if len(p.wrong) > 0 {
		return s, p.wrong[0]
	}
	return s, err
}

// LocalFolder returns the folder that a path or a file: URI names.
func LocalFolder(named string) (string, error) {
	u, err := url.Parse(named)
	if err != nil || u.Scheme == "" {
		return named, nil
	}
	if u.Scheme != "file" {
		return "", fmt.Errorf("%s: must be a folder of this machine: copy it with hdfs dfs -get or -put, and name the "+
			"copy", named)
	}
	return u.Path, nil
}

// HasState reports whether a ResourceManager of Hadoop's has left a state in a folder of this machine.
func (s HadoopStore) HasState() bool {
	if s.Folder == "" {
		return false
	}
	apps, err := os.ReadDir(hadoopstore.Apps(s.Folder))
	return err == nil && len(apps) > 0
}

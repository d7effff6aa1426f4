package yarn

import (
	"fmt"
	"os"
	"path"
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
		acl := p.text(zkPrefix+"acl", anybody)
		if s.User == "" && !strings.Contains(acl, anybody) {
			return s, fmt.Errorf("%s: %s is %s, and %sauth is not set: it must be digest:USER:PASSWORD, or anybody "+
				"could read the keys of tokens", dir, p.values[zkPrefix+"acl"].as, acl, zkPrefix)
		}
	case "FileSystemRMStateStore":
		folder := p.raw(uri, "")
		if folder == "" {
			return s, fmt.Errorf("%s: %s is not set: name the folder of Hadoop's store", dir, uri)
		}
		there := p.text("fs.defaultFS", "file:///")
		if own, _, _ := splitPath(folder); own == "" && !strings.HasPrefix(there, "file:") {
			return s, notLocal(folder + " of " + there)
		}
		s.Folder, err = LocalFolder(folder)
	default:
		return s, fmt.Errorf("%s: %s is %s, must be FileSystemRMStateStore or ZKRMStateStore", dir, class, named)
	}
	if len(p.wrong) > 0 {
		return s, p.wrong[0]
	}
	return s, err
}

// LocalFolder returns the folder that a path or a file: URI names, as Hadoop's Path has it. A %20 is no space: nothing
// in a name is encoded, and ? and # are characters as all others.
func LocalFolder(named string) (string, error) {
	scheme, host, folder := splitPath(named)
	switch {
	case scheme != "" && scheme != "file":
		return "", notLocal(named)
	case host != "" || scheme != "" && !path.IsAbs(folder):
		return "", fmt.Errorf("%s: must be an absolute path, or file:// and an absolute path, without a host", named)
	}
	return path.Clean(folder), nil
}

// splitPath splits a name as Hadoop's Path does: scheme:, if it is before the first /, then //host, and the rest.
func splitPath(named string) (scheme, host, rest string) {
	rest = named
	if i := strings.IndexAny(named, ":/"); i > 0 && named[i] == ':' {
		scheme, rest = named[:i], named[i+1:]
	}
	if after, ok := strings.CutPrefix(rest, "//"); ok {
		host, rest, _ = strings.Cut(after, "/")
		rest = "/" + rest
	}
	return scheme, host, rest
}

func notLocal(named string) error {
	return fmt.Errorf("%s: must be a folder of this machine: copy it with hdfs dfs -get or -put, and name the copy",
		named)
}

// HasState reports whether a ResourceManager of Hadoop's has left a state in a folder of this machine.
func (s HadoopStore) HasState() bool {
	if s.Folder == "" {
		return false
	}
	apps, err := os.ReadDir(hadoopstore.Apps(s.Folder))
	return err == nil && len(apps) > 0
}

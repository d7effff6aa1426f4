package yarn

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A store's folder is named as Hadoop's Path has it: nothing is encoded, and of the default file system only the scheme
// counts. The wanted folders are those of Hadoop's RawLocalFileSystem.pathToFile.
func TestStoreFolder(t *testing.T) {
	for _, c := range []struct{ system, named, folder, wrong string }{
		{"", "file:///a%20b", "/a%20b", ""},
		{"", "file:///a b", "/a b", ""},
		{"", "file:/a%20b/", "/a%20b", ""},
		{"", "file:////a//b", "/a/b", ""},
		{"", "file:///a?b#c", "/a?b#c", ""},
		{"", "file:///a%zz", "/a%zz", ""},
		{"", "file:/a:b", "/a:b", ""},
		{"", "/a%20b+c", "/a%20b+c", ""},
		{"", "/a:b", "/a:b", ""},
		{"", "/a/../b", "/b", ""},
		{"", "///x/y", "/x/y", ""},
		{"", "/a ", "/a ", ""},
		{"", "a/b", "a/b", ""},
		{"file:///base", "/a", "/a", ""},
		{"hdfs://nn", "file:///a", "/a", ""},
		{"hdfs://nn", "/a", "", "/a of hdfs://nn: must be a folder of this machine: copy it"},
		{"hdfs://nn", "a", "", "a of hdfs://nn: must be a folder of this machine: copy it"},
		{"nn:8020", "/a", "", "/a of nn:8020: must be a folder of this machine: copy it"},
		{"", "hdfs://nn/a", "", "hdfs://nn/a: must be a folder of this machine: copy it"},
		{"", "FILE:///a", "", "FILE:///a: must be a folder of this machine"},
		{"", "file://localhost/a", "", "file://localhost/a: must be an absolute path, or file:// and"},
		{"", "file:a/b", "", "file:a/b: must be an absolute path"},
		{"", "//x/y", "", "//x/y: must be an absolute path"},
	} {
		lines := "yarn.resourcemanager.recovery.enabled=true"
		if c.system != "" {
			lines += "\nfs.defaultFS=" + c.system
		}
		dir := site(t, lines)
		text := "<configuration><property><name>yarn.resourcemanager.fs.state-store.uri</name><value>" + c.named +
			"</value></property></configuration>"
		if err := os.WriteFile(filepath.Join(dir, "core-site.xml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := SiteStore(dir)
		switch {
		case c.wrong == "" && (err != nil || got.Folder != c.folder):
			t.Errorf("%q of %q: %q, %v, want %q", c.named, c.system, got.Folder, err, c.folder)
		case c.wrong != "" && (err == nil || !strings.HasPrefix(err.Error(), c.wrong)):
			t.Errorf("%q of %q: %q, %v, want %q", c.named, c.system, got.Folder, err, c.wrong)
		}
	}
}

// The node of ZooKeeper that the state is below may be the root, which an empty value means in Hadoop, too.
func TestStoreNode(t *testing.T) {
	const zk = "yarn.resourcemanager.recovery.enabled=true\nyarn.resourcemanager.store.class=ZKRMStateStore\n" +
		"hadoop.zk.address=z:1\nyarn.resourcemanager.zk-state-store.parent-path="
	for parent, want := range map[string]string{"": "/", "/": "/", "/a/b": "/a/b"} {
		if got, err := SiteStore(site(t, zk+parent)); err != nil || got.Parent != want {
			t.Errorf("%q: %q, %v, want %s", parent, got.Parent, err, want)
		}
	}
	if _, err := SiteStore(site(t, zk+"a")); err == nil || !strings.Contains(err.Error(),
		`parent-path is "a": must be the path of a node of ZooKeeper, which begins with /`) {
		t.Errorf("a relative path: %v", err)
	}
}

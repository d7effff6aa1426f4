package yarn

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// An old name of a property is the new one, as in Hadoop 3.4.2: the later of the two counts, in one file as in two, and
// a final one of either name stays. Core is core-site.xml, which comes before yarn-site.xml.
func TestOldNames(t *testing.T) {
	const older, newer = "<name>yarn.resourcemanager.zk-address</name>", "<name>hadoop.zk.address</name>"
	one := func(name, value string) string {
		return "<property>" + name + "<value>" + value + "</value></property>"
	}
	final := func(name, value string) string {
		return "<property>" + name + "<value>" + value + "</value><final>true</final></property>"
	}
	for _, c := range []struct{ core, yarn, want string }{
		{"", one(older, "old:1"), "old:1"},
		{"", one(older, "old:1") + one(newer, "new:1"), "new:1"},
		{"", one(newer, "new:1") + one(older, "old:1"), "old:1"},
		{one(older, "old:1"), one(newer, "new:1"), "new:1"},
		{one(newer, "new:1"), one(older, "old:1"), "old:1"},
		{final(older, "old:1"), one(newer, "new:1"), "old:1"},
		{final(newer, "new:1"), one(older, "old:1"), "new:1"},
		{"", final(newer, "new:1") + one(older, "old:1"), "new:1"},
		{"", one("<name>z</name>", "${yarn.resourcemanager.zk-address}") + one(newer, "new:1"), "new:1"},
		{"", one("<name>z</name>", "${hadoop.zk.address}") + one(older, "old:1"), "old:1"},
	} {
		dir := t.TempDir()
		for name, text := range map[string]string{"core-site.xml": c.core, "yarn-site.xml": c.yarn} {
			text = "<configuration>" + text + "</configuration>"
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		p, _, err := readProperties(dir, "core-site.xml", "yarn-site.xml")
		if err != nil {
			t.Fatal(err)
		}
		if got := zooServers(p); len(got) != 1 || got[0] != c.want || p.text("z", c.want) != c.want {
			t.Errorf("%s, then %s: %q and %q, want %s", c.core, c.yarn, got, p.text("z", c.want), c.want)
		}
	}
	for old, renewed := range newNames {
		p, _, err := readProperties(site(t, old+"=x"), "yarn-site.xml")
		if err != nil || p.text(renewed, "") != "x" || len(p.values) != 1 {
			t.Errorf("%s is %q as %s, %v; want x", old, p.text(renewed, ""), renewed, err)
		}
	}
}

// Messages have the name that is in the file.
func TestOldNamesInMessages(t *testing.T) {
	const store = "yarn.resourcemanager.recovery.enabled=true\nyarn.resourcemanager.store.class="
	config, _, err := Site(site(t, "topology.script.file.name=/bin/racks"))
	if err != nil || config.RackScript != "/bin/racks" {
		t.Errorf("the script is %q, %v; want /bin/racks", config.RackScript, err)
	}
	for lines, want := range map[string]string{
		"topology.node.switch.mapping.impl=org.example.Racks": "topology.node.switch.mapping.impl = org.example." +
			"Racks: not understood",
		"yarn.resourcemanager.system-metrics-publisher.enabled=true": "yarn.resourcemanager.system-metrics-publisher." +
			"enabled = true: of no effect: " + noTimeline,
		"yarn.resourcemanager.display.per-user-apps=true": "yarn.resourcemanager.display.per-user-apps = true: of no " +
			"effect: lists name",
		"hadoop.http.rmwebapp.scheduler.page.class=X": "hadoop.http.rmwebapp.scheduler.page.class = X: of no effect: " +
			noJava,
	} {
		_, notes, err := Site(site(t, lines))
		if err != nil || len(notes) != 1 || !strings.Contains(notes[0], "yarn-site.xml: "+want) {
			t.Errorf("%s: %q, %v; want %s", lines, notes, err, want)
		}
	}
	for lines, want := range map[string]string{
		"ZKRMStateStore\nyarn.resourcemanager.zk-address=z/a": `resourcemanager.zk-address is "z/a": must be `,
		"ZKRMStateStore\nyarn.resourcemanager.zk-address=z:1\nyarn.resourcemanager.zk-acl=sasl:rm:rwcda": "yarn." +
			"resourcemanager.zk-acl is sasl:rm:rwcda, and hadoop.zk.auth is not set",
		"FileSystemRMStateStore\nyarn.resourcemanager.fs.state-store.uri=/a\nfs.default.name=hdfs://nn": "/a of " +
			"hdfs://nn: must be a folder of this machine",
	} {
		if _, err := SiteStore(site(t, store+lines)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", lines, err, want)
		}
	}
}

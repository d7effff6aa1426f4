package yarn

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sojourn-sched/sojourn/sched"
)

func site(t *testing.T, properties string) string {
	t.Helper()
	return siteIn(t, t.TempDir(), properties)
}

// siteIn writes a yarn-site.xml with properties, NAME=VALUE lines, into a folder, and returns the folder.
func siteIn(t *testing.T, dir, properties string) string {
	t.Helper()
	text := "<?xml version=\"1.0\"?>\n<configuration>\n"
	for line := range strings.Lines(properties) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			text += "<property><name>" + name + "</name><value>" + value + "</value></property>\n"
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "yarn-site.xml"), []byte(text+"</configuration>\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestSite(t *testing.T) {
	config, notes, err := Site(site(t, `
		domain=example.org
		yarn.resourcemanager.hostname=rm.${domain}
		yarn.resourcemanager.scheduler.address=10.0.0.1:9030
		yarn.scheduler.minimum-allocation-mb=256
		yarn.scheduler.maximum-allocation-vcores=16
		yarn.nm.liveness-monitor.expiry-interval-ms=5000
		yarn.am.liveness-monitor.expiry-interval-ms=2m
		yarn.resourcemanager.am.max-attempts=3
		yarn.admin.acl=*,ops admins
		yarn.resourcemanager.scheduler.class=org.example.Other
		yarn.cluster.max-application-priority=7
		yarn.resourcemanager.connect.retry-interval.ms=1000
		yarn.nodemanager.local-dirs=/data`))
	if err != nil {
		t.Fatal(err)
	}
	want := Config{
		Addresses: Addresses{
			"rm.example.org:8031",
			"10.0.0.1:9030",
			"rm.example.org:8032",
			"rm.example.org:8033",
			"rm.example.org:8088",
		},
		Policy: "fifo", Sizes: Sizes{MinMemory: 256, MaxVCores: 16},
		Expiry: Expiry{Node: 5 * time.Second, Master: 2 * time.Minute},
		Apps:   Apps{Attempts: 3}, MostPriority: 7, Web: "rm.example.org:8088",
		Access: Access{Admins: ACL{Users: []string{"*", "ops"}, Groups: []string{"admins"}}},
		Keys:   Keys{Roll: 24 * time.Hour},
	}
	config.Reread, config.Access.Reread = nil, nil // functions
	first := Property{"domain", "example.org", false, "yarn-site.xml"}
	if shown := config.Shown.Properties; len(shown) != 13 || shown[0] != first {
		t.Errorf("the properties that may be shown are %v", shown)
	}
	config.Shown.Properties = nil
	if !reflect.DeepEqual(config, want) {
		t.Errorf("read\n%+v, want\n%+v", config, want)
	}
	if len(notes) != 1 ||
		!strings.Contains(
			notes[0],
			"yarn-site.xml: yarn.resourcemanager.scheduler.class = org.example.Other: not understood",
		) {
		t.Errorf("notes %q", notes)
	}
	// Where no address is named, nothing listens to the network.
	config, _, err = Site(site(t, ""))
	if err != nil || config.Addresses.Tracker != "localhost:8031" {
		t.Errorf("%+v, %v", config.Addresses, err)
	}
	config, _, err = Site(site(t, "yarn.resourcemanager.bind-host=0.0.0.0"))
	if err != nil || config.Addresses.Client != "0.0.0.0:8032" {
		t.Errorf("%+v, %v", config.Addresses, err)
	}
}

func TestSiteRefused(t *testing.T) {
	for properties, want := range map[string]string{
		"yarn.scheduler.minimum-allocation-mb=1g": `property yarn.scheduler.minimum-allocation-mb is "1g": must be ` +
			`a whole number`,
		"yarn.resourcemanager.address=rm": `property yarn.resourcemanager.address is "rm": must be ` +
			`host:port`,
		"yarn.resourcemanager.hostname=${nobody}":                "must be something without variables",
		"yarn.am.liveness-monitor.expiry-interval-ms=soon":       "must be a number of ms, or a time like 10m",
		"yarn.resourcemanager.am.max-attempts=-1":                "must be a whole number",
		"yarn.resourcemanager.hostname=${a}\na=${a}${a}${a}${a}": "must be something with at most 20 variables",
		"yarn.admin.acl=${b}\nb=${b}":                            "must be something with at most 20 variables",
		"hadoop.proxyuser.oozie.hosts=*,h1":                      "must be * alone, or addresses",
		"hadoop.proxyuser.oozie.hosts=10.0.0.0/99":               "must be * alone, or addresses",
	} {
		_, _, err := Site(site(t, properties))
		if want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %s", properties, err, want)
		}
	}
	if _, _, err := Site(t.TempDir()); err == nil || !strings.Contains(err.Error(), "no yarn-site.xml in ") {
		t.Errorf("an empty folder: %v", err)
	}
	if _, _, err := Site("nowhere"); err == nil || !strings.Contains(err.Error(), "configuration: stat nowhere") {
		t.Errorf("no folder: %v", err)
	}
}

// A file whose properties are not all children of <configuration> is refused: what is elsewhere may be what secures the
// cluster. A property without a value does not count, wherever else it is set.
func TestPropertiesElsewhere(t *testing.T) {
	for text, want := range map[string]string{
		"<configuration><group><property><name>yarn.acl.enable</name><value>true</value></property></group>" +
			"</configuration>": "<group> in <configuration>: must be <property>",
		"<configuration><configuration><property><name>a</name><value>b</value></property></configuration>" +
			"</configuration>": "<configuration> in <configuration>: must be <property>",
		"<configuration><x><xi:include xmlns:xi='http://www.w3.org/2001/XInclude' href='a.xml'/></x>" +
			"</configuration>": "<x> in <configuration>: must be <property>",
	} {
		p := &properties{values: map[string]property{}}
		if err := p.read("f.xml", []byte(text)); err == nil || !strings.Contains(err.Error(), "read f.xml: "+want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	p := &properties{values: map[string]property{}}
	for _, text := range []string{"<configuration><property><name>a</name><value>b</value></property><property>" +
		"<name>c</name><value>d</value></property></configuration>", "<configuration><property><name>a</name>" +
		"</property><property><name>c</name><value/></property></configuration>"} {
		if err := p.read("f.xml", []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if a, c := p.values["a"], p.values["c"]; a.value != "b" || c.value != "" {
		t.Errorf("a is %q and c %q; want b, because it got no value, and nothing, because it got an empty one", a.value,
			c.value)
	}
}

// A configuration file that is a pipe without a writer is refused, whichever it is. To read it would wait for ever.
func TestConfigurationIsNoPipe(t *testing.T) {
	const fair = schedulerClass + "=FairScheduler\n"
	for file, properties := range map[string]string{"core-site.xml": "", capacityFile: "", fairFile: fair,
		"racks": tableOfRacks + "=DIR/racks", "zk": zkPrefix + "auth=@DIR/zk\n" + haPrefix + "enabled=true\n" +
			haPrefix + "rm-ids=a\n" + haPrefix + "id=a\n" + zkPrefix + "address=z:1"} {
		dir := site(t, "")
		pipe := filepath.Join(dir, file)
		dir = siteIn(t, dir, strings.ReplaceAll(properties, "DIR", dir))
		if err := unix.Mkfifo(pipe, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, _, err := Site(dir); err == nil || !strings.Contains(err.Error(), pipe+": is a pipe: must be a ") {
			t.Errorf("%s: %v", file, err)
		}
	}
}

// The properties of a superuser: those of YARN count before those of Hadoop, users and groups are whole lists, and * is
// all only where it is alone.
func TestSuperusersOfSite(t *testing.T) {
	for lines, want := range map[string]Superuser{
		"hadoop.proxyuser.x.users=*":    {For: ACL{Everybody: true}},
		"hadoop.proxyuser.x.groups= * ": {For: ACL{Everybody: true}},
		"hadoop.proxyuser.x.users=*\nyarn.resourcemanager.proxyuser.x.users=bo": {
			For: ACL{Users: []string{"bo"}}},
		"hadoop.proxyuser.x.groups=*\nyarn.resourcemanager.proxyuser.x.groups=etl": {
			For: ACL{Groups: []string{"etl"}}},
		"hadoop.proxyuser.x.users=*\nyarn.resourcemanager.proxyuser.x.groups=etl": {
			For: ACL{Everybody: true}},
		"hadoop.proxyuser.x.users=ana *":         {For: ACL{Users: []string{"ana *"}}},
		"hadoop.proxyuser.x.users= ana,bo":       {For: ACL{Users: []string{"ana", "bo"}}},
		"hadoop.proxyuser.x.hosts=h1,\t10.0.0.1": {Hosts: []string{"h1", "10.0.0.1"}},
	} {
		config, _, err := Site(site(t, lines))
		if got := config.Access.Superusers["x"]; err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, %v; want %+v", lines, got, err, want)
		}
	}
}

// An allocation file that the properties name must be there: it may have the access lists. It may be named by a URL.
func TestAllocationFileIsThere(t *testing.T) {
	const fair = "yarn.resourcemanager.scheduler.class=fair.FairScheduler\n"
	for _, c := range []struct{ said, want string }{
		{"gone.xml", "gone.xml: no such file"},
		{"hdfs://nn/fair.xml", "must be the path of a file on this machine"},
		{"file:fair.xml", "must be the path of a file on this machine"},
		{"file:///DIR/fair.xml", ""},
		{"fair.xml", ""},
		{"", ""},
	} {
		dir := site(t, fair)
		said := strings.ReplaceAll(c.said, "/DIR", dir)
		if said != "" {
			dir = site(t, fair+"yarn.scheduler.fair.allocation.file="+strings.ReplaceAll(c.said, "/DIR", dir))
		}
		file := filepath.Join(dir, "fair.xml")
		if strings.HasPrefix(said, "file:///") {
			file = strings.TrimPrefix(said, "file://")
		}
		const text = "<allocations><queue name='etl'><aclSubmitApps>ana</aclSubmitApps></queue></allocations>"
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		config, notes, err := Site(dir)
		if c.want != "" {
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v, want %s", said, err, c.want)
			}
			continue
		}
		lists, absent := 1, false
		if said == "" {
			lists, absent = 0, true
		}
		told := strings.Contains(strings.Join(notes, "\n"), "fair-scheduler.xml: there is no such file")
		if err != nil || len(config.Queues.Access) != lists || told != absent {
			t.Fatalf("%q: %+v, notes %q, %v", said, config.Queues, notes, err)
		}
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		q, err := config.Reread()
		if lists > 0 && (err == nil || !strings.Contains(err.Error(), "the queues stay as they are: stat ")) {
			t.Errorf("%q: read again without the file: %+v, %v", said, q, err)
		}
	}
}

// Numbers that make no sense are refused, each by file, property, value and what would be right.
func TestSenselessNumbers(t *testing.T) {
	const fair = "yarn.resourcemanager.scheduler.class=" +
		"org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.FairScheduler"
	const minMB, maxMB = "yarn.scheduler.minimum-allocation-mb", "yarn.scheduler.maximum-allocation-mb"
	const expiry, roll = "yarn.nm.liveness-monitor.expiry-interval-ms",
		"yarn.resourcemanager.nm-tokens.master-key-rolling-interval-secs"
	for _, c := range []struct{ lines, name, value, right string }{
		{minMB + "=-1024", minMB, "-1024", "a whole number from 1 to"},
		{minMB + "=0", minMB, "0", "a whole number from 1 to"}, // Hadoop's default would be used in its place
		{maxMB + "=99999999999999999", maxMB, "99999999999999999", "a whole number from 1 to"},
		{minMB + "=4096\n" + maxMB + "=2048", minMB, "4096", "at most " + maxMB + ", which is 2048"},
		{minMB + "=16384", minMB, "16384", "at most " + maxMB + ", which is 8192"},
		{maxMB + "=512", maxMB, "512", "at least " + minMB + ", which is 1024"},
		{"yarn.scheduler.minimum-allocation-vcores=8", "yarn.scheduler.minimum-allocation-vcores", "8",
			"at most yarn.scheduler.maximum-allocation-vcores, which is 4"},
		{"yarn.scheduler.maximum-allocation-vcores=0", "yarn.scheduler.maximum-allocation-vcores", "0",
			"a whole number from 1 to"},
		{"yarn.resourcemanager.nodemanagers.heartbeat-interval-ms=0",
			"yarn.resourcemanager.nodemanagers.heartbeat-interval-ms", "0", "above 0"},
		{"yarn.resourcemanager.nodemanagers.heartbeat-interval-ms=-5s",
			"yarn.resourcemanager.nodemanagers.heartbeat-interval-ms", "-5s", "above 0"},
		{"yarn.resourcemanager.nodemanagers.heartbeat-interval-ms=3000\n" + expiry + "=2000",
			"yarn.resourcemanager.nodemanagers.heartbeat-interval-ms", "3000", "at most " + expiry + ", which is 2000"},
		{expiry + "=500", expiry, "500", "at least yarn.resourcemanager.nodemanagers.heartbeat-interval-ms, which is " +
			"1000"},
		{expiry + "=0", expiry, "0", "above 0"},
		{"yarn.am.liveness-monitor.expiry-interval-ms=9223372036854775807",
			"yarn.am.liveness-monitor.expiry-interval-ms", "9223372036854775807", "up to a hundred years"},
		{"yarn.resourcemanager.rm.container-allocation.expiry-interval-ms=-1",
			"yarn.resourcemanager.rm.container-allocation.expiry-interval-ms", "-1", "above 0"},
		{"yarn.resourcemanager.am.max-attempts=0", "yarn.resourcemanager.am.max-attempts", "0",
			"a whole number from 1 to"},
		{"yarn.resourcemanager.max-completed-applications=0", "yarn.resourcemanager.max-completed-applications", "0",
			"a whole number from 1 to"},
		{"yarn.resourcemanager.nodemanager-graceful-decommission-timeout-secs=-2",
			"yarn.resourcemanager.nodemanager-graceful-decommission-timeout-secs", "-2", "a whole number from -1 to"},
		{roll + "=1800", roll, "1800", "more than 3 times " + expiry + ", which is 10m0s"},
		{"yarn.cluster.max-application-priority=-1", "yarn.cluster.max-application-priority", "-1",
			"a whole number from 0 to"},
		{roll + "=0", roll, "0", "a whole number from 1 to"},
		{"yarn.resourcemanager.address=rm:80320", "yarn.resourcemanager.address", "rm:80320", "a port from 0 to 65535"},
	} {
		_, _, err := Site(site(t, c.lines))
		if want := "yarn-site.xml: property " + c.name + " is \"" + c.value + "\": must be "; err == nil ||
			!strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), c.right) {
			t.Errorf("%s: %v, want %s...%s", c.lines, err, want, c.right)
		}
		if err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: one mistake is said in several ways: %v", c.lines, err)
		}
	}
	for lines, want := range map[string]string{
		"root.queues=a\nroot.a.capacity=120": `capacity is "120": must be percent up ` +
			`to 100`,
		"root.queues=a,b\nroot.a.capacity=-20\nroot.b.capacity=100": `capacity is "-20": must be percent up to 100 ` +
			`and not below 0`,
		"root.queues=a\nroot.a.capacity=100\nroot.a.maximum-capacity=150": `maximum-capacity is "150": must be ` +
			`percent up to 100`,
		"root.queues=a\nroot.a.capacity=100\nroot.a.maximum-capacity=0": `maximum-capacity is "0": must be more ` +
			`than nothing`,
		"root.queues=a\nroot.a.capacity=[memory=4096]\n" +
			"root.a.maximum-capacity=[memory=2Gi,vcores=4]": `maximum-capacity is "[memory=2Gi,vcores=4]": must be ` +
			`at least the queue's capacity, [memory=4096]`,
	} {
		if _, _, err := Site(withFile(t, "", capacityFile, capacityXML(lines))); err == nil ||
			!strings.Contains(err.Error(), "capacity-scheduler.xml: property yarn.scheduler.capacity.root.") ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", lines, err, want)
		}
	}
	for text, want := range map[string]string{
		"<minResources>-1 mb,1 vcores</minResources>": `<minResources> of root.a is "-1 mb,1 vcores": must be one ` +
			`percentage`,
		"<maxResources>140%</maxResources>": `<maxResources> of root.a is "140%": must be one ` +
			`percentage`,
		"<maxResources>0 mb, 0 vcores</maxResources>": `<maxResources> of root.a is "0 mb, 0 vcores": must be more ` +
			`than nothing`,
		"<minResources>4096 mb, 2 vcores</minResources>" +
			"<maxResources>2048 mb, 2 vcores</maxResources>": "<minResources> of root.a: must be at " +
			"most its <maxResources>",
		"<weight>0</weight>": `<weight> of root.a is "0": must be a number above 0`,
	} {
		dir := withFile(t, fair, fairFile, "<allocations><queue name='a'>"+text+"</queue></allocations>")
		if _, _, err := Site(dir); err == nil || !strings.Contains(err.Error(), "fair-scheduler.xml: "+want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	// What Hadoop allows is not refused: no minimum under the Fair Scheduler, no end to patience, ending at once, no
	// maximum.
	config, _, err := Site(
		site(t, fair+"\n"+minMB+"=0\nyarn.resourcemanager.nodemanager-graceful-decommission-timeout-secs=-1"),
	)
	if err != nil || config.Sizes.MinMemory != 1 || config.Expiry.Graceful != mostTime {
		t.Errorf("sizes %+v, graceful %v, %v", config.Sizes, config.Expiry.Graceful, err)
	}
	config, _, err = Site(site(t, "yarn.resourcemanager.nodemanager-graceful-decommission-timeout-secs=0"))
	if err != nil || config.Expiry.Graceful != time.Nanosecond {
		t.Errorf("graceful %v, %v", config.Expiry.Graceful, err)
	}
	config, notes, err := Site(withFile(t, "", capacityFile, capacityXML(
		"root.queues=a\nroot.a.capacity=100\nmaximum-applications=20000\nroot.a.maximum-applications=7")))
	if err != nil || config.Apps.Most != 20_000 || len(notes) != 1 || !strings.Contains(notes[0], "of all queues") {
		t.Errorf("%d applications may live, %q, %v", config.Apps.Most, notes, err)
	}
	config, _, err = Site(site(t, "yarn.resourcemanager.application-tag-based-placement.force-lowercase=false"))
	if err != nil || !config.Apps.TagsKeepCase {
		t.Errorf("tags keep their case: %v, %v", config.Apps.TagsKeepCase, err)
	}
	config, _, err = Site(
		withFile(t, "", capacityFile, capacityXML("root.queues=a\nroot.a.capacity=100\nroot.a.maximum-capacity=-1")),
	)
	if err != nil || config.Queues.Tree[0].Max != (sched.Share{}) {
		t.Errorf("%+v, %v", config.Queues, err)
	}
}

// A secured cluster's files start no open ResourceManager, unless the operator says so.
func TestSecuredFilesAreRefused(t *testing.T) {
	for line, refused := range map[string]bool{
		"hadoop.security.authentication=token":                                                      true,
		"hadoop.security.authentication=simple":                                                     false,
		"hadoop.security.authorization=true":                                                        false,
		"hadoop.rpc.protection=privacy":                                                             false,
		"hadoop.rpc.protection=authentication,privacy":                                              false,
		"hadoop.rpc.protection=authentication":                                                      false,
		"hadoop.http.authentication.type=kerberos":                                                  true,
		"hadoop.ssl.require.client.cert=true":                                                       true,
		"yarn.http.policy=HTTP_AND_HTTPS":                                                           false,
		"yarn.authorization-provider=org.apache.ranger.Authorizer":                                  true,
		"hadoop.http.filter.initializers=org.example.SingleSignOn":                                  true,
		"hadoop.http.filter.initializers=" + openFilters[0] + ", " + openFilters[3]:                 false,
		"hadoop.http.filter.initializers=" + openFilters[0] + ",org.apache.hadoop.security.Another": true,
	} {
		dir := site(t, line)
		config, _, err := Site(dir)
		if err != nil {
			t.Fatal(err)
		}
		any := "127.0.0.1:0"
		config.Addresses = Addresses{Tracker: any, Master: any, Client: any, Admin: any}
		config.Core.Policy = greedy{}
		ctx, cancel := context.WithCancel(t.Context())
		for _, insecure := range []bool{false, true} {
			config.Security.Insecure = insecure
			rm, err := Listen(ctx, config)
			if name, _, _ := strings.Cut(line, "="); (err != nil) != (refused && !insecure) ||
				err != nil && (!strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), dir)) {
				t.Errorf("%s, insecure %v: %v", line, insecure, err)
			}
			if err == nil {
				for _, ln := range rm.listeners {
					ln.Close()
				}
			}
		}
		cancel()
	}
}

// Clients find REST in a cluster's configuration: of one ResourceManager, of several, by TLS.
func TestWebAddresses(t *testing.T) {
	const one, several = "yarn.resourcemanager.", "yarn.resourcemanager.ha."
	for _, c := range []struct{ properties, want string }{
		{"", "http://localhost:8088"},
		{one + "hostname=rm1", "http://rm1:8088"},
		{one + "webapp.address=0.0.0.0:99", "http://localhost:99"},
		{"yarn.http.policy=HTTPS_ONLY\n" + one + "hostname=rm1", "https://rm1:8090"},
		{several + "enabled=true\n" + several + "rm-ids=a, b,\n" + one + "hostname.a=rm1\n" + one +
			"webapp.address.b=rm2:77", "http://rm1:8088 http://rm2:77"},
	} {
		if got, err := WebAddresses(site(t, c.properties)); err != nil || strings.Join(got, " ") != c.want {
			t.Errorf("%s: %q, %v, want %s", c.properties, got, err, c.want)
		}
	}
	if _, err := WebAddresses(t.TempDir()); err == nil || !strings.Contains(err.Error(), "yarn-site.xml") {
		t.Errorf("a folder without configuration: %v", err)
	}
}

// Values of secrets are not shown: by Hadoop's own patterns of names, by those that the files add, and where the
// password for ZooKeeper is.
func TestSecretsAreNotShown(t *testing.T) {
	const patterns = "hadoop.security.sensitive-config-keys"
	lines := "a.password=x\nhadoop.zk.auth=digest:rm:x\nyarn.resourcemanager.zk-auth=digest:rm:x\n" +
		"fs.s3a.access.key=x\nssl.server.keystore.pass=x\nour.salt=x\nplain=x\n"
	for pattern, want := range map[string]string{
		"":                      "our.salt plain ",
		"salt$,nothing":         "plain ",
		"nothing\n  salt":       "plain ",
		"(?!a)b":                "", // of Java's patterns, not of Go's
		"other,\tour\\.salt\\b": "plain ",
	} {
		p, _, err := readProperties(site(t, lines), "yarn-site.xml")
		if err != nil {
			t.Fatal(err)
		}
		if pattern != "" {
			p.values[patterns] = property{value: pattern}
		}
		shown := ""
		for _, one := range p.said() {
			if one.Value == "x" || one.Value == "digest:rm:x" {
				shown += one.Name + " "
			}
		}
		if shown != want {
			t.Errorf("with %q, the values of %qare shown, want of %q", pattern, shown, want)
		}
	}
}

// Groups of another source than the operating system are named where lists may name groups, whatever lists they are.
func TestGroupMappingIsNamed(t *testing.T) {
	const ldap = "hadoop.security.group.mapping=org.apache.hadoop.security.LdapGroupsMapping\n"
	for lines, want := range map[string]bool{
		"":                                    false,
		"yarn.acl.enable=true":                true,
		"yarn.admin.acl=root ops":             true,
		"yarn.admin.acl=root":                 false,
		"hadoop.proxyuser.oozie.groups=staff": true,
		"hadoop.proxyuser.oozie.users=ana":    false,
		"hadoop.security.authorization=true\nsecurity.resourcetracker.protocol.acl=yarn nodes": true,
		"security.resourcetracker.protocol.acl=yarn nodes":                                     false,
	} {
		_, notes, err := Site(site(t, ldap+lines))
		if said := strings.Contains(strings.Join(notes, "\n"), "LdapGroupsMapping: not understood"); err != nil ||
			said != want {
			t.Errorf("%s: %q, %v", lines, notes, err)
		}
	}
}

// A class that says in which racks hosts are is named: it is not run, and all hosts would be in one rack.
func TestRackClassIsNamed(t *testing.T) {
	for class, want := range map[string]int{"org.apache.hadoop.net.ScriptBasedMapping": 0,
		"org.apache.hadoop.net.TableMapping": 0, "org.example.Racks": 1} {
		_, notes, err := Site(site(t, classOfRacks+"="+class))
		if err != nil || len(notes) != want || want > 0 && !strings.Contains(notes[0], class+": not understood; the "+
			"racks of hosts are those of net.topology.script.file.name") {
			t.Errorf("%s: %q, %v", class, notes, err)
		}
	}
}

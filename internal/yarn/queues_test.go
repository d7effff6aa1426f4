package yarn

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/rpc"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
	"github.com/sojourn-sched/sojourn/sched"
)

// withFile puts a file into a folder with an empty yarn-site.xml, or with the properties given.
func withFile(t *testing.T, properties, name, text string) string {
	t.Helper()
	dir := site(t, properties)
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// propertiesXML makes a file of properties of lines name=value.
func propertiesXML(lines string) string { return prefixedXML("", lines) }

// capacityXML makes capacity-scheduler.xml of lines name=value, each for yarn.scheduler.capacity.
func capacityXML(lines string) string { return prefixedXML(capacityPrefix, lines) }

func prefixedXML(prefix, lines string) string {
	text := "<configuration>\n"
	for line := range strings.Lines(lines) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			text += "<property><name>" + prefix + name + "</name><value>" + value + "</value></property>\n"
		}
	}
	return text + "</configuration>\n"
}

func TestCapacityQueues(t *testing.T) {
	config, notes, err := Site(withFile(t, "etl=60", capacityFile, capacityXML(`
		root.queues=etl, adhoc
		root.etl.capacity=${etl}
		root.etl.queues=nightly,hourly
		root.etl.nightly.capacity=3w
		root.etl.hourly.capacity=1w
		root.etl.nightly.ordering-policy=fair
		root.adhoc.capacity=40.0
		root.adhoc.maximum-capacity=50
		root.adhoc.state=STOPPED
		root.adhoc.user-limit-factor=2
		root.disable_preemption=false
		root.etl.disable_preemption=true
		root.etl.hourly.disable_preemption=false
		maximum-am-resource-percent=0.2
		root.adhoc.maximum-am-resource-percent=0.5
		root.etl.hourly.maximum-am-resource-percent=0
		root.etl.maximum-capacity=[memory=64Gi,vcores=20]
		maximum-applications=10000
		node-locality-delay=40
		resource-calculator=org.apache.hadoop.yarn.util.resource.DominantResourceCalculator
		queue-mappings=u:ana:nightly`)))
	if err != nil {
		t.Fatal(err)
	}
	want := Queues{
		Tree: []*sched.QueueSpec{
			{
				Name:    "etl",
				Min:     sched.Share{Part: 0.6},
				Max:     sched.Share{Amount: sched.Resources{sched.Memory: 64 << 10, sched.VCores: 20}},
				Masters: 0.2,
				Queues: []*sched.QueueSpec{
					{Name: "nightly", Weight: 3, Masters: 0.2, Policy: "fair", Spared: true},
					{Name: "hourly", Weight: 1, Masters: oneMaster},
				},
			},
			{Name: "adhoc", Min: sched.Share{Part: 0.4}, Max: sched.Share{Part: 0.5}, Masters: 0.5},
		},
		Stopped: []string{"adhoc"},
		Rules: []Rule{
			{By: BySpecified, Final: true},
			{By: ByDefault, User: "ana", Queue: "nightly"},
			{By: ByDefault, Queue: "default"},
		},
	}
	if !reflect.DeepEqual(config.Queues, want) {
		t.Errorf("read\n%+v, want\n%+v", config.Queues, want)
	}
	if len(notes) != 1 ||
		!strings.HasSuffix(
			notes[0],
			"capacity-scheduler.xml: yarn.scheduler.capacity.root.adhoc.user-limit-factor = 2: of no effect: one "+
				"limit serves all queues: --policy capacity:user-factor=2",
		) {
		t.Errorf("notes %q", notes)
	}
	again, err := config.Reread()
	if err != nil || !reflect.DeepEqual(again, want) {
		t.Errorf("read again: %+v, %v", again, err)
	}
}

// A wrong file is refused by file, property and what would be right.
func TestCapacityRefused(t *testing.T) {
	for lines, want := range map[string]string{
		"root.queues=a,b\nroot.a.capacity=60\nroot.b.capacity=30": "property yarn.scheduler.capacity.root.queues is " +
			"\"a,b\": must be of queues whose capacities make up 100, and they make up 90: change " +
			"yarn.scheduler.capacity.root.a.capacity, yarn.scheduler.capacity.root.b.capacity",
		"root.queues=a,b\nroot.a.capacity=2w\nroot.b.capacity=50": "must be of queues that all have weights " +
			"or none, and 1 have weights",
		"root.queues=a,b\nroot.a.capacity=2w\nroot.b.capacity=[memory=1024]": "that all have weights or none",
		"root.queues=a\nroot.a.capacity=100\nroot.a.maximum-capacity=[memory=4096,vcores=0]": "must be more than " +
			"nothing of each resource",
		"root.queues=a\nroot.a.capacity=[memory=10g]":                  "memory=10Gi is in GiB",
		"root.queues=a\nroot.a.capacity=[memory=10240m]":               "memory=10Gi is in GiB",
		"root.queues=a\nroot.a.capacity=[memory=1k]":                   "memory=10Gi is in GiB",
		"root.queues=a\nroot.a.capacity=[memory=10240mb]":              "memory=10Gi is in GiB",
		"root.queues=a\nroot.a.capacity=100\nqueue-mappings=u:ana:etl": "and etl does not, or is not there",
		"root.queues=a\nroot.a.capacity=lots": "property yarn.scheduler.capacity.root.a.capacity is \"lots\": must " +
			"be percent up to 100",
		"root.queues=a\nroot.a.capacity=-1w": "must be a weight above 0",
		"root.queues=a\nroot.a.capacity=[memory=x]": "must be amounts of memory " +
			"in MiB",
		"root.queues=a\nroot.a.capacity=100\nroot.a.maximum-capacity=50": "must be at least the queue's " +
			"capacity, 100",
		"root.queues=a,a\nroot.a.capacity=50":                     "a is there twice",
		"root.queues=a.b\nroot.a.b.capacity=100":                  "without dots",
		"root.queues=a\nroot.a.capacity=100\nroot.a.state=ASLEEP": "must be RUNNING or STOPPED",
		"root.queues=a\nroot.a.capacity=100\nroot.state=ASLEEP":   "root.state is \"ASLEEP\": must be RUNNING",
		"root.state=STOPPED\nroot.queues=a\nroot.a.capacity=100\nroot.a.state=RUNNING": "root.a.state is " +
			"\"RUNNING\": must be STOPPED, or not said, as a queue above it is STOPPED",
		"root.state=STOPPED\nroot.default.state=RUNNING":                    "root.default.state is \"RUNNING\"",
		"root.queues=a\nroot.a.capacity=NaN":                                "percent up to 100",
		"root.queues=a\nroot.a.capacity=100\nroot.a.ordering-policy=random": "must be fifo or fair",
		"root.queues=a\nroot.a.capacity=100\nqueue-mappings=g:staff:a":      "groups are not known here",
		"root.queues=a\nroot.a.capacity=100\nmaximum-am-resource-percent=10": "property " +
			"yarn.scheduler.capacity.maximum-am-resource-percent is \"10\": must be a part from 0 to 1, " +
			"where 0.1 is a tenth",
		"root.queues=a\nroot.a.capacity=100\nroot.a.maximum-am-resource-percent=NaN": "property " +
			"yarn.scheduler.capacity.root.a.maximum-am-resource-percent is \"NaN\"",
	} {
		dir := withFile(t, "", capacityFile, capacityXML(lines))
		if _, _, err := Site(dir); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), capacityFile) {
			t.Errorf("%s: %v, want %s", lines, err, want)
		}
	}
	if _, _, err := Site(withFile(t, "", capacityFile, "<configuration><prop")); err == nil ||
		!strings.Contains(err.Error(), "capacity-scheduler.xml: ") {
		t.Errorf("half a file: %v", err)
	}
}

// Amounts of memory are in Hadoop's units of resources: G is 10^9, Gi is 2^30, and none is MiB.
func TestCapacityUnits(t *testing.T) {
	for amount, want := range map[string]int64{"10G": 9536, "10240M": 9765, "10Gi": 10240, "10240Mi": 10240,
		"10240": 10240, "1Ti": 1 << 20} {
		config, _, err := Site(withFile(t, "", capacityFile, capacityXML("root.queues=a\nroot.a.capacity=[memory="+
			amount+",vcores=2]")))
		if err != nil || config.Queues.Tree[0].Min.Amount[sched.Memory] != want {
			t.Errorf("%s: %+v, %v; want %d MiB", amount, config.Queues.Tree, err, want)
		}
	}
}

// What an allocation file says and cannot be had is refused, and nothing of it is passed over.
func TestFairRefused(t *testing.T) {
	const share, nothing = "one percentage for all", "must be more than nothing of each"
	for text, want := range map[string]string{
		"<queue name='a'><maxResources>10240 mb, 0 vcores</maxResources></queue>":            nothing,
		"<queue name='a'><maxResources>0% memory, 40% cpu</maxResources></queue>":            share,
		"<queue name='a'><maxResources>40% cpu, 0% memory</maxResources></queue>":            share,
		"<queue name='a'><maxResources>40% memory</maxResources></queue>":                    share,
		"<queue name='a'><maxResources>1024 mb</maxResources></queue>":                       share,
		"<queue name='a'><maxResources>1024 mb, 1 mb</maxResources></queue>":                 share,
		"<queueMaxResourcesDefault>10240 mb, 0 vcores</queueMaxResourcesDefault>":            nothing,
		"<queueMaxResourcesDefault>0%</queueMaxResourcesDefault>":                            nothing,
		"<queueMaxResourcesDefault>memory-mb=40, vcores=40%</queueMaxResourcesDefault>":      share,
		"<queue name='a'><maxResources>40% memory, 40% memory</maxResources></queue>":        share,
		"<queue name='a'><maxResources>40%, 40%</maxResources></queue>":                      share,
		"<queue name='a'><maxResources>memory-mb=40% cpu, vcores=40%</maxResources></queue>": share,

		"<queue name='a' type='parent'/>": "has no queues: give it one",
		"<queuePlacementPolicy><rule name='user'><rule name='default' queue='a'/></rule>" +
			"</queuePlacementPolicy>": "has a rule in it",
	} {
		var notes []string
		err := new(Queues).parseFair("f.xml", []byte("<allocations>"+text+"</allocations>"), nil, &notes)
		if err == nil || !strings.Contains(err.Error(), "f.xml: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, notes %q; want %s", text, err, notes, want)
		}
	}
	for text, want := range map[string]sched.Share{
		"40%":                       {Part: 0.4},
		"memory-mb=40%, vcores=40%": {Part: 0.4},
		"40% memory, 40% cpu":       {Part: 0.4},
		"0.5%":                      {Part: 0.005},
		"20480 mb, 8 vcores":        {Amount: sched.Resources{sched.Memory: 20480, sched.VCores: 8}},
		"8 vcores, 20480 mb":        {Amount: sched.Resources{sched.Memory: 20480, sched.VCores: 8}},
		"memory-mb=20480,vcores=8":  {Amount: sched.Resources{sched.Memory: 20480, sched.VCores: 8}},
	} {
		var q Queues
		var notes []string
		err := q.parseFair("f.xml", []byte("<allocations><queue name='a'><maxResources>"+text+
			"</maxResources></queue></allocations>"), nil, &notes)
		if err != nil || q.Tree[0].Max != want {
			t.Errorf("%s: %+v, %v; want %+v", text, q.Tree, err, want)
		}
	}
}

// A queue that a user names and that may not be created is passed over, as in Hadoop: the next rule counts.
func TestUndeclaredQueue(t *testing.T) {
	config, _, err := Site(withFile(t, "yarn.resourcemanager.scheduler.class=fair.FairScheduler\n"+
		"yarn.scheduler.fair.allow-undeclared-pools=false", fairFile, "<allocations><queue name='default'/>"+
		"</allocations>"))
	if err != nil || config.Queues.Rules[0] != (Rule{By: BySpecified}) {
		t.Errorf("%+v, %v", config.Queues.Rules, err)
	}
}

func TestFairQueues(t *testing.T) {
	const class = "yarn.resourcemanager.scheduler.class=" +
		"org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.FairScheduler"
	config, notes, err := Site(withFile(t, class, fairFile, `<?xml version="1.0"?>
		<allocations>
		  <queue name="root">
		    <queue name="etl">
		      <minResources>10240 mb,4vcores</minResources><maxResources>memory-mb=20Gi, vcores=8</maxResources>
		      <weight>2.5</weight><schedulingPolicy>drf</schedulingPolicy><maxRunningApps>50</maxRunningApps>
		      <queue name="nightly"><schedulingPolicy>fifo</schedulingPolicy><maxAMShare>-1.0</maxAMShare></queue>
		      <maxAMShare>0.25</maxAMShare>
		    </queue>
		  </queue>
		  <pool name="adhoc"><allowPreemptionFrom>false</allowPreemptionFrom>
		    <maxResources>40% memory, 40% cpu</maxResources><maxRunningApps>5</maxRunningApps></pool>
		  <userMaxAppsDefault>5</userMaxAppsDefault><queueMaxAMShareDefault>0.3</queueMaxAMShareDefault>
		  <defaultQueueSchedulingPolicy>fair</defaultQueueSchedulingPolicy>
		  <queuePlacementPolicy><rule name="specified" create="false"/><rule name="primaryGroup"/><rule name="user"/>
		    <rule name="default" queue="adhoc"/></queuePlacementPolicy>
		</allocations>`))
	if err != nil {
		t.Fatal(err)
	}
	want := Queues{
		Tree: []*sched.QueueSpec{
			{
				Name:   "etl",
				Weight: 2.5,
				Policy: "drf",
				Min:    sched.Share{Amount: sched.Resources{sched.Memory: 10240, sched.VCores: 4}},
				Max: sched.Share{
					Amount: sched.Resources{sched.Memory: 20 << 10, sched.VCores: 8},
				},
				Masters: 0.25,
				Queues:  []*sched.QueueSpec{{Name: "nightly", Policy: "fifo", Masters: 1}},
			},
			{Name: "adhoc", Policy: "fair", Max: sched.Share{Part: 0.4}, Masters: 0.3, Spared: true},
		},
		Rules: []Rule{{By: BySpecified}, {By: ByUser, Create: true}, {By: ByDefault, Create: true, Queue: "adhoc"}},
	}
	if !reflect.DeepEqual(config.Queues, want) {
		t.Errorf("read\n%+v, want\n%+v", config.Queues, want)
	}
	if len(notes) != 3 { // maxRunningApps, once; userMaxAppsDefault; the rule by group
		t.Errorf("notes %q", notes)
	}
	for _, bad := range []string{"<allocations><queue name='a'><weight>-1</weight></queue></allocations>",
		"<allocations><queue/></allocations>",
		"<allocations><queue name='a'/><queue name='a'/></allocations>",
		"<allocations><queue name='a'><maxResources>lots</maxResources></queue></allocations>",
		"<allocations><queue name='a'><maxResources>40% memory, 50% cpu</maxResources></queue></allocations>",
		"<configuration/>", "",
		"<allocations><queue name='a'><maxAMShare>-0.5</maxAMShare></queue></allocations>",
		"<allocations><queueMaxAMShareDefault>half</queueMaxAMShareDefault></allocations>",
		"<allocations><queue name='a'><schedulingPolicy>lottery</schedulingPolicy></queue></allocations>",
		"<allocations><queue name='root'><aclSubmitApps> </aclSubmitApps></queue><pool " +
			"name='root'><aclAdministerApps>ana</aclAdministerApps></pool></allocations>"} {
		if _, _, err := Site(withFile(t, class, fairFile, bad)); err == nil ||
			!strings.Contains(err.Error(), "fair-scheduler.xml: ") ||
			!strings.Contains(err.Error(), "must ") && bad != "" {
			t.Errorf("%s: %v", bad, err)
		}
	}
	deep := strings.Repeat("<queue name='a'>", mostDepth+1) + strings.Repeat("</queue>", mostDepth+1)
	_, _, err = Site(withFile(t, class, fairFile, "<allocations>"+deep+"</allocations>"))
	if err == nil || !strings.Contains(err.Error(), "must have names of queues, nested at most 32 deep") {
		t.Errorf("queues that are nested too deep: %v", err)
	}
}

func TestPlace(t *testing.T) {
	tree := []*sched.QueueSpec{
		{Name: "a", Queues: []*sched.QueueSpec{{Name: "x"}, {Name: "y"}}},
		{Name: "b", Queues: []*sched.QueueSpec{{Name: "x"}}},
		{Name: "default"},
		{Name: "shut"},
	}
	capacity := Queues{Tree: tree, Stopped: []string{"shut"}}
	capacity.withDefaults()
	fair := Queues{
		Tree:  tree,
		Rules: []Rule{{By: BySpecified, Create: true}, {By: ByUser, Create: true}, {By: ByDefault, Queue: "default"}},
	}
	closed := Queues{Tree: tree, Rules: []Rule{{By: BySpecified}, {By: ByUser}, {By: ByReject}}}
	mapped := Queues{
		Tree: tree,
		Rules: []Rule{
			{By: BySpecified, Final: true},
			{By: ByDefault, User: "ana", Queue: "y"},
			{By: ByDefault, Queue: "default"},
		},
	}
	above, all := capacity, capacity
	above.Stopped, all.Stopped = []string{"a"}, []string{""}
	for _, c := range []struct {
		q           *Queues
		named, want string // a want that begins with ! is part of the error
	}{
		{&above, "a.x", "!root.a.x is STOPPED"}, {&above, "b.x", "b.x"}, {&above, "default", "default"},
		{&all, "a.x", "!root.a.x is STOPPED"}, {&all, "", "!root.default is STOPPED"},
		{&capacity, "", "default"}, {&capacity, "root.a.y", "a.y"}, {&capacity, "y", "a.y"}, {&capacity, "a.x", "a.x"},
		{&capacity, "x", "!several, root.a.x and root.b.x"},
		{&capacity, "a", "!no such leaf"}, {&capacity, "nowhere", "!no such leaf"},
		{&capacity, "root", "!no such leaf"}, {&capacity, "shut", "!STOPPED"},
		{&fair, "default", "ana"}, {&fair, "root.new.one", "new.one"}, {&fair, "a.x.below", "ana"},
		{&fair, "a..b", "ana"}, {&fair, "root.a.y", "a.y"},
		{&closed, "nowhere", "!no rule"}, {&closed, "b.x", "b.x"}, {&mapped, "default", "a.y"}, {&mapped, "b.x", "b.x"},
	} {
		p := placement{*c.q, c.q.leaves(), map[string]bool{}}
		got, err := p.choose("ana", c.named)
		if part, fails := strings.CutPrefix(c.want, "!"); fails &&
			(err == nil || !strings.Contains(err.Error(), part)) ||
			!fails && (err != nil || got != c.want) {
			t.Errorf("%q goes to %q, %v; want %s", c.named, got, err, c.want)
		}
	}
}

// While the root is STOPPED no queue takes applications. What lives goes on: until it has ended, the queues drain.
func TestStoppedRoot(t *testing.T) {
	config, _, err := Site(withFile(t, "", capacityFile, capacityXML("root.state=STOPPED")))
	if err != nil {
		t.Fatal(err)
	}
	f := newFew(t)
	state := func() (of string) {
		f.do(func(m *manager) (answer, error) {
			q := answerQueue(m, &wire.QueueRequest{Recursive: true}, nil).Queue
			of = fmt.Sprint(q.State, q.Children[0].State)
			return nil, nil
		})
		return of
	}
	want := func(when, states string) {
		t.Helper()
		if got := state(); got != states {
			t.Errorf("%s: root and default are %s, want %s", when, got, states)
		}
	}
	refresh := func(q Queues) {
		f.do(func(m *manager) (answer, error) { return admin{m, "root"}.refreshQueues(q) })
	}
	want("before", "RUNNING RUNNING")
	refresh(config.Queues)
	want("with an application", "DRAINING DRAINING")
	small := func(s *wire.Submission) { s.Resource = &wire.Resource{Memory: 512, VCores: 1} }
	if app, err := f.submit(small); app != nil || err == nil ||
		!strings.Contains(err.Error(), "queue root.default is STOPPED") {
		t.Errorf("submitted: %v, %v", app, err)
	}
	f.do(func(*manager) (answer, error) {
		f.master.app.end(wire.AppKilled, outcome{wire.Killed, ""})
		return nil, nil
	})
	want("without applications", "STOPPED STOPPED")
	refresh(Queues{})
	want("after", "RUNNING RUNNING")
	if _, err := f.submit(small); err != nil {
		t.Error(err)
	}
}

// What users name their queues, and themselves, goes into metrics and pages, and the core keeps every queue: names,
// depth and count are bounded.
func TestQueuesThatUsersMake(t *testing.T) {
	fair := Queues{Rules: []Rule{{By: BySpecified, Create: true, Final: true}}}
	p := placement{fair, fair.leaves(), map[string]bool{}}
	choose := func(user, named string) (string, error) {
		path, err := p.choose(user, named)
		if err == nil {
			p.make(path)
		}
		return path, err
	}
	deepest := strings.Repeat("a.", mostDepth-1) + "a"
	for _, bad := range []string{"q\xff", "q\x01", "a..b", "a.", strings.Repeat("n", mostName+1), deepest + ".a",
		strings.Repeat("a.", 4000) + "a", "<b>"} {
		if path, err := choose("ana", bad); err == nil {
			t.Errorf("%.40q is made: %.40q", bad, path)
		}
	}
	for _, user := range []string{"ana\xff", "ana\n", "", strings.Repeat("n", mostName+1)} {
		if _, err := choose(user, "q"); err == nil {
			t.Errorf("user %.40q is let in", user)
		}
	}
	if len(p.made) != 0 {
		t.Errorf("refused and counted: %d", len(p.made))
	}
	for _, good := range []string{deepest, "größe", strings.Repeat("n", mostName)} {
		if path, err := choose("ana", good); err != nil || path != good {
			t.Errorf("%.40q: %v", good, err)
		}
	}
	made := len(p.made)
	if made != mostDepth+2 {
		t.Errorf("%d queues are made", made)
	}
	for i := range mostMade {
		if _, err := choose("ana", fmt.Sprint("q", i)); err == nil {
			made++
		}
	}
	if made != mostMade || len(p.made) != mostMade {
		t.Errorf("%d queues are made and %d counted, want %d", made, len(p.made), mostMade)
	}
	if _, err := choose("ana", "q7"); err != nil {
		t.Errorf("a queue that is there: %v", err)
	}
}

// Metrics are made of whatever queues are called, and the owner lives on.
func TestMetricsOfStrangeQueues(t *testing.T) {
	c := start(t, func(config *Config) { config.Core.Queues = []*sched.QueueSpec{{Name: "default"}, {Name: "q\xff"}} })
	if status, _, text := c.get("/metrics", ""); status != http.StatusInternalServerError ||
		!strings.Contains(text, "UTF-8") {
		t.Errorf("%d %.200s", status, text)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := c.client.Call(ctx, "getClusterMetrics", &wire.Empty{}, &wire.ClusterMetrics{}); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// A panic in the owner's turn ends the process, though an HTTP server recovers above it: else the lead is held for
// ever.
func TestPanicInTurnEndsAll(t *testing.T) {
	if os.Getenv("PANIC_IN_TURN") == "" {
		child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestPanicInTurnEndsAll$")
		child.Env = append(os.Environ(), "PANIC_IN_TURN=1")
		out, err := child.CombinedOutput()
		if err == nil || !strings.Contains(string(out), "on purpose, in the owner's turn") ||
			strings.Contains(string(out), "went on") {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	c := start(t, nil)
	func() {
		defer func() { recover() }() // as net/http does
		c.rm.front.ask(func(*manager) (answer, error) { panic("on purpose") })
	}()
	t.Log("went on")
}

func TestHosts(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"include": "a b # and c\n# d\n  e\n",
		"exclude.xml": "<hosts><host><name>b, c</name><timeout>60</timeout></host>" +
			"<host><name>d</name></host></hosts>",
		"bad": "<hosts><host>",
		"odd": "<hosts><host><name>b</name><timeout>1m</timeout></host></hosts>",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	h, err := readHosts(dir, "include", filepath.Join(dir, "exclude.xml"))
	want := Hosts{Included: []string{"a", "b", "e"}, Excluded: []string{"b", "c", "d"},
		Patience: map[string]time.Duration{"b": time.Minute, "c": time.Minute}}
	if err != nil || !reflect.DeepEqual(h, want) {
		t.Errorf("%+v, %v", h, err)
	}
	s := h.set()
	if !s.allows("a") || s.allows("b") || s.allows("z") {
		t.Error("a is included; b is excluded as well; z is not included")
	}
	all := Hosts{}.set()
	if !all.allows("z") {
		t.Error("without lists, all may")
	}
	for _, path := range []string{"bad", "missing", "odd"} {
		if _, err := readHosts(dir, "", path); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// as an operator.
func (c *cluster) operator(user string) *rpc.Client {
	c.t.Helper()
	d := rpc.Dialer{Protocol: wire.Administration, User: user}
	client, err := d.Dial(c.t.Context(), c.at.Admin)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { client.Close() })
	return client
}

// Queues change under a running application; a change that would take its queue away, or cannot be read, changes
// nothing.
func TestRefreshQueues(t *testing.T) {
	var now atomic.Pointer[Queues]
	one := func(names ...string) *Queues {
		q := &Queues{}
		for _, n := range names {
			q.Tree = append(q.Tree, &sched.QueueSpec{Name: n})
		}
		return q
	}
	c := start(t, func(config *Config) {
		config.Queues = *one("default", "etl")
		config.Reread = func() (Queues, error) {
			if q := now.Load(); q != nil {
				return *q, nil
			}
			return Queues{}, errors.New("capacity-scheduler.xml: half")
		}
	})
	c.node()
	id := c.submit(func(s *wire.Submission) { s.Unmanaged, s.Queue = true, "root.etl" })
	root := c.operator("root")
	refresh := func(want string) {
		t.Helper()
		err := root.Call(t.Context(), "refreshQueues", &wire.Empty{}, nil)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("refreshed: %v, want %q", err, want)
		}
	}
	refresh("half")
	now.Store(one("default"))
	refresh("root.etl has 1 applications")
	now.Store(&Queues{Tree: []*sched.QueueSpec{{Name: "etl", Queues: []*sched.QueueSpec{{Name: "sub"}}}}})
	refresh("root.etl has 1 applications")
	if e := new(rpc.Error); !errors.As(
		c.operator("mallory").Call(t.Context(), "refreshQueues", &wire.Empty{}, nil),
		&e,
	) ||
		e.Class != classAccess {
		t.Errorf("a stranger refreshes the queues: %v", e)
	}
	now.Store(nil)
	if err := c.operator("mallory").Call(t.Context(), "refreshQueues", &wire.Empty{}, nil); err == nil ||
		strings.Contains(err.Error(), "half") {
		t.Errorf("a stranger is told of files: %v", err)
	}
	now.Store(one("default", "etl", "new"))
	refresh("")
	other := c.submit(func(s *wire.Submission) { s.Unmanaged, s.Queue = true, "new" })
	if r := c.report(other); r.Queue != "root.new" {
		t.Errorf("queue %s", r.Queue)
	}
	for _, app := range []wire.ApplicationID{id, other} {
		invoke[wire.KillResponse](c, c.client, "forceKillApplication", &wire.KillRequest{ID: app})
	}
	now.Store(one("default"))
	refresh("")
	gone := func() (metrics string, queues int) {
		_, _, metrics = c.get("/metrics", "")
		return metrics, len(invoke[wire.QueueACLs](c, c.client, "getQueueUserAcls", &wire.Empty{}).Queues)
	}
	if q := invoke[wire.QueueResponse](c, c.client, "getQueueInfo", &wire.QueueRequest{Name: "etl"}); q.Queue != nil {
		t.Errorf("queue %s is still there", q.Queue.Path)
	}
	if text, n := gone(); strings.Contains(text, "root.etl") || n != 2 {
		t.Errorf("queues that have gone are told of, %d in all:\n%s", n, text)
	}
	now.Store(one("default", "etl"))
	refresh("") // and comes back
	if text, n := gone(); strings.Count(text, `queue="root.etl",resource="memory",what="used"`) != 1 || n != 3 {
		t.Errorf("a queue that came back is not told of once, %d in all:\n%s", n, text)
	}
}

// A node that is to leave gracefully stays when it is allowed again, and ends when patience is over.
func TestRecommission(t *testing.T) {
	var excluded atomic.Bool
	var read atomic.Int32
	c := start(t, func(config *Config) {
		config.Hosts = func() (Hosts, error) {
			read.Add(1)
			if excluded.Load() {
				return Hosts{Excluded: []string{"127.0.0.1"}}, nil
			}
			return Hosts{}, nil
		}
	})
	n := c.node()
	c.task = func(ctx context.Context, _ wire.ContainerID) int32 { <-ctx.Done(); return 0 }
	id := c.submit(nil)
	c.until("tasks run", func() bool { running, _ := n.Running(); return running == 8 })
	before := read.Load()
	if err := c.operator("mallory").Call(t.Context(), "refreshNodes", &wire.RefreshNodes{}, nil); err == nil ||
		read.Load() != before {
		t.Errorf("a stranger has the files of hosts read: %v", err)
	}
	err := c.operator("mallory").Call(t.Context(), "checkForDecommissioningNodes", &wire.Empty{}, &wire.NodeIDs{})
	if class(err) != classAccess {
		t.Errorf("a stranger is told which nodes leave: %v", err)
	}
	root := c.operator("root")
	refresh := func(out bool, timeout int32) []wire.NodeID {
		excluded.Store(out)
		invoke[wire.Empty](
			c,
			root,
			"refreshNodes",
			&wire.RefreshNodes{How: wire.DecommissionGraceful, Timeout: int64(timeout)},
		)
		return invoke[wire.NodeIDs](c, root, "checkForDecommissioningNodes", &wire.Empty{}).Nodes
	}
	if leaving := refresh(true, -1); len(leaving) != 1 {
		t.Errorf("%d nodes are leaving", len(leaving))
	}
	if leaving := refresh(false, -1); len(leaving) != 0 {
		t.Errorf("%d nodes are leaving", len(leaving))
	}
	if s := invoke[wire.ClusterMetrics](c, c.client, "getClusterMetrics", &wire.Empty{}); s.Active != 1 {
		t.Errorf("%+v", s)
	}
	refresh(true, 0)
	c.until("the node has ended", func() bool { return n.Shutdown() != "" })
	invoke[wire.KillResponse](c, c.client, "forceKillApplication", &wire.KillRequest{ID: id})
}

func FuzzCapacityQueues(f *testing.F) {
	f.Add(
		[]byte(capacityXML("root.queues=a,b\nroot.a.capacity=60\nroot.b.capacity=${x}\nqueue-mappings=u:%user:%user")),
	)
	f.Add(
		[]byte(
			capacityXML("root.queues=a\nroot.a.capacity=[memory=10Gi,vcores=4]\nroot.a.queues=a\nroot.a.a.capacity=2w"),
		),
	)
	f.Fuzz(func(t *testing.T, text []byte) {
		p := &properties{values: map[string]property{}, used: map[string]bool{}}
		if p.read("fuzz.xml", text) != nil {
			return
		}
		q := p.capacityQueues()
		checkTree(t, q.Tree)
		p.config(".")
		p.notes()
	})
}

func FuzzFairQueues(f *testing.F) {
	f.Add(
		[]byte(
			"<allocations><queue name='a'><weight>2</weight><maxResources>10 mb, 2 vcores</maxResources><queue " +
				"name='b'/></queue></allocations>",
		),
	)
	f.Fuzz(func(t *testing.T, text []byte) {
		var q Queues
		var notes []string
		if q.parseFair("fuzz.xml", text, nil, &notes) == nil {
			checkTree(t, q.Tree)
		}
	})
}

func FuzzHosts(f *testing.F) {
	f.Add([]byte("a b # c"))
	f.Add([]byte("<hosts><host><name>a,b</name></host></hosts>"))
	f.Fuzz(func(t *testing.T, text []byte) {
		list, _, err := parseHosts("fuzz", text)
		for _, h := range list {
			if err == nil && strings.ContainsAny(h, " \n\t") {
				t.Errorf("host %q", h)
			}
		}
	})
}

// checkTree checks that the core can have a tree: names once, shares within bounds, and that it takes it while running.
func checkTree(t *testing.T, list []*sched.QueueSpec) {
	t.Helper()
	var walk func(list []*sched.QueueSpec, depth int)
	walk = func(list []*sched.QueueSpec, depth int) {
		seen := map[string]bool{}
		for _, s := range list {
			if seen[s.Name] || s.Name == "" || depth > mostDepth || s.Weight < 0 || s.Min.Part < 0 || s.Min.Part > 1 ||
				s.Max.Part > 1 {
				t.Fatalf("queue %+v at depth %d", s, depth)
			}
			seen[s.Name] = true
			walk(s.Queues, depth+1)
		}
	}
	walk(list, 0)
	core := sched.New(sched.Config{})
	core.Step(time.Second, []sched.Event{{Kind: sched.SpecChanged, Body: &sched.Queues{List: list}}})
}

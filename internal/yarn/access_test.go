package yarn

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/proto"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
	"github.com/sojourn-sched/sojourn/policy"
)

func TestParseACL(t *testing.T) {
	for text, want := range map[string]ACL{
		"*": {Everybody: true}, " * ": {Everybody: true}, "ana *": {Everybody: true}, "": {}, " ": {},
		"ana":            {Users: []string{"ana"}},
		"ana,bo etl,ops": {Users: []string{"ana", "bo"}, Groups: []string{"etl", "ops"}},
		" etl":           {Groups: []string{"etl"}}, "*,ana": {Users: []string{"*", "ana"}},
		" domain users,ops\n, etl": {Groups: []string{"domain users", "ops", "etl"}},
		"ana, bo":                  {Users: []string{"ana"}, Groups: []string{"bo"}},
		"\tana\n":                  {Users: []string{"ana"}},
		"ana etl *":                {Users: []string{"ana"}, Groups: []string{"etl *"}},
	} {
		got := parseACL(text)
		if got.Everybody != want.Everybody || !slices.Equal(got.Users, want.Users) ||
			!slices.Equal(got.Groups, want.Groups) {
			t.Errorf("%q is %+v, want %+v", text, got, want)
		}
		for _, user := range []string{"ana", "bo", "*", "", "kim"} {
			for _, groups := range [][]string{nil, {"etl"}, {"x", "domain users"}, {"etl *"}, {""}} {
				if has := accessList(text).has(user, groups); has != got.has(user, groups) {
					t.Errorf("%q has %s of groups %q: %v unparsed", text, user, groups, has)
				}
			}
		}
	}
}

// A name is found in a list where it stands alone, whatever is around it, and not as a part of another name.
func TestNamesAreFoundInText(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	text := func(most int, pieces ...string) string {
		var b strings.Builder
		for range r.IntN(most) {
			b.WriteString(pieces[r.IntN(len(pieces))])
		}
		return b.String()
	}
	found := 0
	for range 100_000 {
		list := text(10, "a", "b", "é", ",", "\n", " ", "\t", "\u3000", "\xc3", "\xa9")
		name := text(4, "a", "b", "é", "a b", "\t", ",", "\xa9", "\xe3")
		want := slices.Contains(slices.Collect(namesIn(list)), name)
		if got := isNamed(list, name); got != want {
			t.Fatalf("%q in %q: %v, want %v", name, list, got, want)
		}
		if want {
			found++
		}
	}
	if found < 1000 {
		t.Errorf("only %d names were in their lists", found)
	}
}

// Access lists of many short names take the memory that is counted of them.
func TestAccessListsTakeWhatIsCounted(t *testing.T) {
	f := newFleet(t, 1)
	sent := &wire.Submission{Unmanaged: true, Launch: wire.AccessContext([]wire.ACL{
		{Type: wire.ViewApp, Users: strings.Repeat("a,", mostAccess/4)},
		{Type: wire.ModifyApp, Users: strings.Repeat("b,", mostAccess/4)}})}
	memory := func() uint64 {
		var s runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&s)
		return s.HeapAlloc
	}
	const apps, beside = 500, 10 << 10 // of what else there is of an application
	before := memory()
	for range apps {
		r, _ := f.do(func(m *manager) (answer, error) { return client{m, ""}.newID(nil) })
		sent.ID = r.(*wire.NewApplication).ID
		var s wire.Submission
		if err := s.Decode(sent.Append(nil)); err != nil {
			t.Fatal(err)
		}
		if _, err := f.do(func(m *manager) (answer, error) {
			return client{m, "user"}.submit(&wire.SubmitRequest{Submission: s})
		}); err != nil {
			t.Fatal(err)
		}
	}
	takes := int64(memory()-before) / apps
	if counted := f.m.apps.footprint / apps; takes > counted*5/4+beside {
		t.Errorf("an application takes %d bytes, and %d are counted", takes, counted)
	}
	runtime.KeepAlive(f)
}

// A house is a ResourceManager as a folder of configuration files has it.
type house struct{ *world }

// The people: ana and bo are in group etl, kim in ops, root administers the cluster.
const people = `
	yarn.acl.enable=true
	yarn.admin.acl=root
	hadoop.user.group.static.mapping.overrides=ana=etl;bo=etl;kim=ops;lee=;root=;max=;cleo=`

const houseCapacity = `
	root.queues=etl,adhoc,open
	root.acl_submit_applications= 
	root.acl_administer_queue=max
	root.etl.capacity=50
	root.etl.acl_submit_applications= etl
	root.etl.acl_administer_queue=lee ops
	root.etl.queues=nightly,secret
	root.etl.nightly.capacity=60
	root.etl.secret.capacity=40
	root.etl.secret.acl_submit_applications=cleo
	root.adhoc.capacity=30
	root.adhoc.acl_submit_applications=cleo
	root.open.capacity=20
	root.open.acl_submit_applications=*`

const houseFair = `<allocations>
	<queue name="root"><aclSubmitApps> </aclSubmitApps><aclAdministerApps>max</aclAdministerApps>
	<queue name="etl"><aclSubmitApps> etl</aclSubmitApps><aclAdministerApps>lee ops</aclAdministerApps>
		<queue name="nightly"/><queue name="secret"><aclSubmitApps>cleo</aclSubmitApps></queue></queue>
	<queue name="adhoc"><aclSubmitApps>cleo</aclSubmitApps></queue>
	<queue name="open"><aclSubmitApps>*</aclSubmitApps></queue>
	</queue>
	<queuePlacementPolicy><rule name="specified"/></queuePlacementPolicy></allocations>`

func newHouse(t *testing.T, dir string) *house {
	t.Helper()
	config, _, err := Site(dir)
	if err != nil {
		t.Fatal(err)
	}
	if config.Core.Policy, _, err = policy.Parse("fifo"); err != nil {
		t.Fatal(err)
	}
	config.Log = slog.New(slog.DiscardHandler)
	h := &house{&world{t: t, now: time.Unix(1_700_000_000, 0)}}
	h.open(config.withDefaults(), Hosts{}, h.world, func() time.Time { return h.now })
	return h
}

func (h *house) submit(user, queue string, lists ...wire.ACL) (wire.ApplicationID, error) {
	r, _ := h.do(func(m *manager) (answer, error) { return client{m, user}.newID(nil) })
	id := r.(*wire.NewApplication).ID
	launch := wire.NewLaunchContext("date")
	context := proto.Append(nil, &launch)
	for i := range lists {
		context = proto.AppendMessage(context, 6, &lists[i])
	}
	if err := proto.Decode(context, &launch); err != nil {
		h.t.Fatal(err)
	}
	var q wire.SubmitRequest // as it comes
	if err := q.Decode((&wire.SubmitRequest{Submission: wire.Submission{ID: id, Unmanaged: true, Queue: queue,
		Launch: launch}}).Append(nil)); err != nil {
		h.t.Fatal(err)
	}
	h.m.groups.meet(user)
	_, err := h.do(func(m *manager) (answer, error) { return client{m, user}.submit(&q) })
	return id, err
}

// Who may submit where, who may change and see what: the same in the words of either scheduler's file.
func TestAccessLists(t *testing.T) {
	const fair = "yarn.resourcemanager.scheduler.class=FairScheduler\nyarn.scheduler.fair.user-as-default-queue=false\n"
	for name, dir := range map[string]string{"capacity": withFile(t, people, capacityFile, capacityXML(houseCapacity)),
		"fair": withFile(t, fair+people, fairFile, houseFair)} {
		h := newHouse(t, dir)
		for _, c := range []struct {
			queue   string
			may     string // who may submit, of all
			refused string
		}{
			// by group, inherited; who administers it or one above; the cluster's administrators not
			{"etl.nightly", "ana bo kim lee max", "cleo root stranger"},
			{"etl.secret", "ana bo cleo kim lee max", "root stranger"}, // a list adds to those above
			{"adhoc", "cleo max", "ana bo kim lee root stranger"},
			{"open", "ana bo cleo kim lee max root stranger", ""},
		} {
			for _, user := range strings.Fields(c.may) {
				if _, err := h.submit(user, c.queue); err != nil {
					t.Errorf("%s: %s submits to %s: %v", name, user, c.queue, err)
				}
			}
			for _, user := range strings.Fields(c.refused) {
				id, err := h.submit(user, c.queue)
				if want := fmt.Sprintf("User %s does not have permission to submit %s to queue root.%s", user, id,
					c.queue); class(
					err,
				) != classAccess ||
					!strings.Contains(err.Error(), want) {
					t.Errorf("%s: %s submits to %s: %v, want %s", name, user, c.queue, err, want)
				}
			}
		}
		mine, err := h.submit(
			"ana",
			"etl.nightly",
			wire.ACL{Type: wire.ViewApp, Users: "bo"},
			wire.ACL{Type: wire.ModifyApp, Users: "cleo"},
		)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			user            string
			change, see     bool
			toOpen, toAdhoc bool // may move it there
		}{
			{"ana", true, true, true, false},  // whose it is
			{"bo", false, true, false, false}, // the list lets this user see
			{"cleo", true, false, true, true}, // the list lets this user change
			{"kim", true, true, true, false},  // administers the queue above, by group
			{"max", true, true, true, true},   // administers all queues
			{"root", true, true, true, false}, // administers the cluster
			{"stranger", false, false, false, false},
			{"", false, false, false, false},
		} {
			h.m.groups.meet(c.user)
			verdict := func(what string, ok bool, do func(m *manager) (answer, error), classOf string) {
				t.Helper()
				if _, err := h.do(do); ok != (err == nil) || !ok && class(err) != classOf {
					t.Errorf("%s: %q, %s: %v, want it allowed: %v", name, c.user, what, err, ok)
				}
			}
			verdict("changes its priority", c.change, func(m *manager) (answer, error) {
				return client{m, c.user}.changePriority(&wire.PriorityChange{ID: mine, Priority: 1})
			}, classAccess)
			for queue, ok := range map[string]bool{"open": c.toOpen, "adhoc": c.toAdhoc} {
				verdict(
					"moves it to "+queue,
					ok,
					func(m *manager) (answer, error) {
						return client{m, c.user}.move(&wire.Move{ID: mine, Queue: queue})
					},
					classAccess,
				)
				h.do(
					func(m *manager) (answer, error) {
						return client{m, "max"}.move(&wire.Move{ID: mine, Queue: "etl.nightly"})
					},
				)
			}
			verdict("sees its attempts", c.see, func(m *manager) (answer, error) {
				return client{m, c.user}.attemptReports(&wire.ApplicationRequest{ID: mine})
			}, classYARN)
			r, err := h.do(func(m *manager) (answer, error) {
				return client{m, c.user}.report(&wire.ApplicationRequest{ID: mine})
			})
			if err != nil {
				t.Fatal(err)
			}
			if seen := r.(*wire.ApplicationResponse).Report; (seen.Attempt.Attempt == 1) != c.see ||
				(seen.Master.Tracking != wire.NotAvailable) != c.see ||
				seen.User != "ana" {
				t.Errorf("%s: %q is told %+v", name, c.user, seen)
			}
		}
		if _, err := h.do(func(m *manager) (answer, error) {
			return client{m, "bo"}.kill(nil, &wire.KillRequest{ID: mine})
		}); class(
			err,
		) != classAccess ||
			!strings.Contains(err.Error(), "User bo cannot perform operation MODIFY_APP on "+mine.String()) {
			t.Errorf("%s: bo kills: %v", name, err)
		}
		if _, err := h.do(func(m *manager) (answer, error) {
			return client{m, "kim"}.kill(&net.TCPAddr{}, &wire.KillRequest{ID: mine})
		}); err != nil {
			t.Errorf("%s: kim kills: %v", name, err)
		}
		r, _ := h.do(func(m *manager) (answer, error) { return client{m, "kim"}.queueACLs(nil) })
		var read wire.QueueACLs
		if err := read.Decode(r.Append(nil)); err != nil {
			t.Fatal(err)
		}
		may := map[string][]int32{}
		for _, q := range read.Queues {
			may[q.Queue] = q.May
		}
		if want := map[string][]int32{"root": nil, "root.etl": {2}, "root.etl.nightly": {2}, "root.etl.secret": {2},
			"root.adhoc": nil, "root.open": {1}}; !reflect.DeepEqual(
			may,
			want,
		) {
			t.Errorf("%s: kim may %v, want %v", name, may, want)
		}
	}
}

// As in Hadoop the root's lists are everybody where no file says them, so that lists below take nothing away; and
// without yarn.acl.enable no list counts, but that owners and administrators alone change an application.
func TestAccessDefaults(t *testing.T) {
	const below = "root.queues=etl\nroot.etl.capacity=100\nroot.etl.acl_submit_applications=ana\n" +
		"root.etl.acl_administer_queue=ana"
	h := newHouse(t, withFile(t, people, capacityFile, capacityXML(below)))
	id, err := h.submit("stranger", "etl")
	if err != nil {
		t.Errorf("nothing is said of the root: %v", err)
	}
	if _, err := h.do(func(m *manager) (answer, error) {
		_, err := client{m, "cleo"}.changing(id)
		return nil, err
	}); err != nil {
		t.Errorf("nothing is said of the root: %v", err)
	}
	off := strings.Replace(people, "yarn.acl.enable=true", "", 1)
	dir := withFile(
		t,
		off,
		capacityFile,
		capacityXML(below+"\nroot.acl_submit_applications= \nroot.acl_administer_queue= "),
	)
	if _, notes, err := Site(dir); err != nil || len(notes) != 1 ||
		!strings.Contains(notes[0], "yarn.acl.enable is not true") {
		t.Errorf("notes %q, %v", notes, err)
	}
	h = newHouse(t, dir)
	if id, err = h.submit("stranger", "etl"); err != nil {
		t.Errorf("without lists: %v", err)
	}
	for user, ok := range map[string]bool{"stranger": true, "root": true, "ana": false} {
		if _, err := h.do(func(m *manager) (answer, error) {
			return client{m, user}.changePriority(&wire.PriorityChange{ID: id})
		}); ok != (err == nil) {
			t.Errorf("without lists, %s changes: %v", user, err)
		}
		if _, err := h.do(func(m *manager) (answer, error) {
			return client{m, user}.attemptReports(&wire.ApplicationRequest{ID: id})
		}); err != nil {
			t.Errorf("without lists, %s sees: %v", user, err)
		}
	}
}

// Lists of the one queue that there is where no queues are said count, and an application's are bounded, as they are
// kept.
func TestAccessOfOneQueue(t *testing.T) {
	h := newHouse(
		t,
		withFile(
			t,
			people,
			capacityFile,
			capacityXML(
				"root.acl_submit_applications= \nroot.acl_administer_queue= \n"+
					"root.default.acl_submit_applications= etl",
			),
		),
	)
	for user, ok := range map[string]bool{"ana": true, "stranger": false} {
		if _, err := h.submit(user, "default"); ok != (err == nil) {
			t.Errorf("%s submits: %v", user, err)
		}
	}
	if _, err := h.submit("ana", "default", wire.ACL{Type: wire.ViewApp, Users: strings.Repeat("a", mostAccess)},
		wire.ACL{Type: 7, Users: "x"}); class(
		err,
	) != classYARN ||
		!strings.Contains(err.Error(), "16384 bytes") {
		t.Errorf("lists that are too long: %v", err)
	}
	id, err := h.submit("ana", "default", wire.ACL{Type: 7, Users: "*"}, wire.ACL{Type: wire.ViewApp, Users: "bo"})
	if err != nil || len(h.m.apps.byID[id].access) != 1 {
		t.Errorf("%v: lists of what there is none of are kept: %v", err, h.m.apps.byID[id].access)
	}
}

// A property that would hide applications in lists is said to have no effect.
func TestAccessNotUnderstood(t *testing.T) {
	_, notes, err := Site(
		withFile(
			t,
			"yarn.webapp.filter-app-list-by-user=true",
			capacityFile,
			capacityXML("root.queues=etl\nroot.etl.capacity=100"),
		),
	)
	if err != nil || len(notes) != 1 ||
		!strings.Contains(notes[0], "yarn.webapp.filter-app-list-by-user = true: not understood") {
		t.Errorf("notes %q, %v", notes, err)
	}
}

// However Hadoop lets a file say that lists count, they do, or the file is refused.
func TestAccessEnabled(t *testing.T) {
	const name, on = "yarn.acl.enable",
		"<property><name>yarn.acl.enable</name><value>true</value><final>true</final></property>"
	for text, want := range map[string]bool{
		on: true,
		"<property name='yarn.acl.enable' value='true'/>":                            true,
		on + "<property><name>yarn.acl.enable</name><value>false</value></property>": true,
		"<property name='yarn.acl.enable' value='true' final='true'/>" +
			"<property name='yarn.acl.enable' value='false'/>": true,
		"<property name='yarn.acl.enable' value='true'/>" +
			"<property name='yarn.acl.enable' value='false'/>": false,
	} {
		p := &properties{values: map[string]property{}, used: map[string]bool{}}
		if err := p.read("f", []byte("<configuration>"+text+"</configuration>")); err != nil ||
			p.yes(name, false) != want {
			t.Errorf("%s: %v, %v, want %v", text, p.yes(name, false), err, want)
		}
	}
	p := &properties{values: map[string]property{}, used: map[string]bool{}}
	if err := p.read("f", []byte("<configuration xmlns:xi='http://www.w3.org/2001/XInclude'><xi:include "+
		"href='acl.xml'/></configuration>")); err == nil ||
		!strings.Contains(err.Error(), `includes "acl.xml": must be`) {
		t.Errorf("a file that includes another: %v", err)
	}
}

// Lists change by a refresh, and REST goes by them.
func TestAccessByREST(t *testing.T) {
	dir := withFile(t, people, capacityFile, capacityXML(houseCapacity))
	h := newHouse(t, dir)
	id, err := h.submit("ana", "etl.nightly")
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(restHandler(h.f, nil))
	defer server.Close()
	get := func(path, user string) int {
		r, err := http.Get(server.URL + "/ws/v1/cluster/apps/" + id.String() + path + "?user.name=" + user)
		if err != nil {
			t.Fatal(err)
		}
		r.Body.Close()
		return r.StatusCode
	}
	for user, want := range map[string]int{"kim": 200, "stranger": 403, "": 403} {
		if got := get("/appattempts", user); got != want {
			t.Errorf("%q sees attempts: %d, want %d", user, got, want)
		}
		if got := get("", user); got != 200 {
			t.Errorf("%q sees that it is there: %d", user, got)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, capacityFile),
		[]byte(capacityXML(strings.Replace(houseCapacity, "lee ops", "stranger", 1))), 0o600); err != nil {
		t.Fatal(err)
	}
	q, err := h.m.config.Reread()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.do(func(m *manager) (answer, error) { return admin{m, "root"}.refreshQueues(q) }); err != nil {
		t.Fatal(err)
	}
	for user, want := range map[string]int{"kim": 403, "stranger": 200} {
		if got := get("/appattempts", user); got != want {
			t.Errorf("after the refresh %q sees attempts: %d, want %d", user, got, want)
		}
	}
}

// Administrators of a queue are told who is on its lists, or on those of a queue above it, in Hadoop's words. Others
// are refused, as those who ask for a queue that is missing are. The lists count without yarn.acl.enable too.
func TestQueueAccess(t *testing.T) {
	const submit, administer = "SUBMIT_APPLICATIONS", "ADMINISTER_QUEUE"
	for _, settings := range []string{people, strings.Replace(people, "yarn.acl.enable=true", "", 1)} {
		h := newHouse(t, withFile(t, settings, capacityFile, capacityXML(houseCapacity)))
		server := httptest.NewServer(restHandler(h.f, nil))
		defer server.Close()
		get := func(path, accept string) (int, string) {
			t.Helper()
			q, err := http.NewRequestWithContext(t.Context(), "GET", server.URL+"/ws/v1/cluster/queues/"+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			q.Header.Set("Accept", accept)
			r, err := http.DefaultClient.Do(q)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Body.Close()
			text, err := io.ReadAll(r.Body)
			if err != nil {
				t.Fatal(err)
			}
			return r.StatusCode, strings.TrimSpace(string(text))
		}
		for _, c := range []struct {
			queue, caller, user, kind string
			allowed                   bool
		}{
			{"root.etl", "lee", "ana", submit, true}, // a group is on the list
			{"root.etl", "kim", "ana", administer, false},
			{"root.etl", "kim", "kim", administer, true},
			{"root.etl", "kim", "kim", submit, false}, // which the other list would allow
			{"root.etl.nightly", "lee", "ana", submit, true},
			{"root.etl.secret", "lee", "cleo", submit, true},
			{"root.etl", "max", "cleo", submit, false},
			{"secret", "max", "cleo", submit, true},
			{"etl", "max", "ana", submit, true},
			{"root.etl.none", "lee", "ana", submit, true}, // where it would be created
			{"root", "max", "ana", submit, false},
			{"root", "max", "max", administer, true},
		} {
			why := ""
			if !c.allowed {
				why = "User=" + c.user + " doesn't have access to queue=" + c.queue + " with acl-type=" + c.kind
			}
			want := fmt.Sprintf(`{"allowed":"%t","user":%q,"diagnostics":%q}`, c.allowed, c.user, why)
			path := c.queue + "/access?user.name=" + c.caller + "&user=" + c.user
			paths := []string{path + "&queue-acl-type=" + c.kind}
			if c.kind == submit {
				paths = append(paths, path)
			}
			for _, path := range paths {
				if status, got := get(path, ""); status != 200 || got != want {
					t.Errorf("%s: %d %s, want %s", path, status, got, want)
				}
			}
		}
		if _, got := get("etl/access?user.name=max&user=ana", "application/xml"); !strings.HasSuffix(got,
			"?><rmQueueAclInfo><allowed>true</allowed><user>ana</user><diagnostics></diagnostics></rmQueueAclInfo>") {
			t.Errorf("in XML: %s", got)
		}
		const mayNot = "User=%s doesn't haven access to queue=%s so it cannot check ACLs for other users."
		for path, want := range map[string]string{
			"root.etl/access?user=ana&user.name=ana":   fmt.Sprintf(mayNot, "ana", "root.etl"),
			"root.etl/access?user=ana&user.name=root":  fmt.Sprintf(mayNot, "root", "root.etl"), // on no queue's list
			"root.etl/access?user=ana":                 fmt.Sprintf(mayNot, staticUser, "root.etl"),
			"root.adhoc/access?user=ana&user.name=lee": fmt.Sprintf(mayNot, "lee", "root.adhoc"),
			"none/access?user=ana&user.name=max":       fmt.Sprintf(mayNot, "max", "none"),
			"etl/access?user.name=max":                 "Null user",
			"etl/access?user=ana&user.name=max&queue-acl-type=submit_applications": "Specified queueAclType=" +
				"submit_applications is not a valid type, valid queue acl types={SUBMIT_APPLICATIONS/ADMINISTER_QUEUE}",
			"etl/access?user=ana&user.name=max&queue-acl-type=": "Specified queueAclType= is not a valid type, valid " +
				"queue acl types={SUBMIT_APPLICATIONS/ADMINISTER_QUEUE}",
		} {
			status, exception := http.StatusBadRequest, "BadRequestException"
			if strings.HasPrefix(want, "User") {
				status, exception = http.StatusForbidden, "ForbiddenException"
			}
			got, text := get(path, "")
			var v any
			if err := json.Unmarshal([]byte(text), &v); err != nil || got != status ||
				at(v, "RemoteException.message") != want || at(v, "RemoteException.exception") != exception {
				t.Errorf("%s: %d %s, want %d %s %s", path, got, text, status, exception, want)
			}
		}
	}
}

// Without yarn.acl.enable groups matter for the access lists of queues only: a request about these asks for the groups
// of its caller and, if it is an administrator, of the user that it is about. Other callers are not looked up.
func TestQueueAccessLooksUpTwoUsers(t *testing.T) {
	h := newHouse(t, withFile(t, strings.Replace(people, "yarn.acl.enable=true", "", 1), capacityFile,
		capacityXML(houseCapacity)))
	var asked []string
	ask := h.m.groups.ask
	h.m.groups.ask = func(user string) ([]string, error) {
		if n := len(h.f.making); n > 0 {
			t.Errorf("the groups of %s are asked for while %d replies are made, which wait for that", user, n)
		}
		asked = append(asked, user)
		return ask(user)
	}
	handler := restHandler(h.f, nil)
	for _, c := range []struct {
		path   string
		status int
		asked  []string // so far
	}{
		{"apps?user.name=kim", 200, nil},
		{"queues/root.etl/access?user=ana&user.name=bo", 403, []string{"bo"}},
		{"apps?user.name=kim", 200, []string{"bo"}},
		{"queues/root.etl/access?user=ana&user.name=lee", 200, []string{"bo", "lee", "ana"}},
		{"apps?user.name=kim", 200, []string{"bo", "lee", "ana"}},
	} {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest("GET", "/ws/v1/cluster/"+c.path, nil))
		if w.Code != c.status || !slices.Equal(asked, c.asked) {
			t.Errorf("%s: status %d, asked for the groups of %v, want %d and %v", c.path, w.Code, asked, c.status,
				c.asked)
		}
	}
}

// Groups are asked for once in a while, and kept when they cannot be; a user that the system does not know is in none.
func TestGroups(t *testing.T) {
	asked, groups, fails := 0, []string{"etl"}, error(nil)
	table := newGroupTable(
		&Access{Lists: true, Groups: func(string) ([]string, error) { asked++; return groups, fails }}, nil,
	)
	now := time.Unix(1_700_000_000, 0)
	for range 3 {
		table.learn("ana", now)
	}
	if asked != 1 || !slices.Equal(table.of("ana"), groups) || table.of("bo") != nil {
		t.Errorf("asked %d times, ana is in %v, bo in %v", asked, table.of("ana"), table.of("bo"))
	}
	groups, fails = nil, errors.New("no directory")
	if err := table.learn("ana", now.Add(groupsKept)); err == nil || asked != 2 || len(table.of("ana")) != 1 {
		t.Errorf("asked %d times, %v, ana is in %v", asked, err, table.of("ana"))
	}
	fails = nil
	if table.forget(); table.learn("ana", now) != nil || len(table.of("ana")) != 0 {
		t.Errorf("after a refresh ana is in %v", table.of("ana"))
	}
	if groups, err := systemGroups("nobody-of-this-name"); err != nil || len(groups) != 0 {
		t.Errorf("who is not there is in %v, %v", groups, err)
	}
	off := newGroupTable(
		&Access{
			Groups: func(string) ([]string, error) { t.Error("asked for groups that no list needs"); return nil, nil },
		}, nil,
	)
	off.meet("ana")
	if _, ok := staticGroups("ana", nil); ok {
		t.Error("a user without = is taken")
	}
}

package yarn

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/rpc"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
)

// Who may act for others is read as Hadoop reads it: for users, for groups, from hosts; the ResourceManager's own
// properties before those of all of Hadoop.
func TestSuperusers(t *testing.T) {
	dir := t.TempDir()
	writeSite(t, dir, map[string]string{
		"hadoop.proxyuser.oozie.hosts":                  "10.1.0.0/16, 192.168.7.9",
		"hadoop.proxyuser.oozie.groups":                 "etl",
		"hadoop.proxyuser.livy.server.hosts":            "*",
		"hadoop.proxyuser.livy.server.users":            "ana,bo",
		"hadoop.proxyuser.hue.hosts":                    "*",
		"hadoop.proxyuser.hue.groups":                   "*",
		"yarn.resourcemanager.proxyuser.hue.hosts":      "127.0.0.1",
		"hadoop.proxyuser.homeless.groups":              "*",
		"hadoop.user.group.static.mapping.overrides":    "ana=etl;bo=ops",
		"yarn.resourcemanager.webapp.address":           "127.0.0.1:0",
		"yarn.resourcemanager.resource-tracker.address": "127.0.0.1:0",
	})
	config, notes, err := Site(dir)
	if err != nil {
		t.Fatal(err)
	}
	if text := strings.Join(notes, "\n"); strings.Contains(text, "proxyuser") {
		t.Errorf("notes: %s", text)
	}
	f := newFront(newManager(config.withDefaults(), Hosts{}, nil, time.Now))
	const unnamed, elsewhere = "is not allowed to impersonate", "Unauthorized connection for super-user"
	for _, c := range []struct{ real, effective, from, want string }{
		{"oozie", "ana", "10.1.2.3", ""},
		{"oozie", "ana", "192.168.7.9", ""},
		{"oozie/host@REALM", "ana", "10.1.2.3", ""},
		{"oozie", "ana", "10.2.2.3", elsewhere},
		{"oozie", "bo", "10.1.2.3", unnamed},
		{"livy.server", "bo", "8.8.8.8", ""},
		{"livy.server", "cy", "8.8.8.8", unnamed},
		{"hue", "cy", "127.0.0.1", ""},
		{"hue", "cy", "127.0.0.2", elsewhere},
		{"homeless", "cy", "127.0.0.1", elsewhere},
		{"mallory", "root", "127.0.0.1", unnamed},
	} {
		err := f.impersonate(c.real, c.effective, &net.TCPAddr{IP: net.ParseIP(c.from)})
		if c.want == "" && err != nil || c.want != "" && (class(err) != classAuthorization ||
			!strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s for %s from %s: %v, want %q", c.real, c.effective, c.from, err, c.want)
		}
	}
}

// Without Kerberos, too, REST acts for the user that doAs names, if the user of user.name may act for that one.
func TestActingForOthersByREST(t *testing.T) {
	f := newFleet(t, 0)
	f.f.superusers.Store(&Superusers{"hue": {For: ACL{Users: []string{"ana", `a\b`}}, Hosts: []string{"10.0.0.1"}}})
	h := restHandler(f.f, nil)
	const unnamed, elsewhere = "is not allowed to impersonate", "Unauthorized connection for super-user"
	for _, c := range []struct {
		query, from string
		status      int
		want        string
	}{
		{"user.name=hue&doAs=ana", "10.0.0.1", 200, `"requestedUser":"ana"`},
		{"user.name=hue&DOAS=ana", "10.0.0.1", 200, `"requestedUser":"ana"`},
		{"user.name=hue", "10.0.0.1", 200, `"requestedUser":"hue"`},
		{"user.name=bo&doAs=bo", "10.0.0.1", 200, `"requestedUser":"bo"`},
		{"user.name=hue&doAs=ana", "10.0.0.2", 403, elsewhere},
		{"user.name=hue&doAs=root", "10.0.0.1", 403, unnamed},
		{"user.name=ana&doAs=root", "10.0.0.1", 403, unnamed},
		{"user.name=hue&doAs=", "10.0.0.1", 403, "doAs must name a user"},
		{`user.name=hue&doAs=a\b`, "10.0.0.1", 403, "doAs must name a user"},
		{"doAs=ana", "10.0.0.1", 200, `"requestedUser":"dr.who"`}, // as in Hadoop
	} {
		r := httptest.NewRequest(http.MethodGet, "/ws/v1/cluster/userinfo?"+c.query, nil)
		r.RemoteAddr = c.from + ":99"
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s from %s: status %d, %s, want %d and %s", c.query, c.from, w.Code, w.Body, c.status, c.want)
		}
	}
}

// A superuser's call counts as that of the user that it acts for, on the wire too; others are told so and cut off.
// Operators' commands change who it is, who administers, and how much a priority may be.
func TestActingForOthers(t *testing.T) {
	dir := t.TempDir()
	site := func(more map[string]string) {
		all := map[string]string{"yarn.admin.acl": "root", "hadoop.proxyuser.hue.users": "ana"}
		for name, value := range more {
			all[name] = value
		}
		writeSite(t, dir, all)
	}
	site(map[string]string{"hadoop.proxyuser.hue.hosts": "*"})
	said, _, err := Site(dir)
	if err != nil {
		t.Fatal(err)
	}
	c := start(t, func(config *Config) { config.Access = said.Access })
	submit := func(real, effective string) (wire.ApplicationID, error) {
		d := rpc.Dialer{Protocol: wire.ApplicationClient, User: effective, Real: real}
		client, err := d.Dial(t.Context(), c.at.Client)
		if err != nil {
			return wire.ApplicationID{}, err
		}
		defer client.Close()
		var named wire.NewApplication
		if err := client.Call(t.Context(), "getNewApplication", &wire.Empty{}, &named); err != nil {
			return named.ID, err
		}
		s := wire.Submission{ID: named.ID, Resource: &wire.Resource{Memory: 512, VCores: 1}, Priority: 9}
		q := &wire.SubmitRequest{Submission: s}
		return named.ID, client.Call(t.Context(), "submitApplication", q, &wire.Empty{})
	}
	id, err := submit("hue", "ana")
	if err != nil {
		t.Fatal(err)
	}
	if r := c.report(id); r.User != "ana" || r.Priority != 0 {
		t.Errorf("the application is %s's, of priority %d", r.User, r.Priority)
	}
	refused := func(what string, err error) {
		t.Helper()
		if e := new(rpc.Error); !errors.As(err, &e) || e.Class != classAuthorization {
			t.Errorf("%s: %v", what, err)
		}
	}
	_, err = submit("hue", "root")
	refused("hue for root", err)
	_, err = submit("mallory", "ana")
	refused("mallory for ana", err)

	refresh := func(user, method string) error {
		return c.operator(user).Call(t.Context(), method, &wire.Empty{}, nil)
	}
	site(map[string]string{"hadoop.proxyuser.hue.hosts": "10.0.0.1", "yarn.admin.acl": "root,eve",
		"yarn.cluster.max-application-priority": "5"})
	if err := refresh("eve", "refreshAdminAcls"); class(err) != classAccess {
		t.Errorf("a stranger refreshes: %v", err)
	}
	for _, method := range []string{
		"refreshAdminAcls", "refreshSuperUserGroupsConfiguration", "refreshClusterMaxPriority",
	} {
		if err := refresh("root", method); err != nil {
			t.Errorf("%s: %v", method, err)
		}
	}
	if err := refresh("eve", "refreshAdminAcls"); err != nil {
		t.Errorf("a new administrator: %v", err)
	}
	_, err = submit("hue", "ana")
	refused("hue from elsewhere", err)
	id = c.submit(func(s *wire.Submission) { s.Priority = 9 })
	if r := c.report(id); r.Priority != 5 {
		t.Errorf("priority %d, want 5", r.Priority)
	}
	if err := os.WriteFile(filepath.Join(dir, "yarn-site.xml"), []byte("<configuration>"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := refresh("root", "refreshAdminAcls"); err == nil {
		t.Error("a damaged file is taken")
	}
	if err := refresh("eve", "refreshUserToGroupsMappings"); err != nil {
		t.Errorf("after a damaged file: %v", err)
	}
}

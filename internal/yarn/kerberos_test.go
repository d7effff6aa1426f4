package yarn

import (
	"bytes"
	"encoding/base64"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/kerberos"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/kerberos/kerberostest"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/rpc"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/token"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
	"github.com/sojourn-sched/sojourn/sched"
)

// A cluster with Kerberos, without its keytabs.
const kerberosSite = `
	hadoop.security.authentication=kerberos
	hadoop.rpc.protection=privacy, authentication
	hadoop.security.auth_to_local=RULE:[2:$1@$0](nm@EXAMPLE.COM)s/.*/yarn/ DEFAULT
	yarn.resourcemanager.address=rm.example.com:8032
	yarn.resourcemanager.principal=rm/_HOST@EXAMPLE.COM
	yarn.resourcemanager.keytab=/etc/rm.keytab
	yarn.nodemanager.principal=nm/_HOST@EXAMPLE.COM
`

func TestKerberosOfFiles(t *testing.T) {
	t.Setenv("KRB5_CONFIG", "/nonexistent")
	config, notes, err := Site(site(t, kerberosSite))
	if err != nil || len(notes) > 0 {
		t.Fatal(notes, err)
	}
	k := config.Security.Kerberos
	if k == nil || k.Principal.String() != "rm/rm.example.com@EXAMPLE.COM" || k.Keytab != "/etc/rm.keytab" ||
		k.Nodes.String() != "nm/_HOST@EXAMPLE.COM" || k.Web != (kerberos.Name{}) {
		t.Errorf("read %+v", k)
	}
	if want := []rpc.Protection{rpc.Privacy, rpc.Authentication}; !slices.Equal(config.Security.Protections, want) {
		t.Errorf("protections %v", config.Security.Protections)
	}
	if user, err := k.Names.Local(kerberos.Name{First: "nm", Host: "h", Realm: "EXAMPLE.COM"}); user != "yarn" {
		t.Errorf("a node is %q, %v", user, err)
	}
	any := "127.0.0.1:0"
	config.Addresses = Addresses{Tracker: any, Master: any, Client: any, Admin: any}
	config.Core.Policy = greedy{}
	if _, err := Listen(t.Context(), config); err == nil || !strings.Contains(err.Error(), "/etc/rm.keytab") {
		t.Errorf("without a keytab: %v", err)
	}
	config, _, err = Site(site(t, kerberosSite+`
		hadoop.http.authentication.type=kerberos
		hadoop.http.authentication.kerberos.principal=HTTP/_HOST@EXAMPLE.COM
		hadoop.http.authentication.kerberos.keytab=/etc/web.keytab`))
	if err != nil {
		t.Fatal(err)
	}
	if k = config.Security.Kerberos; k.Web.String() != "HTTP/rm.example.com@EXAMPLE.COM" ||
		k.WebKeytab != "/etc/web.keytab" {
		t.Errorf("REST: %+v", k)
	}
	for line, want := range map[string]string{
		"yarn.resourcemanager.principal=":               "property yarn.resourcemanager.principal is absent",
		"yarn.nodemanager.principal=":                   "property yarn.nodemanager.principal is absent",
		"yarn.resourcemanager.principal=rm@EXAMPLE.COM": "must be a principal like name/_HOST@REALM",
		"yarn.resourcemanager.principal=rm/h":           "must be a principal like name/_HOST@REALM",
		"hadoop.security.auth_to_local=RULE:[1:$1](a":   "property hadoop.security.auth_to_local is",
		"hadoop.rpc.protection=secret":                  "property hadoop.rpc.protection is \"secret\"",
		"hadoop.http.authentication.type=kerberos":      "http.authentication.kerberos.principal is absent",
	} {
		config, _, err := Site(site(t, kerberosSite+line))
		if err != nil || config.Security.Protections != nil && config.Security.Kerberos != nil {
			t.Errorf("%s: %+v, %v", line, config.Security, err)
		}
		if err := config.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", line, err, want)
		}
	}
}

// secured returns a front with Kerberos, and the keytab of rm/localhost.
func secured(t *testing.T, change func(*Config)) (*front, string) {
	t.Helper()
	names, err := kerberos.ParseRules("RULE:[2:$1@$0](nm@.*)s/.*/yarn/ DEFAULT", kerberostest.Realm, false)
	if err != nil {
		t.Fatal(err)
	}
	path := kerberostest.Keytab(t, "rm/localhost", 18)
	rm := kerberos.Name{First: "rm", Host: "localhost", Realm: kerberostest.Realm}
	nodes := kerberos.Name{First: "nm", Host: "localhost", Realm: kerberostest.Realm}
	config := Config{Security: Security{Kerberos: &Kerberos{Principal: rm, Keytab: path, Names: names, Nodes: nodes}}}
	if change != nil {
		change(&config)
	}
	f := newFront(newManager(config.withDefaults(), Hosts{}, nil, time.Now))
	if f.kerberos, f.web, err = config.Security.mechanisms(); err != nil {
		t.Fatal(err)
	}
	return f, path
}

// Only NodeManagers get the keys of tokens. A user with a delegation token is its owner.
func TestKerberosCallers(t *testing.T) {
	f, _ := secured(t, nil)
	at := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}
	for _, c := range []struct{ principal, real, want string }{
		{"nm/localhost@" + kerberostest.Realm, "", ""},
		{"nm/other@" + kerberostest.Realm, "", "User nm/other@EXAMPLE.COM (auth:KERBEROS) is not authorized for " +
			"protocol interface org.apache.hadoop.yarn.server.api.ResourceTrackerPB: this service is only " +
			"accessible by nm/localhost@EXAMPLE.COM"},
		{"ana@" + kerberostest.Realm, "", "is not authorized"},
		{"nm/localhost@" + kerberostest.Realm, "yarn", "is not authorized"},
		{"", "", "is not authorized"},
	} {
		err := f.admits(wire.ResourceTracker, &rpc.Call{User: "yarn", Real: c.real, Principal: c.principal, Remote: at})
		if c.want == "" && err != nil || c.want != "" && (class(err) != classAuthorization ||
			!strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	id := token.Delegation{Owner: "oozie/host@" + kerberostest.Realm}
	call := &rpc.Call{Token: id.Append(nil), Remote: at}
	if err := f.admits(wire.ApplicationClient, call); err != nil || call.User != "oozie" {
		t.Errorf("by a token: %q, %v", call.User, err)
	}
	for _, one := range []*rpc.Server{newTracker(f), newClient(f), newAdmin(f), newMaster(f)} {
		f.secure(one)
		if (one.Kerberos == nil) != (one.Protocol == wire.ApplicationMaster) || (one.Password == nil) !=
			(one.Protocol == wire.ResourceTracker || one.Protocol == wire.Administration) {
			t.Errorf("%s: by Kerberos %v, by token %v", one.Protocol, one.Kerberos != nil, one.Password != nil)
		}
	}
}

// A token is cancelled by its owner, also where it has the owner's principal, as those of Hadoop's ResourceManager do,
// and by its renewer, if it has one.
func TestMayCancel(t *testing.T) {
	f, _ := secured(t, nil)
	s := &f.config.Security
	realm := "@" + kerberostest.Realm
	for _, one := range []struct {
		user, owner, renewer string
		want                 bool
	}{
		{"ana", "ana", "rm", true},
		{"ana", "ana" + realm, "rm", true},
		{"bo", "ana" + realm, "rm", false},
		{"ana", "ana@ELSEWHERE", "rm", false},
		{"rm", "ana" + realm, "rm", true},
		{"bo", "ana", "", false},
	} {
		if got := s.mayCancel(one.user, &token.Delegation{Owner: one.owner, Renewer: one.renewer}); got != one.want {
			t.Errorf("%s cancels a token of %s with renewer %q: %v, want %v", one.user, one.owner, one.renewer, got,
				one.want)
		}
	}
	if (&Security{}).mayCancel("@bo", &token.Delegation{Owner: "ana"}) {
		t.Error("a caller without a name is the renewer of a token that has none")
	}
}

// Delegation tokens are given to, and renewed for, callers with a ticket alone; their owner gets in with one.
func TestKerberosDelegation(t *testing.T) {
	f, _ := secured(t, nil)
	client := newClient(f)
	call := func(method, user, principal string, q, r any) error {
		body := q.(interface{ Append([]byte) []byte }).Append(nil)
		c := &rpc.Call{User: user, Principal: principal, Body: body, Remote: &net.TCPAddr{}}
		reply, err := client.Methods[method](t.Context(), c)
		if err == nil && r != nil {
			err = r.(interface{ Decode([]byte) error }).Decode(reply.Append(nil))
		}
		return err
	}
	var given wire.TokenGiven
	ask := &wire.TokenWanted{Renewer: "nm/localhost@" + kerberostest.Realm}
	for method, q := range map[string]any{"getDelegationToken": ask, "renewDelegationToken": &given,
		"cancelDelegationToken": &given} {
		err := call(method, "ana", "", q, nil)
		if err == nil || !strings.Contains(err.Error(), "only with kerberos authentication") {
			t.Errorf("%s without a ticket: %v", method, err)
		}
	}
	const ana, renewer = "ana@" + kerberostest.Realm, "nm/localhost@" + kerberostest.Realm
	if err := call("getDelegationToken", "ana", ana, ask, &given); err != nil {
		t.Fatal(err)
	}
	password, err := f.delegationPassword(given.Token.Identifier)
	if err != nil || !bytes.Equal(password, given.Token.Password) {
		t.Errorf("the token is not good: %v", err)
	}
	if err := call("renewDelegationToken", "yarn", renewer, &given, nil); err != nil {
		t.Errorf("the renewer: %v", err)
	}
	if err := call("renewDelegationToken", "ana", ana, &given, nil); class(err) != classAccess {
		t.Errorf("another renewer: %v", err)
	}
	if err := call("cancelDelegationToken", "ana", ana, &given, nil); err != nil {
		t.Errorf("the owner cancels: %v", err)
	}
	if _, err := f.delegationPassword(given.Token.Identifier); class(err) != classInvalidToken {
		t.Errorf("a token that was cancelled: %v", err)
	}
}

// Requests by REST prove by SPNEGO whose they are, and a name in the URL does not count. Without a principal of REST,
// all are of the static user, and change nothing.
func TestKerberosREST(t *testing.T) {
	ask := func(h http.Handler, method, query, authorization string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, "http://rm/ws/v1/cluster/info?"+query, nil)
		if authorization != "" {
			r.Header.Set("Authorization", authorization)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	user := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.Write([]byte("user " + visitor(r))) })
	f, path := secured(t, func(c *Config) {
		k := c.Security.Kerberos
		k.Web, k.WebKeytab = k.Principal, k.Keytab
		c.Access.Superusers = Superusers{"oozie": {For: ACL{Users: []string{"bo"}}, Hosts: []string{"*"}}}
	})
	by := func(client string) string {
		i := kerberostest.Initiator{Client: client, Service: "rm/localhost", Path: path}
		return "Negotiate " + base64.StdEncoding.EncodeToString(i.Token(t))
	}
	h := f.proving(user)
	if w := ask(h, http.MethodGet, "user.name=root", ""); w.Code != http.StatusUnauthorized ||
		w.Header().Get("WWW-Authenticate") != "Negotiate" {
		t.Errorf("no proof: %d %v", w.Code, w.Header())
	}
	again := by("ana")
	for _, c := range []struct {
		query, authorization string
		code                 int
		text                 string
	}{
		{"user.name=root", again, http.StatusOK, "user ana"},
		{"", again, http.StatusForbidden, "was seen before"},
		{"doAs=bo", by("oozie/h"), http.StatusOK, "user bo"},
		{"doas=root", by("oozie/h"), http.StatusForbidden, "is not allowed to impersonate"},
		{"doAs=bo", by("ana"), http.StatusForbidden, "is not allowed to impersonate"},
		{"", "Negotiate !", http.StatusForbidden, "illegal base64"},
		{"", "Negotiate AAAA", http.StatusForbidden, "GSS token"},
		{"", "Basic cm9vdDo=", http.StatusUnauthorized, "Authentication required"},
	} {
		if w := ask(h, http.MethodPut, c.query, c.authorization); w.Code != c.code ||
			!strings.Contains(w.Body.String(), c.text) {
			t.Errorf("%q: %d %s, want %d %s", c.query, w.Code, w.Body, c.code, c.text)
		}
	}
	w := ask(h, http.MethodGet, "", by("ana"))
	if !strings.HasPrefix(w.Header().Get("WWW-Authenticate"), "Negotiate Y") {
		t.Errorf("the server does not prove itself: %v", w.Header())
	}
	f, _ = secured(t, nil)
	h = f.proving(user)
	if w := ask(h, http.MethodGet, "user.name=root", ""); w.Code != http.StatusOK || w.Body.String() != "user dr.who" {
		t.Errorf("without a principal: %d %s", w.Code, w.Body)
	}
	if w := ask(h, http.MethodPut, "user.name=root", ""); w.Code != http.StatusForbidden {
		t.Errorf("a change without a principal: %d", w.Code)
	}
}

// What is changed by REST is changed by the user that a request has proved to be of, whatever name is in its URL.
func TestKerberosRESTChanges(t *testing.T) {
	f, path := secured(t, func(c *Config) {
		k := c.Security.Kerberos
		k.Web, k.WebKeytab = k.Principal, k.Keytab
	})
	app := newApplication(f.m, "bo", sched.DefaultQueue, &wire.Submission{ID: wire.ApplicationID{Timestamp: 7, ID: 1}})
	q := func(client, query string) rest {
		i := kerberostest.Initiator{Client: client, Service: "rm/localhost", Path: path}
		r := httptest.NewRequest(http.MethodPut, "http://rm/x?"+query, nil)
		r.SetPathValue("app", app.id.String())
		r.Header.Set("Authorization", "Negotiate "+base64.StdEncoding.EncodeToString(i.Token(t)))
		var one rest
		f.proving(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			one = rest{f.m, visitor(r), r}
		})).ServeHTTP(httptest.NewRecorder(), r)
		return one
	}
	for _, query := range []string{"user.name=bo", ""} {
		one := q("ana", query)
		if u, err := one.caller(); err != nil || u.user != "ana" {
			t.Errorf("%q: the caller is %q, %v, want ana", query, u.user, err)
		}
		var denied *restError
		if _, err := one.kill(); !errors.As(err, &denied) || denied.status != http.StatusForbidden || app.over {
			t.Errorf("%q: ana kills what is bo's: %v", query, err)
		}
	}
	if _, err := q("bo", "").kill(); err != nil || !app.over {
		t.Errorf("bo kills: %v", err)
	}
}

// The key of an attempt signs the tokens of its clients, and is the same in the next life.
func TestClientTokens(t *testing.T) {
	f, _ := secured(t, nil)
	id := wire.AttemptID{App: wire.ApplicationID{Timestamp: 7, ID: 1}, Attempt: 1}
	one := f.m.clientToken(id, "ana")
	if one == nil || one.Kind != "YARN_CLIENT_TOKEN" || bytes.Equal(one.Password, f.m.clientToken(id, "bo").Password) {
		t.Errorf("token %+v", one)
	}
	if next := (wire.AttemptID{App: id.App, Attempt: 2}); bytes.Equal(f.m.clientKey(id), f.m.clientKey(next)) {
		t.Error("two attempts have one key")
	}
	saved := savedKeys{f.m.keys.master.Save(), f.m.keys.node.Save(), f.m.keys.container.Save(),
		f.m.keys.delegations.keys.Save(), f.m.keys.clients}
	var read savedKeys
	if err := read.Decode(saved.Append(nil)); err != nil {
		t.Fatal(err)
	}
	g, _ := secured(t, nil)
	g.m.restore(&past{keys: &read})
	if !bytes.Equal(g.m.clientKey(id), f.m.clientKey(id)) {
		t.Error("the next life has another key")
	}
	made := []byte("made by another ResourceManager, which the ApplicationMaster knows")
	g.m.apps.byID[id.App] = &application{attempts: []*attempt{{clientKey: made}}}
	if !bytes.Equal(g.m.clientKey(id), made) {
		t.Error("an attempt that was taken over has another key than its ApplicationMaster")
	}
	open := newManager(Config{}.withDefaults(), Hosts{}, nil, time.Now)
	if open.clientKey(id) != nil || open.clientToken(id, "ana") != nil {
		t.Error("tokens without Kerberos")
	}
}

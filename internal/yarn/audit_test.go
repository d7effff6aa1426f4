package yarn

import (
	"bytes"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/rpc"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/token"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
)

// What users do is logged with who, from where, what and how it ended, by RPC and by REST, refused or not.
func TestAudit(t *testing.T) {
	f := newFleet(t, 1)
	var text bytes.Buffer
	f.m.log.deeds = slog.New(slog.NewTextHandler(&text, nil))
	remote := &net.TCPAddr{IP: net.IPv4(10, 0, 0, 7), Port: 4711}
	call := func(s *rpc.Server, user, method string, body []byte) error {
		_, err := s.Methods[method](t.Context(), &rpc.Call{User: user, Remote: remote, Body: body})
		return err
	}
	app := f.submitOne(true)
	id := app.id.String()
	kill := (&wire.KillRequest{ID: app.id}).Append(nil)
	if err := call(newClient(f.f), "mallory", "forceKillApplication", kill); class(err) != classAccess {
		t.Fatalf("a stranger kills: %v", err)
	}
	if err := call(newAdmin(f.f), "mallory", "refreshNodes", nil); class(err) != classAccess {
		t.Fatalf("a stranger refreshes: %v", err)
	}
	master := token.Master{Attempt: app.current().id}
	registers := newMaster(f.f).Methods["registerApplicationMaster"]
	if _, err := registers(t.Context(), &rpc.Call{Token: master.Append(nil), Remote: remote}); err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodPut, "/ws/v1/cluster/apps/"+id+"/state?user.name=user",
		strings.NewReader(`{"state":"KILLED"}`))
	r.Header.Set("Content-Type", "application/json")
	r.RemoteAddr = "10.0.0.8:99"
	restHandler(f.f, nil).ServeHTTP(httptest.NewRecorder(), r)
	for _, want := range []string{
		`level=WARN msg=audit user=mallory ip=10.0.0.7 operation="Kill Application Request" target=ClientRMService ` +
			`appid=` + id + ` result=FAILURE description="` + classAccess + `: User mallory`,
		`level=WARN msg=audit user=mallory ip=10.0.0.7 operation=refreshNodes target=AdminService result=FAILURE`,
		`level=INFO msg=audit user=user ip=10.0.0.7 operation="Register App Master" ` +
			`target=ApplicationMasterService appid=` + app.current().id.String() + ` result=SUCCESS`,
		`level=INFO msg=audit user=user ip=10.0.0.8 operation="Kill Application Request" target=RMWebServices ` +
			`appid=` + id + ` result=SUCCESS`,
		`level=INFO msg=audit user=user ip="" operation="Application Finished - Killed" target=RMAppManager ` +
			`appid=` + id + ` result=SUCCESS`,
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no line with\n%s\nin\n%s", want, text.String())
		}
	}
}

// What peers send is bounded: hosts, tracking URLs, renewers, and the launch contexts of all applications that live.
func TestLongTextsAreRefused(t *testing.T) {
	f := newFleet(t, 1)
	long := strings.Repeat("x", mostAddress+1)
	f.master = f.submitOne(true).current()
	for what, do := range map[string]func(m *manager) (answer, error){
		"a host": func(m *manager) (answer, error) {
			return master{m, f.master}.register(&wire.RegisterMasterRequest{Host: long})
		},
		"a tracking URL": func(m *manager) (answer, error) {
			return master{m, f.master}.register(&wire.RegisterMasterRequest{Tracking: long})
		},
		"a renewer": func(m *manager) (answer, error) {
			return client{m, "user"}.giveToken(&wire.TokenWanted{Renewer: long})
		},
	} {
		if _, err := f.do(do); err == nil || !strings.Contains(err.Error(), "may have") {
			t.Errorf("%s of %d bytes: %v", what, len(long), err)
		}
	}
	f.do(func(m *manager) (answer, error) { return master{m, f.master}.register(&wire.RegisterMasterRequest{}) })
	q := &wire.AllocateRequest{Tracking: long}
	if _, err := f.do(func(m *manager) (answer, error) { return master{m, f.master}.allocate(q) }); err == nil {
		t.Error("a long tracking URL is taken later")
	}
}

func TestLaunchContextsAreBounded(t *testing.T) {
	f := newFleet(t, 1)
	submit := func() (*application, error) {
		r, _ := f.do(func(m *manager) (answer, error) { return client{m, ""}.newID(nil) })
		id := r.(*wire.NewApplication).ID
		s := wire.Submission{ID: id, Unmanaged: true, Launch: wire.NewLaunchContext(strings.Repeat("x", 1<<20))}
		_, err := f.do(func(m *manager) (answer, error) {
			return client{m, "user"}.submit(&wire.SubmitRequest{Submission: s})
		})
		return f.m.apps.byID[id], err
	}
	first, err := submit()
	if err != nil {
		t.Fatal(err)
	}
	if n := f.m.apps.footprint; n < 1<<20 {
		t.Fatalf("%d bytes are counted of a submission of a MiB", n)
	}
	rest := mostFootprint - f.m.apps.footprint
	f.m.apps.footprint += rest
	if _, err := submit(); err == nil || !strings.Contains(err.Error(), "launch contexts") {
		t.Errorf("a submission beyond the bound: %v", err)
	}
	f.do(func(*manager) (answer, error) { first.end(wire.AppKilled, outcome{}); return nil, nil })
	if _, err := submit(); err != nil {
		t.Errorf("a submission after another has ended: %v", err)
	}
	f.m.apps.footprint -= rest
	for _, app := range f.m.apps.list {
		f.do(func(*manager) (answer, error) { app.end(wire.AppKilled, outcome{}); return nil, nil })
	}
	if f.m.apps.footprint != 0 {
		t.Errorf("%d bytes are counted when no application lives", f.m.apps.footprint)
	}
}

// As many applications may live as the configuration says, of all users together. One that is over makes room.
func TestApplicationsAreBounded(t *testing.T) {
	f := newFleet(t, 1)
	if most := f.m.config.Apps.Most; most != 10_000 {
		t.Errorf("by default there may be %d applications", most)
	}
	f.m.config.Apps.Most = 3
	first := f.submitOne(true)
	f.submitOne(false)
	f.submitOne(true)
	submit := func(user string, id wire.ApplicationID) error {
		s := wire.Submission{ID: id, Unmanaged: true}
		_, err := f.do(func(m *manager) (answer, error) {
			return client{m, user}.submit(&wire.SubmitRequest{Submission: s})
		})
		return err
	}
	r, _ := f.do(func(m *manager) (answer, error) { return client{m, ""}.newID(nil) })
	id := r.(*wire.NewApplication).ID
	for _, user := range []string{"user", "other"} {
		if err := submit(user, id); class(err) != classYARN || !strings.Contains(err.Error(),
			"Maximum system application limit reached, cannot accept submission of application: "+id.String()) {
			t.Errorf("a fourth application: %v", err)
		}
	}
	if err := submit("user", first.id); err != nil {
		t.Errorf("the first again: %v", err)
	}
	f.do(func(*manager) (answer, error) { first.end(wire.AppKilled, outcome{}); return nil, nil })
	if err := submit("user", id); err != nil || f.m.apps.unfinished() != 3 {
		t.Errorf("after one has ended: %d live, %v", f.m.apps.unfinished(), err)
	}
}

// An ApplicationMaster's pages see few headers, may set no cookies, and nothing beside them is fetched.
func TestProxyPassesLittle(t *testing.T) {
	var seen http.Header
	paths := ""
	pages := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen, paths = r.Header.Clone(), paths+" "+r.URL.Path
		http.SetCookie(w, &http.Cookie{Name: "theirs", Value: "1"})
		fmt.Fprint(w, "page")
	}))
	defer pages.Close()
	f := newFleet(t, 0)
	app := f.submitOne(true)
	app.current().address.Original = pages.URL + "/ui"
	proxied := newProxy(f.f, nil)
	get := func(path string) *http.Response {
		r := httptest.NewRequest(http.MethodGet, "/proxy/"+app.id.String()+path, nil)
		for _, name := range []string{"Authorization", "Cookie", "X-Forwarded-For", "Referer", "Accept", "Upgrade"} {
			r.Header.Set(name, "x")
		}
		r.Header.Set("Connection", "Upgrade")
		w := httptest.NewRecorder()
		proxied.ServeHTTP(w, r)
		return w.Result()
	}
	r := get("/jobs")
	if r.StatusCode != http.StatusOK || r.Header.Get("Set-Cookie") != "" {
		t.Errorf("status %d, cookies %q", r.StatusCode, r.Header.Get("Set-Cookie"))
	}
	for _, name := range []string{"Authorization", "X-Forwarded-For", "Referer", "Upgrade", "Connection"} {
		if seen.Get(name) != "" {
			t.Errorf("header %s is passed on", name)
		}
	}
	if seen.Get("Accept") != "x" || seen.Get("Cookie") != "proxy-user=dr.who" {
		t.Errorf("Accept is %q, Cookie %q", seen.Get("Accept"), seen.Get("Cookie"))
	}
	for _, path := range []string{"/../secret", "/%2e%2e/secret", "/a/../../secret"} {
		if r := get(path); r.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: status %d", path, r.StatusCode)
		}
	}
	if paths != " /ui/jobs" {
		t.Errorf("paths%s were fetched", paths)
	}
}

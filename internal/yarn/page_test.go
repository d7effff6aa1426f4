package yarn

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
	"github.com/sojourn-sched/sojourn/sched"
)

// The page's changes go by the lists that Hadoop's client protocol goes by.
func TestPageChanges(t *testing.T) {
	h := newHouse(t, withFile(t, people, capacityFile, capacityXML(houseCapacity)))
	id, err := h.submit("ana", "etl.nightly")
	if err != nil {
		t.Fatal(err)
	}
	rm := &ResourceManager{front: h.f}
	var job sched.JobID
	h.f.look(func(m *manager) { job = m.apps.byID[id].job })
	if err := rm.Change("stranger", job, Change{Kill: true}); err == nil ||
		!strings.Contains(err.Error(), "cannot perform operation MODIFY_APP") {
		t.Errorf("a stranger kills: %v", err)
	}
	err = rm.Change("ana", job, Change{Queue: "nowhere"})
	if err == nil || !strings.Contains(err.Error(), "no such leaf") {
		t.Errorf("a move to nowhere: %v", err)
	}
	if err := rm.Change("ana", job+1, Change{Kill: true}); err == nil {
		t.Error("an application that is not there is killed")
	}
	if err := rm.Change("ana", job, Change{Kill: true}); err != nil {
		t.Errorf("the owner kills: %v", err)
	}
	h.f.look(func(m *manager) {
		if app := m.apps.byID[id]; !app.over {
			t.Errorf("the application is %v, must be over", app.state)
		}
	})
}

// TestPageViews: a user looks at own applications, those whose lists name the user, and those of queues that the user
// administers. An administrator looks at all, and so does every user where lists do not count.
func TestPageViews(t *testing.T) {
	h := newHouse(t, withFile(t, people, capacityFile, capacityXML(houseCapacity)))
	rm := &ResourceManager{front: h.f}
	var jobs [2]sched.JobID
	for i, lists := range [][]wire.ACL{nil, {{Type: wire.ViewApp, Users: "guest"}}} {
		id, err := h.submit("ana", "etl.nightly", lists...)
		if err != nil {
			t.Fatal(err)
		}
		h.f.look(func(m *manager) { jobs[i] = m.apps.byID[id].job })
	}
	for user, want := range map[string][2]bool{"ana": {true, true}, "stranger": {}, "guest": {false, true},
		"lee": {true, true}, "max": {true, true}, "": {}} { // lee administers etl, max the root queue
		may := rm.Views(user)
		if may == nil {
			t.Errorf("%s looks at everything", user)
			continue
		}
		if got := [2]bool{may(jobs[0]), may(jobs[1])}; got != want {
			t.Errorf("%s looks at %v, must look at %v", user, got, want)
		}
		if may(jobs[1] + 1) {
			t.Errorf("%s looks at what is not known", user)
		}
	}
	if rm.Views("root") != nil {
		t.Error("something is hidden from an administrator")
	}
	h.f.config.Access.Lists = false
	if rm.Views("stranger") != nil {
		t.Error("something is hidden although lists do not count")
	}
}

// A page is served beside Hadoop's REST.
func TestPageBesideREST(t *testing.T) {
	h := newHouse(t, withFile(t, people, capacityFile, capacityXML(houseCapacity)))
	teapot := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }
	h.f.config.Page = http.HandlerFunc(teapot)
	handler := restHandler(h.f, nil)
	for path, want := range map[string]int{"/": 418, "/api/v1/runs": 418, "/static/main.js": 418, "/ws/v1/cluster": 200,
		"/elsewhere": 404} {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		if w.Code != want {
			t.Errorf("%s: status %d, want %d", path, w.Code, want)
		}
	}
}

package yarn

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
)

// An ApplicationMaster is known to have been started by what is heard first: its node's report that it runs or has
// ended, or its own registration. The reply to the launch, which comes later or is lost, changes nothing then, also if
// the launch was tried again and refused.
func TestLaunchIsKnownBeforeItsReply(t *testing.T) {
	refused := errors.New("container is already running on this node")
	const granted, heard, replied = 1_700_000_000_000, 1_700_000_001_000, 1_700_000_002_000 // ms since 1970
	for _, c := range []struct {
		name     string
		hears    func(*few, *application)
		reply    error
		want     wire.AttemptState
		launched int64 // 0: never
	}{
		{"it runs; refused", reportsMaster, refused, wire.AttemptLaunched, heard},
		{"it runs; started", reportsMaster, nil, wire.AttemptLaunched, heard},
		{"it registers; refused", registersMaster, refused, wire.AttemptRunning, heard},
		{"it has ended; started", (*few).ends, nil, wire.AttemptFailed, heard},
		{"it has ended; refused", (*few).ends, refused, wire.AttemptFailed, heard},
		{"started", func(*few, *application) {}, nil, wire.AttemptLaunched, replied},
		{"refused", func(*few, *application) {}, refused, wire.AttemptFailed, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFew(t)
			app := f.m.apps.byID[f.managed(func(s *wire.Submission) { s.MaxAttempts = 1 })]
			a := app.current()
			f.now = time.UnixMilli(heard)
			c.hears(f, app)
			f.now = time.UnixMilli(replied)
			for _, o := range f.orders {
				o.done(c.reply)
			}
			f.f.turn(nil)
			if a.state != c.want || app.over != (c.want == wire.AttemptFailed) {
				t.Errorf("the attempt is %v, the application over: %v; want %v", a.state, app.over, c.want)
			}
			if got := app.times.launched; got != c.launched {
				t.Errorf("it was launched at %d, want %d (granted at %d)", got, c.launched, granted)
			}
			if failed := a.master.node.launches.failures > 0; failed != (c.launched == 0) {
				t.Errorf("its node counts a launch that failed: %v", failed)
			}
		})
	}
}

// reportsMaster has the node of an ApplicationMaster report that it runs.
func reportsMaster(f *few, app *application) {
	c := app.current().master
	f.do(func(m *manager) (answer, error) {
		return tracker{m}.heartbeat(&wire.HeartbeatRequest{Status: wire.NodeStatus{Node: c.node.id,
			Health:     wire.Health{OK: true},
			Containers: []wire.ContainerStatus{{ID: c.id, State: wire.ContainerRunning}}}})
	})
}

func registersMaster(f *few, app *application) {
	f.do(func(m *manager) (answer, error) {
		return master{m, app.current()}.register(&wire.RegisterMasterRequest{})
	})
}

// An application that is killed before its ApplicationMaster was started has made no progress, as in Hadoop.
func TestProgressOfKilled(t *testing.T) {
	for _, started := range []bool{false, true} {
		f := newFew(t)
		app := f.m.apps.byID[f.managed(nil)]
		if started {
			reportsMaster(f, app)
		}
		f.do(func(m *manager) (answer, error) {
			return client{m, "user"}.kill(nil, &wire.KillRequest{ID: app.id})
		})
		if r := app.report(); r.State != wire.AppKilled || r.Progress > 0 != started {
			t.Errorf("started: %v; it is %v with progress %v", started, r.State, r.Progress)
		}
	}
}

// What an ApplicationMaster has said to be over stays FINISHED, as in Hadoop: neither a kill, nor the end of its
// lifetime, nor a failure that a user wants changes that before the ApplicationMaster's process has ended.
func TestWhatIsOverIsNotKilled(t *testing.T) {
	for name, try := range map[string]func(f *few, app *application){
		"a kill": func(f *few, app *application) {
			r, err := f.do(func(m *manager) (answer, error) {
				return client{m, "user"}.kill(nil, &wire.KillRequest{ID: app.id})
			})
			if err != nil || !r.(*wire.KillResponse).Done {
				t.Errorf("the kill is answered by %+v, %v", r, err)
			}
		},
		"a kill by REST": func(f *few, app *application) {
			r := httptest.NewRequest(http.MethodPut, "/", nil)
			r.SetPathValue("app", app.id.String())
			f.do(func(m *manager) (answer, error) {
				b, err := rest{m, "user", r}.kill()
				if text, _ := json.Marshal(b.value); err != nil || string(text) != `{"state":"FINISHED"}` {
					t.Errorf("REST answers %s, %v", text, err)
				}
				return nil, nil
			})
		},
		"its lifetime": func(f *few, app *application) {
			f.now = f.now.Add(time.Minute + time.Second)
			f.f.turn(nil)
		},
		"a failed attempt": func(f *few, app *application) {
			f.do(func(m *manager) (answer, error) {
				return client{m, "user"}.failAttempt(&wire.AttemptRequest{ID: app.current().id})
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFew(t)
			app := f.m.apps.byID[f.managed(func(s *wire.Submission) { s.Lifetime = 60 })]
			reportsMaster(f, app)
			registersMaster(f, app)
			f.do(func(m *manager) (answer, error) {
				return master{m, app.current()}.finish(&wire.FinishMasterRequest{Final: wire.Succeeded})
			})
			if try(f, app); app.state != wire.AppFinished || app.over {
				t.Errorf("it is %v, over: %v", app.state, app.over)
			}
			f.ends(app)
			if r := app.report(); !app.over || r.State != wire.AppFinished || r.Final != wire.Succeeded ||
				len(app.attempts) != 1 || app.current().state != wire.AttemptFinished {
				t.Errorf("when its process has ended: %+v, %d attempts", r, len(app.attempts))
			}
		})
	}
}

// What an ApplicationMaster says when it is over stays in the report when its process has ended, also if it says no
// final status.
func TestLastWordsWithoutFinalStatus(t *testing.T) {
	for _, final := range []wire.FinalStatus{wire.Undefined, wire.Failed} {
		f := newFew(t)
		app := f.m.apps.byID[f.managed(func(*wire.Submission) {})]
		reportsMaster(f, app)
		registersMaster(f, app)
		f.do(func(m *manager) (answer, error) {
			q := &wire.FinishMasterRequest{Final: final, Diagnostics: "what was said"}
			return master{m, app.current()}.finish(q)
		})
		f.ends(app)
		r := app.report()
		of := app.current().diagnostics
		if !app.over || r.Diagnostics != "what was said" || of != r.Diagnostics || r.Final != final {
			t.Errorf("final status %d: when its process has ended: %+v, of its attempt %q", final, r, of)
		}
	}
}

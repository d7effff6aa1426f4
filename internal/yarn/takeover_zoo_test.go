package yarn

import (
	"context"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/hadoopstore"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/token"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/zoo"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/zoo/zootest"
)

// connected returns a session with ZooKeeper.
func connected(t *testing.T, at, user string) *zoo.Session {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	session, err := zoo.Connect(ctx, zoo.Servers{Addresses: []string{at}, Timeout: usualSession, User: user,
		Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(session.Close)
	return session
}

// An application whose attempts, with more than 1 MiB of diagnostics, were stored in one value is stored in parts: at
// once, and with all that is stored after it.
func TestManyAttemptsInZooKeeper(t *testing.T) {
	const count, long = 116, 16 << 10
	session := connected(t, zootest.Start(t).Address, "rm:secret")
	f, k := newFew(t), &memory{values: map[string][]byte{}}
	keepIn(t, f.m, k)
	app := f.m.apps.byID[f.managed(func(s *wire.Submission) { s.Validity = 1 })]
	f.failAgain(app, 2)
	whole := app.saved()
	whole.Attempts[0].Diagnostics = strings.Repeat("x", long)
	for len(whole.Attempts) < count {
		whole.Attempts = slices.Insert(whole.Attempts, 0, whole.Attempts[0])
	}
	k.values[nameApp+savedName(app.id)] = whole.Append(nil)
	stored := func(owner string) (*zoo.Values, *past) {
		t.Helper()
		to, values, err := session.Take("/rmstore/sojourn/blue", owner)
		if err != nil {
			t.Fatal(err)
		}
		p, err := readPast(values)
		if err != nil {
			t.Fatal(err)
		}
		return to, p
	}
	to, _ := stored("one")
	if err := to.Commit(k.values); err != nil {
		t.Fatal(err)
	}
	to, p := stored("two")
	later := newFleet(t, 0)
	keepIn(t, later.m, to)
	later.do(func(m *manager) (answer, error) {
		m.restore(p)
		m.apps.byID[app.id].save()
		return nil, nil
	})
	if err := later.m.saves.close(); err != nil {
		t.Fatal(err)
	}
	_, p = stored("three")
	if p.keys == nil || len(p.apps) != 1 {
		t.Fatalf("keys %v, and %d applications", p.keys != nil, len(p.apps))
	}
	got := p.apps[0]
	if got.Parts != (count-mostInFull)/attemptsOfPart || len(got.Attempts) != count {
		t.Fatalf("%d attempts are stored, want %d; of parts there are %d", len(got.Attempts), count, got.Parts)
	}
	for i := range count - 1 { // the last one may still run
		if !reflect.DeepEqual(got.Attempts[i], whole.Attempts[i]) {
			t.Fatalf("attempt %d is %.300v, was %.300v", i+1, got.Attempts[i], whole.Attempts[i])
		}
	}
}

// Where several ResourceManagers take turns, the state goes from Hadoop's nodes of ZooKeeper to ours and back, under
// the lock of the active one. What was cut short is not started from, and is made again. No node with keys in it can be
// read by other users.
func TestTakeOverByZooKeeper(t *testing.T) {
	at := zootest.Start(t).Address
	const user = "rm:secret"
	mine := connected(t, at, user)
	ha := &HA{ID: "one", Cluster: "blue", ZooKeeper: []string{at}, User: user, Timeout: usualSession,
		Lock: "/elections/blue/ActiveStandbyElectorLock", State: "/rmstore/sojourn/blue"}
	config := Config{Kept: Kept{HA: ha}, Log: slog.New(slog.DiscardHandler)}
	hadoop := HadoopStore{ZooKeeper: []string{at}, User: user, Parent: "/rmstore"}
	refused := func(what string, err error, want string) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", what, err, want)
		}
	}

	_, err := HandOver(t.Context(), hadoop, config, "")
	refused("a state that does not exist is handed over", err, "holds no state")
	_, err = TakeOver(t.Context(), hadoop, config, "")
	refused("a store that does not exist is taken over", err, "has no RMVersionNode")

	id := wire.AttemptID{App: wire.ApplicationID{ID: 7, Timestamp: 1700000000000}, Attempt: 1}
	s := stateOf(hadoopstore.App{
		Application: hadoopstore.Application{Submitted: 1, Started: 2, User: "ana",
			Submission: wire.Submission{ID: id.App, Queue: "default"}},
		Attempts: []hadoopstore.Attempt{{ID: id, Exit: wire.ExitInvalid,
			Master: &wire.Container{ID: wire.ContainerID{Attempt: id, ID: 1}}}},
	})
	s.Epoch = 4
	s.Keys = hadoopstore.Keys{Current: &wire.MasterKey{ID: 1, Key: []byte("current")}}
	s.Users = []hadoopstore.DelegationKey{{MasterKey: wire.MasterKey{ID: 3, Key: []byte("users")}}}
	one := token.Delegation{Owner: "ana", Sequence: 5, Key: 3}
	s.Tokens = []hadoopstore.DelegationToken{{Identifier: one.Append(nil), Expires: 9}}
	if err := hadoopstore.WriteNodes(mine, "/rmstore", s); err != nil {
		t.Fatal(err)
	}

	active := wire.ActiveManager{Cluster: "blue", ID: "two"}
	lease, err := connected(t, at, user).Acquire(t.Context(), ha.Lock, active.Append(nil), func([]byte) {})
	if err != nil {
		t.Fatal(err)
	}
	_, err = TakeOver(t.Context(), hadoop, config, "")
	refused("while one is active", err, "ResourceManager two is active: stop all of them first")
	lease.Release()

	stored := func() *past {
		t.Helper()
		_, values, err := mine.Take(ha.State, "test")
		if err != nil {
			t.Fatal(err)
		}
		p, err := readPast(values)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	take := func() *past {
		t.Helper()
		moved, err := TakeOver(t.Context(), hadoop, config, "")
		if want := (Moved{Apps: 1, Running: 1, Tokens: 1, To: "ZooKeeper, " + ha.State}); err != nil ||
			!reflect.DeepEqual(moved, want) {
			t.Fatalf("taken over %+v, %v, want %+v", moved, err, want)
		}
		p := stored()
		if len(p.apps) != 1 || len(p.tokens) != 1 || p.life.Epoch != 3 || p.keys.Master.Current.ID != 1 {
			t.Errorf("taken over is %+v, the life %+v", p, p.life)
		}
		return p
	}
	p := take()
	_, err = TakeOver(t.Context(), hadoop, config, "")
	refused("a second one over the first", err, "holds the state of a ResourceManager")

	stranger := connected(t, at, "")
	for _, node := range []string{"/rmstore/ZKRMStateRoot/AMRMTokenSecretManagerRoot", ha.State + "/fence",
		"/rmstore/ZKRMStateRoot/RMDTSecretManagerRoot/RMDTMasterKeysRoot/DelegationKey_3"} {
		if text, err := stranger.Get(node); err == nil {
			t.Errorf("everybody reads %q in %s", text, node)
		}
	}

	// A take-over that was cut short: it has written another application, and no keys yet.
	to, found, err := mine.Take(ha.State, "test")
	if err != nil {
		t.Fatal(err)
	}
	kept := &inNodes{to: to}
	if _, err := kept.retire(found); err != nil {
		t.Fatal(err)
	}
	eight := wire.Submission{ID: wire.ApplicationID{ID: 8, Timestamp: 1700000000000}}
	other := (&past{keys: p.keys, apps: []*savedApp{{User: "ben", Submission: eight}}}).values()
	delete(other, nameKeys)
	delete(other, nameLife)
	if err := to.Commit(other); err != nil {
		t.Fatal(err)
	}
	refused("a start from it", stored().whole(), "was cut short")
	_, err = HandOver(t.Context(), hadoop, config, "")
	refused("it is handed over", err, "was cut short")
	take()

	moved, err := HandOver(t.Context(), hadoop, config, "")
	if want := (Moved{Apps: 1, Running: 1, Tokens: 1, To: "ZooKeeper, /rmstore"}); err != nil ||
		!reflect.DeepEqual(moved, want) {
		t.Fatalf("handed over %+v, %v, want %+v", moved, err, want)
	}
	back, err := hadoopstore.ReadNodes(mine, "/rmstore")
	if err != nil {
		t.Fatal(err)
	}
	if back.Epoch != 4 || len(back.Apps) != 1 || back.Apps[0].Submission.ID != id.App ||
		len(back.Apps[0].Attempts) != 1 ||
		string(back.Keys.Current.Key) != "current" || !reflect.DeepEqual(back.Tokens, s.Tokens) || back.Last != 5 {
		t.Errorf("handed over is %+v", back)
	}
	_, left, err := mine.Take(ha.State, "test")
	if err != nil || len(left) > 0 {
		t.Errorf("%d values are left, %v: a start from them would not know what happened since", len(left), err)
	}
	take() // if Hadoop's does not start
}

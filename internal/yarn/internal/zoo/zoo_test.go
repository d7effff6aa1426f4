package zoo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"path"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/store"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/zoo/zootest"
)

// A server is a ZooKeeper.
type server struct{ *zootest.Server }

func start(t *testing.T) server {
	t.Helper()
	return server{zootest.Start(t)}
}

// session connects to the server.
func (s server) session(t *testing.T) *Session {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	one, err := Connect(ctx, Servers{
		Addresses: []string{s.Address},
		Timeout:   2 * time.Second,
		User:      "rm:secret",
		Log:       slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(one.Close)
	if one.Timeout() != 2*time.Second {
		t.Fatalf("the server agreed to %v, want what was asked for", one.Timeout())
	}
	return one
}

const lockName = "/elections/blue/lock"

// acquire takes the lock, or fails the test.
func acquire(t *testing.T, s *Session, who string) *Lease {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	l, err := s.Acquire(ctx, lockName, []byte(who), func([]byte) {})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// The lock is one session's at a time. The second is told who the first is, and gets the lock when it is given back.
func TestLockIsOnes(t *testing.T) {
	zoo := start(t)
	first := acquire(t, zoo.session(t), "one")
	told := make(chan string, 100)
	second := make(chan *Lease)
	other := zoo.session(t)
	go func() {
		l, err := other.Acquire(t.Context(), lockName, []byte("two"), func(holder []byte) { told <- string(holder) })
		if err != nil {
			t.Error(err)
		}
		second <- l
	}()
	if who := <-told; who != "one" {
		t.Errorf("the lock is said to be that of %q", who)
	}
	if text, err := other.Get(lockName); err != nil || string(text) != "one" {
		t.Errorf("in the node of the lock is %q, %v", text, err)
	}
	if names, err := other.Children(path.Dir(lockName)); err != nil || !slices.Equal(names, []string{"lock"}) {
		t.Errorf("beside it are %q, %v", names, err)
	}
	if _, err := other.Get("/none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a node that is missing: %v", err)
	}
	for range 20 { // longer than the session's timeout
		select {
		case <-second:
			t.Fatal("both have the lock")
		case <-first.Lost():
			t.Fatal("a lock that ZooKeeper hears of is lost")
		case <-time.After(200 * time.Millisecond):
		}
		if !first.Held() {
			t.Fatal("the lease of a lock that ZooKeeper hears of is over")
		}
	}
	first.Release()
	if l := <-second; l == nil || !l.Held() || first.Held() {
		t.Error("the lock was given back, and is not the second's")
	}
}

// While ZooKeeper does not answer, the lease ends, and it never begins again.
func TestLeaseEndsInSilence(t *testing.T) {
	zoo := start(t)
	l := acquire(t, zoo.session(t), "one")
	if err := zoo.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	<-l.Lost()
	if l.Held() {
		t.Error("the lease is lost and held")
	}
	if err := zoo.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	time.Sleep(500 * time.Millisecond)
	if l.Held() {
		t.Error("the lease began again")
	}
}

// A lock whose session was ended by ZooKeeper is lost.
func TestLockOfEndedSession(t *testing.T) {
	zoo := start(t)
	s := zoo.session(t)
	l := acquire(t, s, "one")
	if err := zoo.session(t).conn.Delete(lockName, -1); err != nil { // as when the session has expired
		t.Fatal(err)
	}
	<-l.Lost()
	if l.Held() {
		t.Error("held")
	}
}

// take takes the values over, or fails the test.
func take(t *testing.T, s *Session, owner string) (*Values, map[string][]byte) {
	t.Helper()
	v, found, err := s.Take("/state/blue", owner)
	if err != nil {
		t.Fatal(err)
	}
	return v, found
}

// What was committed is read by the next that takes the values over, small and large, with any bytes in its name; what
// was deleted is not. From then on the one before cannot write.
func TestValuesAreTakenOver(t *testing.T) {
	zoo := start(t)
	first, found := take(t, zoo.session(t), "one")
	if len(found) != 0 {
		t.Fatalf("new values: %q", found)
	}
	large := bytes.Repeat([]byte("0123456789abcdef"), 3*partSize/16+7)
	want := map[string][]byte{
		"life": []byte("1"), "app/1/1": []byte("a"), "launch/1/1": large, "token/\x00,/\xff": {},
		"app/1/3": large[:partSize],
	}
	for i := range 1000 {
		want[fmt.Sprint("app/2/", i)] = fmt.Appendf(nil, "application %d", i)
	}
	commit := func(v *Values, batch map[string][]byte) {
		t.Helper()
		if err := v.Commit(batch); err != nil {
			t.Fatal(err)
		}
	}
	commit(first, want)
	commit(first, map[string][]byte{"app/2/7": nil, "life": []byte("2"), "launch/1/1": nil, "never/was": nil})
	delete(want, "app/2/7")
	delete(want, "launch/1/1")
	want["life"] = []byte("2")
	second, found := take(t, zoo.session(t), "two")
	if !maps.EqualFunc(found, want, bytes.Equal) {
		t.Errorf("read %d values, want %d, or others", len(found), len(want))
	}
	if err := first.Commit(map[string][]byte{"life": []byte("3")}); !errors.Is(err, store.ErrTaken) {
		t.Errorf("one that was replaced writes: %v", err)
	}
	commit(second, map[string][]byte{"life": []byte("4"), "launch/1/1": large[:1]})
	if _, found = take(t, zoo.session(t), "three"); string(found["life"]) != "4" || len(found["launch/1/1"]) != 1 {
		t.Errorf("read life %q and %d bytes", found["life"], len(found["launch/1/1"]))
	}
}

// A request whose outcome is not known is made again: what was written twice is there once.
func TestOutcomeIsLookedUp(t *testing.T) {
	zoo := start(t)
	v, _ := take(t, zoo.session(t), "one")
	batch := map[string][]byte{"app/1/1": []byte("new"), "app/1/2": nil}
	if err := v.Commit(map[string][]byte{"app/1/2": []byte("old")}); err != nil {
		t.Fatal(err)
	}
	if err := v.Commit(batch); err != nil {
		t.Fatal(err)
	}
	v.unsure, v.parts = true, map[string]parts{"app/1/2": {count: 1}} // as if no reply had come
	if err := v.Commit(batch); err != nil {
		t.Fatal(err)
	}
	if _, found := take(t, zoo.session(t), "two"); len(found) != 1 || string(found["app/1/1"]) != "new" {
		t.Errorf("read %q", found)
	}
}

// Values of older schemas are read, large ones too, and are called by today's from then on.
func TestOlderSchema(t *testing.T) {
	s := start(t).session(t)
	for _, older := range []string{"1", "2"} {
		v, _ := take(t, s, "one")
		large := bytes.Repeat([]byte(older), partSize+1) // whose parts are where older programs have them
		if err := v.Commit(map[string][]byte{"app/1/1": []byte("kept"), "app/2/" + older: large}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.conn.Set(v.root, []byte(older), -1); err != nil {
			t.Fatal(err)
		}
		_, found := take(t, s, "two")
		if string(found["app/1/1"]) != "kept" || !bytes.Equal(found["app/2/"+older], large) {
			t.Errorf("schema %s: read %.20q and %d bytes", older, found["app/1/1"], len(found["app/2/"+older]))
		}
		if said, _, err := s.conn.Get(v.root); err != nil || string(said) != schema {
			t.Errorf("the root says %q, %v", said, err)
		}
	}
}

// A process may end between any two requests by which it overwrites a large value: the next one reads the old value
// whole, and sweeps the new parts away. It reads the new value once the head is written, wherever its parts are.
func TestLargeValueIsWholeAtAnyTime(t *testing.T) {
	zoo := start(t)
	const name = "app/1/1"
	large := func(letter string) []byte { return bytes.Repeat([]byte(letter), 2*partSize+5000) }
	v, _ := take(t, zoo.session(t), "one")
	now := large("a")
	if err := v.Commit(map[string][]byte{name: now, "app/1/2": []byte("other")}); err != nil {
		t.Fatal(err)
	}
	for i, next := range [][]byte{large("b"), large("c"), large("d")[:partSize+1], []byte("small"), large("e")} {
		r := request{to: v}
		if err := r.write(name, next, partSize); err != nil { // all but the head
			t.Fatal(err)
		}
		var found map[string][]byte
		v, found = take(t, zoo.session(t), "two")
		if !bytes.Equal(found[name], now) || string(found["app/1/2"]) != "other" {
			t.Fatalf("write %d: read %d bytes beside %q, want the %d of before", i, len(found[name]), found["app/1/2"],
				len(now))
		}
		now = next
		if i%2 == 0 { // as if no reply had come to the request before
			v.unsure, v.parts = true, map[string]parts{}
		}
		if err := v.Commit(map[string][]byte{name: now}); err != nil {
			t.Fatal(err)
		}
		if v, found = take(t, zoo.session(t), "three"); !bytes.Equal(found[name], now) {
			t.Fatalf("write %d: read %d bytes, want the %d of the head", i, len(found[name]), len(now))
		}
		nodes, err := v.session.Children(path.Dir(v.head(name)))
		if want := max(1, (len(now)+partSize-1)/partSize); err != nil || len(nodes) != want {
			t.Errorf("write %d: nodes %q, %v, want %d", i, nodes, err, want)
		}
	}
}

// The values of one thing are written together or not at all, however large they all are. They and long names are in
// requests of less than 1 MiB: ZooKeeper would refuse others, and all changes after them.
func TestLargeChanges(t *testing.T) {
	zoo := start(t)
	v, _ := take(t, zoo.session(t), "one")
	app := func(letter string, size, parts int) map[string][]byte {
		all := map[string][]byte{"app/1/1": []byte(letter), "launch/1/1": bytes.Repeat([]byte(letter), size)}
		for part := range parts {
			all[fmt.Sprintf("old%d/1/1", part)] = bytes.Repeat([]byte(letter), size)
		}
		return all
	}
	tokens, names := map[string][]byte{}, strings.Repeat("\xff", 700) // each byte takes three in the name of a node
	for i := range mostOps {
		tokens[fmt.Sprintf("token/%s%d", names, i)] = []byte("t")
	}
	want := map[string][]byte{}
	for i, batch := range []map[string][]byte{
		app("a", 1000, 3),
		app("b", partSize, 6),
		app("c", partSize+1, 9),
		app("d", 10, 9),
		tokens,
		app("e", 2000, 3*mostOps), // more parts than a request for several things has changes
	} {
		if _, err := v.changes(slices.Sorted(maps.Keys(batch)), batch); err != nil { // all but the heads
			t.Fatalf("batch %d: %v", i, err)
		}
		var found map[string][]byte
		if v, found = take(t, zoo.session(t), "one"); !maps.EqualFunc(found, want, bytes.Equal) {
			t.Fatalf("batch %d, cut short: read %d values, want the %d of before", i, len(found), len(want))
		}
		if err := v.Commit(batch); err != nil {
			t.Fatalf("batch %d: %v", i, err)
		}
		maps.Copy(want, batch)
		if v, found = take(t, zoo.session(t), "two"); !maps.EqualFunc(found, want, bytes.Equal) {
			t.Fatalf("batch %d: read %d values, want %d, or others", i, len(found), len(want))
		}
	}
	none := map[string][]byte{}
	for name := range want {
		none[name] = nil
	}
	if err := v.Commit(none); err != nil {
		t.Fatal(err)
	}
	if _, found := take(t, zoo.session(t), "three"); len(found) > 0 {
		t.Errorf("%d values are left of those that were deleted", len(found))
	}
}

// What is kept is closed to others, damage is named, and a newer schema is refused.
func TestRefused(t *testing.T) {
	zoo := start(t)
	s := zoo.session(t)
	v, _ := take(t, s, "one")
	if err := v.Commit(map[string][]byte{"keys": []byte("secret")}); err != nil {
		t.Fatal(err)
	}
	quiet := logger{slog.New(slog.DiscardHandler), &s.agree}
	stranger, _, err := zk.Connect([]string{zoo.Address}, 2*time.Second, zk.WithLogger(quiet))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stranger.Close)
	if _, _, err := stranger.Get(v.head("keys")); !errors.Is(err, zk.ErrNoAuth) {
		t.Errorf("a stranger reads the keys: %v", err)
	}
	if _, err := s.conn.Set(v.head("keys"), []byte("12345678 other"), -1); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Take("/state/blue", "two"); err == nil {
		t.Error("a damaged value is taken over")
	}
	if _, err := s.conn.Set("/state/blue", []byte("4"), -1); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Take("/state/blue", "two"); err == nil || !strings.Contains(err.Error(), "schema \"4\"") {
		t.Errorf("a newer schema is taken over: %v", err)
	}
}

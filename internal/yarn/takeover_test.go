package yarn

import (
	"bytes"
	"errors"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/hadoopstore"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/store"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/token"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
	"github.com/sojourn-sched/sojourn/sched"
)

var nested = Queues{Tree: []*sched.QueueSpec{
	{Name: "etl", Queues: []*sched.QueueSpec{{Name: "night"}, {Name: "day"}}}, {Name: "default"},
}}

// stateOf returns a state of Hadoop's with one application.
func stateOf(app hadoopstore.App) *hadoopstore.State {
	return &hadoopstore.State{Apps: []hadoopstore.App{app}}
}

// What Hadoop has stored of applications means here what it means there.
func TestTakeOverApplications(t *testing.T) {
	id := wire.ApplicationID{ID: 7, Timestamp: 1700000000000}
	attempt := func(number, state, exit int32) hadoopstore.Attempt {
		return hadoopstore.Attempt{ID: wire.AttemptID{App: id, Attempt: number}, State: state, Exit: exit, Memory: 5,
			VCores: 2, Final: wire.Failed, Tracking: hadoopstore.NoTracking}
	}
	sizes := Sizes{Kinds: []Kind{{Name: "gpu"}}}.withDefaults()
	for _, c := range []struct {
		name string
		app  hadoopstore.App
		want func(*savedApp) bool
	}{
		{"runs", hadoopstore.App{Attempts: []hadoopstore.Attempt{attempt(1, 0, wire.ExitInvalid)}},
			func(s *savedApp) bool {
				return s.State == int32(wire.AppAccepted) && s.Attempts[0].State == int32(wire.AttemptLaunched) &&
					s.Attempts[0].Original == ""
			}},
		{"a failure that counts", hadoopstore.App{Attempts: []hadoopstore.Attempt{
			attempt(1, hadoopstore.AttemptFailed, 1)}},
			func(s *savedApp) bool {
				return s.Attempts[0].Failed && s.Attempts[0].State == int32(wire.AttemptFailed)
			}},
		{"one that does not", hadoopstore.App{Attempts: []hadoopstore.Attempt{
			attempt(1, hadoopstore.AttemptFailed, wire.ExitPreempted)}},
			func(s *savedApp) bool { return !s.Attempts[0].Failed }},
		{"attempts that Hadoop has removed", hadoopstore.App{Attempts: []hadoopstore.Attempt{
			attempt(3, hadoopstore.AttemptFailed, 1), attempt(4, 0, wire.ExitInvalid)}},
			func(s *savedApp) bool {
				return len(s.Attempts) == 4 && s.Attempts[0].State == int32(wire.AttemptFailed) &&
					!s.Attempts[1].Failed && s.Attempts[2].Failed && s.Attempts[3].State == int32(wire.AttemptLaunched)
			}},
		{"an attempt that another one followed", hadoopstore.App{Attempts: []hadoopstore.Attempt{
			attempt(1, 0, wire.ExitInvalid), attempt(2, 0, wire.ExitInvalid)}},
			func(s *savedApp) bool {
				return s.Attempts[0].State == int32(wire.AttemptFailed) && s.Attempts[0].Failed
			}},
		{"between two attempts", hadoopstore.App{Attempts: []hadoopstore.Attempt{
			attempt(1, hadoopstore.AttemptFailed, 1)}},
			func(s *savedApp) bool { return s.State == int32(wire.AppAccepted) && s.Final == int32(wire.Undefined) }},
		{"over, though the end of its attempt only is stored", hadoopstore.App{Attempts: []hadoopstore.Attempt{
			{ID: wire.AttemptID{App: id, Attempt: 1}, State: hadoopstore.AttemptFinished, Final: wire.Succeeded,
				Finished: 99, Diagnostics: "done"}}},
			func(s *savedApp) bool {
				return s.State == int32(wire.AppFinished) && s.Final == int32(wire.Succeeded) &&
					s.Times.finished == 99 && s.Diagnostics == "done"
			}},
		{"killed, though the end of its attempt only is stored", hadoopstore.App{Attempts: []hadoopstore.Attempt{
			{ID: wire.AttemptID{App: id, Attempt: 1}, State: hadoopstore.AttemptKilled}}},
			func(s *savedApp) bool {
				return s.State == int32(wire.AppKilled) && s.Final == int32(wire.Killed)
			}},
		{"failed, as an unmanaged one has one attempt", hadoopstore.App{
			Application: hadoopstore.Application{Submission: wire.Submission{Unmanaged: true}},
			Attempts: []hadoopstore.Attempt{
				{ID: wire.AttemptID{App: id, Attempt: 1}, State: hadoopstore.AttemptFailed}}},
			func(s *savedApp) bool {
				return s.State == int32(wire.AppFailed) && s.Final == int32(wire.Failed)
			}},
		{"killed before it had an attempt", hadoopstore.App{Application: hadoopstore.Application{
			State: hadoopstore.AppKilled}},
			func(s *savedApp) bool { return s.Final == int32(wire.Killed) }},
		{"failed without a word", hadoopstore.App{Application: hadoopstore.Application{State: hadoopstore.AppFailed},
			Attempts: []hadoopstore.Attempt{
				{ID: wire.AttemptID{App: id, Attempt: 1}, State: hadoopstore.AttemptFailed, Exit: 1}}},
			func(s *savedApp) bool { return s.Final == int32(wire.Failed) }},
		{"over", hadoopstore.App{Application: hadoopstore.Application{State: hadoopstore.AppKilled},
			Attempts: []hadoopstore.Attempt{attempt(1, hadoopstore.AttemptFailed, 1),
				attempt(2, hadoopstore.AttemptKilled, 1)}},
			func(s *savedApp) bool {
				return s.State == int32(wire.AppKilled) && s.Memory == 10 && s.VCores == 4 &&
					s.Final == int32(wire.Failed) && s.Attempts[1].State == int32(wire.AttemptKilled)
			}},
		{"over, in Hadoop 3", hadoopstore.App{Application: hadoopstore.Application{State: hadoopstore.AppFinished},
			Attempts: []hadoopstore.Attempt{
				{ID: wire.AttemptID{App: id, Attempt: 1}, Memory: 1, Used: []hadoopstore.Use{
					{Kind: "memory-mb", Amount: 7}, {Kind: "vcores", Amount: 3}, {Kind: "gpu", Amount: 2},
					{Kind: "unknown", Amount: 9}}},
				{ID: wire.AttemptID{App: id, Attempt: 2}, Used: []hadoopstore.Use{{Kind: "gpu", Amount: 5}}}}},
			func(s *savedApp) bool {
				var gpus int64
				for a := range s.Others.All() {
					gpus += a.Value
				}
				return s.Memory == 7 && s.VCores == 3 && gpus == 7
			}},
		{"a lifetime as submitted", hadoopstore.App{Application: hadoopstore.Application{Submitted: 1000,
			Submission: wire.Submission{Lifetime: 60}}},
			func(s *savedApp) bool { return s.Ends == 61_000 }},
		{"a lifetime that was changed", hadoopstore.App{Application: hadoopstore.Application{Submitted: 1000,
			Submission: wire.Submission{Lifetime: 60},
			Timeouts:   []hadoopstore.Timeout{{Type: wire.TimeoutLifetime, At: 5000}}}},
			func(s *savedApp) bool { return s.Ends == 5000 }},
		{"a queue by its path", hadoopstore.App{Application: hadoopstore.Application{
			Submission: wire.Submission{Queue: "root.etl.day"}}},
			func(s *savedApp) bool { return s.Queue == "etl.day" }},
		{"a queue by its name", hadoopstore.App{Application: hadoopstore.Application{
			Submission: wire.Submission{Queue: "night"}}},
			func(s *savedApp) bool { return s.Queue == "etl.night" }},
		{"a queue that its user made", hadoopstore.App{Application: hadoopstore.Application{
			Submission: wire.Submission{Queue: "root.users.ana"}}},
			func(s *savedApp) bool { return s.Queue == "users.ana" }},
		{"over, in a queue that is gone", hadoopstore.App{Application: hadoopstore.Application{
			State: hadoopstore.AppFinished, Submission: wire.Submission{Queue: "root.default.gone"}}},
			func(s *savedApp) bool { return s.Queue == "default.gone" }},
	} {
		c.app.User, c.app.Submission.ID = "ana", id
		if c.app.Submission.Queue == "" {
			c.app.Submission.Queue = "default"
		}
		p, moved, err := fromHadoop(stateOf(c.app), nested, sizes)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if app := p.apps[0]; !c.want(app) || app.User != "ana" || app.Order != 1 || moved.Apps != 1 {
			t.Errorf("%s: %+v", c.name, app)
		}
	}
	for _, queue := range []string{"etl", "root.default.more"} {
		app := hadoopstore.App{Application: hadoopstore.Application{Submission: wire.Submission{ID: id, Queue: queue}}}
		if _, _, err := fromHadoop(stateOf(app), nested, Sizes{}); err == nil ||
			!strings.Contains(err.Error(), "application_1700000000000_0007 runs in queue") {
			t.Errorf("one that runs in %s, which is no leaf: %v", queue, err)
		}
	}
}

// The attempts that Hadoop has removed are stored here, and bounded. A store with more is refused by the name of the
// application with which they are too many, and before they take memory.
func TestTakeOverExpiredAttempts(t *testing.T) {
	const last = 1 << 16
	s := &hadoopstore.State{}
	for i := range int32(100) {
		id := wire.ApplicationID{ID: i + 1, Timestamp: 1700000000000}
		s.Apps = append(s.Apps, hadoopstore.App{
			Application: hadoopstore.Application{User: "ana", Submission: wire.Submission{ID: id, Queue: "default"}},
			Attempts:    []hadoopstore.Attempt{{ID: wire.AttemptID{App: id, Attempt: last}}},
		})
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, _, err := fromHadoop(s, nested, Sizes{})
	runtime.ReadMemStats(&after)
	const id = "application_1700000000000_0002"
	const want = id + ": of it and of the applications before it 131070 attempts are missing in the store, at most " +
		"100000 may be: end it, and while Hadoop's ResourceManager is stopped remove it from the store: " +
		"yarn resourcemanager -remove-application-from-state-store " + id
	if err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	if took := (after.TotalAlloc - before.TotalAlloc) >> 20; took > 128 { // a list of 65,536 grows to 50 MiB in steps
		t.Errorf("%d MiB were allocated", took)
	}
	s.Apps = s.Apps[:1]
	if p, _, err := fromHadoop(s, nested, Sizes{}); err != nil || len(p.apps[0].Attempts) != last {
		t.Errorf("one application: %v", err)
	}
}

// The key that signs ApplicationMasters' tokens stays, and the one after it, with which Hadoop signs; delegation tokens
// keep their passwords; and the key of clients' tokens stays that of the attempt.
func TestTakeOverKeys(t *testing.T) {
	current, next := wire.MasterKey{ID: 1, Key: []byte("current")}, wire.MasterKey{ID: 2, Key: []byte("next")}
	s := stateOf(hadoopstore.App{})
	id := wire.AttemptID{App: wire.ApplicationID{ID: 1, Timestamp: 5}, Attempt: 1}
	app := &s.Apps[0]
	app.Submission.ID, app.Submission.Queue = id.App, "default"
	app.Attempts = []hadoopstore.Attempt{{ID: id,
		Credentials: token.Secrets(map[string][]byte{hadoopstore.ClientKey: []byte("clients")})}}
	s.Keys = hadoopstore.Keys{Current: &current, Next: &next}
	s.Users = []hadoopstore.DelegationKey{{MasterKey: wire.MasterKey{ID: 3, Key: []byte("users")}}}
	for i, key := range []int32{3, 4} {
		one := token.Delegation{Owner: "ana", Sequence: int32(i + 1), Key: key}
		s.Tokens = append(s.Tokens, hadoopstore.DelegationToken{Identifier: one.Append(nil), Expires: 9})
	}
	p, moved, err := fromHadoop(s, Queues{}, Sizes{})
	if err != nil {
		t.Fatal(err)
	}
	keys := token.Restore(&p.keys.Master)
	for _, key := range []wire.MasterKey{current, next} {
		if got, ok := keys.Password(key.ID, []byte("x")); !ok || !bytes.Equal(got, token.Sign(key.Key, []byte("x"))) {
			t.Errorf("key %d is not known", key.ID)
		}
	}
	if len(p.tokens) != 1 || !bytes.Equal(p.tokens[0].Password, token.Sign([]byte("users"), s.Tokens[0].Identifier)) {
		t.Errorf("delegation tokens %+v", p.tokens)
	}
	want := []string{"delegation token 2 of ana: the store has no key 4"}
	if !reflect.DeepEqual(moved.Left, want) || moved.Tokens != 1 {
		t.Errorf("moved %+v, want %q left", moved, want)
	}
	if key := p.apps[0].Attempts[0].ClientKey; string(key) != "clients" {
		t.Errorf("the key of clients is %q", key)
	}
	back, _ := p.toHadoop()
	if !reflect.DeepEqual(back.Keys, s.Keys) { // before the next one is used here
		t.Errorf("handed back are keys %+v, want %+v: there are tokens of both", back.Keys, s.Keys)
	}
	if got := back.Apps[0].Attempts[0].Credentials; !bytes.Equal(got, app.Attempts[0].Credentials) {
		t.Errorf("handed back are credentials %q", got)
	}
	if !reflect.DeepEqual(back.Tokens, s.Tokens[:1]) || string(back.Users[0].Key) != "users" || back.Last != 1 {
		t.Errorf("handed back are %+v, signed by %+v", back.Tokens, back.Users)
	}
}

// What Hadoop is handed has what Hadoop needs to start, and says what holds now, not at the submission.
func TestHandOverApplications(t *testing.T) {
	id := wire.ApplicationID{ID: 7, Timestamp: 1700000000000}
	came := wire.Submission{ID: id, Name: "n", Queue: "default", Priority: 1,
		Master: []wire.ResourceRequest{{Place: wire.Anywhere, Resource: wire.Resource{Memory: 512, VCores: 1}}}}
	var sent wire.Submission // as it came over the wire
	if err := sent.Decode(came.Append(nil)); err != nil {
		t.Fatal(err)
	}
	old := wire.MasterKey{ID: 1, Key: []byte("old")}
	now := wire.MasterKey{ID: 2, Key: []byte("now")}
	p := &past{keys: &savedKeys{Master: token.Saved{Current: now, Previous: &old}}}
	sent.Priority = 8 // it was changed, and then moved
	runs := &savedApp{User: "ana", Queue: "etl.day", Submission: sent, State: int32(wire.AppRunning), Ends: 77,
		Attempts: []savedAttempt{{State: int32(wire.AttemptFailed)}, {State: int32(wire.AttemptFailed), Failed: true},
			{State: int32(wire.AttemptRunning), Master: &savedMaster{ID: 1 << wire.EpochShift}}}}
	over := &savedApp{User: "ben", Queue: "etl.night", State: int32(wire.AppFinished), Final: int32(wire.Succeeded),
		Submission: wire.Submission{ID: id, Queue: "night"}, Memory: 3,
		Access:   []wire.ACL{{Type: wire.ViewApp, Users: "cleo"}},
		Attempts: []savedAttempt{{State: int32(wire.AttemptFinishing)}}}
	p.apps = []*savedApp{runs, over}
	s, moved := p.toHadoop()
	if moved.Apps != 2 || moved.Running != 1 {
		t.Errorf("moved %+v", moved)
	}
	if s.Keys.Current.ID != 1 || s.Keys.Next.ID != 2 {
		t.Errorf("keys %+v: tokens of both may be there", s.Keys)
	}
	var read wire.Submission
	if err := read.Decode(s.Apps[0].Submission.Append(nil)); err != nil {
		t.Fatal(err)
	}
	if size, _ := read.MasterResource(); read.Queue != "root.etl.day" || read.Priority != 8 || size.Memory != 512 {
		t.Errorf("Hadoop reads %+v", read)
	}
	a := s.Apps[0].Attempts
	if a[0].Exit != wire.ExitAborted || a[1].Exit != wire.ExitInvalid || a[1].State != hadoopstore.AttemptFailed ||
		a[2].State != 0 || a[2].Master.ID.ID != 1<<wire.EpochShift || s.Apps[0].State != 0 {
		t.Errorf("attempts %+v", a)
	}
	if s.Apps[0].Timeouts[0].At != 77 {
		t.Errorf("lifetimes %+v", s.Apps[0].Timeouts)
	}
	b := s.Apps[1]
	if list := b.Submission.Launch.ACLs(); len(list) != 1 || list[0].Users != "cleo" {
		t.Errorf("one that is over has access lists %+v", list)
	}
	if _, ok := b.Submission.MasterResource(); !ok || b.Attempts[0].Tracking != hadoopstore.NoTracking ||
		b.Submission.Queue != "night" ||
		b.State != hadoopstore.AppFinished || b.Attempts[0].State != hadoopstore.AttemptFinished ||
		b.Attempts[0].Final != wire.Succeeded ||
		b.Attempts[0].Used[0] != (hadoopstore.Use{Kind: "memory-mb", Amount: 3}) {
		t.Errorf("one that is over is handed over as %+v", b)
	}
}

// Neither way are stores mixed or lost.
func TestTakeOverRefused(t *testing.T) {
	dir := t.TempDir()
	state, hadoop := filepath.Join(dir, "rm.db"), filepath.Join(dir, "hadoop")
	if _, err := HandOver(t.Context(), HadoopStore{Folder: hadoop}, Config{}, state); err == nil {
		t.Error("a state that does not exist is handed over")
	}
	if _, err := hadoopstore.Write(hadoop, &hadoopstore.State{Epoch: 4}); err != nil {
		t.Fatal(err)
	}
	if _, err := TakeOver(t.Context(), HadoopStore{Folder: hadoop}, Config{}, state); err != nil {
		t.Fatal(err)
	}
	_, err := TakeOver(t.Context(), HadoopStore{Folder: hadoop}, Config{}, state)
	if err == nil || !strings.Contains(err.Error(), "holds the state of a ResourceManager") {
		t.Errorf("a second one over the first: %v", err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := Config{Addresses: Addresses{Admin: ln.Addr().String()}}
	_, in := TakeOver(t.Context(), HadoopStore{Folder: hadoop}, served, filepath.Join(dir, "other.db"))
	_, out := HandOver(t.Context(), HadoopStore{Folder: hadoop}, served, state)
	for _, err := range []error{in, out} {
		if err == nil || !strings.Contains(err.Error(), "a ResourceManager runs: ") {
			t.Errorf("while a ResourceManager runs: %v", err)
		}
	}
	ln.Close()
	moved, err := HandOver(t.Context(), HadoopStore{Folder: hadoop}, served, state)
	if err != nil || !strings.HasPrefix(moved.Before, hadoop) {
		t.Errorf("%+v, %v", moved, err)
	}
	if s, err := hadoopstore.Read(hadoop); err != nil || s.Epoch != 4 {
		t.Errorf("the epoch that nothing has used is %+v, %v; want 4", s, err)
	}
	if _, err := os.Stat(state); err == nil {
		t.Error("the state is there still: a start from it would not know what happened since")
	}
	if info, err := os.Stat(moved.Aside); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the state is %q, %v, %v: none but its owner may read it", moved.Aside, info, err)
	}
}

// From the reading of a state until it is put away no ResourceManager can start from it.
func TestHandOverHoldsTheState(t *testing.T) {
	state := filepath.Join(t.TempDir(), "rm.db")
	f := &inFile{path: state}
	if err := f.write(map[string][]byte{nameKeys: (&savedKeys{}).Append(nil)}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.read(); err != nil {
		t.Fatal(err)
	}
	if _, err := (&inFile{path: state}).read(); err == nil || !strings.Contains(err.Error(), "is using it") {
		t.Errorf("another one opens it: %v", err)
	}
	if _, err := f.retire(nil); err != nil {
		t.Error(err)
	}
	if err := f.close(); err != nil {
		t.Error(err)
	}
}

// A state that cannot be written is removed, and the error says once why.
func TestStateIsNotWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rm.db")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f := &inFile{path: path, store: store.New(full{}, func(error) {})}
	if err := f.write(map[string][]byte{"a": nil}); err == nil || err.Error() != errFull.Error() {
		t.Errorf("the error is %v", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file is still there: %v", err)
	}
}

// Applications without keys are what is left of a take-over or a hand-over that was cut short.
func TestHalfAState(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rm.db")
	values := (&past{keys: &savedKeys{}, apps: []*savedApp{{User: "ana"}}}).values()
	delete(values, nameKeys)
	if err := (&inFile{path: file}).write(values); err != nil {
		t.Fatal(err)
	}
	_, out := HandOver(t.Context(), HadoopStore{Folder: t.TempDir()}, Config{}, file)
	m := &manager{config: &Config{Kept: Kept{File: file}}}
	for _, err := range []error{out, m.remember()} {
		if err == nil || !strings.Contains(err.Error(), file+": is not whole: ") {
			t.Errorf("without keys: %v", err)
		}
	}
}

package hadoopstore

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/proto"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/proto/prototest"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/token"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
)

func TestRoundTrip(t *testing.T) {
	all := []proto.Described{new(Application), new(Timeout), new(Attempt), new(Use), new(Keys), new(DelegationToken),
		new(version), new(epoch)}
	prototest.RoundTrip(t, all, func(m any) {
		if r, ok := m.(*wire.Resource); ok {
			r.Others = ""
		}
	})
}

// sample returns a state with two applications. One of them is over.
func sample() *State {
	over := wire.ApplicationID{ID: 1, Timestamp: 1700000000000}
	runs := wire.ApplicationID{ID: 12345, Timestamp: 1700000000001}
	first := wire.AttemptID{App: runs, Attempt: 1}
	s := &State{
		Epoch: 3,
		Apps: []App{
			{
				Application: Application{Submitted: 10, Started: 11, Launched: 12, Finished: 13, User: "ana",
					Submission: wire.Submission{ID: over, Name: "over", Queue: "default"}, State: AppFinished},
				Attempts: []Attempt{
					{ID: wire.AttemptID{App: over, Attempt: 1}, State: AttemptFailed, Exit: 1},
					{ID: wire.AttemptID{App: over, Attempt: 2}, State: AttemptFinished, Final: wire.Succeeded},
				},
			},
			{
				Application: Application{Submitted: 20, User: "ben", Timeouts: []Timeout{{wire.TimeoutLifetime, 99}},
					Submission: wire.Submission{ID: runs, Name: "runs", Queue: "root.etl"}},
				Attempts: []Attempt{{ID: first, Exit: wire.ExitInvalid,
					Master: &wire.Container{ID: wire.ContainerID{Attempt: first, ID: 1}}}},
			},
		},
		Keys: Keys{Current: &wire.MasterKey{ID: -7, Key: []byte("eightchr")}},
		Users: []DelegationKey{
			{wire.MasterKey{ID: -5, Key: []byte("a key")}, 1},
			{wire.MasterKey{ID: 1000, Key: []byte(strings.Repeat("of many bytes", 20))}, 1 << 50},
		},
		Last: 4711,
	}
	for _, sequence := range []int32{1, 4711} {
		id := token.Delegation{Owner: "ana", Renewer: "yarn", Sequence: sequence, Key: 1000, Most: 77}
		s.Tokens = append(s.Tokens, DelegationToken{id.Append(nil), 55})
	}
	return s
}

// A state that is written is read as it was, field by field. A store that was there is kept.
func TestWrittenIsRead(t *testing.T) {
	dir, want := t.TempDir(), sample()
	if before, err := Write(dir, &State{Epoch: 1}); err != nil || before != "" {
		t.Fatalf("%q, %v", before, err)
	}
	before, err := Write(dir, want)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	if !sameState(got, want) {
		t.Errorf("read\n%+v\nwritten was\n%+v", got, want)
	}
	old := t.TempDir()
	if err := os.Rename(before, filepath.Join(old, rootName)); err != nil {
		t.Fatal(err)
	}
	if s, err := Read(Root(old)); err != nil || s.Epoch != 1 || len(s.Apps) > 0 {
		t.Errorf("the store before is %+v, %v", s, err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) > 0 {
		t.Errorf("left behind: %s", left)
	}
}

// sameState compares states by what is written of them.
func sameState(a, b *State) bool {
	written := func(s *State) (all []string) {
		for i := range s.Apps {
			all = append(all, string(s.Apps[i].Append(nil)))
			for k := range s.Apps[i].Attempts {
				all = append(all, string(s.Apps[i].Attempts[k].Append(nil)))
			}
		}
		return append(all, string(s.Keys.Append(nil)))
	}
	return a.Epoch == b.Epoch && a.Last == b.Last && reflect.DeepEqual(a.Users, b.Users) &&
		reflect.DeepEqual(a.Tokens, b.Tokens) && reflect.DeepEqual(written(a), written(b))
}

// What Hadoop leaves when it is killed between two steps is read as Hadoop reads it at its next start.
func TestHalfWritten(t *testing.T) {
	dir, want := t.TempDir(), sample()
	if _, err := Write(dir, want); err != nil {
		t.Fatal(err)
	}
	app := filepath.Join(Root(dir), appsName, "application_1700000000001_12345")
	name := filepath.Join(app, "application_1700000000001_12345")
	changed := want.Apps[1].Application
	changed.Diagnostics = "changed"
	keys := filepath.Join(Root(dir), keysFolder, keysName)
	for path, text := range map[string][]byte{
		name + ".new":                                 changed.Append(nil), // beside the old file
		filepath.Join(app, ".appattempt_1.crc"):       []byte("crc\x00"),
		filepath.Join(app, "appattempt_1_1_2.tmp"):    []byte("half"),
		keys + ".tmp":                                 []byte("half"),
		filepath.Join(Root(dir), appsName, "other_1"): nil,
	} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Rename(keys, keys+".new"); err != nil { // the old file is gone already
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(Root(dir), appsName, "application_1_0009"), 0o700); err != nil {
		t.Fatal(err)
	}
	got, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	want.Apps[1].Application = changed
	if !sameState(got, want) {
		t.Errorf("read\n%+v\nwant\n%+v", got, want)
	}
}

// A forest has nodes as ZooKeeper does.
type forest map[string][]byte

func (f forest) Get(name string) ([]byte, error) {
	if text, there := f[name]; there {
		return text, nil
	}
	return nil, fs.ErrNotExist
}

func (f forest) Children(name string) (names []string, err error) {
	if _, there := f[name]; !there {
		return nil, fs.ErrNotExist
	}
	for at := range f {
		if path.Dir(at) == name {
			names = append(names, path.Base(at))
		}
	}
	return names, nil
}

func (f forest) Put(name string, text []byte) error {
	f[name] = text
	for name = path.Dir(name); name != "/"; name = path.Dir(name) {
		if _, there := f[name]; !there {
			f[name] = nil
		}
	}
	return nil
}

func (f forest) Clear(name, but string) error {
	kept := path.Join(name, but)
	maps.DeleteFunc(f, func(at string, _ []byte) bool {
		return at != kept && strings.HasPrefix(at, name+"/")
	})
	return nil
}

// A frail forest fails after some changes.
type frail struct {
	forest
	left *int
}

var errFrail = errors.New("cut short")

func (f frail) Put(name string, text []byte) error {
	if *f.left--; *f.left < 0 {
		return errFrail
	}
	return f.forest.Put(name, text)
}

// Clear removes nodes one by one.
func (f frail) Clear(name, but string) error {
	for _, at := range slices.Sorted(maps.Keys(f.forest)) {
		if !strings.HasPrefix(at, name+"/") || at == path.Join(name, but) {
			continue
		}
		if *f.left--; *f.left < 0 {
			return errFrail
		}
		delete(f.forest, at)
	}
	return nil
}

// Wherever the writing of a store into ZooKeeper is cut short, Hadoop finds the old store, or the new one, or a version
// that it refuses: it would start from a part of a store that has no version. The next try succeeds.
func TestWriteNodesIsCutShort(t *testing.T) {
	old, next := &State{Apps: sample().Apps[:1], Epoch: 1}, sample()
	refused := 0
	for steps := 0; ; steps++ {
		f := frail{plant(old, "/rmstore", 2), new(int)}
		*f.left = steps
		err := WriteNodes(f, "/rmstore", next)
		version := path.Join("/rmstore", nodesRoot, versionName)
		switch got, wrong := ReadNodes(f, "/rmstore"); {
		case f.forest[version] == nil:
			t.Fatalf("after %d steps there is no version", steps)
		case wrong != nil && strings.Contains(wrong.Error(), "RMVersionNode: the store is not whole"):
			refused++
		case wrong != nil:
			t.Fatalf("after %d steps: %v", steps, wrong)
		case !sameState(got, old) && !sameState(got, next):
			t.Fatalf("after %d steps: read %+v", steps, got)
		}
		if err == nil {
			break
		}
		if !errors.Is(err, errFrail) {
			t.Fatal(err)
		}
		*f.left = 1000
		if err := WriteNodes(f, "/rmstore", next); err != nil {
			t.Fatal(err)
		}
		if got, err := ReadNodes(f, "/rmstore"); err != nil || !sameState(got, next) {
			t.Fatalf("the next try after %d steps: %+v, %v", steps, got, err)
		}
	}
	if refused < 10 {
		t.Errorf("the store is refused after %d steps, want all but the first and the last", refused)
	}
	f := plant(old, "/rmstore", 0)
	next.Apps[1].Diagnostics = strings.Repeat("x", 1<<20)
	err := WriteNodes(f, "/rmstore", next)
	if err == nil || !strings.Contains(err.Error(), "application_1700000000001_12345: would have 1048") {
		t.Errorf("what ZooKeeper does not take: %v", err)
	}
	if got, err := ReadNodes(f, "/rmstore"); err != nil || !sameState(got, old) {
		t.Errorf("the store that was there is %+v, %v", got, err)
	}
}

// Where failures expire, Hadoop has removed the first attempts.
func TestAttemptsBeginLater(t *testing.T) {
	s := sample()
	app := &s.Apps[1]
	const most = mostAttempts
	for number, want := range map[int32]string{3: "", most: "", most + 1: "must be within 1 and 65536"} {
		dir := t.TempDir()
		app.Attempts[0].ID.Attempt = number
		if _, err := Write(dir, s); err != nil {
			t.Fatal(err)
		}
		got, err := Read(dir)
		switch {
		case want != "":
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("attempt %d: %v, want %q", number, err, want)
			}
		case err != nil || len(got.Apps[1].Attempts) != 1 || got.Apps[1].Attempts[0].ID.Attempt != number:
			t.Errorf("attempt %d: %+v, %v", number, got, err)
		}
	}
}

// Of an application that is over, what only its launch needed is not kept in memory; its access lists are.
func TestOverIsSmall(t *testing.T) {
	s := sample()
	over := &s.Apps[0].Submission
	over.Launch = wire.AccessContext([]wire.ACL{{Type: wire.ViewApp, Users: "ben"}})
	over.Launch = over.Launch.With(bytes.Repeat([]byte("credentials"), 1000), nil)
	dir := t.TempDir()
	if _, err := Write(dir, s); err != nil {
		t.Fatal(err)
	}
	got, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	read := &got.Apps[0].Submission
	if list := read.Launch.ACLs(); len(list) != 1 || list[0].Users != "ben" || read.Footprint() > 100 {
		t.Errorf("access lists %+v, and %d bytes are held", list, read.Footprint())
	}
}

// plant puts a state into nodes. The names of applications and tokens are split before their last characters.
func plant(s *State, parent string, split int) forest {
	f := forest{}
	put := func(text []byte, at ...string) {
		f.Put(path.Join(append([]string{parent, nodesRoot}, at...)...), text)
	}
	cut := func(folder, parts, name string) string {
		if split == 0 {
			return path.Join(folder, name)
		}
		at := len(name) - split
		return path.Join(parts, fmt.Sprint(split), name[:at], name[at:])
	}
	put(proto.Append(nil, &version{1, 5}), versionName)
	put(proto.Append(nil, &epoch{s.Epoch}), epochName)
	put(s.Keys.Append(nil), keysFolder)
	for i := range s.Users {
		put(appendKey(nil, &s.Users[i]), usersFolder, userKeys, fmt.Sprint(keyPrefix, s.Users[i].ID))
	}
	for i := range s.Tokens {
		id, _ := s.Tokens[i].ID()
		tokens := path.Join(usersFolder, userTokens)
		name := fmt.Sprintf("%s%0*d", tokenPrefix, min(split, 1)*4, id.Sequence) // split ones begin with zeros
		put(s.Tokens[i].Append(nil), cut(tokens, tokens, name))
	}
	put(binary.BigEndian.AppendUint32(nil, uint32(s.Last)), usersFolder, lastNode)
	for i := range s.Apps {
		app := &s.Apps[i]
		at := cut(appsName, path.Join(appsName, splitApps), app.Submission.ID.String())
		put(app.Append(nil), at)
		for k := range app.Attempts {
			put(app.Attempts[k].Append(nil), at, app.Attempts[k].ID.String())
		}
	}
	return f
}

// The store in ZooKeeper is read like the one in files, however names are split.
func TestNodesAreRead(t *testing.T) {
	want := sample()
	want.Last++ // the last token was cancelled
	for split := range mostSplit + 1 {
		f := plant(want, "/rmstore", split)
		for i := 1; i <= mostSplit; i++ { // Hadoop makes all of them
			for _, name := range []string{path.Join(appsName, splitApps), path.Join(usersFolder, userTokens)} {
				at := path.Join("/rmstore", nodesRoot, name, fmt.Sprint(i))
				f[path.Dir(at)], f[at] = nil, nil
			}
		}
		got, err := ReadNodes(f, "/rmstore")
		if err != nil {
			t.Errorf("split at %d: %v", split, err)
		} else if !sameState(got, want) {
			t.Errorf("split at %d: read\n%+v\nwant\n%+v", split, got, want)
		}
	}
	f := plant(&State{Apps: sample().Apps, Epoch: 1}, "/rmstore", 3)
	delete(f, path.Join("/rmstore", nodesRoot, keysFolder))
	want.Apps = want.Apps[1:]
	if err := WriteNodes(f, "/rmstore", want); err != nil { // in the place of what was there
		t.Fatal(err)
	}
	if got, err := ReadNodes(f, "/rmstore"); err != nil || !sameState(got, want) {
		t.Errorf("%v: read\n%+v\nwritten was\n%+v", err, got, want)
	}
	want = sample()
	for node, wrong := range map[string]string{
		usersFolder + "/" + lastNode: "abc", epochName: "\xff", appsName + "/application_1700000000000_0001": "\x12",
	} {
		f := plant(want, "/rmstore", 0)
		f[path.Join("/rmstore", nodesRoot, node)] = []byte(wrong)
		name := "ZooKeeper, /rmstore/ZKRMStateRoot/" + node
		if _, err := ReadNodes(f, "/rmstore"); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%q in %s: %v", wrong, node, err)
		}
	}
	for _, node := range []string{usersFolder + "/" + userKeys + "/DelegationKey_7",
		usersFolder + "/" + userTokens + "/RMDelegationToken_7",
		appsName + "/application_1700000000000_0001/appattempt_1700000000000_0001_000007"} {
		f := plant(want, "/rmstore", 0)
		f[path.Join("/rmstore", nodesRoot, node)] = nil
		wrong := "ZooKeeper, /rmstore/ZKRMStateRoot/" + node + ": is empty: remove it, and run this again"
		if _, err := ReadNodes(f, "/rmstore"); err == nil || err.Error() != wrong {
			t.Errorf("an empty node: %v, want %s", err, wrong)
		}
	}
	_, err := ReadNodes(forest{}, "/none")
	if err == nil || !strings.Contains(err.Error(), "zk-state-store.parent-path") {
		t.Errorf("nothing there: %v", err)
	}
}

// An application or a token that is in ZooKeeper both under its whole name and under a split one is read once. As in
// Hadoop, the name whose end is split off the longest counts, with its attempts.
func TestNodesTwice(t *testing.T) {
	older, newer := sample(), sample()
	for i := range older.Apps {
		older.Apps[i].Diagnostics, older.Apps[i].Attempts = "older", nil
		older.Apps[i].Submitted += 1000 // does not change the order of the newer ones
	}
	for i := range older.Tokens {
		older.Tokens[i].Expires++
	}
	for _, c := range []struct{ older, newer int }{{0, 1}, {0, mostSplit}, {1, 2}, {2, 3}} {
		f := plant(older, "/rmstore", c.older)
		maps.Copy(f, plant(newer, "/rmstore", c.newer))
		got, err := ReadNodes(f, "/rmstore")
		if err != nil || !sameState(got, newer) {
			t.Errorf("split at %d and %d: %v: read\n%+v\nwant\n%+v", c.older, c.newer, err, got, newer)
		}
	}
}

// An error says which file is wrong, and how.
func TestDamagedStore(t *testing.T) {
	const app = appsName + "/application_1700000000000_0001/"
	for _, c := range []struct{ file, text, want string }{
		{versionName, "\x08\x02", "version 2.0, must be 1.x"},
		{versionName, "\xff", "RMVersionNode: "},
		{versionName, "\x08\x00", "RMVersionNode: the store is not whole: `sojourn rm hand-over` was cut short"},
		{epochName, "\x08\x80\x80\x80\x80\x80\x80\x80\x80\x7f", "EpochNode: epoch "},
		{app + "application_1700000000000_0001", "\x12", "application_1700000000000_0001: "},
		{app + "application_1700000000000_0001", "", "is of application_0_0000"},
		{app + "appattempt_1700000000000_0001_000002", "", "_0001_000002: is empty: remove it, and run this again"},
		{app + "appattempt_1700000000000_0001_000002", "\x10\x01", "_0001_000002: "},
		{usersFolder + "/DelegationKey_9", "", "DelegationKey_9: is empty: remove it, and run this again"},
		{usersFolder + "/DelegationKey_", "x", "DelegationKey_: does not end with a number of 32 bits: remove it"},
		{app + "appattempt_1700000000000_0001_000001", "-", "appattempt_1700000000000_0001_000001: "},
		{keysFolder + "/" + keysName, "\x0a\x7f", "AMRMTokenSecretManagerNode: "},
		{usersFolder + "/DelegationKey_9", "\x09\x09\x09short", "DelegationKey_9: key 9 has 9 bytes, and 5 follow"},
		{usersFolder + "/DelegationKey_9", "\x09\x09\xff", "DelegationKey_9: key 9 has -1 bytes, and 0 follow"},
		{usersFolder + "/RMDelegationToken_9", "\x0a\x02\x0a\x7f", "RMDelegationToken_9: "},
		{usersFolder + "/RMDTSequenceNumber_x", "", "RMDTSequenceNumber_x: does not end with a number"},
	} {
		dir := t.TempDir()
		if _, err := Write(dir, sample()); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(Root(dir), c.file)
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(dir); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s of %q: %v, want %q in it", c.file, c.text, err, c.want)
		}
	}
	if _, err := Read(t.TempDir()); err == nil || !strings.Contains(err.Error(), "has no RMVersionNode") {
		t.Errorf("an empty folder: %v", err)
	}
}

// FuzzRead puts bytes in the place of each kind of file. Reading ends without a panic, and what is read can be written.
func FuzzRead(f *testing.F) {
	s := sample()
	f.Add(0, s.Apps[0].Append(nil))
	f.Add(1, s.Apps[0].Attempts[1].Append(nil))
	f.Add(2, s.Keys.Append(nil))
	f.Add(3, appendKey(nil, &s.Users[1]))
	f.Add(4, s.Tokens[0].Append(nil))
	files := []string{
		appsName + "/application_1700000000000_0001/application_1700000000000_0001",
		appsName + "/application_1700000000000_0001/appattempt_1700000000000_0001_000002",
		keysFolder + "/" + keysName, usersFolder + "/DelegationKey_1", usersFolder + "/RMDelegationToken_1",
	}
	dir, again := f.TempDir(), f.TempDir()
	if _, err := Write(dir, s); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, at int, text []byte) {
		path := filepath.Join(Root(dir), files[uint(at)%uint(len(files))])
		was, _ := os.ReadFile(path)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := Read(dir)
		if was == nil {
			os.Remove(path)
		} else if err := os.WriteFile(path, was, 0o600); err != nil {
			t.Fatal(err)
		}
		if err != nil {
			return
		}
		if err := os.RemoveAll(Root(again)); err != nil {
			t.Fatal(err)
		}
		if _, err := Write(again, got); err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		if read, err := Read(again); err != nil || !sameState(read, got) {
			t.Fatalf("%v: read\n%+v\nwritten was\n%+v", err, read, got)
		}
	})
}

package store

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/sojourn-sched/sojourn/internal/mr/ycsb"
	"github.com/sojourn-sched/sojourn/mr"
	"github.com/sojourn-sched/sojourn/mr/input"
	"github.com/sojourn-sched/sojourn/policy"
	"github.com/sojourn-sched/sojourn/sched"
)

// create makes a store with records.
func create(t *testing.T, records int) (*pebble.DB, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "db")
	db, err := pebble.Open(dir, &pebble.Options{Logger: silent{}, MemTableSize: 256 << 10})
	if err != nil {
		t.Fatal(err)
	}
	if err := ycsb.NewLoad(ycsb.Workloads[0], records, 100, 1).Fill(db); err != nil {
		t.Fatal(err)
	}
	return db, dir
}

// all returns the text of all parts.
func all(t *testing.T, s input.Store, n int) (text string, parts int) {
	t.Helper()
	list, err := s.Parts(n)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	for _, p := range list {
		r, err := p.Open()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(&b, r); err != nil {
			t.Fatal(err)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return b.String(), len(list)
}

// The parts of a store have each pair once, in order, however many they are.
func TestPartsHaveEachPairOnce(t *testing.T) {
	db, _ := create(t, 3000)
	defer db.Close()
	s := Of(db)
	defer s.Close()
	whole, _ := all(t, s, 1)
	if n := strings.Count(whole, "\n"); n != 3000 {
		t.Fatalf("%d pairs", n)
	}
	for _, n := range []int{2, 7, 40, 5000} {
		if text, parts := all(t, s, n); text != whole || parts > n || n == 40 && parts < 30 {
			t.Errorf("%d parts of at most %d, %d bytes instead of %d", parts, n, len(text), len(whole))
		}
	}
}

// Keys and values may have any bytes, and an empty store has no parts.
func TestTextIsEscaped(t *testing.T) {
	db, err := pebble.Open(filepath.Join(t.TempDir(), "db"), &pebble.Options{Logger: silent{}})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	empty := Of(db)
	if text, parts := all(t, empty, 8); text != "" || parts != 0 {
		t.Errorf("an empty store has %d parts: %q", parts, text)
	}
	empty.Close()
	for k, v := range map[string]string{"": "", "a\tb": "x\ny\r\\", "a": "\x00\xff"} {
		if err := db.Set([]byte(k), []byte(v), pebble.NoSync); err != nil {
			t.Fatal(err)
		}
	}
	s := Of(db)
	defer s.Close()
	if text, _ := all(t, s, 4); text != "\t\na\t\x00\xff\na\\tb\tx\\ny\\r\\\\\n" {
		t.Errorf("the text is %q", text)
	}
}

// smallSplits makes many maps.
var smallSplits = mr.Conf{"mapreduce.input.fileinputformat.split.maxsize": "20000",
	"mapreduce.input.fileinputformat.split.minsize": "20000"}

// keep is a job whose output is its input.
var keep = mr.Job{Name: "keep", Output: mr.Keys, TotalOrder: true, Conf: smallSplits,
	Map: func(_ *mr.Task, in *mr.Batches, out *mr.Emitter) error {
		for in.Next() {
			for line := range bytes.Lines(in.Data()) {
				out.Emit(bytes.TrimSuffix(line, []byte("\n")), nil)
			}
		}
		return nil
	}}

// write writes a workload to a store in a goroutine until stop is called. It returns when the first operation is done.
func write(t *testing.T, db *pebble.DB, w ycsb.Workload) (stop func()) {
	t.Helper()
	began, done, ended := make(chan bool), make(chan bool), make(chan bool)
	go func() {
		load := ycsb.NewLoad(w, 3000, 100, 2)
		for n := 0; ; n++ {
			select {
			case <-done:
				close(ended)
				return
			default:
			}
			if _, err := load.Do(db, func(key []byte) error { return ycsb.Get(db, key) }); err != nil {
				t.Error(err)
			}
			if n == 0 {
				close(began)
			}
		}
	}()
	<-began
	return func() {
		close(done)
		<-ended
	}
}

// The output of a job is that of the store at the snapshot, byte for byte, while each of the workloads A to E writes,
// and while tasks are lost and run again: where the job's process has the store open, and where another one does. When
// the job has ended, nothing is held.
func TestJobReadsTheSnapshot(t *testing.T) {
	again := 0
	for _, w := range ycsb.Workloads {
		for _, served := range []bool{false, true} {
			db, dir := create(t, 3000)
			if served && w.Name != "A" { // what differs is how the snapshot is made
				db.Close()
				continue
			}
			server, err := Serve(db, dir)
			if err != nil {
				t.Fatal(err)
			}
			var want string
			var stop func()
			open := func(path string) (input.Store, error) {
				s := Of(db)
				var err error
				if served {
					s.Close()
					s, err = Open(path)
				}
				if err == nil {
					want, _ = all(t, s, 1)
					before := ycsb.NewLoad(ycsb.Workload{Name: "all", Write: ycsb.Update}, 3000, 100, 3)
					for range 2000 { // at least so much is overwritten
						if _, err := before.Do(db, nil); err != nil {
							t.Error(err)
						}
					}
					stop = write(t, db, w)
				}
				return s, err
			}
			result, got, more := run(t, &keep, open, dir)
			stop()
			if again += more; result.Outcome != sched.OK {
				t.Fatalf("workload %s, served %v: %+v", w.Name, served, result)
			}
			if got != want {
				t.Errorf("workload %s, served %v: %d bytes of output instead of these %d", w.Name, served, len(got),
					len(want))
			}
			now := Of(db)
			if text, _ := all(t, now, 1); text == want {
				t.Errorf("workload %s: nothing was written meanwhile", w.Name)
			}
			now.Close()
			if err := server.Close(); err != nil {
				t.Error(err)
			}
			if m := db.Metrics(); m.Snapshots.Count != 0 {
				t.Errorf("workload %s: %d snapshots are still held", w.Name, m.Snapshots.Count)
			}
			if left, _ := os.ReadDir(besides(dir)); len(left) > 0 {
				t.Errorf("workload %s: left behind: %v", w.Name, left)
			}
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	if again == 0 {
		t.Error("no task ran again")
	}
}

// A job that fails holds nothing of the store either.
func TestFailedJobLeavesNothing(t *testing.T) {
	for _, served := range []bool{false, true} {
		db, dir := create(t, 3000)
		server, err := Serve(db, dir)
		if err != nil {
			t.Fatal(err)
		}
		open := func(string) (input.Store, error) { return Of(db), nil }
		if served {
			open = Open
		}
		broken := mr.Job{Name: "broken",
			Map: func(*mr.Task, *mr.Batches, *mr.Emitter) error { return io.ErrNoProgress }}
		if result, _, _ := run(t, &broken, open, dir); result.Outcome != sched.Failed {
			t.Errorf("served %v: %+v", served, result)
		}
		for deadline := time.Now().Add(patience); server.Held() > 0 && time.Now().Before(deadline); {
			time.Sleep(time.Millisecond) // the server sees the end of the connection
		}
		if n := db.Metrics().Snapshots.Count; n != 0 || server.Held() != 0 {
			t.Errorf("served %v: %d snapshots and %d checkpoints are held", served, n, server.Held())
		}
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A launchCount counts the attempts of each task.
type launchCount map[string]int

// Record implements sched.Recorder.
func (l launchCount) Record(_ sched.Time, _ []sched.Event, actions []sched.Action) {
	for i := range actions {
		if a := &actions[i]; a.Kind == sched.Launch {
			l[fmt.Sprint(a.Stage, a.Task)]++
		}
	}
}

// run runs a job on a store, where half of the attempts or of what they leave behind is lost. It returns the job's
// result, its output, and how many attempts there were beyond one for each task.
func run(t *testing.T, job *mr.Job, open func(string) (input.Store, error), dir string) (mr.Result, string, int) {
	t.Helper()
	memory, err := mr.NewMemory(256<<20, 4)
	if err != nil {
		t.Fatal(err)
	}
	output := filepath.Join(t.TempDir(), "out")
	one := sched.Resources{sched.VCores: 1}
	work, err := mr.Open(mr.Order{Job: job, Input: []string{"pebble:" + dir}, Output: output, Reduces: 3,
		Stores: map[string]func(string) (input.Store, error){"pebble": open}},
		mr.Site{Memory: memory, Map: one, Reduce: one, Cores: 2})
	if err != nil {
		t.Fatal(err)
	}
	fifo, _, err := policy.Parse("fifo")
	if err != nil {
		t.Fatal(err)
	}
	launched, again := launchCount{}, 0
	results, err := mr.Serve(t.Context(), mr.Config{
		Core:  sched.Config{Policy: fifo, Recorder: launched},
		Nodes: []sched.NodeSpec{{Class: "c", Capacity: sched.Resources{sched.VCores: 2}}},
		Chaos: mr.Chaos{Rate: 0.5, Seed: 1},
	}, []mr.Submission{{Spec: &sched.JobSpec{Name: job.Name}, Work: work}})
	if err != nil || len(results) != 1 {
		t.Fatalf("%v, %v", results, err)
	}
	for _, n := range launched {
		again += n - 1
	}
	if results[0].Outcome != sched.OK {
		return results[0], "", again
	}
	var b bytes.Buffer
	for part := range 3 {
		text, err := os.ReadFile(filepath.Join(output, fmt.Sprintf("part-r-%05d", part)))
		if err != nil {
			t.Fatal(err)
		}
		b.Write(text)
	}
	return results[0], b.String(), again
}

// A checkpoint is gone when the process that holds it is, and a server removes what an earlier one left.
func TestCheckpointEndsWithItsHolder(t *testing.T) {
	db, dir := create(t, 100)
	defer db.Close()
	server, err := Serve(db, dir)
	if err != nil {
		t.Fatal(err)
	}
	held, err := ask(dir)
	if err != nil || held == nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(held.path); err != nil || server.Held() != 1 {
		t.Errorf("%d are held: %v", server.Held(), err)
	}
	if err := held.Close(); err != nil { // as the kernel does when a process ends
		t.Fatal(err)
	}
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(besides(dir)); !os.IsNotExist(err) {
		t.Errorf("the folder is left: %v", err)
	}
}

// Why the owner of a store cannot be asked is said if the store is open elsewhere, and is no obstacle if it is not. A
// socket without a listener is what an owner leaves that was killed.
func TestOwnerCannotBeAsked(t *testing.T) {
	for network, says := range map[string]string{
		"unixgram": "ask for a checkpoint",
		"unix":     "let that serve snapshots",
	} {
		db, dir := create(t, 10)
		if err := os.Mkdir(besides(dir), 0o700); err != nil {
			t.Fatal(err)
		}
		at := &net.UnixAddr{Name: filepath.Join(besides(dir), socket), Net: network}
		if network == "unix" {
			l, err := net.ListenUnix(network, at)
			if err != nil {
				t.Fatal(err)
			}
			l.SetUnlinkOnClose(false)
			l.Close()
		} else {
			l, err := net.ListenUnixgram(network, at) // no stream: dialling fails
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
		}
		if s, err := Open(dir); err == nil || !strings.Contains(err.Error(), says) ||
			!strings.Contains(err.Error(), "open pebble store") {
			t.Errorf("%s: a store that another program has open: %v, %v", network, s, err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		s, err := Open(dir)
		if err != nil {
			t.Fatalf("%s: a store that no program has open: %v", network, err)
		}
		s.Close()
	}
}

// FuzzAnswered: whatever a server answers, a path is of a checkpoint in its folder, or there is an error.
func FuzzAnswered(f *testing.F) {
	for _, seed := range []string{
		"/d/db.snapshots/1\n", "/d/db.snapshots/1", "/d/db.snapshots/../x\n", "error: no room\n", "1\n", "\n",
		"/d/db.snapshots/..\n", "/d/db.snapshots/serve.sock\n", "/d/db.snapshots/\n", "/d/db.snapshots/1/2\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, answer string) {
		path, err := answered(strings.NewReader(answer), "/d/db.snapshots")
		if (path == "") != (err != nil) {
			t.Fatalf("%q: %q and %v", answer, path, err)
		}
		if err == nil && (filepath.Dir(path) != "/d/db.snapshots" || path+"\n" != answer[:len(path)+1]) {
			t.Errorf("%q names %q", answer, path)
		}
	})
}

// used returns the bytes of the files of a store and of its checkpoints. A file that both link to counts once.
func used(t *testing.T, dir string) (sum int64) {
	t.Helper()
	seen := map[uint64]bool{}
	for _, folder := range []string{dir, besides(dir)} {
		err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return nil // not there, or gone meanwhile
			}
			if info, err := d.Info(); err == nil && strings.HasSuffix(path, ".sst") {
				if id := info.Sys().(*syscall.Stat_t).Ino; !seen[id] {
					seen[id] = true
					sum += info.Size()
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return sum
}

// What a job holds of a store that is overwritten meanwhile takes room until the job has ended and the store is written
// on: with a snapshot or a checkpoint the store is about twice as large when all is overwritten and compacted. After
// the job it is as large as before when all is overwritten once more. A compaction alone does not give the room of a
// snapshot back: pebble leaves tables of the lowest level as they are.
func TestGrowthEndsWithTheJob(t *testing.T) {
	const records = 20_000
	for _, served := range []bool{false, true} {
		db, dir := create(t, 1)
		r := rand.New(rand.NewPCG(1, 2))
		overwrite := func() int64 {
			t.Helper()
			value := make([]byte, 100)
			for i := range records {
				for j := range value {
					value[j] = byte(r.Uint32()) // does not compress
				}
				if err := db.Set(ycsb.Key(i), value, pebble.NoSync); err != nil {
					t.Fatal(err)
				}
			}
			return compacted(t, db, dir)
		}
		before := overwrite()
		job := Of(db)
		if served {
			server, err := Serve(db, dir)
			if err != nil {
				t.Fatal(err)
			}
			defer server.Close()
			if err := job.Close(); err != nil {
				t.Fatal(err)
			}
			if job, err = Open(dir); err != nil {
				t.Fatal(err)
			}
		}
		text, _ := all(t, job, 3)
		during := overwrite()
		if again, _ := all(t, job, 3); again != text {
			t.Errorf("served %v: the job reads what was written after it began", served)
		}
		if err := job.Close(); err != nil {
			t.Fatal(err)
		}
		after := overwrite()
		for deadline := time.Now().Add(patience); after > before*11/10 && time.Now().Before(deadline); {
			time.Sleep(10 * time.Millisecond) // the server removes a checkpoint when it has seen the end
			after = compacted(t, db, dir)
		}
		if during < before*18/10 || after > before*11/10 {
			t.Errorf("served %v: %d bytes before the job, %d during, %d after", served, before, during, after)
		}
		defer db.Close()
	}
}

// patience is how long tests wait for what must happen: so long that it is no question of how busy the machine is.
const patience = 5 * time.Minute

// compacted compacts a store and returns its size.
func compacted(t *testing.T, db *pebble.DB, dir string) int64 {
	t.Helper()
	if err := db.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := db.Compact(t.Context(), []byte("a"), []byte("z"), true); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		// Tables that are not part of the store any more are removed a little later.
		if m := db.Metrics(); m.Table.ObsoleteCount+m.Table.ZombieCount == 0 || time.Now().After(deadline) {
			return used(t, dir)
		}
	}
}

// A store that another program has open, and does not serve, cannot be read. The error says what to do.
func TestLockedStore(t *testing.T) {
	db, dir := create(t, 10)
	if s, err := Open(dir); err == nil || !strings.Contains(err.Error(), "checkpoint") {
		t.Errorf("%v, %v", s, err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if text, _ := all(t, s, 3); strings.Count(text, "\n") != 10 {
		t.Errorf("read %q", text)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := Open(dir + "-none"); err == nil {
		t.Error("a store that is not there is opened")
	}
}

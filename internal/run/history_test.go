package run

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/sojourn-sched/sojourn/model"
	"github.com/sojourn-sched/sojourn/sched"
)

// learning makes an estimator that keeps what it learns in a file; known tells of how many tasks it knows, and how
// long the last of them took.
func learning(t *testing.T, estimator, path string) (l *learner, file *history,
	known func(*learner) (int, sched.Time)) {
	t.Helper()
	e, card, err := model.All.Parse(estimator, nil)
	if err != nil {
		t.Fatal(err)
	}
	l = newLearner(e)
	if file, err = openHistory(path, card.Keeps, l); err != nil {
		t.Fatal(err)
	}
	return l, file, func(l *learner) (int, sched.Time) {
		switch e := l.Estimator.(type) {
		case *model.History:
			for _, list := range e.Past {
				return len(list), list[len(list)-1].Took
			}
		case *model.FSPY:
			return int(e.Past[sched.Map].N), 0
		}
		return 0, 0
	}
}

// What an estimator learned while it ran outlives a kill by signal 9, up to the last save, and what is saved is whole
// whenever the kill comes.
func TestLearnedOutlivesKill(t *testing.T) {
	const as = "SAVING_AS"
	if estimator := os.Getenv(as); estimator != "" {
		learnForEver(t, estimator, os.Getenv("SAVING_TO"))
		return
	}
	for _, estimator := range []string{"history", "fspy", "fspy:fit=relative"} {
		path := filepath.Join(t.TempDir(), "history.db")
		child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestLearnedOutlivesKill$")
		child.Env = append(os.Environ(), as+"="+estimator, "SAVING_TO="+path)
		said, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		saved := 0
		lines := bufio.NewScanner(said)
		for range 3 {
			if !lines.Scan() {
				t.Fatalf("%s: the child has ended: %s", estimator, lines.Text())
			}
			if saved, err = strconv.Atoi(lines.Text()); err != nil {
				t.Fatalf("%s: %v", estimator, err)
			}
		}
		child.Process.Kill()
		if err := child.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
			t.Errorf("%s: the child ended by itself: %v", estimator, err)
		}
		k, file, known := learning(t, estimator, path)
		tasks, last := known(k)
		if estimator == "history" {
			tasks = int(last / time.Second) // the last 50 are kept, and the n-th took n seconds
		}
		if tasks < saved || saved == 0 {
			t.Errorf("%s: after the kill %d tasks are known of, and %d were saved before", estimator, tasks, saved)
		}
		if err := file.close(); err != nil {
			t.Error(err)
		}
	}
}

// learnForEver shows tasks to an estimator; the n-th takes n seconds. Each time that more tasks are saved it prints
// their number.
func learnForEver(t *testing.T, estimator, path string) {
	k, file, _ := learning(t, estimator, path)
	file.keepSaving(time.Millisecond, func(err error) { fmt.Println(err) })
	core := sched.New(sched.Config{})
	core.Step(0, []sched.Event{{Kind: sched.JobSubmitted, Job: 1, Body: &sched.JobSpec{Name: "j", Open: true,
		Stages: []sched.StageSpec{{Kind: sched.Map, PerTask: sched.Resources{sched.Memory: 1}, Tasks: 1}}}}})
	stage := core.Job(1).Stages[0]
	before := 0
	for n := 1; ; n++ {
		k.Observe(&sched.Attempt{Stage: stage}, time.Duration(n)*time.Second, nil)
		again, _, known := learning(t, estimator, "")
		file.db.View(func(tx *bolt.Tx) error {
			if b := tx.Bucket(file.bucket); b != nil {
				return b.ForEach(func(key, value []byte) error { return again.keep.Load(string(key), value) })
			}
			return nil
		})
		now, last := known(again)
		if estimator == "history" {
			now = int(last / time.Second)
		}
		if now > before {
			before = now
			fmt.Println(now)
		}
	}
}

// What could not be saved is saved the next time, and when the end of a run cannot save it, that is why the command
// fails, interrupted or not.
func TestLearnedAndNotSaved(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history.db")
	k, file, _ := learning(t, "history", path)
	core := sched.New(sched.Config{})
	core.Step(0, []sched.Event{{Kind: sched.JobSubmitted, Job: 1, Body: &sched.JobSpec{Name: "j", Open: true,
		Stages: []sched.StageSpec{{Kind: sched.Map, PerTask: sched.Resources{sched.Memory: 1}, Tasks: 1}}}}})
	k.Observe(&sched.Attempt{Stage: core.Job(1).Stages[0]}, time.Second, nil)
	good := file.db
	closed, err := bolt.Open(filepath.Join(t.TempDir(), "other.db"), 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	file.db = closed
	closed.Close()
	if err := file.save(); err == nil {
		t.Error("what is closed takes what was learned")
	}
	if err = file.close(); !errors.As(err, new(Loss)) || !errors.As(err, new(Failure)) ||
		!strings.Contains(err.Error(), "what was learned is lost") {
		t.Errorf("closing what cannot be saved: %v", err)
	}
	file.db = good
	if err := file.close(); err != nil {
		t.Fatal(err)
	}
	again, file, known := learning(t, "history", path)
	if tasks, last := known(again); tasks != 1 || last != time.Second {
		t.Errorf("%d tasks are known of, the last took %v; want one of 1s", tasks, last)
	}
	if err := file.close(); err != nil {
		t.Error(err)
	}
}

// writeHistory makes a file whose bucket has what fill puts there.
func writeHistory(t *testing.T, path, bucket string, fill func(*bolt.Bucket) error) {
	t.Helper()
	db, err := bolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bolt.Tx) error {
		b, err := tx.CreateBucket([]byte(bucket))
		if err != nil {
			return err
		}
		return fill(b)
	})
	if err = errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestLargeEntry holds that a history with an entry which no run leaves is refused by name, before it is decoded.
func TestLargeEntry(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history")
	e, card, err := model.All.Parse("history", nil)
	if err != nil {
		t.Fatal(err)
	}
	writeHistory(t, path, card.Keeps, func(b *bolt.Bucket) error {
		return b.Put([]byte("large"), []byte(strings.Repeat("[", mostEntry+1)))
	})
	_, err = openHistory(path, card.Keeps, newLearner(e))
	if want := `entry "large": has 1048577 bytes, must be at most 1048576`; err == nil ||
		!strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
}

// A history keeps so many entries at most. Those of a file from before, which does not say when they changed, go first,
// then those that changed longest ago.
func TestHistoryIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history")
	_, card, err := model.All.Parse("history", nil)
	if err != nil {
		t.Fatal(err)
	}
	writeHistory(t, path, card.Keeps, func(b *bolt.Bucket) (err error) {
		for i := 0; i < mostEntries+5 && err == nil; i++ {
			err = b.Put(fmt.Appendf(nil, "old %05d", i), []byte("[7]"))
		}
		return err
	})
	past := []model.PastTask{{Took: time.Second}}
	kept := func(known int, unsaved ...string) map[string][]model.PastTask {
		t.Helper()
		l, file, _ := learning(t, "history", path)
		if n := len(l.Estimator.(*model.History).Past); n != known {
			t.Errorf("%d entries are read, want %d", n, known)
		}
		for _, key := range unsaved {
			file.unsaved[key] = past
		}
		if err := file.close(); err != nil {
			t.Fatal(err)
		}
		now, err := PastTasks(path)
		if err != nil {
			t.Fatal(err)
		}
		return now
	}
	const left = mostEntries * 9 / 10
	now := kept(mostEntries+5, "old 00003", "first")
	if len(now) != left || now["old 00003"] == nil || now["first"] == nil || now["old 00004"] != nil {
		t.Errorf("%d entries are left: %v", len(now), now["old 00003"])
	}
	var more []string
	for i := range mostEntries - left {
		more = append(more, fmt.Sprintf("more %05d", i))
	}
	if now = kept(left, more...); len(now) != mostEntries {
		t.Errorf("%d entries are left, want all", len(now))
	}
	now = kept(mostEntries, "last")
	if len(now) != left || now["old 00003"] == nil || now["last"] == nil || now[more[0]] == nil ||
		now[fmt.Sprintf("old %05d", mostEntries+4)] == nil {
		t.Errorf("%d entries are left, want %d and the latest", len(now), left)
	}
}

// A file that is no history is said to be none, whatever its length, and stays as it is; only of a history that is open
// is it said that another run uses it.
func TestNoHistory(t *testing.T) {
	dir := t.TempDir()
	e, card, err := model.All.Parse("history", nil)
	if err != nil {
		t.Fatal(err)
	}
	open := func(path string) string {
		t.Helper()
		h, err := openHistory(path, card.Keeps, newLearner(e))
		if err == nil {
			t.Fatalf("%s is opened: %v", path, h.close())
		}
		return err.Error()
	}
	const busy = "another run uses it"
	for _, size := range []int{5, 4500, 100_000} {
		path, text := filepath.Join(dir, "words"), strings.Repeat("w", size)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := open(path); !strings.HasPrefix(got, path+": ") || strings.Contains(got, busy) ||
			!strings.Contains(got, "is no history, or is damaged") {
			t.Errorf("%d bytes of text: %s", size, got)
		}
		if got, err := os.ReadFile(path); string(got) != text {
			t.Errorf("of %d bytes of text there are %d, %v", size, len(got), err)
		}
	}
	if got := open(dir); !strings.Contains(got, "is a directory") || strings.Contains(got, busy) ||
		strings.Contains(got, "no history") {
		t.Errorf("a folder: %s", got)
	}
	path := filepath.Join(dir, "history.db")
	_, file, _ := learning(t, "history", path)
	if got := open(path); got != path+": "+busy+"; give each its own file" {
		t.Errorf("a history that is open: %s", got)
	}
	if err := file.close(); err != nil {
		t.Error(err)
	}
}

// A history that was cut off is an error for a run, and is set aside by a server.
func TestDamagedHistory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history.db")
	_, file, _ := learning(t, "history", path)
	if err := file.close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, keep := range []int{2 * os.Getpagesize(), 3*os.Getpagesize() + 1} {
		if err := os.WriteFile(path, whole[:keep], 0o600); err != nil {
			t.Fatal(err)
		}
		e, card, err := model.All.Parse("history", nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := openHistory(path, card.Keeps, newLearner(e)); !errors.Is(err, errDamaged) {
			t.Errorf("%d of %d bytes: %v", keep, len(whole), err)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

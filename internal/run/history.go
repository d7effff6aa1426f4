package run

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	bolt "go.etcd.io/bbolt"
	bolterr "go.etcd.io/bbolt/errors"

	"github.com/sojourn-sched/sojourn/internal/boltfile"
	"github.com/sojourn-sched/sojourn/model"
	"github.com/sojourn-sched/sojourn/sched"
)

// A learner is an estimator that keeps what it learns. Its lock lets another goroutine than the engine's ask for news
// while the run goes on. The engine's goroutine alone observes and estimates.
type learner struct {
	sched.Estimator
	keep  model.Keeper // the same estimator
	mu    sync.Mutex
	fresh map[string]bool // keys of entries that changed since news was called
}

func newLearner(e sched.Estimator) *learner {
	return &learner{Estimator: e, keep: e.(model.Keeper), fresh: map[string]bool{}}
}

// Observe implements sched.Estimator.
func (l *learner) Observe(a *sched.Attempt, took sched.Time, c *sched.Counters) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.Estimator.Observe(a, took, c)
	l.fresh[l.keep.Changes(a)] = true
}

// Attach shows the estimator the view, if it asks for it.
func (l *learner) Attach(v *sched.View) {
	if e, ok := l.Estimator.(interface{ Attach(*sched.View) }); ok {
		e.Attach(v)
	}
}

// MarshalJSON writes the estimator's memory.
func (l *learner) MarshalJSON() ([]byte, error) { return json.Marshal(l.Estimator) }

// UnmarshalJSON reads the estimator's memory.
func (l *learner) UnmarshalJSON(b []byte) error { return json.Unmarshal(b, l.Estimator) }

// news returns by key what was learned since news was called before.
func (l *learner) news() map[string]any {
	l.mu.Lock()
	defer l.mu.Unlock()
	news := map[string]any{}
	for key := range l.fresh {
		news[key] = l.keep.Entry(key)
	}
	clear(l.fresh)
	return news
}

// mostEntry is how many bytes an entry of a history has at most; 50 task times take about 600.
const mostEntry = 1 << 20

// mostEntries is how many entries a history has at most of one estimator. When it has more, those that changed longest
// ago go, until nine of ten are left. So a history does not grow for ever where names of jobs do not repeat.
const mostEntries = 10_000

// A history is a file in which an estimator's knowledge outlives runs. A run that uses the file locks it. Each kind of
// estimator has a bucket of its own, so that one file serves all of them.
type history struct {
	path    string
	db      *bolt.DB
	bucket  []byte
	entries int // in the bucket
	of      *learner
	unsaved map[string]any // news that could not be written yet
	stop    func()         // ends keepSaving; nil: it does not run
}

// errDamaged says what to do with a history that is not whole.
var errDamaged = errors.New("the file is damaged: move it away, and learning begins anew")

// openHistory reads what an estimator learned in earlier runs. Without a path there is no history. Errors begin with
// the path, before which the caller names the flag that has it.
func openHistory(path, bucket string, of *learner) (*history, error) {
	if path == "" {
		return nil, nil
	}
	db, err := boltfile.Open(path, 0o666, time.Second)
	switch {
	case errors.Is(err, boltfile.ErrPages):
		return nil, fmt.Errorf("%s: %w: %w", path, err, errDamaged)
	case errors.Is(err, bolterr.ErrTimeout):
		return nil, fmt.Errorf("%s: another run uses it; give each its own file", path)
	case err != nil && !errors.As(err, new(syscall.Errno)): // what the operating system says is plain
		return nil, fmt.Errorf("%s: %w: the file is no history, or is damaged: name another file, or move this one "+
			"away, and learning begins anew", path, err)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	type entry struct {
		key   string
		value []byte
	}
	var entries []entry
	err = boltfile.View(db, func(tx *bolt.Tx) error {
		b := tx.Bucket([]byte(bucket))
		if b == nil {
			return nil
		}
		return b.ForEach(func(key, value []byte) error {
			if len(value) > mostEntry {
				return fmt.Errorf("entry %q: has %d bytes, must be at most %d: the file is damaged or no history",
					key[:min(len(key), 80)], len(value), mostEntry)
			}
			entries = append(entries, entry{string(key), slices.Clone(value)})
			return nil
		})
	})
	if errors.Is(err, boltfile.ErrPages) {
		err = fmt.Errorf("%w: %w", err, errDamaged)
	}
	for i := 0; i < len(entries) && err == nil; i++ { // not within View, which takes a panic for a damaged page
		if err = of.keep.Load(entries[i].key, entries[i].value); err != nil {
			err = fmt.Errorf("entry %q: %w", entries[i].key, err)
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), db.Close())
	}
	return &history{path: path, db: db, bucket: []byte(bucket), entries: len(entries), of: of,
		unsaved: map[string]any{}}, nil
}

// save writes what was learned since the last save: all of it, or nothing when save fails or is cut short.
func (h *history) save() error {
	maps.Copy(h.unsaved, h.of.news())
	if len(h.unsaved) == 0 {
		return nil
	}
	entries := 0
	err := h.db.Update(func(tx *bolt.Tx) error {
		b, err := tx.CreateBucketIfNotExists(h.bucket)
		if err != nil {
			return err
		}
		turns, err := tx.CreateBucketIfNotExists(slices.Concat(h.bucket, []byte(turnsOf)))
		if err != nil {
			return err
		}
		entries = h.entries
		for _, key := range slices.Sorted(maps.Keys(h.unsaved)) {
			if len(key) > bolt.MaxKeySize {
				continue // no user gives such a name twice
			}
			value, err := json.Marshal(h.unsaved[key])
			if err != nil {
				return err
			}
			if string(value) == "null" {
				continue // the estimator has forgotten it since
			}
			if b.Get([]byte(key)) == nil {
				entries++
			}
			if err := b.Put([]byte(key), value); err != nil {
				return err
			}
			turn, err := turns.NextSequence()
			if err != nil {
				return err
			}
			if err := turns.Put([]byte(key), binary.BigEndian.AppendUint64(nil, turn)); err != nil {
				return err
			}
		}
		if entries > mostEntries {
			entries, err = thin(b, turns)
		}
		return err
	})
	if err == nil {
		h.entries = entries
		clear(h.unsaved)
	}
	return err
}

// turnsOf is what a bucket's name and this make the name of the bucket that has the turn of each entry: a number that
// is the larger the later the entry changed. Entries of a file without turns changed before all others.
const turnsOf = ", turns"

// thin deletes the entries that changed longest ago until nine tenths of mostEntries are left, and returns how many are
// left.
func thin(b, turns *bolt.Bucket) (left int, err error) {
	type entry struct{ turn, key string }
	var all []entry
	err = b.ForEach(func(key, _ []byte) error {
		all = append(all, entry{string(turns.Get(key)), string(key)})
		return nil
	})
	if err != nil {
		return 0, err
	}
	slices.SortFunc(all, func(x, y entry) int { return cmp.Or(cmp.Compare(x.turn, y.turn), cmp.Compare(x.key, y.key)) })
	left = min(len(all), mostEntries*9/10)
	for _, e := range all[:len(all)-left] {
		if err := errors.Join(b.Delete([]byte(e.key)), turns.Delete([]byte(e.key))); err != nil {
			return 0, err
		}
	}
	return left, nil
}

// saveEvery is the interval of saving while jobs run: what is learned in it is lost when the program is killed.
const saveEvery = 5 * time.Second

// keepSaving starts to save what is learned at an interval, until the history is closed. It tells failed each failure.
// A nil history does nothing.
func (h *history) keepSaving(every time.Duration, failed func(error)) {
	if h == nil {
		return
	}
	done, ended := make(chan bool), make(chan bool)
	h.stop = func() {
		close(done)
		<-ended
	}
	go func() {
		defer close(ended)
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				if err := h.save(); err != nil {
					failed(err)
				}
			}
		}
	}()
}

// close writes what was learned. A nil history does nothing.
func (h *history) close() error {
	if h == nil {
		return nil
	}
	if h.stop != nil {
		h.stop()
	}
	if err := errors.Join(h.save(), h.db.Close()); err != nil {
		return Lost(fmt.Errorf("--history %s: what was learned is lost: %w", h.path, err))
	}
	return nil
}

// PastTasks returns what runs with --estimator history or model have kept of task times, by [sched.JobSpec.Likeness].
func PastTasks(path string) (map[string][]model.PastTask, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, err // opening would make the file
	}
	e, card, err := BuiltIn.Estimators.Parse("history", nil)
	if err != nil {
		return nil, err
	}
	h, err := openHistory(path, card.Keeps, newLearner(e))
	if err != nil {
		return nil, err
	}
	return e.(*model.History).Past, h.db.Close()
}

package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/sojourn-sched/sojourn/model"
	"github.com/sojourn-sched/sojourn/sched"
)

// What a history keeps, each in a bucket of its own, so that one file serves all estimators.
var (
	historyBucket = []byte("task times, format 1")  // by model.HistoryKey the last task times
	modelsBucket  = []byte("size models, format 1") // by modelsKey what the models of fspy are fitted to
)

// A historyFile keeps what an estimator has learned from run to run. It is locked while a run uses it.
type historyFile struct {
	path    string
	db      *bolt.DB
	bucket  []byte
	keep    keeper
	unsaved map[string]any // news that could not be written yet
	stop    func()         // ends the saving while a run goes on; nil: there is none
}

// A keeper is an estimator whose knowledge outlives a run.
type keeper interface {
	sched.Estimator
	read(key, value []byte) error
	news() map[string]any // by key, what was learned since it was asked last; not changed any more. Another goroutine than the engine's may ask
}

// openHistory reads what an estimator has learned before; without a path that is nothing, and nothing is kept.
func openHistory(path string, bucket []byte, k keeper) (*historyFile, error) {
	if path == "" {
		return nil, nil
	}
	db, err := bolt.Open(path, 0o666, &bolt.Options{Timeout: time.Second})
	if err != nil {
		return nil, fmt.Errorf("--history %s: %w (another run may be using it)", path, err)
	}
	err = db.View(func(tx *bolt.Tx) error {
		b := tx.Bucket(bucket)
		if b == nil {
			return nil
		}
		return b.ForEach(func(key, value []byte) error {
			if err := k.read(key, value); err != nil {
				return fmt.Errorf("entry %q: %w", key, err)
			}
			return nil
		})
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("--history %s: %w", path, err), db.Close())
	}
	return &historyFile{path: path, db: db, bucket: bucket, keep: k, unsaved: map[string]any{}}, nil
}

// save writes what was learned since it was written last: all of it, or nothing when it fails or is cut short.
func (h *historyFile) save() error {
	maps.Copy(h.unsaved, h.keep.news())
	if len(h.unsaved) == 0 {
		return nil
	}
	err := h.db.Update(func(tx *bolt.Tx) error {
		b, err := tx.CreateBucketIfNotExists(h.bucket)
		if err != nil {
			return err
		}
		for _, key := range sortedKeys(h.unsaved) {
			if len(key) > bolt.MaxKeySize {
				continue // no name that anybody would give twice
			}
			value, err := json.Marshal(h.unsaved[key])
			if err != nil {
				return err
			}
			if err := b.Put([]byte(key), value); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		clear(h.unsaved)
	}
	return err
}

// saveEvery is how often what is learned while jobs run is saved: what is lost when the program is killed.
const saveEvery = time.Minute

// keepSaving has what is learned saved at an interval, until the file is closed. A nil history does nothing.
func (h *historyFile) keepSaving(every time.Duration, failed func(error)) {
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
func (h *historyFile) close() error {
	if h == nil {
		return nil
	}
	if h.stop != nil {
		h.stop()
	}
	if err := errors.Join(h.save(), h.db.Close()); err != nil {
		return lossError{failure{fmt.Errorf("--history %s: what was learned is lost: %w", h.path, err)}}
	}
	return nil
}

// taskTimes keeps those of a model.History. What it learns is locked; who estimates is who observes.
type taskTimes struct {
	*model.History
	mu    sync.Mutex
	fresh map[string]bool // keys of which something was learned since news was asked for
}

func newTaskTimes() *taskTimes {
	return &taskTimes{History: &model.History{Past: map[string][]sched.Time{}}, fresh: map[string]bool{}}
}

// Observe learns from an attempt that succeeded.
func (t *taskTimes) Observe(a *sched.Attempt, ended sched.Time, c *sched.Counters) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.History.Observe(a, ended, c)
	t.fresh[model.HistoryKey(a.Stage.Job.Spec, a.Stage.Kind)] = true
}

func (t *taskTimes) read(key, value []byte) error {
	var times []sched.Time
	err := json.Unmarshal(value, &times)
	t.Past[string(key)] = times
	return err
}

func (t *taskTimes) news() map[string]any {
	t.mu.Lock()
	defer t.mu.Unlock()
	news := map[string]any{}
	for key := range t.fresh {
		news[key] = slices.Clone(t.Past[key])
	}
	clear(t.fresh)
	return news
}

// sizeModels keeps what a model.FSPY has learned from jobs that are over. What it learns is locked; who estimates is
// who observes.
type sizeModels struct {
	*model.FSPY
	mu    sync.Mutex
	fresh bool // something was learned since news was asked for
}

const modelsKey = "fspy"

// Observe learns from an attempt that succeeded.
func (m *sizeModels) Observe(a *sched.Attempt, ended sched.Time, c *sched.Counters) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.FSPY.Observe(a, ended, c)
	m.fresh = true
}

func (m *sizeModels) read(_, value []byte) error { return json.Unmarshal(value, &m.FSPY.Learned) }

// news needs no deep copy: what has been learned is added at the ends of slices and never changed.
func (m *sizeModels) news() map[string]any {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.fresh {
		return nil
	}
	m.fresh = false
	return map[string]any{modelsKey: m.FSPY.Learned}
}

// recall gives an estimator what a record says was learned before its run.
func recall(e sched.Estimator, learned json.RawMessage) error {
	if err := json.Unmarshal(learned, e); err != nil {
		return fmt.Errorf("what the record's estimator had learned: %w", err)
	}
	return nil
}

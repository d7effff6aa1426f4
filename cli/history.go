package cli

import (
	"encoding/json"
	"errors"
	"fmt"
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
	db   *bolt.DB
	keep keeper
}

// A keeper is an estimator whose knowledge outlives a run.
type keeper interface {
	bucket() []byte
	read(key, value []byte) error
	write(*bolt.Bucket) error
}

// openHistory reads what an estimator has learned before; without a path that is nothing, and nothing is kept.
func openHistory(path string, k keeper) (*historyFile, error) {
	if path == "" {
		return nil, nil
	}
	db, err := bolt.Open(path, 0o666, &bolt.Options{Timeout: time.Second})
	if err != nil {
		return nil, fmt.Errorf("--history %s: %w (another run may be using it)", path, err)
	}
	err = db.View(func(tx *bolt.Tx) error {
		b := tx.Bucket(k.bucket())
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
	return &historyFile{db, k}, nil
}

// close writes what was learned, at once. A nil history does nothing.
func (h *historyFile) close() error {
	if h == nil {
		return nil
	}
	err := h.save(h.keep)
	return errors.Join(err, h.db.Close())
}

// put writes an entry as JSON.
func put(b *bolt.Bucket, key string, v any) error {
	value, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return b.Put([]byte(key), value)
}

// taskTimes keeps those of a model.History.
type taskTimes struct{ *model.History }

func (taskTimes) bucket() []byte { return historyBucket }

func (t taskTimes) read(key, value []byte) error {
	var times []sched.Time
	err := json.Unmarshal(value, &times)
	t.Past[string(key)] = times
	return err
}

func (t taskTimes) write(b *bolt.Bucket) error {
	for _, key := range sortedKeys(t.Past) {
		if len(key) > bolt.MaxKeySize {
			continue // no name that anybody would give twice
		}
		if err := put(b, key, t.Past[key]); err != nil {
			return err
		}
	}
	return nil
}

// sizeModels keeps what a model.FSPY has learned from jobs that are over.
type sizeModels struct{ *model.FSPY }

const modelsKey = "fspy"

func (sizeModels) bucket() []byte { return modelsBucket }

func (m sizeModels) read(_, value []byte) error { return json.Unmarshal(value, &m.FSPY.Learned) }

func (m sizeModels) write(b *bolt.Bucket) error { return put(b, modelsKey, m.FSPY.Learned) }

// recall gives an estimator what a record says was learned before its run.
func recall(e sched.Estimator, learned json.RawMessage) error {
	if err := json.Unmarshal(learned, e); err != nil {
		return fmt.Errorf("what the record's estimator had learned: %w", err)
	}
	return nil
}

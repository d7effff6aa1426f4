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

// historyBucket holds, by model.HistoryKey, the last task times as JSON.
var historyBucket = []byte("task times, format 1")

// A historyFile keeps what was learned of task times from run to run. It is locked while a run uses it.
type historyFile struct {
	db        *bolt.DB
	estimator *model.History
}

// openHistory reads a history; without a path there is none, and nothing is kept.
func openHistory(path string) (*historyFile, error) {
	h := &historyFile{estimator: &model.History{Past: map[string][]sched.Time{}}}
	if path == "" {
		return h, nil
	}
	var err error
	if h.db, err = bolt.Open(path, 0o666, &bolt.Options{Timeout: time.Second}); err != nil {
		return nil, fmt.Errorf("--history %s: %w (another run may be using it)", path, err)
	}
	err = h.db.View(func(tx *bolt.Tx) error {
		b := tx.Bucket(historyBucket)
		if b == nil {
			return nil
		}
		return b.ForEach(func(key, value []byte) error {
			var times []sched.Time
			if err := json.Unmarshal(value, &times); err != nil {
				return fmt.Errorf("entry %q: %w", key, err)
			}
			h.estimator.Past[string(key)] = times
			return nil
		})
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("--history %s: %w", path, err), h.db.Close())
	}
	return h, nil
}

// close writes what was learned, at once. A nil history does nothing.
func (h *historyFile) close() error {
	if h == nil || h.db == nil {
		return nil
	}
	err := h.db.Update(func(tx *bolt.Tx) error {
		b, err := tx.CreateBucketIfNotExists(historyBucket)
		if err != nil {
			return err
		}
		for _, key := range sortedKeys(h.estimator.Past) {
			value, err := json.Marshal(h.estimator.Past[key])
			if err == nil {
				err = b.Put([]byte(key), value)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	return errors.Join(err, h.db.Close())
}

// historyOf makes an estimator of what a record says was learned before its run.
func historyOf(learned json.RawMessage) (sched.Estimator, error) {
	h := &model.History{}
	if err := json.Unmarshal(learned, h); err != nil {
		return nil, fmt.Errorf("what the record's estimator had learned: %w", err)
	}
	return h, nil
}

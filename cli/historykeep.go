package cli

import (
	"slices"
	"sync"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/sojourn-sched/sojourn/model"
	"github.com/sojourn-sched/sojourn/sched"
)

// saveEvery is how often a history that is learned while a ResourceManager runs is saved: what is lost when it is killed.
const saveEvery = time.Minute

// A livingHistory is a history that is saved while it learns. What it learns is locked; who estimates is who observes.
type livingHistory struct {
	*model.History
	mu    sync.Mutex
	fresh map[string]bool // keys of which something was learned since the last save
}

// Observe learns from an attempt that succeeded.
func (h *livingHistory) Observe(a *sched.Attempt, ended sched.Time, c *sched.Counters) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.History.Observe(a, ended, c)
	h.fresh[model.HistoryKey(a.Stage.Job.Spec, a.Stage.Kind)] = true
}

// news returns copies of what was learned since it was asked last.
func (h *livingHistory) news() map[string][]sched.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	news := map[string][]sched.Time{}
	for key := range h.fresh {
		news[key] = slices.Clone(h.Past[key])
	}
	clear(h.fresh)
	return news
}

// keepSaving has core's estimator, if it is a history of task times with a file, saved every minute until the returned function is called.
func (h *historyFile) keepSaving(core *sched.Config, failed func(error)) (stop func()) {
	if h == nil || h.db == nil {
		return func() {}
	}
	times, ok := h.keep.(taskTimes)
	if !ok {
		return func() {}
	}
	living := &livingHistory{History: times.History, fresh: map[string]bool{}}
	core.Estimator = living
	done, ended := make(chan bool), make(chan bool)
	go func() {
		defer close(ended)
		ticker := time.NewTicker(saveEvery)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				if err := h.save(taskTimes{&model.History{Past: living.news()}}); err != nil {
					failed(err)
				}
			}
		}
	}()
	return func() {
		close(done)
		<-ended
	}
}

// save writes what is to be kept, besides what is there.
func (h *historyFile) save(k keeper) error {
	return h.db.Update(func(tx *bolt.Tx) error {
		b, err := tx.CreateBucketIfNotExists(k.bucket())
		if err != nil {
			return err
		}
		return k.write(b)
	})
}

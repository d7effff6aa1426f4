package run

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/sojourn-sched/sojourn/policy"
	"github.com/sojourn-sched/sojourn/sched"
)

// A lasting keeps in a file what a policy remembers beyond a run: debts between queues. It follows the run and saves
// once a minute, in the turn of the engine, so that a crash costs a minute of accounts.
type lasting struct {
	path   string
	policy policy.Lasting
	failed func(error) // is told when a save fails meanwhile; nil: close alone saves
	next   sched.Time
}

// recall gives a policy what an earlier run left in a file, and returns what keeps that file from now on; nil where no
// file is named, or where the policy remembers nothing beyond a run.
func recall(path string, p sched.Policy, failed func(error)) (*lasting, error) {
	keeps, ok := p.(policy.Lasting)
	if path == "" || !ok {
		return nil, nil
	}
	l := &lasting{path: path, policy: keeps, failed: failed, next: saveEvery}
	text, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return l, nil
	case err != nil:
		return nil, err
	}
	if err := json.Unmarshal(text, keeps.Outlasting()); err != nil {
		return nil, fmt.Errorf("%s: this is not what a policy has left: %w; move it away, and queues begin "+
			"without debts", path, err)
	}
	keeps.Resume()
	return l, nil
}

// Attach implements record.Follower.
func (l *lasting) Attach(*sched.View) {}

// Record implements sched.Recorder.
func (l *lasting) Record(now sched.Time, _ []sched.Event, _ []sched.Action) {
	if l.failed == nil || now < l.next {
		return
	}
	l.next = now + saveEvery
	if err := l.save(); err != nil {
		l.failed(err)
	}
}

// save replaces the file atomically.
func (l *lasting) save() error {
	text, err := json.Marshal(l.policy.Outlasting())
	if err != nil {
		return fmt.Errorf("save %s: %w", l.path, err)
	}
	if err := os.WriteFile(l.path+".new", text, 0o600); err != nil {
		return err
	}
	return os.Rename(l.path+".new", l.path)
}

// close saves at the end of a run.
func (l *lasting) close() error {
	if l == nil {
		return nil
	}
	return l.save()
}

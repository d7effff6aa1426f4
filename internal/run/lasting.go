package run

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/sojourn-sched/sojourn/internal/safefile"
	"github.com/sojourn-sched/sojourn/policy"
	"github.com/sojourn-sched/sojourn/sched"
)

// A lasting keeps in a file what a policy, or a statement of loans, remembers beyond a run. It follows the run and
// saves every five seconds, in the goroutine of the engine. A crash loses the accounts of five seconds at most.
type lasting struct {
	path   string
	of     policy.Lasting
	failed func(error) // is told when a save fails meanwhile; nil: close alone saves
	next   sched.Time
	now    sched.Time // of the last decision, or later
}

// The files of a state folder.
const (
	debtsFile = "policy.json"
	loansFile = "fairness.json"
	stateLock = "lock"
)

// A state is a folder in which what outlives a run is kept. The zero state keeps nothing.
type state struct {
	lock *os.File
	kept []*lasting
}

// openState locks a folder for one run, and makes it where it is missing.
func openState(folder string) (s state, err error) {
	if folder == "" {
		return s, nil
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return s, fmt.Errorf("--state: %w", err)
	}
	s.lock, err = safefile.OpenLocked(filepath.Join(folder, stateLock), 0o600)
	switch {
	case errors.Is(err, safefile.ErrLocked):
		return s, fmt.Errorf("--state %s: another run uses it; give each its own folder", folder)
	case err != nil:
		return s, fmt.Errorf("--state: %w", err)
	}
	return s, nil
}

// recall restores in policy of what an earlier run wrote to a file of the folder, if there is one. From now on the
// state saves what of remembers to that file.
func (s *state) recall(path string, of policy.Lasting, failed func(error)) error {
	text, err := os.ReadFile(path)
	if err == nil {
		if err = of.Recall(text); err != nil {
			err = fmt.Errorf("%s: this is not what a run has left: %w; move it away, and queues begin without debts",
				path, err)
			if failed != nil { // a server starts all the same: a loss of power may have left an empty file
				failed(err)
				_, err = safefile.SetAside(path)
			}
		}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	s.kept = append(s.kept, &lasting{path: path, of: of, failed: failed, next: saveEvery})
	return nil
}

// close saves what is remembered at the end of a run, and releases the folder.
func (s *state) close() (err error) {
	for _, l := range s.kept {
		err = errors.Join(err, l.save(true))
	}
	return errors.Join(err, s.release())
}

// release releases the lock of the folder.
func (s *state) release() error {
	if s.lock == nil {
		return nil
	}
	return s.lock.Close()
}

// keep notes that the run has come to now.
func (s *state) keep(now sched.Time) {
	for _, l := range s.kept {
		l.keep(now)
	}
}

// Attach implements record.Follower.
func (l *lasting) Attach(*sched.View) {}

// Record implements sched.Recorder.
func (l *lasting) Record(now sched.Time, _ []sched.Event, _ []sched.Action) { l.keep(now) }

// keep notes that the run has come to now, and saves if the last save is saveEvery old.
func (l *lasting) keep(now sched.Time) {
	l.now = max(l.now, now)
	if l.failed == nil || now < l.next {
		return
	}
	l.next = now + saveEvery
	if err := l.save(false); err != nil {
		l.failed(err)
	}
}

// save replaces the file atomically. With synced, it returns when the file is on the disk, and survives a loss of
// power. That takes long, so an engine does not wait for it at every save.
func (l *lasting) save(synced bool) error {
	text, err := json.Marshal(l.of.Left(l.now))
	if err != nil {
		return fmt.Errorf("save %s: %w", l.path, err)
	}
	d, err := safefile.NewDraft(l.path, 0o600)
	if err != nil {
		return err
	}
	defer d.Drop()
	if _, err = d.Write(text); err == nil && synced {
		err = d.Sync()
	}
	if err != nil {
		return fmt.Errorf("save %s: %w", l.path, err)
	}
	return d.Keep()
}

package mr

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/sojourn-sched/sojourn/internal/safefile"
)

// Workspace is where a job's attempts write until the job is done. Its commit makes the output directory appear
// atomically. It is the directory .NAME._temporary beside the output directory NAME, on the same file system, locked
// while its owner lives. The kernel drops the lock of a process that was killed, so the next run on the same output
// finds the leftovers and removes them.
//
// As with Hadoop's FileOutputCommitter attempts write apart, one of a task's attempts commits by rename, and the job's
// commit puts the parts in place, _SUCCESS among them. Unlike there it does so by one rename of the whole directory:
// there is never half an output.
type Workspace struct {
	output    string
	dir       string
	lock      *os.File
	overwrite bool

	mu        sync.Mutex      // guards what follows
	committed map[string]bool // final paths of parts
	closed    bool
}

const (
	successFile = "_SUCCESS"
	lockFile    = "lock"
)

var (
	// ErrOutputExists: the output directory is there, and was not to be replaced.
	ErrOutputExists = errors.New("output directory exists")
	// ErrOutputBusy: another run is writing to the same output.
	ErrOutputBusy = errors.New("another run is writing to this output")
	// ErrCommitted: another attempt has committed the task.
	ErrCommitted = errors.New("another attempt has committed this task")
)

// OpenWorkspace claims an output directory. It must not exist, unless it is to be replaced: then it stays as it is
// until CommitJob.
func OpenWorkspace(output string, overwrite bool) (*Workspace, error) {
	output, err := filepath.Abs(output)
	if err != nil {
		return nil, fmt.Errorf("output %s: %w", output, err)
	}
	name := filepath.Base(output)
	w := &Workspace{
		output: output, dir: filepath.Join(filepath.Dir(output), "."+name+"._temporary"),
		overwrite: overwrite, committed: map[string]bool{},
	}
	if err := w.mayWrite(); err != nil {
		return nil, fmt.Errorf("output %s: %w", output, err)
	}
	if err := os.MkdirAll(w.dir, 0o777); err != nil {
		return nil, fmt.Errorf("output %s: %w", output, err)
	}
	if err := w.claim(); err != nil {
		return nil, fmt.Errorf("output %s: %w", output, err)
	}
	// Another run may have finished between the first look and the lock, and sweep may give an output its name again.
	if err := errors.Join(w.sweep(), w.mayWrite()); err != nil {
		return nil, errors.Join(fmt.Errorf("output %s: %w", output, err), w.Close())
	}
	return w, nil
}

// mayWrite returns an error if the output directory exists and is not to be replaced, or has what no job wrote.
func (w *Workspace) mayWrite() error {
	info, err := os.Lstat(w.output)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !w.overwrite:
		return fmt.Errorf("%w; choose another, remove it, or ask to overwrite it", ErrOutputExists)
	case !info.IsDir():
		return errors.New("is not a directory, and only a directory can be overwritten")
	}
	return w.isOutput()
}

// isOutput returns an error if the directory holds what no job wrote: a user may have named one by mistake, and another
// program may have written to it while the job ran.
func (w *Workspace) isOutput() error {
	entries, err := os.ReadDir(w.output)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if name := e.Name(); e.IsDir() || name != successFile && !strings.HasPrefix(name, "part-") {
			return fmt.Errorf("has %s, which no job wrote: not overwritten; remove it, or choose another", name)
		}
	}
	return nil
}

// claim takes the lock. Its last owner may remove the file between opening and locking: then claim tries the new file.
func (w *Workspace) claim() error {
	path := filepath.Join(w.dir, lockFile)
	for {
		f, err := safefile.OpenLocked(path, 0o666)
		if errors.Is(err, fs.ErrNotExist) {
			if err = os.MkdirAll(w.dir, 0o777); err == nil {
				continue
			}
		}
		switch {
		case errors.Is(err, safefile.ErrLocked):
			return ErrOutputBusy
		case err != nil:
			return err
		}
		held, err1 := f.Stat()
		there, err2 := os.Stat(path)
		if err1 == nil && err2 == nil && os.SameFile(held, there) {
			w.lock = f
			return nil
		}
		f.Close()
	}
}

// sweep removes what a killed run left behind. If that run was about to replace the output, and had taken the name from
// the old one but not given it to the new one, sweep gives the name back to the old one.
func (w *Workspace) sweep() error {
	entries, err := os.ReadDir(w.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() == lockFile {
			continue
		}
		path := filepath.Join(w.dir, e.Name())
		if strings.HasSuffix(path, safefile.Replaced) {
			switch err := safefile.MoveFolder(path, w.output, false); {
			case err == nil:
				continue
			case !errors.Is(err, fs.ErrExist):
				return fmt.Errorf("give the old output, which is %s, its name again: %w", path, err)
			}
		}
		if err := os.RemoveAll(path); err != nil {
			return fmt.Errorf("remove leftovers: %w", err)
		}
	}
	return nil
}

// Dir returns the directory of temporary files, which is gone after Close.
func (w *Workspace) Dir() string { return w.dir }

// parts returns the directory of the committed parts of a round.
func (w *Workspace) parts(round int) string {
	return filepath.Join(w.dir, fmt.Sprintf("round-%d", round))
}

// CommitTask makes the part that attempt a wrote the part of its task, by a rename. The error is ErrCommitted where
// another attempt has committed the task; the part of a is removed then.
func (r *Run) CommitTask(a *Attempt) error {
	stage := ReduceStage
	if r.Job.Reduces == MapOnly {
		stage = MapStage
	}
	from, to := r.scratch("part", stage, a), r.part(a)
	dir := filepath.Dir(to)
	r.Files.mu.Lock()
	defer r.Files.mu.Unlock()
	if r.Files.closed { // what is at from by now may be another run's
		return errClosed
	}
	if r.Files.committed[to] {
		return errors.Join(ErrCommitted, os.Remove(from))
	}
	err := os.Rename(from, to)
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.MkdirAll(dir, 0o777); err == nil {
			err = os.Rename(from, to)
		}
	}
	if err != nil {
		return fmt.Errorf("commit task: %w", err)
	}
	r.Files.committed[to] = true
	return nil
}

// part returns the final path of the part of an attempt's task.
func (r *Run) part(a *Attempt) string {
	letter := "r"
	if r.Job.Reduces == MapOnly {
		letter = "m"
	}
	return filepath.Join(r.Files.parts(r.Round), fmt.Sprintf("part-%s-%05d", letter, a.Task))
}

// taskCommitted reports whether an attempt at the task of a has committed it.
func (r *Run) taskCommitted(a *Attempt) bool {
	r.Files.mu.Lock()
	defer r.Files.mu.Unlock()
	return r.Files.committed[r.part(a)]
}

// DropTask removes the part of an attempt that ended well but is not to be committed.
func (r *Run) DropTask(a *Attempt) error {
	stage := ReduceStage
	if r.Job.Reduces == MapOnly {
		stage = MapStage
	}
	return os.Remove(r.scratch("part", stage, a))
}

// Outputs returns the paths of the committed parts, in order.
func (r *Run) Outputs() ([]string, error) {
	paths, err := filepath.Glob(filepath.Join(globQuote(r.Files.parts(r.Round)), "part-*"))
	return paths, err // sorted: numbers have five digits
}

// globQuote makes a path stand for itself in a pattern.
func globQuote(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// DropOutputs removes the parts of a round that another has read.
func (r *Run) DropOutputs() error { return os.RemoveAll(r.Files.parts(r.Round)) }

// CommitJob makes the parts of the run's round the output of the job, with _SUCCESS.
func (r *Run) CommitJob() error {
	w := r.Files
	dir := w.parts(r.Round)
	err := os.MkdirAll(dir, 0o777) // no task, no part: an empty output
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, successFile), nil, 0o666)
	}
	if err == nil {
		err = w.publish(dir)
	}
	if err != nil {
		return fmt.Errorf("commit output %s: %w", w.output, err)
	}
	return nil
}

// publish makes dir the output directory, atomically. Close, or the next run, removes what it replaces: it looks again
// whether a job wrote that.
func (w *Workspace) publish(dir string) error {
	if err := w.mayWrite(); err != nil {
		return err
	}
	err := safefile.MoveFolder(dir, w.output, w.overwrite)
	if errors.Is(err, fs.ErrExist) {
		return ErrOutputExists
	}
	return err
}

// Close removes all temporary files, committed or not. An attempt that was given up, and still runs, commits nothing
// afterwards. If sweep fails, the folder stays: the old output may be in it.
func (w *Workspace) Close() error {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	err := w.sweep()
	if err == nil { // the lock goes last, and while it is held
		err = os.RemoveAll(w.dir)
	}
	return errors.Join(err, w.lock.Close())
}

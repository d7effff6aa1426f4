// Package joblog keeps what the programs of a run's attempts write to standard error. A run has a folder, with a file
// for each attempt. A run that is repeated has a folder for each repeat within its own.
package joblog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/sojourn-sched/sojourn/sched"
)

// Bounds of what is kept, in bytes. Of an attempt that writes more, the beginning and the end are kept: the end often
// says why an attempt failed.
const (
	MostOfAttempt = 256 << 10
	MostOfRun     = 256 << 20
)

// A Folder keeps the logs of a run. A nil *Folder keeps nothing.
type Folder struct {
	dir  string
	most int64 // bytes of all logs together

	mu   sync.Mutex
	left int64 // bytes that may still be written
	err  error // the first error of writing a file
}

// logName matches the file of an attempt: the job's number, the stage, the task and the attempt.
var logName = regexp.MustCompile(`^(\d+)-(map|reduce)-(\d+)-(\d+)\.log$`)

// A Place says where the logs of a run are.
type Place struct {
	Dir string // the folder of the run; "": logs are not kept
	// Repeat is the number, from 1, of a run that is repeated Of times. All repeats together keep what one run may.
	// Of below 2: the run is not repeated.
	Repeat, Of int
}

// Folder returns the path of the folder of the logs: of this repeat, if the run is repeated.
func (p Place) Folder() string {
	if p.Of < 2 || p.Dir == "" {
		return p.Dir
	}
	return RepeatDir(p.Dir, p.Repeat)
}

// RepeatDir returns the folder of one repeat, from 1, within the folder of the logs of a run.
func RepeatDir(dir string, repeat int) string {
	return filepath.Join(dir, fmt.Sprintf("repeat-%d", repeat))
}

// repeatName matches the folder of a repeat.
var repeatName = regexp.MustCompile(`^repeat-([1-9]\d*)$`)

// Repeats lists the numbers of the repeats, rising, that have a folder within the folder of the logs of a run.
func Repeats(dir string) (list []int, err error) {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if part := repeatName.FindStringSubmatch(e.Name()); part != nil && e.IsDir() {
			if n, err := strconv.Atoi(part[1]); err == nil {
				list = append(list, n)
			}
		}
	}
	slices.Sort(list)
	return list, err
}

// New returns the Folder of a place. The folder itself is made when an attempt writes. New removes the logs of earlier
// runs; the first repeat removes those of all repeats.
func New(p Place) (*Folder, error) {
	folder, left := p.Folder(), int64(MostOfRun)
	if p.Of > 1 {
		left /= int64(p.Of)
	}
	if p.Repeat > 1 {
		return &Folder{dir: folder, left: left, most: left}, remove(folder)
	}
	repeats, err := Repeats(p.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, n := range repeats {
		dir := RepeatDir(p.Dir, n)
		if err := remove(dir); err != nil {
			return nil, err
		}
		_ = os.Remove(dir) // it stays where it holds something else
	}
	return &Folder{dir: folder, left: left, most: left}, remove(p.Dir)
}

// remove removes the logs in a folder.
func remove(dir string) error {
	old, err := List(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, l := range old {
		if err := os.Remove(l.Path); err != nil {
			return err
		}
	}
	return nil
}

// Err returns why logs are missing; nil: none are.
func (f *Folder) Err() error {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil && f.left <= 0 {
		return fmt.Errorf("%s has %.3g MiB, the most of a run: what came later is left out", f.dir,
			float64(f.most)/(1<<20))
	}
	return f.err
}

// Of returns the log of an attempt at a task of a stage, map or reduce. Both are counted from 0. Several logs of one
// attempt append to one file.
func (f *Folder) Of(job sched.JobID, stage string, task, attempt int) *File {
	if f == nil {
		return nil
	}
	return &File{folder: f, path: filepath.Join(f.dir, fmt.Sprintf("%d-%s-%05d-%d.log", job, stage, task, attempt))}
}

// A File is the log of an attempt. It is for one goroutine. A nil *File keeps nothing.
type File struct {
	folder *Folder
	path   string
	file   *os.File // nil: nothing is written yet
	room   int64    // bytes that the file may still get
	within bool     // the text in the file ends within a line
	cut    int64    // bytes that were left out
}

// Write appends a line, or a part of a long one.
func (a *File) Write(text []byte) {
	if a == nil || len(text) == 0 {
		return
	}
	full := a.cut > 0 || a.file == nil && (a.folder.full() || !a.open())
	if full || !a.folder.take(&a.room, int64(len(text))) {
		a.cut += int64(len(text))
		return
	}
	a.put(text)
	a.within = text[len(text)-1] != '\n'
}

// put writes text to the open file.
func (a *File) put(text []byte) {
	if _, err := a.file.Write(text); err != nil {
		a.folder.fail(err)
	}
}

// open makes the file, and the folder if there is none.
func (a *File) open() bool {
	err := os.MkdirAll(filepath.Dir(a.path), 0o777)
	if err == nil {
		a.file, err = os.OpenFile(a.path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o666)
	}
	var info fs.FileInfo
	if err == nil {
		info, err = a.file.Stat()
	}
	if err != nil {
		a.folder.fail(err)
		return false
	}
	a.room = MostOfAttempt - info.Size()
	return true
}

// Close ends the file. end is the end of all that the attempt wrote, which the caller has kept. Close appends the part
// of end that was left out of the file.
func (a *File) Close(end []byte) {
	if a == nil || a.file == nil {
		return
	}
	end = end[max(0, int64(len(end))-a.cut):]
	if missing := a.cut - int64(len(end)); missing > 0 {
		if a.within {
			a.put([]byte{'\n'})
		}
		a.put(fmt.Appendf(nil, "[%d bytes are left out]\n", missing))
	}
	a.put(end)
	if err := a.file.Close(); err != nil {
		a.folder.fail(err)
	}
	a.file = nil
}

// take takes n bytes of the room of a file and of the run; false: there is too little.
func (f *Folder) take(room *int64, n int64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if *room < n || f.left < n {
		if f.left < n {
			f.left = 0
		}
		return false
	}
	*room -= n
	f.left -= n
	return true
}

// full reports whether no more bytes may be written.
func (f *Folder) full() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.left <= 0
}

// fail notes an error, if it is the first.
func (f *Folder) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil {
		f.err = err
	}
}

// A Log is what the programs of an attempt wrote to standard error.
type Log struct {
	Job     sched.JobID
	Attempt string // such as map-00003-0: the stage, the task from 0, the attempt from 0
	Bytes   int64
	Path    string
}

// List lists the logs of a run by job, stage, task and attempt.
func List(dir string) ([]Log, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var list []Log
	for _, e := range entries {
		part := logName.FindStringSubmatch(e.Name())
		info, err := e.Info()
		if part == nil || err != nil || !info.Mode().IsRegular() {
			continue
		}
		job, err := strconv.ParseInt(part[1], 10, 32)
		if err != nil {
			continue
		}
		attempt := strings.TrimSuffix(strings.TrimPrefix(e.Name(), part[1]+"-"), ".log")
		list = append(list, Log{sched.JobID(job), attempt, info.Size(), filepath.Join(dir, e.Name())})
	}
	slices.SortStableFunc(list, func(a, b Log) int { return int(a.Job - b.Job) }) // within a job they are in order
	return list, nil
}

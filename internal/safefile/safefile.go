// Package safefile replaces files and folders atomically, makes them durable, locks files between processes, and reads
// files without waiting for a writer.
package safefile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// A Draft is a file in the making. It gets its name when it is whole, and until then what had that name stays.
type Draft struct {
	*os.File
	path string
}

// NewDraft begins the file path. The caller writes to it, calls Keep if it is whole, and Drop in any case. If path is a
// link, the file behind the link is replaced. Devices and pipes are written as they are.
func NewDraft(path string, perm fs.FileMode) (*Draft, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		return &Draft{f, path}, err
	}
	path = behind(path)
	var f *os.File
	err := draft(path, func(name string) (err error) {
		f, err = os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
		return err
	})
	return &Draft{f, path}, err
}

// behind returns what path names, through links.
func behind(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// draft calls create with names for a draft of path, until one is new. A process that was killed may have left a draft,
// and in containers processes often have equal numbers.
func draft(path string, create func(name string) error) error {
	for n := os.Getpid(); ; n++ {
		if err := create(fmt.Sprintf("%s.%d.partial", path, n)); !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
}

// Keep closes the file and gives it its name.
func (d *Draft) Keep() error {
	err := d.Close()
	if err == nil && d.Name() != d.path {
		err = os.Rename(d.Name(), d.path)
	}
	if err != nil {
		d.remove()
		return fmt.Errorf("write %s: %w", d.path, err)
	}
	return nil
}

// Drop removes the file, unless it has been kept.
func (d *Draft) Drop() {
	if d.Close() == nil { // a kept one is closed
		d.remove()
	}
}

func (d *Draft) remove() {
	if d.Name() != d.path {
		_ = os.Remove(d.Name())
	}
}

// A DraftFolder is a folder in the making, as a Draft is a file.
type DraftFolder struct {
	Name string // where the folder is until it is kept
	path string // the name that it gets
}

// NewDraftFolder begins the folder path. The caller makes files in Name, calls Keep if the folder is whole, and Drop in
// any case. If path is a link, the folder behind the link is replaced.
func NewDraftFolder(path string) (*DraftFolder, error) {
	d := &DraftFolder{path: behind(filepath.Clean(path))}
	return d, draft(d.path, func(name string) error {
		d.Name = name
		return os.Mkdir(name, 0o777)
	})
}

// Keep gives the folder its name, and removes the folder that has that name if replace says so; else the error is
// fs.ErrExist.
func (d *DraftFolder) Keep(replace bool) error {
	err := MoveFolder(d.Name, d.path, replace)
	if err == nil {
		err = os.RemoveAll(d.Name) // what was replaced
		d.Name = ""
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", d.path, err)
	}
	return nil
}

// Drop removes the folder, unless it has been kept.
func (d *DraftFolder) Drop() { _ = os.RemoveAll(d.Name) }

// Replaced is what MoveFolder adds to the name from for the folder that it replaces, if the file system cannot exchange
// two names. A process that dies meanwhile may leave no folder with the name to.
const Replaced = ".replaced"

// MoveFolder gives the folder from the name to, atomically where the file system can. If a folder has that name, it
// gets the name from if replace says so; else the error is fs.ErrExist.
func MoveFolder(from, to string, replace bool) error {
	err := unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_NOREPLACE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) {
		err = os.Rename(from, to) // the file system cannot promise it: os.Rename replaces no folder
	}
	if !errors.Is(err, fs.ErrExist) || !replace {
		return err
	}
	if unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_EXCHANGE) == nil {
		return nil
	}
	old := from + Replaced
	if err := os.Rename(to, old); err != nil {
		return err
	}
	if err := os.Rename(from, to); err != nil {
		return errors.Join(err, os.Rename(old, to))
	}
	return os.Rename(old, from)
}

// Read reads a regular file, or the one behind a link, of at most most bytes. It refuses devices and pipes before it
// opens them: to open a pipe waits for a writer, and a device may have no end.
func Read(path string, most int64) ([]byte, error) {
	refuse := func(format string, args ...any) error {
		return &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf(format, args...)}
	}
	if info, err := os.Stat(path); err != nil {
		return nil, err
	} else if mode := info.Mode(); !mode.IsRegular() {
		return nil, refuse("is %s: must be a regular file, or a link to one", kindOf(mode))
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(text)) > most {
		return nil, refuse("is longer than %d bytes: must be a shorter file", most)
	}
	return text, err
}

// kindOf says what a file of a mode is that is not regular.
func kindOf(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "a folder"
	case mode&fs.ModeNamedPipe != 0:
		return "a pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	}
	return "a device"
}

// Sync waits until a file, or the names in a folder, would survive a power cut.
func Sync(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// ErrLocked is the error of OpenLocked for a file that is locked already, by any process.
var ErrLocked error = unix.EWOULDBLOCK

// OpenLocked opens a file to read and write, and locks it until it is closed. It makes a file that is missing. The
// kernel closes the file when the process ends, even if the process was killed.
func OpenLocked(path string, perm fs.FileMode) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, perm)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, errors.Join(&fs.PathError{Op: "lock", Path: path, Err: err}, f.Close())
	}
	return f, nil
}

// SetAside renames a damaged file to a name that no file has, and returns that name: what was set aside before stays.
func SetAside(path string) (string, error) {
	for i := 1; ; i++ {
		to := fmt.Sprintf("%s.damaged-%d", path, i)
		if _, err := os.Lstat(to); errors.Is(err, fs.ErrNotExist) {
			return to, os.Rename(path, to)
		}
	}
}

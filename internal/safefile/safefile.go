// Package safefile replaces files atomically, and locks files between processes.
package safefile

import (
	"errors"
	"fmt"
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
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	// A process that was killed may have left a file of this name. In containers, processes often have equal numbers.
	for n := os.Getpid(); ; n++ {
		f, err := os.OpenFile(fmt.Sprintf("%s.%d.partial", path, n), os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
		if !errors.Is(err, fs.ErrExist) {
			return &Draft{f, path}, err
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

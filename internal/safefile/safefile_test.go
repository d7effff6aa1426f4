package safefile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// Read reads what is a file, also behind a link, up to a length. It refuses anything else without opening it: a pipe
// without a writer would make it wait.
func TestRead(t *testing.T) {
	dir := t.TempDir()
	file, link, pipe := filepath.Join(dir, "file"), filepath.Join(dir, "link"), filepath.Join(dir, "pipe")
	if err := errors.Join(os.WriteFile(file, []byte("four"), 0o600), os.Symlink(file, link), unix.Mkfifo(pipe, 0o600),
		os.Symlink(pipe, filepath.Join(dir, "to-pipe"))); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{file, link} {
		if text, err := Read(path, 4); err != nil || string(text) != "four" {
			t.Errorf("%s: %q, %v", path, text, err)
		}
	}
	const remedy = ": must be a regular file, or a link to one"
	for _, c := range []struct{ path, want string }{
		{pipe, "read " + pipe + ": is a pipe" + remedy},
		{filepath.Join(dir, "to-pipe"), "is a pipe" + remedy},
		{"/dev/zero", "read /dev/zero: is a device" + remedy},
		{dir, "is a folder" + remedy},
	} {
		if _, err := Read(c.path, 4); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.path, err, c.want)
		}
	}
	if _, err := Read(file, 3); err == nil || err.Error() != "read "+file+
		": is longer than 3 bytes: must be a shorter file" {
		t.Errorf("a long file: %v", err)
	}
	if _, err := Read(filepath.Join(dir, "gone"), 3); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

// write drafts a file with a text, and keeps it if keep says so.
func write(t *testing.T, path, text string, keep bool) {
	t.Helper()
	d, err := NewDraft(path, 0o640)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Drop()
	if _, err := d.WriteString(text); err != nil {
		t.Fatal(err)
	}
	if keep {
		if err := d.Keep(); err != nil {
			t.Fatal(err)
		}
	}
}

// holds fails the test unless a file has a text.
func holds(t *testing.T, path, want string) {
	t.Helper()
	if got, err := os.ReadFile(path); string(got) != want || err != nil {
		t.Errorf("%s has %q, %v; want %q", path, got, err, want)
	}
}

// A draft that is not kept changes nothing, one that is kept replaces what was there, behind a link too; neither leaves
// anything else. What a killed process of the same number left is no obstacle.
func TestDraft(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "out"), filepath.Join(dir, "link")
	if err := os.Symlink("out", link); err != nil {
		t.Fatal(err)
	}
	left := fmt.Sprintf("%s.%d.partial", path, os.Getpid())
	if err := os.WriteFile(left, []byte("left"), 0o666); err != nil {
		t.Fatal(err)
	}
	write(t, path, "one", false)
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a draft that was dropped is there: %v", err)
	}
	write(t, path, "two", true)
	holds(t, path, "two")
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("its mode is %v, %v", info.Mode(), err)
	}
	write(t, path, "three", false)
	holds(t, path, "two")
	write(t, link, "four", true)
	holds(t, path, "four")
	if info, err := os.Lstat(link); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v, %v", info, err)
	}
	holds(t, left, "left")
	if there, _ := filepath.Glob(filepath.Join(dir, "*")); len(there) != 3 {
		t.Errorf("the folder has %v", there)
	}
}

// A draft that cannot get its name leaves nothing, and the error names the file.
func TestDraftFails(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "out")
	d, err := NewDraft(path, 0o666)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Drop()
	if err := os.Mkdir(path, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := d.Keep(); err == nil {
		t.Error("a folder was replaced")
	}
	if there, _ := filepath.Glob(filepath.Join(dir, "*")); len(there) != 1 {
		t.Errorf("the folder has %v", there)
	}
	if _, err := NewDraft(path, 0o666); err == nil {
		t.Error("a folder is written")
	}
}

// A folder that is not kept changes nothing. One that is kept replaces the folder of that name only if that is said,
// behind a link too. Neither leaves anything else, and what a killed process of the same number left is no obstacle.
func TestDraftFolder(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "out"), filepath.Join(dir, "link")
	left := fmt.Sprintf("%s.%d.partial", path, os.Getpid())
	if err := errors.Join(os.Symlink("out", link), os.Mkdir(left, 0o777)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path, file    string
		keep, replace bool
		want          []string // in the folder afterwards
	}{
		{path + "/", "one", false, false, nil},
		{path + "/", "two", true, false, []string{"two"}},
		{path, "three", true, false, []string{"two"}},
		{path, "four", false, true, []string{"two"}},
		{path, "five", true, true, []string{"five"}},
		{link, "six", true, true, []string{"six"}},
	} {
		d, err := NewDraftFolder(c.path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(d.Name, c.file), nil, 0o666); err != nil {
			t.Fatal(err)
		}
		if c.keep {
			if err := d.Keep(c.replace); errors.Is(err, fs.ErrExist) != (c.want[0] != c.file) {
				t.Errorf("%s: %v", c.file, err)
			}
		}
		d.Drop()
		var got []string
		entries, _ := os.ReadDir(path)
		for _, e := range entries {
			got = append(got, e.Name())
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: the folder has %q, want %q", c.file, got, c.want)
		}
	}
	if there, _ := filepath.Glob(filepath.Join(dir, "*")); !slices.Equal(there, []string{link, path, left}) {
		t.Errorf("there are %q", there)
	}
}

// Devices are written as they are.
func TestDraftOfDevice(t *testing.T) {
	write(t, os.DevNull, "nothing", true)
	if info, err := os.Stat(os.DevNull); err != nil || info.Mode().IsRegular() {
		t.Fatalf("%s is %v, %v", os.DevNull, info, err)
	}
}

// Files and folders are made durable, and what is not there is an error.
func TestSync(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "out")
	write(t, path, "text", true)
	for _, one := range []string{path, dir} {
		if err := Sync(one); err != nil {
			t.Error(err)
		}
	}
	if err := Sync(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what is not there: %v", err)
	}
}

// A locked file cannot be locked again before it is closed.
func TestOpenLocked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	first, err := OpenLocked(path, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if f, err := OpenLocked(path, 0o600); !errors.Is(err, ErrLocked) || f != nil {
		t.Errorf("the second lock: %v, %v", f, err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := OpenLocked(path, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
	if _, err := OpenLocked(filepath.Join(path, "below"), 0o600); err == nil || errors.Is(err, ErrLocked) {
		t.Errorf("below a file: %v", err)
	}
}

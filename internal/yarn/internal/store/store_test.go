package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	bolt "go.etcd.io/bbolt"
)

func open(t *testing.T, path string) *Opened {
	t.Helper()
	o, err := Open(path, func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { o.Store.Close() })
	return o
}

// What was put and waited for is there again, also when the file was not closed; what was deleted is not.
func TestValuesComeBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rm.db")
	s := open(t, path).Store
	s.Put(map[string][]byte{"a": []byte("1"), "b": []byte("2"), "empty": {}})
	last := s.Put(map[string][]byte{"a": nil, "b": []byte("3")})
	if !s.Wait(last) {
		t.Fatal("closed")
	}
	copied := filepath.Join(t.TempDir(), "rm.db") // as a crash at this moment leaves it
	bytes, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(copied, bytes, 0o600); err != nil {
		t.Fatal(err)
	}
	o := open(t, copied)
	if len(o.Values) != 2 || string(o.Values["b"]) != "3" || o.Values["empty"] == nil || o.Aside != "" {
		t.Errorf("read %q, %q aside", o.Values, o.Aside)
	}
	s.Put(map[string][]byte{"c": []byte("4")})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if o := open(t, path); string(o.Values["c"]) != "4" {
		t.Errorf("after Close: read %q", o.Values)
	}
}

// A file that is cut off anywhere, or has other bytes, is set aside under a name of its own, and an empty store takes
// its place. No damage ends the program.
func TestDamagedFileIsSetAside(t *testing.T) {
	whole := filepath.Join(t.TempDir(), "rm.db")
	s := open(t, whole).Store
	for i := range 50 {
		s.Put(map[string][]byte{fmt.Sprint("key", i): []byte(strings.Repeat("value", 500))})
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	bytes, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	page := os.Getpagesize()
	hurt := map[string][]byte{"text": []byte("this is no store"), "zeros": make([]byte, len(bytes))}
	for _, keep := range []int{1, page, 2 * page, 3*page + 7, len(bytes) / 2} {
		hurt[fmt.Sprint("cut at ", keep)] = bytes[:keep]
	}
	for name, content := range hurt {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "rm.db")
			for try := range 2 {
				if err := os.WriteFile(path, content, 0o600); err != nil {
					t.Fatal(err)
				}
				o := open(t, path)
				want := fmt.Sprint(path, ".damaged-", try+1)
				if o.Aside != want || o.Damage == nil || len(o.Values) > 0 {
					t.Fatalf("set aside as %q because of %v, want %q", o.Aside, o.Damage, want)
				}
				last := o.Store.Put(map[string][]byte{"new": []byte("life")})
				if !o.Store.Wait(last) {
					t.Error("the new store is closed")
				}
				o.Store.Close()
				if err := os.Remove(path); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
	for at := 2 * page; at < len(bytes); at += 499 { // no panic, whatever changes, nor when it is written
		changed := append([]byte{}, bytes...)
		changed[at] ^= 0x55
		path := filepath.Join(t.TempDir(), "rm.db")
		if err := os.WriteFile(path, changed, 0o600); err != nil {
			t.Fatal(err)
		}
		o, err := Open(path, func(error) {})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 50 {
			o.Store.Put(map[string][]byte{fmt.Sprint("key", i): nil, fmt.Sprint("new", i): []byte("value")})
		}
		o.Store.Close()
	}
}

// A file whose list of free pages names pages in use is set aside: what was written next would destroy them.
func TestDamagedFreePages(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rm.db")
	s := open(t, path).Store
	for i := range 50 {
		s.Wait(s.Put(map[string][]byte{fmt.Sprint("key", i): []byte(strings.Repeat("value", 500))}))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	page, lists := os.Getpagesize(), 0
	for at := 0; at+page <= len(text); at += page {
		const head, isList = 16, 0x10
		p, n := text[at:at+page], len(text)/page-3
		if binary.NativeEndian.Uint16(p[8:]) != isList || n > (page-head)/8 {
			continue
		}
		lists++
		binary.NativeEndian.PutUint16(p[10:], uint16(n))
		for i := range n {
			binary.NativeEndian.PutUint64(p[head+8*i:], uint64(3+i))
		}
	}
	if lists == 0 {
		t.Fatal("there is no list of free pages")
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if o := open(t, path); o.Aside == "" || o.Damage == nil || !strings.Contains(o.Damage.Error(), "free") {
		t.Errorf("set aside as %q because of %v", o.Aside, o.Damage)
	}
}

// Opening a store that is whole writes nothing: a restart does not wait for the disk.
func TestOpeningWritesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rm.db")
	s := open(t, path).Store
	s.Put(map[string][]byte{"a": []byte("1")})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := open(t, path).Store.Close(); err != nil {
		t.Fatal(err)
	}
	if after, err := os.ReadFile(path); err != nil || !slices.Equal(before, after) {
		t.Errorf("the file has changed: %v", err)
	}
}

// A newer schema is refused and left as it is; a file in use is, too.
func TestRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rm.db")
	s := open(t, path).Store
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := bolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bolt.Tx) error { return tx.Bucket(about).Put(schemaKey, []byte("3")) })
	if err != nil || db.Close() != nil {
		t.Fatal(err)
	}
	if o, err := Open(path, nil); err == nil || !strings.Contains(err.Error(), "schema 3") {
		t.Errorf("a newer schema: %v, %v", o, err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("the file is not there any more: %v", err)
	}
}

// A file that cannot be opened because the operating system refuses something is not taken for damaged: it would be set
// aside, and the next start would know nothing of what it holds.
func TestWhatIsNoDamage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rm.db")
	if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		err     error
		damaged bool
	}{
		{&fs.PathError{Op: "open", Path: path, Err: syscall.EMFILE}, false},
		{syscall.ENOMEM, false},
		{fmt.Errorf("mmap: %w", syscall.EIO), false},
		{errors.New("file size too small 3"), true},
	} {
		if err := failed(path, c.err); errors.As(err, new(*damage)) != c.damaged ||
			!c.damaged && !errors.Is(err, c.err) || !strings.Contains(err.Error(), path) {
			t.Errorf("%v: %v, damaged %v", c.err, err, !c.damaged)
		}
	}
}

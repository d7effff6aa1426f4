package boltfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"
)

var bucket = []byte("bucket")

// written returns the path of a file of many pages, as short as its pages allow, and its bytes.
func written(t *testing.T) (path string, content []byte) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "file.db")
	db, err := Open(path, 0o600, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bolt.Tx) error {
		b, err := tx.CreateBucket(bucket)
		for i := 0; i < 100 && err == nil; i++ {
			err = b.Put(fmt.Appendf(nil, "key %d", i), []byte(strings.Repeat("value", 200)))
		}
		return err
	})
	var used int64
	err = errors.Join(err, db.View(func(tx *bolt.Tx) error { used = tx.Size(); return nil }), db.Close())
	if err == nil {
		err = os.Truncate(path, used)
	}
	if err == nil {
		content, err = os.ReadFile(path)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path, content
}

// count returns how many keys the file has.
func count(path string) (n int, err error) {
	db, err := Open(path, 0o600, time.Minute)
	if err != nil {
		return 0, err
	}
	err = View(db, func(tx *bolt.Tx) error {
		return tx.Bucket(bucket).ForEach(func(_, value []byte) error {
			if string(value) == strings.Repeat("value", 200) {
				n++
			}
			return nil
		})
	})
	return n, errors.Join(err, db.Close())
}

// mustBeFree holds that nothing keeps the file locked. bbolt's descriptor does, and so does a mapping.
func mustBeFree(t *testing.T, path string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		t.Errorf("the file is locked: %v", err)
	}
}

func TestWhole(t *testing.T) {
	path, _ := written(t)
	if n, err := count(path); n != 100 || err != nil {
		t.Errorf("%d keys, want 100; error %v", n, err)
	}
	mustBeFree(t, path)
}

// A file that was cut off anywhere behind its first two pages is an error, and is neither mapped nor locked afterwards.
func TestCutOff(t *testing.T) {
	path, content := written(t)
	page := os.Getpagesize()
	for keep := 2 * page; keep < len(content); keep += page + page/2 {
		if err := os.WriteFile(path, content[:keep], 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := count(path); !errors.Is(err, ErrPages) || !strings.Contains(err.Error(), fmt.Sprint(keep)) {
			t.Errorf("cut at %d of %d: error %v", keep, len(content), err)
		}
		mustBeFree(t, path)
	}
}

// A page that refers to others behind the end of the file is an error of the transaction that reads, and the file can
// be closed. The mapping is longer than the file, so reading there is a memory fault.
func TestMissingPages(t *testing.T) {
	path, content := written(t)
	page, inner := os.Getpagesize(), 0
	for at := 0; at+page <= len(content); at += page {
		const head, isBranch = 16, 1 // of a page: its number (8 bytes), kind (2), how many entries (2)
		p := content[at : at+page]
		if binary.NativeEndian.Uint16(p[8:]) != isBranch {
			continue
		}
		inner++
		for i := range int(binary.NativeEndian.Uint16(p[10:])) {
			// an entry: place and length of its key (4 bytes each), number of the page
			binary.NativeEndian.PutUint64(p[head+16*i+8:], uint64(len(content)/page))
		}
	}
	if inner == 0 {
		t.Fatal("there is no page that refers to others")
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	if n, err := count(path); !errors.Is(err, ErrPages) {
		t.Errorf("%d keys, error %v", n, err)
	}
	mustBeFree(t, path)
}

// What bbolt says of a file that is none of its own comes as it is.
func TestErrorsOfBolt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "words")
	if err := os.WriteFile(path, []byte(strings.Repeat("w", 100_000)), 0o600); err != nil {
		t.Fatal(err)
	}
	_, want := bolt.Open(path, 0o600, nil)
	if _, err := Open(path, 0o600, time.Minute); err == nil || err.Error() != want.Error() {
		t.Errorf("words: error %v, want %v", err, want)
	}
	if _, err := Open(t.TempDir(), 0o600, time.Minute); !errors.Is(err, syscall.EISDIR) {
		t.Errorf("a folder: error %v", err)
	}
}

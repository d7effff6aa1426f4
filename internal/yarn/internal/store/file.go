package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	bolt "go.etcd.io/bbolt"
	bolterr "go.etcd.io/bbolt/errors"

	"github.com/sojourn-sched/sojourn/internal/boltfile"
	"github.com/sojourn-sched/sojourn/internal/safefile"
)

// schema is the version of what is stored. A file with a newer version is refused. A file with an older one is read,
// and gets this version: a program that knows version 1 would not see the attempts that are stored apart from their
// application.
const schema = 2

// The buckets of the file, and the key of the schema in bucket about.
var (
	values    = []byte("values")
	about     = []byte("about")
	schemaKey = []byte("schema")
)

// An Opened file is what Open returns: the store, what is in it, and what was set aside.
type Opened struct {
	Store  *Store
	Values map[string][]byte
	Aside  string // the name that a damaged file has now; "": there was none
	Damage error  // what was wrong with it
}

// Open opens the store in a file. If there is no file, it makes one. The store calls failed each time that the file
// cannot be written, and tries again a second later.
func Open(path string, failed func(error)) (*Opened, error) {
	db, found, err := read(path)
	o := &Opened{Values: found}
	if d := (*damage)(nil); errors.As(err, &d) {
		if o.Aside, err = safefile.SetAside(path); err != nil {
			return nil, fmt.Errorf("set a damaged file aside: %w", err)
		}
		o.Damage = d.err
		db, o.Values, err = read(path)
	}
	if err != nil {
		return nil, err
	}
	o.Store = New(&file{db}, failed)
	return o, nil
}

// A damage is the error of a file that is damaged.
type damage struct{ err error }

func (d *damage) Error() string { return d.err.Error() }

// lockTime is how long Open waits for another process that ends.
const lockTime = 5 * time.Second

// read opens a file and reads all of it. Where the file is new or has an older schema, read writes the number of this
// program's schema, and no value. It does not write otherwise, because a write waits for the disk twice.
func read(path string) (*bolt.DB, map[string][]byte, error) {
	db, err := boltfile.Open(path, 0o600, lockTime)
	switch {
	case errors.Is(err, bolterr.ErrTimeout):
		return nil, nil, fmt.Errorf("%s: another ResourceManager is using it", path)
	case errors.Is(err, bolterr.ErrInvalid), errors.Is(err, bolterr.ErrChecksum),
		errors.Is(err, bolterr.ErrVersionMismatch):
		return nil, nil, &damage{fmt.Errorf("%s: %w", path, err)}
	case err != nil:
		return nil, nil, failed(path, err)
	}
	found, known, err := readAll(db)
	if err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	if known == strconv.Itoa(schema) {
		return db, found, nil
	}
	err = boltfile.Guard(func() error { return db.Update(mark) })
	switch {
	case errors.Is(err, boltfile.ErrPages): // db cannot be closed
		return nil, nil, &damage{fmt.Errorf("%s: %w", path, err)}
	case err != nil:
		return nil, nil, errors.Join(err, db.Close())
	}
	return db, found, nil
}

// failed returns why the file cannot be opened: a damage, unless the operating system has refused something, such as a
// lock, memory or one more open file. Such a file is as it was, and must not be set aside.
func failed(path string, err error) error {
	info, missing := os.Stat(path)
	if missing == nil && info.Mode().IsRegular() && !errors.As(err, new(syscall.Errno)) {
		return &damage{fmt.Errorf("%s: %w", path, err)}
	}
	return fmt.Errorf("open %s: %w", path, err)
}

// readAll returns all values of db without their checksums, and the schema as it is stored; "": there is none yet. The
// error is a *damage if pages are missing, the schema is no number, a value differs from its checksum, or a page is
// used twice. A file of a newer schema is an error, but no damage: it must not be set aside. readAll leaves db open.
func readAll(db *bolt.DB) (found map[string][]byte, known string, err error) {
	found = map[string][]byte{}
	err = boltfile.View(db, func(tx *bolt.Tx) error {
		if b := tx.Bucket(about); b != nil {
			known = string(b.Get(schemaKey))
			version, err := strconv.Atoi(known)
			switch {
			case err != nil:
				return &damage{fmt.Errorf("%s: schema %.20q is no number", db.Path(), known)}
			case version > schema:
				return fmt.Errorf("%s: has schema %d, and this program knows %d: start the newer program",
					db.Path(), version, schema)
			}
		}
		b := tx.Bucket(values)
		if b == nil {
			return nil
		}
		err := b.ForEach(func(key, value []byte) error {
			if len(value) < crc32.Size || crc32.ChecksumIEEE(value[crc32.Size:]) != binary.BigEndian.Uint32(value) {
				return &damage{fmt.Errorf("%s: %.80q has another checksum", db.Path(), key)}
			}
			found[string(key)] = slices.Clone(value[crc32.Size:])
			return nil
		})
		if err != nil {
			return err
		}
		if err := twice(tx); err != nil {
			return &damage{fmt.Errorf("%s: %w", db.Path(), err)}
		}
		return nil
	})
	if errors.Is(err, boltfile.ErrPages) {
		err = &damage{fmt.Errorf("%s: %w", db.Path(), err)}
	}
	return found, known, err
}

// mark makes the buckets, and stores the number of this program's schema.
func mark(tx *bolt.Tx) error {
	b, err := tx.CreateBucketIfNotExists(about)
	if err != nil {
		return err
	}
	if _, err := tx.CreateBucketIfNotExists(values); err != nil {
		return err
	}
	return b.Put(schemaKey, []byte(strconv.Itoa(schema)))
}

// twice returns an error if a page that is in use is free too, or is used twice: a write would destroy it. Pages that
// are neither free nor in use do no harm. The pages in use must have been read before: Check looks at them on a
// goroutine where a missing page ends the process.
func twice(tx *bolt.Tx) (err error) {
	for one := range tx.Check() {
		if err == nil && !strings.Contains(one.Error(), "unreachable unfreed") {
			err = one
		}
	}
	return err
}

// A file is the Keeper that stores values in a file, each batch in one transaction.
type file struct{ db *bolt.DB }

func (f *file) Close() error { return f.db.Close() }

// Commit implements Keeper. The values are on the disk when it returns, each behind its checksum.
func (f *file) Commit(batch map[string][]byte) error {
	return f.db.Update(func(tx *bolt.Tx) error {
		b := tx.Bucket(values)
		for key, value := range batch {
			if value == nil {
				if err := b.Delete([]byte(key)); err != nil {
					return err
				}
				continue
			}
			sum := binary.BigEndian.AppendUint32(make([]byte, 0, crc32.Size+len(value)), crc32.ChecksumIEEE(value))
			if err := b.Put([]byte(key), append(sum, value...)); err != nil {
				return fmt.Errorf("%.80q: %w", key, err)
			}
		}
		return nil
	})
}

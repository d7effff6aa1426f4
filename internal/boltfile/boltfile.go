// Package boltfile opens files of bbolt that may be damaged. bbolt maps a file into memory, where a missing page is a
// memory fault, which would end the process. Here it is an error, and the file can be closed.
package boltfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime/debug"
	"time"

	bolt "go.etcd.io/bbolt"
)

// ErrPages is the error of a file that does not have the pages that it should have.
var ErrPages = errors.New("pages are missing or damaged")

// Open opens the file at path to be read and written, and makes the file if there is none. It waits for another process
// that uses the file for as long as patience, and once more if yet another one comes between its two looks at the file.
// The errors are those of bolt.Open, and ErrPages.
func Open(path string, perm fs.FileMode, patience time.Duration) (db *bolt.DB, err error) {
	if err := whole(path, patience); err != nil {
		return nil, err
	}
	err = Guard(func() (err error) {
		db, err = bolt.Open(path, perm, &bolt.Options{Timeout: patience})
		return err
	})
	return db, err
}

// whole returns ErrPages if the file at path was cut off. bolt.Open reads the list of free pages. After a fault there
// the file would stay mapped and locked until the process ends, because bolt.Open has returned nothing to close. In a
// file that is opened only to be read, bbolt leaves that list alone: it reads the first two pages, which it has found
// to be there.
func whole(path string, patience time.Duration) error {
	if info, err := os.Stat(path); err != nil || info.Size() == 0 || !info.Mode().IsRegular() {
		return nil // bolt.Open makes a file, or says what is wrong
	}
	db, err := bolt.Open(path, 0, &bolt.Options{ReadOnly: true, Timeout: patience})
	if err != nil {
		return err
	}
	err = db.View(func(tx *bolt.Tx) error {
		info, err := os.Stat(path)
		if err == nil && info.Size() < tx.Size() {
			err = fmt.Errorf("%w: the file has %d bytes, and had %d", ErrPages, info.Size(), tx.Size())
		}
		return err
	})
	return errors.Join(err, db.Close())
}

// View calls read in a transaction that only reads. If read finds a page missing, or panics because one is damaged, the
// error is ErrPages, and the transaction ends as after any other error, so that db can be closed. read must not keep
// slices of the file.
func View(db *bolt.DB, read func(*bolt.Tx) error) error {
	return db.View(func(tx *bolt.Tx) error {
		return Guard(func() error { return read(tx) })
	})
}

// Guard calls fn, and returns ErrPages if fn finds a page missing, or panics because one is damaged. In a transaction
// that writes, this may leave bbolt's locks taken. Close would then wait for ever, so the file has to stay mapped and
// locked until the process ends.
func Guard(fn func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if why := recover(); why != nil {
			err = fmt.Errorf("%w: %v", ErrPages, why)
		}
	}()
	return fn()
}

// Package store lets jobs read a pebble store as it was when they began, while its owner goes on writing to it: the
// snapshotted reads of J. Polo, Multi-constraint scheduling of MapReduce workloads (PhD thesis, UPC 2014, 5.2).
//
// A program that has a store open reads it by [Of], which holds a snapshot. Another program reads it by [Open]:
// pebble lets only one program open a directory, so the owner calls [Serve], and gives each job a checkpoint of
// its own, which is gone when the job is.
package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/cockroachdb/pebble/v2"

	"github.com/sojourn-sched/sojourn/mr/input"
)

// view is a pebble store at an instant.
type view struct {
	reader pebble.Reader
	size   func(lo, hi []byte) (uint64, error)
	close  func() error
}

// Of returns the store of a database that is open in this process as it is now. It holds a snapshot, which keeps
// what is overwritten later, until it is closed. The database must stay open until then.
func Of(db *pebble.DB) input.Store {
	snapshot := db.NewSnapshot()
	return &view{reader: snapshot, size: func(lo, hi []byte) (uint64, error) { return db.EstimateDiskUsage(lo, hi) },
		close: snapshot.Close}
}

// ErrNoFolder: Open was called without a directory.
var ErrNoFolder = errors.New("no folder is named: must be pebble:DIR, where DIR has a pebble store")

// Open returns the store in a directory as it is now. A store that no program has open is opened to be read. Of a
// store that another program has open, and serves (Serve), that program makes a checkpoint, which it removes when
// this store is closed, or this process ends. Without either, the error says what to do.
func Open(dir string) (input.Store, error) {
	if dir == "" {
		return nil, ErrNoFolder
	}
	if _, err := os.Stat(dir); err != nil {
		return nil, err
	}
	served, askErr := ask(dir)
	if served != nil {
		v, err := open(served.path)
		if err != nil {
			return nil, errors.Join(err, served.Close())
		}
		closeDB := v.close
		v.close = func() error { return errors.Join(closeDB(), served.Close()) }
		return v, nil
	}
	v, err := open(dir) // which fails while another program has it open
	switch {
	case err == nil:
		return v, nil
	case askErr != nil:
		return nil, fmt.Errorf("%w; %w", askErr, err)
	}
	return nil, fmt.Errorf("%w; if another program has it open, let that serve snapshots (package mr/store, "+
		"Serve), or make a checkpoint there and read that", err)
}

// open opens a directory to be read.
func open(dir string) (*view, error) {
	db, err := pebble.Open(dir, &pebble.Options{ReadOnly: true, ErrorIfNotExists: true, Logger: silent{}})
	if err != nil {
		return nil, fmt.Errorf("open pebble store: %w", err)
	}
	size := func(lo, hi []byte) (uint64, error) { return db.EstimateDiskUsage(lo, hi) }
	return &view{reader: db, size: size, close: db.Close}, nil
}

// silent drops what pebble logs.
type silent struct{}

func (silent) Infof(string, ...any)  {}
func (silent) Errorf(string, ...any) {}

// Fatalf panics, where the logger of pebble would end the process.
func (silent) Fatalf(format string, args ...any) {
	panic(fmt.Sprintf("pebble: "+format, args...))
}

// Close implements input.Store.
func (v *view) Close() error { return v.close() }

// tries is how many points are tried for each part, since keys seldom lie evenly.
const tries = 16

// Parts implements input.Store. Between the first and the last key it takes points at equal distances, where the
// eight bytes behind the prefix that both keys have are a number, and cuts at the first key from each point on.
// Then it joins neighbours to parts of about the same size. It costs 16 seeks a part.
func (v *view) Parts(n int) ([]input.Part, error) {
	it, err := v.reader.NewIter(nil)
	if err != nil {
		return nil, err
	}
	defer it.Close()
	if !it.First() {
		return nil, it.Error()
	}
	first := bytes.Clone(it.Key())
	it.Last()
	last := bytes.Clone(it.Key())
	common := 0
	for common < min(len(first), len(last)) && first[common] == last[common] {
		common++
	}
	low, high := number(first[common:]), number(last[common:])
	cuts := [][]byte{first}
	for k := 1; k < tries*n && n > 1; k++ {
		point := binary.BigEndian.AppendUint64(bytes.Clone(first[:common]), low+(high-low)/uint64(tries*n)*uint64(k))
		if it.SeekGE(point) && bytes.Compare(it.Key(), cuts[len(cuts)-1]) > 0 {
			cuts = append(cuts, bytes.Clone(it.Key()))
		}
	}
	if err := it.Error(); err != nil {
		return nil, err
	}
	return v.join(append(cuts, append(last, 0)), n)
}

// join joins neighbouring ranges of keys to at most n parts of about the same size, by pebble's estimates of bytes on
// disk. Cuts are in ascending order; range i begins at cuts[i] and ends before cuts[i+1]. A range is not divided: a
// large one goes with what is left before it, so there may be fewer parts. It costs an estimate for each range.
func (v *view) join(cuts [][]byte, n int) (parts []input.Part, err error) {
	sizes, total := make([]int64, len(cuts)-1), int64(0)
	for i := range sizes {
		size, err := v.size(cuts[i], cuts[i+1])
		if err != nil {
			return nil, err
		}
		sizes[i] = int64(size) + 1 // what is only in memory counts little, but something
		total += sizes[i]
	}
	lo, done, part := cuts[0], int64(0), int64(0)
	for i, size := range sizes {
		done, part = done+size, part+size
		if done*int64(n) < total*int64(len(parts)+1) {
			continue
		}
		from, to := lo, cuts[i+1]
		parts = append(parts, input.Part{Name: fmt.Sprintf("%.40q to %.40q", from, to), Bytes: part,
			Open: func() (io.ReadCloser, error) { return v.text(from, to) }})
		lo, part = to, 0
	}
	return parts, nil
}

// number returns the first eight bytes of a key as a number.
func number(key []byte) uint64 {
	var b [8]byte
	copy(b[:], key)
	return binary.BigEndian.Uint64(b[:])
}

// text returns the pairs of a range of keys as text.
func (v *view) text(lo, hi []byte) (io.ReadCloser, error) {
	if len(lo) == 0 {
		lo = nil // built with the race detector, Pebble panics if a bound is empty and not nil
	}
	it, err := v.reader.NewIter(&pebble.IterOptions{LowerBound: lo, UpperBound: hi})
	if err != nil {
		return nil, err
	}
	t := &text{it: it}
	t.more = it.First()
	return t, nil
}

// A text is the pairs of an iterator as lines.
type text struct {
	it   *pebble.Iterator
	more bool   // it is at a pair that was not written yet
	line []byte // written, and not read yet
	at   int
}

// Read implements io.Reader.
func (t *text) Read(b []byte) (n int, err error) {
	for n < len(b) {
		if t.at == len(t.line) {
			if !t.more {
				break
			}
			value, err := t.it.ValueAndErr()
			if err != nil {
				return n, err
			}
			t.line = append(appendEscaped(t.line[:0], t.it.Key()), '\t')
			t.line = append(appendEscaped(t.line, value), '\n')
			t.at, t.more = 0, t.it.Next()
		}
		k := copy(b[n:], t.line[t.at:])
		n, t.at = n+k, t.at+k
	}
	if n == 0 && len(b) > 0 {
		if err := t.it.Error(); err != nil {
			return 0, err
		}
		return 0, io.EOF
	}
	return n, nil
}

// Close implements io.Closer.
func (t *text) Close() error { return t.it.Close() }

// appendEscaped appends raw to b. A backslash, TAB, line feed or carriage return becomes a backslash and a second
// character (\\, \t, \n, \r), so that a reader can split the line at a TAB and undo the rest. All other bytes stay.
func appendEscaped(b, raw []byte) []byte {
	for _, c := range raw {
		switch c {
		case '\\':
			b = append(b, '\\', '\\')
		case '\t':
			b = append(b, '\\', 't')
		case '\n':
			b = append(b, '\\', 'n')
		case '\r':
			b = append(b, '\\', 'r')
		default:
			b = append(b, c)
		}
	}
	return b
}

// besides returns the folder beside a store in which its owner keeps the socket and the checkpoints.
func besides(dir string) string { return filepath.Clean(dir) + ".snapshots" }

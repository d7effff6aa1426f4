package input

import (
	"fmt"
	"io"
)

// A Store is a key-value store as it was at one instant. What is written to it later is not seen.
type Store interface {
	// Parts divides the store into at most n parts by ranges of keys, in order. It may be called again, and then
	// divides in the same way.
	Parts(n int) ([]Part, error)
	// Close gives the instant up. No part may be read afterwards.
	Close() error
}

// A Part is a range of keys of a Store.
type Part struct {
	Name  string // of the range, for messages
	Bytes int64  // about as many as there are
	// Open returns its pairs as text, in order of keys: key, TAB, value and a line feed. A backslash, TAB, line
	// feed and carriage return in keys and values are written as \\, \t, \n and \r. It may be called by many
	// goroutines.
	Open func() (io.ReadCloser, error)
}

// FilesOf returns the parts of a store as files, which Plan makes splits of. Messages name the store path.
func FilesOf(path string, s Store, c Config) ([]File, error) {
	parts, err := s.Parts(splitsPerCore * max(1, c.Cores))
	if err != nil {
		return nil, fmt.Errorf("input %s: %w", path, err)
	}
	files := make([]File, len(parts))
	for i := range parts {
		p := &parts[i]
		files[i] = File{Path: path + "[" + p.Name + "]", Size: max(1, p.Bytes), Codec: stored, part: p}
	}
	return files, nil
}

// Stream returns text that open gives as the one split of a map task, read once from the front. Lines come as they
// are, because the text is what another reader has made of the file: only '\n' ends a line, and a byte order mark is
// data. Batches and messages name it path.
func Stream(path string, open func() (io.ReadCloser, error)) Split {
	f := &File{Path: path, Size: 1, Codec: stored, part: &Part{Name: path, Bytes: 1, Open: open}}
	return Split{Ranges: []Range{{File: f, Hi: 1}}, c: Config{OnlyLF: true, KeepMark: true}}
}

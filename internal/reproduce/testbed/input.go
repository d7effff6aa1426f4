package testbed

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/sojourn-sched/sojourn/internal/mr/generate"
)

// An Input is input of real jobs: so many bytes of a kind of data.
type Input struct {
	Kind  string // of generate.All, or documents
	Bytes int64  // about how many
	Seed  uint64
}

// documentBytes is the size of a document in bytes.
const documentBytes = 500_000

// In makes the input in a folder, unless it is there, and returns its path: a file, or a folder of documents.
func (g Input) In(folder string) (path string, err error) {
	path = filepath.Join(folder, fmt.Sprintf("%s-%d-%d", g.Kind, g.Bytes, g.Seed))
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	begun := path + ".begun"
	if g.Kind == "documents" {
		if err := os.Mkdir(begun, 0o777); err != nil {
			return "", err
		}
		d := generate.Documents{
			Files: int(max(1, g.Bytes/documentBytes)),
			Text:  generate.Text{Bytes: g.Bytes, Seed: g.Seed},
		}
		err = d.Each(func(name string) (io.WriteCloser, error) { return os.Create(filepath.Join(begun, name)) })
	} else {
		err = g.write(begun)
	}
	if err != nil {
		return "", fmt.Errorf("make %s: %w", path, err)
	}
	return path, os.Rename(begun, path)
}

func (g Input) write(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(f, 1<<20)
	return errors.Join(generate.All[g.Kind].New(g.Bytes, g.Seed).Write(out), out.Flush(), f.Close())
}

// ReadAll reads all files of a folder, or one, so that no run finds them on the disk and the next in memory.
func ReadAll(path string) error {
	return filepath.WalkDir(path, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = io.Copy(io.Discard, f)
		return err
	})
}

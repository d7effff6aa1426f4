package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/sojourn-sched/sojourn/internal/mr/generate"
)

// An inputFile is something to read: a file, or a folder of files.
type inputFile struct {
	path string
	size float64 // bytes
}

// input returns an input by its name, and makes it where it is not there yet. Its bytes are read once, so that they are
// in the page cache.
func (b *bench) input(name string, size int64, produce func(path string) error) (inputFile, error) {
	in := inputFile{path: b.path("input", fmt.Sprintf("%s-%d", name, size))}
	if _, err := os.Stat(in.path); err != nil {
		b.say("make %s", in.path)
		unfinished := in.path + ".unfinished"
		if err := os.RemoveAll(unfinished); err != nil {
			return in, err
		}
		if err := produce(unfinished); err != nil {
			return in, fmt.Errorf("make %s: %w", in.path, err)
		}
		if err := os.Rename(unfinished, in.path); err != nil {
			return in, err
		}
		unix.Sync() // or the disk is busy with it while we measure
	}
	files, err := filesBelow(in.path)
	if err != nil {
		return in, err
	}
	for _, path := range files {
		n, err := readThrough(path)
		if err != nil {
			return in, err
		}
		in.size += float64(n)
	}
	return in, nil
}

func readThrough(path string) (int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	return io.Copy(struct{ io.Writer }{io.Discard}, f)
}

// filesBelow returns a file, or the files of a folder, in order of their names; what begins with a point or an
// underline, as _SUCCESS does, is none.
func filesBelow(path string) (files []string, err error) {
	err = filepath.WalkDir(path, func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && !strings.ContainsAny(d.Name()[:1], "._") {
			files = append(files, p)
		}
		return err
	})
	return files, err
}

// generated is an input that 'sojourn generate' makes.
func (b *bench) generated(ctx context.Context, kind string, size int64, more ...string) (inputFile, error) {
	return b.input(kind, size, func(path string) error {
		args := append([]string{"generate", kind, "--size", fmt.Sprint(size), "--output", path}, more...)
		if out, err := exec.CommandContext(ctx, b.sojourn, args...).CombinedOutput(); err != nil {
			return fmt.Errorf("%w\n%s", err, out)
		}
		return nil
	})
}

// wideText is text with two million distinct words among 500 MB.
func (b *bench) wideText(ctx context.Context) (inputFile, error) {
	return b.input("wide", b.size, func(path string) error { return produce(ctx, "wide", path, b.size) })
}

// produce makes an input in a process of its own: the memory of this one would count as that of the processes it
// starts.
func produce(ctx context.Context, role, path string, size int64) error {
	c, err := self(role, path, fmt.Sprint(size))
	if err != nil {
		return err
	}
	_, _, err = measure(ctx, c)
	return err
}

func writeWide(path string, size int64) error {
	return writeTo(path, func(w io.Writer) error {
		return generate.Text{Bytes: size, Seed: 1, Words: 2_000_000}.Write(w)
	})
}

// sourceText is text that people wrote: what there is of Go's distribution and of modules, file behind file, up to the
// size asked for.
func (b *bench) sourceText(ctx context.Context) (inputFile, error) {
	return b.input("source", b.size, func(path string) error {
		out, err := exec.CommandContext(ctx, "go", "env", "GOROOT", "GOMODCACHE").Output()
		if err != nil {
			return fmt.Errorf("ask go where its source is: %w", err)
		}
		return writeTo(path, func(w io.Writer) error {
			left := b.size
			for root := range strings.FieldsSeq(string(out)) {
				err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
					if err != nil || !d.Type().IsRegular() || !isText(p) {
						return err
					}
					if left <= 0 {
						return filepath.SkipAll
					}
					raw, err := os.ReadFile(p)
					if err != nil || !utf8.Valid(raw) ||
						bytes.ContainsAny(raw, "\x00\x01\r") { // what DuckDB would read otherwise
						return err
					}
					if len(raw) > 0 && raw[len(raw)-1] != '\n' {
						raw = append(raw, '\n')
					}
					left -= int64(len(raw))
					_, err = w.Write(raw)
					return err
				})
				if err != nil {
					return err
				}
			}
			return nil
		})
	})
}

func isText(path string) bool {
	switch filepath.Ext(path) {
	case ".go", ".md", ".txt", ".s", ".c", ".h", ".html", ".json", ".yaml", ".proto", ".golden":
		return true
	}
	return false
}

// keyLines are records of 100 bytes that are lines too, so that programs for lines can sort them: teragen's, with a key
// of ten characters out of 64 in the place of ten bytes, the bytes that no text has replaced, and a newline at the end.
func (b *bench) keyLines(ctx context.Context) (inputFile, error) {
	return b.input("lines", b.size, func(path string) error { return produce(ctx, "lines", path, b.size) })
}

func writeLines(path string, size int64) error {
	return writeTo(path, func(w io.Writer) error {
		return generate.TeraGen{Rows: size / teraRecord}.Write(lineMaker{w})
	})
}

// teraRecord is the length of a record of terasort.
const teraRecord = 100

// A lineMaker makes lines of the records that are written to it. Writes end with a record, but for the last of a
// buffer, so it keeps none.
type lineMaker struct{ to io.Writer }

const keyCharacters = "+/0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// Write implements io.Writer.
func (l lineMaker) Write(p []byte) (int, error) {
	if len(p)%teraRecord != 0 {
		return 0, fmt.Errorf("%d bytes are no records", len(p))
	}
	lines := bytes.Clone(p)
	for at := 0; at < len(lines); at += teraRecord {
		rec := lines[at : at+teraRecord]
		for i := range rec {
			switch {
			case i < 10:
				rec[i] = keyCharacters[rec[i]&63]
			case rec[i] < ' ' || rec[i] > '~':
				rec[i] = ' '
			}
		}
		rec[teraRecord-1] = '\n'
	}
	return l.to.Write(lines)
}

func writeTo(path string, write func(io.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<20)
	return errors.Join(write(struct{ io.Writer }{w}), w.Flush(), f.Close())
}

// A digest says whether two outputs have the same lines, in whatever order, without sorting them.
type digest struct {
	lines int
	sum   uint64 // of the hashes of the lines
}

// digestOf reads a file, or all files of a folder.
func digestOf(path string) (d digest, err error) {
	files, err := filesBelow(path)
	if err != nil {
		return d, err
	}
	for _, p := range files {
		f, err := os.Open(p)
		if err != nil {
			return d, err
		}
		r := bufio.NewReaderSize(f, 1<<20)
		for {
			line, err := r.ReadBytes('\n')
			if len(line) > 0 {
				h := fnv.New64a()
				_, _ = h.Write(line) // never fails
				d.sum += h.Sum64()
				d.lines++
			}
			if err == io.EOF {
				break
			}
			if err != nil {
				return d, errors.Join(err, f.Close())
			}
		}
		if err := f.Close(); err != nil {
			return d, err
		}
	}
	return d, nil
}

// agree compares outputs by their lines; those that are not there are passed over, since their writers did not take
// part.
func agree(ours string, theirs ...string) (digest, error) {
	want, err := digestOf(ours)
	if err != nil {
		return want, err
	}
	for _, path := range theirs {
		if _, err := os.Stat(path); err != nil {
			continue
		}
		got, err := digestOf(path)
		if err != nil {
			return want, err
		}
		if got != want {
			return want, fmt.Errorf("%s has %d lines with checksum %x, and %s has %d with %x: they did not do the same",
				ours, want.lines, want.sum, path, got.lines, got.sum)
		}
	}
	return want, nil
}

// equalBytes compares the parts of a folder, one behind the other, with a file that may not be there.
func equalBytes(folder, file string) error {
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	parts, err := filesBelow(folder)
	if err != nil {
		return err
	}
	x, y := make([]byte, 1<<20), make([]byte, 1<<20)
	for _, path := range parts {
		part, err := os.Open(path)
		if err != nil {
			return err
		}
		for at := 0; ; {
			n, err := part.Read(x)
			if n > 0 {
				if _, err := io.ReadFull(f, y[:n]); err != nil || !bytes.Equal(x[:n], y[:n]) {
					return errors.Join(fmt.Errorf("%s differs from %s near byte %d", path, file, at), part.Close())
				}
				at += n
			}
			if err == io.EOF {
				break
			}
			if err != nil {
				return errors.Join(err, part.Close())
			}
		}
		if err := part.Close(); err != nil {
			return err
		}
	}
	if n, err := f.Read(y); n > 0 || err != io.EOF {
		return fmt.Errorf("%s is longer than the parts of %s", file, folder)
	}
	return nil
}

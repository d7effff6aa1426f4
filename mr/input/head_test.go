package input

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// readText reads a split to its end.
func readText(t *testing.T, s Split) (text []byte, stored int64) {
	t.Helper()
	var r Reader
	defer r.Close()
	r.Open(s)
	for {
		batch, err := r.Next()
		if errors.Is(err, io.EOF) {
			return text, r.Bytes()
		}
		if err != nil {
			t.Fatal(err)
		}
		text = append(text, batch...)
	}
}

// The head of a split is its first lines: to the end of that which the n-th byte lies in, across files.
func TestHeadOfLines(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"a": "one\ntwo\nthree\n", "b": "four\nfive\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	c := Config{OnlyLF: true}
	files, err := Expand([]string{dir}, c)
	if err != nil {
		t.Fatal(err)
	}
	splits, _ := Plan(files, c)
	if len(splits) != 1 {
		t.Fatalf("%d splits, want both files in one", len(splits))
	}
	// A line that begins at the n-th byte is the head's: the line feed before it is within.
	for n, want := range map[int64]string{0: "one\n", 1: "one\n", 3: "one\n", 4: "one\ntwo\n", 13: "one\ntwo\nthree\n",
		14: "one\ntwo\nthree\n",
		15: "one\ntwo\nthree\nfour\n", 1000: "one\ntwo\nthree\nfour\nfive\n"} {
		text, _ := readText(t, splits[0].Head(n))
		if string(text) != want {
			t.Errorf("first %d bytes: %q, want %q", n, text, want)
		}
	}
	both, _ := readText(t, Join([]Split{splits[0].Head(1), splits[0].Head(5)}))
	if want := "one\none\ntwo\n"; string(both) != want {
		t.Errorf("joined: %q, want %q", both, want)
	}
}

// Of a compressed file a head is whole lines from its beginning, and about as many stored bytes as are asked for: a
// block more.
func TestHeadOfGzip(t *testing.T) {
	var text bytes.Buffer
	for i := range 400_000 {
		fmt.Fprintf(&text, "%d %x\n", i, i*i*2654435761)
	}
	path := filepath.Join(t.TempDir(), "in.gz")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	z := gzip.NewWriter(f)
	z.Write(text.Bytes())
	if err := errors.Join(z.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	files, err := Expand([]string{path}, Config{})
	if err != nil {
		t.Fatal(err)
	}
	splits, _ := Plan(files, Config{})
	all, stored := readText(t, splits[0])
	if !bytes.Equal(all, text.Bytes()) || stored != splits[0].Bytes() {
		t.Fatalf("all: %d bytes of text, %d stored; want %d, %d", len(all), stored, text.Len(), splits[0].Bytes())
	}
	want := splits[0].Bytes() / 10
	head, stored := readText(t, splits[0].Head(want))
	if !bytes.HasPrefix(all, head) || head[len(head)-1] != '\n' {
		t.Errorf("the head, %d bytes, is not whole lines of the beginning", len(head))
	}
	if stored < want || stored > want+256<<10 { // a block is 256 KiB, decompressed
		t.Errorf("%d stored bytes of %d were read, want %d", stored, splits[0].Bytes(), want)
	}
}

// A stream is one split whose lines come as they are.
func TestStream(t *testing.T) {
	const text = "\xef\xbb\xbfBZh9 first\ra line\r\nlast"
	s := Stream("dir/file.gz", func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil })
	var r Reader
	defer r.Close()
	var all []byte
	for r.Open(s); ; {
		batch, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil || r.File().Path != "dir/file.gz" {
			t.Fatalf("%s: %v", r.File().Path, err)
		}
		all = append(all, batch...)
	}
	if string(all) != text+"\n" {
		t.Errorf("%q", all)
	}
}

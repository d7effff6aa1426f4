package input

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// Whatever the bytes and wherever the cut: the lines are those of the reference, mapped and read.
func FuzzLines(f *testing.F) {
	for _, s := range []string{"", "a\nb", "a\r\nb\r\n", "\r\r\n\n", "\xef\xbb\xbfa\rb", "no end"} {
		f.Add([]byte(s), uint16(2))
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte, at uint16) {
		path := filepath.Join(dir, "f")
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		file := find(t, path)
		cut := int64(at) % (file.Size + 1)
		for _, mapFrom := range []int64{0, 1 << 40} {
			for _, c := range []Config{{}, {OnlyLF: true}} {
				r := Reader{sizes: sizes{mapFrom: mapFrom, window: 4096, buffer: 16, batch: 8}}
				got, err := readAll(&r, c, Split{[]Range{{&file, 0, cut}}, c},
					Split{[]Range{{&file, cut, file.Size}}, c})
				if want := referenceLines(data, c.OnlyLF); cut > 0 && (err != nil || !slices.Equal(got, want)) {
					t.Errorf("cut at %d, %+v: %q, %v; want %q", cut, c, got, err, want)
				}
			}
		}
	})
}

// Foreign bytes without a name have a codec or are refused. Under a compressed name they end in lines or in ErrCorrupt,
// never in a panic or in another error.
func FuzzDecompress(f *testing.F) {
	for name, compress := range compressors(f) {
		f.Add(compress([]byte("hello\nworld\n")), filepath.Ext(name))
	}
	f.Add(helloBzip2, ".bz2")
	f.Add([]byte("PK\x03\x04"), "")
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte, ext string) {
		if _, err := codecIn(data); err != nil && !errors.Is(err, ErrCorrupt) {
			t.Errorf("without a name: %v", err)
		}
		if ext != ".gz" && ext != ".zst" && ext != ".bz2" {
			return
		}
		path := filepath.Join(dir, "f"+ext)
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		file := find(t, path)
		var r Reader
		defer r.Close()
		r.Open(whole(&file, Config{}))
		for total := 0; total < 16<<20; {
			batch, err := r.Next()
			if err == io.EOF || errors.Is(err, ErrCorrupt) {
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			total += len(batch)
		}
	})
}

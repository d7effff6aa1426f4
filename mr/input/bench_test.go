package input

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// text is n bytes or a few more of lines of 3 to 20 words, some 80 bytes each, ended by end.
func text(n int, end string) []byte {
	chance := rand.New(rand.NewPCG(1, 1))
	var b bytes.Buffer
	for b.Len() < n {
		for range 3 + chance.IntN(18) {
			b.WriteString(strings.Repeat(string(rune('a'+chance.IntN(26))), 1+chance.IntN(8)))
			b.WriteByte(' ')
		}
		b.WriteString(end)
	}
	return b.Bytes()
}

// drain reads a split as a job that only counts lines does, which is as little as a job can do.
func drain(b *testing.B, r *Reader, splits []Split) (lines int) {
	for _, s := range splits {
		r.Open(s)
		for {
			batch, err := r.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				b.Fatal(err)
			}
			lines += bytes.Count(batch, newline)
		}
	}
	return lines
}

var newline = []byte{'\n'}

// What one worker reads of a 256 MiB file in the page cache, and ends counting its lines.
func BenchmarkRead(b *testing.B) {
	const size = 256 << 20
	for _, end := range []string{"\n", "\r\n"} {
		f := write(b, "f", bytes.Repeat(text(1<<20, end), size>>20))
		splits, _ := Plan([]File{f}, Config{Cores: 2})
		for name, mapFrom := range map[string]int64{"mapped": 0, "buffer": 1 << 40} {
			b.Run(fmt.Sprintf("%s/%q", name, end), func(b *testing.B) {
				s := tuned
				s.mapFrom = mapFrom
				r := Reader{sizes: s}
				b.SetBytes(f.Size)
				for b.Loop() {
					drain(b, &r, splits)
				}
				r.Close()
			})
		}
	}
}

// Where mapping begins to pay: files of one size, 64 MiB of them.
func BenchmarkManyFiles(b *testing.B) {
	for _, size := range []int{4 << 10, 64 << 10, 256 << 10, 512 << 10, 1 << 20, 4 << 20} {
		dir := b.TempDir()
		data := text(size, "\n")
		for i := range 64 << 20 / size {
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), data, 0o644); err != nil {
				b.Fatal(err)
			}
		}
		files, err := Expand([]string{dir}, Config{})
		if err != nil {
			b.Fatal(err)
		}
		splits, _ := Plan(files, Config{Cores: 2})
		for name, mapFrom := range map[string]int64{"mapped": 0, "buffer": 1 << 40} {
			b.Run(fmt.Sprintf("%s/%dKiB", name, size>>10), func(b *testing.B) {
				s := tuned
				s.mapFrom = mapFrom
				r := Reader{sizes: s}
				b.SetBytes(int64(len(files) * len(data)))
				for b.Loop() {
					drain(b, &r, splits)
				}
				r.Close()
			})
		}
	}
}

func BenchmarkDecompress(b *testing.B) {
	data := text(32<<20, "\n")
	for name, compress := range compressors(b) {
		f := write(b, name, compress(data))
		b.Run(name, func(b *testing.B) {
			var r Reader
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				drain(b, &r, []Split{whole(&f, Config{})})
			}
			r.Close()
		})
	}
}

func BenchmarkExpand(b *testing.B) {
	dir := b.TempDir()
	for i := range 100 {
		sub := filepath.Join(dir, fmt.Sprint(i))
		if err := os.Mkdir(sub, 0o755); err != nil {
			b.Fatal(err)
		}
		for j := range 100 {
			if err := os.WriteFile(filepath.Join(sub, fmt.Sprint(j)), nil, 0o644); err != nil {
				b.Fatal(err)
			}
		}
	}
	for b.Loop() {
		if _, err := Expand([]string{dir}, Config{}); err != nil {
			b.Fatal(err)
		}
	}
}

package input

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

// small makes every boundary (batch, buffer, window) fall inside files of a few kilobytes.
var small = sizes{mapFrom: 64, window: 4096, buffer: 64, batch: 32}

func write(t testing.TB, name string, data []byte) File {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return find(t, path)
}

func find(t testing.TB, path string) File {
	t.Helper()
	files, err := Expand([]string{path}, Config{})
	if err != nil || len(files) != 1 {
		t.Fatalf("Expand(%s) = %v, %v", path, files, err)
	}
	return files[0]
}

// whole is the split of a whole file.
func whole(f *File, c Config) Split { return Split{[]Range{{f, 0, f.Size}}, c} }

// readAll reads splits one after the other and checks what every batch promises.
func readAll(r *Reader, c Config, splits ...Split) (records []string, err error) {
	for _, s := range splits {
		r.Open(s)
		for {
			batch, err := r.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				return records, err
			}
			if len(batch) == 0 {
				return nil, errors.New("an empty batch")
			}
			if n := c.RecordLength; n > 0 {
				if len(batch)%n != 0 {
					return nil, fmt.Errorf("a batch of %d bytes, records of %d", len(batch), n)
				}
				for one := range slices.Chunk(batch, n) {
					records = append(records, string(one))
				}
				continue
			}
			text, ended := strings.CutSuffix(string(batch), "\n")
			if !ended {
				return nil, fmt.Errorf("batch %q does not end in a newline", batch)
			}
			if !c.OnlyLF && strings.Contains(text, "\r") {
				return nil, fmt.Errorf("batch %q has a carriage return", batch)
			}
			records = append(records, strings.Split(text, "\n")...)
		}
	}
	r.Close()
	return records, nil
}

// referenceLines is what Hadoop's LineRecordReader makes of a whole file, a byte at a time.
func referenceLines(data []byte, onlyLF bool) (lines []string) {
	data = bytes.TrimPrefix(data, byteOrderMark)
	var line []byte
	open := false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case c == '\n' || c == '\r' && !onlyLF:
			if c == '\r' && i+1 < len(data) && data[i+1] == '\n' {
				i++
			}
			lines = append(lines, string(line))
			line, open = nil, false
		default:
			line, open = append(line, c), true
		}
	}
	if open {
		lines = append(lines, string(line))
	}
	return lines
}

// content draws texts full of what goes wrong: line ends of all kinds, runs of them, NUL, invalid UTF-8, long lines, a
// byte order mark, no line end at the end.
func content() *rapid.Generator[[]byte] {
	piece := rapid.OneOf(rapid.SampledFrom([]string{"\n", "\r\n", "\r", "\n\r", "\r\r\n", "\x00", "\xff\xfe",
		"\xef\xbb\xbf", "", "a\tb"}), rapid.Map(rapid.IntRange(1, 12), func(n int) string {
		return "abcdefghijkl"[:n]
	}), rapid.Map(rapid.IntRange(30, 9000), func(n int) string { return strings.Repeat("x", n) }))
	return rapid.Map(rapid.SliceOfN(piece, 0, 60), func(s []string) []byte { return []byte(strings.Join(s, "")) })
}

// TestFileWithoutSize: a regular file that says it has no bytes, and has some, is read to its end.
func TestFileWithoutSize(t *testing.T) {
	const path = "/proc/filesystems"
	text, err := os.ReadFile(path)
	if err != nil || len(text) < 200 {
		t.Skipf("%s has %d bytes, %v", path, len(text), err)
	}
	f := find(t, path)
	if f.Size != 0 {
		t.Skipf("%s says it has %d bytes", path, f.Size)
	}
	const length = 8
	text8 := text[:len(text)/length*length]
	for _, s := range []sizes{tuned, small, {mapFrom: 0, window: 4096, buffer: 8, batch: 8}} {
		r := Reader{sizes: s}
		if got, err := readAll(&r, Config{}, whole(&f, Config{})); err != nil ||
			!slices.Equal(got, referenceLines(text, false)) {
			t.Errorf("%+v: %d lines of %d bytes, %v", s, len(got), len(text), err)
		}
		c := Config{RecordLength: length}
		got, err := readAll(&r, c, whole(&f, c))
		if strings.Join(got, "") != string(text8) || (len(text8) == len(text)) != (err == nil) {
			t.Errorf("%+v: %d records of %d bytes, %v", s, len(got), len(text), err)
		}
	}
}

// Every line once, in order, wherever the file is cut, through mapping and through buffers.
func TestSplitsPartitionLines(t *testing.T) {
	dir := t.TempDir()
	var mapped, read Reader
	mapped.sizes = sizes{mapFrom: 0, window: 4096, buffer: 64, batch: 32}
	read.sizes = sizes{mapFrom: 1 << 40, window: 4096, buffer: 64, batch: 32}
	rapid.Check(t, func(t *rapid.T) {
		data := content().Draw(t, "content")
		c := Config{OnlyLF: rapid.Bool().Draw(t, "onlyLF")}
		path := filepath.Join(dir, "f")
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		files, err := Expand([]string{path}, c)
		if err != nil {
			t.Fatal(err)
		}
		cuts := rapid.SliceOfN(rapid.Int64Range(0, int64(len(data))), 0, 8).Draw(t, "cuts")
		cuts = append(cuts, 0, int64(len(data)))
		slices.Sort(cuts)
		cuts = slices.Compact(cuts)
		var splits []Split
		for i := range len(cuts) - 1 {
			splits = append(splits, Split{[]Range{{&files[0], cuts[i], cuts[i+1]}}, c})
		}
		want := referenceLines(data, c.OnlyLF)
		for name, r := range map[string]*Reader{"mapped": &mapped, "read": &read} {
			got, err := readAll(r, c, splits...)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if !slices.Equal(got, want) {
				t.Fatalf("%s: cuts %d: %d lines %.300q, want %d %.300q", name, cuts, len(got), got, len(want), want)
			}
		}
	})
}

// The splits that Plan makes hold every byte of every file once, and no split is larger than asked.
func TestPlanPartitionsFiles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		files := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) File {
			return File{
				Path:  "f",
				Size:  rapid.OneOf(rapid.Int64Range(0, 100), rapid.Int64Range(0, 1<<34)).Draw(t, "size"),
				Codec: rapid.SampledFrom([]Codec{Plain, Plain, Plain, Gzip, Zstd}).Draw(t, "codec"),
			}
		}), 0, 30).Draw(t, "files")
		c := Config{
			RecordLength: rapid.SampledFrom([]int{0, 0, 1, 100}).Draw(t, "record"),
			Cores:        rapid.IntRange(0, 64).Draw(t, "cores"),
			MinSplit:     rapid.SampledFrom([]int64{0, 1 << 24, 1 << 28}).Draw(t, "min"),
			MaxSplit:     rapid.SampledFrom([]int64{0, 1 << 22, 1 << 30}).Draw(t, "max"),
		}
		splits, _ := Plan(files, c)
		file, at := 0, int64(0)
		low, high := c.MinSplit, c.MaxSplit
		if low == 0 {
			low = 1 << 20
		}
		if high == 0 {
			high = 128 << 20
		}
		for _, s := range splits {
			if len(s.Ranges) == 0 {
				t.Fatal("an empty split")
			}
			for _, g := range s.Ranges {
				if g.File != &files[file] || g.Lo != at {
					t.Fatalf("file %d: range from %d, want file %d from %d", slices.IndexFunc(files, func(f File) bool {
						return f == *g.File
					}), g.Lo, file, at)
				}
				if n := int64(c.RecordLength); n > 0 && !g.File.Whole() && g.Lo%n != 0 {
					t.Fatalf("range from %d, records of %d", g.Lo, n)
				}
				if at = g.Hi; at == files[file].Size {
					file, at = file+1, 0
				}
			}
			// A split may exceed by less than one record, as it is cut after one.
			if limit := max(low, high) + int64(c.RecordLength); !s.Ranges[0].File.Whole() && s.Bytes() > limit {
				t.Fatalf("split of %d bytes, limit %d", s.Bytes(), limit)
			}
		}
		if file != len(files) {
			t.Fatalf("%d of %d files planned", file, len(files))
		}
	})
}

func TestPlanKeepsCoresBusy(t *testing.T) {
	// 512 MiB on two cores: 16 splits of 32 MiB, give or take the cost of opening one file.
	splits, notes := Plan([]File{{Path: "a", Size: 512 << 20}}, Config{Cores: 2})
	if len(splits) != 16 || len(notes) != 0 {
		t.Errorf("%d splits, notes %q; want 16 and none", len(splits), notes)
	}
	// 10,000 files of 4 KiB are 36 KiB each with their opening: 352 MiB on two cores, 16 splits and one for what
	// rounding left.
	many := make([]File, 10_000)
	for i := range many {
		many[i].Size = 4096
	}
	splits, _ = Plan(many, Config{Cores: 2})
	if n := len(splits); n < 16 || n > 17 {
		t.Errorf("10,000 small files are %d splits, want 16 or 17", n)
	}
	// Petabytes stay at 128 MiB.
	splits, _ = Plan([]File{{Path: "a", Size: 1 << 40}}, Config{Cores: 2})
	if len(splits) != 1<<40/(128<<20) {
		t.Errorf("1 TiB is %d splits, want %d", len(splits), 1<<40/(128<<20))
	}
	splits, notes = Plan(
		[]File{
			{Path: "a.gz", Size: 1 << 30, Codec: Gzip},
			{Path: "b.gz", Size: 1 << 30, Codec: Gzip},
			{Path: "-", Pipe: true},
		},
		Config{Cores: 2},
	)
	if want := []string{"a.gz and 1 more: gzip files cannot be split, so each is read by one task", "-: a pipe is " +
		"read by one task, which cannot be tried again"}; !slices.Equal(
		notes,
		want,
	) {
		t.Errorf("notes %q, want %q", notes, want)
	}
	if len(splits) < 2 {
		t.Errorf("two large gzip files in %d split", len(splits))
	}
}

func TestFixedRecords(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 300).Draw(t, "length")
		count := rapid.IntRange(0, 100).Draw(t, "records")
		data := make([]byte, n*count)
		for i := range data {
			data[i] = byte(i * 7)
		}
		path := filepath.Join(dir, "f")
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		c := Config{RecordLength: n}
		files, err := Expand([]string{path}, c)
		if err != nil {
			t.Fatal(err)
		}
		// Cut anywhere: a record belongs to the range in which it begins.
		cut := rapid.Int64Range(0, int64(len(data))).Draw(t, "cut")
		r := Reader{sizes: small}
		got, err := readAll(&r, c, Split{[]Range{{&files[0], 0, cut}}, c},
			Split{[]Range{{&files[0], cut, files[0].Size}}, c})
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != count || strings.Join(got, "") != string(data) {
			t.Fatalf("%d records of %d, want %d", len(got), n, count)
		}
	})
	f := write(t, "short", make([]byte, 250))
	c := Config{RecordLength: 100}
	r := Reader{sizes: small}
	got, err := readAll(&r, c, whole(&f, c))
	if want := "input " + f.Path + " at byte 200: corrupt input: the last record has 50 of 100 bytes"; len(got) != 2 ||
		!errors.Is(err, ErrCorrupt) ||
		err.Error() != want {
		t.Errorf("%d records and %v; want 2 and %s", len(got), err, want)
	}
}

func compressors(t testing.TB) map[string]func([]byte) []byte {
	return map[string]func([]byte) []byte{
		"f.gz": func(b []byte) []byte {
			var out bytes.Buffer
			w := gzip.NewWriter(&out)
			w.Write(b)
			w.Close()
			return out.Bytes()
		},
		"f.zst": func(b []byte) []byte {
			w, err := zstd.NewWriter(nil)
			if err != nil {
				t.Fatal(err)
			}
			return w.EncodeAll(b, nil)
		},
	}
}

// "hello\nworld\n" through bzip2 -9: the standard library does not write bzip2.
var helloBzip2 = []byte(
	"BZh91AY&SYk_\xb1\xdd\x00\x00\x02A\x80\x00\x10\x06D\x90\x80 " +
		"\x001\x0c\b!\xa3i\b\a#\xae\x87\x8b\xb9\"\x9c(H5\xaf\xd8\xee\x80",
)

func TestCompressed(t *testing.T) {
	text := []byte(strings.Repeat("one two three\r\nfour\n\nfive without end", 5000))
	want := referenceLines(append(slices.Clone(text), text...), false)
	for name, compress := range compressors(t) {
		// Two members one after the other, as `cat a.gz b.gz` makes them: the last line of the first goes on in the
		// second.
		data := append(compress(text), compress(text)...)
		f := write(t, name, data)
		r := Reader{sizes: small}
		got, err := readAll(&r, Config{}, whole(&f, Config{}))
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %d lines, %v; want %d", name, len(got), err, len(want))
		}
		if r.Bytes() != f.Size {
			t.Errorf("%s: %d bytes read, the file has %d", name, r.Bytes(), f.Size)
		}

		for cut := 1; cut < len(data); cut += 1 + len(data)/40 {
			if cut == len(data)/2 {
				continue // between the members: a whole file
			}
			f := write(t, name, data[:cut])
			_, err := readAll(&r, Config{}, whole(&f, Config{}))
			if !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), f.Path) {
				t.Errorf("%s cut at %d of %d: %v; want ErrCorrupt with the path", name, cut, len(data), err)
			}
		}
		wrong := slices.Clone(data)
		wrong[len(wrong)/4] ^= 0x55
		f = write(t, name, wrong)
		if _, err := readAll(&r, Config{}, whole(&f, Config{})); !errors.Is(err, ErrCorrupt) ||
			!strings.Contains(err.Error(), f.Path) {
			t.Errorf("%s with a wrong byte: %v; want ErrCorrupt with the path", name, err)
		}
		f = write(t, name, []byte("not compressed at all"))
		if _, err := readAll(&r, Config{}, whole(&f, Config{})); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s that is plain text: %v; want ErrCorrupt", name, err)
		}
	}
	f := write(t, "f.bz2", append(slices.Clone(helloBzip2), helloBzip2...))
	var r Reader
	got, err := readAll(&r, Config{}, whole(&f, Config{}))
	if want := []string{"hello", "world", "hello", "world"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("bzip2: %q, %v; want %q", got, err, want)
	}
	f = write(t, "f.bz2", helloBzip2[:len(helloBzip2)-5])
	if _, err := readAll(&r, Config{}, whole(&f, Config{})); !errors.Is(err, ErrCorrupt) {
		t.Errorf("bzip2 cut short: %v; want ErrCorrupt", err)
	}
	// Compressed bytes under a plain name are bytes: the name decides.
	f = write(t, "f.dat", helloBzip2)
	if got, err := readAll(&r, Config{}, whole(&f, Config{})); err != nil || strings.Join(got, "\n") == "hello\nworld" {
		t.Errorf("bzip2 under a plain name: %q, %v; want its bytes", got, err)
	}
}

func TestPipe(t *testing.T) {
	for name, data := range map[string][]byte{"plain": []byte("hello\nworld"), "bzip2": helloBzip2} {
		in, out, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			out.Write(data)
			out.Close()
		}()
		f := find(t, fmt.Sprintf("/dev/fd/%d", in.Fd()))
		if !f.Pipe {
			t.Fatalf("%+v is not a pipe", f)
		}
		var r Reader
		got, err := readAll(&r, Config{}, whole(&f, Config{}))
		if want := []string{"hello", "world"}; err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v; want %q", name, got, err, want)
		}
		in.Close()
	}
}

// fifo makes a pipe with a name.
func fifo(t *testing.T) File {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pipe")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return find(t, path)
}

// TestNamedPipe: a pipe with a name is read from the beginning to the end, whenever its writer comes, and is empty if
// that writes nothing.
func TestNamedPipe(t *testing.T) {
	for _, want := range [][]string{{"hello", "world"}, nil} {
		f := fifo(t)
		written := make(chan error, 1)
		go func() {
			for !f.Opened() {
				runtime.Gosched()
			}
			out, err := os.OpenFile(f.Path, os.O_WRONLY, 0)
			for _, line := range want {
				if err == nil {
					_, err = out.WriteString(line + "\n")
				}
			}
			written <- errors.Join(err, out.Close())
		}()
		var r Reader
		if got, err := readAll(&r, Config{}, whole(&f, Config{})); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q, %v; want %q", got, err, want)
		}
		if err := <-written; err != nil {
			t.Fatal(err)
		}
	}
}

// TestNoWriter: waiting for a program that opens a pipe to write ends when the reader is interrupted.
func TestNoWriter(t *testing.T) {
	for _, early := range []bool{false, true} {
		f := fifo(t)
		var r Reader
		r.Open(whole(&f, Config{}))
		if early {
			r.Interrupt()
		}
		ended := make(chan error, 1)
		go func() {
			_, err := r.Next()
			r.Close()
			ended <- err
		}()
		for !early && !f.Opened() {
			runtime.Gosched()
		}
		r.Interrupt()
		if err := <-ended; err == nil || !strings.Contains(err.Error(), f.Path) {
			t.Errorf("early %v: error %v", early, err)
		}
	}
}

func TestChangedFile(t *testing.T) {
	line := strings.Repeat("x", 99) + "\n"
	text := []byte(strings.Repeat(line, 1000))
	for name, change := range map[string]func(path string) error{
		"shorter":    func(p string) error { return os.Truncate(p, 5000) },
		"empty":      func(p string) error { return os.Truncate(p, 0) },
		"longer":     func(p string) error { return os.WriteFile(p, append(text, "more\n"...), 0o644) },
		"written to": func(p string) error { return os.Chtimes(p, time.Time{}, time.Unix(1, 0)) },
	} {
		for _, mapFrom := range []int64{0, 1 << 40} {
			f := write(t, "f", text)
			r := Reader{sizes: sizes{mapFrom: mapFrom, window: 8192, buffer: 8192, batch: 1024}}
			r.Open(whole(&f, Config{}))
			if _, err := r.Next(); err != nil {
				t.Fatal(err)
			}
			if err := change(f.Path); err != nil {
				t.Fatal(err)
			}
			var err error
			for err == nil {
				err = r.Guard(func() error {
					batch, err := r.Next()
					bytes.Count(batch, []byte("x"))
					return err
				})
			}
			r.Close()
			if !errors.Is(err, ErrChanged) || !strings.Contains(err.Error(), f.Path) {
				t.Errorf("%s, mapped from %d: %v; want ErrChanged with the path", name, mapFrom, err)
			}
		}
	}
	f := write(t, "f", text)
	if err := os.Remove(f.Path); err != nil {
		t.Fatal(err)
	}
	var r Reader
	if _, err := readAll(&r, Config{}, whole(&f, Config{})); !errors.Is(err, os.ErrNotExist) ||
		!strings.Contains(err.Error(), f.Path) {
		t.Errorf("removed: %v; want not exist, with the path", err)
	}
}

// The batch is lent memory of the file: reading it when the file has shrunk is an error of the job's attempt, not the
// end of the process. Faults elsewhere are not ours.
func TestGuard(t *testing.T) {
	f := write(t, "f", bytes.Repeat([]byte("0123456\n"), 8192))
	r := Reader{sizes: sizes{mapFrom: 0, window: 1 << 20, buffer: 8192, batch: 1 << 20}}
	defer r.Close()
	r.Open(whole(&f, Config{}))
	batch, err := r.Next()
	if err != nil || len(batch) != 65536 {
		t.Fatalf("%d bytes, %v; want the whole file", len(batch), err)
	}
	if err := os.Truncate(f.Path, 10); err != nil {
		t.Fatal(err)
	}
	sum := 0
	err = r.Guard(func() error {
		for _, c := range batch {
			sum += int(c)
		}
		return nil
	})
	if !errors.Is(err, ErrChanged) || !strings.Contains(err.Error(), f.Path) {
		t.Errorf("%v (sum %d); want ErrChanged with the path", err, sum)
	}
	defer func() {
		if v := recover(); v != "mine" {
			t.Errorf("recovered %v; want the panic of the function", v)
		}
	}()
	_ = r.Guard(func() error { panic("mine") })
}

func TestPositions(t *testing.T) {
	dir := t.TempDir()
	var files []string
	for i, text := range []string{"aa\nbb", "", "cc\n"} {
		path := filepath.Join(dir, fmt.Sprint(i))
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		files = append(files, path)
	}
	found, err := Expand(files, Config{})
	if err != nil {
		t.Fatal(err)
	}
	splits, _ := Plan(found, Config{})
	if len(splits) != 1 {
		t.Fatalf("%d splits, want 1", len(splits))
	}
	if want := files[0] + ":0+5 and 2 more"; splits[0].String() != want {
		t.Errorf("split is %s, want %s", splits[0], want)
	}
	var r Reader
	var got []string
	r.Open(splits[0])
	for {
		batch, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%s@%d:%s", filepath.Base(r.File().Path), r.Offset(), batch))
	}
	// A batch never holds lines of two files, and the end of a file ends its last line.
	if want := []string{"0@0:aa\n", "0@3:bb\n", "2@0:cc\n"}; !slices.Equal(got, want) {
		t.Errorf("batches %q, want %q", got, want)
	}
	if r.Bytes() != 8 {
		t.Errorf("%d bytes read, want 8", r.Bytes())
	}
}

// A line as long as the file passes through every split of it without being copied or lost.
func TestLongLine(t *testing.T) {
	const size = 40<<20 + 1 // three windows
	data := bytes.Repeat([]byte{'x'}, size)
	for _, end := range []string{"", "\n", "\r\n"} {
		f := write(t, "f", append(data, end...))
		splits, _ := Plan([]File{f}, Config{Cores: 4})
		if len(splits) < 30 {
			t.Fatalf("%d splits; want at least 30", len(splits))
		}
		var r Reader
		lines := 0
		for _, s := range splits {
			r.Open(s)
			for {
				batch, err := r.Next()
				if err == io.EOF {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				if lines++; len(batch) != size+1 || batch[size] != '\n' {
					t.Fatalf("line of %d bytes, want %d", len(batch), size+1)
				}
			}
		}
		r.Close()
		if lines != 1 {
			t.Errorf("%d lines, want 1", lines)
		}
	}
}

package input

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// room is a Memory of limit bytes that knows how much of it was in use at most.
type room struct{ limit, used, most int64 }

func (r *room) Limit() int64 { return r.limit }

func (r *room) Alloc(n int) []byte {
	if r.used+int64(n) > r.limit {
		return nil
	}
	r.used += int64(n)
	r.most = max(r.most, r.used)
	return make([]byte, n)
}

func (r *room) Free(b []byte) { r.used -= int64(cap(b)) }

// zeros are n bytes of a line without an end.
type zeros struct{ n int64 }

func (z *zeros) Read(p []byte) (int, error) {
	if z.n == 0 {
		return 0, io.EOF
	}
	n := int(min(int64(len(p)), z.n))
	clear(p[:n])
	z.n -= int64(n)
	return n, nil
}

// bzip2Zeros is what bzip2 makes of 45,899,235 zeros: one block. Some of them, one after the other, are a file.
const bzip2Zeros = "425a68393141592653590e09e2df015f8e4000c0000008200030804d4642a025a90a80971772453850900e09e2df"

// readSize reads a file as one split, and returns the bytes of its batches and the error.
func readSize(t *testing.T, path string, memory Memory) (n int64, err error) {
	t.Helper()
	files, err := Expand([]string{path}, Config{})
	if err != nil {
		t.Fatal(err)
	}
	splits, _ := Plan(files, Config{MinSplit: 1 << 40, MaxSplit: 1 << 40})
	r := Reader{Memory: memory}
	defer r.Close()
	r.Open(splits[0])
	for {
		b, err := r.Next()
		if err == io.EOF {
			return n, nil
		}
		if err != nil {
			return n, err
		}
		n += int64(len(b))
	}
}

// compressed writes what from yields to a file of that name.
func compressed(t *testing.T, name string, from io.Reader) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), name)
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var w io.WriteCloser
	switch filepath.Ext(name) {
	case ".gz":
		w, err = gzip.NewWriterLevel(f, gzip.BestSpeed)
	case ".zst":
		w, err = zstd.NewWriter(f, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	}
	if err == nil {
		_, err = io.Copy(w, from)
	}
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestBombs: small compressed files whose one line would fill the machine are refused in a sentence, at 64 MiB of it,
// however much memory there is; and so is a zstd window larger than memory.
func TestBombs(t *testing.T) {
	// A frame with a window of 2 GiB (RFC 8878, 3.1.1.1.2: exponent 21), and a block of a byte.
	window := binary.LittleEndian.AppendUint32(nil, 0xfd2fb528)
	window = append(window, 0x00, 21<<3, 0x09, 0x00, 0x00, 'x')
	windowed := filepath.Join(t.TempDir(), "window.zst")
	if err := os.WriteFile(windowed, window, 0o600); err != nil {
		t.Fatal(err)
	}
	block, err := hex.DecodeString(bzip2Zeros)
	if err != nil {
		t.Fatal(err)
	}
	blocks := filepath.Join(t.TempDir(), "line.bz2")
	if err := os.WriteFile(blocks, bytes.Repeat(block, 2), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		blocks: "more than 64 MiB, expanded from",
		compressed(t, "line.gz", &zeros{80 << 20}):   "more than 64 MiB, expanded from",
		compressed(t, "line.zst", &zeros{200 << 20}): "more than 64 MiB, expanded from",
		windowed: "a window of more than 128 MiB",
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		memory := &room{limit: 8 << 30}
		n, err := readSize(t, path, memory)
		runtime.ReadMemStats(&after)
		if !errors.Is(err, ErrTooLong) || !strings.Contains(fmt.Sprint(err), want) ||
			!strings.Contains(fmt.Sprint(err), path) {
			t.Errorf("%s: %d bytes, error %v, want %q", filepath.Base(path), n, err, want)
		}
		if memory.used != 0 {
			t.Errorf("%s: %d bytes are kept", filepath.Base(path), memory.used)
		}
		if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 256<<20 {
			t.Errorf("%s: %d MiB were allocated", filepath.Base(path), allocated>>20)
		}
	}
}

// TestLongRecords: records longer than the buffers are read within memory, whatever they are stored in; without room
// for them they are refused, and what does not expand much may be longer than 64 MiB.
func TestLongRecords(t *testing.T) {
	line := bytes.Repeat([]byte("a line that comes again and again "), 1<<17) // 4.25 MiB
	text := bytes.Join([][]byte{line, []byte("short"), line, line}, []byte("\r\n"))
	want := int64(len(bytes.ReplaceAll(text, []byte("\r"), nil)) + 1)
	plain := filepath.Join(t.TempDir(), "plain")
	if err := os.WriteFile(plain, text, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{
		plain, compressed(t, "text.gz", bytes.NewReader(text)), compressed(t, "text.zst", bytes.NewReader(text)),
	} {
		for _, limit := range []int64{1 << 20, 13 << 20} {
			memory := &room{limit: limit}
			n, err := readSize(t, path, memory)
			switch {
			case limit == 1<<20:
				if !errors.Is(err, ErrTooLong) || !strings.Contains(fmt.Sprint(err), "may use 1 MiB") {
					t.Errorf("%s with %d bytes: error %v", filepath.Base(path), limit, err)
				}
			case n != want || err != nil:
				t.Errorf("%s with %d bytes: %d bytes, want %d, error %v", filepath.Base(path), limit, n, want, err)
			}
			if memory.used != 0 || memory.most > limit {
				t.Errorf("%s: %d bytes are kept, %d were in use, limit %d", filepath.Base(path), memory.used,
					memory.most, limit)
			}
		}
	}
}

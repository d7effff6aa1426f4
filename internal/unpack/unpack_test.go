package unpack

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// gzipped returns text as gzip packs it.
func gzipped(t testing.TB, text []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// zstandard returns text as zstd packs it.
func zstandard(t testing.TB, text []byte) []byte {
	t.Helper()
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return z.EncodeAll(text, nil)
}

// bzipped is "hello\n" as bzip2 packs it; the standard library only reads that format.
var bzipped = []byte("BZh91AY&SY" +
	"\xc1\xc0\x80\xe2\x00\x00\x01A\x00\x00\x10\x02D\xa0\x000\xcd\x00\xc3F)\x97\x17rE8P\x90\xc1\xc0\x80\xe2")

// read returns all text of packed, and how many bytes there were before an error.
func read(packed []byte, l Limits) (text []byte, n int64, err error) {
	u, err := NewReader(bytes.NewReader(packed), l)
	if err != nil {
		return nil, 0, err
	}
	defer u.Close()
	var b bytes.Buffer
	n, err = io.Copy(&b, u)
	return b.Bytes(), n, err
}

func TestUnpack(t *testing.T) {
	text := []byte("hello\n")
	for name, packed := range map[string][]byte{
		"plain": text, "gzip": gzipped(t, text), "zstd": zstandard(t, text), "bzip2": bzipped,
		"zstd behind a frame without data": slices.Concat([]byte("\x5a\x2a\x4d\x18\x03\x00\x00\x00abc"),
			zstandard(t, text)),
	} {
		if got, _, err := read(packed, Text); err != nil || !bytes.Equal(got, text) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	for format, head := range map[string]string{"xz": "\xfd7zXZ\x00...", "lz4": "\x04\x22\x4d\x18..."} {
		_, err := NewReader(strings.NewReader(head), Text)
		if !errors.Is(err, ErrUnread) || !strings.HasPrefix(err.Error(), format+" is not read") {
			t.Errorf("%s: %v, must be refused", format, err)
		}
	}
	if got, _, err := read(nil, Text); len(got) != 0 || err != nil {
		t.Errorf("empty: %q, %v", got, err)
	}
}

// TestDecodersAgain decompresses one stream after another by the same decoders, which is how the input of jobs is read.
// What a stream has left unread, or was damaged by, does not reach the next one, and each has a window of its own.
func TestDecodersAgain(t *testing.T) {
	text := bytes.Repeat([]byte("some text that is long enough\n"), 10_000)
	var d Decoders
	defer d.Close()
	for i, s := range []struct {
		codec  Codec
		packed []byte
		window int64
		want   []byte
		err    error
	}{
		{Zstd, windowed(16 << 20), 8 << 20, nil, zstd.ErrWindowSizeExceeded},
		{Zstd, windowed(16 << 20), 16 << 20, make([]byte, 128<<10), nil},
		{Gzip, gzipped(t, text)[:100], 0, nil, io.ErrUnexpectedEOF},
		{Gzip, gzipped(t, text), 0, text, nil},
		{Zstd, zstandard(t, text), 8 << 20, text, nil},
		{Bzip2, bzipped, 0, []byte("hello\n"), nil},
		{Plain, text, 0, text, nil},
	} {
		d.Reset(bytes.NewReader(s.packed))
		head, err := d.Head(4)
		if !bytes.Equal(head, s.packed[:4]) || err != nil || d.Taken() != 0 {
			t.Fatalf("stream %d: head %x, %v, %d bytes taken", i, head, err, d.Taken())
		}
		r, err := d.Open(s.codec, s.window)
		var got []byte
		if err == nil {
			got, err = io.ReadAll(r)
		}
		if !errors.Is(err, s.err) || err == nil && !bytes.Equal(got, s.want) {
			t.Errorf("stream %d, %v: %d bytes, error %v, want %d, %v", i, s.codec, len(got), err, len(s.want), s.err)
		}
		if err == nil && d.Taken() != int64(len(s.packed)) {
			t.Errorf("stream %d: %d of %d bytes were taken", i, d.Taken(), len(s.packed))
		}
		if d.Reset(nil); d.Taken() != 0 {
			t.Errorf("stream %d: %d bytes were taken of the next one", i, d.Taken())
		}
	}
}

// TestLimits holds the ratio: text beyond Floor + Ratio × packed bytes is refused, text at the limit is not, and text
// that is not packed never is.
func TestLimits(t *testing.T) {
	zeros := make([]byte, 1<<20)
	for name, packed := range map[string][]byte{"gzip": gzipped(t, zeros), "zstd": zstandard(t, zeros)} {
		enough := Limits{Ratio: 0, Floor: 1 << 20, Window: 8 << 20}
		if _, n, err := read(packed, enough); n != 1<<20 || err != nil {
			t.Errorf("%s at its limit: %d bytes, %v", name, n, err)
		}
		enough.Floor--
		if _, n, err := read(packed, enough); n > enough.Floor || !errors.Is(err, ErrExpands) {
			t.Errorf("%s one byte beyond its limit: %d bytes, %v", name, n, err)
		}
		// Text comes in pieces of up to 128 KiB, which Floor lets through before all of their bytes are counted.
		ratio := Limits{Ratio: 1<<20/int64(len(packed)) + 1, Floor: 128 << 10, Window: 8 << 20}
		if _, n, err := read(packed, ratio); n != 1<<20 || err != nil {
			t.Errorf("%s at its ratio: %d bytes, %v", name, n, err)
		}
	}
	if _, n, err := read(zeros, Limits{}); n != 1<<20 || err != nil {
		t.Errorf("plain text: %d bytes, %v", n, err)
	}
}

// TestBombs opens a gigabyte of zeros and a frame that asks for a window of a gigabyte, and measures what they take.
func TestBombs(t *testing.T) {
	layer := gzipped(t, make([]byte, 16<<20))
	bombs := map[string]struct {
		packed []byte
		want   error
	}{
		"gzip":   {bytes.Repeat(layer, 64), ErrExpands}, // members follow each other
		"zstd":   {bytes.Repeat(zstandard(t, make([]byte, 16<<20)), 64), ErrExpands},
		"window": {windowed(1 << 30), ErrWindow},
	}
	for name, b := range bombs {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		u, err := NewReader(bytes.NewReader(b.packed), Text)
		if err == nil {
			_, err = io.Copy(io.Discard, u)
			u.Close()
		}
		runtime.ReadMemStats(&after)
		if !errors.Is(err, b.want) {
			t.Errorf("%s: error %v, want %v", name, err, b.want)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > 32<<20 {
			t.Errorf("%s: allocated %d MiB", name, took>>20)
		}
	}
}

// windowed returns the beginning of a zstd frame with a window of 1 << (10 + exponent) bytes (RFC 8878, 3.1.1.1.2), and
// a block of zeros.
func windowed(window int64) []byte {
	exponent := byte(0)
	for window>>10>>exponent > 1 {
		exponent++
	}
	frame := append([]byte{}, magic[Zstd]...)
	// descriptor without a size; window
	frame = append(frame, 0, exponent<<3)
	// last block, one byte repeated
	frame = append(frame, binary.LittleEndian.AppendUint32(nil, 1|1<<1|128<<10<<3)[:3]...)
	return append(frame, 0)
}

// TestLargestWindow holds that the largest window that is allowed costs little more than itself.
func TestLargestWindow(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, n, err := read(windowed(Text.Window), Text)
	runtime.ReadMemStats(&after)
	if err != nil || n != 128<<10 {
		t.Errorf("%d bytes, %v", n, err)
	}
	if took := int64(after.TotalAlloc - before.TotalAlloc); took > Text.Window+16<<20 {
		t.Errorf("a window of %d MiB took %d MiB", Text.Window>>20, took>>20)
	}
}

// TestCutShort holds that packed text which ends early is no end of file.
func TestCutShort(t *testing.T) {
	text := []byte(strings.Repeat("some text that is long enough\n", 1000))
	for name, packed := range map[string][]byte{"gzip": gzipped(t, text), "zstd": zstandard(t, text),
		"bzip2": bzipped} {
		if _, _, err := read(packed[:len(packed)-5], Text); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%s: error %v, want %v", name, err, io.ErrUnexpectedEOF)
		}
	}
}

func FuzzUnpack(f *testing.F) {
	f.Add(gzipped(f, []byte("text")))
	f.Add(zstandard(f, []byte("text")))
	f.Add(bzipped)
	f.Add(windowed(1 << 20))
	f.Fuzz(func(t *testing.T, packed []byte) {
		small := Limits{Ratio: 10, Floor: 1 << 16, Window: 1 << 20}
		if _, n, _ := read(packed, small); n > max(int64(len(packed)), 1<<16+10*int64(len(packed))) {
			t.Errorf("%d bytes from %d", n, len(packed))
		}
	})
}

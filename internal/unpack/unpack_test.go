package unpack

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"io"
	"runtime"
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
	} {
		if got, _, err := read(packed, Text); err != nil || !bytes.Equal(got, text) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if _, err := NewReader(strings.NewReader("\xfd7zXZ\x00..."), Text); !errors.Is(err, ErrXZ) {
		t.Errorf("xz: %v, must be refused", err)
	}
	if got, _, err := read(nil, Text); len(got) != 0 || err != nil {
		t.Errorf("empty: %q, %v", got, err)
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
func windowed(window uint64) []byte {
	exponent := byte(0)
	for window>>10>>exponent > 1 {
		exponent++
	}
	frame := append([]byte{}, zstdMagic...)
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
	if took := after.TotalAlloc - before.TotalAlloc; took > Text.Window+16<<20 {
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

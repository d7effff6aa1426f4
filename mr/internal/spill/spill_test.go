package spill

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn/mr/internal/mem"
)

type kv struct{ k, v string }

func writeRun(t interface{ Fatal(...any) }, path string, segments [][]kv) []Segment {
	w, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	var found []Segment
	for _, pairs := range segments {
		for _, p := range pairs {
			w.Append([]byte(p.k), []byte(p.v))
		}
		s, err := w.End()
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, s)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return found
}

func readRun(path string, s Segment) (pairs []kv, err error) {
	pool, err := mem.New(4 * mem.Chunk)
	if err != nil {
		return nil, err
	}
	defer pool.Close()
	account := pool.Account(4 * mem.Chunk)
	r := NewReader(path, s, account)
	defer func() {
		if r.Close(); account.Used() != 0 {
			panic("a closed reader has memory")
		}
	}()
	for {
		if err := r.Next(); err == io.EOF {
			return pairs, nil
		} else if err != nil {
			return pairs, err
		}
		pairs = append(pairs, kv{string(r.Key), string(r.Value)})
	}
}

// TestRun reads back what was written: pairs larger than a block, empty ones, empty segments.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		some := rapid.OneOf(rapid.StringN(0, 40, -1), rapid.Map(rapid.IntRange(BlockBytes-20, BlockBytes+20),
			func(n int) string { return strings.Repeat("z", n) }))
		pair := rapid.Custom(func(t *rapid.T) kv { return kv{some.Draw(t, "k"), some.Draw(t, "v")} })
		segments := rapid.SliceOfN(rapid.SliceOfN(pair, 0, 30), 1, 4).Draw(t, "segments")
		path := filepath.Join(dir, "run")
		found := writeRun(t, path, segments)
		defer os.Remove(path)
		for i, s := range found {
			got, err := readRun(path, s)
			if err != nil || len(got) != len(segments[i]) {
				t.Fatalf("%d pairs, want %d: %v", len(got), len(segments[i]), err)
			}
			for j := range got {
				if got[j] != segments[i][j] {
					t.Fatalf("pair %d differs", j)
				}
			}
		}
	})
}

// TestDamage flips each byte of a file in turn, and cuts it short at each: an error every time, and never other pairs.
func TestDamage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run")
	pairs := []kv{{"a", strings.Repeat("compressible ", 20)}, {"b", "x"}, {"c", strings.Repeat("y", 200)}}
	s := writeRun(t, path, [][]kv{pairs})[0]
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	try := func(b []byte) {
		t.Helper()
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := readRun(path, s)
		if !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), path) || len(got) != 0 {
			t.Errorf("%d pairs, error %v", len(got), err)
		}
	}
	for i := range whole {
		b := append([]byte{}, whole...)
		b[i] ^= 0x10
		try(b)
		try(whole[:i])
	}
	os.Remove(path)
	if _, err := readRun(path, s); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v", err)
	}
}

// FuzzReader reads files of any bytes with segments of any size: pairs or an error.
func FuzzReader(f *testing.F) {
	path := filepath.Join(f.TempDir(), "run")
	s := writeRun(f, path, [][]kv{{{"key", "value"}, {"key", strings.Repeat("value", 100)}}})[0]
	b, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b, s.Pairs)
	f.Add(append(append([]byte{}, b...), b...), 2*s.Pairs)
	f.Fuzz(func(t *testing.T, b []byte, pairs int64) {
		path := filepath.Join(t.TempDir(), "run")
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := readRun(path, Segment{Length: int64(len(b)), Pairs: pairs})
		if err == nil && int64(len(got)) != pairs {
			t.Errorf("%d pairs, want %d", len(got), pairs)
		}
	})
}

// TestFullDisk: the error names the file.
func TestFullDisk(t *testing.T) {
	f, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("no /dev/full here")
	}
	w := &Writer{file: f}
	w.Append([]byte("k"), []byte("v"))
	if _, err := w.End(); err == nil || !strings.Contains(err.Error(), "/dev/full: no space left") {
		t.Errorf("error %v", err)
	}
}

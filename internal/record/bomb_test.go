package record

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/sojourn-sched/sojourn/internal/unpack/bomb"
	"github.com/sojourn-sched/sojourn/sched"
)

// recordOf returns a record whose only block holds a frame, with lengths and checksums that are right.
func recordOf(t *testing.T, frame []byte) []byte {
	t.Helper()
	b := write(t, Header{}, Options{}, func(*Writer) {})
	b = b[:len(b)-len(endMark)]
	b = binary.LittleEndian.AppendUint32(b, uint32(len(frame)))
	b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(frame, castagnoli))
	return append(append(b, frame...), endMark...)
}

// zipped returns head and n times a byte as zstd compresses them.
func zipped(t *testing.T, head []byte, fill byte, n int) []byte {
	t.Helper()
	var b bytes.Buffer
	z, err := zstd.NewWriter(&b, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20),
		zstd.WithLowerEncoderMem(true))
	if err != nil {
		t.Fatal(err)
	}
	z.Write(head)
	for block := bytes.Repeat([]byte{fill}, 1<<20); n > 0; n -= len(block) {
		z.Write(block[:min(n, len(block))])
	}
	z.Close()
	return b.Bytes()
}

// TestBombs reads records of a few kilobytes that stand for much more: each is refused in a sentence, in little memory.
func TestBombs(t *testing.T) {
	// A block of one Step with as many Ticks as its tags say.
	ticks := func(n int) func() []byte {
		return func() []byte {
			head := append(binary.AppendUvarint(nil, uint64(n)), tagStep)
			return zipped(t, head, tagEvent+tag(sched.Tick), n)
		}
	}
	for _, c := range []struct {
		name  string
		frame func() []byte
		want  string
	}{
		{"zeros", func() []byte { return zipped(t, nil, 0, 1<<28) }, "block 1 at byte"},
		{"window", func() []byte { return []byte("\x28\xb5\x2f\xfd\x00\xa0\x03\x00\x10\x00") }, "block 1 at byte"},
		{"entries", ticks(36 << 20), "a Step of more than 1310720 events and actions"},
		{"block", ticks(256 << 20), "block 1 at byte"},
	} {
		t.Run(c.name, func(t *testing.T) {
			bomb.Within(t, func(t *testing.T) {
				var last error
				for _, err := range reader(t, recordOf(t, c.frame())).Steps() {
					last = err
				}
				if !errors.Is(last, ErrDamaged) || !strings.Contains(last.Error(), c.want) {
					t.Errorf("error %v, want %v: %s", last, ErrDamaged, c.want)
				}
			})
		})
	}
	t.Run("header", func(t *testing.T) {
		bomb.Within(t, func(t *testing.T) {
			line := io.MultiReader(strings.NewReader(magic), endless{})
			if _, err := NewReader(line, "record", Payload{}); !errors.Is(err, ErrFormat) {
				t.Errorf("error %v, want %v", err, ErrFormat)
			}
		})
	})
}

// endless yields the letter a for ever.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'a'
	}
	return len(p), nil
}

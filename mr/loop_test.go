package mr

import (
	"bufio"
	"encoding/binary"
	"math/bits"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// loopWordCount counts words as fast as a program can that does nothing else: no tasks, no parts, no limits of memory.
// The engine's word count is held against it.
func loopWordCount(path, out string, workers int) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	text, err := unix.Mmap(int(f.Fd()), 0, int(info.Size()), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return err
	}
	defer unix.Munmap(text)
	tables := make([]loopTable, workers)
	var wg sync.WaitGroup
	for i := range tables {
		from, to := loopCut(text, i*len(text)/workers), loopCut(text, (i+1)*len(text)/workers)
		wg.Go(func() {
			tables[i].grow(1 << 16)
			tables[i].count(text[from:to])
		})
	}
	wg.Wait()
	all := &tables[0]
	for i := 1; i < workers; i++ {
		for _, s := range tables[i].slots {
			if s.word != nil {
				all.add(s.a, s.b, s.word, s.n)
			}
		}
	}
	slots := slices.DeleteFunc(all.slots, func(s loopSlot) bool { return s.word == nil })
	slices.SortFunc(slots, func(x, y loopSlot) int {
		if x.a != y.a {
			if x.a < y.a {
				return -1
			}
			return 1
		}
		return strings.Compare(string(x.word), string(y.word))
	})
	w, err := os.Create(out)
	if err != nil {
		return err
	}
	defer w.Close()
	buf := bufio.NewWriterSize(w, 256<<10)
	for _, s := range slots {
		buf.Write(s.word)
		buf.WriteByte('\t')
		buf.WriteString(strconv.FormatInt(s.n, 10))
		buf.WriteByte('\n')
	}
	return buf.Flush()
}

func loopCut(text []byte, at int) int {
	for at > 0 && at < len(text) && !isBlank(text[at-1]) {
		at++
	}
	return at
}

type loopSlot struct {
	a, b uint64 // first 16 bytes
	word []byte
	n    int64
}

type loopTable struct {
	slots []loopSlot
	keys  int
}

func (t *loopTable) grow(n int) {
	old := t.slots
	t.slots, t.keys = make([]loopSlot, n), 0
	for _, s := range old {
		if s.word != nil {
			t.add(s.a, s.b, s.word, s.n)
		}
	}
}

func (t *loopTable) add(a, b uint64, word []byte, n int64) {
	mask := len(t.slots) - 1
	h := (a^bits.RotateLeft64(b, 29)^uint64(len(word)))*0x9e3779b97f4a7c15 ^ b*0xe7037ed1a0b428db
	for at := int(h>>32) & mask; ; at = (at + 1) & mask {
		s := &t.slots[at]
		if s.a == a && s.b == b && len(s.word) == len(word) && (len(word) <= 16 || string(s.word) == string(word)) {
			s.n += n
			return
		}
		if s.word == nil {
			*s = loopSlot{a, b, word, n}
			if t.keys++; 2*t.keys > len(t.slots) {
				t.grow(2 * len(t.slots))
			}
			return
		}
	}
}

func (t *loopTable) count(text []byte) {
	start := 0
	at := 0
	for ; at+24 <= len(text); at += 8 {
		x := binary.LittleEndian.Uint64(text[at:])
		for m := blankBytes(x); m != 0; m &= m - 1 {
			end := at + bits.TrailingZeros64(m)/8
			if n := end - start; n > 16 {
				w := text[start:end]
				t.add(binary.BigEndian.Uint64(w), binary.BigEndian.Uint64(w[8:]), w, 1)
			} else if n > 0 {
				w := text[start : start+16]
				a, b := binary.BigEndian.Uint64(w), binary.BigEndian.Uint64(w[8:])
				if n < 8 {
					a, b = a>>(64-8*n)<<(64-8*n), 0
				} else {
					b = b >> (128 - 8*n) << (128 - 8*n)
				}
				t.add(a, b, w[:n], 1)
			}
			start = end + 1
		}
	}
	for _, w := range strings.FieldsFunc(string(text[start:]), func(r rune) bool {
		return r < 0x80 && isBlank(byte(r))
	}) {
		var k [16]byte
		copy(k[:], w)
		t.add(binary.BigEndian.Uint64(k[:]), binary.BigEndian.Uint64(k[8:]), []byte(w), 1)
	}
}

func BenchmarkWordCountLoop(b *testing.B) {
	path, size := benchmarkInput(b, "TEXT")
	b.SetBytes(size)
	out := b.TempDir() + "/out"
	measure(b, size, func() {
		if err := loopWordCount(path, out, cores); err != nil {
			b.Fatal(err)
		}
	})
}

package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"
	"os"
	"slices"
	"strconv"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// loopWordCount counts the words of a file and writes them sorted, word TAB count, as the engine's wordcount does: as
// fast as we know how to write it in Go for this one job, this one machine and memory without end. It has no splits,
// tasks, retries, bounds or partitions; it is what the engine is held against. The text is mapped; each of a few
// goroutines counts a part of it into a table of its own; then each adds up and sorts the words of one part of the
// hashes; then one goroutine merges the sorted lists into the file.
func loopWordCount(in, out string, workers int) error {
	text, err := mapFile(in)
	if err != nil {
		return err
	}
	tables := make([]*loopTable, workers)
	each(workers, func(i int) {
		tables[i] = newLoopTable(text, 1<<16)
		tables[i].count(loopCut(text, i*len(text)/workers), loopCut(text, (i+1)*len(text)/workers))
	})
	lists := make([][]loopSlot, workers)
	each(workers, func(i int) { lists[i] = sorted(text, mergedPart(text, tables, i)) })
	return writeCounts(out, text, lists)
}

// mapFile maps a file for reading, until the process ends. It refuses an empty file, and one of 2^40 bytes or more,
// whose offsets do not fit into a loopSlot.
func mapFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() == 0 || info.Size() >= 1<<40 {
		return nil, fmt.Errorf("%s has %d bytes: must be above 0 and below 2^40", path, info.Size())
	}
	return unix.Mmap(int(f.Fd()), 0, int(info.Size()), unix.PROT_READ, unix.MAP_SHARED|unix.MAP_POPULATE)
}

// each calls f for 0 to n−1, all at once.
func each(n int, f func(int)) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { f(i) })
	}
	all.Wait()
}

// isBlank are the bytes between words: those of the engine's wordcount.
func isBlank(c byte) bool {
	return c == ' ' || c == '\t' || c == '\n' || c == '\f' || c == '\r'
}

// loopCut returns the first place at or after at where no word goes on.
func loopCut(text []byte, at int) int {
	for at > 0 && at < len(text) && !isBlank(text[at-1]) {
		at++
	}
	return at
}

// A loopSlot is a word: its first 16 bytes, with zeros behind a shorter one, where it is first seen, and how often. An
// empty slot has a count of zero.
type loopSlot struct {
	a, b  uint64 // as they lie in memory: the first byte is the lowest
	where uint64 // offset<<24 | length
	n     uint64
}

// longestWord is the length that fits into a slot.
const longestWord = 1<<24 - 1

func (s *loopSlot) word(text []byte) []byte {
	at := s.where >> 24
	return text[at : at+s.where&longestWord]
}

// hash mixes the first 16 bytes, and the last 8 of longer words: those of one beginning, such as paths, are many.
func (s *loopSlot) hash(text []byte) uint64 {
	if s.where&longestWord > 16 {
		return s.longHash(text)
	}
	return loopHash(s.a, s.b)
}

func (s *loopSlot) longHash(text []byte) uint64 {
	n := s.where & longestWord
	end := s.where>>24 + n
	return loopHash(s.a, s.b^(binary.LittleEndian.Uint64(text[end-8:end])+n)*0x589965cc75374cc3)
}

func loopHash(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a^0x9e3779b97f4a7c15, b^0xe7037ed1a0b428db)
	return (hi ^ lo) * 0x8ebc6af09c88c6e3
}

// same reports whether two slots have the same word.
func (s *loopSlot) same(t *loopSlot, text []byte) bool {
	if s.a != t.a || s.b != t.b || s.where&longestWord != t.where&longestWord {
		return false
	}
	return s.where&longestWord <= 16 || bytes.Equal(s.word(text), t.word(text))
}

// A loopTable is open addressing with linear probes, by the upper bits of the hash, at most half full.
type loopTable struct {
	text  []byte
	slots []loopSlot
	shift int
	words int
	spans [loopBatch]loopSpan
	todo  [loopBatch]loopWord
	sum   uint64 // keeps the loads of flush from being left out
}

// A loopSpan is where a word lies in the text.
type loopSpan struct{ start, end int }

// A loopWord is a word that is not in the table yet.
type loopWord struct {
	loopSlot
	hash uint64
}

func newLoopTable(text []byte, size int) *loopTable {
	return &loopTable{text: text, slots: loopSlots(size), shift: 64 - bits.TrailingZeros(uint(size))}
}

// loopSlots makes empty slots: on huge pages, where the system has any, since every word looks elsewhere.
func loopSlots(n int) []loopSlot {
	raw, err := unix.Mmap(-1, 0, n*int(unsafe.Sizeof(loopSlot{})), unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return make([]loopSlot, n)
	}
	_ = unix.Madvise(raw, unix.MADV_HUGEPAGE) // slower without, not wrong
	return unsafe.Slice((*loopSlot)(unsafe.Pointer(&raw[0])), n)
}

// loopBatch is how many words are split before they are counted: enough that the misses of their slots overlap.
const loopBatch = 128

// add counts a word n times.
func (t *loopTable) add(w *loopSlot, hash, n uint64) {
	mask := len(t.slots) - 1
	for at := int(hash>>t.shift) & mask; ; at = (at + 1) & mask {
		s := &t.slots[at]
		if s.n == 0 {
			*s = loopSlot{w.a, w.b, w.where, n}
			if t.words++; 2*t.words > len(t.slots) {
				t.grow()
			}
			return
		}
		if s.same(w, t.text) {
			s.n += n
			return
		}
	}
}

func (t *loopTable) grow() {
	bigger := newLoopTable(t.text, 2*len(t.slots))
	for i := range t.slots {
		if s := &t.slots[i]; s.n > 0 {
			bigger.add(s, s.hash(t.text), s.n)
		}
	}
	t.slots, t.shift = bigger.slots, bigger.shift
}

// wordMasks keep the first n bytes of the two halves of 16, by n.
var wordMasks = func() (m [17][2]uint64) {
	for n := range m {
		m[n][0] = 1<<(8*min(n, 8)) - 1
		m[n][1] = 1<<(8*max(n-8, 0)) - 1
	}
	return m
}()

// flush counts the first n spans. It goes over them three times, each time without a branch that could be guessed
// wrong, but for the last: what the words are, a look at each one's slot, so that the processor has many misses under
// way, and the counting.
func (t *loopTable) flush(n int) {
	for i := range t.spans[:n] {
		sp, w := &t.spans[i], &t.todo[i]
		length := sp.end - sp.start
		first := t.text[sp.start : sp.start+16]
		mask := &wordMasks[min(length, 16)]
		w.a, w.b = binary.LittleEndian.Uint64(first)&mask[0], binary.LittleEndian.Uint64(first[8:])&mask[1]
		w.where = uint64(sp.start)<<24 | uint64(length)
		w.hash = loopHash(w.a, w.b)
		if length > 16 {
			w.hash = w.longHash(t.text)
		}
	}
	sum := uint64(0)
	for i := range t.todo[:n] {
		sum += t.slots[t.todo[i].hash>>t.shift].n
	}
	t.sum += sum
	for i := range t.todo[:n] {
		w := &t.todo[i]
		s := &t.slots[w.hash>>t.shift]
		if length := w.where & longestWord; s.a == w.a && s.b == w.b && s.where&longestWord == length && length <= 16 &&
			s.n > 0 {
			s.n++
			continue
		}
		t.add(&w.loopSlot, w.hash, 1)
	}
}

// addLast counts a word so near the end of the text that 16 bytes behind its start cannot be read.
func (t *loopTable) addLast(start, end int) {
	if start == end {
		return
	}
	var w [16]byte
	copy(w[:], t.text[start:end])
	s := loopSlot{
		binary.LittleEndian.Uint64(w[:]),
		binary.LittleEndian.Uint64(w[8:]),
		uint64(start)<<24 | uint64(end-start),
		0,
	}
	t.add(&s, s.hash(t.text), 1)
}

// count counts the words of text[from:to]; no word crosses either.
func (t *loopTable) count(from, to int) {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	start, at, n := from, from, 0
	for last := min(to, len(t.text)-16); at+8 <= last; at += 8 {
		x := binary.LittleEndian.Uint64(t.text[at:])
		// The high bit of each byte below 0x21: all blanks, and few others.
		for m := ^(x&^high + (0x80-0x21)*ones | x) & high; m != 0; m &= m - 1 {
			end := at + bits.TrailingZeros64(m)>>3
			if c := t.text[end]; c != ' ' && !isBlank(c) {
				continue
			}
			if end > start {
				t.spans[n] = loopSpan{start, end}
				n++
			}
			start = end + 1
		}
		if n > loopBatch-8 {
			t.flush(n)
			n = 0
		}
	}
	t.flush(n)
	for end := at; end < to; end++ {
		if isBlank(t.text[end]) {
			t.addLast(start, end)
			start = end + 1
		}
	}
	if start < to {
		t.addLast(start, to)
	}
}

// mergedPart adds up the words of all tables whose hash is in the i-th part of all hashes.
func mergedPart(text []byte, tables []*loopTable, i int) []loopSlot {
	most := 0
	for k := range tables {
		most = max(most, tables[k].words)
	}
	all := newLoopTable(text, 1<<bits.Len(uint(2*most/len(tables)+1024)))
	for k := range tables {
		for j := range tables[k].slots {
			s := &tables[k].slots[j]
			if s.n == 0 {
				continue
			}
			// The low bits choose the part, since the high ones choose the slot.
			if h := s.hash(text); int(h&0xffff)*len(tables)>>16 == i {
				all.add(s, h, s.n)
			}
		}
	}
	return slices.DeleteFunc(all.slots, func(s loopSlot) bool { return s.n == 0 })
}

// sorted sorts words, which have no zeros in them as a rule: scattered by their first two bytes, then bucket by bucket.
func sorted(text []byte, words []loopSlot) []loopSlot {
	starts := make([]int, 1<<16+1)
	bucket := func(s *loopSlot) int { return int(bits.ReverseBytes16(uint16(s.a))) }
	for i := range words {
		starts[bucket(&words[i])+1]++
	}
	for i := range 1 << 16 {
		starts[i+1] += starts[i]
	}
	list, next := make([]loopSlot, len(words)), slices.Clone(starts)
	for i := range words {
		b := bucket(&words[i])
		list[next[b]] = words[i]
		next[b]++
	}
	for i := range 1 << 16 {
		if part := list[starts[i]:starts[i+1]]; len(part) > 1 {
			slices.SortFunc(part, func(x, y loopSlot) int { return compareWords(text, &x, &y) })
		}
	}
	return list
}

// compareWords orders words byte by byte: mostly by the first eight, without a look at the text.
func compareWords(text []byte, x, y *loopSlot) int {
	if x.a != y.a {
		if bits.ReverseBytes64(x.a) < bits.ReverseBytes64(y.a) {
			return -1
		}
		return 1
	}
	return bytes.Compare(x.word(text), y.word(text))
}

// writeCounts merges sorted lists of words into a file.
func writeCounts(path string, text []byte, lists [][]loopSlot) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<20)
	var line []byte
	for {
		least := -1
		for i := range lists {
			if len(lists[i]) > 0 && (least < 0 || compareWords(text, &lists[i][0], &lists[least][0]) < 0) {
				least = i
			}
		}
		if least < 0 {
			break
		}
		s := &lists[least][0]
		lists[least] = lists[least][1:]
		line = append(append(line[:0], s.word(text)...), '\t')
		line = append(strconv.AppendUint(line, s.n, 10), '\n')
		if _, err := w.Write(line); err != nil {
			return err
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return f.Close()
}

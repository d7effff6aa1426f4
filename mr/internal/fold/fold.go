// Package fold is the hash table that folds the values of equal keys into one: linear probing over slots of half a
// cache line, which hold keys up to 16 bytes themselves. Work is done for many keys at a time, first the arithmetic,
// then a request for each slot, then the probing, so that the misses of different keys overlap.
package fold

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"unsafe"

	"github.com/sojourn-sched/sojourn/mr/internal/mem"
	"github.com/sojourn-sched/sojourn/mr/internal/order"
	"github.com/sojourn-sched/sojourn/mr/internal/pair"
)

const (
	batch    = 128 // keys whose misses overlap
	inline   = 16  // bytes of a key that fit its slot
	lenBits  = 16
	lenMask  = 1<<lenBits - 1
	minSlots = 1 << 10

	slotShift = 5 // a slot has 1<<slotShift bytes
)

// slot holds one key. tag is its length + 1, at most lenMask, and above that where the key lies in the arena, if it is
// longer than inline: 4 bytes of its length, then the key. Zero: the slot is free.
type slot struct {
	a, b  uint64 // pair.Words
	tag   uint64
	value int64 // a sum of one integer; else where the value lies
}

// Span is a piece of a text.
type Span = struct{ Start, End uint32 }

// Table is the table. It is full when its account is: what is to be folded is then refused, the caller empties the
// table somewhere and goes on with a cleared one.
type Table struct {
	account *mem.Account
	slots   []slot
	shift   uint // of a hash, to the index of its slot
	keys    int
	added   int // pairs of AddEach and Add since the last Reset
	width   int
	into    func(acc, value []byte)
	long    mem.Arena // keys longer than inline
	values  mem.Arena // unless width is 0 or a single sum
	todo    [batch]probe
	// of keys in long that are about to be compared: no pointers, for the garbage collector's sake
	ahead [batch]uintptr
}

type probe struct {
	a, b uint64
	at   uint32 // slot
	n    uint32 // length of the key
}

// New makes an empty table of values of width bytes; width 0: only the keys matter. into folds value into acc; nil:
// both are little-endian int64, added one by one. The table takes nothing from the account before the first key or
// Reserve.
func New(account *mem.Account, width int, into func(acc, value []byte)) *Table {
	t := &Table{account: account, width: width, into: into}
	t.long.Account, t.values.Account = account, account
	return t
}

// single: values are one integer, kept in the slot.
func (t *Table) single() bool { return t.width == 8 && t.into == nil }

// Len is how many keys there are.
func (t *Table) Len() int { return t.keys }

// Repeats reports whether each key came often, so that another text has few that are new.
func (t *Table) Repeats() bool { return t.added >= 8*t.keys }

// Bytes is about how many bytes all keys and values have.
func (t *Table) Bytes() int64 { return int64(t.keys*(inline/2+t.width)) + t.long.Used() }

// Reserve makes room for so many keys in all, if the account allows.
func (t *Table) Reserve(keys int) bool {
	for 2*keys > len(t.slots) {
		if !t.grow(max(minSlots, 1<<bits.Len(uint(2*keys-1)))) {
			return false
		}
	}
	return true
}

func (t *Table) grow(n int) bool {
	old := t.slots
	get := mem.Slice[slot]
	if old == nil && n == minSlots {
		get = mem.NeedSlice[slot] // an empty table takes a key, even while others use up the pool
	}
	slots := get(t.account, n)
	if slots == nil {
		return false
	}
	clear(slots)
	t.slots, t.shift = slots, uint(64-bits.TrailingZeros(uint(n)))
	for i := range old {
		if s := &old[i]; s.tag != 0 {
			at := t.home(s)
			for t.slots[at].tag != 0 {
				at = (at + 1) & (len(t.slots) - 1)
			}
			t.slots[at] = *s
		}
	}
	mem.FreeSlice(t.account, old)
	return true
}

func (t *Table) home(s *slot) int { return int(t.hash(s) >> t.shift) }

func (t *Table) hash(s *slot) uint64 { return pair.Mix(s.a, s.b, t.length(s)) }

func (t *Table) length(s *slot) int {
	if n := int(s.tag & lenMask); n < lenMask {
		return n - 1
	}
	return int(binary.LittleEndian.Uint32(t.long.Get(s.tag>>lenBits, 4)))
}

// key is the key of a slot; keys that fit the slot are put together in buf.
func (t *Table) key(s *slot, buf *[inline]byte) []byte {
	n := t.length(s)
	if n > inline {
		return t.long.Get(s.tag>>lenBits, 4+n)[4:]
	}
	binary.BigEndian.PutUint64(buf[:], s.a)
	binary.BigEndian.PutUint64(buf[8:], s.b)
	return buf[:n]
}

// AddEach folds the same value into each of keys, pieces of text, and gives how many it got done: less than all where
// the table is full.
func (t *Table) AddEach(text []byte, keys []Span, value []byte) (done int) {
	for done < len(keys) {
		some := keys[done:min(done+batch, len(keys))]
		if !t.room(len(some)) {
			return done
		}
		for i, k := range some {
			p := &t.todo[i]
			n := k.End - k.Start
			if at := int(k.Start); n <= inline && at+inline <= len(text) {
				w := text[at : at+inline]
				p.a = binary.BigEndian.Uint64(w) & pair.MaskA[n]
				p.b = binary.BigEndian.Uint64(w[8:]) & pair.MaskB[n]
			} else {
				p.a, p.b = pair.Words(text[k.Start:k.End])
			}
			p.n = n
			p.at = uint32(pair.Mix(p.a, p.b, int(n)) >> t.shift)
		}
		t.prefetch(len(some))
		if t.single() {
			delta := int64(binary.LittleEndian.Uint64(value))
			for i := range some {
				p := &t.todo[i]
				s := &t.slots[p.at]
				if s.a == p.a && s.b == p.b && s.tag == uint64(p.n)+1 && p.n <= inline {
					s.value += delta
					continue
				}
				s, ok := t.find(p, text[some[i].Start:some[i].End])
				if !ok {
					return done + i
				}
				s.value += delta
			}
		} else {
			for i := range some {
				if !t.add(&t.todo[i], text[some[i].Start:some[i].End], value) {
					return done + i
				}
			}
		}
		done += len(some)
		t.added += len(some)
	}
	return done
}

// AddPairs folds pairs as package pair writes them, and gives how far it got: len(pairs) unless the table is full.
func (t *Table) AddPairs(pairs []byte) (next int) {
	var begin, key [batch]int
	for next < len(pairs) {
		n := 0
		if !t.room(batch) {
			return next
		}
		at := next
		for ; n < batch && at < len(pairs); n++ {
			k, v, p := pair.Head(pairs, at)
			if p < 0 {
				panic("fold: not a pair")
			}
			begin[n], key[n] = at, p
			w := &t.todo[n]
			w.a, w.b = pair.Words(pairs[p : p+k])
			w.n = uint32(k)
			w.at = uint32(pair.Mix(w.a, w.b, k) >> t.shift)
			at = p + k + v
		}
		t.prefetch(n)
		for i := range n {
			w := &t.todo[i]
			p := key[i] + int(w.n)
			if !t.add(w, pairs[key[i]:p], pairs[p:p+t.width]) {
				return begin[i]
			}
		}
		next = at
	}
	return next
}

// prefetch asks the cache for the slots, and then for the long keys, that the first n probes will look at.
func (t *Table) prefetch(n int) {
	prefetch(&t.slots[0], &t.todo[0], n)
	m := 0
	for i := range t.todo[:n] {
		if p := &t.todo[i]; p.n > inline {
			if s := &t.slots[p.at]; s.a == p.a && s.b == p.b && s.tag&lenMask > inline+1 {
				t.ahead[m] = t.address(s)
				m++
			}
		}
	}
	prefetchEach(&t.ahead[0], m)
}

// address is where the long key of a slot lies.
func (t *Table) address(s *slot) uintptr { return uintptr(unsafe.Pointer(t.long.At(s.tag >> lenBits))) }

// Add folds one pair, and reports whether there was room.
func (t *Table) Add(key, value []byte) bool {
	if !t.room(1) {
		return false
	}
	p := &t.todo[0]
	p.a, p.b = pair.Words(key)
	p.n = uint32(len(key))
	p.at = uint32(pair.Mix(p.a, p.b, len(key)) >> t.shift)
	t.added++
	return t.add(p, key, value)
}

// room makes sure that n more keys find a slot, at most half of all being taken.
func (t *Table) room(n int) bool {
	return 2*(t.keys+n) <= len(t.slots) || t.Reserve(t.keys+n)
}

func (t *Table) add(p *probe, key, value []byte) bool {
	before := t.keys
	s, ok := t.find(p, key)
	if !ok {
		return false
	}
	switch {
	case t.single():
		s.value += int64(binary.LittleEndian.Uint64(value))
	case t.width == 0:
	case t.keys != before:
		ref, b := t.values.Make(t.width)
		if b == nil {
			t.drop(s)
			return false
		}
		copy(b, value)
		s.value = int64(ref)
	case t.into != nil:
		t.into(t.values.Get(uint64(s.value), t.width), value)
	default:
		AddInts(t.values.Get(uint64(s.value), t.width), value)
	}
	return true
}

// drop takes out the key that was put in last; none has been put behind it yet. An empty table keeps its slots only: an
// arena with a chunk would not take the next key while others use up the pool.
func (t *Table) drop(s *slot) {
	*s = slot{}
	if t.keys--; t.keys == 0 {
		t.long.Reset()
	}
}

// AddInts adds the little-endian int64 of value to those of acc, element by element.
func AddInts(acc, value []byte) {
	for i := 0; i+8 <= len(acc); i += 8 {
		binary.LittleEndian.PutUint64(acc[i:], binary.LittleEndian.Uint64(acc[i:])+
			binary.LittleEndian.Uint64(value[i:]))
	}
}

// find finds the slot of a key, or takes one for it; ok is false where there is no room for a long key.
func (t *Table) find(p *probe, key []byte) (s *slot, ok bool) {
	mask := len(t.slots) - 1
	tag := uint64(min(p.n+1, lenMask))
	for at := int(p.at); ; at = (at + 1) & mask {
		s = &t.slots[at]
		if s.tag == 0 {
			break
		}
		if s.a != p.a || s.b != p.b || s.tag&lenMask != tag {
			continue
		}
		if p.n <= inline || t.length(s) == len(key) && bytes.Equal(t.long.Get(s.tag>>lenBits, 4+len(key))[4:], key) {
			return s, true
		}
	}
	if p.n > inline {
		ref, b := t.long.Make(4 + len(key))
		if b == nil {
			return nil, false
		}
		binary.LittleEndian.PutUint32(b, uint32(len(key)))
		copy(b[4:], key)
		tag |= ref << lenBits
	}
	t.keys++
	*s = slot{a: p.a, b: p.b, tag: tag}
	return s, true
}

// Cursor reads the pairs of a table, which must not be written to meanwhile.
type Cursor struct {
	Key, Value []byte // lent until Next
	Hash       uint64 // pair.Hash of Key
	t          *Table
	at         int
	fetched    int  // slots before this one have been asked for
	sorted     bool // by entries; else all slots as they lie
	entries    []order.Entry
	buf        [inline]byte
	sum        [8]byte
	seen       uint64 // keeps the loads of Ahead
}

// Ahead loads what the next n calls of Next need. Pairs in the order of their keys lie anywhere in memory: loading them
// all at once takes much less time than one after the other, because the cache misses overlap.
func (c *Cursor) Ahead(n int) {
	if !c.sorted {
		return
	}
	some := c.entries[c.at:min(c.at+n, len(c.entries))]
	seen := uint64(0)
	for _, e := range some {
		seen += c.t.slots[e.Ref].tag
	}
	for _, e := range some {
		if s := &c.t.slots[e.Ref]; c.t.length(s) > inline {
			seen += uint64(c.t.long.Get(s.tag>>lenBits, 1)[0])
		}
	}
	c.seen = seen
}

// Pairs reads all pairs in the order of their hashes.
func (t *Table) Pairs() *Cursor { return &Cursor{t: t} }

// fetch asks the cache for the long keys of the next slots.
func (c *Cursor) fetch() {
	t, m := c.t, 0
	c.fetched = min(c.at+batch, len(t.slots))
	for i := range t.slots[c.at:c.fetched] {
		if s := &t.slots[c.at+i]; s.tag&lenMask > inline+1 {
			t.ahead[m] = t.address(s)
			m++
		}
	}
	prefetchEach(&t.ahead[0], m)
}

// Next moves to the next pair and reports whether there is one.
func (c *Cursor) Next() bool {
	var s *slot
	if c.sorted {
		if c.at == len(c.entries) {
			return false
		}
		s = &c.t.slots[c.entries[c.at].Ref]
		c.at++
	} else {
		for {
			if c.at == len(c.t.slots) {
				return false
			}
			if c.at == c.fetched {
				c.fetch()
			}
			s = &c.t.slots[c.at]
			c.at++
			if s.tag != 0 {
				break
			}
		}
		c.Hash = c.t.hash(s)
	}
	c.Key = c.t.key(s, &c.buf)
	switch t := c.t; {
	case t.single():
		binary.LittleEndian.PutUint64(c.sum[:], uint64(s.value))
		c.Value = c.sum[:]
	case t.width > 0:
		c.Value = t.values.Get(uint64(s.value), t.width)
	}
	return true
}

// Sorted is a table put in order, by part and key. It can only be read and then Reset.
type Sorted struct {
	t       *Table
	entries []order.Entry
	ends    []int // of each part, in entries
}

// Sort puts the pairs in order: first by part, which is below parts, then by key. It needs no memory of the account:
// at most half of the slots are taken, the pairs move to the front, and the entries fit into the other half.
func (t *Table) Sort(parts int, part func(key []byte, hash uint64) int) *Sorted {
	n := 0
	for i := range t.slots {
		if t.slots[i].tag != 0 {
			t.slots[n] = t.slots[i]
			n++
		}
	}
	s := &Sorted{t: t, ends: make([]int, parts)}
	if n == 0 {
		return s
	}
	free := unsafe.Slice((*order.Entry)(unsafe.Pointer(&t.slots[n])), 2*n)
	entries, tmp := free[:n], free[n:]
	var buf [inline]byte
	if parts > 1 {
		starts := make([]int, parts+1)
		for i := range n {
			p := part(t.key(&t.slots[i], &buf), t.hash(&t.slots[i]))
			tmp[i].Ref = uint64(p)
			starts[p+1]++
		}
		for p := range parts {
			starts[p+1] += starts[p]
		}
		for i := range n {
			p := tmp[i].Ref
			entries[starts[p]] = order.Entry{Prefix: t.prefix(i), Ref: uint64(i)}
			starts[p]++
		}
		copy(s.ends, starts)
	} else {
		for i := range n {
			entries[i] = order.Entry{Prefix: t.prefix(i), Ref: uint64(i)}
		}
		s.ends[0] = n
	}
	key := func(ref uint64) []byte { return t.key(&t.slots[ref], &buf) }
	from := 0
	for _, to := range s.ends {
		order.Sort(entries[from:to], tmp[from:to], key)
		from = to
	}
	s.entries = entries
	return s
}

func (t *Table) prefix(i int) uint64 {
	s := &t.slots[i]
	if n := s.tag&lenMask - 1; n < 8 {
		return s.a | n
	}
	return s.a&^0xff | 8
}

// Part reads the pairs of a part in the order of their keys.
func (s *Sorted) Part(i int) *Cursor {
	from := 0
	if i > 0 {
		from = s.ends[i-1]
	}
	return &Cursor{t: s.t, sorted: true, entries: s.entries[from:s.ends[i]]}
}

// Reset forgets all keys; keep says to keep the slots for as many again.
func (t *Table) Reset(keep bool) {
	t.long.Reset()
	t.values.Reset()
	t.keys, t.added = 0, 0
	if keep {
		clear(t.slots)
		return
	}
	mem.FreeSlice(t.account, t.slots)
	t.slots = nil
}

// Shrink frees the slots of an empty table that has more than the least, and reports whether it had.
func (t *Table) Shrink() bool {
	more := t.keys == 0 && len(t.slots) > minSlots
	if more {
		t.Reset(false)
	}
	return more
}

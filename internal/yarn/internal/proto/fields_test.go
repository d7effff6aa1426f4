package proto

import (
	"bytes"
	"encoding/hex"
	"reflect"
	"strings"
	"testing"
)

// A shape has a field of each form. Its numbers go up; 6 is not named.
type shape struct {
	id     int64
	name   string
	zig    int32
	x      float32
	on     bool
	call   int32
	many   []int32
	words  []string
	inner  leaf
	maybe  *leaf
	leaves []leaf
	wide   []int32
	copied []byte
	lent   []byte
	state  int32 // 7 where it is missing
	rest   []byte

	calls int
}

func (m *shape) Fields(f *Fields) {
	m.calls++
	if f.Begins() {
		m.state = 7
	}
	f.Int64(1, &m.id)
	f.String(2, &m.name)
	f.Sint32(3, &m.zig)
	f.Float(4, &m.x)
	f.Bool(5, &m.on)
	f.Uint32(7, &m.call)
	f.Ints(8, &m.many)
	f.Strings(9, &m.words)
	f.Message(10, &m.inner)
	Optional(f, 11, &m.maybe)
	Repeated(f, 12, &m.leaves)
	f.Within(13, func() {
		RepeatedWithin(f, 1, &m.wide, func(n *int32) { f.Int32(2, n) })
	})
	f.Put(14, 300)
	f.PutString(15, "s")
	f.PutWithin(16, func() { f.Put(1, 1) })
	if f.Has(m.copied != nil) {
		f.Bytes(17, &m.copied)
	}
	if f.Has(m.lent != nil) {
		f.Lent(18, &m.lent)
	}
	f.Int32(19, &m.state)
	f.Skip(20)
	f.Rest(30, &m.rest)
}

type leaf struct{ n int32 }

func (m *leaf) Fields(f *Fields) { f.Int32(1, &m.n) }

// byHand reads a shape as it would be written out for reading alone.
func byHand(b []byte) (m shape, err error) {
	m.state = 7
	r := Read(b)
	for r.Next() {
		switch n := r.Num(); {
		case n == 1:
			m.id = r.Int64()
		case n == 2:
			m.name = r.String()
		case n == 3:
			m.zig = r.Sint32()
		case n == 4:
			m.x = r.Float()
		case n == 5:
			m.on = r.Bool()
		case n == 7:
			m.call = r.Int32()
		case n == 8:
			m.many = r.Ints(m.many)
		case n == 9:
			m.words = append(m.words, r.String())
		case n == 10:
			r.Message(handLeaf{&m.inner})
		case n == 11:
			if m.maybe == nil && r.is(2) {
				m.maybe = new(leaf)
			}
			r.Message(handLeaf{m.maybe})
		case n == 12:
			var l leaf
			r.Message(handLeaf{&l})
			m.leaves = append(m.leaves, l)
		case n == 13:
			r.Message(handWide{&m.wide})
		case n == 17:
			m.copied = r.Bytes()
		case n == 18:
			m.lent = r.Lent()
		case n == 19:
			m.state = r.Int32()
		case n >= 30:
			m.rest = append(m.rest, r.Raw()...)
		}
	}
	return m, r.Err()
}

type handLeaf struct{ m *leaf }

func (h handLeaf) Decode(b []byte) error {
	r := Read(b)
	for r.Next() {
		if r.Num() == 1 {
			h.m.n = r.Int32()
		}
	}
	return r.Err()
}

type handWide struct{ list *[]int32 }

func (h handWide) Decode(b []byte) error {
	r := Read(b)
	for r.Next() {
		if r.Num() == 1 {
			var n handInt
			r.Message(&n)
			*h.list = append(*h.list, int32(n))
		}
	}
	return r.Err()
}

type handInt int32

func (h *handInt) Decode(b []byte) error {
	r := Read(b)
	for r.Next() {
		if r.Num() == 2 {
			*h = handInt(r.Int32())
		}
	}
	return r.Err()
}

func full() *shape {
	return &shape{
		id:    -1,
		name:  "a",
		zig:   -33,
		x:     0.5,
		on:    true,
		call:  -33,
		many:  []int32{1, -2},
		words: []string{"", "b"},
		inner: leaf{1},
		maybe: &leaf{},
		leaves: []leaf{
			{2},
			{3},
		},
		wide:   []int32{4, 200},
		copied: []byte{},
		lent:   []byte("l"),
		state:  5,
		rest:   []byte{0xf2, 1, 1, 'r'},
	}
}

func TestFieldsBytes(t *testing.T) {
	// By the encoding's definition: see TestBytes; -33 as a uint32 takes five bytes, 200 and 300 take two, and from
	// field 16 on a tag does.
	want := "08ffffffffffffffffff01" + "120161" + "1841" + "250000003f" + "2801" + "38dfffffff0f" + "4001" +
		"40feffffffffffffffff01" + "4a00" + "4a0162" +
		"52020801" + "5a020800" + "62020802" + "62020803" + "6a09" + "0a021004" + "0a0310c801" + "70ac02" + "7a0173" +
		"8201020801" +
		"8a0100" + "9201016c" + "980105" + "f2010172"
	m := full()
	b := Append([]byte("before"), m)
	if got := hex.EncodeToString(b[6:]); got != want || string(b[:6]) != "before" {
		t.Errorf("written\n%s, want\n%s", got, want)
	}
	if m.calls != 1 {
		t.Errorf("written in %d calls", m.calls)
	}
	var got shape
	if err := Decode(b[6:], &got); err != nil {
		t.Fatal(err)
	}
	if got.calls != 1 {
		t.Errorf("fields in order are read in %d calls, want one", got.calls)
	}
	got.calls = m.calls
	if !reflect.DeepEqual(&got, m) {
		t.Errorf("read\n%+v, want\n%+v", got, m)
	}
	if &got.lent[0] != &b[6+bytes.Index(b[6:], []byte("\x01l"))+1] {
		t.Error("what is lent was copied")
	}
	// What is empty and optional is not written, all else is; reading it, only what is missing is set.
	got = shape{}
	if b := Append(nil, &got); bytes.Contains(b, []byte("\x8a\x01")) ||
		!bytes.HasPrefix(b, []byte("\x08\x00\x12\x00")) {
		t.Errorf("an empty one is written as %x", b)
	}
	if err := Decode(nil, &got); err != nil || got.state != 7 || got.maybe != nil {
		t.Errorf("of nothing %+v was read, %v", got, err)
	}
}

// Fields may come in any order, with others between them, and messages in parts, which are merged.
func TestFieldsOrder(t *testing.T) {
	m := full()
	var parts [][]byte
	for r := Read(Append(nil, m)); r.Next(); {
		parts = append(parts, r.Raw())
	}
	var b []byte
	for i := range parts {
		b = append(b, parts[len(parts)-1-i]...)
		b = append(b, 0x30, byte(i&0x7f)) // field 6
	}
	var got shape
	if err := Decode(b, &got); err != nil {
		t.Fatal(err)
	}
	hand, err := byHand(b)
	if hand.calls = got.calls; err != nil || !reflect.DeepEqual(got, hand) {
		t.Errorf("read\n%+v, want\n%+v, %v", got, hand, err)
	}
	if got.wide[0] != 4 || got.leaves[0].n != 3 || got.words[0] != "b" ||
		got.zig != -33 { // lists are the other way round, but not in one message
		t.Errorf("read %+v", got)
	}
}

func TestFieldsRefused(t *testing.T) {
	for name, c := range map[string]struct{ hex, want string }{
		"cut in a varint":       {"08ff", "field 1: unexpected EOF"},
		"field number 0":        {"080000" + "01", "field number 0 is not valid"},
		"string as a varint":    {"1001", "field 2: wire type 0, must be 2"},
		"number as a string":    {"0a0131", "field 1: wire type 2, must be 0"},
		"message as a varint":   {"5001", "field 10: wire type 0, must be 2"},
		"in a message":          {"52020a00", "field 10: field 1: wire type 2, must be 0"},
		"in one of many":        {"6203089601" + "620108", "field 12: field 1: unexpected EOF"},
		"in one within another": {"6a040a021200", "field 13: field 1: field 2: wire type 2, must be 0"},
		"after a message":       {"52020801" + "3a", "field 7: unexpected EOF"},
	} {
		b, err := hex.DecodeString(c.hex)
		if err != nil {
			t.Fatal(err)
		}
		if err := Decode(b, new(shape)); err == nil || err.Error() != c.want {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	for _, tag := range []byte{0x62, 0x0a} {
		b := bytes.Repeat([]byte{tag, 0}, mostElements+1)
		if tag == 0x0a { // within field 13
			b = AppendBytes(nil, 13, b)
		}
		var m shape
		if err := Decode(b, &m); err == nil || !strings.Contains(err.Error(), "more than 262144 elements") ||
			len(m.leaves)+len(m.wide) != mostElements {
			t.Errorf("tag %#x: %d elements, %v", tag, len(m.leaves)+len(m.wide), err)
		}
	}
}

// lists is a message of repeated strings and numbers.
type lists struct {
	words   []string
	numbers []int32
}

func (m *lists) Fields(f *Fields) {
	f.Strings(1, &m.words)
	f.Ints(2, &m.numbers)
}

// Strings and numbers, packed or not, are bounded as messages are: an empty one takes a byte or two on the wire.
func TestTooManyWords(t *testing.T) {
	packed := AppendBytes(nil, 2, make([]byte, mostElements))
	for name, b := range map[string][]byte{
		"strings": bytes.Repeat([]byte{0x0a, 0}, mostElements),
		"numbers": bytes.Repeat([]byte{0x10, 0}, mostElements),
		"packed":  packed,
	} {
		var m lists
		if err := Decode(b, &m); err != nil || len(m.words)+len(m.numbers) != mostElements {
			t.Errorf("%s: %d elements, %v", name, len(m.words)+len(m.numbers), err)
		}
		more := append(b, b[:2]...)
		if name == "packed" {
			more = append(b, 0x10, 0)
		}
		m = lists{}
		if err := Decode(more, &m); err == nil || len(m.words)+len(m.numbers) != mostElements {
			t.Errorf("%s, one more: %d elements, %v", name, len(m.words)+len(m.numbers), err)
		}
	}
	var m lists
	if err := Decode(AppendBytes(nil, 2, make([]byte, mostElements+1)), &m); err == nil {
		t.Errorf("%d packed numbers are no error", len(m.numbers))
	}
}

// A part of a message, of any form, reads as it would by hand.
func FuzzFields(f *testing.F) {
	f.Add(Append(nil, full()))
	f.Add([]byte{0x30, 1, 0x10, 1})
	f.Add([]byte{0x0b, 0x08, 1, 0x0c, 0xf8, 1, 3, 0xf0, 1, 3, 8, 9})
	f.Fuzz(func(t *testing.T, b []byte) {
		var got shape
		err := Decode(b, &got)
		want, errWant := byHand(b)
		if (err == nil) != (errWant == nil) || err != nil && err.Error() != errWant.Error() {
			t.Fatalf("error %v, by hand %v", err, errWant)
		}
		if got.calls = 0; err == nil && !reflect.DeepEqual(got, want) && got.x == got.x {
			t.Errorf("read\n%+v, by hand\n%+v", got, want)
		}
	})
}

// described is a message of whatever a function names.
type described func(f *Fields)

func (d described) Fields(f *Fields) { d(f) }

// Small fields are written the short way. At its edges, a field number of 16, a number of 128 and 128 bytes, each takes
// one byte more, as protobuf has it.
func TestFieldsShortForms(t *testing.T) {
	long := strings.Repeat("a", 128)
	for _, c := range []struct {
		num  int32
		v    int64
		text string
		want string // hex of what stands before the text
	}{{15, 127, "", "787f"}, {15, 128, "", "788001"}, {16, 127, "", "80017f"}, {15, 0, long[1:], "7a7f"},
		{15, 0, long, "7a8001"}, {16, 0, long[1:], "82017f"}} {
		m := described(func(f *Fields) { f.Int64(c.num, &c.v) })
		within := described(func(f *Fields) {})
		if c.text != "" {
			m = func(f *Fields) { f.String(c.num, &c.text) }
			within = func(f *Fields) { f.Within(c.num, func() { f.Copy([]byte(c.text)) }) }
		}
		want, err := hex.DecodeString(c.want)
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, c.text...)
		if got := Append(nil, m); !bytes.Equal(got, want) {
			t.Errorf("field %d of %d and %d bytes: %x, want %x", c.num, c.v, len(c.text), got, want)
		}
		if got := Append(nil, within); c.text != "" && !bytes.Equal(got, want) {
			t.Errorf("field %d with a message of %d bytes: %x, want %x", c.num, len(c.text), got, want)
		}
	}
}

// A tree has trees and much else in it.
type tree struct {
	maybe  *tree
	all    []tree
	words  []string
	counts []int32
	within []int64
	_      [20]int64
}

func (m *tree) Fields(f *Fields) {
	Optional(f, 1, &m.maybe)
	Repeated(f, 2, &m.all)
	f.Strings(3, &m.words)
	f.Ints(4, &m.counts)
	RepeatedWithin(f, 5, &m.within, func(n *int64) { f.Int64(1, n) })
}

// A ledger is a Holder of most bytes.
type ledger struct{ held, most, calls int }

func (l *ledger) Hold(n int) bool {
	l.calls++
	if n > l.most {
		return false
	}
	l.held = n
	return true
}

// Decoding stops where there is no more room for what the message takes, which is counted for each kind of field. A
// short message asks for no room, and a long text not for that of as many elements.
func TestDecodeWithin(t *testing.T) {
	const n = 2000
	tree1 := int(reflect.TypeFor[tree]().Size())
	for name, c := range map[string]struct {
		b     []byte
		least int // bytes that count
	}{
		"optional":         {bytes.Repeat([]byte{2<<3 | 2, 2, 1<<3 | 2, 0}, n), 2 * n * tree1},
		"repeated":         {bytes.Repeat([]byte{2<<3 | 2, 0}, n), n * tree1},
		"strings":          {bytes.Repeat([]byte{3<<3 | 2, 0}, n), 16 * n},
		"numbers":          {bytes.Repeat([]byte{4 << 3, 1}, 5*n), 4 * 5 * n},
		"packed":           {AppendBytes(nil, 4, bytes.Repeat([]byte{1}, 5*n)), 4 * 5 * n},
		"repeated, within": {bytes.Repeat([]byte{5<<3 | 2, 0}, 5*n), 8 * 5 * n},
		"text":             {AppendBytes(nil, 3, make([]byte, 20*n)), 20 * n},
	} {
		l := ledger{most: 1 << 30}
		if err := DecodeWithin(c.b, &tree{}, &l); err != nil || l.held < c.least || l.held > 4*c.least+holdBy {
			t.Errorf("%s: %d bytes count, must be %d or a little more; error %v", name, l.held, c.least, err)
		}
		if err := DecodeWithin(c.b, &tree{}, &ledger{most: l.held - 1}); err != ErrMemory {
			t.Errorf("%s: in one byte less: %v", name, err)
		}
		if err := Decode(c.b, &tree{}); err != nil { // also after one that was refused
			t.Errorf("%s: %v", name, err)
		}
	}
	var l ledger
	short := bytes.Repeat([]byte{2<<3 | 2, 0}, 20)
	if err := DecodeWithin(short, &tree{}, &l); err != nil || l.calls > 0 {
		t.Errorf("a short message: %v after %d calls", err, l.calls)
	}
}

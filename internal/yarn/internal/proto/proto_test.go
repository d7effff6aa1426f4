package proto

import (
	"bytes"
	"encoding/hex"
	"strings"
	"testing"
)

// point is a message with one field of each form.
type point struct {
	id    int64
	name  string
	zig   int32
	x     float32
	on    bool
	many  []int32
	inner *point
	parts []point
}

func (p *point) Append(b []byte) []byte {
	b = AppendInt64(b, 1, p.id)
	b = AppendString(b, 2, p.name)
	b = AppendSint32(b, 3, p.zig)
	b = AppendFloat(b, 4, p.x)
	b = AppendBool(b, 5, p.on)
	b = AppendInts(b, 6, p.many)
	if p.inner != nil {
		b = AppendMessage(b, 7, p.inner)
	}
	return Each(b, 8, p.parts)
}

func (p *point) Decode(b []byte) error {
	r := Read(b)
	for r.Next() {
		switch r.Num() {
		case 1:
			p.id = r.Int64()
		case 2:
			p.name = r.String()
		case 3:
			p.zig = r.Sint32()
		case 4:
			p.x = r.Float()
		case 5:
			p.on = r.Bool()
		case 6:
			p.many = r.Ints(p.many)
		case 7:
			var q flat
			r.Message(&q)
		case 8:
			r.Lent()
		}
	}
	return r.Err()
}

// flat keeps a nested message as it is, so that the decoder does not recurse into what a stranger sent.
type flat = Raw

func TestBytes(t *testing.T) {
	p := &point{id: -1, name: "a", zig: -33, x: 0.5, on: true, many: []int32{1, -2}, inner: &point{}}
	// By the encoding's definition: a negative int64 and a negative enum take ten bytes, -33 zigzags to 65, 0.5 is
	// 0x3f000000.
	want := "08ffffffffffffffffff01" + "120161" + "1841" + "250000003f" + "2801" + "3001" + "30feffffffffffffffff01" +
		"3a0d" + "0800" + "1200" + "1800" + "2500000000" + "2800"
	if got := hex.EncodeToString(p.Append(nil)); got != want {
		t.Errorf("encoded\n%s, want\n%s", got, want)
	}
	var q point
	if err := q.Decode(p.Append(nil)); err != nil || q.id != -1 || q.zig != -33 || q.x != 0.5 || !q.on ||
		len(q.many) != 2 ||
		q.many[1] != -2 {
		t.Errorf("decoded %+v, %v", q, err)
	}
}

func TestLengths(t *testing.T) {
	// One byte of length up to 127, two up to 16383, three beyond; what stands before is not moved.
	for _, n := range []int{0, 1, 127, 128, 16383, 16384, 1 << 21} {
		b := AppendDelimited([]byte("before"), Raw(bytes.Repeat([]byte{7}, n)))
		m, rest, err := Delimited(append(b[6:], "after"...))
		if err != nil || len(m) != n || string(rest) != "after" || string(b[:6]) != "before" {
			t.Errorf("%d bytes: got %d, rest %q, %v", n, len(m), rest, err)
		}
	}
}

func TestPacked(t *testing.T) {
	r := Read([]byte{0x32, 3, 1, 2, 3})
	if !r.Next() {
		t.Fatal(r.Err())
	}
	if list := r.Ints(nil); len(list) != 3 || list[2] != 3 {
		t.Errorf("packed 1 2 3 reads as %v", list)
	}
}

func TestRefused(t *testing.T) {
	for name, c := range map[string]struct{ hex, want string }{
		"cut in a varint":      {"08ff", "field 1"},
		"cut in a string":      {"120561", "field 2"},
		"length beyond 2^63":   {"12ffffffffffffffffff01", "field 2"},
		"field number 0":       {"0001", "field number 0"},
		"string as a varint":   {"1001", "field 2: wire type 0, must be 2"},
		"number as a string":   {"0a0131", "field 1: wire type 2, must be 0"},
		"end of no group":      {"0c", "field 1"},
		"packed, cut in a one": {"3201ff", "field 6"},
	} {
		b, _ := hex.DecodeString(c.hex)
		if err := new(point).Decode(b); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestTooMany(t *testing.T) {
	r := Read(bytes.Repeat([]byte{0x42, 0}, mostElements+1))
	var list []point
	for r.Next() {
		list = Many(&r, list)
	}
	if len(list) != mostElements || r.Err() == nil {
		t.Errorf("%d elements, %v: want %d and an error", len(list), r.Err(), mostElements)
	}
}

func FuzzRead(f *testing.F) {
	f.Add((&point{id: -1, name: "a", inner: &point{}, parts: make([]point, 2)}).Append(nil))
	f.Add([]byte{0x0b, 0x08, 1, 0x0c})
	f.Fuzz(func(t *testing.T, b []byte) {
		var all []byte
		r := Read(b)
		for r.Next() {
			all = append(all, r.Raw()...)
		}
		if r.Err() == nil && !bytes.Equal(all, b) {
			t.Errorf("the fields of %x are %x", b, all)
		}
		new(point).Decode(b)
	})
}

// Package proto reads and writes protocol buffer messages by hand: fields in, fields out, in the order and with the
// bytes that the caller chooses. Hadoop's tokens are signed over encoded messages, and its peers read meaning into
// which default values are present, so that exact bytes matter here more than generated types would help.
//
// A message that names its fields (Described) is written and read by Append and Decode. Below that are a Reader and
// functions that append single fields, for what is looked into without being a message.
package proto

import (
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// A Message writes itself to the end of a buffer.
type Message interface{ Append(b []byte) []byte }

// A Decoder fills itself from an encoded message. The bytes are lent: what is kept of them must be copied.
type Decoder interface{ Decode(b []byte) error }

// A Reader goes over the fields of an encoded message. The zero Reader is at the end of an empty message.
type Reader struct {
	b     []byte // what is read, up to limit
	limit int
	num   int32 // of the field; 0: there is none
	typ   protowire.Type
	start int    // of the field, in b
	body  int    // of its contents, where it is length-delimited
	end   int    // of the field, where the next begins
	value uint64 // of a varint or a fixed field
	err   error
}

// Read returns a Reader before the first field of b.
func Read(b []byte) Reader { return Reader{b: b, limit: len(b)} }

// Next goes to the next field, and reports whether there is one that can be read.
func (r *Reader) Next() bool {
	at := r.end
	r.num = 0
	if at >= r.limit || r.err != nil {
		return false
	}
	// Nearly all fields have a number below 16, and a value or a length below 128: a byte for each.
	if b := r.b[at:r.limit]; len(b) > 1 && b[0] >= 8 && b[0]|b[1] < 0x80 {
		switch typ := protowire.Type(b[0] & 7); typ {
		case protowire.VarintType:
			r.num, r.typ, r.value = int32(b[0]>>3), typ, uint64(b[1])
			r.start, r.end = at, at+2
			return true
		case protowire.BytesType:
			if n := 2 + int(b[1]); n <= len(b) {
				r.num, r.typ = int32(b[0]>>3), typ
				r.start, r.body, r.end = at, at+2, at+n
				return true
			}
		}
	}
	return r.long(r.b[at:r.limit])
}

// long reads a field of any form, the first of b.
func (r *Reader) long(b []byte) bool {
	tag, n := protowire.ConsumeVarint(b)
	if n < 0 {
		return r.fail(protowire.ParseError(n))
	}
	num, typ := protowire.DecodeTag(tag)
	if num < protowire.MinValidNumber {
		return r.fail(fmt.Errorf("field number %d is not valid", num))
	}
	m := 0
	switch typ {
	case protowire.VarintType:
		r.value, m = protowire.ConsumeVarint(b[n:])
	case protowire.Fixed32Type:
		var v uint32
		v, m = protowire.ConsumeFixed32(b[n:])
		r.value = uint64(v)
	case protowire.Fixed64Type:
		r.value, m = protowire.ConsumeFixed64(b[n:])
	default:
		m = protowire.ConsumeFieldValue(num, typ, b[n:]) // groups: nothing of Hadoop's has them
	}
	if m < 0 {
		return r.fail(fmt.Errorf("field %d: %w", num, protowire.ParseError(m)))
	}
	r.num, r.typ = int32(num), typ
	r.start, r.end = r.end, r.end+n+m
	if typ == protowire.BytesType {
		_, size := protowire.ConsumeVarint(b[n:])
		r.body = r.start + n + size
	}
	return true
}

// fail notes an error, if it is the first, and returns false.
func (r *Reader) fail(err error) bool {
	if r.err == nil {
		r.err = err
	}
	return false
}

// is reports whether the field has a wire type. If not, it notes an error.
func (r *Reader) is(t protowire.Type) bool { return r.typ == t || r.wrong(t) }

func (r *Reader) wrong(t protowire.Type) bool {
	return r.fail(fmt.Errorf("field %d: wire type %d, must be %d", r.num, r.typ, t))
}

// Num returns the number of the field.
func (r *Reader) Num() int32 { return r.num }

// Raw returns the field as it came, tag included. It aliases the message.
func (r *Reader) Raw() []byte { return r.b[r.start:r.end:r.end] }

// Err returns what was wrong with the message, up to where Next stopped.
func (r *Reader) Err() error { return r.err }

// Uint64 returns the value of a varint field.
func (r *Reader) Uint64() uint64 {
	if !r.is(protowire.VarintType) {
		return 0
	}
	return r.value
}

// Int64 returns the value of an int64 field.
func (r *Reader) Int64() int64 { return int64(r.Uint64()) }

// Int32 returns the value of an int32 or enum field; as every protobuf reader does, it drops the upper half of what is
// longer.
func (r *Reader) Int32() int32 { return int32(r.Uint64()) }

// Sint32 returns the value of a zigzag field.
func (r *Reader) Sint32() int32 { return int32(protowire.DecodeZigZag(r.Uint64() & math.MaxUint32)) }

// Bool returns the value of a bool field.
func (r *Reader) Bool() bool { return r.Uint64() != 0 }

// Float returns the value of a float field.
func (r *Reader) Float() float32 {
	if !r.is(protowire.Fixed32Type) {
		return 0
	}
	return math.Float32frombits(uint32(r.value))
}

// Lent returns the contents of a length-delimited field. They alias the message.
func (r *Reader) Lent() []byte {
	if !r.is(protowire.BytesType) {
		return nil
	}
	return r.b[r.body:r.end:r.end]
}

// Bytes returns a copy of the contents of a length-delimited field; not nil, even where they are empty.
func (r *Reader) Bytes() []byte { return append([]byte{}, r.Lent()...) }

// String returns the contents of a string field.
func (r *Reader) String() string { return string(r.Lent()) }

// Message decodes the nested message that the field holds.
func (r *Reader) Message(m Decoder) {
	if r.is(protowire.BytesType) {
		if err := m.Decode(r.Lent()); err != nil {
			r.fail(fmt.Errorf("field %d: %w", r.num, err))
		}
	}
}

// Ints appends the values of a repeated int32 or enum field to list, packed or not.
func (r *Reader) Ints(list []int32) []int32 {
	if r.typ == protowire.VarintType {
		if r.full(len(list)) {
			return list
		}
		return append(list, r.Int32())
	}
	for b := r.Lent(); len(b) > 0 && !r.full(len(list)); {
		v, n := protowire.ConsumeVarint(b)
		if n < 0 {
			r.fail(fmt.Errorf("field %d: %w", r.num, protowire.ParseError(n)))
			break
		}
		list, b = append(list, int32(v)), b[n:]
	}
	return list
}

// mostElements bounds repeated fields: an empty element takes two bytes on the wire and a hundred times that in memory.
const mostElements = 1 << 18

// full reports whether a repeated field has as many elements as it may have. One more is then an error.
func (r *Reader) full(n int) bool {
	return n >= mostElements && !r.fail(fmt.Errorf("field %d: more than %d elements", r.num, mostElements))
}

// Many decodes one element of a repeated message field and appends it to list.
func Many[T any, P interface {
	*T
	Decoder
}](r *Reader, list []T) []T {
	if r.full(len(list)) {
		return list
	}
	var zero T
	list = append(list, zero)
	r.Message(P(&list[len(list)-1]))
	return list
}

// Each appends every element of list as one element of a repeated message field.
func Each[T any, P interface {
	*T
	Message
}](b []byte, num int32, list []T) []byte {
	for i := range list {
		b = AppendMessage(b, num, P(&list[i]))
	}
	return b
}

// tag appends what stands before a field: its number and its wire type.
func tag(b []byte, num int32, typ protowire.Type) []byte {
	return protowire.AppendTag(b, protowire.Number(num), typ)
}

// AppendUint64 appends a varint field.
func AppendUint64(b []byte, num int32, v uint64) []byte {
	return protowire.AppendVarint(tag(b, num, protowire.VarintType), v)
}

// AppendInt64 appends an int64 field: negative values take ten bytes.
func AppendInt64(b []byte, num int32, v int64) []byte { return AppendUint64(b, num, uint64(v)) }

// AppendInt32 appends an int32 or enum field: negative values take ten bytes.
func AppendInt32(b []byte, num int32, v int32) []byte { return AppendUint64(b, num, uint64(int64(v))) }

// AppendSint32 appends a zigzag field.
func AppendSint32(b []byte, num int32, v int32) []byte {
	return AppendUint64(b, num, protowire.EncodeZigZag(int64(v)))
}

// AppendBool appends a bool field.
func AppendBool(b []byte, num int32, v bool) []byte {
	return AppendUint64(b, num, protowire.EncodeBool(v))
}

// AppendFloat appends a float field.
func AppendFloat(b []byte, num int32, v float32) []byte {
	return protowire.AppendFixed32(tag(b, num, protowire.Fixed32Type), math.Float32bits(v))
}

// AppendString appends a string field.
func AppendString(b []byte, num int32, s string) []byte {
	return protowire.AppendString(tag(b, num, protowire.BytesType), s)
}

// AppendBytes appends a bytes field.
func AppendBytes(b []byte, num int32, s []byte) []byte {
	return protowire.AppendBytes(tag(b, num, protowire.BytesType), s)
}

// AppendMessage appends a field that holds a nested message.
func AppendMessage(b []byte, num int32, m Message) []byte {
	return AppendDelimited(tag(b, num, protowire.BytesType), m)
}

// AppendDelimited appends a message after its length.
func AppendDelimited(b []byte, m Message) []byte {
	at := len(b)
	return Shut(m.Append(append(b, 0)), at)
}

// Shut ends a message that began after the byte at at. Most are shorter than 128 bytes: that byte is for the length,
// more are made room for.
func Shut(b []byte, at int) []byte {
	n := uint64(len(b) - at - 1)
	if n < 128 {
		b[at] = byte(n)
		return b
	}
	if more := protowire.SizeVarint(n) - 1; more > 0 {
		b = append(b, make([]byte, more)...)
		copy(b[at+1+more:], b[at+1:])
	}
	protowire.AppendVarint(b[:at], n)
	return b
}

// Delimited splits a message that stands after its length from what follows it. Both parts alias b.
func Delimited(b []byte) (message, rest []byte, err error) {
	m, n := protowire.ConsumeBytes(b)
	if n < 0 {
		return nil, nil, protowire.ParseError(n)
	}
	return m, b[n:], nil
}

// Raw is an encoded message, or a run of encoded fields, that is written as it stands.
type Raw []byte

// Append appends the bytes.
func (m Raw) Append(b []byte) []byte { return append(b, m...) }

// Decode keeps a copy of the bytes.
func (m *Raw) Decode(b []byte) error {
	*m = append((*m)[:0:0], b...)
	return nil
}

// Fields are all that it has, known or not. A message that comes in parts is the parts one after the other, which
// merges them as protobuf does. A message that is there is not nil, even where it is empty.
func (m *Raw) Fields(f *Fields) {
	if f.Begins() {
		if *m == nil {
			*m = Raw{}
		}
		*m = append(*m, f.Encoded()...)
	}
	f.Copy(*m)
}

// AppendStrings appends a repeated string field.
func AppendStrings(b []byte, num int32, list []string) []byte {
	for _, s := range list {
		b = AppendString(b, num, s)
	}
	return b
}

// AppendInts appends a repeated int32 or enum field, unpacked as proto2 has it.
func AppendInts(b []byte, num int32, list []int32) []byte {
	for _, v := range list {
		b = AppendInt32(b, num, v)
	}
	return b
}

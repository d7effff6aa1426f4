package proto

import (
	"errors"
	"fmt"
	"sync"
	"unsafe"

	"google.golang.org/protobuf/encoding/protowire"
)

// A Described message names its fields once, in the order in which they are written, and is written and read by that:
//
//	func (m *Move) Fields(f *proto.Fields) {
//		f.Message(1, &m.ID)
//		f.String(2, &m.Queue)
//	}
//
// When a message is written, each field is appended as it is named, whatever its value.
//
// When a message is read, Fields is called until all of the message is read. A call fills the field that is named if
// the reader is at a field of that number; then the reader goes on to the next field. So one call reads a message whose
// fields come in the order in which they are named, as protobuf writes them. Another order takes more calls. A call
// that fills nothing makes the reader skip a field. So whatever else Fields does, it must be right to do it again.
type Described interface{ Fields(f *Fields) }

// Append appends a message to b.
func Append(b []byte, m Described) []byte {
	f := spare.Get().(*Fields)
	f.r.num, f.out = writes, b
	m.Fields(f)
	b, f.out = f.out, nil
	spare.Put(f)
	return b
}

// Decode fills a message from b. It merges as protobuf does: fields that b does not have keep their values, and lists
// grow.
func Decode(b []byte, m Described) error { return decode(b, m, nil) }

// DecodeWithin is Decode where what m takes in memory is bounded. It calls memory.Hold with how many bytes that is in
// all, always before it takes them, and at the end with what m has taken. If there is no room it returns ErrMemory.
// The first freeMemory bytes do not count.
//
// What counts is copiesOfText for each byte of b, which is more than texts take in m, and for lists and messages their
// true sizes. So an empty element, of two bytes in b, counts as what it takes, and a long text does not count as that.
func DecodeWithin(b []byte, m Described, memory Holder) error { return decode(b, m, memory) }

// A Holder changes how many bytes it holds in all, and reports whether there is room for that. If not, it holds as many
// as before.
type Holder interface{ Hold(n int) bool }

// ErrMemory means that a message would take more memory than there is room for.
var ErrMemory = errors.New("no room for what it takes in memory")

const (
	copiesOfText = 2
	freeMemory   = 16 << 10 // bytes
	holdBy       = 64 << 10 // most bytes that are held before they are taken
)

// decode is DecodeWithin, or Decode if memory is nil.
func decode(b []byte, m Described, memory Holder) error {
	f := spare.Get().(*Fields)
	f.r, f.from = Read(b), 0
	f.memory, f.taken, f.held = memory, 0, freeMemory
	if f.takes(copiesOfText * len(b)) {
		for at := f.begin(); at >= 0; at = f.turn(at) {
			m.Fields(f)
		}
	}
	err := f.r.err
	if err == nil && memory != nil && f.held > freeMemory {
		memory.Hold(f.taken)
	}
	f.r, f.memory = Reader{}, nil
	spare.Put(f)
	return err
}

// takes notes that the message takes n bytes of memory more, and reports whether there is room for them. If not,
// reading ends with ErrMemory.
func (f *Fields) takes(n int) bool {
	f.taken += n
	return f.taken <= f.held || f.hold()
}

// hold holds what is taken and a quarter more, up to holdBy, for takes. decode gives back what was not taken.
func (f *Fields) hold() bool {
	n := f.taken + min(f.taken/4, holdBy)
	if f.memory != nil && !f.memory.Hold(n) {
		f.r.fail(ErrMemory)
		f.r.num = 0
		return false
	}
	f.held = n
	return true
}

// more reports whether list, which is of a field that is being read, may have one element more.
func more[T any](f *Fields, list []T) bool {
	n := cap(list)
	if len(list) < n {
		return true
	}
	var zero T
	return f.takes(max(1, min(n, n/4+192)) * int(unsafe.Sizeof(zero))) // so much longer does append make it
}

// spare is a pool of Fields that are not in use. Without it each message would allocate one, because Fields are passed
// on through an interface.
var spare = sync.Pool{New: func() any { return new(Fields) }}

// Fields are what a message is written to, or read from.
type Fields struct {
	r     Reader // at a field to be taken; its number is writes where there is nothing to read
	from  int    // reading: where the message begins
	first bool   // reading: nothing has been taken yet
	out   []byte // writing

	memory Holder // reading: of what the message takes in memory; nil: there is no bound
	taken  int    // reading: bytes that the message takes
	held   int    // reading: bytes up to which taken needs no call of memory
}

// writes is the number of the field to be taken where there is none, since the message is being written.
const writes = -1

// at reports whether there is something to do for a field: the message is being written, or the reader is at the field.
// The most frequent kinds of fields are in two functions, so that this test, which is inlined, is all that an absent
// field costs.
func (f *Fields) at(num int32) bool { return f.r.num == num || f.r.num == writes }

// Reading reports whether the message is being read.
func (f *Fields) Reading() bool { return f.r.num != writes }

// Has reports whether to name a field that is written only if it is there. When the message is read, the field may
// always come.
func (f *Fields) Has(there bool) bool { return there || f.r.num != writes }

// Begins reports whether the message is being read and nothing has been read of it yet. That is when a message sets the
// values that stand for missing fields.
func (f *Fields) Begins() bool { return f.first && f.r.num != writes }

// Encoded returns the whole message that is being read. It is lent.
func (f *Fields) Encoded() []byte { return f.r.b[f.from:f.r.limit:f.r.limit] }

// Copy writes fields that are encoded already.
func (f *Fields) Copy(fields []byte) {
	if f.r.num == writes {
		f.out = append(f.out, fields...)
	}
}

// Int32 is an int32 or enum field.
func (f *Fields) Int32(num int32, p *int32) {
	if f.at(num) {
		number(f, num, p)
	}
}

// Uint32 is an int32 field that is written as an unsigned one: what is negative takes five bytes instead of ten.
func (f *Fields) Uint32(num int32, p *int32) {
	if f.r.num == writes {
		f.varint(num, uint64(uint32(*p)))
		return
	}
	f.Int32(num, p)
}

// Sint32 is a zigzag field.
func (f *Fields) Sint32(num int32, p *int32) {
	if f.r.num == writes {
		f.out = AppendSint32(f.out, num, *p)
	} else if f.r.num == num {
		*p = f.r.Sint32()
		f.r.Next()
	}
}

// Int64 is an int64 field.
func (f *Fields) Int64(num int32, p *int64) {
	if f.at(num) {
		number(f, num, p)
	}
}

// number is Int32 or Int64, after at.
func number[T int32 | int64](f *Fields, num int32, p *T) {
	if f.r.num == writes {
		f.varint(num, uint64(*p)) // the sign goes on to the left
		return
	}
	*p = T(f.r.Uint64())
	f.r.Next()
}

// Bool is a bool field.
func (f *Fields) Bool(num int32, p *bool) {
	if f.r.num == writes {
		f.out = AppendBool(f.out, num, *p)
	} else if f.r.num == num {
		*p = f.r.Bool()
		f.r.Next()
	}
}

// Float is a float field.
func (f *Fields) Float(num int32, p *float32) {
	if f.r.num == writes {
		f.out = AppendFloat(f.out, num, *p)
	} else if f.r.num == num {
		*p = f.r.Float()
		f.r.Next()
	}
}

// String is a string field. A string that is equal already stays, which saves a copy.
func (f *Fields) String(num int32, p *string) {
	if f.at(num) {
		f.string(num, p)
	}
}

// string is String, after at.
func (f *Fields) string(num int32, p *string) {
	if f.r.num == writes {
		f.out = append(f.length(num, len(*p)), *p...)
		return
	}
	if b := f.r.Lent(); string(b) != *p {
		*p = string(b)
	}
	f.r.Next()
}

// Strings is a repeated string field.
func (f *Fields) Strings(num int32, list *[]string) {
	if f.r.num == writes {
		f.out = AppendStrings(f.out, num, *list)
		return
	}
	for ; f.grow(num, len(*list)) && more(f, *list); f.r.Next() {
		*list = append(*list, f.r.String())
	}
}

// Ints is a repeated int32 or enum field: written unpacked, as proto2 has it, and read in both forms.
func (f *Fields) Ints(num int32, list *[]int32) {
	if f.r.num == writes {
		f.out = AppendInts(f.out, num, *list)
		return
	}
	for ; f.grow(num, len(*list)) && f.takes(4*(f.r.end-f.r.start)); f.r.Next() { // a byte may be an element, of four
		*list = f.r.Ints(*list)
	}
}

// Bytes is a bytes field. What is read is a copy, in the room that is there, and not nil, even where it is empty.
func (f *Fields) Bytes(num int32, p *[]byte) {
	if f.r.num == writes {
		f.out = append(f.length(num, len(*p)), *p...)
	} else if f.r.num == num {
		if *p == nil {
			*p = []byte{}
		}
		*p = append((*p)[:0], f.r.Lent()...)
		f.r.Next()
	}
}

// Lent is a bytes field. What is read aliases the message.
func (f *Fields) Lent(num int32, p *[]byte) {
	if f.r.num == writes {
		f.out = append(f.length(num, len(*p)), *p...)
	} else if f.r.num == num {
		*p = f.r.Lent()
		f.r.Next()
	}
}

// LentMessage is a field that holds a message which stays encoded. What is read aliases the message, unless the field
// comes in parts: these are joined in memory of their own, which merges them as protobuf does.
func (f *Fields) LentMessage(num int32, p *[]byte) {
	if f.r.num != num || *p == nil {
		f.Lent(num, p)
		return
	}
	*p = append(*p, f.r.Lent()...) // what was lent has no room behind its end
	f.r.Next()
}

// Skip is a field that is neither read nor written. It is passed over at once, without one more call of Fields.
func (f *Fields) Skip(num int32) {
	if f.r.num == num {
		f.r.Next()
	}
}

// Put is a number that is always written, and not read.
func (f *Fields) Put(num int32, v int64) {
	if f.r.num == writes {
		f.varint(num, uint64(v))
		return
	}
	f.Skip(num)
}

// PutString is a string that is always written, and not read.
func (f *Fields) PutString(num int32, s string) {
	if f.r.num == writes {
		f.out = append(f.length(num, len(s)), s...)
		return
	}
	f.Skip(num)
}

// PutWithin is a message that is always written, and not read.
func (f *Fields) PutWithin(num int32, fields func()) {
	if f.r.num == writes {
		f.Within(num, fields)
		return
	}
	f.Skip(num)
}

// Rest is all fields from a number on, kept as they came.
func (f *Fields) Rest(num int32, p *[]byte) {
	if f.r.num == writes {
		f.out = append(f.out, *p...)
		return
	}
	for ; f.r.num >= num; f.r.Next() {
		*p = append(*p, f.r.Raw()...)
	}
}

// Message is a field that holds a message.
func (f *Fields) Message(num int32, m Described) {
	if f.at(num) {
		f.inner(num, m)
	}
}

// inner is Message, after at.
func (f *Fields) inner(num int32, m Described) {
	if f.r.num == writes {
		f.out = f.length(num, 0)
		at := len(f.out)
		m.Fields(f)
		f.shut(at)
		return
	}
	o, ok := f.enter()
	if !ok {
		return
	}
	for at := f.begin(); at >= 0; at = f.turn(at) {
		m.Fields(f)
	}
	f.leave(o)
}

// Within is a field that holds a message without a type of its own: a function names its fields.
func (f *Fields) Within(num int32, fields func()) {
	if f.r.num == writes {
		f.out = f.length(num, 0)
		at := len(f.out)
		fields()
		f.shut(at)
	} else if f.r.num == num {
		o, ok := f.enter()
		if !ok {
			return
		}
		for at := f.begin(); at >= 0; at = f.turn(at) {
			fields()
		}
		f.leave(o)
	}
}

// describedBy is a pointer to a message.
type describedBy[T any] interface {
	*T
	Described
}

// Optional is a field that holds a message where there is one: without, it is nil.
func Optional[T any, P describedBy[T]](f *Fields, num int32, p **T) {
	if f.r.num == num || f.r.num == writes && *p != nil {
		if *p == nil {
			var zero T
			if !f.takes(int(unsafe.Sizeof(zero))) {
				return
			}
			*p = new(T)
		}
		f.inner(num, P(*p))
	}
}

// Repeated is a repeated field of messages.
func Repeated[T any, P describedBy[T]](f *Fields, num int32, list *[]T) {
	if f.r.num == writes {
		for i := range *list {
			f.inner(num, P(&(*list)[i]))
		}
		return
	}
	for f.grow(num, len(*list)) && more(f, *list) {
		var zero T
		*list = append(*list, zero)
		f.inner(num, P(&(*list)[len(*list)-1]))
	}
}

// RepeatedWithin codes a repeated field of messages that each hold one element. fields names the fields of one element.
func RepeatedWithin[T any](f *Fields, num int32, list *[]T, fields func(element *T)) {
	if f.r.num == writes {
		for i := range *list {
			f.Within(num, func() { fields(&(*list)[i]) })
		}
		return
	}
	for f.grow(num, len(*list)) && more(f, *list) {
		var zero T
		*list = append(*list, zero)
		f.Within(num, func() { fields(&(*list)[len(*list)-1]) })
	}
}

// begin goes to the first field of a message, and returns where it ends.
func (f *Fields) begin() (end int) {
	f.first = true
	f.r.Next()
	return f.r.end
}

// turn is called after a call of Fields that began with the reader at the field that ends at end. It returns where the
// field for the next call ends; -1: the message is over.
func (f *Fields) turn(end int) int {
	f.first = false
	if f.r.num == 0 || f.r.end == end && !f.r.Next() { // still at the same field: the message does not know it
		return -1
	}
	return f.r.end
}

// An outer message waits for one in it.
type outer struct {
	from, end, limit int
	num              int32
	first            bool
}

// enter goes into the message that the field holds.
func (f *Fields) enter() (o outer, ok bool) {
	r := &f.r
	if !r.is(protowire.BytesType) {
		r.num = 0
		return o, false
	}
	o = outer{f.from, r.end, r.limit, r.num, f.first}
	f.from, r.end, r.limit = r.body, r.body, r.end
	return o, true
}

// leave goes back, behind the field.
func (f *Fields) leave(o outer) {
	r := &f.r
	if r.err != nil {
		r.err = fmt.Errorf("field %d: %w", o.num, r.err)
	}
	f.from, r.end, r.limit, f.first = o.from, o.end, o.limit, o.first
	r.Next()
}

// grow reports whether there is one element more to read of a repeated field that has n.
func (f *Fields) grow(num int32, n int) bool {
	if f.r.num == num && f.r.full(n) {
		f.r.num = 0
	}
	return f.r.num == num
}

// varint writes a number. Most take a byte after one for the field.
func (f *Fields) varint(num int32, v uint64) {
	if num < 16 && v < 128 {
		f.out = append(f.out, byte(num<<3), byte(v))
		return
	}
	f.out = AppendUint64(f.out, num, v)
}

// length writes what stands before so many bytes.
func (f *Fields) length(num int32, n int) []byte {
	if num < 16 && n < 128 {
		return append(f.out, byte(num<<3)|byte(protowire.BytesType), byte(n))
	}
	return protowire.AppendVarint(tag(f.out, num, protowire.BytesType), uint64(n))
}

// shut ends a message that began after the byte at at.
func (f *Fields) shut(at int) {
	if n := len(f.out) - at; n < 128 {
		f.out[at-1] = byte(n)
		return
	}
	f.out = Shut(f.out, at-1)
}

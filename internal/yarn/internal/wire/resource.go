package wire

import (
	"iter"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/proto"
)

// A Resource is an amount of memory, in MiB, of cores, and of other kinds. Memory and cores are written twice, by field
// and by name, as every stock peer does.
type Resource struct {
	Memory int64
	VCores int32
	Others Others
}

func (m *Resource) Fields(f *proto.Fields) {
	f.Int64(1, &m.Memory)
	f.Int32(2, &m.VCores)
	if f.Reading() {
		m.named(f)
		return
	}
	putAmount(f, MemoryKind, "Mi", m.Memory)
	putAmount(f, CoresKind, "", int64(m.VCores))
	if m.Others != "" {
		f.Copy([]byte(m.Others))
	}
}

// The names of the kinds of resources that there always are.
const MemoryKind, CoresKind = "memory-mb", "vcores"

// named reads one amount by name, where the reader is at one. Memory and cores are fields as well.
func (m *Resource) named(f *proto.Fields) {
	var kind, units []byte
	var amount int64
	f.Within(amounts, func() {
		f.Lent(1, &kind)
		f.Int64(2, &amount)
		f.Lent(3, &units)
	})
	if amount == 0 || string(kind) == MemoryKind || string(kind) == CoresKind || len(m.Others) > MostOthers {
		return
	}
	m.Others = m.Others.Plus(Amount{string(kind), string(units), amount})
}

// amounts is the field of a Resource that has amounts by name.
const amounts = 3

// putAmount writes an amount by name.
func putAmount(f *proto.Fields, kind, units string, value int64) {
	f.PutWithin(amounts, func() {
		f.PutString(1, kind)
		f.Put(2, value)
		f.PutString(3, units)
		f.Put(4, 0) // countable
	})
}

// Others are amounts of kinds of resources beyond memory and cores, such as yarn.io/gpu, encoded as in the message of a
// Resource. They are a string, so that a Resource can be compared: Others are equal if the same amounts were added in
// the same order. Amounts of zero are left out.
type Others string

// MostOthers bounds the Others that are valid, in bytes. Longer ones that a peer sends are cut behind the amount that
// goes beyond it, so that they can be recognized as too long.
const MostOthers = 4 << 10

// An Amount is how much there is of one kind of resource, in units such as Gi.
type Amount struct {
	Kind, Units string
	Value       int64
}

func (m *Amount) Fields(f *proto.Fields) {
	f.String(1, &m.Kind)
	f.Int64(2, &m.Value)
	f.String(3, &m.Units)
	f.Put(4, 0) // countable
}

func (m *Amount) Append(b []byte) []byte { return proto.Append(b, m) }
func (m *Amount) Decode(b []byte) error  { return proto.Decode(b, m) }

// Plus returns o and one amount more.
func (o Others) Plus(a Amount) Others {
	return Others(proto.AppendMessage([]byte(o), amounts, &a))
}

// All yields the amounts. Of a kind that comes twice, the last counts.
func (o Others) All() iter.Seq[Amount] {
	return func(yield func(Amount) bool) {
		for r := proto.Read([]byte(o)); r.Next(); {
			var a Amount
			if r.Message(&a); r.Err() != nil || !yield(a) {
				return
			}
		}
	}
}

// A ResourceType is a kind of resource as it is announced.
type ResourceType struct{ Name, Units string }

func (m *ResourceType) Fields(f *proto.Fields) {
	f.String(1, &m.Name)
	f.String(2, &m.Units)
	f.Put(3, 0)
}

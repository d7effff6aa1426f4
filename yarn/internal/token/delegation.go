package token

import (
	"github.com/sojourn-sched/sojourn/yarn/internal/proto"
)

// KindDelegation is the kind of tokens by which a client's programs act for him.
const KindDelegation = "RM_DELEGATION_TOKEN"

// A Delegation identifies a delegation token of the ResourceManager.
type Delegation struct {
	Owner, Renewer, Real string
	Issued, Most         int64 // ms since 1970: from when, and until when at most
	Sequence, Key        int32
}

// Append writes the identifier.
func (m *Delegation) Append(b []byte) []byte {
	b = proto.AppendString(b, 1, m.Owner)
	b = proto.AppendString(b, 2, m.Renewer)
	b = proto.AppendString(b, 3, m.Real)
	b = proto.AppendInt64(b, 4, m.Issued)
	b = proto.AppendInt64(b, 5, m.Most)
	b = proto.AppendInt32(b, 6, m.Sequence)
	return proto.AppendInt32(b, 7, m.Key)
}

// Decode reads the identifier.
func (m *Delegation) Decode(b []byte) error {
	r := proto.Read(b)
	for r.Next() {
		switch r.Num() {
		case 1:
			m.Owner = r.String()
		case 2:
			m.Renewer = r.String()
		case 3:
			m.Real = r.String()
		case 4:
			m.Issued = r.Int64()
		case 5:
			m.Most = r.Int64()
		case 6:
			m.Sequence = r.Int32()
		case 7:
			m.Key = r.Int32()
		}
	}
	return r.Err()
}

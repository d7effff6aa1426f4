package token

import (
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/proto"
)

// KindDelegation is the kind of tokens with which programs act for the user who started them.
const KindDelegation = "RM_DELEGATION_TOKEN"

// A Delegation identifies a delegation token of the ResourceManager.
type Delegation struct {
	Owner, Renewer, Real string
	Issued, Most         int64 // ms since 1970: from when, and until when at most
	Sequence, Key        int32
}

func (m *Delegation) Fields(f *proto.Fields) {
	f.String(1, &m.Owner)
	f.String(2, &m.Renewer)
	f.String(3, &m.Real)
	f.Int64(4, &m.Issued)
	f.Int64(5, &m.Most)
	f.Int32(6, &m.Sequence)
	f.Int32(7, &m.Key)
}

func (m *Delegation) Append(b []byte) []byte { return proto.Append(b, m) }
func (m *Delegation) Decode(b []byte) error  { return proto.Decode(b, m) }

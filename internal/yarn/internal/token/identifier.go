package token

import (
	"fmt"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/proto"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
)

// A Master identifies an application's attempt to the ResourceManager. Calls of ApplicationMasters do not name their
// application otherwise.
type Master struct {
	Attempt wire.AttemptID
	Key     int32
}

func (m *Master) Fields(f *proto.Fields) {
	f.Message(1, &m.Attempt)
	f.Int32(2, &m.Key)
}

func (m *Master) Append(b []byte) []byte { return proto.Append(b, m) }
func (m *Master) Decode(b []byte) error  { return proto.Decode(b, m) }

// A Node lets an attempt, or the ResourceManager for it, start and stop containers on one node.
type Node struct {
	Attempt wire.AttemptID
	Node    wire.NodeID
	User    string
	Key     int32
}

func (m *Node) Fields(f *proto.Fields) {
	f.Message(1, &m.Attempt)
	f.Message(2, &m.Node)
	f.String(3, &m.User)
	f.Int32(4, &m.Key)
}

func (m *Node) Append(b []byte) []byte { return proto.Append(b, m) }
func (m *Node) Decode(b []byte) error  { return proto.Decode(b, m) }

// A Container is a lease of a part of a node, with all fields that Hadoop's ResourceManager writes. A NodeManager whose
// container token has no resource ends: Resource must never be left out.
type Container struct {
	ID              wire.ContainerID
	Node            string // host:port, exactly as the node registered
	User            string
	Resource        wire.Resource
	Expires         int64 // ms since 1970, by the node's clock: no start after
	Key             int32
	ResourceManager int64 // the identity that the node was told when it last registered
	Priority        wire.Priority
	Created         int64     // ms since 1970
	LogAggregation  proto.Raw // as the application was submitted with; nil: none
	Type            wire.ContainerType
	Version         int32 // how often its size has changed
	Allocation      int64
}

func (m *Container) Fields(f *proto.Fields) {
	f.Message(1, &m.ID)
	f.String(2, &m.Node)
	f.String(3, &m.User)
	f.Message(4, &m.Resource)
	f.Int64(5, &m.Expires)
	f.Int32(6, &m.Key)
	f.Int64(7, &m.ResourceManager)
	f.Message(8, &m.Priority)
	f.Int64(9, &m.Created)
	if f.Has(m.LogAggregation != nil) {
		f.Message(10, &m.LogAggregation)
	}
	f.PutString(11, "") // node label
	f.Int32(12, (*int32)(&m.Type))
	f.Put(13, 1) // guaranteed
	f.Int32(14, &m.Version)
	f.Int64(15, &m.Allocation)
}

func (m *Container) Append(b []byte) []byte { return proto.Append(b, m) }
func (m *Container) Decode(b []byte) error  { return proto.Decode(b, m) }

// ReadMaster reads the identifier of a token of an ApplicationMaster.
func ReadMaster(identifier []byte) (Master, error) {
	var m Master
	if err := m.Decode(identifier); err != nil || m.Attempt.Attempt <= 0 {
		return m, fmt.Errorf("read identifier of %s: names no attempt: %x", KindMaster, identifier)
	}
	return m, nil
}

package token

import (
	"fmt"

	"github.com/sojourn-sched/sojourn/yarn/internal/proto"
	"github.com/sojourn-sched/sojourn/yarn/internal/wire"
)

// A Master identifies an application's attempt at the ResourceManager. It is all that says whose call a call is.
type Master struct {
	Attempt wire.AttemptID
	Key     int32
}

// Append writes the identifier.
func (m *Master) Append(b []byte) []byte {
	b = proto.AppendMessage(b, 1, &m.Attempt)
	return proto.AppendInt32(b, 2, m.Key)
}

// Decode reads the identifier.
func (m *Master) Decode(b []byte) error {
	r := proto.Read(b)
	for r.Next() {
		switch r.Num() {
		case 1:
			r.Message(&m.Attempt)
		case 2:
			m.Key = r.Int32()
		}
	}
	return r.Err()
}

// A Node lets an attempt, or the ResourceManager for it, start and stop containers on one node.
type Node struct {
	Attempt wire.AttemptID
	Node    wire.NodeID
	User    string
	Key     int32
}

// Append writes the identifier.
func (m *Node) Append(b []byte) []byte {
	b = proto.AppendMessage(b, 1, &m.Attempt)
	b = proto.AppendMessage(b, 2, &m.Node)
	b = proto.AppendString(b, 3, m.User)
	return proto.AppendInt32(b, 4, m.Key)
}

// Decode reads the identifier.
func (m *Node) Decode(b []byte) error {
	r := proto.Read(b)
	for r.Next() {
		switch r.Num() {
		case 1:
			r.Message(&m.Attempt)
		case 2:
			r.Message(&m.Node)
		case 3:
			m.User = r.String()
		case 4:
			m.Key = r.Int32()
		}
	}
	return r.Err()
}

// A Container is a lease of a part of a node. A NodeManager whose container token has no resource ends: Resource must never be left out.
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
	Allocation      int64
}

// Append writes the identifier with all fields that Hadoop's ResourceManager writes.
func (m *Container) Append(b []byte) []byte {
	b = proto.AppendMessage(b, 1, &m.ID)
	b = proto.AppendString(b, 2, m.Node)
	b = proto.AppendString(b, 3, m.User)
	b = proto.AppendMessage(b, 4, &m.Resource)
	b = proto.AppendInt64(b, 5, m.Expires)
	b = proto.AppendInt32(b, 6, m.Key)
	b = proto.AppendInt64(b, 7, m.ResourceManager)
	b = proto.AppendMessage(b, 8, &m.Priority)
	b = proto.AppendInt64(b, 9, m.Created)
	if m.LogAggregation != nil {
		b = proto.AppendMessage(b, 10, m.LogAggregation)
	}
	b = proto.AppendString(b, 11, "") // node label
	b = proto.AppendInt32(b, 12, int32(m.Type))
	b = proto.AppendInt32(b, 13, 1) // guaranteed
	b = proto.AppendInt32(b, 14, 0) // version
	return proto.AppendInt64(b, 15, m.Allocation)
}

// Decode reads the identifier.
func (m *Container) Decode(b []byte) error {
	r := proto.Read(b)
	for r.Next() {
		switch r.Num() {
		case 1:
			r.Message(&m.ID)
		case 2:
			m.Node = r.String()
		case 3:
			m.User = r.String()
		case 4:
			r.Message(&m.Resource)
		case 5:
			m.Expires = r.Int64()
		case 6:
			m.Key = r.Int32()
		case 7:
			m.ResourceManager = r.Int64()
		case 8:
			r.Message(&m.Priority)
		case 9:
			m.Created = r.Int64()
		case 10:
			m.LogAggregation = r.Bytes()
		case 12:
			m.Type = wire.ContainerType(r.Int32())
		case 15:
			m.Allocation = r.Int64()
		}
	}
	return r.Err()
}

// ReadMaster reads the identifier of a token of an ApplicationMaster.
func ReadMaster(identifier []byte) (Master, error) {
	var m Master
	if err := m.Decode(identifier); err != nil || m.Attempt.Attempt <= 0 {
		return m, fmt.Errorf("read identifier of %s: names no attempt: %x", KindMaster, identifier)
	}
	return m, nil
}

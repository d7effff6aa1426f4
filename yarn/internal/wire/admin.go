package wire

import "github.com/sojourn-sched/sojourn/yarn/internal/proto"

// ResourceManagerAdministrationProtocol: what operators say.
//
//	refreshNodes        RefreshNodes        → Empty
//	refreshQueues       Empty               → Empty
//	updateNodeResource  UpdateNodeResource  → Empty
//	checkForDecommissioningNodes  Empty    → NodeIDs

// Decommissioning is how nodes that are excluded leave.
type Decommissioning int32

// The ways of leaving.
const (
	DecommissionNormal   Decommissioning = iota + 1 // at once
	DecommissionGraceful                            // after what runs there
	DecommissionForceful
)

// RefreshNodes has the lists of nodes read anew.
type RefreshNodes struct {
	How     Decommissioning
	Timeout int32 // s, for a graceful end; -1: the default
}

func (m *RefreshNodes) Decode(b []byte) error {
	m.How, m.Timeout = DecommissionNormal, -1
	r := proto.Read(b)
	for r.Next() {
		switch r.Num() {
		case 1:
			m.How = Decommissioning(r.Int32())
		case 2:
			m.Timeout = r.Int32()
		}
	}
	return r.Err()
}

func (m *RefreshNodes) Append(b []byte) []byte {
	b = proto.AppendInt32(b, 1, int32(m.How))
	return proto.AppendInt32(b, 2, m.Timeout)
}

// UpdateNodeResource gives nodes other sizes.
type UpdateNodeResource struct{ Nodes []NodeResource }

func (m *UpdateNodeResource) Decode(b []byte) error {
	r := proto.Read(b)
	for r.Next() {
		if r.Num() == 1 {
			m.Nodes = proto.Many(&r, m.Nodes)
		}
	}
	return r.Err()
}

func (m *UpdateNodeResource) Append(b []byte) []byte { return proto.Each(b, 1, m.Nodes) }

// A NodeResource is a node's new size. What is over-committed by it is left to end by itself.
type NodeResource struct {
	Node     NodeID
	Resource Resource
}

func (m *NodeResource) Decode(b []byte) error {
	r := proto.Read(b)
	for r.Next() {
		switch r.Num() {
		case 1:
			r.Message(&m.Node)
		case 2:
			option := proto.Read(r.Lent())
			for option.Next() {
				if option.Num() == 1 {
					option.Message(&m.Resource)
				}
			}
			if err := option.Err(); err != nil {
				return err
			}
		}
	}
	return r.Err()
}

func (m *NodeResource) Append(b []byte) []byte {
	b = proto.AppendMessage(b, 1, &m.Node)
	return proto.AppendMessage(b, 2, proto.Raw(proto.AppendMessage(nil, 1, &m.Resource)))
}

// NodeIDs is a list of nodes.
type NodeIDs struct{ Nodes []NodeID }

func (m *NodeIDs) Decode(b []byte) error {
	r := proto.Read(b)
	for r.Next() {
		if r.Num() == 1 {
			m.Nodes = proto.Many(&r, m.Nodes)
		}
	}
	return r.Err()
}

func (m *NodeIDs) Append(b []byte) []byte { return proto.Each(b, 1, m.Nodes) }

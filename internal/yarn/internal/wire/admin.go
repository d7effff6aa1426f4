package wire

import (
	"math"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/proto"
)

// ResourceManagerAdministrationProtocol: what operators say.
//
//	refreshNodes                  RefreshNodes        → Empty
//	updateNodeResource            UpdateNodeResource  → Empty
//	checkForDecommissioningNodes  Empty               → NodeIDs
//	getGroupsForUser              GroupsWanted        → Groups
//
// The other calls, such as refreshQueues, are Empty → Empty.

// Decommissioning is how nodes that are excluded leave.
type Decommissioning int32

// The ways of leaving.
const (
	DecommissionNormal   Decommissioning = iota + 1 // at once
	DecommissionGraceful                            // after what runs there
	DecommissionForceful                            // at once; for Hadoop's nodes that are leaving gracefully
)

// RefreshNodes asks the ResourceManager to read the lists of hosts again.
type RefreshNodes struct {
	How     Decommissioning
	Timeout int64 // s, for a graceful end; negative: as long as it takes; TimeoutUnsaid: the configured one
}

// TimeoutUnsaid is the RefreshNodes.Timeout of a message without one: no int32, which the field is. rmadmin says -1
// where its user says none.
const TimeoutUnsaid = math.MinInt64

func (m *RefreshNodes) Fields(f *proto.Fields) {
	if f.Begins() {
		m.How, m.Timeout = DecommissionNormal, TimeoutUnsaid
	}
	f.Int32(1, (*int32)(&m.How))
	f.Int64(2, &m.Timeout)
}

func (m *RefreshNodes) Append(b []byte) []byte { return proto.Append(b, m) }
func (m *RefreshNodes) Decode(b []byte) error  { return proto.Decode(b, m) }

// UpdateNodeResource gives nodes other sizes.
type UpdateNodeResource struct{ Nodes []NodeResource }

func (m *UpdateNodeResource) Fields(f *proto.Fields) { proto.Repeated(f, 1, &m.Nodes) }
func (m *UpdateNodeResource) Append(b []byte) []byte { return proto.Append(b, m) }
func (m *UpdateNodeResource) Decode(b []byte) error  { return proto.Decode(b, m) }

// A NodeResource is a node's new size. What is over-committed by it is left to end by itself.
type NodeResource struct {
	Node     NodeID
	Resource Resource
}

func (m *NodeResource) Fields(f *proto.Fields) {
	f.Message(1, &m.Node)
	f.Within(2, func() { f.Message(1, &m.Resource) })
}

// NodeIDs is a list of nodes.
type NodeIDs struct{ Nodes []NodeID }

func (m *NodeIDs) Fields(f *proto.Fields) { proto.Repeated(f, 1, &m.Nodes) }
func (m *NodeIDs) Append(b []byte) []byte { return proto.Append(b, m) }
func (m *NodeIDs) Decode(b []byte) error  { return proto.Decode(b, m) }

// GroupsWanted asks for the groups of a user.
type GroupsWanted struct{ User string }

func (m *GroupsWanted) Fields(f *proto.Fields) { f.String(1, &m.User) }
func (m *GroupsWanted) Append(b []byte) []byte { return proto.Append(b, m) }
func (m *GroupsWanted) Decode(b []byte) error  { return proto.Decode(b, m) }

// Groups are those of a user.
type Groups struct{ Names []string }

func (m *Groups) Fields(f *proto.Fields) { f.Strings(1, &m.Names) }
func (m *Groups) Append(b []byte) []byte { return proto.Append(b, m) }
func (m *Groups) Decode(b []byte) error  { return proto.Decode(b, m) }

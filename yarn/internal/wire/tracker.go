package wire

import "github.com/sojourn-sched/sojourn/yarn/internal/proto"

// ResourceTracker: what NodeManagers say and hear.
//
//	registerNodeManager    RegisterNodeRequest  → RegisterNodeResponse
//	nodeHeartbeat          HeartbeatRequest     → HeartbeatResponse
//	unRegisterNodeManager  UnregisterNode       → Empty

// NodeAction is what a NodeManager is to do.
type NodeAction int32

// The actions.
const (
	NodeNormal      NodeAction = iota
	NodeResync                 // register again, with all containers
	NodeActShutdown            // end
)

// A RegisterNodeRequest introduces a NodeManager: its machine and, where it has lived before, what runs on it.
type RegisterNodeRequest struct {
	Node       NodeID
	HTTPPort   int32
	Resource   Resource
	Version    string
	Containers []NodeContainer
	Apps       []ApplicationID // with anything left on the node
	Physical   *Resource
	Status     *NodeStatus
}

func (m *RegisterNodeRequest) Decode(b []byte) error {
	r := proto.Read(b)
	for r.Next() {
		switch r.Num() {
		case 1:
			r.Message(&m.Node)
		case 3:
			m.HTTPPort = r.Int32()
		case 4:
			r.Message(&m.Resource)
		case 5:
			m.Version = r.String()
		case 6:
			m.Containers = proto.Many(&r, m.Containers)
		case 7:
			m.Apps = proto.Many(&r, m.Apps)
		case 9:
			m.Physical = proto.One(&r, m.Physical)
		case 12:
			m.Status = proto.One(&r, m.Status)
		}
	}
	return r.Err()
}

func (m *RegisterNodeRequest) Append(b []byte) []byte {
	b = proto.AppendMessage(b, 1, &m.Node)
	b = proto.AppendInt32(b, 3, m.HTTPPort)
	b = proto.AppendMessage(b, 4, &m.Resource)
	b = proto.AppendString(b, 5, m.Version)
	b = proto.Each(b, 6, m.Containers)
	b = proto.Each(b, 7, m.Apps)
	if m.Physical != nil {
		b = proto.AppendMessage(b, 9, m.Physical)
	}
	if m.Status != nil {
		b = proto.AppendMessage(b, 12, m.Status)
	}
	return b
}

// A RegisterNodeResponse lets a NodeManager in, or tells it to end. Without both keys it never beats.
type RegisterNodeResponse struct {
	ContainerKey, NodeKey MasterKey
	Action                NodeAction
	ResourceManager       int64 // its identity: what container tokens must name
	Diagnostics           string
}

func (m *RegisterNodeResponse) Append(b []byte) []byte {
	if m.Action != NodeNormal {
		b = proto.AppendInt32(b, 3, int32(m.Action))
		return proto.AppendString(b, 5, m.Diagnostics)
	}
	b = proto.AppendMessage(b, 1, &m.ContainerKey)
	b = proto.AppendMessage(b, 2, &m.NodeKey)
	b = proto.AppendInt32(b, 3, int32(m.Action))
	b = proto.AppendInt64(b, 4, m.ResourceManager)
	return proto.AppendString(b, 6, Version)
}

func (m *RegisterNodeResponse) Decode(b []byte) error {
	r := proto.Read(b)
	for r.Next() {
		switch r.Num() {
		case 1:
			r.Message(&m.ContainerKey)
		case 2:
			r.Message(&m.NodeKey)
		case 3:
			m.Action = NodeAction(r.Int32())
		case 4:
			m.ResourceManager = r.Int64()
		case 5:
			m.Diagnostics = r.String()
		}
	}
	return r.Err()
}

// A NodeContainer is a container as a NodeManager that comes back tells of it: enough to know it again.
type NodeContainer struct {
	ID          ContainerID
	State       ContainerState
	Resource    Resource
	Priority    Priority
	Diagnostics string
	Exit        int32
	Created     int64 // ms since 1970
	Allocation  int64
}

func (m *NodeContainer) Decode(b []byte) error {
	m.Exit, m.Allocation = ExitInvalid, -1
	r := proto.Read(b)
	for r.Next() {
		switch r.Num() {
		case 1:
			r.Message(&m.ID)
		case 2:
			m.State = ContainerState(r.Int32())
		case 3:
			r.Message(&m.Resource)
		case 4:
			r.Message(&m.Priority)
		case 5:
			m.Diagnostics = r.String()
		case 6:
			m.Exit = r.Int32()
		case 7:
			m.Created = r.Int64()
		case 11:
			m.Allocation = r.Int64()
		}
	}
	return r.Err()
}

func (m *NodeContainer) Append(b []byte) []byte {
	b = proto.AppendMessage(b, 1, &m.ID)
	b = proto.AppendInt32(b, 2, int32(m.State))
	b = proto.AppendMessage(b, 3, &m.Resource)
	b = proto.AppendMessage(b, 4, &m.Priority)
	b = proto.AppendString(b, 5, m.Diagnostics)
	b = proto.AppendInt32(b, 6, m.Exit)
	b = proto.AppendInt64(b, 7, m.Created)
	return proto.AppendInt64(b, 11, m.Allocation)
}

// A NodeStatus is how a node and its containers are doing.
type NodeStatus struct {
	Node        NodeID
	ResponseID  int32
	Containers  []ContainerStatus // all that live, and those completed until that has been acknowledged
	Health      Health
	Utilization []byte // of the containers, encoded; lent
	Machine     []byte // of the whole machine, encoded; lent
	rest        []byte // fields from 8 on, lent
}

func (m *NodeStatus) Decode(b []byte) error {
	r := proto.Read(b)
	for r.Next() {
		switch n := r.Num(); {
		case n == 1:
			r.Message(&m.Node)
		case n == 2:
			m.ResponseID = r.Int32()
		case n == 3:
			m.Containers = proto.Many(&r, m.Containers)
		case n == 4:
			r.Message(&m.Health)
		case n == 6:
			m.Utilization = r.Lent()
		case n == 7:
			m.Machine = r.Lent()
		case n >= 8:
			m.rest = append(m.rest, r.Raw()...)
		}
	}
	return r.Err()
}

func (m *NodeStatus) Append(b []byte) []byte {
	b = proto.AppendMessage(b, 1, &m.Node)
	b = proto.AppendInt32(b, 2, m.ResponseID)
	b = proto.Each(b, 3, m.Containers)
	b = proto.AppendMessage(b, 4, &m.Health)
	if m.Utilization != nil {
		b = proto.AppendBytes(b, 6, m.Utilization)
	}
	if m.Machine != nil {
		b = proto.AppendBytes(b, 7, m.Machine)
	}
	return append(b, m.rest...)
}

// Health is whether a node can be used, as its own checks see it.
type Health struct {
	OK     bool
	Report string
	Time   int64 // ms since 1970
}

func (m *Health) Decode(b []byte) error {
	r := proto.Read(b)
	for r.Next() {
		switch r.Num() {
		case 1:
			m.OK = r.Bool()
		case 2:
			m.Report = r.String()
		case 3:
			m.Time = r.Int64()
		}
	}
	return r.Err()
}

func (m *Health) Append(b []byte) []byte {
	b = proto.AppendBool(b, 1, m.OK)
	b = proto.AppendString(b, 2, m.Report)
	return proto.AppendInt64(b, 3, m.Time)
}

// A HeartbeatRequest is a node's status, and the keys that it knows.
type HeartbeatRequest struct {
	Status                NodeStatus
	ContainerKey, NodeKey MasterKey
	Sequence              int64 // of tokens that this project does not hand out
}

// Reset empties the request, to be decoded into again. The names that it has are kept, to be compared with those that come.
func (m *HeartbeatRequest) Reset() {
	s := &m.Status
	*m = HeartbeatRequest{Status: NodeStatus{Node: NodeID{Host: s.Node.Host}, Containers: s.Containers[:0], rest: s.rest[:0]},
		ContainerKey: MasterKey{Key: m.ContainerKey.Key[:0]}, NodeKey: MasterKey{Key: m.NodeKey.Key[:0]}}
}

func (m *HeartbeatRequest) Decode(b []byte) error {
	r := proto.Read(b)
	for r.Next() {
		switch r.Num() {
		case 1:
			r.Message(&m.Status)
		case 2:
			r.Message(&m.ContainerKey)
		case 3:
			r.Message(&m.NodeKey)
		case 8:
			m.Sequence = r.Int64()
		}
	}
	return r.Err()
}

func (m *HeartbeatRequest) Append(b []byte) []byte {
	b = proto.AppendMessage(b, 1, &m.Status)
	b = proto.AppendMessage(b, 2, &m.ContainerKey)
	b = proto.AppendMessage(b, 3, &m.NodeKey)
	return proto.AppendInt64(b, 8, m.Sequence)
}

// A HeartbeatResponse is what a node is to do. Its lists are delivered once, in a response that is kept until the next request.
type HeartbeatResponse struct {
	ResponseID            int32
	ContainerKey, NodeKey *MasterKey // nil: the node has the current one
	Action                NodeAction // with any but NodeNormal, Diagnostics says why, and nothing else is said
	Cleanup               []ContainerID
	CleanupApps           []ApplicationID
	Interval              int32 // ms to the next heartbeat
	Diagnostics           string
	Remove                []ContainerID // completed, and known to be by all who must know: no need to repeat
	Signals               []Signal
	Resource              *Resource // the node's new size; nil: as it is
}

func (m *HeartbeatResponse) Append(b []byte) []byte {
	if m.Action != NodeNormal {
		b = proto.AppendInt32(b, 4, int32(m.Action))
		return proto.AppendString(b, 8, m.Diagnostics)
	}
	b = proto.AppendInt32(b, 1, m.ResponseID)
	if m.ContainerKey != nil {
		b = proto.AppendMessage(b, 2, m.ContainerKey)
	}
	if m.NodeKey != nil {
		b = proto.AppendMessage(b, 3, m.NodeKey)
	}
	b = proto.AppendInt32(b, 4, int32(m.Action))
	b = proto.Each(b, 5, m.Cleanup)
	b = proto.Each(b, 6, m.CleanupApps)
	b = proto.AppendInt32(b, 7, m.Interval)
	b = proto.Each(b, 9, m.Remove)
	b = proto.Each(b, 13, m.Signals)
	if m.Resource != nil {
		b = proto.AppendMessage(b, 14, m.Resource)
	}
	return proto.AppendInt64(b, 19, 1)
}

func (m *HeartbeatResponse) Decode(b []byte) error {
	r := proto.Read(b)
	for r.Next() {
		switch r.Num() {
		case 1:
			m.ResponseID = r.Int32()
		case 2:
			m.ContainerKey = proto.One(&r, m.ContainerKey)
		case 3:
			m.NodeKey = proto.One(&r, m.NodeKey)
		case 4:
			m.Action = NodeAction(r.Int32())
		case 5:
			m.Cleanup = proto.Many(&r, m.Cleanup)
		case 6:
			m.CleanupApps = proto.Many(&r, m.CleanupApps)
		case 7:
			m.Interval = r.Int32()
		case 8:
			m.Diagnostics = r.String()
		case 9:
			m.Remove = proto.Many(&r, m.Remove)
		case 13:
			m.Signals = proto.Many(&r, m.Signals)
		case 14:
			m.Resource = proto.One(&r, m.Resource)
		}
	}
	return r.Err()
}

// UnregisterNode says that a NodeManager ends.
type UnregisterNode struct{ Node NodeID }

func (m *UnregisterNode) Decode(b []byte) error {
	r := proto.Read(b)
	for r.Next() {
		if r.Num() == 1 {
			r.Message(&m.Node)
		}
	}
	return r.Err()
}

func (m *UnregisterNode) Append(b []byte) []byte { return proto.AppendMessage(b, 1, &m.Node) }

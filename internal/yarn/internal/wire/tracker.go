package wire

import (
	"reflect"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/proto"
)

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

// A RegisterNodeRequest introduces a NodeManager: its machine and, if it has registered before, what runs on it.
type RegisterNodeRequest struct {
	Node       NodeID
	HTTPPort   int32
	Resource   Resource
	Version    string
	Containers []NodeContainer
	Apps       []ApplicationID // with anything left on the node
	Physical   *Resource
	Logs       []LogReport
	Status     *NodeStatus
}

func (m *RegisterNodeRequest) Fields(f *proto.Fields) {
	f.Message(1, &m.Node)
	f.Int32(3, &m.HTTPPort)
	f.Message(4, &m.Resource)
	f.String(5, &m.Version)
	proto.Repeated(f, 6, &m.Containers)
	proto.Repeated(f, 7, &m.Apps)
	proto.Optional(f, 9, &m.Physical)
	proto.Repeated(f, 10, &m.Logs)
	proto.Optional(f, 12, &m.Status)
}

func (m *RegisterNodeRequest) Append(b []byte) []byte { return proto.Append(b, m) }
func (m *RegisterNodeRequest) Decode(b []byte) error  { return proto.Decode(b, m) }

// A RegisterNodeResponse lets a NodeManager in, or tells it to end. Without both keys it never beats.
type RegisterNodeResponse struct {
	ContainerKey, NodeKey MasterKey
	Action                NodeAction
	ResourceManager       int64 // its identity: what container tokens must name
	Diagnostics           string
}

func (m *RegisterNodeResponse) Fields(f *proto.Fields) {
	in := f.Has(m.Action == NodeNormal)
	if in {
		f.Message(1, &m.ContainerKey)
		f.Message(2, &m.NodeKey)
	}
	f.Int32(3, (*int32)(&m.Action))
	if in {
		f.Int64(4, &m.ResourceManager)
	}
	if f.Has(m.Action != NodeNormal) {
		f.String(5, &m.Diagnostics)
	}
	if in {
		f.PutString(6, Version)
	}
}

func (m *RegisterNodeResponse) Append(b []byte) []byte { return proto.Append(b, m) }
func (m *RegisterNodeResponse) Decode(b []byte) error  { return proto.Decode(b, m) }

// A NodeContainer is a container as a NodeManager that comes back tells of it: enough to know it again.
type NodeContainer struct {
	ID          ContainerID
	State       ContainerState
	Resource    Resource
	Priority    Priority
	Diagnostics string
	Exit        int32
	Created     int64 // ms since 1970
	Version     int32
	Allocation  int64
}

func (m *NodeContainer) Fields(f *proto.Fields) {
	if f.Begins() {
		m.Exit, m.Allocation = ExitInvalid, -1
	}
	f.Message(1, &m.ID)
	f.Int32(2, (*int32)(&m.State))
	f.Message(3, &m.Resource)
	f.Message(4, &m.Priority)
	f.String(5, &m.Diagnostics)
	f.Int32(6, &m.Exit)
	f.Int64(7, &m.Created)
	if f.Has(m.Version != 0) {
		f.Int32(9, &m.Version)
	}
	f.Int64(11, &m.Allocation)
}

// A NodeStatus is how a node and its containers are doing.
type NodeStatus struct {
	Node        NodeID
	ResponseID  int32
	Containers  []ContainerStatus // all that live, and those completed until that has been acknowledged
	Health      Health
	Utilization []byte // of the containers, encoded; lent
	Machine     []byte // of the whole machine, encoded; lent
	Increased   []Container
	rest        []byte // fields from 9 on, lent
}

func (m *NodeStatus) Fields(f *proto.Fields) {
	f.Message(1, &m.Node)
	f.Int32(2, &m.ResponseID)
	proto.Repeated(f, 3, &m.Containers)
	f.Message(4, &m.Health)
	if f.Has(m.Utilization != nil) {
		f.LentMessage(6, &m.Utilization)
	}
	if f.Has(m.Machine != nil) {
		f.LentMessage(7, &m.Machine)
	}
	proto.Repeated(f, 8, &m.Increased)
	f.Rest(9, &m.rest)
}

// Use is what processes use, as a NodeManager measures it.
type Use struct {
	Memory, Virtual int32 // MiB
	Cores           float32
}

func (m *Use) Fields(f *proto.Fields) {
	f.Int32(1, &m.Memory)
	f.Int32(2, &m.Virtual)
	f.Float(3, &m.Cores)
}

// Health is whether a node can be used, as its own checks see it.
type Health struct {
	OK     bool
	Report string
	Time   int64 // ms since 1970
}

func (m *Health) Fields(f *proto.Fields) {
	f.Bool(1, &m.OK)
	f.String(2, &m.Report)
	f.Int64(3, &m.Time)
}

// A HeartbeatRequest is a node's status, and the keys that it knows.
type HeartbeatRequest struct {
	Status                NodeStatus
	ContainerKey, NodeKey MasterKey
	Logs                  []LogReport // of applications whose logs are being collected here, since the last beat
	Sequence              int64       // of tokens that this project does not hand out
}

// Reset empties the request, to be decoded into again. It keeps the memory of the lists, and the host's name, which the
// next request has again, and returns how many bytes that is. The lists hold on to nothing that was in them.
func (m *HeartbeatRequest) Reset() (kept int) {
	s := &m.Status
	kept = len(s.Node.Host)
	*m = HeartbeatRequest{
		Status: NodeStatus{
			Node:       NodeID{Host: s.Node.Host},
			Containers: emptied(s.Containers, &kept),
			Increased:  emptied(s.Increased, &kept),
			rest:       emptied(s.rest, &kept),
		},
		ContainerKey: MasterKey{Key: emptied(m.ContainerKey.Key, &kept)},
		NodeKey:      MasterKey{Key: emptied(m.NodeKey.Key, &kept)},
		Logs:         emptied(m.Logs, &kept),
	}
	return kept
}

// emptied clears the elements of list, returns the list without them, and adds the bytes of its memory to size.
func emptied[T any](list []T, size *int) []T {
	clear(list)
	*size += cap(list) * int(reflect.TypeFor[T]().Size())
	return list[:0]
}

func (m *HeartbeatRequest) Fields(f *proto.Fields) {
	f.Message(1, &m.Status)
	f.Message(2, &m.ContainerKey)
	f.Message(3, &m.NodeKey)
	proto.Repeated(f, 5, &m.Logs)
	f.Int64(8, &m.Sequence)
}

// A LogStatus is how far the collection of an application's logs has come.
type LogStatus int32

// The states of a collection of logs.
const (
	LogsDisabled LogStatus = iota + 1
	LogsNotStarted
	LogsRunning
	LogsSucceeded
	LogsFailed
	LogsTimedOut
	LogsFailing // some have failed, and others run
)

var logStatuses = [...]string{"", "DISABLED", "NOT_START", "RUNNING", "SUCCEEDED", "FAILED", "TIME_OUT",
	"RUNNING_WITH_FAILURE"}

func (s LogStatus) String() string {
	if s < 0 || int(s) >= len(logStatuses) {
		return ""
	}
	return logStatuses[s]
}

// A LogReport is how far a node is with the logs of an application.
type LogReport struct {
	App    ApplicationID
	Status LogStatus
}

func (m *LogReport) Fields(f *proto.Fields) {
	f.Message(1, &m.App)
	f.Int32(2, (*int32)(&m.Status))
}

func (m *HeartbeatRequest) Append(b []byte) []byte { return proto.Append(b, m) }
func (m *HeartbeatRequest) Decode(b []byte) error  { return proto.Decode(b, m) }

// A HeartbeatResponse is what a node is to do. Its lists are delivered once, in a response that is kept until the next
// request.
type HeartbeatResponse struct {
	ResponseID            int32
	ContainerKey, NodeKey *MasterKey // nil: the node has the current one
	Action                NodeAction // with any but NodeNormal, Diagnostics says why, and nothing else is said
	Cleanup               []ContainerID
	CleanupApps           []ApplicationID
	Interval              int32 // ms to the next heartbeat
	Diagnostics           string
	Remove                []ContainerID // completed containers that the node need not report any more
	Signals               []Signal
	Resource              *Resource   // the node's new size; nil: as it is
	Updates               []Container // that it is to give another size
}

func (m *HeartbeatResponse) Fields(f *proto.Fields) {
	normal := f.Has(m.Action == NodeNormal)
	if normal {
		f.Int32(1, &m.ResponseID)
		proto.Optional(f, 2, &m.ContainerKey)
		proto.Optional(f, 3, &m.NodeKey)
	}
	f.Int32(4, (*int32)(&m.Action))
	if normal {
		proto.Repeated(f, 5, &m.Cleanup)
		proto.Repeated(f, 6, &m.CleanupApps)
		f.Int32(7, &m.Interval)
	}
	if f.Has(m.Action != NodeNormal) {
		f.String(8, &m.Diagnostics)
	}
	if normal {
		proto.Repeated(f, 9, &m.Remove)
		proto.Repeated(f, 13, &m.Signals)
		proto.Optional(f, 14, &m.Resource)
		proto.Repeated(f, 17, &m.Updates)
		f.Put(19, 1)
	}
}

func (m *HeartbeatResponse) Append(b []byte) []byte { return proto.Append(b, m) }
func (m *HeartbeatResponse) Decode(b []byte) error  { return proto.Decode(b, m) }

// UnregisterNode says that a NodeManager ends.
type UnregisterNode struct{ Node NodeID }

func (m *UnregisterNode) Fields(f *proto.Fields) { f.Message(1, &m.Node) }
func (m *UnregisterNode) Append(b []byte) []byte { return proto.Append(b, m) }
func (m *UnregisterNode) Decode(b []byte) error  { return proto.Decode(b, m) }
